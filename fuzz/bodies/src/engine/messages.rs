//! SIP messages and SDP of a small network.

use ringtap_model::Endpoint;

use super::packets::{HOSTS, endpoint};
use crate::choices::Choices;

/// A SIP message with its sender and receiver.
pub(super) struct Sip {
    pub(super) src: Endpoint,
    pub(super) dst: Endpoint,
    pub(super) text: Vec<u8>,
}

/// Start lines: a method, or a status code with the method of its request.
const KINDS: [(&str, u16); 32] = [
    ("INVITE", 0),
    ("INVITE", 100),
    ("INVITE", 180),
    ("INVITE", 183),
    ("INVITE", 200),
    ("ACK", 0),
    ("BYE", 0),
    ("BYE", 200),
    ("CANCEL", 0),
    ("CANCEL", 200),
    ("INVITE", 487),
    ("INVITE", 401),
    ("INVITE", 407),
    ("INVITE", 302),
    ("INVITE", 486),
    ("INVITE", 503),
    ("REGISTER", 0),
    ("REGISTER", 401),
    ("REGISTER", 200),
    ("REGISTER", 403),
    ("MESSAGE", 0),
    ("MESSAGE", 202),
    ("MESSAGE", 404),
    ("PRACK", 0),
    ("UPDATE", 0),
    ("UPDATE", 200),
    ("INFO", 0),
    ("OPTIONS", 0),
    ("REFER", 0),
    ("NOTIFY", 0),
    ("INVITE", 481),
    ("INVITE", 699),
];

/// Builds a message from three bytes (kind, call and direction, body), and more if these need it.
pub(super) fn sip(choices: &mut Choices<'_>) -> Sip {
    let (method, code) = choices.pick(&KINDS);
    let way = choices.byte();
    let (call, leg, back) = (way & 3, way >> 2 & 3, way & 16 != 0);
    let (mut src, mut dst) = (endpoint(leg, 5060), endpoint(leg + 1, 5060));
    if back {
        (src, dst) = (dst, src);
    }
    let cseq = 1 + (way >> 5);
    let body = body(choices, method);
    let mut text = match code {
        0 => format!("{method} sip:u{call}@{} SIP/2.0\r\n", dst.ip),
        code => format!("SIP/2.0 {code} Text\r\n"),
    };
    text += &format!(
        "Via: SIP/2.0/UDP {src};branch=z9hG4bK{call}{cseq}{method}\r\n\
         From: \"A {call}\" <sip:a{call}@example.org>;tag=a{call}\r\n\
         To: <sip:b{call}@example.net>{}\r\n\
         Call-ID: {call}@example.org\r\nCSeq: {cseq} {method}\r\n",
        if code == 0 && !matches!(method, "BYE" | "ACK" | "INFO") { "" } else { ";tag=b" },
    );
    extra(&mut text, choices, call);
    let content = match method {
        "INFO" => "application/dtmf-relay",
        "MESSAGE" => "text/plain",
        _ => "application/sdp",
    };
    if !body.is_empty() {
        text += &format!("Content-Type: {content}\r\n");
    }
    text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    Sip { src, dst, text: text.into_bytes() }
}

/// Headers that affect the record of a call or registration.
fn extra(text: &mut String, choices: &mut Choices<'_>, call: u8) {
    let bits = choices.byte();
    let lines: [(u8, String); 8] = [
        (1, format!("Contact: <sip:u{call}@192.0.2.{call}:5060>;expires={}\r\n", u32::from(bits) * 7)),
        (2, "Expires: 0\r\n".to_owned()),
        (4, "Reason: Q.850;cause=16\r\n".to_owned()),
        (8, "User-Agent: phone\r\nServer: phone\r\n".to_owned()),
        (16, format!("P-Asserted-Identity: <sip:+49{call}@example.org>\r\n")),
        (32, format!("Diversion: <sip:d{call}@example.org>\r\n")),
        (64, "Contact: *\r\nExpires: 4294967295\r\n".to_owned()),
        (128, "Require: 100rel\r\nRAck: 1 1 INVITE\r\nSession-Expires: 90\r\n".to_owned()),
    ];
    lines.iter().filter(|(bit, _)| bits & bit != 0).for_each(|(_, line)| *text += line);
}

/// Builds a body: none, digits, or an SDP with the port that media will use.
fn body(choices: &mut Choices<'_>, method: &str) -> String {
    let choice = choices.byte();
    if choice == 0 {
        return String::new();
    }
    match method {
        "INFO" => return format!("Signal={}\r\nDuration=160\r\n", choice % 17),
        "MESSAGE" => return "x".repeat(choice.into()),
        _ => {}
    }
    let host = HOSTS[usize::from(choice & 7)];
    let port = super::packets::PORTS[usize::from(choice >> 3 & 3)];
    let family = if host.is_ipv4() { "IP4" } else { "IP6" };
    let media = match choice >> 5 {
        0 => "m=audio {port} RTP/AVP 0 8 101\r\na=rtpmap:101 telephone-event/8000\r\n",
        1 => "m=audio {port} RTP/AVP 18\r\na=ptime:20\r\na=sendonly\r\n",
        2 => "m=audio {port} RTP/SAVPF 111 9\r\na=rtpmap:111 opus/48000/2\r\na=rtcp-mux\r\n",
        3 => "m=audio {port} RTP/AVP 96 13\r\na=rtpmap:96 AMR-WB/16000\r\na=inactive\r\n",
        4 => "m=image {port} udptl t38\r\n",
        5 => "m=audio 0 RTP/AVP 0\r\nm=video {port} RTP/AVP 31\r\n",
        6 => "m=audio {port} RTP/AVP 0\r\nm=audio {port} RTP/AVP 96\r\na=rtpmap:96 PCMA/4294967295\r\n",
        _ => "m=audio 9 RTP/AVP 0\r\n{candidates}",
    };
    let candidate = |port| format!("a=candidate:1 1 udp 1 {host} {port} typ host\r\n");
    // As many as the engine accepts from one SDP.
    let candidates: String = (port..).step_by(2).take(8).map(candidate).collect();
    let media = media.replace("{port}", &port.to_string()).replace("{candidates}", &candidates);
    format!("v=0\r\no=- 1 1 IN {family} {host}\r\ns=-\r\nc=IN {family} {host}\r\nt=0 0\r\n{media}")
}

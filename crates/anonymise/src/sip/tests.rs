use proptest::prelude::*;

use super::*;
use crate::Key;

fn masked(text: &str) -> String {
    let text = text.replace('\n', "\r\n");
    let mut mask = Mask::new(&Key([1; 32]));
    let message = Message::parse(text.as_bytes()).unwrap();
    String::from_utf8(mask.sip(&message)).unwrap()
}

/// A call with everything in it that names somebody.
const INVITE: &str = "INVITE sip:+420602123456@sip.example.net;user=phone SIP/2.0\n\
    Via: SIP/2.0/UDP proxy.example.org:5060;branch=z9hG4bKsecret77;received=192.0.2.77;rport=5061\n\
    v: SIP/2.0/TCP [2001:db8::77]:5070 ; branch=z9hG4bKother88\n\
    From: \"Alice \\\"Wonder\\\" Land\" <sip:alice@example.org:5080;tgrp=trunk77>;tag=fromtag1\n\
    To: <sip:+420602123456@sip.example.net>;tag=totag22\n\
    Call-ID: callid333@192.0.2.77\n\
    CSeq: 4711 INVITE\n\
    Contact: <sip:alice@192.0.2.77:5062;transport=udp;alias=192.0.2.99~5064~1>\
    ;+sip.instance=\"<urn:uuid:00112233-4455>\"\n\
    Route: <sip:edge.example.org;lr>,\n <sip:core.example.org;lr>\n\
    P-Asserted-Identity: \"Alice\" <tel:+420777888999>, <sip:alice@example.org>\n\
    Remote-Party-ID: \"Alice\" <sip:+420777888999@example.org>;party=calling;screen=yes;privacy=off\n\
    Diversion: <sip:carol@example.org>;reason=no-answer;counter=2\n\
    History-Info: <sip:dave@example.org?Reason=SIP%3Bcause%3D302>;index=1.1\n\
    Refer-To: <sip:erin@example.org?Replaces=callid333%40192.0.2.77\
    %3Bto-tag%3Dtotag22%3Bfrom-tag%3Dfromtag1>\n\
    Authorization: Digest username=\"alice\", realm=\"example.org\", nonce=\"nonce4444\", \
    uri=\"sip:example.org\", \
    response=\"0123456789abcdef\", algorithm=MD5, qop=auth, nc=00000001\n\
    Session-ID: ab30317f1a784dc48ff824d0d3715d86;remote=00000000000000000000000000000000\n\
    Reason: Q.850;cause=16;text=\"Call from +420777888999\"\n\
    Supported: 100rel, timer\n\
    User-Agent: Phone/2.1 (00:15:65:ab:cd:ef)\n\
    X-Customer: no. 420777888999 at 192.0.2.77\n\
    Content-Type: multipart/mixed;boundary=bound555\n\n\
    --bound555\nContent-Type: application/sdp\n\n\
    v=0\no=alice 17 18 IN IP4 192.0.2.77\ns=Alice calls\ni=for carol\nc=IN IP4 192.0.2.77\nt=0 0\n\
    m=audio 4000 RTP/AVP 0 101\na=rtpmap:101 telephone-event/8000\na=fmtp:101 0-15\n\
    a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:c2VjcmV0a2V5|2^20\n\
    a=candidate:Hc0a8 1 UDP 2130706431 192.0.2.77 4000 typ srflx raddr 10.1.2.3 rport 4002\n\
    a=rtcp:4001 IN IP4 192.0.2.77\na=ssrc:12345 cname:alice@192.0.2.77\na=sendrecv\n\
    \n--bound555\nContent-Type: application/pidf+xml\n\n<presence entity=\"alice@example.org\"/>\n\
    --bound555--\n";

#[test]
fn nobody_is_left() {
    let out = masked(INVITE);
    for name in [
        "alice",
        "wonder",
        "land",
        "carol",
        "dave",
        "erin",
        "example",
        "edge",
        "core",
        "602123456",
        "777888999",
        "192.0.2.",
        "2001:db8",
        "10.1.2.3",
        "callid",
        "333",
        "fromtag",
        "totag",
        "secret",
        "other88",
        "nonce4",
        "0123456789abcdef",
        "ab30317f",
        "00:15:65",
        "c2vjcm",
        "hc0a8",
        "bound555",
        "trunk77",
        "0011",
        "presence",
        "customer:  no",
        "calls",
    ] {
        assert!(!out.to_lowercase().contains(name), "{name} is in\n{out}");
    }
}

#[test]
fn what_names_nobody_stays() {
    let out = masked(INVITE);
    for part in [
        ";user=phone SIP/2.0\r\n",
        "Via: SIP/2.0/UDP ",
        ":5060;branch=z9hG4bK",
        ";rport=5061",
        "v: SIP/2.0/TCP [",
        "]:5070",
        ":5080;tgrp=",
        "CSeq: 4711 INVITE",
        ":5062;transport=udp",
        ";lr>, <sip:",
        ";party=calling;screen=yes;privacy=off",
        ";reason=no-answer;counter=2",
        ";index=1.1",
        "?Replaces=",
        "%3Bto-tag%3D",
        "algorithm=MD5, qop=auth, nc=00000001",
        ";remote=00000000000000000000000000000000",
        "Q.850;cause=16;text=\"Call from +",
        "Supported: 100rel, timer",
        "User-Agent: Phone/2.1 (",
        "Content-Type: application/sdp",
        " 17 18 IN IP4 ",
        "m=audio 4000 RTP/AVP 0 101",
        "a=rtpmap:101 telephone-event/8000",
        "a=fmtp:101 0-15",
        "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:",
        " 1 UDP 2130706431 ",
        " 4000 typ srflx raddr 10.",
        " rport 4002",
        "a=rtcp:4001 IN IP4 ",
        "a=ssrc:12345 cname:",
        "a=sendrecv",
    ] {
        assert!(out.contains(part), "{part} is not in\n{out}");
    }
}

#[test]
fn the_same_is_the_same_everywhere() {
    let out = masked(INVITE);
    let mut mask = Mask::new(&Key([1; 32]));
    let mut count =
        |text: &str| out.matches(std::str::from_utf8(&mask.text(text.as_bytes())).unwrap()).count();
    // From, Contact, P-Asserted-Identity, Authorization, o= and a=ssrc; the display names begin with a
    // capital.
    assert_eq!(count("alice"), 6);
    assert_eq!(count("Alice"), 4);
    assert_eq!(count("192.0.2.77"), 10);
    assert_eq!(count("+420777888999"), 3);
    // Its own header, and Replaces.
    assert_eq!(count("callid333"), 2);
    assert_eq!(count("fromtag1"), 2);
    assert_eq!(count("420777888999"), 4);
}

#[test]
fn the_length_is_that_of_the_new_body() {
    let text = "INFO sip:a@192.0.2.1 SIP/2.0\nCall-ID: 1\nContent-Type: application/sdp\nContent-Length: \
        22\n\nc=IN IP4 192.0.2.177\n";
    let out = masked(text);
    let message = Message::parse(out.as_bytes()).unwrap();
    assert!(!message.truncated() && !message.length_doubtful());
    assert_eq!(message.header(Header::ContentLength), Some(message.body().len().to_string().as_bytes()));
}

#[test]
fn digits_are_masked_and_text_is_blanked() {
    let info = |kind: &str, body: &str| {
        let text = format!("INFO sip:a@b SIP/2.0\nCall-ID: 1\nContent-Type: {kind}\n\n{body}");
        masked(&text).split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    assert_eq!(info("application/dtmf-relay", "Signal=5\nDuration=160\n"), "Signal=0\r\nDuration=160\r\n");
    assert_eq!(info("application/dtmf", "5"), "0");
    assert_eq!(info("text/plain", "meet me\n"), "xxxx xx\r\n");
    assert_eq!(info("message/sipfrag", "SIP/2.0 200 OK\nTo: a\n"), "SIP/2.0 200 OK\r\nxxx x\r\n");
}

#[test]
fn privacy_and_hold_keep_their_words() {
    let out = masked(
        "INVITE sip:a@b SIP/2.0\nFrom: \"Anonymous\" <sip:anonymous@anonymous.invalid>\nCall-ID: 1\n\
         Contact: *\nContent-Type: application/sdp\n\nc=IN IP4 0.0.0.0\n",
    );
    assert!(out.contains("From: \"Anonymous\" <sip:anonymous@anonymous.invalid>\r\nCall-ID: "), "{out}");
    assert!(out.contains("Contact: *\r\n") && out.contains("c=IN IP4 0.0.0.0"));
}

#[test]
fn a_request_whose_uri_is_no_text_is_still_a_request() {
    let message = Message::parse(b"BYE \x9d\xbf\x97 : SIP/2.0\r\nCSeq: 2 BYE\r\n\r\n").unwrap();
    let out = Mask::new(&Key([2; 32])).sip(&message);
    assert_eq!(Message::parse(&out).unwrap().request_uri().map(|uri| uri.raw), Some(&b"sip:x"[..]));
}

#[test]
fn a_via_without_a_protocol_keeps_no_name() {
    for via in ["zq7vorlax", "SIP/2.0/zq7vorlax host", "zq7vorlax/2.0/UDP host", "SIP/zq7vorlax/TCP host"] {
        let message = format!("BYE sip:b SIP/2.0\r\nVia: {via}\r\nCSeq: 2 BYE\r\n\r\n");
        let out = Mask::new(&Key([2; 32])).sip(&Message::parse(message.as_bytes()).unwrap());
        let out = String::from_utf8_lossy(&out);
        assert!(!out.contains("zq7vorlax"), "{out}");
    }
}

/// A name may stand where a scheme does, or the name of a header in a URI.
#[test]
fn a_scheme_that_nobody_knows_is_a_name() {
    for party in ["<zq7vorlaxsip:bob@example.org>", "zq7vorlax:420777888999", "<sip:b@c?zq7vorlax=1>"] {
        let out = masked(&format!("BYE sip:b SIP/2.0\nTo: {party}\nCSeq: 2 BYE\n\n"));
        assert!(!out.contains("zq7vorlax"), "{out}");
    }
    for scheme in ["sip", "SIPS", "tel", "urn", "http", "im"] {
        let out = masked(&format!("BYE sip:b SIP/2.0\nTo: <{scheme}:bob@example.org>\nCSeq: 2 BYE\n\n"));
        assert!(out.contains(&format!("<{scheme}:")), "{out}");
    }
    assert!(masked(INVITE).contains("?Replaces="));
}

const HEADERS: &str = "(From|To|Via|Contact|Call-ID|Session-ID|Authorization|Reason|Content-Type|Route|\
    X-Y|Refer-To|Content-Length)";

proptest! {
    #[test]
    fn any_message_can_be_masked(
        line in "(INVITE sip:[ -~]{0,30} SIP/2.0|SIP/2.0 [2-6][0-9]{2} [ -~]{0,20})",
        headers in proptest::collection::vec(
            (HEADERS, any::<String>()),
            0..8,
        ),
        body in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = format!("{line}\r\n").into_bytes();
        for (name, value) in headers {
            bytes.extend(format!("{name}: {}\r\n", value.replace(['\r', '\n'], " ")).bytes());
        }
        bytes.extend(b"\r\n");
        bytes.extend(&body);
        if let Ok(message) = Message::parse(&bytes) {
            let out = Mask::new(&Key([2; 32])).sip(&message);
            prop_assert!(Message::parse(&out).is_ok(), "{:?}", String::from_utf8_lossy(&out));
        }
    }
}

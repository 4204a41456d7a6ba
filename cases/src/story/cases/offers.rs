//! Session descriptions: their position in a message, and what they announce.

use serde_json::json;

use crate::story::rtp::{Rtp, event};
use crate::story::sip::{Dialog, alice_media, bob_media, end, sdp, sdp_of};
use crate::story::wire::Wire;
use crate::story::{Story, at_us, ms, secs};

/// The cases of this file.
pub(super) fn all() -> Vec<Story> {
    vec![
        in_multipart(),
        ice_candidates(),
        audio_and_video(),
        short_headers(),
        redirect_followed(),
        early_media_of_two_forks(),
        offer_in_200(),
        malformed_rtpmap(),
        answer_without_rtpmap(),
    ]
}

/// The offer is a part of a multipart body, behind another part: its endpoint and its codec name count as
/// anywhere.
pub(super) fn in_multipart() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("multipart@example.com");
    let codec = &["rtpmap:98 iLBC/8000", "fmtp:98 mode=20"][..];
    let offer = sdp(alice_media(), "98", codec);
    let body = format!(
        "--edge\r\nContent-Type: text/plain\r\n\r\nv=0\r\n--edge\r\n\
         Content-Type: application/sdp\r\n\r\n{offer}\r\n--edge--\r\n"
    );
    let invite = dialog.open("INVITE", 1).body("multipart/mixed;boundary=edge", body);
    wire.send(ms(0), &invite);
    wire.send(ms(100), &invite.answer(183, "Session Progress", "callee"));
    Rtp::new(bob_media(), alice_media(), 0x98).codec(98, 160, 38).run(&mut wire, ms(150), 40);
    wire.send(ms(1000), &invite.answer(404, "Not Found", "callee"));
    wire.send(ms(1020), &dialog.open("ACK", 1));
    Story::new("multipart-offer", wire)
        .calls([json!({ "state": "failed", "messages": 4, "final_code": 404, "pdd_ms": 100.0 })])
        .streams([
            json!({ "call_id": "multipart@example.com", "direction": "callee_to_caller", "codec": "iLBC",
            "clock_hz": 8000, "ptime_ms": 20.0, "packets": 40, "lost": 0 }),
        ])
}

/// ICE (RFC 8839): the media runs between candidates, not where `c=` and `m=` say.
pub(super) fn ice_candidates() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("ice@example.com");
    let (here, there) = (end("192.0.2.99:61000"), end("198.51.100.99:62000"));
    let offer = [
        "candidate:1 1 UDP 2130706431 192.0.2.10 40000 typ host",
        "candidate:2 1 UDP 1694498815 192.0.2.99 61000 typ srflx raddr 192.0.2.10 rport 40000",
    ];
    let answer = [
        "candidate:1 1 UDP 2130706431 198.51.100.20 50000 typ host",
        "candidate:2 1 UDP 16777215 198.51.100.99 62000 typ relay raddr 198.51.100.20 rport 50000",
    ];
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &offer), &sdp(bob_media(), "0", &answer));
    Rtp::new(here, there, 1).run(&mut wire, ms(1100), 40);
    Rtp::new(there, here, 2).run(&mut wire, ms(1110), 40);
    dialog.hang_up(&mut wire, ms(3000));
    let stream = |ssrc: u32, direction: &str| {
        json!({ "call_id": "ice@example.com", "ssrc": ssrc,
        "direction": direction, "packets": 40, "lost": 0 })
    };
    Story::new("ice-candidates", wire)
        .calls([json!({ "state": "completed", "messages": 7 })])
        .streams([stream(1, "caller_to_callee"), stream(2, "callee_to_caller")])
}

/// Audio and video of one call: two media descriptions, two clocks. A picture is two packets of one
/// timestamp.
pub(super) fn audio_and_video() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("video@example.com");
    let described = |host: ringtap_model::Endpoint| {
        let lines = format!("m=audio {} RTP/AVP 0\r\nm=video {} RTP/AVP 102", host.port, host.port + 2);
        sdp_of(host, &lines, &["rtpmap:102 AV1/90000"])
    };
    dialog.set_up(&mut wire, ms(0), &described(alice_media()), &described(bob_media()));
    Rtp::new(alice_media(), bob_media(), 1).run(&mut wire, ms(1100), 40);
    let (here, there) = (end("192.0.2.10:40002"), end("198.51.100.20:50002"));
    let mut picture = Rtp::new(here, there, 2).codec(102, 3600, 300);
    for index in 0..20 {
        let at = ms(1110 + 40 * index);
        let (first, mut second) = (picture.clone(), picture.nth(1));
        second.timestamp = first.timestamp;
        second.payload_type = 102 | 0x80;
        wire.udp(at, here, there, &first.packet());
        wire.udp(at + ms(1), here, there, &second.packet());
        picture = second;
        picture.lose(1);
        picture.payload_type = 102;
    }
    dialog.hang_up(&mut wire, ms(3000));
    Story::new("audio-and-video", wire).calls([json!({ "state": "completed", "messages": 7 })]).streams([
        json!({ "codec": "PCMU", "clock_hz": 8000, "direction": "caller_to_callee", "packets": 40,
            "lost": 0 }),
        json!({ "codec": "AV1", "clock_hz": 90_000, "payload_type": 102, "direction": "caller_to_callee",
            "packets": 40, "unique": 40, "lost": 0, "mos": null, "bytes": 12_000 }),
    ])
}

/// Headers in their short forms (RFC 3261 section 7.3.3), in odd case, and folded: the same call.
pub(super) fn short_headers() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("short@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    dialog.hang_up(&mut wire, ms(3000));
    let mut short = Wire::new();
    let forms = [
        ("\r\nVia: ", "\r\nv: "),
        ("\r\nFrom: ", "\r\nf:\r\n  "),
        ("\r\nTo: ", "\r\nT :\t"),
        ("\r\nCall-ID: ", "\r\ni:"),
        ("\r\nCSeq: ", "\r\ncSEQ: "),
        ("\r\nContact: ", "\r\nm: "),
        ("\r\nContent-Type: ", "\r\nc: "),
        ("\r\nContent-Length: ", "\r\nl: "),
    ];
    for sent in wire.frames_mut().drain(..) {
        let (head, payload) = sent.data[14..].split_at(28);
        let text = String::from_utf8_lossy(payload).into_owned();
        let text = forms.iter().fold(text, |text, (long, form)| text.replace(long, form));
        let endpoint = |at: usize, port: usize| {
            let ip = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            ringtap_model::Endpoint::new(ip.into(), u16::from_be_bytes([head[port], head[port + 1]]))
        };
        short.udp(sent.at, endpoint(12, 20), endpoint(16, 22), text.as_bytes());
    }
    Rtp::new(alice_media(), bob_media(), 1).run(&mut short, ms(1100), 30);
    Story::new("short-and-folded-headers", short)
        .calls([
            json!({ "call_id": "short@example.com", "state": "completed", "messages": 7, "from_user": "alice",
            "to_user": "bob", "final_code": 200, "answer_us": at_us(1000), "released_by": "caller",
            "duration_ms": 2000.0 }),
        ])
        .streams([json!({ "call_id": "short@example.com", "direction": "caller_to_callee", "packets": 30 })])
        .counter("sip_bad", 0)
}

/// The proxy redirects, and the caller follows with a new INVITE: one attempt that goes on to its answer,
/// with the number that it was sent on to.
pub(super) fn redirect_followed() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("followed@example.com");
    let offer = sdp(alice_media(), "0", &[]);
    let first = dialog.open("INVITE", 1).sdp(&offer);
    let moved = first.answer(302, "Moved Temporarily", "callee").header("Contact", "<sip:carol@203.0.113.9>");
    wire.send(ms(0), &first);
    wire.send(ms(20), &moved);
    wire.send(ms(30), &dialog.open("ACK", 1));
    let second = dialog.open("INVITE", 2).uri("sip:carol@203.0.113.9").sdp(&offer);
    wire.send(ms(50), &second);
    wire.send(ms(300), &second.answer(180, "Ringing", "carol"));
    wire.send(ms(1000), &second.answer(200, "OK", "carol").sdp(&sdp(bob_media(), "0", &[])));
    wire.send(ms(1020), &dialog.by_caller("ACK", 2));
    let bye = dialog.by_caller("BYE", 3);
    wire.send(ms(3000), &bye);
    wire.send(ms(3020), &bye.answer(200, "OK", ""));
    Story::new("redirect-followed", wire).calls([
        json!({ "state": "completed", "messages": 9, "final_code": 200,
        "diverted_to": ["carol"], "invite_us": at_us(0), "ringing_us": at_us(300), "end_us": at_us(3000),
        "pdd_ms": 300.0, "duration_ms": 2000.0 }),
    ])
}

/// Two forked telephones both play early media, and one is answered: both streams are the call's.
pub(super) fn early_media_of_two_forks() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("forks-media@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&sdp(alice_media(), "0", &[]));
    let (desk, answer) = (end("198.51.100.21:50000"), sdp(bob_media(), "0", &[]));
    wire.send(ms(0), &invite);
    wire.send(ms(100), &invite.answer(183, "Session Progress", "desk").sdp(&sdp(desk, "0", &[])));
    wire.send(ms(110), &invite.answer(183, "Session Progress", "callee").sdp(&answer));
    Rtp::new(desk, alice_media(), 1).run(&mut wire, ms(120), 30);
    Rtp::new(bob_media(), alice_media(), 2).run(&mut wire, ms(130), 60);
    wire.send(secs(1), &invite.answer(200, "OK", "callee").sdp(&answer));
    wire.send(ms(1020), &dialog.by_caller("ACK", 1));
    dialog.hang_up(&mut wire, ms(3000));
    let stream = |src: &str, packets: u32| {
        json!({ "call_id": "forks-media@example.com", "src": src, "direction": "callee_to_caller",
            "packets": packets,
            "lost": 0 })
    };
    Story::new("early-media-of-two-forks", wire)
        .calls([json!({ "state": "completed", "messages": 7, "pdd_ms": 100.0 })])
        .streams([stream("198.51.100.21:50000", 30), stream("198.51.100.20:50000", 60)])
}

/// The offer is in the 200, the answer in the ACK (RFC 3264 leaves both open): endpoints and codecs are the
/// same.
pub(super) fn offer_in_200() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("late-offer@example.com");
    let invite = dialog.open("INVITE", 1);
    let codec = &["rtpmap:97 speex/16000"][..];
    wire.send(ms(0), &invite);
    wire.send(ms(200), &invite.answer(180, "Ringing", "callee"));
    wire.send(ms(1000), &invite.answer(200, "OK", "callee").sdp(&sdp(bob_media(), "97", codec)));
    wire.send(ms(1020), &dialog.by_caller("ACK", 1).sdp(&sdp(alice_media(), "97", codec)));
    Rtp::new(bob_media(), alice_media(), 2).codec(97, 320, 42).run(&mut wire, ms(1010), 40);
    Rtp::new(alice_media(), bob_media(), 1).codec(97, 320, 42).run(&mut wire, ms(1025), 40);
    dialog.hang_up(&mut wire, secs(3));
    let stream = |direction: &str| {
        json!({ "call_id": "late-offer@example.com", "direction": direction, "codec": "speex",
            "clock_hz": 16_000,
            "packets": 40, "lost": 0 })
    };
    Story::new("offer-in-200", wire)
        .calls([
            json!({ "state": "completed", "messages": 6, "answer_us": at_us(1000), "duration_ms": 2000.0 }),
        ])
        .streams([stream("callee_to_caller"), stream("caller_to_callee")])
}

/// An `a=rtpmap` line without a clock (RFC 8866 section 6.6 wants one) does not change what a static payload
/// type means.
pub(super) fn malformed_rtpmap() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("malformed@example.com");
    let maps = &["rtpmap:0 nonsense", "rtpmap:8", "rtpmap:8 /8000"][..];
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0 8", maps), &sdp(bob_media(), "8 0", maps));
    Rtp::new(alice_media(), bob_media(), 0xa0).run(&mut wire, ms(1100), 50);
    Rtp::new(bob_media(), alice_media(), 0xb8).codec(8, 160, 160).run(&mut wire, ms(1110), 50);
    dialog.hang_up(&mut wire, ms(3000));
    let stream =
        |ssrc: u32, codec: &str| json!({ "ssrc": ssrc, "codec": codec, "clock_hz": 8000, "packets": 50 });
    Story::new("malformed-rtpmap", wire)
        .calls([json!({ "state": "completed" })])
        .streams([stream(0xa0, "PCMU"), stream(0xb8, "PCMA")])
}

/// The answer lists dynamic payload types without their a=rtpmap lines, which it should have (RFC 3264
/// section 6.1): they are those of the offer. Bob is behind NAT, so no address tells whose media his are.
pub(super) fn answer_without_rtpmap() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("unnamed@example.com");
    let maps = &["rtpmap:98 iLBC/8000", "rtpmap:101 telephone-event/8000"][..];
    let answer = sdp(bob_media(), "98 101", &[]);
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0 98 101", maps), &answer);
    Rtp::new(alice_media(), bob_media(), 0xa0).codec(98, 160, 38).run(&mut wire, ms(1100), 50);
    let mut voice = Rtp::new(end("198.51.100.20:61234"), alice_media(), 0xb8).codec(98, 160, 38);
    voice.run(&mut wire, ms(1110), 40);
    for duration in [160, 320, 480] {
        let packet = voice.packet_of(101, &event(5, duration == 480, duration));
        wire.udp(ms(1910) + ms(u64::from(duration) / 8), voice.src, voice.dst, &packet);
        voice.sequence += 1;
    }
    dialog.hang_up(&mut wire, ms(3000));
    let stream = |ssrc: u32, packets: u32| {
        json!({ "ssrc": ssrc, "codec": "iLBC", "clock_hz": 8000, "packets": packets, "lost": 0,
            "payload_type": 98 })
    };
    Story::new("answer-without-rtpmap", wire)
        .calls([json!({ "state": "completed",
            "dtmf": [{ "digit": "5", "source": "rfc4733", "time_us": at_us(1930) }] })])
        .streams([stream(0xa0, 50), stream(0xb8, 43)])
}

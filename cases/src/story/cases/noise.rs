//! Traffic that is not signalling or media, and traffic that hardly is.

use serde_json::json;

use crate::story::packet::{flag, tcp};
use crate::story::rtp::Rtp;
use crate::story::sip::{Dialog, alice, alice_media, bob, bob_media, end, sdp};
use crate::story::wire::Wire;
use crate::story::{Story, at_us, ms, secs};

/// The cases of this file.
pub(super) fn all() -> Vec<Story> {
    vec![
        junk_on_5060(),
        looks_like_rtp(),
        begins_inside_a_dialog(),
        begins_at_the_cancel(),
        cseq_of_another_method(),
        equal_time_stamps(),
        two_requests_in_one_datagram(),
        big_status_codes(),
        line_ends(),
        escaped_nulls(),
        utf8_and_latin1(),
    ]
}

fn offer() -> String {
    sdp(alice_media(), "0", &[])
}

fn answer() -> String {
    sdp(bob_media(), "0", &[])
}

/// On the signalling port: keep-alives of two, four and five bytes, HTTP over UDP and TCP, and a call whose
/// INVITE comes behind four zero bytes and whose BYE comes behind a line end. One call of seven messages;
/// nothing is bad SIP.
pub(super) fn junk_on_5060() -> Story {
    let mut wire = Wire::new();
    let junk: [&[u8]; 6] = [
        b"\r\n",
        b"\r\n\r\n",
        b"\0\0\0\0\0",
        b"jaK\r\n",
        b"\0",
        b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
    ];
    for (index, bytes) in junk.into_iter().enumerate() {
        wire.udp(ms(50 * index as u64), alice().end, bob().end, bytes);
        wire.udp(ms(50 * index as u64 + 1500), bob().end, alice().end, bytes);
    }
    let web = end("192.0.2.33:33333");
    let get = b"GET /INVITE HTTP/1.1\r\nHost: example.com\r\nContent-Length: 0\r\n\r\n";
    wire.packet(ms(5), &tcp(web, bob().end, 1, 0, flag::SYN, &[]));
    wire.packet(ms(6), &tcp(web, bob().end, 2, 1, flag::ACK, get));
    let dialog = Dialog::new("junk@example.com");
    dialog.set_up(&mut wire, ms(20), &offer(), &answer());
    dialog.hang_up(&mut wire, ms(3000));
    for (start, before) in [("INVITE", &b"\0\0\0\0"[..]), ("BYE", b"\r\n")] {
        prefix(&mut wire, start, before);
    }
    Story::new("keepalives-http-junk-on-5060", wire)
        .calls([json!({ "state": "completed", "messages": 7, "retransmissions": 0, "invite_us": at_us(20),
            "end_us": at_us(3000) })])
        .counter("sip", 7)
        .counter("sip_bad", 0)
        .counter("udp_other", 12)
}

/// Puts bytes before the one message that begins so.
fn prefix(wire: &mut Wire, start: &str, before: &[u8]) {
    const HEADERS: usize = 14 + 28;
    let begins =
        |data: &[u8]| data.get(HEADERS..).is_some_and(|payload| payload.starts_with(start.as_bytes()));
    if let Some(place) = wire.frames_mut().iter().position(|sent| begins(&sent.data)) {
        let sent = wire.frames_mut().remove(place);
        let payload = [before, &sent.data[HEADERS..]].concat();
        wire.udp(sent.at, alice().end, bob().end, &payload);
    }
}

/// Between the ports of a call and others: a game whose datagrams have RTP's first byte, STUN new and old,
/// ZRTP (version 0), DTLS, RTCP on the media port, and media of a relayed client within TURN's ChannelData.
/// Two streams: the call's and the relayed one, whose sides are the client and the relay.
pub(super) fn looks_like_rtp() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("noise@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    Rtp::new(alice_media(), bob_media(), 0x9).run(&mut wire, ms(1100), 40);
    // The same bits as version 2 and a payload type; what would be number and clock follow no order.
    let mut random = 12_345u32;
    for index in 0..40 {
        random = random.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        let mut datagram = vec![0x80, 0x60];
        datagram.extend((random >> 16).to_be_bytes());
        datagram.extend([random.to_le_bytes(), [0, 0, 0, 7], [index; 4]].concat());
        wire.udp(
            ms(1000 + 25 * u64::from(index)),
            end("192.0.2.66:27015"),
            end("198.51.100.66:27005"),
            &datagram,
        );
    }
    for (at, (src, dst)) in [(1030, (alice_media(), bob_media())), (1040, (bob_media(), alice_media()))] {
        let kind = if at == 1030 { 0 } else { 1 };
        wire.udp(ms(at), src, dst, &[&[kind, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[9; 12]].concat());
        wire.udp(ms(at + 1), src, dst, &[&[kind, 1, 0, 0][..], &[0x77; 16]].concat());
        // ZRTP (RFC 6189 section 5): version 0, a magic cookie where RTP has its timestamp.
        let hello = [&[0x10, 0, 0, 1][..], b"ZRTP", &[0, 0, 0, 9, 0x50, 0x5a, 0, 3], &[0x48; 8]].concat();
        wire.udp(ms(at + 2), src, dst, &hello);
        wire.udp(ms(at + 3), src, dst, &[21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0]);
        // A sender report and a goodbye (RFC 3550 section 6.4), on the media port (RFC 5761).
        let report = [&[0x80, 200, 0, 6, 0, 0, 0, 9][..], &[1; 20], &[0x81, 203, 0, 1, 0, 0, 0, 9]].concat();
        wire.udp(ms(at + 1000), src, dst, &report);
    }
    let client = Rtp::new(end("192.0.2.70:49152"), end("203.0.113.7:3478"), 0x7a);
    for index in 0..40 {
        let packet = client.nth(index).packet();
        let data = [&[0x40, 1][..], &(packet.len() as u16).to_be_bytes(), &packet].concat();
        wire.udp(ms(1110 + 20 * u64::from(index)), client.src, client.dst, &data);
    }
    dialog.hang_up(&mut wire, ms(3000));
    Story::new("looks-like-rtp", wire)
        .calls([json!({ "state": "completed", "messages": 7 })])
        .streams([
            json!({ "call_id": "noise@example.com", "ssrc": 9, "packets": 40, "lost": 0,
                "jitter_ms_max": 0.0 }),
            json!({ "call": null, "ssrc": 0x7a, "src": "192.0.2.70:49152", "dst": "203.0.113.7:3478",
                "codec": "PCMU", "packets": 40, "lost": 0, "bytes": 6400 }),
        ])
        .counter("stun", 4)
        .counter("rtcp", 2)
        .counter("rtp", 80)
        .counter("udp_other", 44)
}

/// A capture that begins in the middle. Of one call the INVITE is missing: its answers tell all but that
/// time. Of another only media and BYE are left: a stream of no call, and no record of a call whose attempt
/// nobody saw.
pub(super) fn begins_inside_a_dialog() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("joined@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    // INVITE and 100 passed before the capture began.
    wire.frames_mut().drain(..2);
    dialog.hang_up(&mut wire, ms(3000));
    let (here, there) = (end("192.0.2.44:40000"), end("198.51.100.44:50000"));
    Rtp::new(here, there, 0x44).run(&mut wire, ms(1100), 40);
    Dialog::new("over@example.com").hang_up(&mut wire, ms(2500));
    Story::new("begins-inside-a-dialog", wire)
        .calls([
            json!({ "call_id": "joined@example.com", "state": "completed", "messages": 5, "invite_us": null,
            "trying_us": null, "ringing_us": at_us(200), "answer_us": at_us(1000), "end_us": at_us(3000),
            "pdd_ms": null, "duration_ms": 2000.0, "src": "192.0.2.10:5060", "dst": "198.51.100.20:5060",
            "from_user": "alice", "to_user": "bob", "ruri_user": null, "ruri_host": null,
            "released_by": "caller" }),
        ])
        .streams([json!({ "call": null, "call_id": null, "direction": null, "ssrc": 0x44, "packets": 40 })])
        .counter("sip", 7)
}

/// A capture that begins at the CANCEL: the caller gave the call up, whatever it was.
pub(super) fn begins_at_the_cancel() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("given-up@example.com");
    let (invite, cancel) = (dialog.open("INVITE", 1), dialog.open("CANCEL", 1));
    wire.send(ms(0), &cancel);
    wire.send(ms(20), &cancel.answer(200, "OK", "bob"));
    wire.send(ms(30), &invite.answer(487, "Request Terminated", "bob"));
    wire.send(ms(40), &dialog.open("ACK", 1));
    Story::new("begins-at-the-cancel", wire).calls([json!({ "state": "cancelled", "released_by": "caller",
        "end_us": at_us(0), "final_code": 487, "messages": 2, "invite_us": null, "from_user": "alice",
        "to_user": "bob", "src": "192.0.2.10:5060", "dst": "198.51.100.20:5060" })])
}

/// The method of a request is that of its first line (RFC 3261 section 8.1.1.5 wants the same in CSeq).
/// An OPTIONS with the CSeq of an INVITE is no call, nor is its answer one. An INVITE with a damaged CSeq is
/// one, and what answers it repeats that CSeq.
pub(super) fn cseq_of_another_method() -> Story {
    let mut wire = Wire::new();
    let options = Dialog::new("asks@example.com").open("OPTIONS", 1).replace("CSeq", "1 INVITE");
    wire.send(ms(0), &options);
    wire.send(ms(20), &options.answer(200, "OK", "bob"));
    let wanted = [(1, "1 INVTE"), (2, "1"), (3, "one INVITE")].map(|(number, cseq)| {
        let (call_id, at) = (format!("damaged-{number}@example.com"), 1000 * number);
        let dialog = Dialog::new(&call_id);
        let invite = dialog.open("INVITE", 1).replace("CSeq", cseq).sdp(&offer());
        wire.send(ms(at), &invite);
        wire.send(ms(at + 100), &invite.answer(180, "Ringing", "bob"));
        wire.send(ms(at + 200), &invite.answer(200, "OK", "bob").sdp(&answer()));
        wire.send(ms(at + 210), &dialog.by_caller("ACK", 1));
        dialog.hang_up(&mut wire, ms(at + 700));
        json!({ "call_id": call_id, "state": "completed", "ringing_us": at_us(at + 100),
        "answer_us": at_us(at + 200), "end_us": at_us(at + 700), "duration_ms": 500.0 })
    });
    Story::new("cseq-of-another-method", wire).calls(wanted)
}

/// A capture whose time stamps are all alike: there is no round trip in them.
pub(super) fn equal_time_stamps() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("at-once@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    wire.send(ms(0), &invite);
    wire.send(ms(0), &invite.answer(200, "OK", "bob").sdp(&answer()));
    wire.send(ms(0), &dialog.by_caller("ACK", 1));
    Rtp::new(alice_media(), bob_media(), 0x0e).run(&mut wire, ms(0), 40);
    let bye = dialog.by_caller("BYE", 2);
    wire.send(ms(900), &bye);
    wire.send(ms(900), &bye.answer(200, "OK", "bob"));
    Story::new("equal-time-stamps", wire)
        .calls([json!({ "state": "completed", "pdd_ms": 0.0 })])
        .streams([json!({ "packets": 40, "rtt_ms": null, "rtt_source": null })])
}

/// In the manner of RFC 4475's dblreq: a datagram holds a REGISTER without body and, behind it, an INVITE. It
/// is one message, the REGISTER.
pub(super) fn two_requests_in_one_datagram() -> Story {
    let mut wire = Wire::new();
    let register = Dialog::new("double@example.com").open("REGISTER", 8);
    let invite = Dialog::new("double.1@example.com").open("INVITE", 1).sdp(&offer());
    wire.udp(ms(0), alice().end, bob().end, &[register.bytes(), invite.bytes()].concat());
    Story::new("dblreq", wire)
        .registrations([json!({ "aor": "bob@example.com", "requests": 1, "code": 0, "state": "expired" })])
        .counter("sip", 1)
        .counter("sip_bad", 0)
}

/// In the manner of RFC 4475's bigcode: status codes that would wrap to 5 and to 200. They answer nothing.
pub(super) fn big_status_codes() -> Story {
    let mut wire = Wire::new();
    let invite = Dialog::new("big@example.com").open("INVITE", 1).sdp(&offer());
    wire.send(ms(0), &invite);
    wire.send(ms(10), &invite.answer(100, "Trying", ""));
    for (at, code) in [(100, "4294967301"), (200, "65736")] {
        let text =
            String::from_utf8_lossy(&invite.answer(200, "OK", "callee").bytes()).replacen("200", code, 1);
        wire.udp(ms(at), bob().end, alice().end, text.as_bytes());
    }
    Story::new("bigcode", wire)
        .calls([json!({ "state": "trying", "messages": 2, "final_code": 0, "final_reason": null,
            "answer_us": null,
            "end_us": null })])
        .counter("sip", 2)
        .counter("sip_bad", 2)
}

/// Line ends: one call whose messages have bare line feeds (as RFC 5118's archive), one whose INVITE lacks
/// the empty line behind its headers.
pub(super) fn line_ends() -> Story {
    let mut wire = Wire::new();
    let feeds = Dialog::new("feeds@example.com");
    let invite = feeds.open("INVITE", 1);
    for (at, message) in
        [(0, &invite), (20, &invite.answer(486, "Busy Here", "callee")), (40, &feeds.open("ACK", 1))]
    {
        let text = String::from_utf8_lossy(&message.bytes()).replace("\r\n", "\n");
        wire.udp(ms(at), message.src, message.dst, text.as_bytes());
    }
    let open = Dialog::new("open@example.com").open("INVITE", 1);
    let bytes = open.bytes();
    wire.udp(secs(1), open.src, open.dst, &bytes[..bytes.len() - 2]);
    wire.send(secs(1) + ms(20), &open.answer(503, "Service Unavailable", "callee"));
    Story::new("line-ends", wire)
        .calls([
            json!({ "call_id": "feeds@example.com", "state": "failed", "final_code": 486,
                "final_reason": "Busy Here", "messages": 3, "end_us": at_us(20) }),
            json!({ "call_id": "open@example.com", "state": "failed", "final_code": 503, "messages": 2 }),
        ])
        .counter("sip_bad", 0)
}

/// Names and phrases: UTF-8 as it is, Latin-1 as what it means, nothing lost of either.
pub(super) fn utf8_and_latin1() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("names@example.com");
    let invite = dialog
        .open("INVITE", 1)
        .replace("From", b"\"J\xfcrgen M\xfcller\" <sip:alice@example.com>;tag=caller")
        .header("User-Agent", "Téléphone/2")
        .sdp(&offer());
    wire.send(ms(0), &invite);
    let busy = invite.answer(486, "Obsazeno, zkuste to později", "callee");
    wire.send(ms(50), &busy.header("Server", b"Vermittlung \xd6"));
    wire.send(ms(60), &dialog.open("ACK", 1));
    Story::new("utf8-reason-and-latin1-names", wire).calls([json!({ "state": "failed", "final_code": 486,
        "final_reason": "Obsazeno, zkuste to později", "from_display": "Jürgen Müller",
        "user_agent_caller": "Téléphone/2", "user_agent_callee": "Vermittlung Ö", "messages": 3 })])
}

/// In the manner of RFC 4475's escnull: escaped NULs in URIs stay as they were sent, and a user of one is not
/// a user of two.
pub(super) fn escaped_nulls() -> Story {
    let mut wire = Wire::new();
    for (index, user) in ["%00", "%00%00"].into_iter().enumerate() {
        let address = format!("<sip:{user}@example.com>");
        let request = Dialog::new("nulls@example.com")
            .open("REGISTER", 1 + index as u32)
            .replace("To", &address)
            .replace("Contact", format!("<sip:{user}@192.0.2.10>"));
        wire.send(secs(index as u64), &request);
        wire.send(
            secs(index as u64) + ms(20),
            &request.answer(200, "OK", "registrar").header("Expires", "600"),
        );
    }
    let record = |user: &str, at: u64| {
        json!({ "aor": format!("{user}@example.com"), "contact": format!("sip:{user}@192.0.2.10"),
            "state": "active",
            "requests": 1, "first_us": at_us(at), "expires_us": at_us(at + 600_020) })
    };
    Story::new("escnull", wire).registrations([record("%00", 0), record("%00%00", 1000)])
}

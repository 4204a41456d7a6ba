//! Calls.

use ringtap_handover::{Direction, IriKind};
use ringtap_model::Nanos;
use ringtap_warrant::{Delivers, Order};

use crate::wire::*;

const CALLER: &str = "192.0.2.10:5060";
const CALLEE: &str = "192.0.2.20:5060";

fn sdp(address: &str, port: u16) -> String {
    format!("v=0\no=- 1 1 IN IP4 {address}\ns=-\nc=IN IP4 {address}\nt=0 0\nm=audio {port} RTP/AVP 8\n")
}

fn message(start: &str, cseq: &str, more: &str, body: &str) -> String {
    let length = body.replace('\n', "\r\n").len();
    let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\n" };
    format!(
        "{start}\nVia: SIP/2.0/UDP 192.0.2.10;branch=z9hG4bK{cseq}\nFrom: <sip:alice@example.org>;tag=1\n\
         To: <sip:+441604960001@example.net>;tag=2\nCall-ID: call-1\nCSeq: {cseq}\n{more}{kind}\
         Content-Length: {length}\n\n{body}"
    )
}

fn rtp(sequence: u16) -> Vec<u8> {
    let mut bytes = vec![0x80, 8];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend((u32::from(sequence) * 160).to_be_bytes());
    bytes.extend([0, 0, 0, 9]);
    bytes.extend([0xd5; 160]);
    bytes
}

/// A call with media both ways, and another one beside it.
fn call() -> Wire {
    let mut wire = Wire::default();
    let (there, back) = ((CALLER, CALLEE), (CALLEE, CALLER));
    let invite = "INVITE sip:+441604960001@example.net SIP/2.0";
    let identity = "P-Asserted-Identity: <sip:+441604960000@example.org>\n";
    wire.sip(10, there, &message(invite, "1 INVITE", identity, &sdp("192.0.2.11", 4000)));
    wire.sip(10, back, &message("SIP/2.0 180 Ringing", "1 INVITE", "", ""));
    wire.sip(12, back, &message("SIP/2.0 200 OK", "1 INVITE", "", &sdp("192.0.2.21", 6000)));
    wire.sip(12, there, &message("ACK sip:+441604960001@example.net SIP/2.0", "1 ACK", "", ""));
    for sequence in 1..=3 {
        wire.udp(13, "192.0.2.11:4000", "192.0.2.21:6000", &rtp(sequence));
        wire.udp(13, "192.0.2.21:6000", "192.0.2.11:4000", &rtp(sequence));
        wire.udp(13, "192.0.2.12:4000", "192.0.2.22:6000", &rtp(sequence));
    }
    wire.sip(20, there, &message("BYE sip:+441604960001@example.net SIP/2.0", "2 BYE", "", ""));
    wire.sip(20, back, &message("SIP/2.0 200 OK", "2 BYE", "", ""));
    wire.udp(21, "192.0.2.12:4000", "192.0.2.22:6000", &rtp(4));
    wire
}

/// Sound that was sent to the same port before the call, and is looked at during it, was somebody else's.
#[test]
fn sound_of_before_that_is_looked_at_late_is_not_of_the_call() {
    let mut wire = Wire::default();
    let invite = "INVITE sip:+441604960001@example.net SIP/2.0";
    wire.sip(10, (CALLER, CALLEE), &message(invite, "1 INVITE", "", &sdp("192.0.2.11", 4000)));
    wire.udp(9, "192.0.2.21:6000", "192.0.2.11:4000", &rtp(1));
    (2..=4).for_each(|sequence| wire.udp(11, "192.0.2.21:6000", "192.0.2.11:4000", &rtp(sequence)));
    let order = order("LI-1", Delivers::Content, &["sip:alice@example.org"], 0..1000);
    let (kept, _) = wire.intercepted(&[order], 2);
    let sequences: Vec<u8> = kept
        .0
        .iter()
        .filter_map(|given| match given {
            Given::Content { packet, .. } => Some(packet[28 + 3]),
            _ => None,
        })
        .collect();
    assert_eq!(sequences, [2, 3, 4]);
}

#[test]
fn a_call_of_a_target_with_its_messages_and_its_media_whoever_it_is() {
    for (target, directions) in [
        ("sip:alice@example.org", (Direction::FromTarget, Direction::ToTarget)),
        ("number:+441604960000", (Direction::FromTarget, Direction::ToTarget)),
        ("number:*960001", (Direction::ToTarget, Direction::FromTarget)),
    ] {
        for batch in [1, 4, 64] {
            let order = order("LI-1", Delivers::Both, &[target], 0..1000);
            let (kept, _) = call().intercepted(&[order], batch);
            let kinds: Vec<(IriKind, String)> =
                kept.calls().into_iter().map(|(_, kind, line)| (kind, line[..11].to_owned())).collect();
            let expected = [
                (IriKind::Begin, "INVITE sip:"),
                (IriKind::Continue, "SIP/2.0 180"),
                (IriKind::Continue, "SIP/2.0 200"),
                (IriKind::Continue, "ACK sip:+44"),
                (IriKind::End, "BYE sip:+44"),
                (IriKind::Report, "SIP/2.0 200"),
            ];
            assert_eq!(kinds, expected.map(|(kind, line)| (kind, line.to_owned())), "{target}, {batch}");
            let media: Vec<Direction> =
                kept.content().into_iter().map(|(_, direction, _)| direction).collect();
            let (there, back) = directions;
            assert_eq!(media, [there, back, there, back, there, back], "{target}, batches of {batch}");
        }
    }
}

/// Workers see media whose signalling went elsewhere: by the endpoints of SDP, as long as the call lasts.
#[test]
fn engines_watch_the_media_of_a_targets_call_and_of_no_other() {
    let order = order("LI-1", Delivers::Both, &["sip:alice@example.org"], 0..1000);
    let call = call();
    let orders = std::slice::from_ref(&order);
    assert_eq!(call.watched_after(orders, 0), Vec::<usize>::new());
    // The offer is the first message, the answer the third; of each three frames, the last is another's.
    let own = [4, 5, 7, 8, 10, 11];
    assert_eq!(call.watched_after(orders, 1), own, "by one end");
    assert_eq!(call.watched_after(orders, 4), own);
    let over = call.watched_after(orders, 16);
    assert_eq!(over, Vec::<usize>::new(), "the call is over");
}

#[test]
fn an_extension_changes_nothing_but_the_end() {
    let wire = call();
    let begun = order("LI-1", Delivers::Both, &["sip:alice@example.org"], 0..15);
    let extended = Order { ends: Nanos::from_secs(1000), ..begun.clone() };
    let kept = wire.intercepted_with(&[(0, begun.clone()), (11, extended)]);
    let kinds: Vec<IriKind> = kept.calls().into_iter().map(|(_, kind, _)| kind).collect();
    assert_eq!(kinds.len(), 6, "the call goes on beyond the first end");
    assert!(!kinds[1..].contains(&IriKind::Begin), "{kinds:?}");
    let notices = kept.0.iter().filter(|given| matches!(given, Given::Notice { .. })).count();
    assert_eq!((notices, kept.content().len()), (1, 6));
    let other = Order { delivers: Delivers::Iri, ..begun.clone() };
    let kept = wire.intercepted_with(&[(0, begun), (11, other)]);
    let notices = kept.0.iter().filter(|given| matches!(given, Given::Notice { .. })).count();
    assert_eq!((notices, kept.content().len()), (4, 5), "one that is another one begins anew");
}

#[test]
fn who_is_not_named_is_not_heard() {
    let orders = [
        order(
            "LI-1",
            Delivers::Both,
            &["sip:alice@example.net", "number:+44160496000", "user:alice"],
            0..1000,
        ),
        order("LI-2", Delivers::Iri, &["number:+441604960001"], 0..1000),
        order("LI-3", Delivers::Content, &["sip:alice@*"], 0..1000),
    ];
    let (kept, _) = call().intercepted(&orders, 4);
    assert!(kept.calls().iter().all(|(liid, ..)| liid == "LI-2"), "{:?}", kept.calls());
    assert_eq!(kept.calls().len(), 6);
    let content: Vec<String> = kept.content().into_iter().map(|(liid, ..)| liid).collect();
    assert_eq!(content, ["LI-3"; 6]);
}

#[test]
fn an_order_that_ends_during_a_call_gets_nothing_more_of_it() {
    let order = order("LI-1", Delivers::Both, &["sip:alice@example.org"], 0..13);
    let (kept, _) = call().intercepted(&[order], 64);
    assert_eq!(kept.calls().len(), 4);
    assert_eq!(kept.content(), []);
}

/// An order that begins during a call gets what follows.
#[test]
fn an_order_that_begins_during_a_call_gets_the_messages_that_name_its_target() {
    let order = order("LI-1", Delivers::Both, &["sip:alice@example.org"], 13..1000);
    let (kept, _) = call().intercepted(&[order], 64);
    let kinds: Vec<IriKind> = kept.calls().into_iter().map(|(_, kind, _)| kind).collect();
    assert_eq!(kinds, [IriKind::Begin, IriKind::Report], "BYE and its answer");
}

#[test]
fn a_registration_of_a_target_is_reported() {
    let mut wire = Wire::default();
    let register = "REGISTER sip:example.org SIP/2.0\nVia: SIP/2.0/UDP 192.0.2.10;branch=z9hG4bK1\n\
         From: <sip:alice@example.org>;tag=1\nTo: <sip:alice@example.org>\nCall-ID: r-1\nCSeq: 1 REGISTER\n\
         Authorization: Digest username=\"bob\", realm=\"example.org\"\nContent-Length: 0\n\n";
    wire.sip(10, (CALLER, CALLEE), register);
    for target in ["sip:alice@example.org", "sip:alice@*", "sip:bob"] {
        let Ok(_) = target.parse::<ringtap_warrant::Target>() else { continue };
        let order = order("LI-1", Delivers::Both, &[target], 0..1000);
        let (kept, _) = wire.intercepted(&[order], 64);
        let kinds: Vec<IriKind> = kept.calls().into_iter().map(|(_, kind, _)| kind).collect();
        assert_eq!(kinds, [IriKind::Report], "{target}");
    }
}

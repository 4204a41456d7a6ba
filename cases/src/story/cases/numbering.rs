//! Sequence numbers that are used again, spent elsewhere, lost, repeated and out of order.

use serde_json::json;

use crate::story::rtp::Rtp;
use crate::story::sip::{Dialog, alice_media, bob_media, end, sdp};
use crate::story::wire::Wire;
use crate::story::{Story, at_us, ms, secs};

/// Five calls one after another use one SSRC, one pair of ports and the numbers 0 to 49: the stream of each call is its
/// own, and nothing was repeated.
pub(super) fn one_ssrc_five_calls() -> Story {
    let mut wire = Wire::new();
    for number in 0..5 {
        let at = secs(3 * number);
        let dialog = Dialog::new(&format!("five-{}@example.com", number + 1));
        dialog.set_up(&mut wire, at, &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
        Rtp::new(alice_media(), bob_media(), 0x1111).from(0, 0).run(&mut wire, at + ms(1040), 50);
        dialog.hang_up(&mut wire, at + ms(2100));
    }
    let call = |number: u64| {
        json!({ "call_id": format!("five-{number}@example.com"), "state": "completed", "messages": 7,
            "retransmissions": 0, "invite_us": at_us(3000 * (number - 1)), "duration_ms": 1100.0 })
    };
    let stream = |number: u64| {
        json!({ "call_id": format!("five-{number}@example.com"), "direction": "caller_to_callee",
            "ssrc": 0x1111, "packets": 50, "unique": 50, "lost": 0, "duplicates": 0, "reordered": 0,
            "first_us": at_us(3000 * (number - 1) + 1040), "last_us": at_us(3000 * (number - 1) + 2020),
            "jitter_ms_max": 0.0, "delta_ms_max": 20.0 })
    };
    Story::new("one-ssrc-five-calls", wire)
        .calls([1, 2, 3, 4, 5].map(call))
        .streams([1, 2, 3, 4, 5].map(stream))
}

/// Bob puts Alice on hold: her one source, numbered on without a break, sends to Bob, to the music server and to Bob
/// again. What went to the other place is not lost: 100 packets to Bob, 50 to the server, none missing.
pub(super) fn hold_and_resume() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("hold@example.com");
    let music = end("203.0.113.5:7000");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0xa11ce);
    let mut at = voice.run(&mut wire, ms(1100), 50);
    for (cseq, media) in [(1, music), (2, bob_media())] {
        let invite = dialog.by_callee("INVITE", cseq).sdp(&sdp(media, "0", &[]));
        wire.send(at - ms(60), &invite);
        wire.send(at - ms(50), &invite.answer(200, "OK", "").sdp(&sdp(alice_media(), "0", &[])));
        wire.send(at - ms(30), &dialog.by_callee("ACK", cseq));
        voice.dst = media;
        at = voice.run(&mut wire, at, 50);
    }
    dialog.hang_up(&mut wire, at + ms(100));
    let stream = |dst: &str, packets: u32, first: u64, last: u64, longest: f64| {
        json!({ "call_id": "hold@example.com", "direction": "caller_to_callee", "dst": dst, "ssrc": 0xa11ce,
            "packets": packets, "unique": packets, "lost": 0, "duplicates": 0, "reordered": 0, "loss_bursts": 0,
            "first_us": at_us(first), "last_us": at_us(last), "delta_ms_max": longest, "jitter_ms_max": 0.0 })
    };
    Story::new("hold-and-resume", wire)
        .calls([json!({ "state": "completed", "messages": 13, "retransmissions": 0, "released_by": "caller",
            "final_code": 200, "answer_us": at_us(1000), "duration_ms": 3200.0 })])
        .streams([
            stream("198.51.100.20:50000", 100, 1100, 4080, 1020.0),
            stream("203.0.113.5:7000", 50, 2100, 3080, 20.0),
        ])
}

/// A source numbers 5 to 54, begins again at 0 and goes to 99, begins again at 0 and goes to 49, each time with another
/// timestamp: three runs, 200 different packets, none lost, none repeated.
pub(super) fn numbering_restarts() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("restarts@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0x5e55).from(5, 8000);
    let mut at = voice.run(&mut wire, ms(1100), 50);
    for (timestamp, count) in [(4_000_000_000, 100), (77, 50)] {
        voice = voice.from(0, timestamp);
        at = voice.run(&mut wire, at, count);
    }
    dialog.hang_up(&mut wire, at);
    Story::new("numbering-restarts", wire)
        .calls([json!({ "state": "completed", "messages": 7 })])
        .streams([json!({ "call_id": "restarts@example.com", "packets": 200, "unique": 200, "lost": 0,
            "duplicates": 0, "reordered": 0, "loss_bursts": 0, "delta_ms_max": 20.0, "jitter_ms_max": 0.0 })])
}

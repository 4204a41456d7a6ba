//! Corner cases: very late packets, events without voice, ports shared by calls, limits that interact.

use serde_json::json;

use crate::story::rtp::{Rtp, event};
use crate::story::sip::{Dialog, Peer, alice, alice_media, bob, bob_media, end, sdp};
use crate::story::wire::Wire;
use crate::story::{Story, at_us, ms, secs};
use serde_json::Value;

/// The cases of this file.
pub(super) fn all() -> Vec<Story> {
    vec![
        counting_game(),
        dtmf_events_without_voice(),
        idle_limit_short(),
        lost_bye(),
        late_bye(),
        shared_media_port_at_once(),
        clock_by_reinvite(),
        ceiling_counts_calls(),
        regular_fifty_ms(),
        very_late(),
        dtmf_end_late(),
    ]
}

fn offer() -> String {
    sdp(alice_media(), "0", &[])
}

fn answer() -> String {
    sdp(bob_media(), "0", &[])
}
fn caller(last: u8) -> (Peer, ringtap_model::Endpoint) {
    let peer = Peer { user: "alice", end: end(&format!("192.0.2.{last}:5060")) };
    (peer, end(&format!("192.0.2.{last}:40000")))
}

/// still: number and clock do not advance together, so it is no stream.
pub(super) fn counting_game() -> Story {
    let mut wire = Wire::new();
    let game = Rtp::new(end("192.0.2.66:27015"), end("198.51.100.66:27005"), 7).codec(96, 0, 30);
    game.clone().run(&mut wire, ms(0), 60);
    Story::new("counting-game", wire)
}

/// Only the events of a call were captured, the voice between them not: that is no loss.
pub(super) fn dtmf_events_without_voice() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("alone@example.com");
    let events = &["rtpmap:101 telephone-event/8000"][..];
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0 101", events), &sdp(bob_media(), "0 101", events));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0xd16);
    for (digit, at) in [(1, 1500), (2, 2500), (3, 3500)] {
        for packet in 1..=5 {
            let payload = event(digit, packet > 2, 160 * packet.min(3));
            let datagram = voice.packet_of(101, &payload);
            wire.udp(ms(at + 20 * u64::from(packet)), voice.src, voice.dst, &datagram);
            voice.sequence += 1;
        }
        voice.lose(45);
        voice.timestamp += 5 * 160;
    }
    dialog.hang_up(&mut wire, secs(6));
    Story::new("dtmf-events-without-voice", wire)
        .calls([json!({ "state": "completed", "mos": null })])
        .streams([json!({ "codec": null, "packets": 15, "unique": 15, "mos": null, "lost": 0 })])
}

/// An idle limit shorter than the INVITE limit holds from the answer on.
pub(super) fn idle_limit_short() -> Story {
    let mut wire = Wire::new();
    Dialog::new("idle@example.com").set_up(&mut wire, ms(0), &offer(), &answer());
    wire.udp(secs(120), alice().end, bob().end, b"\r\n\r\n");
    Story::new("idle-limit-short", wire).config("idle_limit_s = 60\n").calls([json!({ "state": "timeout" })])
}

/// Three calls without a BYE, and five minutes more. The media of one fell silent: it ended at its last
/// packet. One is on hold, and one has no media here: they are in progress.
pub(super) fn lost_bye() -> Story {
    let mut wire = Wire::new();
    for (last, name) in [(31, "lost"), (32, "held"), (33, "unheard")] {
        let (peer, media) = caller(last);
        let dialog = Dialog::between(&format!("{name}@example.com"), peer, bob());
        dialog.set_up(&mut wire, ms(0), &sdp(media, "0", &[]), &answer());
        if name != "unheard" {
            Rtp::new(media, bob_media(), last.into()).run(&mut wire, secs(2), 50);
        }
        if name == "held" {
            let again = dialog.by_caller("INVITE", 2).sdp(&sdp(media, "0", &["sendonly"]));
            wire.send(secs(4), &again);
            wire.send(ms(4020), &again.answer(200, "OK", "bob").sdp(&sdp(bob_media(), "0", &["recvonly"])));
            wire.send(ms(4040), &dialog.by_caller("ACK", 2));
        }
    }
    wire.udp(secs(310), alice().end, bob().end, b"\r\n\r\n");
    Story::new("lost-bye", wire)
        .calls([
            json!({ "call_id": "lost@example.com", "state": "timeout", "released_by": "network",
            "end_us": at_us(2980), "duration_ms": 1980.0 }),
            json!({ "call_id": "held@example.com", "state": "active", "end_us": null }),
            json!({ "call_id": "unheard@example.com", "state": "active", "end_us": null }),
        ])
        .streams([json!({ "ssrc": 31, "packets": 50 }), json!({ "ssrc": 32, "packets": 50 })])
}

/// A BYE that comes when the call was long taken for over ends it, and so does one behind media that came
/// back.
pub(super) fn late_bye() -> Story {
    let mut wire = Wire::new();
    for (last, name) in [(31, "late"), (32, "back")] {
        let (peer, media) = caller(last);
        let dialog = Dialog::between(&format!("{name}@example.com"), peer, bob());
        dialog.set_up(&mut wire, ms(0), &sdp(media, "0", &[]), &answer());
        let mut voice = Rtp::new(media, bob_media(), last.into());
        voice.run(&mut wire, secs(2), 50);
        if name == "back" {
            voice.run(&mut wire, secs(500), 50);
        }
        dialog.hang_up(&mut wire, secs(700));
    }
    let call = |name: &str| {
        json!({ "call_id": format!("{name}@example.com"), "state": "completed", "released_by": "caller",
        "end_us": at_us(700_000), "duration_ms": 699_000.0 })
    };
    Story::new("late-bye", wire)
        .calls([call("late"), call("back")])
        .streams([json!({ "ssrc": 31, "packets": 50 }), json!({ "ssrc": 32, "packets": 100, "lost": 0 })])
}

/// One media port serves three calls at once: the other end tells whose stream it is.
pub(super) fn shared_media_port_at_once() -> Story {
    let mut wire = Wire::new();
    let mut wanted = Vec::new();
    for (index, last) in [11, 12, 13].into_iter().enumerate() {
        let (peer, media) = caller(last);
        let at = 100 * index as u64;
        let call_id = format!("at-once-{last}@example.com");
        let dialog = Dialog::between(&call_id, peer, bob());
        dialog.set_up(&mut wire, ms(at), &sdp(media, "0", &[]), &sdp(bob_media(), "0", &[]));
        Rtp::new(media, bob_media(), 1).run(&mut wire, ms(2000 + at), 40);
        Rtp::new(bob_media(), media, 2).run(&mut wire, ms(2050 + at), 40);
        dialog.hang_up(&mut wire, ms(4000 + at));
        for (ssrc, direction) in [(1, "caller_to_callee"), (2, "callee_to_caller")] {
            wanted.push(
                json!({ "call_id": call_id, "ssrc": ssrc, "direction": direction, "packets": 40, "lost": 0,
                "duplicates": 0 }),
            );
        }
    }
    let call = |last: u8| {
        json!({ "call_id": format!("at-once-{last}@example.com"), "state": "completed",
        "messages": 7 })
    };
    let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|index: usize| wanted[index].clone());
    Story::new("shared-media-port-at-once", wire).calls([11, 12, 13].map(call)).streams([a, b, c, d, e, f])
}

/// its packets.
pub(super) fn clock_by_reinvite() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("clock@example.com");
    let opus = &["rtpmap:111 opus/48000/2"][..];
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "111", opus), &sdp(bob_media(), "111", opus));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0xc0dec).codec(111, 960, 80);
    let at = voice.run(&mut wire, ms(1100), 40);
    let invite = dialog.by_caller("INVITE", 2).sdp(&sdp(alice_media(), "0", &[]));
    wire.send(at - ms(80), &invite);
    wire.send(at - ms(60), &invite.answer(200, "OK", "").sdp(&sdp(bob_media(), "0", &[])));
    wire.send(at - ms(40), &dialog.by_caller("ACK", 2));
    voice.codec(0, 160, 160).run(&mut wire, at, 100);
    let bye = dialog.by_caller("BYE", 3);
    wire.send(secs(5), &bye);
    wire.send(secs(5) + ms(20), &bye.answer(200, "OK", ""));
    Story::new("clock-by-reinvite", wire)
        .calls([
            json!({ "state": "completed", "messages": 10, "retransmissions": 0, "answer_us": at_us(1000),
            "final_code": 200, "duration_ms": 4000.0 }),
        ])
        .streams([
            json!({ "payload_type": 0, "codec": "PCMU", "clock_hz": 8000, "ptime_ms": 20.0, "packets": 140,
            "unique": 140, "lost": 0, "reordered": 0, "delta_ms_max": 20.0, "jitter_ms_max": 0.0 }),
        ])
}

/// seen, as streams of no call.
pub(super) fn ceiling_counts_calls() -> Story {
    let mut wire = Wire::new();
    let lasts = [11, 12, 13, 14];
    for (index, last) in lasts.into_iter().enumerate() {
        let (peer, media) = caller(last);
        let there = end(&format!("198.51.100.{last}:50000"));
        let at = 1200 * index as u64;
        let called = Peer { end: end(&format!("198.51.100.{last}:5060")), ..bob() };
        let dialog = Dialog::between(&format!("room-{last}@example.com"), peer, called);
        dialog.set_up(&mut wire, ms(at), &sdp(media, "0", &[]), &sdp(there, "0", &[]));
        Rtp::new(media, there, u32::from(last)).run(&mut wire, ms(2000 + at), 40);
        dialog.hang_up(&mut wire, ms(4000 + at));
    }
    let call = |last: u8| {
        json!({ "call_id": format!("room-{last}@example.com"), "state": "completed", "messages": 7,
            "duration_ms": 3000.0 })
    };
    let stream = |last: u8| -> Value {
        let call_id = (last <= 12).then(|| format!("room-{last}@example.com"));
        json!({ "call_id": call_id, "ssrc": last, "packets": 40, "lost": 0 })
    };
    Story::new("ceiling-counts-calls", wire)
        .config("max_calls = 2\n")
        .calls([11, 12].map(call))
        .streams(lasts.map(stream))
        .counter("calls_refused", 2)
}
/// 22.5 s of media in packets of 50 ms, ten of them lost in the 13th second: three intervals, the loss in the
/// second.
pub(super) fn regular_fifty_ms() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("intervals@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "18", &[]), &sdp(bob_media(), "18", &[]));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0x17e).codec(18, 400, 50);
    voice.ptime = ms(50);
    let at = voice.run(&mut wire, ms(1100), 250) + ms(500);
    voice.lose(10);
    voice.run(&mut wire, at, 190);
    dialog.hang_up(&mut wire, secs(25));
    let interval = |start: u64, packets: u32, lost: u32| {
        json!({ "start_us": at_us(start), "packets": packets,
        "lost": lost, "jitter_ms": 0.0, "discarded": 0 })
    };
    Story::new("regular-fifty-ms", wire).calls([json!({ "state": "completed" })]).streams([json!({
        "codec": "G729", "ptime_ms": 50.0, "packets": 440, "lost": 10, "loss_bursts": 1, "burst_len_max": 10,
        "delta_ms_max": 550.0, "first_us": at_us(1100), "last_us": at_us(23_550),
        "intervals": [interval(1100, 200, 0), interval(11_100, 190, 10), interval(21_100, 50, 0)] })])
}

/// One packet is 700 ms late, 35 behind the highest: out of order, not lost.
pub(super) fn very_late() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("late@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    let voice = Rtp::new(alice_media(), bob_media(), 1);
    for index in (0..10).chain(11..80) {
        voice.nth(index).send(&mut wire, ms(1100 + 20 * u64::from(index)));
    }
    voice.nth(10).send(&mut wire, ms(1100 + 20 * 10 + 705));
    dialog.hang_up(&mut wire, secs(5));
    Story::new("very-late", wire).calls([json!({ "state": "completed" })]).streams([json!({ "packets": 80,
        "unique": 80, "lost": 0, "reordered": 1, "duplicates": 0 })])
}

/// The last end packet of a digit comes behind the first packet of the next: two digits, not three.
pub(super) fn dtmf_end_late() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("dtmf-late@example.com");
    let events = &["rtpmap:101 telephone-event/8000"][..];
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0 101", events), &sdp(bob_media(), "0 101", events));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0xd16);
    let mut packets = Vec::new();
    for code in [1, 2] {
        for number in 1..=6 {
            packets.push(voice.packet_of(101, &event(code, number > 3, 160 * number)));
            voice.sequence += 1;
        }
        voice.timestamp += 1600;
    }
    packets.swap(5, 6);
    for (index, packet) in packets.iter().enumerate() {
        wire.udp(ms(1100 + 20 * index as u64), voice.src, voice.dst, packet);
    }
    dialog.hang_up(&mut wire, secs(5));
    Story::new("dtmf-end-late", wire)
        .calls([json!({ "state": "completed", "dtmf": [{ "digit": "1" }, { "digit": "2" }] })])
        .streams([json!({ "packets": 12, "lost": 0, "reordered": 1 })])
}

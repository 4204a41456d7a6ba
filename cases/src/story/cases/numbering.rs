//! Sequence numbers that are reused, sent elsewhere, lost, duplicated and out of order.

use serde_json::json;

use crate::story::rtp::{Rtp, event};
use crate::story::sip::{Dialog, alice_media, bob_media, end, sdp, sdp_of};
use crate::story::wire::Wire;
use crate::story::{Story, at_us, ms, secs};

/// The cases of this file.
pub(super) fn all() -> Vec<Story> {
    vec![
        one_ssrc_five_calls(),
        hold_and_resume(),
        numbering_restarts(),
        t38_by_reinvite(),
        sequence_wraps_twice(),
        silence_suppression(),
        burst_loss(),
        reordering(),
        jitter_by_hand(),
        leap_of_a_day(),
        dtmf_end_packets(),
        dtmf_events_alone(),
        hold_old_style(),
        jump_forward(),
    ]
}

/// Five calls one after another use one SSRC, one pair of ports and the numbers 0 to 49: the stream of each
/// call is its own, and nothing was repeated.
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

/// Bob puts Alice on hold: her one source, numbered on without a break, sends to Bob, to the music server and
/// to Bob again. What went to the other place is not lost: 100 packets to Bob, 50 to the server, none
/// missing.
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
            "packets": packets, "unique": packets, "lost": 0, "duplicates": 0, "reordered": 0,
            "loss_bursts": 0,
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

/// A source numbers 5 to 54, begins again at 0 and goes to 99, begins again at 0 and goes to 49, each time
/// with another timestamp: three runs, 200 different packets, none lost, none repeated.
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

/// A fax: the call changes to T.38 and back, and both sides count their RTP numbers on for the 1712 packets
/// that they did not send meanwhile. Nothing was lost.
pub(super) fn t38_by_reinvite() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("fax@example.com");
    let audio = [alice_media(), bob_media()].map(|media| sdp(media, "8", &[]));
    let image = [alice_media(), bob_media()]
        .map(|media| sdp_of(media, &format!("m=image {} udptl t38", media.port), &["T38FaxVersion:0"]));
    dialog.set_up(&mut wire, ms(0), &audio[0], &audio[1]);
    let mut there = Rtp::new(alice_media(), bob_media(), 0xfa1).codec(8, 160, 160);
    let mut back = Rtp::new(bob_media(), alice_media(), 0xfa2).codec(8, 160, 160).from(64_000, 0);
    there.run(&mut wire, ms(1100), 50);
    back.run(&mut wire, ms(1105), 50);
    for (cseq, at, [answer, offer]) in [(1, ms(2110), &image), (2, ms(36_250), &audio)] {
        let invite = dialog.by_callee("INVITE", cseq).sdp(offer);
        wire.send(at, &invite);
        wire.send(at + ms(20), &invite.answer(200, "OK", "").sdp(answer));
        wire.send(at + ms(40), &dialog.by_callee("ACK", cseq));
    }
    for index in 0..10 {
        // UDPTL (T.38 section 9.1): number, one indicator, no redundancy.
        let datagram = [0, index, 1, 2, 0, 0];
        wire.udp(ms(2300 + 3000 * u64::from(index)), bob_media(), alice_media(), &datagram);
        wire.udp(ms(2400 + 3000 * u64::from(index)), alice_media(), bob_media(), &datagram);
    }
    there.lose(1712);
    back.lose(1712);
    there.run(&mut wire, ms(1100 + 20 * (50 + 1712)), 50);
    back.run(&mut wire, ms(1105 + 20 * (50 + 1712)), 50);
    dialog.hang_up(&mut wire, secs(38));
    let stream = |direction: &str, first: u64| {
        json!({ "call_id": "fax@example.com", "direction": direction, "codec": "PCMA", "packets": 100,
            "unique": 100,
            "lost": 0, "loss_bursts": 0, "duplicates": 0, "reordered": 0, "jitter_ms_max": 0.0,
            "first_us": at_us(first), "last_us": at_us(first + 20 * (50 + 1712 + 49)) })
    };
    Story::new("t38-by-reinvite", wire)
        .calls([json!({ "state": "completed", "messages": 13, "answer_us": at_us(1000),
            "duration_ms": 37_000.0 })])
        .streams([stream("caller_to_callee", 1100), stream("callee_to_caller", 1105)])
        .counter("udp_other", 20)
}

/// From 65,500 on, with two outages of 32,000 packets and one of 1,300 for which clock and time vouch: the
/// extended numbers go from 65,500 to 131,099, past 65,536 and 131,072. 65,600 numbers, 300 packets, the rest
/// lost in three bursts.
pub(super) fn sequence_wraps_twice() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("wraps@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "18", &[]), &sdp(bob_media(), "18", &[]));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0x3a95).codec(18, 160, 20).from(65_500, 0xffff_f000);
    let mut at = ms(1100);
    for (packets, lost) in [(100, 32_000), (50, 32_000), (50, 1300), (100, 0)] {
        at = voice.run(&mut wire, at, packets) + ms(20 * u64::from(lost));
        voice.lose(lost);
    }
    dialog.hang_up(&mut wire, at);
    Story::new("sequence-wraps-twice", wire).calls([json!({ "state": "completed", "messages": 7 })]).streams(
        [json!({ "codec": "G729", "packets": 300, "unique": 300, "lost": 65_300, "duplicates": 0,
            "reordered": 0, "loss_bursts": 3, "burst_len_max": 32_000, "burst_len_mean": 21_766.667,
            "delta_ms_max": 640_020.0, "jitter_ms_max": 0.0 })],
    )
}

/// A telephone that sends nothing while its user is silent: one packet of comfort noise (RFC 3389), then two
/// seconds without a packet, in which the clock runs and the numbering does not. Nothing is lost, nothing
/// comes late.
pub(super) fn silence_suppression() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("silence@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0 13", &[]), &sdp(bob_media(), "0 13", &[]));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0x51e);
    let mut at = ms(1100);
    for _ in 0..2 {
        at = voice.run(&mut wire, at, 50);
        wire.udp(at, voice.src, voice.dst, &voice.packet_of(13, &[0x40]));
        voice.lose(1);
        voice.hush(100);
        at += ms(2020);
    }
    voice.run(&mut wire, at, 50);
    dialog.hang_up(&mut wire, secs(10));
    Story::new("silence-suppression", wire).calls([json!({ "state": "completed", "messages": 7 })]).streams([
        json!({ "codec": "PCMU", "payload_type": 0, "ptime_ms": 20.0, "packets": 152, "unique": 152,
            "lost": 0,
            "loss_bursts": 0, "burst_ratio": null, "burst_len_max": null, "jitter_ms_max": 0.0,
            "delta_ms_max": 2020.0 }),
    ])
}

/// 216 numbers, of which runs of 1, 5 and 10 are missing. Mean run 16/3; were loss random, a run would be
/// 216/200 long: the burst ratio (G.107) is 5.333 / 1.08 = 4.938.
pub(super) fn burst_loss() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("bursts@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0xb57);
    let mut at = ms(1100);
    for lost in [1, 5, 10, 0] {
        at = voice.run(&mut wire, at, 50) + ms(20 * u64::from(lost));
        voice.lose(lost);
    }
    dialog.hang_up(&mut wire, at);
    Story::new("burst-loss", wire).calls([json!({ "state": "completed" })]).streams([
        json!({ "packets": 200, "unique": 200, "lost": 16, "duplicates": 0, "reordered": 0,
            "loss_bursts": 3, "burst_len_max": 10, "burst_len_mean": 5.333, "burst_ratio": 4.938,
            "delta_ms_max": 220.0, "jitter_ms_max": 0.0 }),
    ])
}

/// To Bob: 3 overtakes 2; 10 comes after 11 and 12; 20 comes once more after 21, which is a repeat and not
/// disorder; 30 never comes. To Alice: the second packet arrives first, and the first still counts.
pub(super) fn reordering() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("disorder@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    let there = Rtp::new(alice_media(), bob_media(), 1);
    let order = [0, 1, 3, 2, 4, 5, 6, 7, 8, 9, 11, 12, 10]
        .into_iter()
        .chain(13..=21)
        .chain([20])
        .chain(22..=29)
        .chain(31..40);
    for (place, index) in order.enumerate() {
        there.nth(index).send(&mut wire, ms(1100 + 20 * place as u64));
    }
    let back = Rtp::new(bob_media(), alice_media(), 2);
    for (place, index) in [1, 0].into_iter().chain(2..20).enumerate() {
        back.nth(index).send(&mut wire, ms(1105 + 20 * place as u64));
    }
    dialog.hang_up(&mut wire, secs(3));
    Story::new("reordering", wire).calls([json!({ "state": "completed" })]).streams([
        json!({ "direction": "caller_to_callee", "packets": 40, "unique": 39, "duplicates": 1, "reordered": 2,
            "lost": 1, "loss_bursts": 1, "burst_len_max": 1 }),
        json!({ "direction": "callee_to_caller", "packets": 20, "unique": 20, "duplicates": 0, "reordered": 1,
            "lost": 0, "loss_bursts": 0 }),
    ])
}

/// RFC 3550 section 6.4.1 by hand. Packets of 20 ms arrive after 0, 20, 44, 60 and 80 ms: D is 0, 4, -4, 0
/// ms, so J is 0, 4/16 = 0.25, 0.25 + (4 - 0.25)/16 = 0.484375 and 0.484375 * 15/16 = 0.4541015625 ms, on
/// average 0.297119. The other way the same in G.722, whose clock is 8000 Hz (RFC 3551 section 4.5.2): with
/// 16,000 all would differ.
pub(super) fn jitter_by_hand() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("jitter@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "9 0", &[]), &sdp(bob_media(), "9 0", &[]));
    let mut there = Rtp::new(alice_media(), bob_media(), 1);
    let mut back = Rtp::new(bob_media(), alice_media(), 2).codec(9, 160, 160);
    for after in [0, 20, 44, 60, 80] {
        there.send(&mut wire, ms(1100 + after));
        back.send(&mut wire, ms(1105 + after));
    }
    dialog.hang_up(&mut wire, secs(3));
    let stream = |direction: &str, codec: &str| {
        json!({ "direction": direction, "codec": codec, "clock_hz": 8000, "ptime_ms": 20.0, "packets": 5,
            "lost": 0,
            "jitter_ms_mean": 0.297_119_140_6, "jitter_ms_max": 0.484_375, "delta_ms_max": 24.0,
            "iat_ms_min": 16.0,
            "iat_ms_max": 24.0, "iat_ms_mean": 20.0, "iat_ms_sd": 2.828_427,
            "intervals": [{ "packets": 5, "lost": 0, "jitter_ms": 0.297_119 }] })
    };
    Story::new("jitter-by-hand", wire)
        .calls([json!({ "state": "completed" })])
        .streams([stream("caller_to_callee", "PCMU"), stream("callee_to_caller", "G722")])
}

/// In the middle of a call one record carries a time a day ahead: that ends nothing. Later a day passes in
/// truth, and the next call is at its own time.
pub(super) fn leap_of_a_day() -> Story {
    const DAY: u64 = 86_400_000;
    let mut wire = Wire::new();
    let first = Dialog::new("today@example.com");
    first.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    Rtp::new(alice_media(), bob_media(), 1).run(&mut wire, ms(1100), 50);
    wire.udp(ms(1500), end("192.0.2.77:5060"), end("192.0.2.78:5060"), b"\r\n\r\n");
    if let Some(last) = wire.frames_mut().last_mut() {
        last.ahead = ms(DAY);
    }
    first.hang_up(&mut wire, ms(3000));
    let second = Dialog::new("tomorrow@example.com");
    second.set_up(&mut wire, ms(DAY), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    Rtp::new(alice_media(), bob_media(), 2).run(&mut wire, ms(DAY + 1100), 50);
    second.hang_up(&mut wire, ms(DAY + 3000));
    let call = |call_id: &str, from: u64| {
        json!({ "call_id": call_id, "state": "completed", "messages": 7, "invite_us": at_us(from),
            "answer_us": at_us(from + 1000), "end_us": at_us(from + 3000), "duration_ms": 2000.0 })
    };
    let stream = |call_id: &str, from: u64| {
        json!({ "call_id": call_id, "packets": 50, "lost": 0, "first_us": at_us(from + 1100),
            "last_us": at_us(from + 2080), "delta_ms_max": 20.0 })
    };
    Story::new("leap-of-a-day", wire)
        .calls([call("today@example.com", 0), call("tomorrow@example.com", DAY)])
        .streams([stream("today@example.com", 0), stream("tomorrow@example.com", DAY)])
}

/// Two digits by telephone-event (RFC 4733): each three packets, then three end packets that all have the
/// same number. Two digits, no more; the voice around them loses nothing, and PCMU is the codec.
pub(super) fn dtmf_end_packets() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("digits@example.com");
    let events = &["rtpmap:101 telephone-event/8000"][..];
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0 101", events), &sdp(bob_media(), "0 101", events));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0xd16);
    let mut at = ms(1100);
    for code in [5, 11] {
        at = voice.run(&mut wire, at, 30);
        let timestamp = voice.timestamp;
        for (packet, end) in [(1, false), (2, false), (3, false), (4, true), (4, true), (4, true)] {
            let marker = if packet == 1 { 0x80 } else { 0 };
            let payload = event(code, end, 160 * packet);
            wire.udp(at, voice.src, voice.dst, &voice.packet_of(marker | 101, &payload));
            at += ms(20);
            // The timestamp stands still for the whole event, and the end packets repeat the number.
            if packet < 4 {
                voice.sequence += 1;
            }
        }
        voice.sequence += 1;
        voice.timestamp = timestamp + 6 * 160;
    }
    voice.run(&mut wire, at, 30);
    dialog.hang_up(&mut wire, secs(6));
    Story::new("dtmf-end-packets", wire)
        .calls([json!({ "state": "completed", "messages": 7, "dtmf": [
            { "digit": "5", "source": "rfc4733", "time_us": at_us(1700) },
            { "digit": "#", "source": "rfc4733", "time_us": at_us(2420) } ] })])
        .streams([json!({ "codec": "PCMU", "payload_type": 0, "packets": 102, "lost": 0, "reordered": 0,
            "loss_bursts": 0, "jitter_ms_max": 0.0 })])
}

/// A source that sends events and no voice: digits, but no codec, no jitter and no MOS, and nothing lost.
pub(super) fn dtmf_events_alone() -> Story {
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
        voice.hush(50);
    }
    dialog.hang_up(&mut wire, secs(6));
    let digit = |digit: &str, at: u64| json!({ "digit": digit, "source": "rfc4733", "time_us": at_us(at) });
    Story::new("dtmf-events-alone", wire)
        .calls([json!({ "state": "completed", "mos": null,
            "dtmf": [digit("1", 1520), digit("2", 2520), digit("3", 3520)] })])
        .streams([
            json!({ "codec": null, "packets": 15, "unique": 15, "duplicates": 0, "jitter_ms_max": null,
            "mos": null, "lost": 0 }),
        ])
}

/// Hold in the old style (c=0.0.0.0, RFC 3264 section 8.4): ten seconds without media, then the numbering
/// goes on with a new timestamp. No loss, and no jitter either: the new time base says nothing of the
/// network.
pub(super) fn hold_old_style() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("hold-old@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    let mut voice = Rtp::new(alice_media(), bob_media(), 1);
    voice.run(&mut wire, ms(1100), 40);
    for (cseq, at, media) in [(1, 2000, end("0.0.0.0:50000")), (2, 12_000, bob_media())] {
        let invite = dialog.by_callee("INVITE", cseq).sdp(&sdp(media, "0", &[]));
        wire.send(ms(at), &invite);
        wire.send(ms(at + 20), &invite.answer(200, "OK", "").sdp(&sdp(alice_media(), "0", &[])));
        wire.send(ms(at + 40), &dialog.by_callee("ACK", cseq));
    }
    voice.timestamp = voice.timestamp.wrapping_add(987_654);
    voice.run(&mut wire, ms(12_100), 40);
    dialog.hang_up(&mut wire, secs(14));
    Story::new("hold-old-style", wire)
        .calls([json!({ "state": "completed", "messages": 13, "duration_ms": 13_000.0 })])
        .streams([json!({ "packets": 80, "unique": 80, "lost": 0, "jitter_ms_max": 0.0 })])
}

/// Numbers jump ahead by 20,000 while the clock goes on as before and 20 ms pass: a new run, nothing is lost.
pub(super) fn jump_forward() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("jump@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    let mut voice = Rtp::new(alice_media(), bob_media(), 1);
    let at = voice.run(&mut wire, ms(1100), 40);
    voice.sequence += 20_000;
    let at = voice.run(&mut wire, at, 40);
    dialog.hang_up(&mut wire, at);
    Story::new("jump-forward", wire)
        .calls([json!({ "state": "completed" })])
        .streams([json!({ "packets": 80,
        "unique": 80, "lost": 0, "duplicates": 0, "reordered": 0, "jitter_ms_max": 0.0 })])
}

//! The truth against a recount of the frames, by the definitions of the records and the plainest means: sets
//! of numbers, maps of messages.

use std::collections::{BTreeMap, BTreeSet};

use ringtap_model::{Endpoint, Nanos};
use ringtap_traffic::{CallTruth, Mix, Scenario, Share, StreamTruth, Truth};
use ringtap_wire::sip::{Message, Method, StartLine};

use crate::made::{Made, endpoint, make};

fn share(share: f64) -> Share {
    Share::new(share).unwrap()
}

/// Everything that can go wrong does.
fn everything(seed: u64) -> Scenario {
    Scenario {
        calls: 150,
        rate: 10.0,
        hold: "exponential:5".parse().unwrap(),
        codecs: "PCMU=3,PCMA=2,G729=2,opus=1,G722=1,GSM=1".parse().unwrap(),
        loss: "gilbert:2%,25%,90%,0.5%".parse().map(Mix::only).unwrap(),
        jitter: "gamma:2,4".parse().map(Mix::only).unwrap(),
        reorder: share(0.02),
        duplicate: share(0.02),
        failed: share(0.1),
        cancelled: share(0.1),
        challenged: share(0.2),
        retransmit: share(0.1),
        reinvite: share(0.3),
        dtmf: share(0.3),
        ..Scenario::new(seed)
    }
}

/// An RTP packet.
struct Rtp {
    time: Nanos,
    sequence: u16,
    timestamp: u32,
    payload_type: u8,
    payload: Vec<u8>,
}

type Key = (Endpoint, Endpoint, u32);

fn rtp(made: &Made) -> BTreeMap<Key, Vec<Rtp>> {
    let mut streams: BTreeMap<Key, Vec<Rtp>> = BTreeMap::new();
    for packet in made.packets().filter(|packet| packet.payload.first() == Some(&0x80)) {
        let word = |at: usize| u32::from_be_bytes(packet.payload[at..at + 4].try_into().unwrap());
        let key = (endpoint(packet.src), endpoint(packet.dst), word(8));
        streams.entry(key).or_default().push(Rtp {
            time: packet.time,
            sequence: word(0) as u16,
            timestamp: word(4),
            payload_type: packet.payload[1] & 0x7f,
            payload: packet.payload[12..].to_vec(),
        });
    }
    streams
}

/// Numbers beyond 16 bits, each taken for the nearest to the one before.
fn extended(packets: &[Rtp]) -> Vec<i64> {
    let mut last = i64::from(packets[0].sequence);
    packets
        .iter()
        .map(|packet| {
            last += i64::from(packet.sequence.wrapping_sub(last as u16).cast_signed());
            last
        })
        .collect()
}

fn check(packets: &[Rtp], truth: &StreamTruth) {
    let id = format!("{} {} > {}", truth.call_id, truth.src, truth.dst);
    let numbers = extended(packets);
    let set: BTreeSet<i64> = numbers.iter().copied().collect();
    let (low, high) = (*set.first().unwrap(), *set.last().unwrap());
    let gaps: Vec<u64> = set.iter().zip(set.iter().skip(1)).map(|(a, b)| (b - a - 1) as u64).collect();
    let bursts: Vec<u64> = gaps.into_iter().filter(|gap| *gap > 0).collect();
    let firsts: Vec<usize> =
        (0..numbers.len()).filter(|&place| !numbers[..place].contains(&numbers[place])).collect();
    let reordered =
        firsts.iter().filter(|&&place| numbers[..place].iter().any(|other| *other > numbers[place]));
    let counts = [
        (truth.packets, packets.len() as u64, "packets"),
        (truth.unique, set.len() as u64, "unique"),
        (truth.duplicates, (packets.len() - set.len()) as u64, "duplicates"),
        (truth.lost, (high - low + 1) as u64 - set.len() as u64, "lost"),
        (truth.loss_bursts, bursts.len() as u64, "loss_bursts"),
        (truth.burst_len_max.unwrap_or(0), bursts.iter().copied().max().unwrap_or(0), "burst_len_max"),
        (truth.reordered, reordered.count() as u64, "reordered"),
        (truth.bytes, packets.iter().map(|packet| packet.payload.len() as u64).sum(), "bytes"),
        (truth.first.0, packets[0].time.0, "first"),
        (truth.last.0, packets[packets.len() - 1].time.0, "last"),
    ];
    for (truth, counted, name) in counts {
        assert_eq!(truth, counted, "{id}: {name}");
    }
    check_repeats(packets, &numbers, &id);
    check_jitter(packets, &firsts, truth, &id);
}

/// A packet that comes again is the same packet.
fn check_repeats(packets: &[Rtp], numbers: &[i64], id: &str) {
    let mut seen = BTreeMap::new();
    for (packet, number) in packets.iter().zip(numbers) {
        let whole = (packet.timestamp, packet.payload_type, &packet.payload);
        assert_eq!(*seen.entry(number).or_insert(whole), whole, "{id}");
    }
}

/// RFC 3550 section 6.4.1 in seconds, over first copies of audio in order of arrival.
fn check_jitter(packets: &[Rtp], firsts: &[usize], truth: &StreamTruth, id: &str) {
    let audio: Vec<&Rtp> =
        firsts.iter().map(|place| &packets[*place]).filter(|p| p.payload_type != 101).collect();
    let (mut jitter, mut sum, mut most) = (0.0, 0.0, 0.0_f64);
    for pair in audio.windows(2) {
        let arrival = (pair[1].time.0 - pair[0].time.0) as f64 / 1e9;
        let media =
            f64::from(pair[1].timestamp.wrapping_sub(pair[0].timestamp) as i32) / f64::from(truth.clock_hz);
        jitter += ((arrival - media).abs() - jitter) / 16.0;
        sum += jitter;
        most = most.max(jitter);
    }
    let near = |truth: Option<f64>, seconds: f64| truth.is_some_and(|ms| (ms - seconds * 1e3).abs() < 1e-6);
    if audio.len() > 1 {
        assert!(near(truth.jitter_ms_mean, sum / (audio.len() - 1) as f64), "{id}: mean");
        assert!(near(truth.jitter_ms_max, most), "{id}: max");
    } else {
        assert_eq!((truth.jitter_ms_mean, truth.jitter_ms_max), (None, None), "{id}");
    }
}

#[test]
fn streams_are_as_the_truth_says() {
    let made = make(everything(1));
    let mut streams = rtp(&made);
    let mut sums = [0; 4];
    for truth in &made.truth {
        let Truth::Stream(truth) = truth else { continue };
        let packets = streams.remove(&(truth.src, truth.dst, truth.ssrc)).expect("a stream that was sent");
        check(&packets, truth);
        let counts = [truth.lost, truth.duplicates, truth.reordered, truth.loss_bursts];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(streams.is_empty(), "sent but not told: {:?}", streams.keys());
    assert!(sums.iter().all(|sum| *sum > 100), "nothing went wrong: {sums:?}");
}

/// What a call's messages say of it.
#[derive(Debug, Default)]
struct Counted {
    messages: u32,
    repeats: u32,
    seen: BTreeSet<Vec<u8>>,
    times: BTreeMap<&'static str, Nanos>,
    final_code: u16,
    requests: BTreeSet<String>,
}

fn calls(made: &Made) -> BTreeMap<String, Counted> {
    let mut calls: BTreeMap<String, Counted> = BTreeMap::new();
    for packet in made.packets().filter(|packet| !packet.tcp && packet.payload.first() != Some(&0x80)) {
        let message = Message::parse(packet.payload).unwrap();
        let call_id = String::from_utf8(message.call_id().unwrap().to_vec()).unwrap();
        let call = calls.entry(call_id).or_default();
        call.messages += 1;
        call.repeats += u32::from(!call.seen.insert(packet.payload.to_vec()));
        // A re-INVITE has a tag in To, and so have its answers: but so have all answers. It is offered as
        // version 2.
        let is_first = !packet.payload.windows(4).any(|four| four == b" 2 I");
        let name = match (message.start(), message.cseq()) {
            (StartLine::Request { method: Method::Invite, .. }, _) if is_first => "invite",
            (StartLine::Request { method: Method::Bye, .. }, _) => "bye",
            (StartLine::Request { method: Method::Cancel, .. }, _) => "cancel",
            (StartLine::Response { code, .. }, Some((_, Method::Invite))) => match code {
                100 => "100",
                180 => "180",
                200 if call.times.contains_key("200") => "re-INVITE",
                _ => {
                    call.final_code = code;
                    if code == 200 { "200" } else { "failure" }
                }
            },
            (StartLine::Request { method_text, .. }, _) => {
                call.requests.insert(String::from_utf8_lossy(method_text).into_owned());
                continue;
            }
            _ => continue,
        };
        if !matches!(call.final_code, 401 | 407) || name != "failure" {
            call.times.entry(name).or_insert(packet.time);
        }
    }
    calls
}

#[test]
fn calls_are_as_the_truth_says() {
    let made = make(everything(2));
    let mut counted = calls(&made);
    let mut states = BTreeMap::new();
    for truth in &made.truth {
        let Truth::Call(truth) = truth else { continue };
        let call = counted.remove(&truth.call_id).expect("a call that was sent");
        check_call(&call, truth);
        *states.entry(truth.state.name()).or_insert(0) += 1;
    }
    assert!(counted.is_empty(), "sent but not told: {:?}", counted.keys());
    for state in ["completed", "failed", "cancelled"] {
        assert!(states.get(state).is_some_and(|count| *count > 5), "{states:?}");
    }
}

fn check_call(call: &Counted, truth: &CallTruth) {
    let id = &truth.call_id;
    let at = |name: &str| call.times.get(name).copied();
    assert_eq!((truth.messages, truth.retransmissions), (call.messages, call.repeats), "{id}");
    assert_eq!(truth.final_code, call.final_code, "{id}");
    assert_eq!(truth.invite, at("invite"), "{id}");
    assert_eq!(truth.trying, at("100"), "{id}");
    assert_eq!(truth.ringing, at("180"), "{id}");
    assert_eq!(truth.answer, at("200"), "{id}");
    assert_eq!(truth.end, at("bye").or(at("cancel")).or(at("failure")), "{id}");
    let state = match (at("bye"), at("cancel"), at("failure")) {
        (Some(_), _, _) => "completed",
        (None, Some(_), _) => "cancelled",
        (None, None, Some(_)) => "failed",
        _ => "none",
    };
    assert_eq!(truth.state.name(), state, "{id}");
    assert!(call.requests.contains("ACK"), "{id}");
}

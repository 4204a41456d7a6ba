//! Generated traffic, whose every figure is known, against the engine's records: none missing, none invented,
//! every count exact.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use ringtap_cases::run;
use ringtap_engine::Config;
use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_traffic::{
    Comparison, Cross, Mix, RecordKind, Scenario, Share, Tolerance, Traffic, Transport, Truth,
};

/// Frames as a capture holds them.
struct Captured {
    frames: Vec<(Nanos, Vec<u8>)>,
    truth: Vec<Truth>,
}

fn capture(scenario: Scenario) -> Captured {
    let mut traffic = Traffic::new(scenario).unwrap();
    let mut frames = Vec::new();
    while let Some((time, frame)) = traffic.next() {
        frames.push((time, frame.to_vec()));
    }
    Captured { frames, truth: traffic.truth().collect() }
}

impl Captured {
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        (1..).zip(&self.frames).map(|(number, (time, data))| Frame {
            time: *time,
            number,
            link: LinkType(1),
            wire_len: data.len() as u32,
            data,
        })
    }
}

/// Calls, streams and registrations that were compared.
fn agree(scenario: Scenario) -> [u64; 3] {
    let captured = capture(scenario);
    let records = run::frames(captured.frames(), Config::default(), 64);
    let mut comparison = Comparison::new(Tolerance::default());
    for truth in &captured.truth {
        comparison.truth(&serde_json::to_string(truth).unwrap()).unwrap();
    }
    comparison.check().unwrap();
    for line in records.lines() {
        comparison.record(&line).unwrap();
    }
    assert_eq!(records.messages, []);
    let report = comparison.finish();
    assert!(report.agrees(), "{:?}\n{}", report.differing, report.first.join("\n"));
    RecordKind::ALL.map(|kind| report.counts(kind).found)
}

fn share(share: f64) -> Share {
    Share::new(share).unwrap()
}

/// Three hundred calls of every kind over a bad network.
fn everything(seed: u64) -> Scenario {
    Scenario {
        calls: 300,
        rate: 10.0,
        hold: "lognormal:6,1".parse().unwrap(),
        registrations: 60,
        ..Scenario::everything(seed)
    }
}

#[test]
fn everything_over_udp() {
    let udp = Mix::only(Transport::Udp);
    let [calls, streams, registrations] = agree(Scenario { transport: udp, ..everything(1) });
    assert_eq!((calls, registrations), (300, 60));
    assert!(streams > 480, "{streams} streams");
}

#[test]
fn everything_over_tcp() {
    let [calls, streams, registrations] =
        agree(Scenario { transport: Mix::only(Transport::Tcp), ..everything(2) });
    assert_eq!((calls, registrations), (300, 60));
    assert!(streams > 480, "{streams} streams");
}

/// Bursts that last for seconds, packets of other lengths, media that move in every call.
#[test]
fn long_bursts() {
    for loss in ["bernoulli:50%", "gilbert:1%,0.5%", "gilbert:5%,5%,80%,5%"] {
        agree(Scenario { loss: loss.parse().map(Mix::only).unwrap(), ..everything(51) });
    }
}

#[test]
fn packets_of_every_length() {
    for (ptime, codecs) in [(10, "PCMU=1,G729=1,G722=1"), (30, "iLBC=1,PCMA=1"), (60, "GSM=1,opus=1,G729=1")]
    {
        let length = Nanos::from_millis(ptime);
        let ptime = Mix::only(length);
        agree(Scenario { ptime, codecs: codecs.parse().unwrap(), calls: 100, ..everything(length.0) });
    }
}

#[test]
fn media_that_always_move() {
    let (reinvite, hold) = (share(1.0), "uniform:2,8".parse().unwrap());
    let [_, streams, _] = agree(Scenario { reinvite, hold, ..everything(62) });
    assert!(streams > 900, "{streams} streams");
}

/// Sequence numbers that wrap twice.
#[test]
fn a_long_call() {
    let hold = "constant:1500".parse().unwrap();
    let answered = Scenario { failed: Share::NONE, cancelled: Share::NONE, ..everything(66) };
    let [_, streams, _] = agree(Scenario {
        calls: 2,
        registrations: 0,
        ptime: Mix::only(Nanos::from_millis(10)),
        hold,
        codecs: "PCMU=1,G729=1".parse().unwrap(),
        ..answered
    });
    assert!(streams >= 4, "{streams} streams");
}

/// A network without faults: whatever is found is invented.
#[test]
fn nothing_is_wrong_where_nothing_is() {
    let clean = Scenario {
        loss: Mix::of_shares(&[]).unwrap(),
        jitter: Mix::of_shares(&[]).unwrap(),
        reorder: Share::NONE,
        duplicate: Share::NONE,
        retransmit: Share::NONE,
        ..everything(3)
    };
    agree(clean);
}

/// Whatever else is on the wire, nothing of it is taken for a call or a stream.
#[test]
fn cross_traffic_is_no_telephony() {
    let cross = "30M".parse().map(Cross::new).ok();
    let [calls, ..] = agree(Scenario { calls: 40, rate: 4.0, cross, ..everything(4) });
    assert_eq!(calls, 40);
}

//! Generated traffic, whose every figure is known, against the engine's records: none missing, none invented, every
//! count exact.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fmt::Debug;

use ringtap_cases::run::{self, Records};
use ringtap_engine::Config;
use ringtap_model::{Call, Frame, LinkType, Nanos, Registration, Stream};
use ringtap_traffic::{
    CallTruth, Mix, RegistrationTruth, Scenario, Share, StreamTruth, Traffic, Transport, Truth,
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

/// Every difference, as a sentence.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn exact<T: PartialEq + Debug>(&mut self, record: &str, field: &str, truth: T, ours: T) {
        if truth != ours {
            self.0.push(format!("{record}: {field} is {truth:?}, found {ours:?}"));
        }
    }

    /// Within 1 %. Where there is next to nothing, within 0.3 us: nanoseconds since 1970 in a double have steps of 256.
    fn near(&mut self, record: &str, field: &str, truth: Option<f64>, ours: Option<f64>) {
        let near = match (truth, ours) {
            (Some(truth), Some(ours)) => (truth - ours).abs() <= 0.01 * truth.abs() + 3e-4,
            (truth, ours) => truth.is_none() && ours.is_none(),
        };
        if !near {
            self.0.push(format!("{record}: {field} is {truth:?}, found {ours:?}"));
        }
    }

    /// Pairs both by key; what has no partner is missing or invented.
    fn pair<K: Ord + Debug, T, R>(
        &mut self,
        truth: impl Iterator<Item = (K, T)>,
        ours: impl Iterator<Item = (K, R)>,
        mut compare: impl FnMut(&mut Self, T, R),
    ) -> usize {
        let mut found: BTreeMap<K, Vec<R>> = BTreeMap::new();
        for (key, record) in ours {
            found.entry(key).or_default().push(record);
        }
        let mut pairs = 0;
        for (key, truth) in truth {
            match found.get_mut(&key).and_then(Vec::pop) {
                Some(record) => {
                    pairs += 1;
                    compare(self, truth, record);
                }
                None => self.0.push(format!("missing: {key:?}")),
            }
        }
        for (key, invented) in found.into_iter().filter(|(_, records)| !records.is_empty()) {
            self.0.push(format!("invented {} times: {key:?}", invented.len()));
        }
        pairs
    }

    fn call(&mut self, truth: &CallTruth, ours: &Call) {
        let id = &truth.call_id;
        self.exact(id, "protocol", truth.protocol, ours.protocol);
        self.exact(id, "transport", truth.transport, ours.transport);
        self.exact(id, "src", truth.src, ours.src);
        self.exact(id, "dst", truth.dst, ours.dst);
        let some = |text: &String| Some(text.clone());
        self.exact(id, "from_user", some(&truth.from_user), ours.from_user.clone());
        self.exact(id, "from_host", some(&truth.from_host), ours.from_host.clone());
        self.exact(id, "to_user", some(&truth.to_user), ours.to_user.clone());
        self.exact(id, "to_host", some(&truth.to_host), ours.to_host.clone());
        self.exact(id, "state", truth.state, ours.state);
        self.exact(id, "final_code", truth.final_code, ours.final_code);
        self.exact(id, "final_reason", some(&truth.final_reason), ours.final_reason.clone());
        self.exact(id, "released_by", truth.released_by, ours.released_by);
        self.exact(id, "invite", truth.invite, ours.invite);
        self.exact(id, "trying", truth.trying, ours.trying);
        self.exact(id, "ringing", truth.ringing, ours.ringing);
        self.exact(id, "answer", truth.answer, ours.answer);
        self.exact(id, "end", truth.end, ours.end);
        self.exact(id, "messages", truth.messages, ours.messages);
        self.exact(id, "retransmissions", truth.retransmissions, ours.retransmissions);
        self.exact(id, "dtmf", truth.dtmf.clone(), ours.dtmf.clone());
    }

    fn stream(&mut self, truth: &StreamTruth, ours: &Stream) {
        let id = &format!("{} {} > {} {:08x}", truth.call_id, truth.src, truth.dst, truth.ssrc);
        self.exact(id, "direction", Some(truth.direction), ours.direction);
        self.exact(id, "payload_type", truth.payload_type, ours.payload_type);
        self.exact(id, "codec", Some(truth.codec), ours.codec.as_deref());
        self.exact(id, "clock_hz", Some(truth.clock_hz), ours.clock.map(|clock| clock.0));
        if truth.unique >= 50 || truth.unique > 3 && ours.ptime_ms.is_some() {
            // Fewer packets need not show how much sound is in one; between gaps they often do not.
            self.exact(id, "ptime_ms", Some(truth.ptime_ms), ours.ptime_ms);
        }
        self.exact(id, "first", truth.first, ours.first);
        self.exact(id, "last", truth.last, ours.last);
        self.exact(id, "packets", truth.packets, ours.packets);
        self.exact(id, "unique", truth.unique, ours.unique);
        self.exact(id, "lost", truth.lost, ours.lost);
        self.exact(id, "duplicates", truth.duplicates, ours.duplicates);
        self.exact(id, "reordered", truth.reordered, ours.reordered);
        self.exact(id, "bytes", truth.bytes, ours.bytes);
        self.exact(id, "ip_bytes", truth.ip_bytes, ours.ip_bytes);
        self.exact(id, "loss_bursts", truth.loss_bursts, ours.loss_bursts);
        self.exact(id, "burst_len_max", truth.burst_len_max, ours.burst_len_max);
        self.near(id, "jitter_ms_mean", truth.jitter_ms_mean, ours.jitter_ms_mean);
        self.near(id, "jitter_ms_max", truth.jitter_ms_max, ours.jitter_ms_max);
    }

    fn registration(&mut self, truth: &RegistrationTruth, ours: &Registration) {
        let id = &truth.aor;
        self.exact(id, "contact", Some(truth.contact.clone()), ours.contact.clone());
        self.exact(id, "dst", truth.dst, ours.dst);
        self.exact(id, "state", truth.state, ours.state);
        self.exact(id, "code", truth.code, ours.code);
        self.exact(id, "last", truth.last, ours.last);
        self.exact(id, "requests", truth.requests, ours.requests);
    }
}

/// Calls, streams and registrations that were compared.
fn agree(scenario: Scenario) -> [usize; 3] {
    let captured = capture(scenario);
    let records = run::frames(captured.frames(), Config::default(), 64);
    let mut differences = Differences::default();
    let pairs = compare(&captured.truth, &records, &mut differences);
    let Differences(all) = differences;
    let first: Vec<_> = all.iter().take(40).map(String::as_str).collect();
    assert!(all.is_empty(), "{} differences:\n{}", all.len(), first.join("\n"));
    pairs
}

fn compare(truth: &[Truth], records: &Records, differences: &mut Differences) -> [usize; 3] {
    let calls = truth.iter().filter_map(|truth| match truth {
        Truth::Call(call) => Some((call.call_id.clone(), call)),
        _ => None,
    });
    let ours = records.calls.iter().map(|call| (call.call_id.clone(), call));
    let calls = differences.pair(calls, ours, Differences::call);

    let streams = truth.iter().filter_map(|truth| match truth {
        Truth::Stream(stream) => {
            Some(((Some(stream.call_id.clone()), stream.src, stream.dst, stream.ssrc), stream))
        }
        _ => None,
    });
    let ours = records
        .streams
        .iter()
        .map(|stream| ((stream.call_id.clone(), stream.src, stream.dst, stream.ssrc), stream));
    let streams = differences.pair(streams, ours, Differences::stream);

    let registrations = truth.iter().filter_map(|truth| match truth {
        Truth::Registration(registration) => {
            Some(((registration.aor.clone(), registration.src, registration.first), registration))
        }
        _ => None,
    });
    let ours = records.registrations.iter().map(|ours| ((ours.aor.clone(), ours.src, ours.first), ours));
    let registrations = differences.pair(registrations, ours, Differences::registration);
    [calls, streams, registrations]
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

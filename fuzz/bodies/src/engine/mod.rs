//! The whole engine: bytes become a script of packets that reaches deep state, with tables so small that they
//! overflow.

mod check;
mod messages;
mod packets;
mod script;

use ringtap_engine::config::TRANSACTIONS;
use ringtap_engine::{Config, Counters, Engine, RtpSeen, Sink, SipSeen, StreamEnd};
use ringtap_model::{Call, Frame, LinkType, Message, Nanos, Registration, Transaction};

use crate::choices::Choices;
use script::{Event, Script};

/// Runs a script frame by frame, and again in larger batches with a sink that wants packets: records and
/// counters must be the same and consistent.
pub fn engine(bytes: &[u8]) {
    engine_counters(bytes);
}

/// Like [`engine`], and returns the counters, which show how deep an input reaches.
pub fn engine_counters(bytes: &[u8]) -> Counters {
    let mut choices = Choices::new(bytes);
    let config = config(choices.byte());
    let batch = usize::from(choices.byte()).max(2);
    let events = Script::new(choices).events();
    let (records, counters) = run(&events, &config, 1, Alone::default(), |sink| sink.0);
    let (watched, counters_watched) =
        run(&events, &config, batch, Watching::default(), Watching::into_records);
    assert_eq!(counters, counters_watched, "counters depend on the batch or on who watches");
    assert_eq!(records, watched, "records depend on the batch or on who watches");
    check::counters(&counters, &events);
    check::records(&records, &counters);
    counters
}

/// Ceilings that a few packets reach, or the default limits with room for a hundred entries.
fn config(choice: u8) -> Config {
    let n = match choice & 7 {
        7 => 100,
        n => 1 + usize::from(n),
    };
    Config {
        max_calls: n,
        max_streams: if choice & 8 == 0 { n } else { 4 * n },
        max_registrations: n,
        max_messages: n,
        max_fragmented: n,
        max_connections: n,
        max_stream_bytes: if choice & 16 == 0 { 64 << 10 } else { 700 },
        measure_sound: choice & 32 == 0,
        transactions: if choice & 32 == 0 { TRANSACTIONS.to_vec() } else { Vec::new() },
        memory: if choice & 64 == 0 { 1 << 30 } else { 200_000 },
        ..Config::default()
    }
}

/// A record, with the serials of its streams.
#[derive(Debug, PartialEq)]
enum Record {
    Call(Box<Call>, Vec<(u64, ringtap_model::Stream)>),
    Stream(u64, Box<ringtap_model::Stream>),
    Registration(Registration),
    Message(Message),
    Transaction(Transaction),
}

fn run<S: Sink>(
    events: &[Event],
    config: &Config,
    batch: usize,
    mut sink: S,
    done: impl FnOnce(S) -> Vec<Record>,
) -> (Vec<Record>, Counters) {
    let mut engine = Engine::new(config.clone());
    let mut frames = Vec::new();
    let mut number = 0;
    for event in events {
        match event {
            Event::Packet { time, link, wire_len, data } => {
                number += 1;
                frames.push(Frame { time: *time, number, link: LinkType(*link), wire_len: *wire_len, data });
            }
            Event::Tick(_) => {}
        }
        let tick = if let Event::Tick(now) = event { Some(*now) } else { None };
        if frames.len() >= batch || tick.is_some() {
            engine.batch(&frames, &mut sink);
            frames.clear();
        }
        if let Some(now) = tick {
            engine.tick(now, &mut sink);
        }
        within_ceilings(&engine, config);
    }
    engine.batch(&frames, &mut sink);
    engine.close(&mut sink);
    assert_eq!(engine.under_way(), (0, 0), "nothing is left after the end");
    (done(sink), engine.counters().clone())
}

fn within_ceilings(engine: &Engine, config: &Config) {
    let (calls, streams) = engine.under_way();
    assert!(calls <= config.max_calls && streams <= config.max_streams, "{calls} calls, {streams} streams");
}

/// A sink that collects records.
#[derive(Default)]
struct Alone(Vec<Record>);

impl Sink for Alone {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        let streams = streams.into_iter().map(|end| (end.serial, end.record)).collect();
        self.0.push(Record::Call(Box::new(call), streams));
    }

    fn stream(&mut self, stream: StreamEnd) {
        self.0.push(Record::Stream(stream.serial, Box::new(stream.record)));
    }

    fn registration(&mut self, registration: Registration) {
        self.0.push(Record::Registration(registration));
    }

    fn message(&mut self, message: Message) {
        self.0.push(Record::Message(message));
    }

    fn transaction(&mut self, transaction: Transaction) {
        self.0.push(Record::Transaction(transaction));
    }
}

/// A sink that collects records and counts the packets of each stream.
#[derive(Default)]
struct Watching {
    records: Alone,
    /// Packets and duplicates by serial; the first serial is 1.
    streams: Vec<(u64, u64)>,
    last: Nanos,
}

impl Sink for Watching {
    const PACKETS: bool = true;

    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.records.call(call, streams);
    }

    fn stream(&mut self, stream: StreamEnd) {
        self.records.stream(stream);
    }

    fn registration(&mut self, registration: Registration) {
        self.records.registration(registration);
    }

    fn transaction(&mut self, transaction: Transaction) {
        self.records.transaction(transaction);
    }

    fn message(&mut self, message: Message) {
        self.records.message(message);
    }

    fn sip(&mut self, seen: &SipSeen<'_>) {
        assert!(!seen.frames.is_empty() && seen.frames.is_sorted(), "{:?}", seen.frames);
        self.last = self.last.max(seen.time);
    }

    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        assert!(!seen.frames.is_empty() && seen.frames.is_sorted(), "{:?}", seen.frames);
        let index = seen.serial as usize;
        if self.streams.len() <= index {
            self.streams.resize(index + 1, (0, 0));
        }
        self.streams[index].0 += 1;
        self.streams[index].1 += u64::from(seen.duplicate);
    }
}

impl Watching {
    fn into_records(self) -> Vec<Record> {
        let streams = self.records.0.iter().flat_map(|record| match record {
            Record::Call(_, streams) => streams.iter().map(|(serial, stream)| (*serial, stream)).collect(),
            Record::Stream(serial, stream) => vec![(*serial, &**stream)],
            _ => Vec::new(),
        });
        for (serial, stream) in streams {
            let (packets, repeats) = self.streams.get(serial as usize).copied().unwrap_or_default();
            assert_eq!(packets, stream.packets, "packets as they passed: {stream:?}");
            // A packet far behind may turn out to be a duplicate only later.
            assert!(repeats <= stream.duplicates, "{repeats} repeats as they passed: {stream:?}");
        }
        self.records.0
    }
}

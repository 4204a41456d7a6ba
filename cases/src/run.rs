//! Runs a capture and collects its records.

use std::path::Path;

use ringtap_capture::{Capture, Error};
use ringtap_engine::{Config, Counters, DeferredCall, Engine, RoundRobin, Sink, StreamEnd};
use ringtap_model::{Call, Frame, Message, Registration, Stream, Transaction};
use serde_json::Value;

/// All records of a run, in the engine's order.
#[derive(Debug, Default)]
pub struct Records {
    /// Calls.
    pub calls: Vec<Call>,
    /// Streams, with and without a call.
    pub streams: Vec<Stream>,
    /// Registrations.
    pub registrations: Vec<Registration>,
    /// MESSAGE transactions.
    pub messages: Vec<Message>,
    /// Other transactions outside of calls, of methods that the configuration names.
    pub transactions: Vec<Transaction>,
    /// The engine's counters.
    pub counters: Counters,
    lines: Vec<Value>,
}

impl Records {
    /// One JSON object per record, as `ringtap analyze --format jsonl` prints them.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.lines.iter().map(Value::to_string)
    }

    fn line(&mut self, record: &impl serde::Serialize) {
        // Records are plain data: they always serialise.
        self.lines.push(serde_json::to_value(record).unwrap_or_default());
    }
}

impl Sink for Records {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.line(&call);
        self.calls.push(call);
        streams.into_iter().for_each(|stream| self.stream(stream));
    }

    fn stream(&mut self, stream: StreamEnd) {
        self.line(&stream.record);
        self.streams.push(stream.record);
    }

    fn registration(&mut self, registration: Registration) {
        self.line(&registration);
        self.registrations.push(registration);
    }

    fn message(&mut self, message: Message) {
        self.line(&message);
        self.messages.push(message);
    }

    fn transaction(&mut self, transaction: Transaction) {
        self.line(&transaction);
        self.transactions.push(transaction);
    }
}

/// Runs the frames of one file through an engine, `batch` at a time.
///
/// # Errors
///
/// The file cannot be opened.
pub fn file(path: &Path, config: Config, batch: usize) -> Result<Records, Error> {
    let capture = Capture::open(path, None)?;
    Ok(frames(capture.frames().owned().iter(), config, batch))
}

/// Runs frames through an engine, `batch` at a time.
pub fn frames<'a>(frames: impl Iterator<Item = Frame<'a>>, config: Config, batch: usize) -> Records {
    let mut engine = Engine::new(config);
    let mut records = Records::default();
    let mut pending = Vec::with_capacity(batch);
    for frame in frames {
        pending.push(frame);
        if pending.len() == batch {
            engine.batch(&pending, &mut records);
            pending.clear();
        }
    }
    engine.batch(&pending, &mut records);
    engine.close(&mut records);
    records.counters = engine.counters().clone();
    records
}

/// Has the records of calls made after the end, as another thread may.
#[derive(Default)]
struct Later {
    found: Records,
    calls: Vec<DeferredCall>,
}

impl Sink for Later {
    const DEFERRED: bool = true;

    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.found.call(call, streams);
    }
    fn deferred(&mut self, call: DeferredCall) {
        self.calls.push(call);
    }
    fn stream(&mut self, stream: StreamEnd) {
        self.found.stream(stream);
    }
    fn registration(&mut self, registration: Registration) {
        self.found.registration(registration);
    }
    fn message(&mut self, message: Message) {
        self.found.message(message);
    }
    fn transaction(&mut self, transaction: Transaction) {
        self.found.transaction(transaction);
    }
}

/// Runs frames through an engine, and makes the records of its calls when all frames are handled. The records
/// are in another order than those of [`frames`].
pub fn deferred<'a>(frames: impl Iterator<Item = Frame<'a>>, config: Config, batch: usize) -> Records {
    let frames: Vec<Frame<'a>> = frames.collect();
    let mut engine = Engine::new(config);
    let completer = engine.completer();
    let mut later = Later::default();
    frames.chunks(batch).for_each(|batch| engine.batch(batch, &mut later));
    engine.close(&mut later);
    let Later { found: mut records, calls } = later;
    for call in calls {
        let (call, streams) = completer.complete(call);
        records.call(call, streams);
    }
    records.counters = engine.counters().clone();
    records
}

/// Runs frames through a team of workers, `batch` at a time. The records are in another order than those of a
/// single engine.
pub fn team<'a>(
    frames: impl Iterator<Item = Frame<'a>>,
    config: &Config,
    workers: usize,
    batch: usize,
) -> Records {
    let mut team = RoundRobin::new(config, workers);
    let mut records = Records::default();
    let mut pending = Vec::with_capacity(batch);
    for frame in frames {
        pending.push(frame);
        if pending.len() == batch {
            team.batch(&pending, &mut records);
            pending.clear();
        }
    }
    team.batch(&pending, &mut records);
    team.close(&mut records);
    records.counters = team.counters();
    records
}

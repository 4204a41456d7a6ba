//! One engine, and threads that read for it and make its records.
//!
//! Reading, the engine, and records each take a share of the time, and each of them is in order: so the
//! records are those of one thread, and nothing is done twice.

use std::collections::VecDeque;

use ringtap_capture::Merge;
use ringtap_engine::{Completer, Counters, DeferredCall, Engine, Sink, StreamEnd};
use ringtap_model::{Call, Id, Message, Registration, Transaction};
use ringtap_report::summary::TimeSpan;

use super::chunk::{Chunk, Room};
use super::order::Record;
use super::plan::{Plan, Surroundings};

/// Chunks of the input in memory at once.
const CHUNKS: usize = 4;
/// Chunks whose records may wait for the thread that has the sink.
const WAITING: usize = 4;

/// Reads the input in order.
pub(super) struct Reader {
    frames: Merge,
    /// Times of the frames.
    span: Option<TimeSpan>,
}

impl Reader {
    /// Reads further frames; false at the end.
    fn read(&mut self, chunk: &mut Chunk) -> bool {
        let Self { frames, span } = self;
        chunk.read(frames, |time| span.get_or_insert_with(|| TimeSpan::new(time)).add(time))
    }
}

/// The engine, and what it has found.
pub(super) struct Member {
    engine: Engine,
    found: Ticks,
    room: Room,
}

impl Member {
    /// Handles a chunk, or the end of the input.
    fn run(&mut self, chunk: Option<&Chunk>) {
        let Self { engine, found, room } = self;
        match chunk {
            Some(chunk) => {
                chunk.each_batch(room, |frames| {
                    engine.batch(frames, found);
                    true
                });
            }
            None => {
                engine.close(found);
                found.tick();
            }
        }
    }
}

/// A record, or what one is made of.
pub(super) enum Found {
    Call(DeferredCall),
    Other(Record),
}

impl Found {
    fn place(&self) -> (u8, u64, Id) {
        match self {
            Self::Call(call) => Record::place_of_call(call.call()),
            Self::Other(record) => record.place(),
        }
    }
}

/// Records of one tick after another.
pub(super) type Groups = Vec<Vec<Found>>;

/// Collects records by ticks.
#[derive(Default)]
struct Ticks {
    whole: Groups,
    /// Of the tick in progress.
    last: Vec<Found>,
}

impl Sink for Ticks {
    const DEFERRED: bool = true;

    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.last.push(Found::Other(Record::Call(Box::new(call), streams)));
    }
    fn deferred(&mut self, call: DeferredCall) {
        self.last.push(Found::Call(call));
    }
    fn stream(&mut self, stream: StreamEnd) {
        self.last.push(Found::Other(Record::Stream(Box::new(stream))));
    }
    fn registration(&mut self, registration: Registration) {
        self.last.push(Found::Other(Record::Registration(Box::new(registration))));
    }
    fn message(&mut self, message: Message) {
        self.last.push(Found::Other(Record::Message(Box::new(message))));
    }
    fn transaction(&mut self, transaction: Transaction) {
        self.last.push(Found::Other(Record::Transaction(Box::new(transaction))));
    }
    fn tick(&mut self) {
        if !self.last.is_empty() {
            self.whole.push(std::mem::take(&mut self.last));
        }
    }
}

/// Makes the records of one tick after another, and passes them on in order.
pub(super) fn pass_groups<S: Sink>(groups: Groups, completer: &Completer, sink: &mut S) {
    for mut found in groups {
        found.sort_by_cached_key(Found::place);
        for one in found {
            match one {
                Found::Call(call) => {
                    while let Some((call, streams)) = sink.give_back() {
                        completer.reuse(call, streams);
                    }
                    let (call, streams) = completer.complete(call);
                    sink.call(call, streams);
                }
                Found::Other(record) => record.pass_to(sink),
            }
        }
    }
}

/// What a thread does next.
pub(super) enum Task {
    /// Reads the next chunk of the input.
    Read { input: Box<Reader>, chunk: Chunk },
    /// The engine handles a chunk, or the end of the input.
    Run { member: Box<Member>, chunk: Option<Chunk> },
    /// Passes records on; only the thread that has the sink does.
    Pass(Groups),
}

/// What a task has done.
pub(super) enum Done {
    Read { input: Box<Reader>, chunk: Chunk, has_ended: bool },
    Run { member: Box<Member>, chunk: Option<Chunk>, found: Groups },
    Pass { has_enough: bool },
}

/// See the module.
pub(super) struct Pipeline {
    /// None while a thread reads.
    input: Option<Box<Reader>>,
    has_ended: bool,
    spare: Vec<Chunk>,
    /// Chunks in memory but the spare ones.
    chunks: usize,
    /// Read, and not handled yet.
    read: VecDeque<Chunk>,
    /// None while a thread runs it.
    member: Option<Box<Member>>,
    /// The engine has handled the end of the input.
    is_closed: bool,
    /// Found, and not passed on yet.
    found: VecDeque<Groups>,
    has_failed: bool,
}

impl Pipeline {
    pub(super) fn new(engine: Engine, frames: Merge) -> Self {
        let member = Member { engine, found: Ticks::default(), room: Room::default() };
        Self {
            input: Some(Box::new(Reader { frames, span: None })),
            has_ended: false,
            spare: Vec::new(),
            chunks: 0,
            read: VecDeque::new(),
            member: Some(Box::new(member)),
            is_closed: false,
            found: VecDeque::new(),
            has_failed: false,
        }
    }

    /// The counters, the input, and the times of its frames, after the end; None when a thread has panicked.
    pub(super) fn into_results(self) -> Option<(Counters, Merge, Option<TimeSpan>)> {
        let input = self.input.filter(|_| !self.has_failed)?;
        Some((self.member?.engine.counters().clone(), input.frames, input.span))
    }

    fn can_read(&self) -> bool {
        self.input.is_some() && !self.has_ended && self.chunks < CHUNKS
    }

    fn can_run(&self) -> bool {
        let is_last = self.has_ended && self.input.is_some() && !self.is_closed;
        self.member.is_some() && (is_last || !self.read.is_empty()) && self.found.len() < WAITING
    }

    fn next_read(&mut self) -> Option<Task> {
        if !self.can_read() {
            return None;
        }
        let input = self.input.take()?;
        self.chunks += 1;
        Some(Task::Read { input, chunk: self.spare.pop().unwrap_or_default() })
    }

    fn next_run(&mut self) -> Option<Task> {
        if !self.can_run() {
            return None;
        }
        Some(Task::Run { member: self.member.take()?, chunk: self.read.pop_front() })
    }

    fn next_pass(&mut self) -> Option<Task> {
        self.found.pop_front().map(Task::Pass)
    }
}

impl Plan for Pipeline {
    type Task = Task;
    type Done = Done;
    type Records = Groups;

    /// The engine stays with a thread that has no sink as far as possible: its tables are in the cache there.
    fn next(&mut self, _: usize, passes: bool) -> Option<Task> {
        match passes {
            true => self.next_pass().or_else(|| self.next_read()).or_else(|| self.next_run()),
            false => self.next_run().or_else(|| self.next_read()),
        }
    }

    fn has_more(&self) -> bool {
        !self.has_failed && (self.can_run() || self.can_read() || !self.found.is_empty())
    }

    fn is_finished(&self, passes: bool) -> bool {
        self.has_failed || self.is_closed && (self.found.is_empty() || !passes)
    }

    fn perform(task: Task, surroundings: &mut Surroundings<'_, Groups>) -> Done {
        match task {
            Task::Read { mut input, mut chunk } => {
                let is_last = !input.read(&mut chunk);
                let has_ended = is_last || !(surroundings.on_read)(input.frames.offset());
                Done::Read { input, chunk, has_ended }
            }
            Task::Run { mut member, chunk } => {
                member.run(chunk.as_ref());
                let found = std::mem::take(&mut member.found.whole);
                Done::Run { member, chunk, found }
            }
            Task::Pass(groups) => Done::Pass { has_enough: surroundings.pass(groups) },
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Read { input, chunk, has_ended } => {
                self.input = Some(input);
                self.has_ended |= has_ended;
                self.read.push_back(chunk);
            }
            Done::Run { member, chunk, found } => {
                self.member = Some(member);
                self.is_closed |= chunk.is_none();
                if !found.is_empty() {
                    self.found.push_back(found);
                }
                if let Some(mut chunk) = chunk {
                    chunk.clear();
                    self.chunks -= 1;
                    self.spare.push(chunk);
                }
            }
            Done::Pass { has_enough } => self.has_ended |= has_enough,
        }
    }

    fn fail(&mut self) {
        self.has_failed = true;
    }
}

//! What the threads of a team do next: engines run the stages of one batch after another, and the input is
//! read ahead.
//!
//! Any thread may run any engine, so a thread that has nothing else to do reads, and nobody waits for a
//! thread that has no core. A stage begins when every engine has finished the one before. Batches of media
//! alone are the exception: each engine goes through them at its own pace.

use std::collections::VecDeque;

use ringtap_capture::Merge;
use ringtap_engine::team::{self, BatchKind, Stage, Stages};
use ringtap_engine::{Counters, Engine};
use ringtap_model::Frame;
use ringtap_report::summary::TimeSpan;

use super::batches::{Batch, Batches, Chunk};
use super::order::{Found, Record};
use super::plan::{Plan, Surroundings};

/// Chunks of the input in memory at once.
const CHUNKS: usize = 3;
/// Ticks whose records may wait for the thread that has the sink while it can run an engine instead.
const WAITING: usize = 4;
/// Batches of fewer frames are handled by one thread: another one would take longer to wake up.
const SMALL: usize = 256;

/// An engine, and the records that it has made since the last tick.
pub(super) struct Member {
    engine: Engine,
    found: Found,
    /// Room for the frames of a stage; empty.
    room: Vec<Frame<'static>>,
}

/// What a thread does next.
pub(super) enum Task {
    /// An engine runs a stage.
    Stage { worker: usize, member: Box<Member>, stage: Stage, batch: Option<Batch> },
    /// All engines run small batches.
    Small { members: Vec<Box<Member>>, batches: Vec<Batch> },
    /// Reads the next chunk of the input.
    Read { input: Box<Batches>, chunk: Chunk },
    /// Passes records on; only the thread that has the sink does.
    Pass(Vec<Record>),
}

/// What a task has done.
pub(super) enum Done {
    Stage { worker: usize, member: Box<Member>, more: bool },
    Small { members: Vec<Box<Member>>, batches: Vec<Batch>, records: Vec<Vec<Record>> },
    Read { input: Box<Batches>, batches: Vec<Batch>, has_ended: bool },
    Pass { has_enough: bool },
}

/// Where the engines are.
enum Step {
    /// Before a batch.
    Idle,
    /// At a stage, which these engines have not begun.
    Stage { stage: Stage, waiting: Vec<bool> },
    /// At the media of the first `open` batches; each engine has finished the first `passed` of them.
    Media { open: usize, passed: Vec<usize> },
    /// Everything has ended.
    Finished,
}

/// See the module.
pub(super) struct Schedule {
    /// None while a thread reads.
    input: Option<Box<Batches>>,
    has_ended: bool,
    spare: Vec<Chunk>,
    chunks: usize,
    /// Read and not finished yet.
    batches: VecDeque<Batch>,
    /// None while a thread runs it.
    members: Vec<Option<Box<Member>>>,
    stages: Stages,
    /// The stages are those of the end.
    is_closing: bool,
    step: Step,
    /// Some engine has sent messages in this stage.
    more: bool,
    /// Records of the ticks that are over.
    records: VecDeque<Vec<Record>>,
    /// A thread has panicked.
    has_failed: bool,
}

impl Schedule {
    pub(super) fn new(engines: Vec<Engine>, input: Batches) -> Self {
        let member = |engine| Some(Box::new(Member { engine, found: Found::default(), room: Vec::new() }));
        Self {
            input: Some(Box::new(input)),
            has_ended: false,
            spare: Vec::new(),
            chunks: 0,
            batches: VecDeque::new(),
            members: engines.into_iter().map(member).collect(),
            stages: Stages::of_batch(BatchKind::default()),
            is_closing: false,
            step: Step::Idle,
            more: false,
            records: VecDeque::new(),
            has_failed: false,
        }
    }

    /// The counters of all engines, the input, and the times of its frames, after the end; None when a thread
    /// has panicked.
    pub(super) fn into_results(self) -> Option<(Counters, Merge, Option<TimeSpan>)> {
        let input = self.input.filter(|_| !self.has_failed)?;
        let mut counters = Counters::default();
        self.members.iter().flatten().for_each(|member| counters += member.engine.counters());
        let (frames, span) = input.into_parts();
        Some((counters, frames, span))
    }

    fn next_small(&mut self) -> Option<Task> {
        if !self.can_run_small() {
            return None;
        }
        let count = self.batches.iter().take_while(|batch| batch.len() < SMALL).count();
        let members = self.members.iter_mut().map(Option::take).collect::<Option<Vec<_>>>()?;
        Some(Task::Small { members, batches: self.batches.drain(..count).collect() })
    }

    fn can_run_small(&self) -> bool {
        matches!(self.step, Step::Idle)
            && self.batches.front().is_some_and(|batch| batch.len() < SMALL)
            && self.members.iter().all(Option::is_some)
    }

    fn next_stage(&mut self, me: usize) -> Option<Task> {
        let (stage, worker, at) = match &mut self.step {
            Step::Idle | Step::Finished => return None,
            Step::Stage { stage, waiting } => {
                let first = || waiting.iter().position(|waits| *waits);
                let worker = if waiting.get(me) == Some(&true) { me } else { first()? };
                waiting[worker] = false;
                (*stage, worker, 0)
            }
            Step::Media { passed, .. } => {
                let passed = passed.clone();
                let worker = match self.is_open(me) {
                    true => me,
                    false => (0..passed.len())
                        .filter(|worker| self.is_open(*worker))
                        .min_by_key(|worker| passed[*worker])?,
                };
                (Stage::Media, worker, passed[worker])
            }
        };
        let member = self.members.get_mut(worker)?.take()?;
        let batch = if self.is_closing { None } else { self.batches.get(at).cloned() };
        Some(Task::Stage { worker, member, stage, batch })
    }

    /// Whether an engine can go on with media.
    fn is_open(&self, worker: usize) -> bool {
        let Step::Media { open, passed } = &self.step else { return false };
        passed.get(worker).is_some_and(|passed| passed < open)
            && self.members.get(worker).is_some_and(Option::is_some)
    }

    fn can_read(&self) -> bool {
        self.input.is_some() && !self.has_ended && self.chunks < CHUNKS
    }

    fn next_read(&mut self) -> Option<Task> {
        if !self.can_read() {
            return None;
        }
        let input = self.input.take()?;
        self.chunks += 1;
        Some(Task::Read { input, chunk: self.spare.pop().unwrap_or_default() })
    }

    /// Goes on as far as no engine has to run first.
    fn advance(&mut self) {
        loop {
            let all_idle = self.members.iter().all(Option::is_some);
            let next = match &mut self.step {
                Step::Finished => return,
                Step::Idle if all_idle => self.begin(),
                Step::Stage { waiting, .. } if all_idle && !waiting.contains(&true) => self.next_step(),
                Step::Media { open, passed } => {
                    while passed.iter().all(|passed| *passed > 0) {
                        passed.iter_mut().for_each(|passed| *passed -= 1);
                        *open -= 1;
                        if let Some(chunk) = self.batches.pop_front().and_then(Batch::into_chunk) {
                            self.chunks -= 1;
                            self.spare.push(chunk);
                        }
                    }
                    // Messages that found no room must be read before anything else.
                    while !self.more && self.batches.get(*open).is_some_and(|batch| batch.kind().is_media()) {
                        *open += 1;
                    }
                    if *open == 0 && all_idle { self.next_step() } else { None }
                }
                Step::Idle | Step::Stage { .. } => None,
            };
            match next {
                Some(step) => self.step = step,
                None => return,
            }
        }
    }

    /// The next batch, or the end.
    fn begin(&mut self) -> Option<Step> {
        let batch = self.batches.front();
        if batch.is_some_and(|batch| batch.len() < SMALL) {
            // Until a thread takes it.
            return None;
        }
        match batch.map(Batch::kind) {
            Some(kind) => {
                if kind.tick.is_some_and(|tick| tick.is_due()) {
                    self.collect();
                }
                self.stages = Stages::of_batch(kind);
            }
            None if self.is_closing => {
                self.collect();
                return Some(Step::Finished);
            }
            None if self.has_ended && self.input.is_some() => {
                self.is_closing = true;
                self.stages = Stages::of_end();
            }
            None => return None,
        }
        self.next_step()
    }

    fn next_step(&mut self) -> Option<Step> {
        let workers = self.members.len();
        let more = std::mem::take(&mut self.more);
        Some(match self.stages.next(more) {
            None => Step::Idle,
            Some(Stage::Media) if !self.is_closing => Step::Media { open: 1, passed: vec![0; workers] },
            Some(stage) => Step::Stage { stage, waiting: vec![true; workers] },
        })
    }

    /// All engines have finished a batch.
    fn finished(&mut self, batch: Batch) {
        if let Some(chunk) = batch.into_chunk() {
            self.chunks -= 1;
            self.spare.push(chunk);
        }
    }

    /// Collects the records of a tick from all engines.
    fn collect(&mut self) {
        let members = self.members.iter_mut().flatten();
        let records: Vec<Record> = members.flat_map(|member| std::mem::take(&mut member.found.0)).collect();
        if !records.is_empty() {
            self.records.push_back(records);
        }
    }
}

impl Plan for Schedule {
    type Task = Task;
    type Done = Done;
    type Records = Vec<Record>;

    /// Best with the engine of the thread's number.
    fn next(&mut self, me: usize, passes: bool) -> Option<Task> {
        let next = match passes && self.records.len() > WAITING {
            true => None,
            false => self.next_small().or_else(|| self.next_stage(me)),
        };
        match next {
            None if passes && !self.records.is_empty() => self.records.pop_front().map(Task::Pass),
            None => self.next_read(),
            next => next,
        }
    }

    fn has_more(&self) -> bool {
        let can_run = match &self.step {
            Step::Idle => self.can_run_small(),
            Step::Finished => false,
            Step::Stage { waiting, .. } => waiting.iter().any(|waits| *waits),
            Step::Media { .. } => (0..self.members.len()).any(|worker| self.is_open(worker)),
        };
        !self.has_failed && (can_run || self.can_read() || !self.records.is_empty())
    }

    fn is_finished(&self, passes: bool) -> bool {
        self.has_failed || matches!(self.step, Step::Finished) && (self.records.is_empty() || !passes)
    }

    fn perform(task: Task, surroundings: &mut Surroundings<'_, Vec<Record>>) -> Done {
        match task {
            Task::Stage { worker, mut member, stage, batch } => {
                let more = member.run(worker, stage, batch.as_ref());
                Done::Stage { worker, member, more }
            }
            Task::Small { mut members, batches } => {
                let records = run_small(&mut members, &batches);
                Done::Small { members, batches, records }
            }
            Task::Read { mut input, chunk } => {
                let batches: Vec<_> = input.next(chunk).collect();
                let has_ended = batches.is_empty() || !(surroundings.on_read)(input.offset());
                Done::Read { input, batches, has_ended }
            }
            Task::Pass(records) => Done::Pass { has_enough: surroundings.pass(records) },
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Stage { worker, member, more } => {
                self.members[worker] = Some(member);
                self.more |= more;
                if let Step::Media { passed, .. } = &mut self.step {
                    passed[worker] += 1;
                }
            }
            Done::Small { members, batches, records } => {
                batches.into_iter().for_each(|batch| self.finished(batch));
                self.members = members.into_iter().map(Some).collect();
                self.records.extend(records);
            }
            Done::Read { input, batches, has_ended } => {
                self.input = Some(input);
                self.has_ended |= has_ended;
                if batches.is_empty() {
                    self.chunks -= 1;
                }
                self.batches.extend(batches);
            }
            Done::Pass { has_enough } => self.has_ended |= has_enough,
        }
        self.advance();
    }

    fn fail(&mut self) {
        self.has_failed = true;
    }
}

impl Member {
    /// Runs a stage over its frames of a batch.
    fn run(&mut self, worker: usize, stage: Stage, batch: Option<&Batch>) -> bool {
        let mut frames: Vec<Frame<'_>> = std::mem::take(&mut self.room);
        if let (Some(list), Some(batch)) = (stage.list(), batch) {
            frames.extend(batch.frames(worker, list));
        }
        let more = self.engine.stage(stage, &frames, &mut self.found);
        frames.clear();
        // The memory stays, the frames do not: freeing it each time would cost a tenth of the work.
        self.room = frames.into_iter().map_while(|_| None).collect();
        more
    }
}

/// Runs small batches with all engines; returns the records of each tick before the last.
fn run_small(members: &mut [Box<Member>], batches: &[Batch]) -> Vec<Vec<Record>> {
    let mut records = Vec::new();
    for batch in batches {
        let kind = batch.kind();
        if kind.tick.is_some_and(|tick| tick.is_due()) {
            let found = members.iter_mut().flat_map(|member| std::mem::take(&mut member.found.0));
            records.push(found.collect());
        }
        team::batch(kind, |stage| {
            let all = members.iter_mut().enumerate();
            all.fold(false, |more, (worker, member)| member.run(worker, stage, Some(batch)) | more)
        });
    }
    records.retain(|records: &Vec<Record>| !records.is_empty());
    records
}

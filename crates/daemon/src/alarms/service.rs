//! The thread that judges: events in, alarms out.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use ringtap_alarm::{Change, ChangeKind, Evaluator, Event, Settings, Silence};
use ringtap_model::{Alarm, Id, Nanos, Severity};
use ringtap_report::time;
use ringtap_store::RecordSender;

use super::baseline;
use super::health::Health;
use super::state::StateFile;
use crate::alarm_handle::{AlarmHandle, Ask, Asked, Figures};
use crate::shared_status::SharedStatus;

/// What the thread needs.
pub(crate) struct AlarmStart {
    pub(crate) settings: Settings,
    pub(crate) kpi: ringtap_kpi::Settings,
    pub(crate) events: Receiver<Event>,
    pub(crate) dropped: Arc<AtomicU64>,
    pub(crate) sender: RecordSender,
    pub(crate) records: PathBuf,
    /// Directories whose file systems are looked at.
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) shared_status: Arc<SharedStatus>,
    /// The times are those of the files.
    pub(crate) is_replay: bool,
    /// Who is told beside the log and the database.
    pub(crate) tell: Box<dyn FnMut(&Change) + Send>,
}

/// The running thread.
pub(crate) struct AlarmService {
    pub(crate) handle: Arc<AlarmHandle>,
    thread: JoinHandle<()>,
}

impl AlarmService {
    /// Starts it. It ends when all workers have ended.
    pub(crate) fn start(start: AlarmStart) -> anyhow::Result<Self> {
        let (asks, asked) = channel();
        let handle = Arc::new(AlarmHandle::new(asks, Arc::clone(&start.dropped)));
        let mut judge = Judge::new(start, Arc::clone(&handle));
        let run = move || judge.run(&asked);
        let thread = thread::Builder::new().name("alarms".into()).spawn(run);
        Ok(Self { handle, thread: thread.context("cannot start the thread of the alarms")? })
    }

    /// Waits for its end, once the workers have ended.
    pub(crate) fn close(self) {
        if self.thread.join().is_err() {
            log::error!(
                target: "alarm",
                "the thread of the alarms crashed: please report this fault of ringtap"
            );
        }
    }
}

struct Judge {
    evaluator: Evaluator,
    kpi: ringtap_kpi::Settings,
    events: Receiver<Event>,
    sender: RecordSender,
    records: PathBuf,
    health: Health,
    shared_status: Arc<SharedStatus>,
    state: StateFile,
    is_replay: bool,
    tell: Box<dyn FnMut(&Change) + Send>,
    handle: Arc<AlarmHandle>,
    raised: u64,
    /// Time of the newest event.
    newest: Nanos,
    /// The hour whose figures could not be read, so that it is said once.
    unread: Option<Nanos>,
    state_failed: bool,
    /// Events that had found no room when this was last looked at.
    lost: u64,
}

impl Judge {
    fn new(start: AlarmStart, handle: Arc<AlarmHandle>) -> Self {
        let AlarmStart { settings, kpi, events, sender, records, directories, shared_status, .. } = start;
        let state = StateFile::in_directory(&records);
        // A replay begins with its first event.
        let now = if start.is_replay { Nanos::ZERO } else { time::now() };
        let mut evaluator = Evaluator::new(settings, now);
        if !start.is_replay {
            restore(&mut evaluator, &state);
        }
        Self {
            evaluator,
            kpi,
            events,
            sender,
            health: Health::new(directories),
            records,
            shared_status,
            state,
            is_replay: start.is_replay,
            tell: start.tell,
            handle,
            raised: 0,
            newest: Nanos::ZERO,
            unread: None,
            state_failed: false,
            lost: 0,
        }
    }

    fn run(&mut self, asked: &Receiver<Asked>) {
        let (mut stepped, mut saved) = (Instant::now(), Instant::now());
        loop {
            let ended = match self.events.recv_timeout(STEP) {
                Ok(event) => {
                    self.event(event);
                    // As many as there are, but not for longer than a step.
                    for _ in 0..AT_ONCE {
                        let Ok(event) = self.events.try_recv() else { break };
                        self.event(event);
                    }
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            for (ask, answer) in asked.try_iter() {
                // Who asked may have given up.
                let _ = answer.send(self.answer(ask));
            }
            if stepped.elapsed() >= STEP || ended || self.is_replay {
                stepped = Instant::now();
                self.step();
            }
            if saved.elapsed() >= SAVED || ended {
                saved = Instant::now();
                self.save();
            }
            if ended {
                return;
            }
        }
    }

    fn event(&mut self, mut event: Event) {
        // In a replay at full speed, who follows services may be far behind the workers.
        if let (true, Event::Health { time, .. }) = (self.is_replay, &mut event) {
            *time = self.newest.max(*time);
        }
        self.newest = self.newest.max(event.time());
        self.evaluator.event(&event);
    }

    /// Looks at the monitor itself, and judges.
    fn step(&mut self) {
        // Live, events of the last moment may still be on their way.
        let now = if self.is_replay { self.newest } else { time::now() - LATENESS };
        let snapshot = self.shared_status.snapshot();
        for event in self.health.events(&snapshot, now) {
            self.evaluator.event(&event);
        }
        if let Some(span) = self.evaluator.wanted_baseline(now) {
            self.read_baseline(span);
        }
        for change in self.evaluator.advance(now) {
            self.hear(&change);
        }
        self.report();
    }

    fn read_baseline(&mut self, span: (Nanos, Nanos)) {
        match baseline::of_directory(&self.records, span, self.kpi) {
            Ok(cells) => self.evaluator.set_baseline(span, &cells),
            Err(error) => {
                if self.unread.replace(span.0) != Some(span.0) {
                    log::warn!(
                        target: "alarm",
                        "the figures of a week ago cannot be read: {error}; rules with of_week_ago wait for \
                         the next hour",
                    );
                }
                self.evaluator.set_baseline(span, &[]);
            }
        }
    }

    /// Notes a change: in the log, in the database, and for those who are told.
    fn hear(&mut self, change: &Change) {
        let alarm = &change.alarm;
        self.raised += u64::from(change.kind == ChangeKind::Raised);
        if change.kind != ChangeKind::Repeated {
            self.sender.alarm(alarm.clone());
        }
        log_change(change);
        if !change.silenced {
            (self.tell)(change);
        }
    }

    fn answer(&mut self, ask: Ask) -> anyhow::Result<String> {
        let now = if self.is_replay { self.newest } else { time::now() };
        match ask {
            Ask::Standing => {
                let lines: Result<Vec<String>, _> =
                    self.evaluator.standing().map(serde_json::to_string).collect();
                Ok(lines?.join("\n"))
            }
            Ask::Acknowledge { id, by, comment } => {
                let id = self.id_of(&id)?;
                let change = self.evaluator.acknowledge(id, &by, &comment, now)?;
                let told = format!("acknowledged: {}", change.alarm.text);
                self.hear(&change);
                Ok(told)
            }
            Ask::Silence { rule, subject, length, by, comment } => {
                let until = now + length;
                let told = format!("silent until {}: rule {rule}, subject {subject}", time::rfc3339(until));
                let silence = Silence { rule, subject, until, by, comment };
                self.evaluator.silence(silence, now).map_err(anyhow::Error::msg)?;
                self.save();
                Ok(told)
            }
            Ask::Unsilence { rule, subject } => {
                if !self.evaluator.unsilence(&rule, &subject, now) {
                    bail!("there is no silence of rule `{rule}` and subject `{subject}`");
                }
                self.save();
                Ok("the silence has ended".to_owned())
            }
            Ask::Silences => {
                let line = |silence: &Silence| {
                    let Silence { rule, subject, until, by, comment } = silence;
                    format!("{rule}  {subject}  until {}  by {by}  {comment}", time::rfc3339(*until))
                };
                Ok(self.evaluator.silences().iter().map(line).collect::<Vec<_>>().join("\n"))
            }
        }
    }

    /// The standing alarm whose id begins so.
    fn id_of(&self, digits: &str) -> anyhow::Result<Id> {
        let digits = digits.to_lowercase();
        let fits = |alarm: &&Alarm| !digits.is_empty() && alarm.id.to_string().starts_with(&digits);
        let mut found = self.evaluator.standing().filter(fits);
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one.id),
            (None, _) => bail!("no standing alarm has the id `{digits}`: `ringtap alarms` lists them"),
            (Some(_), Some(_)) => {
                bail!("several standing alarms have ids that begin with `{digits}`: give more digits")
            }
        }
    }

    fn report(&mut self) {
        let mut standing = [0; 3];
        for alarm in self.evaluator.standing() {
            standing[alarm.severity as usize] += 1;
        }
        let figures = Figures { counts: self.evaluator.counts(), standing, dropped: 0, raised: self.raised };
        let lost = self.handle.report(figures);
        let before = std::mem::replace(&mut self.lost, lost);
        if lost > before {
            log::warn!(
                target: "alarm",
                "{} events found no room in the queue of the alarms: their figures are too low for a while",
                lost - before,
            );
        }
    }

    fn save(&mut self) {
        if self.is_replay {
            return;
        }
        let result = self.state.write(self.evaluator.state());
        if let Err(error) = &result
            && !self.state_failed
        {
            let path = self.state.path().display();
            log::warn!(
                target: "alarm",
                "cannot write `{path}`: {error}; standing alarms and silences would not survive a restart",
            );
        }
        self.state_failed = result.is_err();
    }
}

fn restore(evaluator: &mut Evaluator, state: &StateFile) {
    let problem = match state.read() {
        Ok(None) => return,
        Ok(Some(text)) => match evaluator.restore(&text) {
            Ok(()) => return,
            Err(problem) => problem.to_string(),
        },
        Err(error) => error.to_string(),
    };
    log::warn!(
        target: "alarm",
        "`{}` of the previous run cannot be used: {problem}; standing alarms are raised anew, and silences \
         are gone",
        state.path().display(),
    );
}

/// A line of the log for each change but repetitions of what is acknowledged or silenced.
fn log_change(change: &Change) {
    let Alarm { rule, severity, text, id, .. } = &change.alarm;
    let id = &id.to_string()[..ID_SHOWN];
    let silenced = if change.silenced { " (silenced)" } else { "" };
    let line = match change.kind {
        ChangeKind::Raised => format!("raised{silenced}: {rule}: {text} [{id}]"),
        ChangeKind::Repeated => format!("stands{silenced}: {rule}: {text} [{id}]"),
        ChangeKind::Cleared => format!("cleared{silenced}: {rule}: {text} [{id}]"),
        ChangeKind::Acknowledged => {
            let by = change.alarm.acknowledged_by.as_deref().unwrap_or_default();
            format!("acknowledged by {by}: {rule}: {text} [{id}]")
        }
    };
    match (change.kind, severity) {
        (ChangeKind::Raised | ChangeKind::Repeated, Severity::Critical) if !change.silenced => {
            log::error!(target: "alarm", "{line}");
        }
        (ChangeKind::Raised | ChangeKind::Repeated, Severity::Warning) if !change.silenced => {
            log::warn!(target: "alarm", "{line}");
        }
        _ => log::info!(target: "alarm", "{line}"),
    }
}

/// How often the alarms are judged: a rule is looked at when its time is due.
const STEP: Duration = Duration::from_millis(500);
/// How often the state is written, if it changed.
const SAVED: Duration = Duration::from_secs(30);
/// How long an event may be under way from a worker.
const LATENESS: Nanos = Nanos::from_millis(1_000);
/// Events that are taken between two looks at the clock.
const AT_ONCE: usize = 10_000;
/// Digits of an id in the log: enough for `ringtap acknowledge`.
const ID_SHOWN: usize = 8;

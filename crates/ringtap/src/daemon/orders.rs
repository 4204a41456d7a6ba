//! What all workers are told of keeping: the rules, commands for calls under way, and how each call stands.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringtap_engine::CallNumber;
use ringtap_spool::rules::{Place, Rules, Table, What};

use crate::config::Config;

/// Rules and what belongs to them, as the configuration says it now.
#[derive(Debug)]
pub(crate) struct Ruling {
    pub(super) rules: Rules,
    /// Calls that each rule decided; the last is of those that none matched.
    matched: Vec<AtomicU64>,
    pub(super) legs: Vec<Leg>,
    secret: String,
    pub(super) pause: Switch,
    pub(super) resume: Switch,
    /// Every frame is kept.
    pub(super) everything: bool,
}

/// What joins the legs of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leg {
    /// `Session-ID`, RFC 7989.
    Session,
    /// `icid-value` of `P-Charging-Vector`, RFC 7315.
    Charging,
    /// The value of a header.
    Header(String),
    /// Numbers and the minute.
    Numbers,
}

/// How those who speak pause or go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Switch {
    pub(super) digits: Vec<u8>,
    pub(super) header: Option<(String, String)>,
}

impl Ruling {
    /// As the configuration has it. `secret` where that has none of its own.
    ///
    /// # Errors
    ///
    /// A file of numbers that cannot be read any more.
    pub(crate) fn of(config: &Config, secret: &str) -> anyhow::Result<Self> {
        let rules = config.rules().map_err(|(place, key, problem)| {
            anyhow::anyhow!("[[keep]] rule {} {key}: {problem}", place + 1)
        })?;
        let spool = &config.spool;
        let legs = spool.legs.iter().map(|name| match name.to_ascii_lowercase().as_str() {
            "session-id" => Leg::Session,
            "p-charging-vector" => Leg::Charging,
            "numbers" => Leg::Numbers,
            _ => Leg::Header(name.clone()),
        });
        let switch = |digits: &str, header: &crate::config::Field| Switch {
            digits: digits.as_bytes().to_vec(),
            header: header.0.clone(),
        };
        Ok(Self {
            matched: (0..=rules.0.len()).map(|_| AtomicU64::new(0)).collect(),
            legs: legs.collect(),
            secret: if spool.share_key.is_empty() { secret } else { &spool.share_key }.to_owned(),
            pause: switch(&spool.pause_digits, &spool.pause_header),
            resume: switch(&spool.resume_digits, &spool.resume_header),
            everything: config.keeps_everything(),
            rules,
        })
    }

    /// Of what the legs of a call have in common. Nobody who does not know the secret can choose it.
    pub(super) fn hash(&self, parts: &[&[u8]]) -> u64 {
        ringtap_spool::key([self.secret.as_bytes()].into_iter().chain(parts.iter().copied()))
    }

    /// The rule decided a call.
    pub(super) fn count(&self, rule: Option<usize>) {
        if let Some(count) = self.matched.get(rule.unwrap_or(self.rules.0.len())) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Name of a rule.
    pub(super) fn name(&self, rule: Option<usize>) -> &str {
        rule.and_then(|rule| self.rules.0.get(rule)).map_or("no rule", |rule| rule.name.as_str())
    }

    /// A line for each rule: what it keeps, how many calls it decided, its name.
    pub(crate) fn lines(&self) -> Vec<String> {
        let rules = self.rules.0.iter().map(|rule| {
            let what = if self.everything { "everything" } else { rule.what.name() };
            (what, rule.name.as_str())
        });
        let last = [(What::Nothing.name(), "no rule")].into_iter();
        let counts = self.matched.iter().map(|count| count.load(Ordering::Relaxed));
        let line = |((what, name), count)| format!("{what:<10} {count:>9}  {name}");
        rules.chain(last).zip(counts).map(line).collect()
    }
}

/// For a call under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// From now on so much is kept, whatever rules say.
    Keep(What),
    /// What is said is not kept.
    Pause,
    /// It is again.
    Resume,
}

/// A command on its way to the workers.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) call_id: String,
    pub(super) act: Act,
    /// What was done; nothing where the call is another worker's, or nobody's.
    pub(super) answer: Sender<Option<String>>,
}

/// See the module. Nobody waits for anybody: a worker looks once a batch whether there is something new.
#[derive(Debug)]
pub(crate) struct Orders {
    pub(super) table: Table,
    ruling: Mutex<Arc<Ruling>>,
    /// Counts rulings.
    epoch: AtomicU64,
    inboxes: Vec<Inbox>,
}

#[derive(Debug, Default)]
struct Inbox {
    is_full: AtomicBool,
    commands: Mutex<Vec<Command>>,
}

impl Orders {
    /// For so many workers, with so many calls each.
    pub(crate) fn new(ruling: Ruling, workers: usize, calls: usize) -> Self {
        Self {
            table: Table::new(workers, calls),
            ruling: Mutex::new(Arc::new(ruling)),
            epoch: AtomicU64::new(0),
            inboxes: (0..workers).map(|_| Inbox::default()).collect(),
        }
    }

    /// From now on these rules: for new calls, and for those that are not decided.
    pub(crate) fn replace(&self, ruling: Ruling) {
        *held(&self.ruling) = Arc::new(ruling);
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// The rules now, and their number.
    pub(crate) fn ruling(&self) -> (Arc<Ruling>, u64) {
        let ruling = held(&self.ruling);
        (Arc::clone(&ruling), self.epoch())
    }

    /// Changes with the rules. HOT: a load.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Commands for that worker. HOT: a load where there are none.
    pub(super) fn commands(&self, worker: usize) -> Vec<Command> {
        match self.inboxes.get(worker) {
            Some(inbox) if inbox.is_full.swap(false, Ordering::Acquire) => {
                std::mem::take(&mut *held(&inbox.commands))
            }
            _ => Vec::new(),
        }
    }

    /// Has a command done by the worker that has the call. What was done; nothing where there is no such call.
    ///
    /// # Errors
    ///
    /// A worker that does not answer.
    pub(crate) fn command(&self, call_id: &str, act: Act) -> anyhow::Result<Option<String>> {
        let (answer, answers) = channel();
        for inbox in &self.inboxes {
            let mut commands = held(&inbox.commands);
            if commands.len() >= MOST {
                anyhow::bail!("too many commands at once: try again");
            }
            commands.push(Command { call_id: call_id.to_owned(), act, answer: answer.clone() });
            drop(commands);
            inbox.is_full.store(true, Ordering::Release);
        }
        drop(answer);
        let deadline = Instant::now() + PATIENCE;
        let mut done = None;
        for _ in &self.inboxes {
            let left = deadline.saturating_duration_since(Instant::now());
            match answers.recv_timeout(left) {
                Ok(told) => done = done.or(told),
                Err(_) if done.is_some() => break,
                Err(_) => anyhow::bail!("a worker does not answer: has it ended?"),
            }
        }
        Ok(done)
    }
}

/// A call's place in the table.
pub(super) fn place(call: CallNumber) -> Place {
    Place { worker: call.worker(), slot: call.slot() as usize, generation: call.generation() }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Commands that wait for a worker.
const MOST: usize = 64;
/// How long a worker may take: it looks twenty times a second even where no packets come.
const PATIENCE: Duration = Duration::from_secs(3);

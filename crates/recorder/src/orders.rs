//! What all workers are told of keeping: the rules, commands for calls under way, and how each call stands.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringtap_engine::CallNumber;
use ringtap_spool::rules::{
    CallDecision, CallFacts, CallSlot, DecisionState, DecisionTable, RecordingScope, Rule, Rules,
};

use crate::cases::{CaseNote, CaseRegister};

/// What is to be recorded of which call, as it is configured.
#[derive(Clone, Debug, Default)]
pub struct RulingSettings {
    /// Rules, the first that matches decides.
    pub rules: Rules,
    /// Rules that intercept.
    pub products: Vec<Rule>,
    /// What joins the legs of a call.
    pub legs: Vec<LegKey>,
    /// For the choice of a share of calls: nobody who does not know it can tell which are chosen.
    pub secret: String,
    /// How those who speak pause the recording.
    pub pause: PauseTrigger,
    /// How they have it go on.
    pub resume: PauseTrigger,
    /// Every frame is kept.
    pub everything: bool,
}

/// Rules and what belongs to them, with counts of the calls that each decided.
#[derive(Debug)]
pub struct Ruling {
    pub(crate) rules: Rules,
    /// Those that intercept.
    pub(crate) products: InterceptRules,
    /// Calls that each rule decided; the last is of those that none matched.
    matched: Vec<AtomicU64>,
    pub(crate) legs: Vec<LegKey>,
    secret: String,
    pub(crate) pause: PauseTrigger,
    pub(crate) resume: PauseTrigger,
    /// Every frame is kept.
    pub(crate) everything: bool,
}

/// Rules that intercept: each stands for itself, and a call is kept for every case of which one matches.
#[derive(Debug, Default)]
pub(crate) struct InterceptRules {
    rules: Vec<Rule>,
    /// Calls that each matched.
    matched: Vec<AtomicU64>,
}

/// What rules that intercept say of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InterceptDecision {
    pub(crate) standing: CallDecision,
    /// The rules that match, by their places.
    pub(crate) matched: Vec<usize>,
    /// No rule will match that does not yet.
    pub(crate) is_final: bool,
}

impl InterceptRules {
    fn of(rules: Vec<Rule>) -> Self {
        Self { matched: rules.iter().map(|_| AtomicU64::new(0)).collect(), rules }
    }

    /// Nobody is intercepted.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What is kept of a call of which so much is known: the most that one of them wants. It waits while one
    /// that may still match wants more.
    pub(crate) fn decide(&self, facts: &CallFacts<'_>) -> InterceptDecision {
        let (mut what, mut more, mut matched) = (RecordingScope::Nothing, None, Vec::new());
        for (place, rule) in self.rules.iter().enumerate() {
            match rule.matches(facts) {
                Some(true) => {
                    what = what.max(rule.what);
                    matched.push(place);
                }
                None => more = more.max(Some(rule.what)),
                Some(false) => {}
            }
        }
        let waits = more > Some(what);
        let state = if waits { DecisionState::Open } else { DecisionState::Decided };
        let standing =
            CallDecision { state, what: what.max(more.unwrap_or_default()), ..CallDecision::default() };
        InterceptDecision { standing, matched, is_final: more.is_none() }
    }

    /// The most that any of them keeps.
    pub(crate) fn most(&self) -> RecordingScope {
        self.rules.iter().map(|rule| rule.what).max().unwrap_or_default()
    }

    /// The cases of these rules, each once.
    pub(crate) fn cases(&self, rules: &[usize]) -> Vec<String> {
        let cases = rules.iter().filter_map(|rule| self.rules.get(*rule)?.product.clone());
        cases.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The rule matched a call.
    pub(crate) fn count(&self, rule: usize) {
        if let Some(count) = self.matched.get(rule) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What joins the legs of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LegKey {
    /// `Session-ID`, RFC 7989.
    Session,
    /// `icid-value` of `P-Charging-Vector`, RFC 7315.
    Charging,
    /// The value of a header.
    Header(String),
    /// Numbers and the minute.
    Numbers,
}

impl LegKey {
    /// By its name in the configuration: `Session-ID`, `P-Charging-Vector`, `numbers`, or a header.
    pub fn of_name(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "session-id" => Self::Session,
            "p-charging-vector" => Self::Charging,
            "numbers" => Self::Numbers,
            _ => Self::Header(name.to_owned()),
        }
    }
}

/// How those who speak pause or go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PauseTrigger {
    /// Digits of a telephone keypad, in ASCII; empty where none do.
    pub digits: Vec<u8>,
    /// A header and its value; None where none does.
    pub header: Option<(String, String)>,
}

impl Ruling {
    /// In effect from now on, with nothing counted.
    pub fn new(settings: RulingSettings) -> Self {
        let RulingSettings { rules, products, legs, secret, pause, resume, everything } = settings;
        Self {
            matched: (0..=rules.0.len()).map(|_| AtomicU64::new(0)).collect(),
            legs,
            secret,
            pause,
            resume,
            everything,
            rules,
            products: InterceptRules::of(products),
        }
    }

    /// Of what the legs of a call have in common. Nobody who does not know the secret can choose it.
    pub(crate) fn hash(&self, parts: &[&[u8]]) -> u64 {
        ringtap_spool::key([self.secret.as_bytes()].into_iter().chain(parts.iter().copied()))
    }

    /// The rule decided a call.
    pub(crate) fn count(&self, rule: Option<usize>) {
        if let Some(count) = self.matched.get(rule.unwrap_or(self.rules.0.len())) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Name of a rule.
    pub(crate) fn name(&self, rule: Option<usize>) -> &str {
        rule.and_then(|rule| self.rules.0.get(rule)).map_or("no rule", |rule| rule.name.as_str())
    }

    /// The same of rules that intercept: how many calls each matched, and its case. Not for the log.
    pub fn product_lines(&self) -> Vec<String> {
        let lines = self.products.rules.iter().zip(&self.products.matched).map(|(rule, count)| {
            let case = rule.product.as_deref().unwrap_or_default();
            let count = count.load(Ordering::Relaxed);
            format!("{:<10} {count:>9}  {}; product of {case}", rule.what.name(), rule.name)
        });
        lines.collect()
    }

    /// A line for each rule: what it keeps, how many calls it decided, its name.
    pub fn lines(&self) -> Vec<String> {
        let rules = self.rules.0.iter().map(|rule| {
            let what = if self.everything { "everything" } else { rule.what.name() };
            (what, rule.name.as_str())
        });
        let last = [(RecordingScope::Nothing.name(), "no rule")].into_iter();
        let counts = self.matched.iter().map(|count| count.load(Ordering::Relaxed));
        let line = |((what, name), count)| format!("{what:<10} {count:>9}  {name}");
        rules.chain(last).zip(counts).map(line).collect()
    }
}

/// For a call under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallCommand {
    /// From now on so much is kept, whatever rules say.
    Keep(RecordingScope),
    /// What is said is not kept.
    Pause,
    /// It is again.
    Resume,
    /// Nothing is done: tells the time by its packets, in nanoseconds since 1970.
    Time,
}

/// A command on its way to the workers.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) call_id: String,
    pub(crate) act: CallCommand,
    /// What was done; nothing where the call is another worker's, or nobody's.
    pub(crate) answer: Sender<Option<String>>,
}

/// See the module. Nobody waits for anybody: a worker looks once a batch whether there is something new.
#[derive(Debug)]
pub struct Orders {
    pub(crate) table: DecisionTable,
    /// The same of what is intercepted.
    pub(crate) products: DecisionTable,
    /// Writes down whose product is kept.
    clerk: Option<CaseRegister>,
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
    pub fn new(ruling: Ruling, workers: usize, calls: usize) -> Self {
        Self {
            table: DecisionTable::new(workers, calls),
            products: DecisionTable::new(workers, calls),
            clerk: None,
            ruling: Mutex::new(Arc::new(ruling)),
            epoch: AtomicU64::new(0),
            inboxes: (0..workers).map(|_| Inbox::default()).collect(),
        }
    }

    /// Whose product is kept is written down.
    pub fn with(self, clerk: CaseRegister) -> Self {
        Self { clerk: Some(clerk), ..self }
    }

    /// Has it written down.
    pub(crate) fn note(&self, note: CaseNote) {
        if let Some(clerk) = &self.clerk {
            clerk.note(note);
        }
    }

    /// From now on these rules: for new calls, and for those that are not decided.
    pub fn replace(&self, ruling: Ruling) {
        *held(&self.ruling) = Arc::new(ruling);
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// The rules now, and their number.
    pub fn ruling(&self) -> (Arc<Ruling>, u64) {
        let ruling = held(&self.ruling);
        (Arc::clone(&ruling), self.epoch())
    }

    /// Changes with the rules. HOT: a load.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Commands for that worker. HOT: a load where there are none.
    pub(crate) fn commands(&self, worker: usize) -> Vec<Command> {
        match self.inboxes.get(worker) {
            Some(inbox) if inbox.is_full.swap(false, Ordering::Acquire) => {
                std::mem::take(&mut *held(&inbox.commands))
            }
            _ => Vec::new(),
        }
    }

    /// Has a command done by the worker that has the call. What was done; nothing where there is no such
    /// call.
    ///
    /// # Errors
    ///
    /// A worker that does not answer.
    pub fn command(&self, call_id: &str, act: CallCommand) -> anyhow::Result<Option<String>> {
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
pub(crate) fn place(call: CallNumber) -> CallSlot {
    CallSlot { worker: call.worker(), slot: call.slot() as usize, generation: call.generation() }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Commands that wait for a worker.
const MOST: usize = 64;
/// How long a worker may take: it looks twenty times a second even where no packets come.
const PATIENCE: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_that_matches_has_its_part_and_the_most_is_kept() {
        let rule = |case: &str, what, answered, codec: &str| Rule {
            product: Some(case.into()),
            what,
            answered,
            codec: codec.split_whitespace().map(Into::into).collect(),
            ..Rule::default()
        };
        let rules = vec![
            rule("B", RecordingScope::Signalling, false, ""),
            rule("A", RecordingScope::Signalling, true, ""),
            rule("B", RecordingScope::Full, true, "G729"),
        ];
        let rules = InterceptRules::of(rules);
        let decide = |facts: &CallFacts<'_>| {
            let InterceptDecision { standing, matched, is_final } = rules.decide(facts);
            (standing.state, standing.what, rules.cases(&matched), is_final)
        };
        let cases = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let facts = CallFacts::default();
        // The third may still want more.
        assert_eq!(decide(&facts), (DecisionState::Open, RecordingScope::Full, cases(&["B"]), false));
        let other = CallFacts { codecs: &["PCMA"], answered: true, ..facts };
        assert_eq!(
            decide(&other),
            (DecisionState::Decided, RecordingScope::Signalling, cases(&["A", "B"]), true)
        );
        let all = CallFacts { codecs: &["G729"], answered: true, ..facts };
        assert_eq!(decide(&all), (DecisionState::Decided, RecordingScope::Full, cases(&["A", "B"]), true));
        // Whoever may still match and wants no more holds nothing up.
        let two = InterceptRules::of(rules.rules[..2].to_vec());
        let wanted = two.decide(&facts);
        assert_eq!(
            (wanted.standing.state, wanted.is_final, wanted.matched),
            (DecisionState::Decided, false, vec![0])
        );
        let nobody = InterceptRules::default();
        assert_eq!(
            (nobody.decide(&all).standing.what, nobody.is_empty(), nobody.most()),
            (RecordingScope::Nothing, true, RecordingScope::Nothing)
        );
    }
}

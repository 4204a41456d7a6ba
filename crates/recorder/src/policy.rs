//! Shared by all workers: the recording rules, the decision about each call, and commands for calls.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringtap_engine::CallNumber;
use ringtap_model::Nanos;
use ringtap_spool::rules::{
    CallDecision, CallFacts, CallSlot, DecisionState, DecisionTable, RecordingScope, Rule, Rules,
};

use crate::cases::{CaseNote, CaseReporter};
use crate::listening::{ListenedCalls, ListenedStream};

/// The configuration of recording.
#[derive(Clone, Debug, Default)]
pub struct PolicySettings {
    /// Rules; the first that matches decides.
    pub rules: Rules,
    /// Rules that intercept.
    pub products: Vec<Rule>,
    /// What identifies the legs of one call.
    pub legs: Vec<LegKey>,
    /// Secret for choosing a share of calls: without it nobody can tell which are chosen.
    pub secret: String,
    /// What pauses the recording.
    pub pause: PauseTrigger,
    /// What resumes the recording.
    pub resume: PauseTrigger,
    /// Every frame is recorded.
    pub everything: bool,
    /// When they were read.
    pub since: Nanos,
    /// Calls in progress that may be listened to at once.
    pub listeners: usize,
}

/// The rules in effect, with counts of the calls that each has decided.
#[derive(Debug)]
pub struct RecordingPolicy {
    pub(crate) rules: Rules,
    /// Those that intercept.
    pub(crate) products: Arc<InterceptRules>,
    /// Calls that each rule decided; the last entry counts calls that no rule matched.
    matched: Vec<AtomicU64>,
    pub(crate) legs: Vec<LegKey>,
    secret: String,
    pub(crate) pause: PauseTrigger,
    pub(crate) resume: PauseTrigger,
    /// Every frame is recorded.
    pub(crate) everything: bool,
    since: Nanos,
    /// Calls in progress that may be listened to at once.
    pub(crate) listeners: usize,
}

/// Rules that intercept. They are independent: a call is recorded for the case of each rule that matches.
#[derive(Debug, Default)]
pub(crate) struct InterceptRules {
    rules: Vec<Rule>,
}

/// The decision of the rules that intercept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InterceptDecision {
    pub(crate) decision: CallDecision,
    /// Indices of the rules that match.
    pub(crate) matched: Vec<usize>,
    /// No further rule can match.
    pub(crate) is_final: bool,
}

impl InterceptRules {
    /// Nobody is intercepted.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Decides about a call: records the widest scope of the rules that match. The decision is open while a
    /// rule that may still match has a wider scope.
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
        let decision =
            CallDecision { state, what: what.max(more.unwrap_or_default()), ..CallDecision::default() };
        InterceptDecision { decision, matched, is_final: more.is_none() }
    }

    /// The widest scope of all rules.
    pub(crate) fn most(&self) -> RecordingScope {
        self.rules.iter().map(|rule| rule.what).max().unwrap_or_default()
    }

    /// The cases of these rules, each once.
    pub(crate) fn cases(&self, rules: &[usize]) -> Vec<String> {
        let cases = rules.iter().filter_map(|rule| self.rules.get(*rule)?.product.clone());
        cases.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// What identifies the legs of one call.
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

/// Digits and a header that pause or resume a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PauseTrigger {
    /// Digits of a telephone keypad, in ASCII; may be empty.
    pub digits: Vec<u8>,
    /// A header and its value.
    pub header: Option<(String, String)>,
}

impl RecordingPolicy {
    /// Puts the settings into effect, with all counts at 0.
    pub fn new(settings: PolicySettings) -> Self {
        let PolicySettings { rules, products, legs, secret, pause, resume, everything, listeners, since } =
            settings;
        Self {
            matched: (0..=rules.0.len()).map(|_| AtomicU64::new(0)).collect(),
            legs,
            secret,
            pause,
            resume,
            everything,
            since,
            listeners,
            rules,
            products: Arc::new(InterceptRules { rules: products }),
        }
    }

    /// The same with other ordinary rules, whose counts begin at 0. Those that intercept stay as they are.
    #[must_use]
    pub fn with_rules(&self, rules: Rules, everything: bool, since: Nanos) -> Self {
        Self {
            matched: (0..=rules.0.len()).map(|_| AtomicU64::new(0)).collect(),
            legs: self.legs.clone(),
            secret: self.secret.clone(),
            pause: self.pause.clone(),
            resume: self.resume.clone(),
            everything,
            since,
            listeners: self.listeners,
            rules,
            products: Arc::clone(&self.products),
        }
    }

    /// A hash of what the legs of a call have in common, which nobody can choose without the secret.
    pub(crate) fn hash(&self, parts: &[&[u8]]) -> u64 {
        ringtap_spool::key([self.secret.as_bytes()].into_iter().chain(parts.iter().copied()))
    }

    /// Counts a call that the rule decided.
    pub(crate) fn count(&self, rule: Option<usize>) {
        if let Some(count) = self.matched.get(rule.unwrap_or(self.rules.0.len())) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Name of a rule.
    pub(crate) fn name(&self, rule: Option<usize>) -> &str {
        rule.and_then(|rule| self.rules.0.get(rule)).map_or("no rule", |rule| rule.name.as_str())
    }

    /// When the rules were read.
    pub fn since(&self) -> Nanos {
        self.since
    }

    /// Every frame is recorded, of calls or not.
    pub fn keeps_everything(&self) -> bool {
        self.everything
    }

    /// The rules in order, those that intercept left out, and how many calls each has decided.
    pub fn decided(&self) -> impl Iterator<Item = (&Rule, u64)> {
        self.rules.0.iter().zip(self.matched.iter().map(|count| count.load(Ordering::Relaxed)))
    }

    /// Calls that no rule matched.
    pub fn undecided(&self) -> u64 {
        self.matched.last().map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// A line for each rule: its scope, how many calls it decided, its name. Those that intercept are left
    /// out.
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

/// A command for a call in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallCommand {
    /// Records this scope from now on, whatever the rules say.
    Keep(RecordingScope),
    /// Pauses the recording of media.
    Pause,
    /// Resumes it.
    Resume,
    /// Changes nothing: returns the time of its packets, in nanoseconds since 1970.
    Time,
    /// Writes its media soon, for 15 s: somebody listens. Returns the name of a [`ListenState`], or why not.
    Listen,
}

impl CallCommand {
    /// Whether it is worth a line in the log.
    pub(crate) fn is_logged(self) -> bool {
        !matches!(self, Self::Time | Self::Listen)
    }
}

/// What whoever listens to a call in progress will hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenState {
    /// Its media are recorded.
    Recorded,
    /// Their recording is paused: silence.
    Paused,
    /// It is not decided yet whether they are recorded: nothing until then.
    Pending,
}

impl ListenState {
    const ALL: [Self; 3] = [Self::Recorded, Self::Paused, Self::Pending];

    /// In answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Paused => "paused",
            Self::Pending => "pending",
        }
    }

    /// That of a decision, or why nothing can be heard.
    pub(crate) fn of(decision: &CallDecision) -> Result<Self, String> {
        match decision.state {
            DecisionState::Unknown | DecisionState::Open => Ok(Self::Pending),
            DecisionState::UntilEnd | DecisionState::Decided => match decision.what {
                RecordingScope::Full if decision.paused => Ok(Self::Paused),
                RecordingScope::Full => Ok(Self::Recorded),
                less => Err(format!(
                    "the sound of this call is not recorded, so it cannot be heard: its rule keeps {} \
                     (`ringtap rules` shows the rules)",
                    match less {
                        RecordingScope::Headers => "only the headers of its media",
                        RecordingScope::Signalling => "only its signalling",
                        _ => "nothing of it",
                    }
                )),
            },
        }
    }
}

/// A command on its way to the workers.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) call_id: String,
    pub(crate) act: CallCommand,
    /// What was done; None if the worker does not have the call.
    pub(crate) answer: Sender<Option<String>>,
}

/// The rules, decisions and commands that workers share. No worker waits: each checks for changes once a
/// batch.
#[derive(Debug)]
pub struct SharedPolicy {
    pub(crate) table: DecisionTable,
    /// Decisions about interception.
    pub(crate) products: DecisionTable,
    /// Logs which product belongs to which case.
    reporter: Option<CaseReporter>,
    policy: Mutex<Arc<RecordingPolicy>>,
    /// Counts changes of the rules.
    epoch: AtomicU64,
    inboxes: Vec<Inbox>,
    pub(crate) listened: ListenedCalls,
}

#[derive(Debug, Default)]
struct Inbox {
    is_full: AtomicBool,
    commands: Mutex<Vec<Command>>,
}

impl SharedPolicy {
    /// For that many workers with at most `calls` calls each.
    pub fn new(policy: RecordingPolicy, workers: usize, calls: usize) -> Self {
        Self {
            table: DecisionTable::new(workers, calls),
            products: DecisionTable::new(workers, calls),
            reporter: None,
            policy: Mutex::new(Arc::new(policy)),
            epoch: AtomicU64::new(0),
            inboxes: (0..workers).map(|_| Inbox::default()).collect(),
            listened: ListenedCalls::default(),
        }
    }

    /// Adds the log of which product belongs to which case.
    pub fn with(self, reporter: CaseReporter) -> Self {
        Self { reporter: Some(reporter), ..self }
    }

    /// Logs a notification about a case.
    pub(crate) fn note(&self, note: CaseNote) {
        if let Some(reporter) = &self.reporter {
            reporter.note(note);
        }
    }

    /// Replaces the rules, for new calls and for those whose decision is pending.
    pub fn replace(&self, policy: RecordingPolicy) {
        *held(&self.policy) = Arc::new(policy);
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// The rules in effect, and their epoch.
    pub fn policy(&self) -> (Arc<RecordingPolicy>, u64) {
        let policy = held(&self.policy);
        (Arc::clone(&policy), self.epoch())
    }

    /// Changes with the rules. HOT: a load.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Removes the commands for that worker. HOT: a load if there are none.
    pub(crate) fn commands(&self, worker: usize) -> Vec<Command> {
        match self.inboxes.get(worker) {
            Some(inbox) if inbox.is_full.swap(false, Ordering::Acquire) => {
                std::mem::take(&mut *held(&inbox.commands))
            }
            _ => Vec::new(),
        }
    }

    /// Has the worker that has the call run a command. Returns what was done; None without such a call.
    ///
    /// # Errors
    ///
    /// A worker does not answer, or too many commands are waiting.
    pub fn command(&self, call_id: &str, act: CallCommand) -> anyhow::Result<Option<String>> {
        Ok(self.commanded(&[call_id], act)?.swap_remove(0))
    }

    /// The same for each of these calls, in the time that one takes: workers look for commands now and then.
    fn commanded(&self, call_ids: &[&str], act: CallCommand) -> anyhow::Result<Vec<Option<String>>> {
        let (senders, receivers): (Vec<_>, Vec<_>) = call_ids.iter().map(|_| channel()).unzip();
        for inbox in &self.inboxes {
            let mut commands = held(&inbox.commands);
            if commands.len() + call_ids.len() > MOST {
                anyhow::bail!("too many commands are waiting: try again");
            }
            let each = call_ids.iter().zip(&senders);
            commands.extend(each.map(|(call_id, answer)| Command {
                call_id: (*call_id).to_owned(),
                act,
                answer: answer.clone(),
            }));
            drop(commands);
            inbox.is_full.store(true, Ordering::Release);
        }
        drop(senders);
        let deadline = Instant::now() + PATIENCE;
        receivers.iter().map(|answers| self.answered(answers, deadline)).collect()
    }

    /// What the worker that has the call says.
    fn answered(
        &self,
        answers: &Receiver<Option<String>>,
        deadline: Instant,
    ) -> anyhow::Result<Option<String>> {
        let mut done = None;
        for _ in &self.inboxes {
            let left = deadline.saturating_duration_since(Instant::now());
            match answers.recv_timeout(left) {
                Ok(told) => done = done.or(told),
                Err(_) if done.is_some() => break,
                Err(_) => anyhow::bail!("a worker does not answer within 3 s: see the log of ringtap"),
            }
        }
        Ok(done)
    }
}

impl SharedPolicy {
    /// Has the media of calls written within half a second, for 15 s: somebody listens. Answers for each.
    ///
    /// # Errors
    ///
    /// A worker does not answer, or too many commands are waiting.
    pub fn listen(&self, call_ids: &[&str]) -> anyhow::Result<Vec<Listened>> {
        let told = self.commanded(call_ids, CallCommand::Listen)?;
        let answer = |(call_id, told): (&&str, Option<String>)| {
            let Some(told) = told else { return Listened::Ended };
            match ListenState::ALL.into_iter().find(|state| state.name() == told) {
                Some(state) => Listened::Heard(state, self.listened.streams(call_id)),
                None => Listened::Refused(told),
            }
        };
        Ok(call_ids.iter().zip(told).map(answer).collect())
    }
}

/// What becomes of listening to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listened {
    /// The streams that were seen since somebody listens.
    Heard(ListenState, Vec<ListenedStream>),
    /// There is no such call.
    Ended,
    /// Its media are not recorded, or so many calls are listened to already.
    Refused(String),
}

/// A call's slot in the decision tables.
pub(crate) fn place(call: CallNumber) -> CallSlot {
    CallSlot { worker: call.worker(), slot: call.slot() as usize, generation: call.generation() }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Most commands waiting for a worker.
const MOST: usize = 256;
/// How long a worker may take: it checks twenty times a second, even without packets.
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
        let rules = InterceptRules { rules };
        let decide = |facts: &CallFacts<'_>| {
            let InterceptDecision { decision, matched, is_final } = rules.decide(facts);
            (decision.state, decision.what, rules.cases(&matched), is_final)
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
        // A rule that may still match but has no wider scope keeps nothing pending.
        let two = InterceptRules { rules: rules.rules[..2].to_vec() };
        let wanted = two.decide(&facts);
        assert_eq!(
            (wanted.decision.state, wanted.is_final, wanted.matched),
            (DecisionState::Decided, false, vec![0])
        );
        let nobody = InterceptRules::default();
        assert_eq!(
            (nobody.decide(&all).decision.what, nobody.is_empty(), nobody.most()),
            (RecordingScope::Nothing, true, RecordingScope::Nothing)
        );
    }
}

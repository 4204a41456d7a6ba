//! Follows the store, chooses the calls of each hook, and delivers them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringtap_model::{Call, Id, Nanos, Stream};
use ringtap_notify::{Backoff, NotifyError};
use ringtap_search::{Context, Expression, parse};
use ringtap_store::{Follower, Reader};

use crate::delivery::{Deliverer, Outcome, Transport};
use crate::error::HookError;
use crate::queue::Waiting;
use crate::settings::{Hook, KnownSites, ServiceSettings, is_in_progress};
use crate::state::{State, StateFile};

/// The hooks of an installation: one thread follows the store, and one makes each delivery.
pub struct Service {
    hooks: Vec<Running>,
    follower: Follower,
    records: PathBuf,
    state: State,
    file: StateFile,
    /// The state was changed since it was saved.
    is_changed: bool,
    saved: Instant,
    sites: KnownSites,
    deliverer: Arc<Deliverer>,
    ended: (Sender<Ended>, Receiver<Ended>),
    begun: Instant,
}

/// A hook, and what it does now.
struct Running {
    hook: Arc<Hook>,
    /// Calls that are being delivered.
    under_way: Vec<Id>,
    backoff: Backoff,
}

/// An attempt that ended.
struct Ended {
    hook: usize,
    id: Id,
    outcome: Outcome,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Service({} hooks)", self.hooks.len())
    }
}

impl Service {
    /// Begins with the calls that are stored from now on, or goes on where the last run ended.
    ///
    /// # Errors
    ///
    /// A query is wrong, or the state or the store cannot be read.
    pub fn open(
        settings: ServiceSettings,
        sites: KnownSites,
        transport: Box<dyn Transport>,
    ) -> Result<Self, HookError> {
        expressions(settings.hooks.iter(), &sites)?;
        let (file, state) = StateFile::open(&settings.directory)?;
        let (follower, mut state) = match state {
            Some(state) => (Follower::behind(&settings.records, state.places.clone()), state),
            None => (Follower::from_now(&settings.records)?, State::default()),
        };
        state.places.clone_from(follower.places());
        // What waits for a hook that is not configured any more is not delivered.
        state.queues.retain(|name, _| settings.hooks.iter().any(|hook| hook.name == *name));
        for hook in &settings.hooks {
            state.queues.entry(hook.name.clone()).or_default();
        }
        file.save(&state)?;
        let deliverer = Arc::new(Deliverer::new(&settings, transport));
        let (first, longest) = settings.pace;
        let running = |hook| Running {
            hook: Arc::new(hook),
            under_way: Vec::new(),
            backoff: Backoff::new(first, longest),
        };
        Ok(Self {
            hooks: settings.hooks.into_iter().map(running).collect(),
            follower,
            records: settings.records,
            state,
            file,
            is_changed: false,
            saved: Instant::now(),
            sites,
            deliverer,
            ended: channel(),
            begun: Instant::now(),
        })
    }

    /// Works until `stop` says so; deliveries under way then have a moment to end, and are made again at the
    /// next start if they do not.
    ///
    /// # Errors
    ///
    /// The state cannot be saved.
    pub fn run(mut self, stop: impl Fn() -> bool) -> Result<(), HookError> {
        let mut looked: Option<Instant> = None;
        let (mut is_blind, mut is_unsaved) = (false, false);
        while !stop() {
            if looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
                let found = self.look();
                // More are there already.
                looked = (!matches!(found, Ok(true))).then(Instant::now);
                note(found.map(drop), &mut is_blind, "calls wait until the store can be read");
            }
            if self.is_changed && self.saved.elapsed() >= LOOK {
                let saved = self.save();
                note(saved, &mut is_unsaved, "until it is saved, a restart delivers calls again");
            }
            self.start();
            self.wait(TURN);
        }
        let until = Instant::now() + LAST;
        while self.hooks.iter().any(|hook| !hook.under_way.is_empty()) && Instant::now() < until {
            self.wait(TURN);
        }
        self.state.places.clone_from(self.follower.places());
        self.file.save(&self.state)
    }

    /// Chooses among the calls that were stored since the last look; returns whether there are more.
    fn look(&mut self) -> Result<bool, HookError> {
        let chosen = self.choose();
        if chosen.is_err() {
            // Calls that were read and not chosen from come again.
            self.follower = Follower::behind(&self.records, self.state.places.clone());
        }
        chosen
    }

    fn choose(&mut self) -> Result<bool, HookError> {
        let calls = self.follower.next(MOST)?;
        let expressions = expressions(self.hooks.iter().map(|running| &*running.hook), &self.sites)?;
        for call in &calls {
            for (place, expression) in expressions.iter().enumerate() {
                if self.wants(place, expression, call)? {
                    self.push(place, call);
                }
            }
        }
        if self.state.places != *self.follower.places() {
            self.state.places.clone_from(self.follower.places());
            self.is_changed = true;
        }
        Ok(calls.len() >= MOST)
    }

    fn wants(&self, place: usize, expression: &Expression, call: &Call) -> Result<bool, HookError> {
        let hook = &self.hooks[place].hook;
        if !hook.event.includes(call) {
            return Ok(false);
        }
        if let Some(known) = expression.matches_call(call) {
            return Ok(known);
        }
        let streams: Vec<Stream> = Reader::open(&self.records)?.streams_of(&call.id)?;
        Ok(expression.matches(call, &streams))
    }

    fn push(&mut self, place: usize, call: &Call) {
        let hook = &self.hooks[place].hook;
        let delay = if is_in_progress(call) { hook.delay.max(AGAIN) } else { hook.delay };
        let waiting = Waiting { id: call.id, ready: seconds() + delay.as_secs(), failures: 0 };
        let queue = self.state.queues.entry(hook.name.clone()).or_default();
        self.is_changed = true;
        if queue.push(waiting, hook.queue) {
            let dropped = queue.counts.dropped;
            // The first is news, and then each power of two.
            if dropped.is_power_of_two() {
                log::warn!(
                    target: "hooks",
                    "{}: {dropped} calls dropped so far, because more than {} wait: see why they are not \
                     taken, or raise `queue`",
                    hook.name,
                    hook.queue
                );
            }
        }
    }

    /// Starts deliveries that are due.
    fn start(&mut self) {
        let (now, elapsed) = (seconds(), self.begun.elapsed());
        for (place, running) in self.hooks.iter_mut().enumerate() {
            let queue = self.state.queues.entry(running.hook.name.clone()).or_default();
            // A hook that fails is tried with one call at a time.
            let most = if running.backoff.is_failing() { 1 } else { running.hook.at_once };
            while running.under_way.len() < most && running.backoff.wait(elapsed).is_zero() {
                let Some(call) = queue.next(now, &running.under_way) else { break };
                let (hook, deliverer) = (Arc::clone(&running.hook), Arc::clone(&self.deliverer));
                let sender = self.ended.0.clone();
                let attempt = move || {
                    let outcome = deliverer.attempt(&hook, call.id, call.failures + 1);
                    // The service has ended.
                    let _ = sender.send(Ended { hook: place, id: call.id, outcome });
                };
                if let Err(error) = thread::Builder::new().name("hook".into()).spawn(attempt) {
                    log::error!(target: "hooks", "no thread can be started: {error}");
                    return;
                }
                running.under_way.push(call.id);
            }
        }
    }

    /// Waits for deliveries to end.
    fn wait(&mut self, most: Duration) {
        match self.ended.1.recv_timeout(most) {
            Ok(ended) => self.end(ended),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(ended) = self.ended.1.try_recv() {
            self.end(ended);
        }
    }

    fn end(&mut self, Ended { hook: place, id, outcome }: Ended) {
        let now = self.begun.elapsed();
        let running = &mut self.hooks[place];
        running.under_way.retain(|other| *other != id);
        let hook = Arc::clone(&running.hook);
        let queue = self.state.queues.entry(hook.name.clone()).or_default();
        self.is_changed = true;
        // It gave way to newer ones while it was being delivered.
        let removed = queue.remove(id);
        match outcome {
            Outcome::Delivered => {
                if running.backoff.is_failing() {
                    log::info!(target: "hooks", "{}: it takes calls again", hook.name);
                }
                running.backoff.succeeded();
                queue.counts.delivered += 1;
            }
            Outcome::Forgotten => queue.counts.forgotten += 1,
            Outcome::InProgress => {
                let again = seconds() + AGAIN.as_secs();
                queue.waiting.extend(removed.map(|call| Waiting { ready: again, ..call }));
            }
            Outcome::Failed(error) => {
                let failures = removed.map_or(hook.tries, |call| call.failures + 1);
                let is_last = !error.is_retryable || failures >= hook.tries;
                log_failure(&hook, id, &error, failures, is_last);
                if error.is_retryable {
                    running.backoff.failed(now);
                }
                if is_last {
                    queue.counts.refused += 1;
                } else {
                    queue.counts.retried += 1;
                    // Behind the others: if it is this call that cannot be taken, they can.
                    queue.waiting.extend(removed.map(|call| Waiting { failures, ..call }));
                }
            }
        }
    }

    /// Saves what changed. A disk that is full keeps nothing from being delivered.
    fn save(&mut self) -> Result<(), HookError> {
        self.saved = Instant::now();
        self.file.save(&self.state)?;
        self.is_changed = false;
        Ok(())
    }
}

/// Logs a fault when it begins and when it is over; `meanwhile` is what it means.
fn note(result: Result<(), HookError>, is_failing: &mut bool, meanwhile: &str) {
    match &result {
        Err(error) if !*is_failing => log::error!(target: "hooks", "{error}; {meanwhile}"),
        Ok(()) if *is_failing => log::info!(target: "hooks", "store and state can be used again"),
        _ => {}
    }
    *is_failing = result.is_err();
}

fn log_failure(hook: &Hook, id: Id, error: &NotifyError, failures: u32, is_last: bool) {
    let (name, tries) = (&hook.name, hook.tries);
    match is_last {
        true if error.is_retryable => {
            log::error!(target: "hooks", "{name}: call {id}: {error}; given up after {failures} attempts")
        }
        true => log::error!(target: "hooks", "{name}: call {id}: {error}; it is not delivered again"),
        false => log::warn!(
            target: "hooks",
            "{name}: call {id}: {error}; attempt {failures} of {tries}, it is made again"
        ),
    }
}

/// The calls that each hook chooses; times that are relative are so now, and sites have the networks of now.
fn expressions<'h>(
    hooks: impl Iterator<Item = &'h Hook>,
    sites: &KnownSites,
) -> Result<Vec<Expression>, HookError> {
    let sites = sites().map_err(HookError::Sites)?;
    let context = Context { sites: Some(sites), ..Context::utc(Nanos::from_secs(seconds())) };
    let read = |hook: &Hook| {
        parse(&hook.query, &context)
            .map_err(|error| HookError::Query { hook: hook.name.clone(), problem: error.to_string() })
    };
    hooks.map(read).collect()
}

/// Seconds since 1970.
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// How often the store is looked at, and the state saved.
const LOOK: Duration = Duration::from_secs(1);
/// Longest wait for deliveries, and so for a stop.
const TURN: Duration = Duration::from_millis(200);
/// How long deliveries under way may take at the end.
const LAST: Duration = Duration::from_secs(8);
/// How long a call waits whose record may still be replaced, until it is looked at again.
const AGAIN: Duration = Duration::from_secs(60);
/// Calls that are read at a time.
const MOST: usize = 256;

#[cfg(test)]
pub(crate) mod tests;

//! The thread that tells one target.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ringtap_model::Id;
use serde::{Deserialize, Serialize};

use crate::Sender;
use crate::error::NotifyError;
use crate::notice::{Notice, NoticeKind};
use crate::queue::{Counts, MOST, Pace, Queue};

/// Tells one target, in a thread of its own: whoever gives it a notice never waits for the target. The thread
/// ends when this is dropped, once the notice that it is sending is sent.
#[derive(Debug)]
pub struct Delivery {
    name: String,
    forgets: bool,
    shared: Arc<Shared>,
}

/// How far a target is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetReport {
    /// Its name.
    pub target: String,
    /// What became of its notices.
    pub counts: Counts,
    /// Numbers of the notices of which nothing has become yet.
    pub waiting: Vec<u64>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    queue: Queue,
    /// Alarms that a target that forgets must hear of again and again.
    standing: BTreeMap<Id, Notice>,
    /// When it hears of them next.
    resend: Duration,
    pace: Pace,
    ended: bool,
}

/// What the thread does next.
enum Step {
    Deliver(Box<Notice>),
    Resend(Vec<Notice>),
    End,
}

impl Delivery {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn start(sender: Sender, pace: Pace) -> io::Result<Self> {
        let queue = Queue::new(pace);
        let state = State { queue, standing: BTreeMap::new(), resend: pace.resend, pace, ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let (name, forgets) = (sender.target().name.clone(), sender.target().forgets());
        let own = Arc::clone(&shared);
        thread::Builder::new().name("notify".into()).spawn(move || own.run(&sender))?;
        Ok(Self { name, forgets, shared })
    }

    /// Gives it a notice to tell, if it is for this target. Its number is in [`TargetReport::waiting`] until
    /// something has become of it.
    pub fn push(&self, number: u64, notice: Notice) {
        if !notice.is_for(&self.name) || (notice.kind == NoticeKind::Standing && !self.forgets) {
            return;
        }
        let mut state = self.shared.lock();
        if self.forgets {
            state.remember(&notice);
        }
        if notice.kind != NoticeKind::Standing {
            state.queue.push(number, notice);
        }
        self.shared.changed.notify_all();
    }

    /// How far the target is told.
    pub fn report(&self) -> TargetReport {
        let state = self.shared.lock();
        TargetReport { target: self.name.clone(), counts: state.queue.counts, waiting: state.queue.numbers() }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
    }
}

impl State {
    fn remember(&mut self, notice: &Notice) {
        let id = notice.alarm.id;
        if notice.kind == NoticeKind::Cleared || notice.alarm.cleared.is_some() {
            self.standing.remove(&id);
        } else if self.standing.len() < MOST || self.standing.contains_key(&id) {
            self.standing.insert(id, notice.clone());
        } else {
            self.queue.counts.dropped += 1;
        }
        if notice.kind == NoticeKind::Standing {
            self.resend = Duration::ZERO;
        }
    }

    /// What to do now, or how long to wait.
    fn step(&mut self, now: Duration) -> Result<Step, Duration> {
        if self.ended {
            return Ok(Step::End);
        }
        if let Some(notice) = self.queue.begin(now) {
            return Ok(Step::Deliver(Box::new(notice)));
        }
        if now >= self.resend {
            self.resend = now + self.pace.resend;
            if !self.standing.is_empty() {
                return Ok(Step::Resend(self.standing.values().cloned().collect()));
            }
        }
        let next = self.resend - now;
        Err(self.queue.wait_time(now).map_or(next, |wait| wait.min(next)))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, sender: &Sender) {
        let begun = Instant::now();
        let name = &sender.target().name;
        loop {
            match self.next(begun) {
                Step::End => return,
                Step::Deliver(notice) => {
                    let result = sender.deliver(&notice);
                    let mut state = self.lock();
                    let was_failing = state.queue.is_failing();
                    state.queue.done(begun.elapsed(), &result);
                    log_outcome(name, &result, was_failing, &state.queue, begun.elapsed());
                }
                Step::Resend(standing) => {
                    if let Err(error) = sender.resend(&standing) {
                        log::warn!(
                            target: "notify",
                            "{name}: {error}; it is told of {} alarms that stand again in a minute",
                            standing.len()
                        );
                    }
                }
            }
        }
    }

    fn next(&self, begun: Instant) -> Step {
        let mut state = self.lock();
        loop {
            match state.step(begun.elapsed()) {
                Ok(step) => return step,
                Err(wait) => {
                    let waited = self.changed.wait_timeout(state, wait);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}

fn log_outcome(
    name: &str,
    result: &Result<(), NotifyError>,
    was_failing: bool,
    queue: &Queue,
    now: Duration,
) {
    match result {
        Ok(()) if was_failing => log::info!(target: "notify", "{name}: it is reached again"),
        Ok(()) => log::debug!(target: "notify", "{name}: a notice is delivered"),
        Err(error) if error.is_retryable => {
            let wait = queue.wait_time(now).unwrap_or_default().as_secs();
            let waiting = queue.numbers().len();
            log::warn!(target: "notify", "{name}: {error}; waiting: {waiting}, next attempt in {wait} s");
        }
        Err(error) => log::error!(target: "notify", "{name}: {error}; this notice is not sent again"),
    }
}

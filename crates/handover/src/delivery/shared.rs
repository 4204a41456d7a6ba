//! What callers and the driver of a link share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringtap_model::Nanos;
use tokio::sync::Notify;

use super::intake::Intake;
use super::link::{Link, LinkCounts};
use crate::Handover;

/// The time of day when the delivery started, and how long ago that is: it never goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    started: Nanos,
    instant: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Nanos(u64::try_from(started.as_nanos()).unwrap_or(0)), instant: Instant::now() }
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos(
            self.started
                .0
                .saturating_add(u64::try_from(self.instant.elapsed().as_nanos()).unwrap_or(u64::MAX)),
        )
    }
}

#[derive(Debug)]
pub(crate) struct SharedLink {
    /// Of the mediation function and the handover interface.
    pub(crate) name: String,
    pub(crate) handover: Handover,
    intake: Mutex<Intake>,
    /// Something came in, or the delivery stops.
    pub(crate) woken: Notify,
    kept: Mutex<Kept>,
    kept_grew: Condvar,
    state: Mutex<LinkState>,
    /// The time at which the delivery stops at the latest; zero while it goes on.
    pub(crate) stop: AtomicU64,
    pub(crate) clock: Clock,
}

/// Which batches are in the buffer.
#[derive(Debug, Default)]
struct Kept {
    /// Those before this number, but for those that were not written.
    end: u64,
    /// The last that were not written.
    failed: VecDeque<u64>,
}

impl Kept {
    fn has(&self, batch: u64) -> bool {
        batch < self.end && !self.failed.contains(&batch)
    }
}

/// What a link did, and how it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkState {
    pub(crate) is_connected: bool,
    pub(crate) counts: LinkCounts,
    pub(crate) arrived: u64,
    pub(crate) unreadable: u64,
}

impl SharedLink {
    pub(crate) fn new(name: String, handover: Handover, intake: Intake, clock: Clock) -> Self {
        Self {
            name,
            handover,
            intake: Mutex::new(intake),
            woken: Notify::new(),
            kept: Mutex::new(Kept::default()),
            kept_grew: Condvar::new(),
            state: Mutex::new(LinkState::default()),
            stop: AtomicU64::new(0),
            clock,
        }
    }

    pub(crate) fn intake(&self) -> MutexGuard<'_, Intake> {
        lock(&self.intake)
    }

    pub(crate) fn state(&self) -> LinkState {
        *lock(&self.state)
    }

    pub(crate) fn publish(&self, link: &Link) {
        let mut state = lock(&self.state);
        state.is_connected = link.is_connected();
        state.counts = link.counts;
    }

    pub(crate) fn arrived(&self, pdus: u64) {
        lock(&self.state).arrived += pdus;
    }

    pub(crate) fn unreadable(&self, batches: u64) {
        lock(&self.state).unreadable += batches;
    }

    /// A batch was written, or not.
    pub(crate) fn kept(&self, batch: u64, is_written: bool) {
        let mut kept = lock(&self.kept);
        kept.end = batch + 1;
        if !is_written {
            kept.failed.push_back(batch);
            if kept.failed.len() > MOST_FAILED {
                kept.failed.pop_front();
            }
        }
        drop(kept);
        self.kept_grew.notify_all();
    }

    pub(crate) fn is_kept(&self, batch: u64) -> bool {
        lock(&self.kept).has(batch)
    }

    pub(crate) fn wait_kept(&self, batch: u64, most: Duration) -> bool {
        let kept = lock(&self.kept);
        let (kept, _) = self
            .kept_grew
            .wait_timeout_while(kept, most, |kept| kept.end <= batch)
            .unwrap_or_else(PoisonError::into_inner);
        kept.has(batch)
    }

    pub(crate) fn stop(&self, at: Nanos) {
        self.stop.store(at.0.max(1), Ordering::Release);
        self.woken.notify_one();
    }
}

/// A panic of another thread leaves nothing half done here: each lock is held for changes that do not fail.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Batches that were not written and are still known: who asks for one asks soon.
const MOST_FAILED: usize = 1_024;

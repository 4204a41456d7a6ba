//! Calls in progress, for people who ask: each worker lists its own between two batches.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use ringtap_model::{Call, Stream};
use serde::{Deserialize, Serialize};

/// Calls in progress, each with the streams that its worker has, as they would be if they ended now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallList {
    /// At most as many as were asked for.
    pub calls: Vec<(Call, Vec<Stream>)>,
    /// How many there are.
    pub total: usize,
}

/// A question to each worker, and its answer.
#[derive(Debug)]
pub(crate) struct LiveCalls {
    slots: Vec<Mutex<Slot>>,
    /// One question at a time.
    asking: Mutex<()>,
}

#[derive(Debug, Default)]
enum Slot {
    #[default]
    Idle,
    /// At most so many are wanted.
    Asked(usize),
    Answered(CallList),
}

impl LiveCalls {
    /// For that many workers.
    pub(crate) fn new(workers: usize) -> Self {
        Self { slots: (0..workers).map(|_| Mutex::default()).collect(), asking: Mutex::new(()) }
    }

    /// How many calls the worker is to list, if somebody asks. A few times a second, never per packet.
    pub(crate) fn asked(&self, worker: usize) -> Option<usize> {
        match *locked(self.slots.get(worker)?) {
            Slot::Asked(most) => Some(most),
            Slot::Idle | Slot::Answered(_) => None,
        }
    }

    /// The worker's answer.
    pub(crate) fn answer(&self, worker: usize, list: CallList) {
        if let Some(slot) = self.slots.get(worker) {
            *locked(slot) = Slot::Answered(list);
        }
    }

    /// Asks all workers that have not ended, and waits.
    ///
    /// # Errors
    ///
    /// A worker does not answer.
    pub(crate) fn ask(&self, most: usize, has_ended: impl Fn(usize) -> bool) -> anyhow::Result<CallList> {
        let _one = locked(&self.asking);
        self.slots.iter().for_each(|slot| *locked(slot) = Slot::Asked(most));
        let deadline = Instant::now() + PATIENCE;
        let mut all = CallList::default();
        for (worker, slot) in self.slots.iter().enumerate() {
            loop {
                let mut found = locked(slot);
                if let Slot::Answered(list) = &mut *found {
                    all.total += list.total;
                    all.calls.append(&mut list.calls);
                    *found = Slot::Idle;
                    break;
                }
                if has_ended(worker) {
                    *found = Slot::Idle;
                    break;
                }
                drop(found);
                if Instant::now() >= deadline {
                    bail!("a worker does not answer within 3 s: see the log of ringtap");
                }
                thread::sleep(PAUSE);
            }
        }
        all.calls.sort_by_key(|(call, _)| (call.start(), call.id));
        // The latest: who asks looks for a call that somebody is complaining about now.
        let more = all.calls.len().saturating_sub(most);
        all.calls.drain(..more);
        Ok(all)
    }
}

fn locked<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long workers may take: they look five times a second, also without packets.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks for an answer.
const PAUSE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;

    #[test]
    fn every_worker_that_runs_is_asked_and_the_latest_calls_are_listed() {
        let live = LiveCalls::new(3);
        assert_eq!(live.asked(0), None);
        let at = |seconds| {
            let invite = Some(samples::START + ringtap_model::Nanos::from_secs(seconds));
            (Call { invite, ..samples::call() }, Vec::new())
        };
        thread::scope(|scope| {
            for worker in 0..2 {
                let (live, seconds) = (&live, worker as u64);
                scope.spawn(move || {
                    while live.asked(worker).is_none() {
                        thread::yield_now();
                    }
                    assert_eq!(live.asked(worker), Some(3));
                    live.answer(worker, CallList { calls: vec![at(seconds), at(seconds + 10)], total: 7 });
                });
            }
            // The third has ended.
            let list = live.ask(3, |worker| worker == 2).unwrap();
            assert_eq!((list.calls, list.total), (vec![at(1), at(10), at(11)], 14));
        });
        assert_eq!(live.asked(0), None, "one question, one answer");
    }
}

//! Calls in progress: who calls whom, so that what happens to them later counts for the right subjects.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ringtap_model::Nanos;

use crate::rule::Per;
use crate::subjects::{NOBODY, SubjectId};

/// A call that began, and is in progress or ended a moment ago.
#[derive(Clone, Debug)]
pub(crate) struct FollowedCall {
    pub(crate) call_id: Arc<str>,
    pub(crate) is_attempt: bool,
    /// Whether it came from a configured trunk.
    pub(crate) is_from_trunk: bool,
    /// Names the number that is called.
    pub(crate) callee: u64,
    pub(crate) subjects: CallSubjects,
    pub(crate) answered: Option<Nanos>,
    pub(crate) ended: bool,
    /// When something was last heard of it.
    pub(crate) seen: Nanos,
}

/// The subjects of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSubjects([SubjectId; PLACES]);

impl CallSubjects {
    pub(crate) const NONE: Self = Self([NOBODY; PLACES]);

    /// Sets the subject of a kind; a second one of the same kind is the other side of the call.
    pub(crate) fn set(&mut self, per: Per, side: usize, id: SubjectId) {
        if let Some(place) = self.0.get_mut(place(per) + side) {
            *place = id;
        }
    }

    /// The subjects of a kind: one, two for trunks, none.
    pub(crate) fn of(&self, per: Per) -> impl Iterator<Item = SubjectId> + use<> {
        let sides = if per == Per::Trunk { 2 } else { 1 };
        let first = place(per);
        let ids = [self.0.get(first), self.0.get(first + 1).filter(|_| sides == 2)];
        ids.map(|id| id.copied().unwrap_or(NOBODY)).into_iter().filter(|id| *id != NOBODY)
    }
}

/// Where the subject of a kind is.
fn place(per: Per) -> usize {
    match per {
        Per::Total => 0,
        Per::Trunk => 1,
        Per::TrunkIn => 3,
        Per::TrunkOut => 4,
        Per::Direction => 5,
        Per::Device => 6,
        Per::Prefix => 7,
        Per::Country => 8,
        Per::Caller => 9,
        Per::Callee => 10,
        Per::Source => 11,
        Per::Codec | Per::User | Per::Part => PLACES,
    }
}

const PLACES: usize = 12;

/// The calls that are followed, by number.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: HashMap<u64, FollowedCall>,
    /// Calls that ended, with the time after which they are forgotten.
    ended: VecDeque<(Nanos, u64)>,
    next_sweep: Nanos,
}

impl Calls {
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(crate) fn insert(&mut self, number: u64, call: FollowedCall) {
        self.calls.insert(number, call);
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<FollowedCall> {
        self.calls.remove(&number)
    }

    pub(crate) fn peek(&self, number: u64) -> Option<&FollowedCall> {
        self.calls.get(&number)
    }

    /// A call of which something is heard.
    pub(crate) fn find(&mut self, number: u64, now: Nanos) -> Option<&mut FollowedCall> {
        let call = self.calls.get_mut(&number)?;
        call.seen = now;
        Some(call)
    }

    /// Keeps a call that ended for a moment: the last intervals of its streams may follow.
    pub(crate) fn end(&mut self, number: u64, now: Nanos) {
        self.ended.push_back((now + LINGERING, number));
    }

    /// Takes out the calls that are forgotten now: those that ended, and those of which nothing was heard.
    pub(crate) fn forgotten(&mut self, now: Nanos) -> Vec<(u64, FollowedCall)> {
        let mut gone = Vec::new();
        while self.ended.front().is_some_and(|(time, _)| *time <= now) {
            let Some((_, number)) = self.ended.pop_front() else { break };
            // The number may name another call by now.
            if self.calls.get(&number).is_some_and(|call| call.ended && call.seen + LINGERING <= now) {
                gone.extend(self.calls.remove(&number).map(|call| (number, call)));
            }
        }
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP;
            let silent = |call: &FollowedCall| {
                call.seen + if call.ended { LINGERING + LINGERING } else { SILENT } <= now
            };
            let mut numbers: Vec<u64> =
                self.calls.iter().filter(|(_, call)| silent(call)).map(|(number, _)| *number).collect();
            numbers.sort_unstable();
            gone.extend(
                numbers.iter().filter_map(|number| self.calls.remove(number).map(|call| (*number, call))),
            );
        }
        gone
    }
}

/// How long a call that ended is kept.
const LINGERING: Nanos = Nanos::from_secs(30);
/// A call of which nothing is heard for so long is forgotten: its end was not told.
const SILENT: Nanos = Nanos::from_secs(12 * 3_600);
const SWEEP: Nanos = Nanos::from_secs(600);

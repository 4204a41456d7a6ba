//! What waits for what is earlier: frames of workers, and what a probe tells.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use ringtap_intercept::PassedFrame;
use ringtap_model::Nanos;
use ringtap_remote::Change;

/// One of them. In order of time; what is told of a time comes before the frames of that time.
#[derive(Debug)]
pub(crate) enum Waiting {
    Frame(PassedFrame),
    Change(Change),
}

/// What is next.
pub(crate) enum Next {
    Frames(Vec<PassedFrame>),
    Change(Change),
}

impl Waiting {
    pub(crate) fn time(&self) -> Nanos {
        match self {
            Self::Frame(frame) => frame.time,
            Self::Change(change) => change.at,
        }
    }

    fn key(&self) -> (Nanos, bool, u64) {
        match self {
            Self::Frame(frame) => (frame.time, true, frame.number),
            Self::Change(change) => (change.at, false, change.number),
        }
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The next frames up to a time, one with signalling alone, or some without; or the next change.
pub(crate) fn next(waiting: &mut BinaryHeap<Reverse<Waiting>>, until: Nanos) -> Next {
    let mut batch: Vec<PassedFrame> = Vec::new();
    while let Some(Reverse(first)) = waiting.peek() {
        let is_next = match first {
            Waiting::Frame(next) => {
                batch.last().is_none_or(|last| last.number < next.number && !next.is_marked)
            }
            Waiting::Change(_) => batch.is_empty(),
        };
        if first.time() > until || !is_next || batch.len() >= MOST_TOGETHER {
            break;
        }
        match waiting.pop() {
            Some(Reverse(Waiting::Frame(next))) => {
                let is_signalling = next.is_marked;
                batch.push(next);
                if is_signalling {
                    break;
                }
            }
            Some(Reverse(Waiting::Change(change))) => return Next::Change(change),
            None => break,
        }
    }
    Next::Frames(batch)
}

/// Memory that a frame takes while it waits.
pub(crate) fn bytes_of(frame: &PassedFrame) -> usize {
    size_of::<Waiting>() + frame.data.capacity()
}

/// Frames that are followed at once.
const MOST_TOGETHER: usize = 512;

//! Calls in progress that somebody listens to: what is recorded of them is written soon.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringtap_model::Endpoint;
use ringtap_spool::rules::CallSlot;
use ringtap_spool::{OwnerHandle, SpoolWriter};

/// The calls that are listened to, for all workers. A lease ends by itself, so that a listener who is gone
/// costs nothing for long.
#[derive(Debug)]
pub(crate) struct ListenedCalls {
    calls: Mutex<Vec<Arc<Lease>>>,
    /// Counts calls that were added or removed.
    changes: AtomicU64,
    begun: Instant,
}

/// A stream of a call that is listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenedStream {
    /// Who sends it, and to whom.
    pub src: Endpoint,
    /// See `src`.
    pub dst: Endpoint,
    /// Its SSRC.
    pub ssrc: u32,
    /// The RTP payload type of its first packet.
    pub payload_type: u8,
}

/// Somebody listens to a call until then.
#[derive(Debug)]
pub(crate) struct Lease {
    call: CallSlot,
    call_id: String,
    /// Those that any worker has seen since.
    streams: Mutex<Vec<ListenedStream>>,
    /// Milliseconds since the list began.
    until: AtomicU64,
}

impl Default for ListenedCalls {
    fn default() -> Self {
        Self { calls: Mutex::default(), changes: AtomicU64::new(0), begun: Instant::now() }
    }
}

impl ListenedCalls {
    /// Adds a call, or renews its lease. False if so many others are listened to.
    pub(crate) fn renew(&self, (call, call_id): (CallSlot, &str), most: usize, now: Instant) -> bool {
        let mut calls = self.unexpired(now);
        let until = self.millis(now + LEASE);
        if let Some(lease) = calls.iter().find(|lease| lease.call == call) {
            lease.until.store(until, Ordering::Relaxed);
            return true;
        }
        if calls.len() >= most {
            return false;
        }
        let (call_id, streams) = (call_id.to_owned(), Mutex::default());
        calls.push(Arc::new(Lease { call, call_id, streams, until: AtomicU64::new(until) }));
        self.changes.fetch_add(1, Ordering::Release);
        true
    }

    /// The streams that were seen of a call that is listened to.
    pub(crate) fn streams(&self, call_id: &str) -> Vec<ListenedStream> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let lease = calls.iter().find(|lease| lease.call_id == call_id);
        lease.map_or_else(Vec::new, |lease| lease.streams().clone())
    }

    /// How many there are.
    #[cfg(test)]
    fn len(&self, now: Instant) -> usize {
        self.unexpired(now).len()
    }

    /// The list without those that have ended.
    fn unexpired(&self, now: Instant) -> MutexGuard<'_, Vec<Arc<Lease>>> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, now) = (calls.len(), self.millis(now));
        calls.retain(|lease| lease.until.load(Ordering::Relaxed) > now);
        if calls.len() < before {
            self.changes.fetch_add(1, Ordering::Release);
        }
        calls
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.begun).as_millis()).unwrap_or(u64::MAX)
    }

    /// Changes when the list does. HOT: a load.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}

impl Lease {
    fn streams(&self) -> MutexGuard<'_, Vec<ListenedStream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The calls that are listened to, as one worker knows them.
#[derive(Debug, Default)]
pub(crate) struct HeardCalls {
    changes: u64,
    calls: Vec<HeardCall>,
}

#[derive(Debug)]
struct HeardCall {
    lease: Arc<Lease>,
    /// Its streams at this worker.
    owners: Vec<OwnerHandle>,
}

impl HeardCalls {
    /// The changes of the list that are known here.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether nobody listens. HOT.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Has a stream written soon if its call is listened to. It waits for nobody longer than a list of 16
    /// takes, and once for each stream.
    #[cold]
    pub(crate) fn hurry(
        &mut self,
        call: CallSlot,
        (owner, stream): (OwnerHandle, ListenedStream),
        writer: &mut SpoolWriter,
    ) {
        let Some(heard) = self.calls.iter_mut().find(|heard| heard.lease.call == call) else { return };
        if heard.owners.len() < STREAMS && !heard.owners.contains(&owner) {
            heard.owners.push(owner);
            writer.hurry(owner, true);
            let mut streams = heard.lease.streams();
            if streams.len() < STREAMS && !streams.contains(&stream) {
                streams.push(stream);
            }
        }
    }

    /// Follows the list.
    #[cold]
    pub(crate) fn update(&mut self, listened: &ListenedCalls, writer: &mut SpoolWriter) {
        // Before the list is read: what changes meanwhile is a change.
        self.changes = listened.changes();
        let leases = listened.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.calls.retain(|heard| {
            let stays = leases.iter().any(|lease| Arc::ptr_eq(lease, &heard.lease));
            if !stays {
                heard.owners.iter().for_each(|owner| writer.hurry(*owner, false));
            }
            stays
        });
        for lease in leases {
            if !self.calls.iter().any(|heard| Arc::ptr_eq(&heard.lease, &lease)) {
                self.calls.push(HeardCall { lease, owners: Vec::with_capacity(STREAMS) });
            }
        }
    }

    /// Ends the leases whose time is over, for all workers.
    #[cold]
    pub(crate) fn expire(&self, listened: &ListenedCalls) {
        drop(listened.unexpired(Instant::now()));
    }
}

/// How long a lease lasts.
const LEASE: Duration = Duration::from_secs(15);
/// Streams of a call that are written soon; further ones are not heard while it lasts.
const STREAMS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_lasts_until_it_is_not_renewed_and_there_are_so_many() {
        let (listened, now) = (ListenedCalls::default(), Instant::now());
        let [one, other, third] = [1, 2, 3].map(|slot| (CallSlot { worker: 0, slot, generation: 7 }, "call"));
        assert!(listened.renew(one, 2, now) && listened.renew(other, 2, now));
        assert!(!listened.renew(third, 2, now), "two are enough");
        assert_eq!((listened.len(now), listened.changes()), (2, 2));
        let later = now + LEASE / 2;
        assert!(listened.renew(one, 2, later));
        assert_eq!(listened.changes(), 2, "to go on is no change");
        let late = now + LEASE + Duration::from_millis(1);
        assert_eq!((listened.len(late), listened.changes()), (1, 3));
        assert!(listened.renew(third, 2, late));
        assert_eq!(listened.len(late + LEASE), 0);
        assert!(!listened.renew(one, 0, late), "nobody may listen");
    }
}

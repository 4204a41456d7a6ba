//! One thread that follows the spool for all who listen, while anybody does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use ringtap_spool::{FollowedChunk, Follower};

use crate::sources::OpenSpool;

/// Follows the spool. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    listeners: BTreeMap<u64, Listener>,
    next: u64,
    is_running: bool,
}

struct Listener {
    owners: BTreeSet<u64>,
    chunks: SyncSender<Arc<FollowedChunk>>,
}

/// What somebody listens to, until it is dropped.
pub(crate) struct Subscription {
    tail: Tail,
    number: u64,
    chunks: Receiver<Arc<FollowedChunk>>,
}

impl Tail {
    /// Begins with no owners. The thread is started if nobody listened before.
    pub(crate) fn subscribe(&self, open: &OpenSpool) -> anyhow::Result<Subscription> {
        let (sender, chunks) = sync_channel(WAITING);
        let mut state = self.locked();
        if !state.is_running {
            let (tail, follower) = (self.clone(), Follower::new(open()?));
            thread::Builder::new().name("listen".to_owned()).spawn(move || tail.follow(follower))?;
            state.is_running = true;
        }
        let number = state.next;
        state.next += 1;
        state.listeners.insert(number, Listener { owners: BTreeSet::new(), chunks: sender });
        drop(state);
        Ok(Subscription { tail: self.clone(), number, chunks })
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn follow(&self, mut follower: Follower) {
        let mut has_failed = false;
        while let Some(owners) = self.owners() {
            let read = follower.read(&owners, &mut |chunk| self.pass(chunk));
            if let Err(error) = &read
                && !has_failed
            {
                log::warn!(target: "console", "calls in progress cannot be heard: {error}");
            }
            has_failed = read.is_err();
            thread::sleep(EVERY);
        }
    }

    /// All that is listened to; None, and the thread ends, if nobody listens.
    fn owners(&self) -> Option<BTreeSet<u64>> {
        let mut state = self.locked();
        if state.listeners.is_empty() {
            state.is_running = false;
            return None;
        }
        Some(state.listeners.values().flat_map(|listener| listener.owners.iter().copied()).collect())
    }

    fn pass(&self, chunk: FollowedChunk) {
        let chunk = Arc::new(chunk);
        let state = self.locked();
        for listener in state.listeners.values().filter(|one| one.owners.contains(&chunk.owner)) {
            match listener.chunks.try_send(Arc::clone(&chunk)) {
                // Whoever cannot keep up hears a gap; others do not wait for it.
                Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
            }
        }
    }
}

impl Subscription {
    /// Has the packets of an owner passed from now on.
    pub(crate) fn add(&self, owner: u64) {
        if let Some(listener) = self.tail.locked().listeners.get_mut(&self.number) {
            listener.owners.insert(owner);
        }
    }

    /// The next chunk, if one comes in that time.
    pub(crate) fn next(&self, within: Duration) -> Option<Arc<FollowedChunk>> {
        self.chunks.recv_timeout(within).ok()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.tail.locked().listeners.remove(&self.number);
    }
}

/// How often the spool is looked at.
const EVERY: Duration = Duration::from_millis(100);
/// Chunks that wait for a listener: those of some seconds.
const WAITING: usize = 256;

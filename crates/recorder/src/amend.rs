//! Amends records of calls if a write of their packets failed after the record was made.
//!
//! Failed writes are known when a segment is closed, up to `[spool] segment` after a call. Records of calls
//! still in progress include them from the start; existing records are read back, changed, and stored again.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringtap_engine::StreamEnd;
use ringtap_model::{Call, Endpoint, Id, Nanos, Recorded};
use ringtap_spool::{LostChunk, WriterStatus, of_call, of_stream};
use ringtap_store::{Reader, RecordSender};

use crate::corrections::Corrections;

/// A recorded call that has ended.
struct Ended {
    id: Id,
    call_id: Box<str>,
    streams: Vec<(Endpoint, Endpoint, u32)>,
    first: Nanos,
    last: Nanos,
    since: Instant,
}

impl Ended {
    fn owners(&self) -> impl Iterator<Item = u64> {
        let streams = self.streams.iter().map(|(src, dst, ssrc)| of_stream(*src, *dst, *ssrc));
        std::iter::once(of_call(self.call_id.as_bytes())).chain(streams)
    }
}

/// State shared by workers and the thread.
#[derive(Default)]
struct Shared {
    disks: Mutex<Vec<Arc<WriterStatus>>>,
    /// Whether `refused` has entries.
    is_any: AtomicBool,
    /// Failed writes by owner, for which no ended call is known yet.
    refused: Mutex<HashMap<u64, Vec<LostChunk>>>,
    /// Ended calls that found the queue full.
    missed: AtomicU64,
}

impl Shared {
    fn add(&self, refused: LostChunk) {
        let mut all = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        // Media that no call claims stay here, up to a limit.
        if all.len() < MOST_OPEN || all.contains_key(&refused.owner) {
            let of_owner = all.entry(refused.owner).or_default();
            if of_owner.len() < MOST_CHUNKS {
                of_owner.push(refused);
            }
            self.is_any.store(true, Ordering::Release);
        }
    }

    /// Removes the failed writes of these owners in that time; returns their number of packets.
    fn drain_failed(&self, owners: impl Iterator<Item = u64>, first: Nanos, last: Nanos) -> u64 {
        let mut all = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let mut packets = 0;
        for owner in owners {
            if let Some(of_owner) = all.get_mut(&owner) {
                let theirs = |refused: &mut LostChunk| refused.first <= last && refused.last >= first;
                packets +=
                    of_owner.extract_if(.., theirs).map(|refused| u64::from(refused.packets)).sum::<u64>();
                if of_owner.is_empty() {
                    all.remove(&owner);
                }
            }
        }
        self.is_any.store(!all.is_empty(), Ordering::Release);
        packets
    }
}

/// Passes ended calls of a worker to the thread.
#[derive(Clone)]
pub struct Amender {
    ended: SyncSender<Ended>,
    shared: Arc<Shared>,
}

impl Amender {
    /// Also reads failed writes of this writer.
    pub fn watch(&self, written: Arc<WriterStatus>) {
        self.shared.disks.lock().unwrap_or_else(PoisonError::into_inner).push(written);
    }

    /// Adds the failed writes so far to a new record. Never waits for the disk.
    pub(crate) fn end(&self, call: &mut Call, streams: &[StreamEnd]) {
        if call.recorded == Recorded::None {
            return;
        }
        let times = || streams.iter().map(|stream| (stream.record.first, stream.record.last));
        let ended = Ended {
            id: call.id,
            call_id: call.call_id.as_str().into(),
            streams: streams.iter().map(|end| (end.record.src, end.record.dst, end.record.ssrc)).collect(),
            first: Nanos(
                times()
                    .map(|(first, _)| first)
                    .chain(call.invite)
                    .min()
                    .unwrap_or_default()
                    .0
                    .saturating_sub(AROUND.0),
            ),
            last: times().map(|(_, last)| last).chain(call.end).chain(call.invite).max().unwrap_or_default()
                + AROUND,
            since: Instant::now(),
        };
        if self.shared.is_any.load(Ordering::Acquire) {
            add_missing(call, self.shared.drain_failed(ended.owners(), ended.first, ended.last));
        }
        if self.ended.try_send(ended).is_err() {
            self.shared.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Moves packets from the recorded ones to the missing ones.
fn add_missing(call: &mut Call, packets: u64) {
    if packets > 0 {
        call.recorded_packets = call.recorded_packets.map(|kept| kept.saturating_sub(packets));
        call.recorded_missing = Some(call.recorded_missing.unwrap_or_default() + packets);
    }
}

/// The thread that amends records.
pub struct AmendingThread {
    amender: Amender,
    thread: JoinHandle<()>,
}

impl AmendingThread {
    /// `records` is the store's directory; `keep` is how long after a call failed writes may be reported.
    pub fn start(
        records: PathBuf,
        sender: RecordSender,
        keep: Duration,
        corrections: Arc<Corrections>,
    ) -> std::io::Result<Self> {
        let (ended, todo) = sync_channel(MOST_ENDED);
        let shared = Arc::new(Shared::default());
        let amender = Amender { ended, shared: Arc::clone(&shared) };
        let work =
            Work { records, sender, keep, corrections, shared, recent: VecDeque::new(), due: Vec::new() };
        let thread = thread::Builder::new().name("amend".into()).spawn(move || work.serve(&todo))?;
        Ok(Self { amender, thread })
    }

    /// For a worker.
    pub fn amender(&self) -> Amender {
        self.amender.clone()
    }

    /// Stops the thread, after every segment is closed and every call has ended.
    pub fn close(self) {
        drop(self.amender);
        if self.thread.join().is_err() {
            log::error!(
                target: "spool",
                "the thread that amends records crashed: recorded_missing may be too low; please report this \
                fault of ringtap",
            );
        }
    }
}

/// A record to be amended.
struct Due {
    id: Id,
    call_id: Box<str>,
    packets: u64,
    since: Instant,
}

struct Work {
    records: PathBuf,
    sender: RecordSender,
    keep: Duration,
    corrections: Arc<Corrections>,
    shared: Arc<Shared>,
    recent: VecDeque<Ended>,
    due: Vec<Due>,
}

impl Work {
    fn serve(mut self, todo: &Receiver<Ended>) {
        let mut checked = Instant::now();
        loop {
            match todo.recv_timeout(CHECK_INTERVAL.saturating_sub(checked.elapsed())) {
                Ok(ended) => {
                    if self.recent.len() >= MOST_RECENT {
                        self.recent.pop_front();
                    }
                    self.recent.push_back(ended);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if checked.elapsed() >= CHECK_INTERVAL {
                checked = Instant::now();
                self.check();
            }
        }
        // The last records may still be on their way to the store.
        let deadline = Instant::now() + PATIENCE;
        self.check();
        while !self.due.is_empty() && Instant::now() < deadline {
            thread::sleep(CHECK_INTERVAL / 10);
            self.amend();
        }
        self.due.drain(..).for_each(|due| give_up(&due));
    }

    fn check(&mut self) {
        let disks = self.shared.disks.lock().unwrap_or_else(PoisonError::into_inner);
        let refused: Vec<LostChunk> = disks.iter().flat_map(|written| written.drain_lost_chunks()).collect();
        drop(disks);
        refused.into_iter().for_each(|refused| self.shared.add(refused));
        if self.shared.is_any.load(Ordering::Acquire) {
            for ended in &self.recent {
                let packets = self.shared.drain_failed(ended.owners(), ended.first, ended.last);
                if packets > 0 {
                    let Ended { id, call_id, .. } = ended;
                    self.due.push(Due { id: *id, call_id: call_id.clone(), packets, since: Instant::now() });
                }
            }
        }
        while self.recent.front().is_some_and(|ended| ended.since.elapsed() > self.keep) {
            self.recent.pop_front();
        }
        let missed = self.shared.missed.swap(0, Ordering::Relaxed);
        if missed > 0 {
            log::warn!(
                target: "spool",
                "{missed} calls ended faster than they could be followed: recorded_missing of their records \
                may \
                be too low",
            );
        }
        self.amend();
    }

    fn amend(&mut self) {
        let Self { due, records, sender, corrections, .. } = self;
        if due.is_empty() {
            return;
        }
        let Ok(reader) = Reader::open(records) else { return };
        due.retain(|due| {
            let Some(mut call) = reader.call(&due.id).ok().flatten() else {
                let waits = due.since.elapsed() < PATIENCE_OF_STORE;
                if !waits {
                    give_up(due);
                }
                return waits;
            };
            add_missing(&mut call, due.packets);
            corrections.record_amended();
            log::warn!(
                target: "spool",
                "call {}: {} packets could not be written after its record was made: recorded_missing is now \
                {}",
                due.call_id,
                due.packets,
                call.recorded_missing.unwrap_or_default(),
            );
            sender.call(call, Vec::new());
            false
        });
    }
}

fn give_up(due: &Due) {
    let Due { call_id, packets, .. } = due;
    log::error!(
        target: "spool",
        "call {call_id}: {packets} packets could not be written, but its record cannot be amended: it is not \
        in the store",
    );
}

/// Most calls in the queue.
const MOST_ENDED: usize = 1 << 14;
/// Most remembered calls: more than end while a segment is open.
const MOST_RECENT: usize = 1 << 16;
/// Most owners with failed writes, and most failed chunks of one.
const MOST_OPEN: usize = 1 << 16;
const MOST_CHUNKS: usize = 1 << 10;
/// Packets may precede a record's first time, and follow its last, by a little.
const AROUND: Nanos = Nanos::from_secs(10);
/// How often failed writes are read.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a record may take to reach the store, and how long the end of the program waits for it.
const PATIENCE_OF_STORE: Duration = Duration::from_secs(600);
const PATIENCE: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;

    #[test]
    fn what_was_refused_is_told_once_and_to_whom_it_belongs() {
        let shared = Shared::default();
        let refused = |owner, packets, secs| LostChunk {
            owner,
            packets,
            first: Nanos::from_secs(secs),
            last: Nanos::from_secs(secs + 1),
        };
        for one in [refused(1, 5, 10), refused(1, 7, 100), refused(2, 1, 10), refused(3, 9, 10)] {
            shared.add(one);
        }
        let drain = |owners: &[u64]| {
            shared.drain_failed(owners.iter().copied(), Nanos::from_secs(5), Nanos::from_secs(20))
        };
        assert_eq!((drain(&[1, 2]), drain(&[1, 2]), drain(&[3])), (6, 0, 9));
        assert!(shared.is_any.load(Ordering::Acquire), "another call's is still there");
        assert_eq!(shared.drain_failed([1].into_iter(), Nanos::ZERO, Nanos::MAX), 7);
        assert!(!shared.is_any.load(Ordering::Acquire));
        let mut call = Call { recorded_packets: Some(10), recorded_missing: Some(1), ..samples::call() };
        add_missing(&mut call, 6);
        assert_eq!((call.recorded_packets, call.recorded_missing), (Some(4), Some(7)));
        for owner in 0..2 * MOST_OPEN as u64 {
            shared.add(refused(owner, 1, 1));
        }
        assert_eq!(shared.refused.lock().unwrap().len(), MOST_OPEN);
    }
}

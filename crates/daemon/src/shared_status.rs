//! What the threads report, and what all of it comes to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringtap_capture::live::{self, Timestamps};
use ringtap_engine::Counters;
use ringtap_model::Nanos;
use ringtap_recorder::corrections::Corrections;
use ringtap_recorder::recorder::RecordingCounts;
use ringtap_spool::SpoolStatus;
use ringtap_store::{Counts, CountsHandle};

/// One worker's figures, a few times a second.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerReport {
    /// What the engine counted.
    pub(crate) counters: Counters,
    /// Calls and streams under way.
    pub(crate) under_way: (usize, usize),
    /// Calls begun since the start.
    pub(crate) begun: u64,
    /// Processor time of the thread.
    pub(crate) cpu: Duration,
    /// What the source counted.
    pub(crate) tap: live::TapCounters,
    /// Where the time of its frames comes from.
    pub(crate) timestamps: Option<Timestamps>,
    /// Time by the packets, or by the clock where none come.
    pub(crate) now: Nanos,
    /// When this was reported.
    pub(crate) beat: Option<Instant>,
    /// What was kept of calls; None where nothing is.
    pub(crate) kept: Option<RecordingCounts>,
    /// Nothing follows.
    pub(crate) done: bool,
}

/// What a worker is.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    /// The interface, or `files`.
    pub(crate) source: String,
    /// Its number over all interfaces.
    pub(crate) number: usize,
    /// It is the first of its interface, and tells of it as a whole.
    pub(crate) first: bool,
}

/// Where workers report, and everybody else reads.
#[derive(Debug)]
pub(crate) struct SharedStatus {
    pub(crate) posts: Vec<Post>,
    reports: Vec<Mutex<WorkerReport>>,
    /// Frames that each worker knows to be lost before it; read by all of them, without a lock.
    lost: Vec<AtomicU64>,
    /// Of the spool; None where there is none.
    tended: Mutex<Option<SpoolStatus>>,
    /// What was put right behind the workers.
    pub(crate) corrections: Arc<Corrections>,
    store: CountsHandle,
    pub(crate) started: Instant,
}

impl SharedStatus {
    pub(crate) fn new(posts: Vec<Post>, store: CountsHandle) -> Self {
        Self {
            reports: posts.iter().map(|_| Mutex::default()).collect(),
            lost: posts.iter().map(|_| AtomicU64::new(0)).collect(),
            posts,
            tended: Mutex::default(),
            corrections: Arc::default(),
            store,
            started: Instant::now(),
        }
    }

    /// Puts up what a worker reports.
    pub(crate) fn report(&self, worker: usize, mut report: WorkerReport) {
        // The whole interface's drops are the same in each of its taps.
        if !self.posts.get(worker).is_some_and(|post| post.first) {
            report.tap.interface_drops = 0;
        }
        if let Some(lost) = self.lost.get(worker) {
            lost.store(report.tap.interface_drops + report.tap.ring_drops, Ordering::Relaxed);
        }
        if let Some(place) = self.reports.get(worker) {
            *held(place) = report;
        }
    }

    /// Puts up what there is in the spool.
    pub(crate) fn tend(&self, tended: SpoolStatus) {
        *held(&self.tended) = Some(tended);
    }

    /// Everything lost outside of the engines: before them by any worker, and behind them by the store.
    pub(crate) fn external_drops(&self) -> u64 {
        let before: u64 = self.lost.iter().map(|lost| lost.load(Ordering::Relaxed)).sum();
        before + self.store.counts().records_dropped()
    }

    /// All of it at this moment.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            at: Instant::now(),
            reports: self.reports.iter().map(|report| held(report).clone()).collect(),
            store: self.store.counts(),
            spool: held(&self.tended).clone(),
            cleared: self.corrections.erased_at_start(),
            amended: self.corrections.records_amended(),
            resident: resident(),
        }
    }

    /// Whether a worker has stopped reporting without having ended: its number.
    pub(crate) fn stalled(&self) -> Option<usize> {
        let silent = |place: &Mutex<WorkerReport>| {
            let report = held(place);
            let since = report.beat.map_or(self.started.elapsed(), |beat| beat.elapsed());
            !report.done && since > STALLED
        };
        self.reports.iter().position(silent)
    }

    /// Whether every worker has ended.
    pub(crate) fn done(&self) -> bool {
        self.reports.iter().all(|report| held(report).done)
    }
}

/// All figures at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) at: Instant,
    pub(crate) reports: Vec<WorkerReport>,
    pub(crate) store: Counts,
    /// None where packets are not kept.
    pub(crate) spool: Option<SpoolStatus>,
    /// Calls that the run before left undecided, and that were erased.
    pub(crate) cleared: u64,
    /// Records of calls that were put right.
    pub(crate) amended: u64,
    /// Bytes of memory in use.
    pub(crate) resident: u64,
}

/// Losses by place, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    pub(crate) nic: u64,
    pub(crate) ring: u64,
    pub(crate) worker: u64,
    pub(crate) tables: u64,
    pub(crate) reassembly: u64,
    pub(crate) store: u64,
    pub(crate) spool: u64,
}

impl Drops {
    /// Each with its name, in the order of a packet's way.
    pub(crate) fn places(&self) -> [(&'static str, u64); 7] {
        [
            ("nic", self.nic),
            ("ring", self.ring),
            ("worker", self.worker),
            ("tables", self.tables),
            ("reassembly", self.reassembly),
            ("store", self.store),
            ("spool", self.spool),
        ]
    }
}

impl Snapshot {
    /// Where timestamps come from, over all workers.
    pub(crate) fn timestamps(&self) -> String {
        let mut names: Vec<&str> =
            self.reports.iter().filter_map(|report| report.timestamps).map(Timestamps::name).collect();
        names.sort_unstable();
        names.dedup();
        names.join(",")
    }

    pub(crate) fn sum(&self, figure: impl Fn(&WorkerReport) -> u64) -> u64 {
        self.reports.iter().map(figure).sum()
    }

    pub(crate) fn drops(&self) -> Drops {
        Drops {
            nic: self.sum(|report| report.tap.interface_drops),
            ring: self.sum(|report| report.tap.ring_drops),
            worker: self.sum(|report| worker_drops(&report.counters)),
            tables: self.sum(|report| table_drops(&report.counters)),
            reassembly: self.sum(|report| reassembly_drops(&report.counters)),
            store: self.store.records_dropped(),
            spool: self.sum(|report| {
                report.kept.iter().flat_map(RecordingCounts::lost).map(|(_, packets)| packets).sum()
            }),
        }
    }
}

/// What found no place between workers.
fn worker_drops(counters: &Counters) -> u64 {
    counters.sip_forwards_lost + counters.worker_messages_lost
}

/// What a table at its ceiling turned away.
fn table_drops(counters: &Counters) -> u64 {
    counters.calls_refused
        + counters.flows_refused
        + counters.legs_refused
        + counters.intervals_refused
        + counters.registrations_refused
        + counters.messages_refused
        + counters.connections_refused
}

/// What was given up half put together because a ceiling was reached.
fn reassembly_drops(counters: &Counters) -> u64 {
    counters.fragments_evicted + counters.sctp_evicted + counters.tcp_overflow
}

/// Bytes of memory that the process has in use, as the kernel tells them; 0 where it does not.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

fn held<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker reports several times a second: silence this long is no pause.
const STALLED: Duration = Duration::from_secs(10);

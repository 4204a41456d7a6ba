//! The figures that threads report, and a snapshot of all of them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ringtap_capture::live::{self, Timestamps};
use ringtap_engine::Counters;
use ringtap_model::Nanos;
use ringtap_recorder::corrections::Corrections;
use ringtap_recorder::recorder::RecordingCounts;
use ringtap_spool::SpoolStatus;
use ringtap_store::{Counts, CountsHandle};

use crate::alarm_handle::AlarmHandle;
use crate::availability_figures::{AvailabilityFigures, Known};
use crate::joining::JoinCounts;
use crate::live_calls::{CallList, LiveCalls};
use crate::notices::NoticeFigures;
use crate::outcomes::Outcomes;
use crate::radius::{RadiusFigures, Seen};
use crate::trunk_outcomes::TrunkOutcomes;

/// One worker's figures, reported a few times a second.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerReport {
    /// Counters of the engine.
    pub(crate) counters: Counters,
    /// Calls and streams in progress.
    pub(crate) under_way: (usize, usize),
    /// Call attempts since the start.
    pub(crate) begun: u64,
    /// What became of calls, streams and registrations.
    pub(crate) outcomes: Outcomes,
    /// The same by trunk.
    pub(crate) trunks: TrunkOutcomes,
    /// Registrations in the table.
    pub(crate) registrations: usize,
    /// Processor time of the thread.
    pub(crate) cpu: Duration,
    /// Counters of the packet source.
    pub(crate) tap: live::TapCounters,
    /// The origin of its frames' timestamps.
    pub(crate) timestamps: Option<Timestamps>,
    /// Time of the last packet, or of the clock if none arrive.
    pub(crate) now: Nanos,
    /// Time of this report.
    pub(crate) reported_at: Option<Instant>,
    /// RecordingCounts of the recorder; None if nothing is recorded.
    pub(crate) recording: Option<RecordingCounts>,
    /// This is the last report.
    pub(crate) done: bool,
}

/// A worker's number and interface.
#[derive(Clone, Debug)]
pub(crate) struct WorkerInfo {
    /// The interface, or `files`.
    pub(crate) source: String,
    /// Its number over all interfaces.
    pub(crate) number: usize,
    /// It is the first of its interface, and reports the interface's drops.
    pub(crate) first: bool,
}

/// Workers write their figures here; all other threads read them.
#[derive(Debug)]
pub(crate) struct SharedStatus {
    pub(crate) workers: Vec<WorkerInfo>,
    reports: Vec<Mutex<WorkerReport>>,
    /// Frames lost before each worker; all workers read them without a lock.
    lost: Vec<AtomicU64>,
    /// Status of the spool; None without one.
    spool_status: Mutex<Option<SpoolStatus>>,
    /// Counts of later corrections.
    pub(crate) corrections: Arc<Corrections>,
    /// What became of Identity headers.
    pub(crate) identities: OnceLock<Arc<ringtap_stir::Counts>>,
    /// Sessions of subscribers; set at the start, but not where they are not followed.
    pub(crate) radius: OnceLock<Arc<RadiusFigures>>,
    /// Services; set at the start, but not where they are not followed.
    pub(crate) availability: OnceLock<Arc<AvailabilityFigures>>,
    /// Who was told of alarms; not set where nobody is.
    pub(crate) notices: OnceLock<Arc<crate::notices::Notices>>,
    /// Where `ringtap hooks` saves its figures; not set where there are no hooks.
    pub(crate) hooks: OnceLock<PathBuf>,
    store: CountsHandle,
    /// What the joiner of conversations has done; not set before it begins.
    pub(crate) joins: OnceLock<JoinCounts>,
    /// The alarms; not set where none are configured.
    pub(crate) alarms: OnceLock<Arc<AlarmHandle>>,
    /// By how many seconds the clock has stepped; 0 if it is trusted.
    clock_step: AtomicI64,
    /// How long records are kept, in nanoseconds; 0 for ever.
    records_age: AtomicU64,
    pub(crate) started: Instant,
    /// Lists of calls in progress, for people who ask.
    pub(crate) live_calls: LiveCalls,
}

impl SharedStatus {
    pub(crate) fn new(workers: Vec<WorkerInfo>, store: CountsHandle) -> Self {
        Self {
            live_calls: LiveCalls::new(workers.len()),
            identities: OnceLock::new(),
            radius: OnceLock::new(),
            availability: OnceLock::new(),
            notices: OnceLock::new(),
            hooks: OnceLock::new(),
            reports: workers.iter().map(|_| Mutex::default()).collect(),
            lost: workers.iter().map(|_| AtomicU64::new(0)).collect(),
            workers,
            spool_status: Mutex::default(),
            corrections: Arc::default(),
            store,
            joins: OnceLock::new(),
            alarms: OnceLock::new(),
            clock_step: AtomicI64::new(0),
            records_age: AtomicU64::new(0),
            started: Instant::now(),
        }
    }

    /// Stores a worker's report.
    pub(crate) fn report(&self, worker: usize, mut report: WorkerReport) {
        // Each tap of an interface reports the drops of the whole interface.
        if !self.workers.get(worker).is_some_and(|info| info.first) {
            report.tap.interface_drops = 0;
        }
        if let Some(lost) = self.lost.get(worker) {
            lost.store(report.tap.interface_drops + report.tap.ring_drops, Ordering::Relaxed);
        }
        if let Some(slot) = self.reports.get(worker) {
            *locked(slot) = report;
        }
    }

    /// Stores the status of the spool.
    pub(crate) fn report_spool(&self, spool_status: SpoolStatus) {
        *locked(&self.spool_status) = Some(spool_status);
    }

    /// Stores by how many seconds the clock has stepped; None if it is trusted.
    pub(crate) fn report_clock(&self, step: Option<i64>) {
        self.clock_step.store(step.unwrap_or(0), Ordering::Relaxed);
    }

    /// Stores how long records are kept; zero is for ever.
    pub(crate) fn report_records_age(&self, age: Nanos) {
        self.records_age.store(age.0, Ordering::Relaxed);
    }

    /// How long records are kept; None for ever.
    pub(crate) fn records_age(&self) -> Option<Nanos> {
        Some(Nanos(self.records_age.load(Ordering::Relaxed))).filter(|age| *age != Nanos::ZERO)
    }

    /// Losses outside the engines: before them at any worker, and after them in the store.
    pub(crate) fn external_drops(&self) -> u64 {
        let before: u64 = self.lost.iter().map(|lost| lost.load(Ordering::Relaxed)).sum();
        before + self.store.counts().records_dropped()
    }

    /// All figures at this moment.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            at: Instant::now(),
            reports: self.reports.iter().map(|report| locked(report).clone()).collect(),
            store: self.store.counts(),
            spool: locked(&self.spool_status).clone(),
            clock_step: self.clock_step.load(Ordering::Relaxed),
            cleared: self.corrections.erased_at_start(),
            amended: self.corrections.records_amended(),
            radius: self.radius.get().map(|figures| figures.seen()),
            availability: self.availability.get().map(|figures| figures.known()),
            notices: self.notices.get().map(|notices| notices.figures()).unwrap_or_default(),
            hooks: self.hooks.get().map(|directory| ringtap_hook::figures(directory)).unwrap_or_default(),
            resident: resident(),
        }
    }

    /// The number of a worker that stopped reporting without having ended.
    pub(crate) fn stalled(&self) -> Option<usize> {
        let silent = |slot: &Mutex<WorkerReport>| {
            let report = locked(slot);
            let since =
                report.reported_at.map_or(self.started.elapsed(), |reported_at| reported_at.elapsed());
            !report.done && since > STALLED
        };
        self.reports.iter().position(silent)
    }

    /// Calls in progress, the latest, at most `most`.
    ///
    /// # Errors
    ///
    /// A worker does not answer.
    pub(crate) fn calls_in_progress(&self, most: usize) -> anyhow::Result<CallList> {
        let has_ended = |worker: usize| self.reports.get(worker).is_some_and(|report| locked(report).done);
        self.live_calls.ask(most, has_ended)
    }

    /// Whether every worker has ended.
    pub(crate) fn done(&self) -> bool {
        self.reports.iter().all(|report| locked(report).done)
    }
}

/// All figures at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) at: Instant,
    pub(crate) reports: Vec<WorkerReport>,
    pub(crate) store: Counts,
    /// None if packets are not recorded.
    pub(crate) spool: Option<SpoolStatus>,
    /// By how many seconds the clock has stepped; 0 if it is trusted.
    pub(crate) clock_step: i64,
    /// Calls erased at the start because the previous run left their decision pending.
    pub(crate) cleared: u64,
    /// Records of calls that were amended.
    pub(crate) amended: u64,
    /// Sessions of subscribers; `None` where they are not followed.
    pub(crate) radius: Option<Seen>,
    /// Services; `None` where they are not followed.
    pub(crate) availability: Option<Known>,
    /// What became of notices of alarms.
    pub(crate) notices: NoticeFigures,
    /// What became of the calls of hooks.
    pub(crate) hooks: Vec<ringtap_hook::HookFigures>,
    /// Bytes of memory in use.
    pub(crate) resident: u64,
}

/// Losses since the start, by place.
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
    /// Each with its name, in the order in which a packet passes them.
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
    /// The counters of all workers, summed.
    pub(crate) fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.reports.iter().for_each(|report| sum += &report.counters);
        sum
    }

    /// Origins of timestamps, over all workers.
    pub(crate) fn timestamps(&self) -> String {
        let mut names: Vec<&str> =
            self.reports.iter().filter_map(|report| report.timestamps).map(Timestamps::name).collect();
        names.sort_unstable();
        names.dedup();
        names.join(",")
    }

    /// Calls that somebody listens to: every worker knows of all.
    pub(crate) fn listened(&self) -> u64 {
        let of = |report: &WorkerReport| report.recording.unwrap_or_default().listened;
        self.reports.iter().map(of).max().unwrap_or(0)
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
                report.recording.iter().flat_map(RecordingCounts::lost).map(|(_, packets)| packets).sum()
            }),
        }
    }
}

/// Messages between workers that found no room.
fn worker_drops(counters: &Counters) -> u64 {
    counters.sip_forwards_lost + counters.worker_messages_lost
}

/// Entries that a table at its ceiling refused, or gave up for newer ones.
fn table_drops(counters: &Counters) -> u64 {
    counters.calls_refused
        + counters.flows_refused
        + counters.legs_refused
        + counters.intervals_refused
        + counters.registrations_refused
        + counters.messages_refused
        + counters.connections_refused
        + counters.rtcp_refused
        + counters.codecs_refused
        + counters.calls_evicted
        + counters.registrations_evicted
        + counters.messages_evicted
        + counters.connections_evicted
}

/// Partly reassembled data that was dropped at a ceiling.
fn reassembly_drops(counters: &Counters) -> u64 {
    counters.fragments_evicted + counters.sctp_evicted + counters.tcp_overflow
}

/// Resident memory of the process in bytes, from the kernel; 0 if unknown.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

fn locked<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker reports several times a second: after this much silence it counts as stalled.
const STALLED: Duration = Duration::from_secs(10);

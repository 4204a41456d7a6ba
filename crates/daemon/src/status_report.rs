//! What the running daemon says of itself over the control socket: `ringtap status`.

use std::collections::BTreeMap;

use ringtap_report::time;
use serde::{Deserialize, Serialize};

use crate::shared_status::SharedStatus;

/// The state of a running daemon. Counts are since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatusReport {
    /// Version of the program.
    pub version: String,
    /// When this was said, in microseconds since 1970.
    pub now_us: u64,
    /// When it started.
    pub since_us: u64,
    /// Its workers.
    pub workers: Vec<WorkerStatus>,
    /// Packets received.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Losses by place, in the order in which a packet passes them; see docs/manual/run.md.
    pub lost: Vec<(String, u64)>,
    /// What tables of the engine refused or gave up, by counter; zeros are left out.
    pub refused: BTreeMap<String, u64>,
    /// Calls in progress.
    pub calls: u64,
    /// Streams in progress.
    pub streams: u64,
    /// Calls that began.
    pub calls_begun: u64,
    /// The database.
    pub store: StoreStatus,
    /// The spool; null if no packets are recorded.
    pub spool: Option<SpoolHealth>,
    /// Memory in use.
    pub resident_bytes: u64,
    /// Where the time of packets comes from.
    pub timestamps: String,
    /// By how many seconds the clock has stepped; 0 if it is trusted.
    pub clock_step_s: i64,
}

/// A worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// The interface, or `files`.
    pub source: String,
    /// Packets received.
    pub packets: u64,
    /// How full its ring is, in percent.
    pub ring_pct: f64,
    /// Processor time, in milliseconds.
    pub cpu_ms: u64,
    /// It has ended.
    pub ended: bool,
    /// Since when it has not reported, in milliseconds; it reports five times a second.
    pub silent_ms: u64,
}

/// The database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoreStatus {
    /// The day files can be written.
    pub ok: bool,
    /// Records written.
    pub written: u64,
    /// Records in the queue.
    pub waiting: u64,
    /// Records in the outbox.
    pub outbox: u64,
    /// Records dropped.
    pub dropped: u64,
}

/// The spool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpoolHealth {
    /// It records.
    pub ok: bool,
    /// Bytes on this machine.
    pub bytes: u64,
    /// Bytes in the bucket.
    pub far_bytes: u64,
    /// Space that is free on its file system, in percent; null if it is not known.
    pub free_pct: Option<f64>,
    /// The bucket cannot be reached, or refuses.
    pub far_lost: bool,
    /// Deletions and moves that failed.
    pub failures: u64,
    /// Calls on hold.
    pub held: u64,
    /// Calls in progress that somebody listens to.
    #[serde(default)]
    pub listened: u64,
}

impl StatusReport {
    /// The state at this moment.
    pub(crate) fn of(shared_status: &SharedStatus) -> Self {
        let snapshot = shared_status.snapshot();
        let now = time::now();
        let up = u64::try_from(shared_status.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let workers =
            shared_status.workers.iter().zip(&snapshot.reports).map(|(info, report)| WorkerStatus {
                source: info.source.clone(),
                packets: report.tap.received,
                ring_pct: f64::from(report.tap.fill) * 100.0,
                cpu_ms: u64::try_from(report.cpu.as_millis()).unwrap_or(u64::MAX),
                ended: report.done,
                silent_ms: match report.reported_at {
                    Some(at) => u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX),
                    None => up / 1_000,
                },
            });
        let names = |counts: Vec<(&'static str, u64)>| {
            counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect::<Vec<_>>()
        };
        let is_refused = |(name, count): &(&str, u64)| {
            *count > 0 && (name.ends_with("_refused") || name.ends_with("_evicted"))
        };
        let refused = snapshot.counters().drops().into_iter().filter(is_refused).collect();
        let in_progress =
            |figure: fn((usize, usize)) -> usize| snapshot.sum(|report| figure(report.under_way) as u64);
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now_us: now.micros(),
            since_us: now.micros().saturating_sub(up),
            workers: workers.collect(),
            packets: snapshot.sum(|report| report.tap.received),
            bytes: snapshot.sum(|report| report.tap.bytes),
            lost: names(snapshot.drops().places().to_vec()),
            refused: names(refused).into_iter().collect(),
            calls: in_progress(|(calls, _)| calls),
            streams: in_progress(|(_, streams)| streams),
            calls_begun: snapshot.sum(|report| report.begun),
            store: StoreStatus {
                ok: !snapshot.store.away,
                written: snapshot.store.written.records(),
                waiting: snapshot.store.waiting,
                outbox: snapshot.store.outbox_records,
                dropped: snapshot.store.records_dropped(),
            },
            spool: snapshot.spool.as_ref().map(|spool| {
                let [here @ .., far] = spool.bytes;
                let [space, ..] = spool.space;
                SpoolHealth {
                    ok: !spool.stopped,
                    bytes: here.iter().flatten().sum::<u64>() + spool.held_bytes,
                    far_bytes: far.iter().sum(),
                    free_pct: space.map(|space| space.free as f64 * 100.0 / space.total.max(1) as f64),
                    far_lost: spool.is_far_lost,
                    failures: spool.failures,
                    held: spool.held,
                    listened: snapshot.listened(),
                }
            }),
            resident_bytes: snapshot.resident,
            timestamps: snapshot.timestamps(),
            clock_step_s: snapshot.clock_step,
        }
    }
}

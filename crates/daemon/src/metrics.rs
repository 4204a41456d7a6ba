//! All metrics, in the text format of Prometheus. `docs/manual/metrics.md` is generated from [`families`].

mod alarms;
mod availability;
mod family;
mod hooks;
mod notices;
mod outcomes;
mod radius;
mod trunks;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use ringtap_capture::live::Timestamps;
use ringtap_model::{IdentityStatus, JoinReason};
use ringtap_recorder::recorder::RecordingCounts;
use ringtap_spool::rules::RecordingScope;
use ringtap_spool::{ByCategory, Category, DeletionReason, DiskSpace, Location, SpoolStatus};
use ringtap_store::RecordCounts;

use family::{Family, MetricKind, Page, Value, by_labels, labelled, of_each, one};

use super::joining::JoinCounts;
use super::shared_status::{SharedStatus, Snapshot, WorkerInfo, WorkerReport};

pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The page /metrics.
pub(crate) fn page(shared_status: &SharedStatus) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Page(families(
        &shared_status.snapshot(),
        &shared_status.workers,
        shared_status,
    ))));
    let mut page = String::new();
    // Only writing could fail, and writing to a String cannot.
    let _ = encode(&mut page, &registry);
    page
}

/// All metrics.
pub(crate) fn families(now: &Snapshot, workers: &[WorkerInfo], shared_status: &SharedStatus) -> Vec<Family> {
    let mut families = of_process(now, workers, shared_status);
    families.extend(of_workers(now, workers));
    families.extend(outcomes::families(now, workers));
    families.extend(trunks::families(now));
    families.extend(of_decisions(now, workers));
    families.extend(of_store(now));
    families.push(of_identities(shared_status));
    families.extend(radius::families(now.radius));
    families.extend(availability::families(now.availability.as_ref()));
    families.extend(notices::families(&now.notices));
    families.extend(hooks::families(&now.hooks));
    families.extend(of_conversations(shared_status));
    families.extend(alarms::families(shared_status));
    families.extend(of_spool(now, workers));
    families
}

fn of_decisions(now: &Snapshot, workers: &[WorkerInfo]) -> Vec<Family> {
    let (mut calls, mut erased) = (Vec::new(), Vec::new());
    let (mut incomplete, mut one_way) = (Vec::new(), Vec::new());
    for (info, report) in workers.iter().zip(&now.reports) {
        let label = || ("worker", info.number.to_string());
        let decisions = report.recording.unwrap_or_default().decisions;
        for (what, count) in RecordingScope::ALL.into_iter().zip(decisions.calls) {
            calls.push((vec![label(), ("what", what.name().to_owned())], Value::Whole(count)));
        }
        erased.push((vec![label()], Value::Whole(decisions.erased)));
        incomplete.push((vec![label()], Value::Whole(decisions.incomplete)));
        one_way.push((vec![label()], Value::Whole(decisions.one_way)));
    }
    let counter = |name, help, samples| Family { name, help, kind: MetricKind::Counter, samples };
    vec![
        counter("ringtap_calls_kept", "Calls that a rule decided, by what is recorded of them.", calls),
        counter(
            "ringtap_calls_erased",
            "Calls that were recorded until their end because of mos_below, and erased because their MOS was \
            better.",
            erased,
        ),
        counter(
            "ringtap_calls_cleared",
            "Calls erased at the start because the previous run was killed before their decision.",
            vec![(Vec::new(), Value::Whole(now.cleared))],
        ),
        counter(
            "ringtap_calls_amended",
            "Calls whose packets could not be written after their record was made: `recorded_missing` was \
            raised.",
            vec![(Vec::new(), Value::Whole(now.amended))],
        ),
        counter(
            "ringtap_calls_recorded_incomplete",
            "Calls with packets missing from their recording (`recorded_missing` of their records).",
            incomplete,
        ),
        counter(
            "ringtap_calls_recorded_one_way",
            "Answered calls recorded without media in one direction or both (`recorded_empty` of their \
            records).",
            one_way,
        ),
    ]
}

/// What became of Identity headers: STIR/SHAKEN.
fn of_identities(shared_status: &SharedStatus) -> Family {
    let counts = shared_status.identities.get().map_or_else(Default::default, std::sync::Arc::clone);
    let statuses = IdentityStatus::ALL.iter().map(|status| (status.name(), counts.of(*status)));
    let others = [("missing", counts.missing()), ("too_many", counts.too_many())];
    let samples = statuses.chain(others);
    let samples = samples.map(|(name, count)| (vec![("status", name.to_owned())], Value::Whole(count)));
    Family {
        name: "ringtap_identities",
        help: "Calls by the `identity_status` of their records, and `missing`: without an Identity header; \
        `too_many` of those not checked came faster than [identity] most_per_second.",
        kind: MetricKind::Counter,
        samples: samples.collect(),
    }
}

fn of_process(now: &Snapshot, workers: &[WorkerInfo], shared_status: &SharedStatus) -> Vec<Family> {
    let timestamps = workers.iter().zip(&now.reports).map(|(info, report)| {
        let labels = vec![
            ("interface", info.source.clone()),
            ("worker", info.number.to_string()),
            ("timestamps", report.timestamps.map_or("", Timestamps::name).to_owned()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        (labels, Value::Whole(1))
    });
    let drops = now.drops().places();
    let drops =
        drops.iter().map(|(place, count)| (vec![("place", (*place).to_owned())], Value::Whole(*count)));
    vec![
        Family {
            name: "ringtap_worker_info",
            help: "Always 1; the labels are each worker's interface, the origin of its timestamps, and the \
            version of the program.",
            kind: MetricKind::Gauge,
            samples: timestamps.collect(),
        },
        one(
            "ringtap_uptime_seconds",
            "Seconds since the program started.",
            MetricKind::Gauge,
            Value::Real(shared_status.started.elapsed().as_secs_f64()),
        ),
        one(
            "ringtap_resident_memory_bytes",
            "Resident memory of the process.",
            MetricKind::Gauge,
            Value::Whole(now.resident),
        ),
        Family {
            name: "ringtap_drops",
            help: "Losses by place: nic and ring (frames), worker (messages), tables (entries refused or \
            evicted), reassembly (fragments, segments), store (records), spool (packets).",
            kind: MetricKind::Counter,
            samples: drops.collect(),
        },
    ]
}

fn of_workers(now: &Snapshot, workers: &[WorkerInfo]) -> Vec<Family> {
    let gauge = |name, help, figure: &dyn Fn(&WorkerReport) -> Value| {
        of_each((name, help, MetricKind::Gauge), now, workers, figure)
    };
    let counter = |name, help, figure: &dyn Fn(&WorkerReport) -> Value| {
        of_each((name, help, MetricKind::Counter), now, workers, figure)
    };
    let whole = |count: usize| Value::Whole(count as u64);
    let mut families = vec![
        gauge("ringtap_calls", "Calls in progress.", &|report| whole(report.under_way.0)),
        gauge(
            "ringtap_streams",
            "Media streams in progress, including those not yet confirmed.",
            &|report| whole(report.under_way.1),
        ),
        counter("ringtap_calls_begun", "Call attempts.", &|report| Value::Whole(report.begun)),
        counter("ringtap_frames", "Frames received from the interface.", &|report| {
            Value::Whole(report.tap.received)
        }),
        counter("ringtap_bytes", "Bytes of the received frames on the wire.", &|report| {
            Value::Whole(report.tap.bytes)
        }),
        by_kind(now, workers),
        counter(
            "ringtap_rtp_unconfirmed",
            "Packets that looked like RTP but belonged to no stream.",
            &|report| Value::Whole(report.counters.rtp_unconfirmed),
        ),
        by_reason(now, workers),
        by_protocol(now, workers),
        by_transaction(now, workers),
    ];
    families.extend(of_capture(now, workers));
    families.extend([
        counter("ringtap_worker_cpu_seconds", "CPU time of the worker.", &|report| {
            Value::Real(report.cpu.as_secs_f64())
        }),
        gauge(
            "ringtap_clock_seconds",
            "Time of the worker's last packet, in seconds since 1970, UTC.",
            &|report| Value::Real(report.now.secs_f64()),
        ),
    ]);
    families
}

/// The ring and the interface of each worker.
fn of_capture(now: &Snapshot, workers: &[WorkerInfo]) -> Vec<Family> {
    let counter = |name, help, figure: fn(&WorkerReport) -> u64| {
        let value = move |report: &WorkerReport| Value::Whole(figure(report));
        of_each((name, help, MetricKind::Counter), now, workers, &value)
    };
    let fill = ("ringtap_ring_fill_ratio", "Fill level of the ring, 0 to 1.", MetricKind::Gauge);
    vec![
        of_each(fill, now, workers, &|report| Value::Real(report.tap.fill.into())),
        counter("ringtap_ring_drops", "Frames dropped because the ring was full.", |report| {
            report.tap.ring_drops
        }),
        counter(
            "ringtap_nic_drops",
            "Frames that the network card dropped, reported by the first worker of each interface.",
            |report| report.tap.interface_drops,
        ),
        counter("ringtap_ring_freezes", "Times the ring became full.", |report| report.tap.freezes),
        counter(
            "ringtap_frames_filtered",
            "Frames that [capture] filter rejected in the program because the kernel cannot run the filter.",
            |report| report.tap.filtered,
        ),
        counter(
            "ringtap_frames_merged",
            "Frames merged by an offload (GRO, LRO, TSO); their analysis is wrong.",
            |report| report.tap.merged,
        ),
        counter("ringtap_frames_cut", "Frames truncated by [capture] snaplen.", |report| report.tap.cut),
        counter("ringtap_frames_damaged", "Invalid blocks in the ring.", |report| report.tap.damaged),
        counter("ringtap_interface_downs", "Times the interface went down.", |report| report.tap.downs),
    ]
}

fn by_kind(now: &Snapshot, workers: &[WorkerInfo]) -> Family {
    // `kinds` subtracts packets of dropped, unconfirmed streams from rtp: a gauge, since it can go down.
    let metric = ("ringtap_packets", "Packets by kind; sip counts messages.", MetricKind::Gauge);
    let rows = |report: &WorkerReport| labelled(report.counters.kinds());
    by_labels(metric, &["kind"], now, workers, &rows)
}

fn by_reason(now: &Snapshot, workers: &[WorkerInfo]) -> Family {
    let help = "Data that the engine dropped or found damaged, by reason.";
    let rows = |report: &WorkerReport| labelled(report.counters.drops());
    by_labels(("ringtap_engine_drops", help, MetricKind::Counter), &["reason"], now, workers, &rows)
}

fn by_transaction(now: &Snapshot, workers: &[WorkerInfo]) -> Family {
    let help = "SIP transactions outside of calls that ended, by method and final code; `none` without an \
                answer. One that was challenged and tried again counts once.";
    let rows = |report: &WorkerReport| {
        // Of what never happened, one series of each method tells that it is counted.
        let rows =
            report.counters.transactions.rows().filter(|(_, code, count)| *count > 0 || *code == "200");
        rows.map(|(method, code, count)| (vec![method, code], count)).collect()
    };
    let metric = ("ringtap_sip_transactions", help, MetricKind::Counter);
    by_labels(metric, &["method", "code"], now, workers, &rows)
}

fn by_protocol(now: &Snapshot, workers: &[WorkerInfo]) -> Family {
    let help = "Packets that look like telephony of a protocol that is not followed.";
    let rows = |report: &WorkerReport| {
        let counts = report.counters.unfollowed().into_iter();
        labelled(counts.map(|(protocol, count)| (protocol.name(), count)).collect())
    };
    by_labels(("ringtap_unfollowed_packets", help, MetricKind::Counter), &["protocol"], now, workers, &rows)
}

fn of_store(now: &Snapshot) -> Vec<Family> {
    let store = &now.store;
    let kinds = |name, help, written: &RecordCounts| {
        let counts = [
            ("call", written.calls),
            ("stream", written.streams),
            ("registration", written.registrations),
            ("identity", written.identities),
            ("message", written.messages),
            ("transaction", written.transactions),
            ("alarm", written.alarms),
            ("outage", written.outages),
            ("amendment", written.amendments),
        ];
        let samples = counts.map(|(kind, count)| (vec![("record", kind.to_owned())], Value::Whole(count)));
        Family { name, help, kind: MetricKind::Counter, samples: samples.into() }
    };
    let gauge = |name, help, value| one(name, help, MetricKind::Gauge, Value::Whole(value));
    let counter = |name, help, value| one(name, help, MetricKind::Counter, Value::Whole(value));
    vec![
        kinds("ringtap_store_written", "Records written to the day files.", &store.written),
        kinds("ringtap_store_dropped", "Records dropped because queue and outbox were full.", &store.dropped),
        gauge("ringtap_store_queue", "Records waiting in memory.", store.waiting),
        gauge("ringtap_store_queue_limit", "Most records that may wait in memory.", store.queue),
        gauge("ringtap_store_outbox_records", "Records waiting in the outbox on disk.", store.outbox_records),
        gauge("ringtap_store_outbox_bytes", "Bytes of the records in the outbox.", store.outbox_bytes),
        gauge("ringtap_store_outbox_limit_bytes", "Most bytes that the outbox may use.", store.outbox_limit),
        gauge("ringtap_store_away", "1 while the day files accept no records.", store.away.into()),
        counter("ringtap_store_failures", "Failed attempts to write to the day files.", store.failures),
        gauge("ringtap_journal_calls", "Calls in progress that the journal holds.", store.journal_calls),
        gauge("ringtap_journal_bytes", "Size of the journal.", store.journal_bytes),
        counter(
            "ringtap_journal_missed",
            "Entries missing from the journal because its queue was full or the disk failed.",
            store.journal_missed,
        ),
    ]
}

fn of_conversations(shared_status: &SharedStatus) -> Vec<Family> {
    let counts = shared_status.joins.get().map(JoinCounts::get).unwrap_or_default();
    let gauge = |name, help, value| one(name, help, MetricKind::Gauge, Value::Whole(value));
    let counter = |name, help, value| one(name, help, MetricKind::Counter, Value::Whole(value));
    let joined = JoinReason::ALL.iter().zip(counts.joined);
    let joined =
        joined.map(|(reason, count)| (vec![("reason", reason.name().to_owned())], Value::Whole(count)));
    vec![
        Family {
            name: "ringtap_calls_joined",
            help: "Calls joined to an earlier leg of their conversation, by the strongest reason.",
            kind: MetricKind::Counter,
            samples: joined.collect(),
        },
        counter(
            "ringtap_conversations_amended",
            "Calls whose conversation became another one after their record was made.",
            counts.amended,
        ),
        counter(
            "ringtap_identifiers_repeated",
            "Identifiers that unrelated calls had, such as a constant icid-value: they join nothing.",
            counts.repeated,
        ),
        gauge("ringtap_legs_remembered", "Ended calls that later legs are compared with.", counts.remembered),
        counter(
            "ringtap_legs_forgotten_early",
            "Calls forgotten before [conversations] window has passed, because there were more than \
             `remembered`.",
            counts.forgotten_early,
        ),
        counter(
            "ringtap_legs_refused",
            "Joins that were left out because their conversation has 64 legs.",
            counts.refused,
        ),
    ]
}

fn of_spool(now: &Snapshot, workers: &[WorkerInfo]) -> Vec<Family> {
    let none = SpoolStatus::default();
    let spool_status = now.spool.as_ref().unwrap_or(&none);
    let mut families = of_recording(now, workers);
    families.push(Family {
        name: "ringtap_calls_listened",
        help: "Calls in progress that somebody listens to.",
        kind: MetricKind::Gauge,
        samples: vec![(Vec::new(), Value::Whole(now.listened()))],
    });
    families.extend(of_segments(spool_status));
    families.extend(of_retention(spool_status));
    families
}

/// What each worker records.
fn of_recording(now: &Snapshot, workers: &[WorkerInfo]) -> Vec<Family> {
    let counter = |name, help, figure: &dyn Fn(&RecordingCounts) -> u64| {
        let of = |(info, report): (&WorkerInfo, &WorkerReport)| {
            let figures = report.recording.unwrap_or_default();
            (vec![("worker", info.number.to_string())], Value::Whole(figure(&figures)))
        };
        Family {
            name,
            help,
            kind: MetricKind::Counter,
            samples: workers.iter().zip(&now.reports).map(of).collect(),
        }
    };
    vec![
        counter("ringtap_spool_packets", "Packets of calls that were recorded.", &|kept| kept.counts.packets),
        counter("ringtap_spool_packet_bytes", "Bytes of the recorded packets.", &|kept| kept.counts.bytes),
        by_loss(now, workers),
        counter("ringtap_spool_written_bytes", "Bytes written to the spool's disk.", &|kept| kept.bytes),
        counter("ringtap_spool_writes", "Write operations on the spool's disk.", &|kept| kept.writes),
        counter("ringtap_spool_segments_closed", "Segments closed.", &|kept| kept.segments),
        counter("ringtap_spool_failures", "Failed write operations on the spool's disk.", &|kept| {
            kept.failures
        }),
        counter(
            "ringtap_spool_disagreements",
            "Chains of seals that were not as they were left when ringtap started: segments were removed or \
             replaced, or the signing key was changed.",
            &|kept| kept.disagreements,
        ),
    ]
}

/// Segments, deletions, and disk space.
fn of_segments(spool_status: &SpoolStatus) -> Vec<Family> {
    let gauge = |name, help, samples| Family { name, help, kind: MetricKind::Gauge, samples };
    let total = |name, help, samples| Family { name, help, kind: MetricKind::Counter, samples };
    let by_category = |figures: &[ByCategory; Location::ALL.len()]| {
        let mut samples = Vec::new();
        for place in Location::ALL {
            for category in Category::ALL {
                let labels =
                    vec![("place", place.name().to_owned()), ("category", category.name().to_owned())];
                samples.push((labels, Value::Whole(figures[place as usize][category as usize])));
            }
        }
        samples
    };
    let by_place = |figure: fn(DiskSpace) -> u64| {
        let of = |place: Location| {
            let space = spool_status.space[place as usize].unwrap_or_default();
            (vec![("place", place.name().to_owned())], Value::Whole(figure(space)))
        };
        // A bucket reports no free space.
        [Location::Spool, Location::Tier].map(of).to_vec()
    };
    let by_reason = |figures: &[u64; DeletionReason::ALL.len()]| {
        let of = |reason: DeletionReason| {
            (vec![("reason", reason.name().to_owned())], Value::Whole(figures[reason as usize]))
        };
        DeletionReason::ALL.map(of).to_vec()
    };
    let oldest = Category::ALL.map(|category| {
        let begins = spool_status.oldest[category as usize].unwrap_or_default();
        (vec![("category", category.name().to_owned())], Value::Real(begins.secs_f64()))
    });
    vec![
        gauge(
            "ringtap_spool_bytes",
            "Size of the segments in the spool, in its tier and in the bucket (far).",
            by_category(&spool_status.bytes),
        ),
        gauge(
            "ringtap_spool_segments",
            "Segments in the spool, in its tier and in the bucket (far).",
            by_category(&spool_status.segments),
        ),
        gauge(
            "ringtap_spool_oldest_seconds",
            "Start of the oldest segment, in seconds since 1970, UTC; 0 if there is none.",
            oldest.to_vec(),
        ),
        gauge("ringtap_spool_disk_bytes", "Size of the file system.", by_place(|space| space.total)),
        gauge("ringtap_spool_free_bytes", "Free space on the file system.", by_place(|space| space.free)),
        total(
            "ringtap_spool_deleted_segments",
            "Segments deleted because of an age limit (age), a size limit (size), or lack of disk space \
            (space).",
            by_reason(&spool_status.deleted),
        ),
        total(
            "ringtap_spool_freed_bytes",
            "Bytes freed by deleting segments.",
            by_reason(&spool_status.freed),
        ),
    ]
}

/// Moves, holds, and their failures.
fn of_retention(spool_status: &SpoolStatus) -> Vec<Family> {
    let single = |name, help, kind, value| one(name, help, kind, Value::Whole(value));
    vec![
        single(
            "ringtap_spool_moved_segments",
            "Segments moved to the tier or the bucket.",
            MetricKind::Counter,
            spool_status.moved.0,
        ),
        single(
            "ringtap_spool_moved_bytes",
            "Bytes of the moved segments.",
            MetricKind::Counter,
            spool_status.moved.1,
        ),
        single(
            "ringtap_spool_tending_failures",
            "Failed deletions and moves of segments.",
            MetricKind::Counter,
            spool_status.failures,
        ),
        single(
            "ringtap_spool_far_away",
            "1 while the bucket cannot be reached or refuses requests; no segment moves there then.",
            MetricKind::Gauge,
            spool_status.is_far_lost.into(),
        ),
        single(
            "ringtap_spool_far_failures",
            "Failed uploads, reads and deletions in the bucket.",
            MetricKind::Counter,
            spool_status.far_failures,
        ),
        single(
            "ringtap_spool_far_loose",
            "Segments being uploaded, or still to be deleted in the bucket.",
            MetricKind::Gauge,
            spool_status.loose,
        ),
        single("ringtap_spool_held_calls", "Calls on hold.", MetricKind::Gauge, spool_status.held),
        single(
            "ringtap_spool_held_bytes",
            "Size of the copies of held calls whose segments are deleted.",
            MetricKind::Gauge,
            spool_status.held_bytes,
        ),
        single(
            "ringtap_spool_age_suspended",
            "1 while nothing is deleted by age because the system clock has stepped by more than an hour.",
            MetricKind::Gauge,
            spool_status.is_age_suspended.into(),
        ),
        single(
            "ringtap_spool_stopped",
            "1 while recording is stopped because the disk is full and no segment may be deleted.",
            MetricKind::Gauge,
            spool_status.stopped.into(),
        ),
    ]
}

fn by_loss(now: &Snapshot, workers: &[WorkerInfo]) -> Family {
    let mut samples = Vec::new();
    for (info, report) in workers.iter().zip(&now.reports) {
        for (reason, packets) in report.recording.unwrap_or_default().lost() {
            let labels = vec![("worker", info.number.to_string()), ("reason", reason.to_owned())];
            samples.push((labels, Value::Whole(packets)));
        }
    }
    let help = "Packets of calls that were not recorded: longer than 68 KiB (oversized), the disk was too \
    slow (disk), a write failed (refused), recording was stopped (stopped), no slot was free for their \
    stream (left_out), or memory was full before a rule decided (undecided).";
    Family { name: "ringtap_spool_lost_packets", help, kind: MetricKind::Counter, samples }
}

#[cfg(test)]
mod tests;

//! Everything that is counted, for Prometheus. `docs/manual/metrics.md` is made from [`families`].

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use ringtap_capture::live::Timestamps;
use ringtap_recorder::recorder::RecordingCounts;
use ringtap_spool::rules::RecordingScope;
use ringtap_spool::{ByCategory, Category, DeletionReason, DiskSpace, Location, SpoolStatus};
use ringtap_store::RecordCounts;

use super::shared_status::{Post, SharedStatus, Snapshot, WorkerReport};

pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// One name, and its value for each set of labels.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: MetricKind,
    pub(crate) samples: Vec<(Vec<(&'static str, String)>, Value)>,
}

/// A counter's name ends in `_total` where it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Counter,
    Gauge,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Whole(u64),
    Real(f64),
}

/// The page /metrics.
pub(crate) fn page(board: &SharedStatus) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Page(families(&board.snapshot(), &board.posts, board))));
    let mut page = String::new();
    // Writing to a String cannot fail, and nothing else in it can.
    let _ = encode(&mut page, &registry);
    page
}

#[derive(Debug)]
struct Page(Vec<Family>);

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in &self.0 {
            let kind = match family.kind {
                MetricKind::Counter => MetricType::Counter,
                MetricKind::Gauge => MetricType::Gauge,
            };
            let mut metric = encoder.encode_descriptor(family.name, family.help, None, kind)?;
            for (labels, value) in &family.samples {
                let labels: Vec<(&str, &str)> =
                    labels.iter().map(|(name, value)| (*name, value.as_str())).collect();
                if labels.is_empty() {
                    // Without labels there is one value.
                    sample(metric, family.kind, *value)?;
                    break;
                }
                sample(metric.encode_family(&labels)?, family.kind, *value)?;
            }
        }
        Ok(())
    }
}

fn sample(mut metric: MetricEncoder<'_>, kind: MetricKind, value: Value) -> Result<(), fmt::Error> {
    match (kind, value) {
        (MetricKind::Counter, Value::Whole(value)) => {
            metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
        }
        (MetricKind::Counter, Value::Real(value)) => {
            metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
        }
        (MetricKind::Gauge, Value::Whole(value)) => metric.encode_gauge(&value),
        (MetricKind::Gauge, Value::Real(value)) => metric.encode_gauge(&value),
    }
}

/// Everything there is.
pub(crate) fn families(now: &Snapshot, posts: &[Post], board: &SharedStatus) -> Vec<Family> {
    let mut families = of_process(now, posts, board);
    families.extend(of_workers(now, posts));
    families.extend(of_keeping(now, posts));
    families.extend(of_store(now));
    families.extend(of_spool(now, posts));
    families
}

fn of_keeping(now: &Snapshot, posts: &[Post]) -> Vec<Family> {
    let (mut calls, mut erased) = (Vec::new(), Vec::new());
    let (mut incomplete, mut one_way) = (Vec::new(), Vec::new());
    for (post, report) in posts.iter().zip(&now.reports) {
        let worker = || ("worker", post.number.to_string());
        let decisions = report.kept.unwrap_or_default().decisions;
        for (what, count) in RecordingScope::ALL.into_iter().zip(decisions.calls) {
            calls.push((vec![worker(), ("what", what.name().to_owned())], Value::Whole(count)));
        }
        erased.push((vec![worker()], Value::Whole(decisions.erased)));
        incomplete.push((vec![worker()], Value::Whole(decisions.incomplete)));
        one_way.push((vec![worker()], Value::Whole(decisions.one_way)));
    }
    let counter = |name, help, samples| Family { name, help, kind: MetricKind::Counter, samples };
    vec![
        counter("ringtap_calls_kept", "Calls of which it was decided what is kept, by that.", calls),
        counter(
            "ringtap_calls_erased",
            "Calls that were kept until their end, since a rule asks for a bad MOS, and had a better one.",
            erased,
        ),
        counter(
            "ringtap_calls_cleared",
            "Calls of the run before of which a kill left it open whether they may be kept, and that were erased at the start.",
            vec![(Vec::new(), Value::Whole(now.cleared))],
        ),
        counter(
            "ringtap_calls_amended",
            "Calls of which the disk refused packets after their record was made: `recorded_missing` was changed.",
            vec![(Vec::new(), Value::Whole(now.amended))],
        ),
        counter(
            "ringtap_calls_recorded_incomplete",
            "Calls of which packets that were to be kept are missing (`recorded_missing` of their records).",
            incomplete,
        ),
        counter(
            "ringtap_calls_recorded_one_way",
            "Answered calls of which a direction has no media on the disk (`recorded_empty` of their records).",
            one_way,
        ),
    ]
}

fn of_process(now: &Snapshot, posts: &[Post], board: &SharedStatus) -> Vec<Family> {
    let timestamps = posts.iter().zip(&now.reports).map(|(post, report)| {
        let labels = vec![
            ("interface", post.source.clone()),
            ("worker", post.number.to_string()),
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
            help: "Always 1: each worker's interface, where its timestamps come from, and the version of the program.",
            kind: MetricKind::Gauge,
            samples: timestamps.collect(),
        },
        one(
            "ringtap_uptime_seconds",
            "Time since the start.",
            MetricKind::Gauge,
            Value::Real(board.started.elapsed().as_secs_f64()),
        ),
        one("ringtap_resident_memory_bytes", "Memory in use.", MetricKind::Gauge, Value::Whole(now.resident)),
        Family {
            name: "ringtap_drops",
            help: "What was lost, by place: nic, ring (frames), worker, tables, reassembly (parts and ceilings), store (records), spool (packets).",
            kind: MetricKind::Counter,
            samples: drops.collect(),
        },
    ]
}

fn of_workers(now: &Snapshot, posts: &[Post]) -> Vec<Family> {
    let each = |figure: &dyn Fn(&WorkerReport) -> Value| {
        let labelled = |(post, report): (&Post, &WorkerReport)| {
            (vec![("worker", post.number.to_string())], figure(report))
        };
        posts.iter().zip(&now.reports).map(labelled).collect::<Vec<_>>()
    };
    let gauge = |name, help, figure: &dyn Fn(&WorkerReport) -> Value| Family {
        name,
        help,
        kind: MetricKind::Gauge,
        samples: each(figure),
    };
    let counter = |name, help, figure: &dyn Fn(&WorkerReport) -> Value| Family {
        name,
        help,
        kind: MetricKind::Counter,
        samples: each(figure),
    };
    let whole = |count: usize| Value::Whole(count as u64);
    vec![
        gauge("ringtap_calls", "Calls under way.", &|report| whole(report.under_way.0)),
        gauge("ringtap_streams", "Media streams under way, those not yet confirmed included.", &|report| {
            whole(report.under_way.1)
        }),
        counter("ringtap_calls_begun", "Call attempts seen.", &|report| Value::Whole(report.begun)),
        counter("ringtap_frames", "Frames taken from the interface.", &|report| {
            Value::Whole(report.tap.received)
        }),
        counter("ringtap_bytes", "Bytes of them on the wire.", &|report| Value::Whole(report.tap.bytes)),
        by_kind(now, posts),
        counter(
            "ringtap_rtp_unconfirmed",
            "Packets that looked like RTP and belonged to no stream.",
            &|report| Value::Whole(report.counters.rtp_unconfirmed),
        ),
        by_reason(now, posts),
        gauge("ringtap_ring_fill_ratio", "How full the ring is, 0 to 1.", &|report| {
            Value::Real(report.tap.fill.into())
        }),
        counter("ringtap_ring_drops", "Frames that found no room in the ring.", &|report| {
            Value::Whole(report.tap.ring_drops)
        }),
        counter(
            "ringtap_nic_drops",
            "Frames that the interface says it lost, told by one worker of each interface.",
            &|report| Value::Whole(report.tap.interface_drops),
        ),
        counter("ringtap_ring_freezes", "Times that the ring was full.", &|report| {
            Value::Whole(report.tap.freezes)
        }),
        counter(
            "ringtap_frames_filtered",
            "Frames that [capture] filter left out, where the kernel cannot do it.",
            &|report| Value::Whole(report.tap.filtered),
        ),
        counter(
            "ringtap_frames_merged",
            "Frames that an offload (GRO, LRO, TSO) put together: analysed wrongly.",
            &|report| Value::Whole(report.tap.merged),
        ),
        counter("ringtap_frames_cut", "Frames that [capture] snaplen cut.", &|report| {
            Value::Whole(report.tap.cut)
        }),
        counter("ringtap_frames_damaged", "Blocks of the ring that were not as they should be.", &|report| {
            Value::Whole(report.tap.damaged)
        }),
        counter("ringtap_interface_downs", "Times that the interface was found down.", &|report| {
            Value::Whole(report.tap.downs)
        }),
        counter("ringtap_worker_cpu_seconds", "Processor time of the worker.", &|report| {
            Value::Real(report.cpu.as_secs_f64())
        }),
        gauge("ringtap_clock_seconds", "The worker's time by its packets, since 1970, UTC.", &|report| {
            Value::Real(report.now.secs_f64())
        }),
    ]
}

fn by_kind(now: &Snapshot, posts: &[Post]) -> Family {
    let mut samples = Vec::new();
    for (post, report) in posts.iter().zip(&now.reports) {
        for (kind, count) in report.counters.kinds() {
            samples.push((
                vec![("worker", post.number.to_string()), ("kind", kind.to_owned())],
                Value::Whole(count),
            ));
        }
    }
    let help = "Packets by what they turned out to be; sip counts messages.";
    // `kinds` takes unconfirmed packets from rtp when they are given up, so that these may go down.
    Family { name: "ringtap_packets", help, kind: MetricKind::Gauge, samples }
}

fn by_reason(now: &Snapshot, posts: &[Post]) -> Family {
    let mut samples = Vec::new();
    for (post, report) in posts.iter().zip(&now.reports) {
        for (reason, count) in report.counters.drops() {
            samples.push((
                vec![("worker", post.number.to_string()), ("reason", reason.to_owned())],
                Value::Whole(count),
            ));
        }
    }
    let help = "What the engine dropped or found damaged, by reason.";
    Family { name: "ringtap_engine_drops", help, kind: MetricKind::Counter, samples }
}

fn of_store(now: &Snapshot) -> Vec<Family> {
    let store = &now.store;
    let kinds = |name, help, written: &RecordCounts| {
        let counts = [
            ("call", written.calls),
            ("stream", written.streams),
            ("registration", written.registrations),
            ("message", written.messages),
        ];
        let samples = counts.map(|(kind, count)| (vec![("record", kind.to_owned())], Value::Whole(count)));
        Family { name, help, kind: MetricKind::Counter, samples: samples.into() }
    };
    let gauge = |name, help, value| one(name, help, MetricKind::Gauge, Value::Whole(value));
    let counter = |name, help, value| one(name, help, MetricKind::Counter, Value::Whole(value));
    vec![
        kinds("ringtap_store_written", "Records in the day files.", &store.written),
        kinds("ringtap_store_dropped", "Records that found room nowhere.", &store.dropped),
        gauge("ringtap_store_queue", "Records that wait in memory.", store.waiting),
        gauge("ringtap_store_queue_limit", "Records that may wait in memory.", store.queue),
        gauge("ringtap_store_outbox_records", "Records that wait on disk.", store.outbox_records),
        gauge("ringtap_store_outbox_bytes", "Bytes of them.", store.outbox_bytes),
        gauge("ringtap_store_outbox_limit_bytes", "Bytes that may wait on disk.", store.outbox_limit),
        gauge("ringtap_store_away", "1 while the day files take no records.", store.away.into()),
        counter("ringtap_store_failures", "Attempts to write to the day files that failed.", store.failures),
        gauge("ringtap_journal_calls", "Calls in the journal.", store.journal_calls),
        gauge("ringtap_journal_bytes", "Bytes of the journal.", store.journal_bytes),
        counter(
            "ringtap_journal_missed",
            "Entries that the journal should have and has not, for want of room or of disk.",
            store.journal_missed,
        ),
    ]
}

fn of_spool(now: &Snapshot, posts: &[Post]) -> Vec<Family> {
    let none = SpoolStatus::default();
    let tended = now.spool.as_ref().unwrap_or(&none);
    let mut families = of_recording(now, posts);
    families.extend(of_segments(tended));
    families.extend(of_retention(tended));
    families
}

/// What each worker writes.
fn of_recording(now: &Snapshot, posts: &[Post]) -> Vec<Family> {
    let counter = |name, help, figure: &dyn Fn(&RecordingCounts) -> u64| {
        let of = |(post, report): (&Post, &WorkerReport)| {
            let figures = report.kept.unwrap_or_default();
            (vec![("worker", post.number.to_string())], Value::Whole(figure(&figures)))
        };
        Family {
            name,
            help,
            kind: MetricKind::Counter,
            samples: posts.iter().zip(&now.reports).map(of).collect(),
        }
    };
    vec![
        counter("ringtap_spool_packets", "Packets of calls that were kept.", &|kept| kept.counts.packets),
        counter("ringtap_spool_packet_bytes", "Bytes of them.", &|kept| kept.counts.bytes),
        by_loss(now, posts),
        counter("ringtap_spool_written_bytes", "Bytes written to the spool.", &|kept| kept.bytes),
        counter("ringtap_spool_writes", "Writes to the spool.", &|kept| kept.writes),
        counter("ringtap_spool_segments_closed", "Segments written to their end.", &|kept| kept.segments),
        counter("ringtap_spool_failures", "Writes that the disk refused.", &|kept| kept.failures),
    ]
}

/// Segments that are there or were, and the disks under them.
fn of_segments(tended: &SpoolStatus) -> Vec<Family> {
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
            let space = tended.space[place as usize].unwrap_or_default();
            (vec![("place", place.name().to_owned())], Value::Whole(figure(space)))
        };
        // Nobody knows what is free at a far place.
        [Location::Spool, Location::Tier].map(of).to_vec()
    };
    let by_reason = |figures: &[u64; DeletionReason::ALL.len()]| {
        let of = |reason: DeletionReason| {
            (vec![("reason", reason.name().to_owned())], Value::Whole(figures[reason as usize]))
        };
        DeletionReason::ALL.map(of).to_vec()
    };
    let oldest = Category::ALL.map(|category| {
        let begins = tended.oldest[category as usize].unwrap_or_default();
        (vec![("category", category.name().to_owned())], Value::Real(begins.secs_f64()))
    });
    vec![
        gauge(
            "ringtap_spool_bytes",
            "What segments take, in the spool, in its tier and far.",
            by_category(&tended.bytes),
        ),
        gauge("ringtap_spool_segments", "Segments that are there.", by_category(&tended.segments)),
        gauge(
            "ringtap_spool_oldest_seconds",
            "When the oldest segment begins, since 1970, UTC; 0 where there is none.",
            oldest.to_vec(),
        ),
        gauge("ringtap_spool_disk_bytes", "Size of the file system.", by_place(|space| space.total)),
        gauge("ringtap_spool_free_bytes", "What is free of it.", by_place(|space| space.free)),
        total(
            "ringtap_spool_deleted_segments",
            "Segments deleted: their clock had run out (age), there was too much of them (size), the disk was short (space).",
            by_reason(&tended.deleted),
        ),
        total("ringtap_spool_freed_bytes", "Bytes that this freed.", by_reason(&tended.freed)),
    ]
}

/// Moves, holds, and what fails of them.
fn of_retention(tended: &SpoolStatus) -> Vec<Family> {
    let single = |name, help, kind, value| one(name, help, kind, Value::Whole(value));
    vec![
        single(
            "ringtap_spool_moved_segments",
            "Segments moved to the tier, or far.",
            MetricKind::Counter,
            tended.moved.0,
        ),
        single("ringtap_spool_moved_bytes", "Bytes of them.", MetricKind::Counter, tended.moved.1),
        single(
            "ringtap_spool_tending_failures",
            "Deletions and moves that failed.",
            MetricKind::Counter,
            tended.failures,
        ),
        single(
            "ringtap_spool_far_away",
            "1 while the far place cannot be reached or refuses; nothing moves there then.",
            MetricKind::Gauge,
            tended.is_far_lost.into(),
        ),
        single(
            "ringtap_spool_far_failures",
            "What could not be put, read or deleted there.",
            MetricKind::Counter,
            tended.far_failures,
        ),
        single(
            "ringtap_spool_far_loose",
            "Segments on their way there, or deleted and still to be deleted there.",
            MetricKind::Gauge,
            tended.loose,
        ),
        single("ringtap_spool_held_calls", "Calls on hold.", MetricKind::Gauge, tended.held),
        single(
            "ringtap_spool_held_bytes",
            "What was copied for them out of segments that are gone.",
            MetricKind::Gauge,
            tended.held_bytes,
        ),
        single(
            "ringtap_spool_stopped",
            "1 while recording has stopped because the disk is full and nothing may be deleted.",
            MetricKind::Gauge,
            tended.stopped.into(),
        ),
    ]
}

fn by_loss(now: &Snapshot, posts: &[Post]) -> Family {
    let mut samples = Vec::new();
    for (post, report) in posts.iter().zip(&now.reports) {
        for (reason, packets) in report.kept.unwrap_or_default().lost() {
            let labels = vec![("worker", post.number.to_string()), ("reason", reason.to_owned())];
            samples.push((labels, Value::Whole(packets)));
        }
    }
    let help = "Packets of calls that were not recorded: longer than 68 KiB (oversized), while the disk was behind (disk), refused by the disk (refused), while recording was stopped (stopped), without room for their owner (left_out), or dropped from memory before a rule decided (undecided).";
    Family { name: "ringtap_spool_lost_packets", help, kind: MetricKind::Counter, samples }
}

fn one(name: &'static str, help: &'static str, kind: MetricKind, value: Value) -> Family {
    Family { name, help, kind, samples: vec![(Vec::new(), value)] }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ringtap_capture::live;
    use ringtap_engine::Counters;
    use ringtap_model::Nanos;
    use ringtap_store::{StoreSettings, StoreWriter};

    use super::*;

    fn board(dir: &std::path::Path) -> (StoreWriter, SharedStatus) {
        let settings = StoreSettings {
            directory: dir.join("records"),
            queue: 16,
            outbox: dir.join("outbox"),
            outbox_size: 1 << 20,
            journal: None,
            retain: Nanos::ZERO,
        };
        let keeper = StoreWriter::open(&settings, |_| ()).unwrap();
        let post = |number| Post { source: "eth0".into(), number, first: number == 0 };
        let board = SharedStatus::new(vec![post(0), post(1)], keeper.counts_handle());
        (keeper, board)
    }

    /// Every counter of the engine is on the page, for each worker, and so is every place of the status line.
    #[test]
    fn every_counter_is_served() {
        let dir = tempfile::tempdir().unwrap();
        let (_keeper, board) = board(dir.path());
        let counters = Counters { calls_refused: 77, ..Counters::default() };
        let tap = live::TapCounters { ring_drops: 5, interface_drops: 9, ..live::TapCounters::default() };
        for worker in 0..2 {
            board.report(worker, WorkerReport { counters: counters.clone(), tap, ..WorkerReport::default() });
        }
        let page = page(&board);
        for (reason, count) in counters.drops() {
            for worker in 0..2 {
                let line = format!(
                    "ringtap_engine_drops_total{{worker=\"{worker}\",reason=\"{reason}\"}} {count}\n"
                );
                assert!(page.contains(&line), "{line} is not in\n{page}");
            }
        }
        for (kind, _) in counters.kinds() {
            assert!(page.contains(&format!("kind=\"{kind}\"}}")), "{kind}");
        }
        for line in [
            "ringtap_drops_total{place=\"nic\"} 9\n",
            "ringtap_drops_total{place=\"ring\"} 10\n",
            "ringtap_drops_total{place=\"tables\"} 154\n",
            "ringtap_drops_total{place=\"store\"} 0\n",
            "ringtap_store_queue_limit 16\n",
        ] {
            assert!(page.contains(line), "{line} is not in\n{page}");
        }
        assert!(page.ends_with("# EOF\n"));
        assert_eq!(board.external_drops(), 19);
    }

    /// Names as Prometheus wants them, each once, each with its help; the manual lists them.
    #[test]
    fn names_and_the_manual() {
        let dir = tempfile::tempdir().unwrap();
        let (_keeper, board) = board(dir.path());
        let families = families(&board.snapshot(), &board.posts, &board);
        let names: BTreeSet<_> = families.iter().map(|family| family.name).collect();
        assert_eq!(names.len(), families.len(), "a name twice");
        let mut manual = String::from(
            "# Metrics\n\nServed as OpenMetrics text at `/metrics` of `[metrics] listen`. Counters run from the start of the program.\n\n\
             | name | kind | labels | meaning |\n|---|---|---|---|\n",
        );
        for family in &families {
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
            assert!(family.name.starts_with("ringtap_") && family.name.bytes().all(plain), "{}", family.name);
            assert!(!family.name.ends_with("_total") && family.help.ends_with('.'), "{}", family.name);
            let (kind, end) = match family.kind {
                MetricKind::Counter => ("counter", "_total"),
                MetricKind::Gauge => ("gauge", ""),
            };
            let labels = family.samples.first().map_or(&[][..], |(labels, _)| labels);
            let labels: Vec<_> = labels.iter().map(|(name, _)| format!("`{name}`")).collect();
            manual.push_str(&format!(
                "| `{}{end}` | {kind} | {} | {} |\n",
                family.name,
                labels.join(" "),
                family.help
            ));
        }
        manual.push_str(
            "\n`/health` answers 200 while every worker works, with `\"status\": \"degraded\"` while records wait for the store, and 503 \
             when a worker has stopped reporting.\n\n\
             `reason` of `ringtap_engine_drops_total` names the counter: what no table had room for (`calls_refused`, ...: a ceiling of \
             `[engine]`), what was damaged, what could not be put together, and what workers could not tell each other in time \
             (`sip_forwards_lost`, `worker_messages_lost`).\n",
        );
        crate::config::held("docs/manual/metrics.md", &manual);
    }
}

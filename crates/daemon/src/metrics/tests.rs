use std::collections::BTreeSet;

use ringtap_capture::live;
use ringtap_engine::Counters;
use ringtap_model::Nanos;
use ringtap_store::{StoreSettings, StoreWriter};

use super::*;

fn shared_status(dir: &std::path::Path) -> (StoreWriter, SharedStatus) {
    let settings = StoreSettings {
        directory: dir.join("records"),
        queue: 16,
        outbox: dir.join("outbox"),
        outbox_size: 1 << 20,
        journal: None,
        retain: Nanos::ZERO,
    };
    let (store, _) = StoreWriter::open(&settings, |_| ()).unwrap();
    let info = |number| WorkerInfo { source: "eth0".into(), number, first: number == 0 };
    let shared_status = SharedStatus::new(vec![info(0), info(1)], store.counts_handle());
    (store, shared_status)
}

/// The page has every counter of the engine for each worker, and every place of the status line.
#[test]
fn every_counter_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, shared_status) = shared_status(dir.path());
    let counters = Counters { calls_refused: 77, ..Counters::default() };
    let tap = live::TapCounters { ring_drops: 5, interface_drops: 9, ..live::TapCounters::default() };
    for worker in 0..2 {
        shared_status
            .report(worker, WorkerReport { counters: counters.clone(), tap, ..WorkerReport::default() });
    }
    let page = page(&shared_status);
    for (reason, count) in counters.drops() {
        for worker in 0..2 {
            let line =
                format!("ringtap_engine_drops_total{{worker=\"{worker}\",reason=\"{reason}\"}} {count}\n");
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
    assert_eq!(shared_status.external_drops(), 19);
}

/// Each name is valid, unique, has a help text and is in the manual.
#[test]
fn names_and_the_manual() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, shared_status) = shared_status(dir.path());
    let families = families(&shared_status.snapshot(), &shared_status.workers, &shared_status);
    let names: BTreeSet<_> = families.iter().map(|family| family.name).collect();
    assert_eq!(names.len(), families.len(), "a name twice");
    let mut manual = String::from(
        "# Metrics\n\nServed as OpenMetrics text at `/metrics` of `[metrics] listen`. Counters start at \
        0 when the program starts.\n\n\
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
        "\n`/health` answers 200 while every worker reports, with `\"status\": \"degraded\"` while \
        records wait for the store, and 503 \
         when a worker has stopped reporting.\n\n\
         `reason` of `ringtap_engine_drops_total` names the counter: entries refused by a full table \
         (`calls_refused`, ...: raise that ceiling of \
         `[engine]`), entries that a full table gave up for newer ones (`calls_evicted`, ...: a flood, or \
         raise that ceiling or `[engine] memory`; `codecs_evicted` and `codecs_refused`: invented codec \
         names), damaged packets, data that could not be reassembled, and messages between workers \
         that found their \
         queue full (`sip_forwards_lost`, `worker_messages_lost`).\n",
    );
    crate::config::held("docs/manual/metrics.md", &manual);
}

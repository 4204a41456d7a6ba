use std::collections::{BTreeMap, BTreeSet};

use ringtap_capture::live;
use ringtap_engine::Counters;
use ringtap_hook::{HookCounts, HookFigures};
use ringtap_store::{Retain, StoreSettings, StoreWriter};

use super::*;
use crate::notices::NoticeFigures;

fn shared_status(dir: &std::path::Path) -> (StoreWriter, SharedStatus) {
    let settings = StoreSettings {
        directory: dir.join("records"),
        queue: 16,
        cache: 1 << 20,
        outbox: dir.join("outbox"),
        outbox_size: 1 << 20,
        journal: None,
        retain: Retain::default(),
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

/// Each histogram has a bucket without an upper bound, in which everything is: without one, Prometheus gives
/// no quantile.
#[test]
fn the_last_bucket_of_a_histogram_has_everything() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, shared_status) = shared_status(dir.path());
    let mut report = WorkerReport::default();
    report.outcomes.add_call(&ringtap_testing::samples::call());
    report.outcomes.add_stream(&ringtap_testing::samples::stream());
    shared_status.report(0, report);
    let page = page(&shared_status);
    let count = |line: String| -> u64 {
        let found = page.lines().find_map(|served| served.strip_prefix(&line));
        found.unwrap_or_else(|| panic!("{line} is not in\n{page}")).trim().parse().unwrap()
    };
    for name in ["post_dial_delay_seconds", "stream_mos", "stream_loss_ratio", "stream_jitter_seconds"] {
        for worker in 0..2 {
            let all = count(format!("ringtap_{name}_bucket{{le=\"+Inf\",worker=\"{worker}\"}}"));
            assert_eq!(all, count(format!("ringtap_{name}_count{{worker=\"{worker}\"}}")), "{name}");
            assert_eq!(all, u64::from(worker == 0), "{name}");
        }
    }
}

/// A snapshot of somebody who is told of alarms, and of calls, so that each family has a sample.
fn snapshot(shared_status: &SharedStatus) -> Snapshot {
    let targets = vec![("pager".into(), ringtap_notify::Counts::default(), 0)];
    let hooks = vec![HookFigures { hook: "archive".into(), counts: HookCounts::default(), waiting: 0 }];
    let radius = Some(crate::radius::Seen::default());
    let service = ringtap_availability::summaries([ringtap_testing::samples::service_hour()]);
    let mut known = crate::availability_figures::Known { monitored: service, ..Default::default() };
    known.figures.failovers.insert("proxy_lost", 1);
    Snapshot {
        notices: NoticeFigures { targets, dropped: 0 },
        hooks,
        radius,
        availability: Some(known),
        ..shared_status.snapshot()
    }
}

/// Each name is valid, unique, has a help text and is in the manual.
#[test]
fn names_and_the_manual() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, shared_status) = shared_status(dir.path());
    let families = families(&snapshot(&shared_status), &shared_status.workers, &shared_status);
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
            MetricKind::Histogram => ("histogram", ""),
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

/// Names and labels in a PromQL expression: each metric with the labels that follow it in braces, and the
/// labels of its aggregations.
fn of_expression(expr: &str) -> (Vec<(String, Vec<String>)>, Vec<String>) {
    let word = |text: &str| -> String {
        text.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
    };
    let metrics = expr.match_indices("ringtap_").map(|(at, _)| {
        let name = word(&expr[at..]);
        let rest = &expr[at + name.len()..];
        let matchers =
            rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(inner, _)| inner);
        let labels = matchers.split(", ").filter(|matcher| !matcher.is_empty()).map(word).collect();
        (name, labels)
    });
    let by = expr.match_indices("by (").flat_map(|(at, _)| {
        let list = expr[at + 4..].split(')').next().unwrap_or_default();
        list.split(", ").map(str::to_owned).collect::<Vec<_>>()
    });
    (metrics.collect(), by.collect())
}

/// Each panel of the dashboard asks for metrics and labels that are served, and says what it shows; what
/// became of calls, streams and registrations is all on it.
#[test]
fn the_dashboard_asks_for_what_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, shared_status) = shared_status(dir.path());
    let families = families(&snapshot(&shared_status), &shared_status.workers, &shared_status);
    let served: BTreeMap<String, BTreeSet<&str>> = families
        .iter()
        .flat_map(|family| {
            let ends: &[&str] = match family.kind {
                MetricKind::Counter => &["_total"],
                MetricKind::Gauge => &[""],
                MetricKind::Histogram => &["_bucket", "_count", "_sum"],
            };
            let labels = family.samples.first().map_or(&[][..], |(labels, _)| labels);
            let labels: BTreeSet<_> = labels.iter().map(|(name, _)| *name).chain(["instance"]).collect();
            ends.iter().map(move |end| {
                let le = (*end == "_bucket").then_some("le");
                (format!("{}{end}", family.name), labels.iter().copied().chain(le).collect())
            })
        })
        .collect();
    let text = include_str!("../../../../packaging/grafana/ringtap.json");
    let dashboard: serde_json::Value = serde_json::from_str(text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "an id twice");
    let mut asked = BTreeSet::new();
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let title = panel["title"].as_str().unwrap();
        assert!(panel["description"].as_str().is_some_and(|text| text.ends_with('.')), "{title}");
        for target in panel["targets"].as_array().unwrap() {
            let expr = target["expr"].as_str().unwrap();
            let (metrics, by) = of_expression(expr);
            assert!(!metrics.is_empty(), "{title}: {expr}");
            for (name, labels) in metrics {
                let known = served.get(&name).unwrap_or_else(|| panic!("{title}: {name} is not served"));
                for label in labels.iter().chain(&by) {
                    assert!(known.contains(label.as_str()), "{title}: {name} has no label {label}");
                }
                asked.insert(name);
            }
        }
    }
    let outcomes = outcomes::families(&snapshot(&shared_status), &shared_status.workers);
    for family in outcomes {
        assert!(asked.iter().any(|name| name.starts_with(family.name)), "{} is on no panel", family.name);
    }
}

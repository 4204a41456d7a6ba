//! How much the console does: requests by route, how long they took, and what is open, as metrics.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::Method;

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    routes: Mutex<BTreeMap<(&'static str, String), RouteCounts>>,
    open_events: AtomicU64,
}

/// What was answered on a route.
#[derive(Clone, Debug, Default)]
struct RouteCounts {
    by_status: BTreeMap<u16, u64>,
    /// Answers that took at most each of [`BOUNDS`] and more than the one before; the last took longer.
    took: [u64; BOUNDS.len() + 1],
    sum: Duration,
}

/// What stands now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauges {
    /// Searches and files, and how many of each wait for a place.
    pub(crate) work: Vec<(&'static str, usize, usize)>,
    /// Searches whose connection closed before they ended.
    pub(crate) cancelled: u64,
    /// Sessions that are valid.
    pub(crate) sessions: u64,
}

/// A stream of live events that is open.
#[derive(Debug)]
pub(crate) struct OpenEvents<M: AsRef<Meter>>(M);

impl<M: AsRef<Meter>> OpenEvents<M> {
    /// Counts it until it is dropped.
    pub(crate) fn new(meter: M) -> Self {
        meter.as_ref().open_events.fetch_add(1, Ordering::Relaxed);
        Self(meter)
    }
}

impl<M: AsRef<Meter>> Drop for OpenEvents<M> {
    fn drop(&mut self) {
        self.0.as_ref().open_events.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Meter {
    /// Counts a request that was answered: the head of the answer was ready after `took`. Requests of no
    /// route are counted as one, so that whoever invents paths makes no metrics.
    pub(crate) fn count(&self, method: &Method, route: Option<&str>, status: u16, took: Duration) {
        let key = (method_name(method), route.unwrap_or("other").to_owned());
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = routes.entry(key).or_default();
        *counts.by_status.entry(status).or_default() += 1;
        let within = BOUNDS.iter().position(|bound| took.as_secs_f64() <= *bound);
        counts.took[within.unwrap_or(BOUNDS.len())] += 1;
        counts.sum += took;
    }

    /// All metrics, in the text format of Prometheus.
    pub(crate) fn page(&self, gauges: &Gauges) -> String {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut page = String::new();
        let mut family = |metric: &Metric, samples: &str| {
            let Metric { name, kind, help, .. } = metric;
            // Writing to a string cannot fail.
            let _ = write!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n{samples}");
        };
        let [requests, seconds, running, waiting, cancelled, sessions, streams] = &METRICS;
        family(requests, &request_lines(requests.name, &routes));
        family(seconds, &histogram_lines(seconds.name, &routes));
        let work = |name: &str, figure: fn(&(&str, usize, usize)) -> usize| {
            let line = |work| format!("{name}{{kind=\"{}\"}} {}\n", work_kind(work), figure(work));
            gauges.work.iter().map(line).collect::<String>()
        };
        family(running, &work(running.name, |(_, running, _)| *running));
        family(waiting, &work(waiting.name, |(_, _, waiting)| *waiting));
        for (metric, value) in [
            (cancelled, gauges.cancelled),
            (sessions, gauges.sessions),
            (streams, self.open_events.load(Ordering::Relaxed)),
        ] {
            family(metric, &format!("{} {value}\n", metric.name));
        }
        page
    }
}

fn work_kind<'a>((kind, ..): &(&'a str, usize, usize)) -> &'a str {
    kind
}

fn request_lines(name: &str, routes: &BTreeMap<(&'static str, String), RouteCounts>) -> String {
    let mut lines = String::new();
    for ((method, route), counts) in routes {
        for (status, count) in &counts.by_status {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            let _ = writeln!(lines, "{name}{{{labels}}} {count}");
        }
    }
    lines
}

fn histogram_lines(name: &str, routes: &BTreeMap<(&'static str, String), RouteCounts>) -> String {
    let mut lines = String::new();
    for ((method, route), counts) in routes {
        let labels = format!("method=\"{method}\",route=\"{route}\"");
        let bounds = BOUNDS.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
        let mut sum = 0;
        for (bound, count) in bounds.zip(counts.took) {
            sum += count;
            let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"{bound}\"}} {sum}");
        }
        let _ = writeln!(lines, "{name}_sum{{{labels}}} {}", counts.sum.as_secs_f64());
        let _ = writeln!(lines, "{name}_count{{{labels}}} {sum}");
    }
    lines
}

/// A method as a label; those that no route takes are one.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// A metric, as the manual has it.
struct Metric {
    name: &'static str,
    kind: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "the manual's table is made of it"))]
    labels: &'static str,
    help: &'static str,
}

const METRICS: [Metric; 7] = [
    Metric {
        name: "ringtap_console_requests_total",
        kind: "counter",
        labels: "`method` `route` `status`",
        help: "Requests that were answered, by route; other are those of the page and of no route.",
    },
    Metric {
        name: "ringtap_console_request_seconds",
        kind: "histogram",
        labels: "`method` `route`",
        help: "From a request to the head of its answer; files and live events go on after it.",
    },
    Metric {
        name: "ringtap_console_work_running",
        kind: "gauge",
        labels: "`kind`",
        help: "Work that runs now: scan are searches of whole days, file those whose answer is a file, read \
               everything else.",
    },
    Metric {
        name: "ringtap_console_work_waiting",
        kind: "gauge",
        labels: "`kind`",
        help: "Work that waits for its turn, by the same kinds.",
    },
    Metric {
        name: "ringtap_console_work_cancelled_total",
        kind: "counter",
        labels: "",
        help: "Work that was given up because whoever asked had gone.",
    },
    Metric { name: "ringtap_console_sessions", kind: "gauge", labels: "", help: "Sessions that are valid." },
    Metric {
        name: "ringtap_console_live_streams",
        kind: "gauge",
        labels: "",
        help: "Streams of live events that are open.",
    },
];

/// Upper bounds of the histogram, in seconds.
const BOUNDS: [f64; 10] = [0.005, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0];

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;

    fn page(meter: &Meter) -> String {
        let work = vec![("scan", 2, 5), ("file", 0, 0), ("read", 1, 0)];
        meter.page(&Gauges { work, cancelled: 4, sessions: 3 })
    }

    #[test]
    fn requests_are_counted_by_route_and_those_of_none_as_one() {
        let meter = Arc::new(Meter::default());
        let calls = Some("/api/v1/calls/{id}");
        meter.count(&Method::GET, calls, 200, Duration::from_millis(2));
        meter.count(&Method::GET, calls, 200, Duration::from_millis(200));
        meter.count(&Method::GET, calls, 404, Duration::from_secs(1_000));
        for path in 0..1_000 {
            let method = Method::from_bytes(format!("M{path}").as_bytes()).unwrap();
            meter.count(&method, None, 405, Duration::ZERO);
        }
        let stream = OpenEvents::new(Arc::clone(&meter));
        let shown = page(&meter);
        drop(stream);
        for line in [
            "# TYPE ringtap_console_requests_total counter",
            "ringtap_console_requests_total{method=\"GET\",route=\"/api/v1/calls/{id}\",status=\"200\"} 2",
            "ringtap_console_requests_total{method=\"GET\",route=\"/api/v1/calls/{id}\",status=\"404\"} 1",
            "ringtap_console_requests_total{method=\"other\",route=\"other\",status=\"405\"} 1000",
            "ringtap_console_request_seconds_sum{method=\"GET\",route=\"/api/v1/calls/{id}\"} 1000.202",
            "ringtap_console_request_seconds_count{method=\"GET\",route=\"/api/v1/calls/{id}\"} 3",
            "ringtap_console_work_running{kind=\"scan\"} 2",
            "ringtap_console_work_waiting{kind=\"scan\"} 5",
            "ringtap_console_work_cancelled_total 4",
            "ringtap_console_sessions 3",
            "ringtap_console_live_streams 1",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line} is missing:\n{shown}");
        }
        let bucket = "ringtap_console_request_seconds_bucket{method=\"GET\",route=\"/api/v1/calls/{id}\",le=";
        for (bound, count) in [("0.005", 1), ("0.1", 1), ("0.3", 2), ("60", 2), ("+Inf", 3)] {
            let line = format!("{bucket}\"{bound}\"}} {count}");
            assert!(shown.lines().any(|shown| shown == line), "{line} is missing:\n{shown}");
        }
        assert!(page(&meter).contains("ringtap_console_live_streams 0"), "it was closed");
        assert!(shown.lines().count() < 60, "{shown}");
    }

    /// The table of the manual is made from what is here; `RINGTAP_BLESS=1` writes it anew.
    #[test]
    fn the_manual_lists_the_metrics() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/console-metrics.md");
        let row = |Metric { name, kind, labels, help }: &Metric| {
            format!("| `{name}` | {kind} | {labels} | {help} |\n")
        };
        let table: String = METRICS.iter().map(row).collect();
        let manual = format!("{MANUAL}{table}");
        if std::env::var_os("RINGTAP_BLESS").is_some() {
            std::fs::write(&path, &manual).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), manual, "RINGTAP_BLESS=1 writes it");
    }

    const MANUAL: &str = "# Metrics of the console

The console serves metrics of its own at `/api/v1/metrics`, in the text format of Prometheus, to whoever is
logged in and sees all calls: give Prometheus a [token](api.md#a-first-request) with the right `search`. Those
of the daemon, which captures, are [elsewhere](metrics.md). Counters start at 0 when the console starts.

    scrape_configs:
      - job_name: ringtap-console
        scheme: https
        metrics_path: /api/v1/metrics
        authorization: { credentials_file: /etc/prometheus/ringtap-token }
        tls_config: { ca_file: /etc/prometheus/ringtap.pem }
        static_configs: [{ targets: [\"tap.example.org:8443\"] }]

| name | kind | labels | meaning |
|---|---|---|---|
";
}

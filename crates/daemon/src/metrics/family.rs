//! A metric with its values, and how it is written.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::outcomes::Histogram;
use crate::shared_status::{Snapshot, WorkerInfo, WorkerReport};

/// A metric, and its value for each set of labels.
#[derive(Debug)]
pub(crate) struct Family {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: MetricKind,
    pub(super) samples: Vec<(Vec<(&'static str, String)>, Value)>,
}

/// Values of the labels, and the count.
pub(super) type Rows = Vec<(Vec<&'static str>, u64)>;

/// The name of a counter ends in `_total` on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Whole(u64),
    Real(f64),
    Distribution(Box<Histogram>),
}

/// All of them, as a collector of the library.
#[derive(Debug)]
pub(super) struct Page(pub(super) Vec<Family>);

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in &self.0 {
            let kind = match family.kind {
                MetricKind::Counter => MetricType::Counter,
                MetricKind::Gauge => MetricType::Gauge,
                MetricKind::Histogram => MetricType::Histogram,
            };
            let mut metric = encoder.encode_descriptor(family.name, family.help, None, kind)?;
            for (labels, value) in &family.samples {
                let labels: Vec<(&str, &str)> =
                    labels.iter().map(|(name, value)| (*name, value.as_str())).collect();
                if labels.is_empty() {
                    // A metric without labels has one value.
                    sample(metric, family.kind, value)?;
                    break;
                }
                sample(metric.encode_family(&labels)?, family.kind, value)?;
            }
        }
        Ok(())
    }
}

fn sample(mut metric: MetricEncoder<'_>, kind: MetricKind, value: &Value) -> Result<(), fmt::Error> {
    match (kind, value) {
        (MetricKind::Counter, Value::Whole(value)) => {
            metric.encode_counter::<NoLabelSet, _, u64>(value, None)
        }
        (MetricKind::Counter, Value::Real(value)) => metric.encode_counter::<NoLabelSet, _, u64>(value, None),
        (_, Value::Whole(value)) => metric.encode_gauge(value),
        (_, Value::Real(value)) => metric.encode_gauge(value),
        (_, Value::Distribution(histogram)) => metric.encode_histogram::<NoLabelSet>(
            histogram.sum,
            histogram.count(),
            &histogram.buckets(),
            None,
        ),
    }
}

/// A metric with one value.
pub(super) fn one(name: &'static str, help: &'static str, kind: MetricKind, value: Value) -> Family {
    Family { name, help, kind, samples: vec![(Vec::new(), value)] }
}

/// A metric with a value for each worker.
pub(super) fn of_each(
    (name, help, kind): (&'static str, &'static str, MetricKind),
    now: &Snapshot,
    workers: &[WorkerInfo],
    figure: &dyn Fn(&WorkerReport) -> Value,
) -> Family {
    let sample = |(info, report): (&WorkerInfo, &WorkerReport)| {
        (vec![("worker", info.number.to_string())], figure(report))
    };
    Family { name, help, kind, samples: workers.iter().zip(&now.reports).map(sample).collect() }
}

/// A metric with several values for each worker, told apart by `labels`.
pub(super) fn by_labels(
    (name, help, kind): (&'static str, &'static str, MetricKind),
    labels: &[&'static str],
    now: &Snapshot,
    workers: &[WorkerInfo],
    rows: &dyn Fn(&WorkerReport) -> Rows,
) -> Family {
    let mut samples = Vec::new();
    for (info, report) in workers.iter().zip(&now.reports) {
        for (values, count) in rows(report) {
            let values = labels.iter().copied().zip(values.into_iter().map(str::to_owned));
            let worker = [("worker", info.number.to_string())];
            samples.push((worker.into_iter().chain(values).collect(), Value::Whole(count)));
        }
    }
    Family { name, help, kind, samples }
}

/// Rows with one label.
pub(super) fn labelled(counts: Vec<(&'static str, u64)>) -> Rows {
    counts.into_iter().map(|(name, count)| (vec![name], count)).collect()
}

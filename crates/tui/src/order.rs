//! The order of the list.

use std::cmp::Ordering;

use ringtap_live::calls::DialogEntry;
use ringtap_model::Nanos;
use ringtap_report::calls::{loss_pct, worst};

/// The order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Time,
    From,
    To,
    State,
    Duration,
    Messages,
    Source,
    Destination,
    Codec,
    Loss,
    Mos,
}

pub(crate) fn compare(a: &DialogEntry, b: &DialogEntry, sort: Sort, now: Nanos) -> Ordering {
    // What is not known comes last.
    let figure = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    };
    let stream = |entry: &DialogEntry| {
        worst(entry.streams.iter()).map(|stream| (stream.codec.clone(), loss_pct(stream)))
    };
    match sort {
        Sort::Time => a.serial.cmp(&b.serial),
        Sort::From => a.from.cmp(&b.from),
        Sort::To => a.to.cmp(&b.to),
        Sort::State => a.state().cmp(&b.state()),
        Sort::Duration => figure(a.duration_ms(now), b.duration_ms(now)),
        Sort::Messages => a.count.cmp(&b.count),
        Sort::Source => a.src.cmp(&b.src),
        Sort::Destination => a.dst.cmp(&b.dst),
        Sort::Codec => stream(a).map(|(codec, _)| codec).cmp(&stream(b).map(|(codec, _)| codec)),
        Sort::Loss => figure(stream(a).map(|(_, loss)| loss), stream(b).map(|(_, loss)| loss)),
        Sort::Mos => figure(mos(a), mos(b)),
    }
    .then(a.serial.cmp(&b.serial))
}

/// Of the worst stream.
pub(crate) fn mos(entry: &DialogEntry) -> Option<f64> {
    let of_call = entry.call.as_ref().and_then(|call| call.mos);
    of_call.or_else(|| worst(entry.streams.iter()).and_then(|stream| stream.mos))
}

/// In the order of the list's columns.
pub(crate) const SORTS: [Sort; 11] = [
    Sort::Time,
    Sort::From,
    Sort::To,
    Sort::State,
    Sort::Duration,
    Sort::Messages,
    Sort::Source,
    Sort::Destination,
    Sort::Codec,
    Sort::Loss,
    Sort::Mos,
];

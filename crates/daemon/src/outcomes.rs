//! What became of calls, streams and registrations: counters and histograms of their records, of fixed size.

use ringtap_model::{Call, CallState, Registration, RegistrationState, Stream};
use ringtap_quality::kpi::{self, Kpi};

/// Upper bounds of the buckets, in the metric's unit.
pub(crate) const POST_DIAL_DELAY_S: &[f64] = &[0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 60.0];
/// Between them lie G.107's steps of satisfaction (annex B): 4.34, 4.03, 3.6, 3.1, 2.58.
pub(crate) const MOS: &[f64] = &[1.5, 2.0, 2.58, 3.1, 3.6, 4.03, 4.2, 4.34, 4.4, 4.5];
pub(crate) const LOSS_RATIO: &[f64] = &[0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5];
pub(crate) const JITTER_S: &[f64] = &[0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5];

/// Classes of final codes.
pub(crate) const CLASSES: [&str; 7] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx", "6xx"];

const BUCKETS: usize = 12;

/// How many values lie at or below each bound, and above the last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Histogram {
    pub(crate) bounds: &'static [f64],
    counts: [u64; BUCKETS],
    pub(crate) sum: f64,
}

impl Histogram {
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        debug_assert!(bounds.len() < BUCKETS && bounds.is_sorted());
        Self { bounds, counts: [0; BUCKETS], sum: 0.0 }
    }

    /// Adds the values of another of the same bounds.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, other)| *count += other);
        self.sum += other.sum;
    }

    pub(crate) fn add(&mut self, value: f64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
            self.sum += value;
        }
    }

    /// Values so far.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Upper bound and count of each bucket, the last without an upper bound.
    pub(crate) fn buckets(&self) -> Vec<(f64, u64)> {
        self.bounds.iter().copied().chain([f64::INFINITY]).zip(self.counts).collect()
    }
}

/// Sums over the records that a worker delivered.
#[derive(Clone, Debug)]
pub(crate) struct Outcomes {
    /// Calls that ended, by state and class of the final code.
    pub(crate) calls: [[u64; CLASSES.len()]; CallState::ALL.len()],
    /// Of them, those that each indicator counts: as met, and at all.
    pub(crate) kpis: [(u64, u64); Kpi::ALL.len()],
    /// Time from answer to release, in seconds.
    pub(crate) answered_s: f64,
    pub(crate) post_dial_delay: Histogram,
    pub(crate) mos: Histogram,
    pub(crate) loss: Histogram,
    pub(crate) jitter: Histogram,
    /// Registrations that ended, by state and class of the final code.
    pub(crate) registrations: [[u64; CLASSES.len()]; RegistrationState::ALL.len()],
}

impl Default for Outcomes {
    fn default() -> Self {
        Self {
            calls: Default::default(),
            kpis: Default::default(),
            answered_s: 0.0,
            post_dial_delay: Histogram::new(POST_DIAL_DELAY_S),
            mos: Histogram::new(MOS),
            loss: Histogram::new(LOSS_RATIO),
            jitter: Histogram::new(JITTER_S),
            registrations: Default::default(),
        }
    }
}

impl Outcomes {
    /// A call that has ended; others are not counted.
    pub(crate) fn add_call(&mut self, call: &Call) {
        if matches!(call.state, CallState::Active | CallState::Ringing | CallState::Trying) {
            return;
        }
        self.calls[call.state as usize][class(call.final_code)] += 1;
        let one = [(call.final_code, 1)];
        for (kpi, (met, attempts)) in Kpi::ALL.into_iter().zip(&mut self.kpis) {
            let ratio = kpi.of(kpi::Outcomes(&one));
            *met += ratio.part;
            *attempts += ratio.of;
        }
        self.answered_s += call.duration_ms.unwrap_or_default() / 1e3;
        if let Some(delay) = call.pdd_ms {
            self.post_dial_delay.add(delay / 1e3);
        }
    }

    /// A stream.
    pub(crate) fn add_stream(&mut self, stream: &Stream) {
        stream.mos.into_iter().for_each(|mos| self.mos.add(mos));
        stream.jitter_ms_mean.into_iter().for_each(|jitter| self.jitter.add(jitter / 1e3));
        loss_ratio(stream).into_iter().for_each(|loss| self.loss.add(loss));
    }

    /// A registration that has ended.
    pub(crate) fn add_registration(&mut self, registration: &Registration) {
        self.registrations[registration.state as usize][class(registration.code)] += 1;
    }
}

/// Packets lost of a stream, 0 to 1; `None` where none was expected.
pub(crate) fn loss_ratio(stream: &Stream) -> Option<f64> {
    let expected = stream.unique.saturating_add(stream.lost);
    (expected > 0).then(|| stream.lost as f64 / expected as f64)
}

fn class(code: u16) -> usize {
    match code / 100 {
        class @ 1..=6 => usize::from(class),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;

    #[test]
    fn calls_are_counted_once_they_have_ended() {
        let mut outcomes = Outcomes::default();
        let call = |state, final_code| Call { state, final_code, ..samples::call() };
        outcomes.add_call(&call(CallState::Completed, 200));
        outcomes.add_call(&call(CallState::Failed, 486));
        outcomes.add_call(&call(CallState::Failed, 503));
        outcomes.add_call(&call(CallState::Timeout, 0));
        outcomes.add_call(&call(CallState::Active, 200));
        let ended: u64 = outcomes.calls.iter().flatten().sum();
        assert_eq!(ended, 4);
        assert_eq!(outcomes.calls[CallState::Failed as usize], [0, 0, 0, 0, 1, 1, 0]);
        // ASR counts the answer, NER the busy callee as well.
        assert_eq!(outcomes.kpis[..2], [(1, 4), (2, 4)]);
        let delay = samples::call().pdd_ms.unwrap() / 1e3;
        assert!((outcomes.post_dial_delay.sum - 4.0 * delay).abs() < 1e-9);
        assert_eq!(outcomes.post_dial_delay.count(), 4);
    }

    #[test]
    fn a_value_is_in_the_bucket_that_it_does_not_exceed() {
        let mut histogram = Histogram::new(LOSS_RATIO);
        [0.0, 0.001, 0.0011, 0.9].into_iter().for_each(|value| histogram.add(value));
        let full: Vec<_> = histogram.buckets().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(full, [(0.0, 1), (0.001, 1), (0.002, 1), (f64::INFINITY, 1)]);
        assert_eq!(histogram.buckets().len(), LOSS_RATIO.len() + 1);
    }

    #[test]
    fn every_table_of_bounds_fits() {
        for bounds in [POST_DIAL_DELAY_S, MOS, LOSS_RATIO, JITTER_S] {
            assert!(bounds.len() < BUCKETS && bounds.is_sorted());
        }
    }
}

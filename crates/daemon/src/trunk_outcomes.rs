//! What became of the calls of each trunk: counters and histograms, as many as there are trunks.

use std::sync::Arc;

use ringtap_engine::StreamEnd;
use ringtap_kpi::Trunks;
use ringtap_model::{Call, CallState};

use crate::outcomes::{Histogram, JITTER_S, LOSS_RATIO, MOS, POST_DIAL_DELAY_S, loss_ratio};

/// Sums over the calls that came from or went to a trunk.
#[derive(Clone, Debug)]
pub(crate) struct TrunkFigures {
    /// Calls that ended.
    pub(crate) attempts: u64,
    /// Those that were answered.
    pub(crate) answered: u64,
    pub(crate) post_dial_delay: Histogram,
    pub(crate) mos: Histogram,
    pub(crate) loss: Histogram,
    pub(crate) jitter: Histogram,
}

/// The figures of each configured trunk; all other addresses are one.
#[derive(Clone, Debug)]
pub(crate) struct TrunkOutcomes {
    trunks: Arc<Trunks>,
    /// In the order of the configuration; the last is of all others.
    figures: Vec<TrunkFigures>,
}

impl Default for TrunkOutcomes {
    fn default() -> Self {
        Self::new(Arc::default())
    }
}

impl TrunkOutcomes {
    pub(crate) fn new(trunks: Arc<Trunks>) -> Self {
        let named = trunks.names().len().min(MOST);
        let none = || TrunkFigures {
            attempts: 0,
            answered: 0,
            post_dial_delay: Histogram::new(POST_DIAL_DELAY_S),
            mos: Histogram::new(MOS),
            loss: Histogram::new(LOSS_RATIO),
            jitter: Histogram::new(JITTER_S),
        };
        Self { trunks, figures: (0..=named).map(|_| none()).collect() }
    }

    /// The trunks.
    pub(crate) fn trunks(&self) -> &Trunks {
        &self.trunks
    }

    /// Adds a call that has ended: at the trunk that it came from and at the one that it went to.
    pub(crate) fn add(&mut self, call: &Call, streams: &[StreamEnd]) {
        if matches!(call.state, CallState::Active | CallState::Ringing | CallState::Trying) {
            return;
        }
        let other = self.figures.len() - 1;
        let number = |ip| self.trunks.number(ip).filter(|number| *number < other);
        match (number(call.src.ip), number(call.dst.ip)) {
            (None, None) => self.figures[other].add(call, streams),
            (Some(from), Some(to)) if from != to => {
                self.figures[from].add(call, streams);
                self.figures[to].add(call, streams);
            }
            (Some(one), _) | (_, Some(one)) => self.figures[one].add(call, streams),
        }
    }

    /// The figures of each trunk with its name.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&str, &TrunkFigures)> {
        let names = self.trunks.names().iter().take(self.figures.len() - 1).map(|name| &**name);
        names.chain([OTHER]).zip(&self.figures)
    }
}

impl TrunkFigures {
    /// Adds those of another worker.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.answered += other.answered;
        self.post_dial_delay.merge(&other.post_dial_delay);
        self.mos.merge(&other.mos);
        self.loss.merge(&other.loss);
        self.jitter.merge(&other.jitter);
    }

    fn add(&mut self, call: &Call, streams: &[StreamEnd]) {
        self.attempts += 1;
        self.answered += u64::from((200..300).contains(&call.final_code));
        call.pdd_ms.iter().for_each(|delay| self.post_dial_delay.add(delay / 1e3));
        for stream in streams.iter().map(|stream| &stream.record) {
            stream.mos.iter().for_each(|mos| self.mos.add(*mos));
            stream.jitter_ms_mean.iter().for_each(|jitter| self.jitter.add(jitter / 1e3));
            loss_ratio(stream).iter().for_each(|loss| self.loss.add(*loss));
        }
    }
}

/// The name of all addresses that are in no trunk.
pub(crate) const OTHER: &str = "other";
/// Trunks with figures of their own: Prometheus keeps some fifty series of each.
const MOST: usize = 256;

#[cfg(test)]
mod tests {
    use ringtap_kpi::Trunk;
    use ringtap_testing::samples;

    use super::*;

    #[test]
    fn a_call_counts_at_both_its_trunks_and_others_together() {
        let trunk =
            |name: &str, network: &str| Trunk { name: name.into(), networks: vec![network.parse().unwrap()] };
        let trunks =
            Trunks::new(&[trunk("a", "192.0.2.1"), trunk("b", "192.0.2.2"), trunk("c", "192.0.2.3")]);
        let mut outcomes = TrunkOutcomes::new(Arc::new(trunks.unwrap()));
        // From 192.0.2.1 to 192.0.2.2.
        outcomes.add(&samples::call(), &[]);
        outcomes.add(&Call { dst: samples::endpoint(9, 5060), final_code: 486, ..samples::call() }, &[]);
        outcomes.add(
            &Call { src: samples::endpoint(8, 1), dst: samples::endpoint(9, 1), ..samples::call() },
            &[],
        );
        outcomes.add(&Call { state: CallState::Active, ..samples::call() }, &[]);
        let counts: Vec<_> =
            outcomes.each().map(|(name, figures)| (name, figures.attempts, figures.answered)).collect();
        assert_eq!(counts, [("a", 2, 1), ("b", 1, 1), ("c", 0, 0), ("other", 1, 1)]);
    }
}

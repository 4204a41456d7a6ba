//! What is reported of the effects of a failover.

use ringtap_model::{Direction, Id, Nanos};
use serde::Serialize;

/// What a failover did to one call, from the least on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Packets do not tell: a call that was not over when the input ended, or fell silent and was hung up.
    Unknown,
    /// Its caller gave it up before it rang.
    GivenUp,
    /// It rang, or was answered, so long after its first INVITE.
    Delayed(Nanos),
    /// It was not answered, for a reason of the network.
    Failed,
    /// It was established and ended by neither of its telephones.
    Cut,
}

impl Effect {
    /// As in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::GivenUp => "given_up",
            Self::Delayed(_) => "delayed",
            Self::Failed => "failed",
            Self::Cut => "cut",
        }
    }

    /// The same name, if it is one.
    pub(crate) fn name_of(name: &str) -> Option<&'static str> {
        let all = [Self::Unknown, Self::GivenUp, Self::Delayed(Nanos::ZERO), Self::Failed, Self::Cut];
        all.into_iter().map(Self::name).find(|known| *known == name)
    }

    /// Whether the call was lost by it.
    pub(crate) fn is_loss(self) -> bool {
        matches!(self, Self::Failed | Self::Cut)
    }
}

/// What a failover did to calls and people.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Effects {
    /// Calls that were being set up, or established, meanwhile, whatever way they took; and all affected
    /// ones.
    pub calls: u64,
    /// Of these, set up late.
    pub delayed: u64,
    /// First INVITE to first 18x, or 2xx, of the delayed calls.
    #[serde(flatten)]
    pub delays: Delays,
    /// Not answered, for a reason of the network.
    pub failed: u64,
    /// Established before, and ended by neither telephone.
    pub cut: u64,
    /// Given up by the caller before they rang.
    pub given_up: u64,
    /// Calls of which packets do not tell.
    pub unknown: u64,
    /// Callers and callees of all these but the unknown, and of calls with gaps; and users whose REGISTER
    /// waited or was refused. Each once.
    pub users: u64,
    /// Users whose REGISTER waited or was refused.
    pub registering_users: u64,
    /// Directions of calls with a gap; None where calls were established and nothing of their media was seen.
    pub gaps: Option<u64>,
    /// The longest gap of each direction.
    #[serde(flatten)]
    pub gap_lengths: GapLengths,
    /// Failed and cut calls in a million of `calls`; None where there was none.
    pub lost_per_million: Option<f64>,
    /// Each call with an effect.
    #[serde(skip)]
    pub affected: Vec<AffectedCall>,
}

/// Figures of delays in milliseconds; None without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Delays {
    /// The median.
    pub delay_ms_median: Option<f64>,
    /// The 95th percentile by nearest rank.
    pub delay_ms_p95: Option<f64>,
    /// The longest.
    pub delay_ms_max: Option<f64>,
}

/// Figures of gaps in milliseconds; None without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GapLengths {
    /// The median.
    pub gap_ms_median: Option<f64>,
    /// The 95th percentile by nearest rank.
    pub gap_ms_p95: Option<f64>,
    /// The longest.
    pub gap_ms_max: Option<f64>,
}

/// A call that a failover had an effect on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AffectedCall {
    /// `from_us` of the failover.
    #[serde(rename = "failover_us")]
    pub failover: Nanos,
    /// Its Call-ID.
    pub call_id: String,
    /// As in its record.
    pub id: Id,
    /// Its first INVITE.
    #[serde(skip)]
    pub invite: Nanos,
    /// What became of it; None where its media had a gap, and nothing else.
    pub effect: Option<&'static str>,
    /// Of a delayed call, first INVITE to first 18x, or 2xx.
    pub delay_ms: Option<f64>,
    /// The longest gap of each direction.
    pub gaps: Vec<AffectedDirection>,
}

/// The longest gap of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AffectedDirection {
    /// Which way the missing packets went, where that is known.
    pub direction: Option<Direction>,
    /// The last packet before.
    #[serde(rename = "from_us")]
    pub from: Nanos,
    /// From that to the next packet.
    pub gap_ms: f64,
}

/// What all failovers together did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Calls of the input.
    pub calls: u64,
    /// Calls that failed or were cut, each once.
    pub lost_calls: u64,
    /// Of a million calls; None without any call.
    pub lost_per_million: Option<f64>,
    /// Calls whose effects are not known, since there were too many.
    pub calls_refused: u64,
    /// SIP messages, gaps and packets of streams that ceilings turned away.
    pub facts_refused: u64,
}

/// Median, 95th percentile by nearest rank, and maximum. Sorts.
pub(crate) fn figures(values: &mut [f64]) -> [Option<f64>; 3] {
    values.sort_by(f64::total_cmp);
    let middle = |at: usize| values.get(at).copied();
    let (half, is_odd) = (values.len() / 2, values.len() % 2 == 1);
    let median = match half.checked_sub(1) {
        Some(before) if !is_odd => middle(before).zip(middle(half)).map(|(a, b)| (a + b) / 2.0),
        _ => middle(half),
    };
    // The nearest rank of 95 % of n values is n x 95 / 100, rounded up.
    let rank = (values.len() * 95).div_ceil(100);
    let p95 = rank.checked_sub(1).and_then(middle);
    [median, p95, values.last().copied()]
}

/// `lost` of a million of `calls`.
pub(crate) fn per_million(lost: u64, calls: u64) -> Option<f64> {
    (calls > 0).then(|| 1e6 * lost as f64 / calls as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        assert_eq!(figures(&mut []), [None; 3]);
        assert_eq!(figures(&mut [7.0]), [Some(7.0); 3]);
        assert_eq!(figures(&mut [4.0, 1.0]), [Some(2.5), Some(4.0), Some(4.0)]);
        let mut twenty: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(figures(&mut twenty), [Some(10.5), Some(19.0), Some(20.0)]);
        let mut twenty_one: Vec<f64> = (1..=21).map(f64::from).collect();
        assert_eq!(figures(&mut twenty_one), [Some(11.0), Some(20.0), Some(21.0)]);
    }

    #[test]
    fn a_share_of_nothing_is_not_known() {
        assert_eq!(per_million(0, 0), None);
        assert_eq!(per_million(3, 1_000), Some(3_000.0));
    }

    #[test]
    fn the_worst_effect_is_the_greatest() {
        let all = [Effect::Unknown, Effect::GivenUp, Effect::Delayed(Nanos(9)), Effect::Failed, Effect::Cut];
        assert!(all.is_sorted());
    }
}

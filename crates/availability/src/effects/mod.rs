//! What failovers did to calls and people.
//!
//! [`effects`] is a function of failovers and of plain facts of calls ([`Observed`]): it needs no packets.
//! [`EffectsTracker`] collects these facts in an engine. Records alone ([`CallFacts::of`]) tell less: nothing
//! of repeats, of who sent a BYE, or of gaps.
//!
//! | module | holds |
//! |---|---|
//! | `facts` | what has to be known of calls and registrations |
//! | `trouble` | what was out of service in a failover, and which INVITEs waited there |
//! | `judge` | what became of a call |
//! | `record` | what is reported |
//! | `signals`, `registers`, `gaps` | what SIP and RTP packets tell: the facts |
//! | `table` | all of these, as they become known |
//! | `watch` | the same without an end: a failover is judged once its calls are known |
//! | `tracker` | the engine's way in |

mod facts;
mod gaps;
mod judge;
mod record;
mod registers;
mod signals;
mod table;
#[cfg(test)]
mod tests;
mod tracker;
mod trouble;
mod watch;

use std::collections::HashSet;

use ringtap_model::Nanos;

pub use facts::{Attempt, CallFacts, Ending, Gap, MediaFacts, Observed, RegisterFacts, Release};
pub use record::{AffectedCall, AffectedDirection, Delays, Effect, Effects, GapLengths, Totals};
pub use table::CallReport;
pub use tracker::EffectsTracker;
pub use watch::EffectCounts;
pub(crate) use watch::{EffectsWatch, Judged};

use crate::failover::Failover;
use judge::{Clients, Judge, clients};
use record::{figures, per_million};

/// The effects of each failover, in their order.
pub fn effects(failovers: &[Failover], observed: &Observed) -> Vec<Effects> {
    let clients = clients(observed);
    failovers.iter().map(|failover| of_one(failover, observed, &clients)).collect()
}

/// What all of them did: a call that two failovers had an effect on counts once.
pub fn totals(effects: &[Effects], observed: &Observed) -> Totals {
    let is_lost = |call: &&AffectedCall| {
        [Effect::Failed, Effect::Cut].iter().any(|loss| call.effect == Some(loss.name()))
    };
    let all = effects.iter().flat_map(|effects| &effects.affected);
    let lost: HashSet<&str> = all.filter(is_lost).map(|call| call.call_id.as_str()).collect();
    let lost_calls = lost.len() as u64;
    Totals {
        calls: observed.total,
        lost_calls,
        lost_per_million: per_million(lost_calls, observed.total),
        calls_refused: observed.calls_refused,
        facts_refused: observed.facts_refused,
    }
}

fn of_one(failover: &Failover, observed: &Observed, clients: &Clients) -> Effects {
    let judge = Judge::new(failover, clients, observed.until);
    let mut effects = Effects::default();
    let (mut users, mut delays, mut gap_lengths) = (HashSet::new(), Vec::new(), Vec::new());
    let (mut lost, mut is_media_due, mut is_media_seen) = (0, false, false);
    let until = failover.until.unwrap_or(Nanos::MAX);
    for call in &observed.calls {
        if let Some(is_seen) = judge.media_seen(call) {
            (is_media_due, is_media_seen) = (true, is_media_seen || is_seen);
        }
        let (effect, gaps) = (judge.effect(call), judge.gaps(call));
        let is_affected = effect.is_some() || !gaps.is_empty();
        effects.calls += u64::from(is_affected || call.is_within(failover.from, until));
        if !is_affected {
            continue;
        }
        let delay = effects.count(effect);
        lost += u64::from(effect.is_some_and(Effect::is_loss));
        if effect != Some(Effect::Unknown) || !gaps.is_empty() {
            users.extend([call.caller, call.callee].into_iter().flatten());
        }
        delays.extend(delay);
        let gaps: Vec<AffectedDirection> = gaps.iter().map(AffectedDirection::of).collect();
        gap_lengths.extend(gaps.iter().map(|gap| gap.gap_ms));
        effects.affected.push(AffectedCall {
            failover: failover.from,
            call_id: call.call_id.clone(),
            id: call.id,
            invite: call.invite,
            effect: effect.map(Effect::name),
            delay_ms: delay,
            gaps,
        });
    }
    let waiting = observed.registers.iter().filter(|register| judge.has_register(register));
    let registering: HashSet<u64> = waiting.map(|register| register.user).collect();
    effects.registering_users = registering.len() as u64;
    users.extend(registering);
    effects.users = users.len() as u64;
    effects.gaps = (is_media_seen || !is_media_due).then_some(gap_lengths.len() as u64);
    let [delay_ms_median, delay_ms_p95, delay_ms_max] = figures(&mut delays);
    effects.delays = Delays { delay_ms_median, delay_ms_p95, delay_ms_max };
    let [gap_ms_median, gap_ms_p95, gap_ms_max] = figures(&mut gap_lengths);
    effects.gap_lengths = GapLengths { gap_ms_median, gap_ms_p95, gap_ms_max };
    effects.lost_per_million = per_million(lost, effects.calls);
    effects
}

impl Effects {
    /// Counts a call; returns its delay in milliseconds.
    fn count(&mut self, effect: Option<Effect>) -> Option<f64> {
        match effect? {
            Effect::Unknown => self.unknown += 1,
            Effect::GivenUp => self.given_up += 1,
            Effect::Delayed(delay) => {
                self.delayed += 1;
                return Some(delay.millis_f64());
            }
            Effect::Failed => self.failed += 1,
            Effect::Cut => self.cut += 1,
        }
        None
    }
}

impl AffectedDirection {
    fn of(gap: &Gap) -> Self {
        Self { direction: gap.direction, from: gap.from, gap_ms: gap.until.since(gap.from).millis_f64() }
    }
}

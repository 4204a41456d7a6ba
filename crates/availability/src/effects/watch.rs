//! What failovers did to calls, without an end: each is judged once, when its calls are known.

use ringtap_engine::LostTime;
use ringtap_model::{Id, Nanos};

use super::judge::Clients;
use super::record::Effects;
use super::table::{CallReport, FactTable};
use super::trouble::AFTERWARDS;
use super::{Observed, of_one};
use crate::failover::Failover;
use crate::observation::Observation;
use crate::settings::{GIVEN_UP, Settings};

/// So long after its end a failover is judged: a call whose media stopped and that nobody ended has its
/// record after five minutes of silence, one that rings is given up after three.
const SETTLED: Nanos = Nanos::from_secs(360);
/// So long after its beginning it is judged, even if it goes on.
const LONGEST: Nanos = Nanos::from_secs(900);
/// Calls that ended are remembered for so long: by then a failover is known.
const REMEMBERED: Nanos = Nanos::from_secs(120);
/// How often it is looked for what may be forgotten.
const SWEEP: Nanos = Nanos::from_secs(10);
/// Failovers that wait to be judged.
const WAITING: usize = 1_000;
/// Calls of one failover that are named; all are counted.
const NAMED: usize = 20_000;

/// Facts of calls for as long as a failover may need them, and failovers that wait for theirs.
#[derive(Debug)]
pub(crate) struct EffectsWatch {
    table: FactTable,
    waiting: Vec<Waiting>,
    /// Beyond [`REMEMBERED`].
    remembered: Nanos,
    swept: Nanos,
    counts: EffectCounts,
}

/// What failovers did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EffectCounts {
    /// Calls that were set up late.
    pub delayed: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Established calls that were ended.
    pub cut: u64,
    /// Calls that their callers gave up.
    pub given_up: u64,
    /// Calls of which packets do not tell.
    pub unknown: u64,
    /// Failovers that were judged.
    pub judged: u64,
    /// Calls whose facts are not known, since there were too many.
    pub calls_refused: u64,
    /// Messages, gaps, streams, failovers, and names of affected calls, that ceilings turned away.
    pub facts_refused: u64,
}

#[derive(Debug)]
struct Waiting {
    id: Id,
    failover: Failover,
    due: Nanos,
}

/// The effects of a failover.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Of the failover.
    pub(crate) id: Id,
    pub(crate) effects: Effects,
    /// When it was judged: nothing later is in its effects.
    pub(crate) until: Nanos,
}

impl EffectsWatch {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            table: FactTable::new(settings),
            waiting: Vec::new(),
            remembered: settings.after,
            swept: Nanos::ZERO,
            counts: EffectCounts::default(),
        }
    }

    /// A SIP message, in order of time.
    pub(crate) fn message(&mut self, sip: &Observation) {
        self.table.message(sip);
    }

    /// A record of a call.
    pub(crate) fn report(&mut self, report: Box<CallReport>) {
        self.table.report(report);
    }

    /// Packets of a stream were lost for a while.
    pub(crate) fn lost_time(&mut self, lost: &LostTime) {
        self.table.lost_time(lost);
    }

    /// A failover as it is known now: what it is judged by once its calls are known. False, and counted,
    /// where too many wait.
    pub(crate) fn follow(&mut self, id: Id, failover: &Failover, now: Nanos) -> bool {
        let end = failover.until.unwrap_or(now).max(failover.from);
        let due = (end + SETTLED).min(failover.from + LONGEST);
        if let Some(known) = self.waiting.iter_mut().find(|known| known.id == id) {
            (known.failover, known.due) = (failover.clone(), due);
        } else if self.waiting.len() < WAITING {
            self.waiting.push(Waiting { id, failover: failover.clone(), due });
        } else {
            self.counts.facts_refused += 1;
            return false;
        }
        true
    }

    /// Judges the failovers whose time has come: all at the end of the input.
    pub(crate) fn judge(&mut self, now: Nanos, is_end: bool) -> Vec<Judged> {
        let is_due = |waiting: &mut Waiting| is_end || waiting.due <= now;
        let due: Vec<Waiting> = self.waiting.extract_if(.., is_due).collect();
        if due.is_empty() {
            return Vec::new();
        }
        let observed = self.table.observed(now);
        let judged = due.into_iter().map(|waiting| self.judged(waiting, &observed));
        judged.collect()
    }

    fn judged(&mut self, Waiting { id, failover, .. }: Waiting, observed: &Observed) -> Judged {
        let clients: &Clients = &self.table.clients;
        let mut effects = of_one(&failover, observed, clients);
        self.counts.judged += 1;
        self.counts.delayed += effects.delayed;
        self.counts.failed += effects.failed;
        self.counts.cut += effects.cut;
        self.counts.given_up += effects.given_up;
        self.counts.unknown += effects.unknown;
        self.counts.facts_refused += effects.affected.len().saturating_sub(NAMED) as u64;
        effects.affected.truncate(NAMED);
        Judged { id, effects, until: observed.until }
    }

    /// Forgets calls that no failover needs any more.
    pub(crate) fn forget(&mut self, now: Nanos) {
        if now.since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        let recent = now.since(REMEMBERED + self.remembered);
        let around = |waiting: &Waiting| waiting.failover.from.since(AFTERWARDS + GIVEN_UP);
        let before = self.waiting.iter().map(around).chain([recent]).min().unwrap_or(recent);
        self.table.forget(before, now);
    }

    /// Figures of this moment.
    pub(crate) fn counts(&self) -> EffectCounts {
        EffectCounts {
            calls_refused: self.table.calls_refused(),
            facts_refused: self.counts.facts_refused + self.table.facts_refused(),
            ..self.counts
        }
    }
}

//! Finds what distinguishes the marked calls: the value, or pair of values, that says most of the marks; then
//! the next among the calls that it does not cover, until nothing stands out.

use crate::bits::Bits;
use crate::finding::{Finding, Named, Ranking};
use crate::sample::Sample;
use crate::significance::Shares;
use crate::table::{LEAST, Table};
use crate::value::Value;

/// What stands out in a round.
#[derive(Clone, Debug)]
struct Found {
    /// Its place among the best of the round, and that of the second value of a pair.
    value: usize,
    also: Option<usize>,
    information: f64,
    ln_chance: f64,
    calls: Bits,
}

/// A round: the calls that no finding covers yet, and the values that say most of them.
struct Round<'t, 's> {
    table: &'t Table<'s>,
    calls: Bits,
    /// Candidates in order of what they say.
    best: Vec<usize>,
    shares: Vec<Shares>,
    /// The calls of the round that have each of them.
    columns: Vec<Bits>,
    /// The fewest marked calls that a finding may have.
    least: u64,
}

impl Sample {
    /// What distinguishes the marked calls from the others.
    pub fn rank(&self) -> Ranking {
        let table = Table::new(self);
        let mut calls = table.layout.all();
        let all = calls.count();
        let least = LEAST.max((all.marked as f64 * LEAST_SHARE).ceil() as u64);
        let mut findings = Vec::new();
        while findings.len() < MOST && calls.count().marked >= least && all.others > 0 {
            let round = Round::new(&table, calls.clone(), least);
            let Some(found) = round.most_telling() else { break };
            findings.push(round.finding(&found));
            calls = calls.without(&found.calls);
        }
        Ranking::new(self, table.values, findings)
    }
}

impl<'t, 's> Round<'t, 's> {
    fn new(table: &'t Table<'s>, calls: Bits, least: u64) -> Self {
        let all = table.shares(&calls);
        let mut best: Vec<(usize, f64)> = all
            .iter()
            .enumerate()
            .filter(|(_, shares)| shares.marked >= least && shares.ln_chance() < CONSIDERED)
            .map(|(candidate, shares)| (candidate, shares.information()))
            .collect();
        let order = |candidate: usize| table.order(candidate);
        best.sort_by(|(one, says), (other, more)| {
            more.total_cmp(says).then_with(|| order(*one).cmp(&order(*other)))
        });
        best.truncate(BEST);
        let best: Vec<usize> = best.into_iter().map(|(candidate, _)| candidate).collect();
        let columns = table.columns(&best).into_iter().map(|column| column.and(&calls)).collect();
        let shares = best.iter().map(|candidate| all[*candidate]).collect();
        Self { table, calls, best, shares, columns, least }
    }

    /// The value or pair that says most of the marks, if one stands out.
    fn most_telling(&self) -> Option<Found> {
        let single = (0..self.best.len()).find_map(|value| self.single(value));
        let floor = single.as_ref().map_or(0.0, |found| found.information);
        self.pair(floor).or(single)
    }

    fn single(&self, value: usize) -> Option<Found> {
        let shares = self.shares[value];
        let ln_chance = self.stands_out(shares, ln_hypotheses(self.table.values))?;
        // Where values had to give way, only what holds at worst counts.
        let candidate = &self.table.candidates[self.best[value]];
        let worst = candidate.entry.bounds();
        if worst != candidate.entry.calls {
            let mut worst = Shares::of(worst, candidate.known);
            worst.others = worst.others.min(worst.others_of);
            self.stands_out(worst, ln_hypotheses(self.table.values))?;
        }
        let information = shares.information();
        Some(Found { value, also: None, information, ln_chance, calls: self.columns[value].clone() })
    }

    /// The pair that says most, if it says more than `floor` and than either of its values.
    fn pair(&self, floor: f64) -> Option<Found> {
        let mut most: Option<Found> = None;
        for value in 0..self.best.len() {
            for also in value + 1..self.best.len() {
                let above = most.as_ref().map_or(floor, |found| found.information);
                if let Some(found) = self.pair_of(value, also, above * (1.0 + SAME)) {
                    most = Some(found);
                }
            }
        }
        most
    }

    fn pair_of(&self, value: usize, also: usize, above: f64) -> Option<Found> {
        let (one, other) = (&self.columns[value], &self.columns[also]);
        if self.place(value) == self.place(also) {
            return None;
        }
        let both = one.count_and(other);
        if both.marked < self.least {
            return None;
        }
        // Calls of which both fields are known.
        let known =
            self.table.known(self.best[value]).and(self.table.known(self.best[also])).and(&self.calls);
        let shares = Shares::of(both, known.count());
        let information = shares.information();
        if information <= above || !shares.is_more() {
            return None;
        }
        let pairs = self.table.values * self.table.values.saturating_sub(1) / 2;
        let ln_chance = self.stands_out(shares, ln_hypotheses(pairs))?;
        for side in [one, other] {
            let of = side.count_and(&known);
            let alone = Shares::of(of, known.count());
            // Of the calls that have one value, those that have the other as well.
            self.stands_out(Shares::of(both, of), ln_hypotheses(pairs))?;
            if alone.is_more() && alone.information() >= information {
                return None;
            }
        }
        Some(Found { value, also: Some(also), information, ln_chance, calls: one.and(other) })
    }

    /// The logarithm of the corrected chance of such shares, if they differ enough, and not by chance.
    fn stands_out(&self, shares: Shares, ln_hypotheses: f64) -> Option<f64> {
        if shares.marked < self.least || shares.odds_ratio() < ODDS {
            return None;
        }
        let ln_chance = shares.ln_chance() + ln_hypotheses;
        (ln_chance < LN_ALPHA).then_some(ln_chance)
    }

    fn place(&self, value: usize) -> usize {
        self.table.candidates[self.best[value]].place
    }

    /// What was found, with the figures of all calls, and what else marks the same calls.
    fn finding(&self, found: &Found) -> Finding {
        let parts: Vec<usize> = [found.value].into_iter().chain(found.also).collect();
        let same = (0..self.best.len()).filter(|value| !parts.contains(value) && self.is_same(found, *value));
        let same: Vec<Named> = same.map(|value| self.named(value)).collect();
        let shares = match found.also {
            None => {
                let candidate = &self.table.candidates[self.best[found.value]];
                Shares::of(candidate.entry.calls, candidate.known)
            }
            Some(also) => {
                let columns = self.table.columns(&[self.best[found.value], self.best[also]]);
                let known = self.table.known(self.best[found.value]);
                let known = known.and(self.table.known(self.best[also]));
                Shares::of(columns[0].count_and(&columns[1]), known.count())
            }
        };
        let also = found.also.map(|also| self.named(also));
        Finding::new(self.named(found.value), also, same, shares, found.ln_chance)
    }

    /// Whether nearly the same calls have that value; of a pair, with either of its values.
    fn is_same(&self, found: &Found, value: usize) -> bool {
        let column = &self.columns[value];
        let Some(also) = found.also else { return is_near(&found.calls, column) };
        [found.value, also].into_iter().any(|part| is_near(&found.calls, &column.and(&self.columns[part])))
    }

    fn named(&self, value: usize) -> Named {
        let candidate = &self.table.candidates[self.best[value]];
        Named::new(candidate.field, &Value::decode(candidate.value))
    }
}

/// Whether two sets share nearly all of their calls, of the marked and of the others.
fn is_near(one: &Bits, other: &Bits) -> bool {
    let (both, first, second) = (one.count_and(other), one.count(), other.count());
    let near = |both: u64, first: u64, second: u64| both as f64 >= NEAR * (first + second - both) as f64;
    near(both.marked, first.marked, second.marked) && near(both.others, first.others, second.others)
}

/// The logarithm of how many hypotheses a chance is corrected for (Bonferroni): half of what may be claimed
/// in error goes to values, half to pairs.
fn ln_hypotheses(count: u64) -> f64 {
    libm::log(2.0 * count.max(1) as f64)
}

/// Findings at most.
const MOST: usize = 10;
/// Values that are looked at together in a round.
const BEST: usize = 400;
/// The share of the marked calls that a finding covers at least.
const LEAST_SHARE: f64 = 0.02;
/// Odds ratio from which a difference is told.
const ODDS: f64 = 2.0;
/// The logarithm of the chance that anything is claimed where the marks fell at random: 0.1 %.
const LN_ALPHA: f64 = -6.907_755_278_982_137;
/// The logarithm of the chance, not corrected, below which a value is looked at: 1 %.
const CONSIDERED: f64 = -4.605_170_185_988_091;
/// Values that share so much of their calls are told in one line.
const NEAR: f64 = 0.8;
/// By how much a pair has to say more than a value alone, beyond what rounding does.
const SAME: f64 = 1e-6;

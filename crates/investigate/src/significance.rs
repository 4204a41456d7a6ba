//! How far two shares differ, and how likely chance alone does that.

use crate::counts::Count;

/// A value among the marked calls and among the others: calls that have it, and calls that could.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shares {
    pub(crate) marked: u64,
    pub(crate) marked_of: u64,
    pub(crate) others: u64,
    pub(crate) others_of: u64,
}

impl Shares {
    pub(crate) fn of(having: Count, of: Count) -> Self {
        let (marked, others) = (having.marked, having.others);
        Self { marked, marked_of: of.marked, others, others_of: of.others }
    }

    /// Whether more of the marked than of the others have it.
    pub(crate) fn is_more(self) -> bool {
        let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
        product(self.marked, self.others_of) > product(self.others, self.marked_of)
    }

    /// Fisher's exact test, one-sided: the logarithm of the chance that so many of the marked or more have
    /// the value if the marks were dealt out blindly (the tail of the hypergeometric distribution).
    pub(crate) fn ln_chance(self) -> f64 {
        if !self.is_more() {
            return 0.0;
        }
        let having = self.marked + self.others;
        let all = self.marked_of + self.others_of;
        let most = having.min(self.marked_of);
        let first = ln_choose(having, self.marked) + ln_choose(all - having, self.marked_of - self.marked)
            - ln_choose(all, self.marked_of);
        // From the observed number on, each term is smaller than the one before.
        let (mut sum, mut term) = (1.0, 1.0);
        for count in self.marked..most {
            let without = (all - having + count + 1) as f64 - self.marked_of as f64;
            term *=
                (having - count) as f64 * (self.marked_of - count) as f64 / ((count + 1) as f64 * without);
            sum += term;
            if term < sum * f64::EPSILON {
                break;
            }
        }
        (first + libm::log(sum)).min(0.0)
    }

    /// Twice the logarithm of the likelihood ratio (the G statistic): how much the value says of the marks.
    ///
    /// If one value decides which calls go wrong, no other can say more of them than it does (the data
    /// processing inequality), however often the two come together: so causes come before what goes with
    /// them.
    pub(crate) fn information(self) -> f64 {
        let all = (self.marked_of + self.others_of) as f64;
        let having = (self.marked + self.others) as f64;
        let cell = |count: u64, row: f64, column: u64| {
            let count = count as f64;
            if count == 0.0 { 0.0 } else { count * libm::log(count * all / (row * column as f64)) }
        };
        let without = all - having;
        2.0 * (cell(self.marked, having, self.marked_of)
            + cell(self.others, having, self.others_of)
            + cell(self.marked_of - self.marked, without, self.marked_of)
            + cell(self.others_of - self.others, without, self.others_of))
    }

    /// The odds of having it among the marked over those among the others, drawn towards 1 where there are
    /// few calls (Haldane and Anscombe: half a call more in each cell).
    pub(crate) fn odds_ratio(self) -> f64 {
        let cell = |count: u64| count as f64 + 0.5;
        cell(self.marked) * cell(self.others_of - self.others)
            / (cell(self.marked_of - self.marked) * cell(self.others))
    }

    /// The share of the marked that have it, from 0 to 1.
    pub(crate) fn marked_share(self) -> f64 {
        share(self.marked, self.marked_of)
    }

    /// The share of the others.
    pub(crate) fn others_share(self) -> f64 {
        share(self.others, self.others_of)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The logarithm of the number of ways to choose `some` of `all`.
fn ln_choose(all: u64, some: u64) -> f64 {
    let ln_factorial = |number: u64| libm::lgamma(number as f64 + 1.0);
    ln_factorial(all) - ln_factorial(some) - ln_factorial(all - some)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shares(marked: u64, marked_of: u64, others: u64, others_of: u64) -> Shares {
        Shares { marked, marked_of, others, others_of }
    }

    /// The same chance, counted by trying every way to deal out the marks.
    fn tried(shares: Shares) -> f64 {
        let having = shares.marked + shares.others;
        let all = shares.marked_of + shares.others_of;
        let (mut as_many, mut ways) = (0_u64, 0_u64);
        for deal in 0_u64..1 << all {
            if u64::from(deal.count_ones()) == shares.marked_of {
                ways += 1;
                let with = (deal & ((1 << having) - 1)).count_ones();
                as_many += u64::from(u64::from(with) >= shares.marked);
            }
        }
        as_many as f64 / ways as f64
    }

    #[test]
    fn known_chances() {
        // Fisher's tea: all four cups of one kind found among eight.
        let tea = shares(4, 4, 0, 4).ln_chance();
        assert!((tea.exp() - 1.0 / 70.0).abs() < 1e-12, "{tea}");
        // The sum as it is defined, over all that are as far off or further.
        let term = |k| ln_choose(15, k) + ln_choose(45, 17 - k) - ln_choose(60, 17);
        let chance: f64 = (12..=15).map(|k| term(k).exp()).sum();
        assert!((shares(12, 17, 3, 43).ln_chance().exp() / chance - 1.0).abs() < 1e-9);
        // Far below what a float can hold.
        let tiny = shares(5_000, 5_000, 100, 1_000_000).ln_chance();
        assert!(tiny.is_finite() && tiny < -20_000.0, "{tiny}");
        assert_eq!(shares(1, 10, 10, 100).ln_chance(), 0.0);
        assert_eq!(shares(0, 0, 0, 0).ln_chance(), 0.0);
    }

    #[test]
    fn what_says_nothing_has_no_information() {
        assert!(shares(10, 100, 100, 1_000).information().abs() < 1e-9);
        let (all, half) = (shares(100, 100, 0, 900), shares(50, 100, 0, 900));
        assert!(all.information() > half.information());
        // A value that only the marked have, and all of them: twice the entropy of the marks in nats.
        let entropy = -(0.1 * 0.1_f64.ln() + 0.9 * 0.9_f64.ln()) * 1_000.0;
        assert!((all.information() - 2.0 * entropy).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn the_chance_is_that_of_dealing_out_the_marks(
            marked_of in 0_u64..8, others_of in 0_u64..8, marked in 0_u64..8, others in 0_u64..8,
        ) {
            let shares = shares(marked.min(marked_of), marked_of, others.min(others_of), others_of);
            let chance = shares.ln_chance().exp();
            let tried = if shares.is_more() { tried(shares) } else { 1.0 };
            prop_assert!((chance - tried).abs() < 1e-9, "{shares:?}: {chance} and {tried}");
        }
    }
}

//! Key performance indicators of signalling: pure functions over the final codes of call attempts.
//!
//! An attempt is counted once, however many INVITEs, challenges and forks it took: a 401 or 407 that is then
//! answered is the same attempt, and its code here is the last final one.

/// Call attempts by outcome: pairs of final code and number of attempts. Code 0 is no final answer.
#[derive(Clone, Copy, Debug)]
pub struct Outcomes<'a>(pub &'a [(u16, u64)]);

impl Outcomes<'_> {
    /// All attempts.
    pub fn attempts(&self) -> u64 {
        self.count(|_| true)
    }

    /// Attempts whose final code satisfies `is`.
    pub fn count(&self, is: impl Fn(u16) -> bool) -> u64 {
        self.0.iter().filter(|&&(code, _)| is(code)).fold(0, |sum, &(_, number)| sum.saturating_add(number))
    }
}

/// A ratio of call attempts. It keeps both counts, which are always shown with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KpiRatio {
    /// Matching attempts.
    pub part: u64,
    /// All attempts.
    pub of: u64,
}

impl KpiRatio {
    /// In percent; `None` without attempts.
    pub fn percent(self) -> Option<f64> {
        (self.of > 0).then(|| 100.0 * self.part as f64 / self.of as f64)
    }
}

/// An indicator that is a ratio of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kpi {
    /// Answer-seizure ratio, ITU-T E.411.
    Asr,
    /// Network effectiveness ratio, ITU-T E.425.
    Ner,
    /// Session establishment ratio, RFC 6076 section 4.6.
    Ser,
    /// Session establishment effectiveness ratio, RFC 6076 section 4.7.
    Seer,
    /// Ineffective session attempts, RFC 6076 section 4.8.
    Isa,
}

impl Kpi {
    /// All indicators, in display order.
    pub const ALL: [Self; 5] = [Self::Asr, Self::Ner, Self::Ser, Self::Seer, Self::Isa];

    /// The short name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Asr => "ASR",
            Self::Ner => "NER",
            Self::Ser => "SER",
            Self::Seer => "SEER",
            Self::Isa => "ISA",
        }
    }

    /// The definition, to be shown beside the number: others define some of these differently.
    pub const fn definition(self) -> &'static str {
        match self {
            Self::Asr => "answered (2xx) / attempts, redirected ones included",
            Self::Ner => "E.425: (answered, 480, 486, 487, 600 and 603) / attempts",
            Self::Ser => "RFC 6076: answered (2xx) / (attempts - redirected 3xx)",
            Self::Seer => "RFC 6076: (answered, 480, 486, 600 and 603) / (attempts - redirected 3xx)",
            Self::Isa => "RFC 6076: (408, 500, 503 and 504) / attempts",
        }
    }

    /// Its value with the counts.
    pub fn of(self, outcomes: Outcomes<'_>) -> KpiRatio {
        let answered = |code: u16| (200..300).contains(&code);
        let redirected = outcomes.count(|code| (300..400).contains(&code));
        let attempts = outcomes.attempts();
        let established = attempts.saturating_sub(redirected);
        let (part, of) = match self {
            Self::Asr => (outcomes.count(answered), attempts),
            Self::Ner => (
                outcomes.count(|code| answered(code) || matches!(code, 480 | 486 | 487 | 600 | 603)),
                attempts,
            ),
            Self::Ser => (outcomes.count(answered), established),
            Self::Seer => {
                (outcomes.count(|code| answered(code) || matches!(code, 480 | 486 | 600 | 603)), established)
            }
            Self::Isa => (outcomes.count(|code| matches!(code, 408 | 500 | 503 | 504)), attempts),
        };
        KpiRatio { part, of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let outcomes =
            Outcomes(&[(200, 50), (486, 10), (487, 5), (503, 8), (302, 7), (404, 6), (0, 4), (603, 10)]);
        let value = |kpi: Kpi| kpi.of(outcomes);
        assert_eq!(value(Kpi::Asr), KpiRatio { part: 50, of: 100 });
        assert_eq!(value(Kpi::Ner), KpiRatio { part: 75, of: 100 });
        assert_eq!(value(Kpi::Ser), KpiRatio { part: 50, of: 93 });
        assert_eq!(value(Kpi::Seer), KpiRatio { part: 70, of: 93 });
        assert_eq!(value(Kpi::Isa), KpiRatio { part: 8, of: 100 });
        assert_eq!(value(Kpi::Ner).percent(), Some(75.0));
    }

    #[test]
    fn nothing_is_not_zero() {
        for kpi in Kpi::ALL {
            assert_eq!(kpi.of(Outcomes(&[])).percent(), None);
        }
        assert_eq!(Kpi::Ser.of(Outcomes(&[(302, 3)])).percent(), None);
        let most = Outcomes(&[(200, u64::MAX), (486, u64::MAX)]);
        assert_eq!(Kpi::Asr.of(most).percent(), Some(100.0));
    }
}

//! How long the laws of a country have records of communications kept.

use serde::{Deserialize, Serialize};

use super::key::{KeyValue, quoted};
use super::values::{Span, choice};

choice! {
    /// Whose law says how long records are kept.
    pub(crate) enum Country {
        /// None's.
        None = "",
        /// Directive 2006/24/EC.
        Eu = "EU",
        /// Spain.
        Es = "ES",
        /// France.
        Fr = "FR",
        /// The United Kingdom.
        Gb = "GB",
        /// Ireland.
        Ie = "IE",
        /// Italy.
        It = "IT",
    }
}

/// What a law says: at least and at most so many days, of a category of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term {
    least: u64,
    most: u64,
}

/// The law of a country.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Law {
    /// Which text says it.
    text: &'static str,
    /// Calls, attempts and registrations.
    calls: Term,
    /// Who had an address. None where the law leaves it out.
    sessions: Option<Term>,
}

// A month is as long as the longest months in a row are.
const SIX_MONTHS: u64 = 184;
const YEAR: u64 = 366;
const TWO_YEARS: u64 = 731;
const ONE: Term = Term { least: YEAR, most: YEAR };
const TWO: Term = Term { least: TWO_YEARS, most: TWO_YEARS };

impl Country {
    fn law(self) -> Option<Law> {
        let directive = Term { least: SIX_MONTHS, most: TWO_YEARS };
        let (text, calls, sessions) = match self {
            Self::None => return None,
            Self::Eu => ("Directive 2006/24/EC, Article 6", directive, Some(directive)),
            Self::Es => {
                let term = Term { least: YEAR, most: TWO_YEARS };
                ("Ley 25/2007, artículo 5", term, Some(term))
            }
            Self::Fr => {
                ("Code des postes et des communications électroniques, article R. 10-13", ONE, Some(ONE))
            }
            Self::Gb => ("SI 2007/2199, regulation 4", ONE, None),
            Self::Ie => ("Communications (Retention of Data) Act 2011, section 3", TWO, Some(ONE)),
            Self::It => ("Decreto legislativo 196/2003, articolo 132", TWO, Some(ONE)),
        };
        Some(Law { text, calls, sessions })
    }

    /// The country of a name; None's law where there is none.
    pub(crate) fn of_name(name: &str) -> Self {
        let all = [Self::Eu, Self::Es, Self::Fr, Self::Gb, Self::Ie, Self::It];
        all.into_iter().find(|one| one.written() == quoted(name)).unwrap_or(Self::None)
    }

    /// The keys that it sets where a file does not, as a file has them: what the law has kept, and no longer.
    pub(crate) fn text(self) -> String {
        let Some(law) = self.law() else { return String::new() };
        let sessions = law.sessions.map(|term| format!("retain_sessions = \"{}d\"\n", term.least));
        format!("[store]\nretain = \"{}d\"\n{}", law.calls.least, sessions.unwrap_or_default())
    }

    /// What is kept, and by which law; None without a country.
    pub(crate) fn kept(self, records: Span, sessions: Span) -> Option<String> {
        let law = self.law()?;
        let days = |span: Span| span.0.0 / DAY;
        Some(format!("records for {} days, sessions for {}, by {}", days(records), days(sessions), law.text))
    }

    /// What is wrong with how long records and sessions are kept: the key, and how to correct it.
    pub(crate) fn check(self, records: Span, sessions: Span) -> Result<(), (&'static str, String)> {
        let Some(law) = self.law() else { return Ok(()) };
        let kept = [("retain", records, Some(law.calls)), ("retain_sessions", sessions, law.sessions)];
        for (key, span, term) in kept {
            let Some(Term { least, most }) = term else { continue };
            let is_right = (least * DAY..=most * DAY).contains(&span.0.0);
            if !is_right {
                let term = if least == most { format!("{least}d") } else { format!("{least}d to {most}d") };
                let problem = format!(
                    "must be {term} by {}, which `country` in [retention] names: remove the key for \
                     {least}d, or the country if another law counts",
                    law.text
                );
                return Err((key, problem));
            }
        }
        Ok(())
    }
}

const DAY: u64 = 86_400_000_000_000;

#[cfg(test)]
mod tests {
    use super::super::Config;

    fn parsed(text: &str) -> Result<(u64, u64), String> {
        let config =
            Config::parse(&format!("[capture]\nfiles = [\"a\"]\n{text}")).map_err(|e| e.to_string())?;
        let retain = config.store.retained();
        Ok((retain.records.0 / super::DAY, retain.sessions.0 / super::DAY))
    }

    #[test]
    fn a_country_says_how_long_each_kind_of_record_is_kept() {
        let of = |country: &str| parsed(&format!("[retention]\ncountry = \"{country}\"\n")).unwrap();
        assert_eq!((of("EU"), of("IT"), of("")), ((184, 184), (731, 366), (0, 0)));
        assert_eq!(of("GB"), (366, 366), "sessions are kept as records are, where the law leaves them out");
        let longer =
            "[store]\nretain = \"400d\"\nretain_sessions = \"200d\"\n[retention]\ncountry = \"EU\"\n";
        assert_eq!(parsed(longer).unwrap(), (400, 200));
    }

    #[test]
    fn what_a_law_forbids_is_refused_and_the_law_is_named() {
        let refused = |keys: &str, country: &str| {
            parsed(&format!("[store]\n{keys}\n[retention]\ncountry = \"{country}\"\n")).unwrap_err()
        };
        let short = refused("retain = \"90d\"", "EU");
        assert!(
            short.contains("[store] retain: must be 184d to 731d by Directive 2006/24/EC, Article 6"),
            "{short}"
        );
        let for_ever = refused("retain = \"0s\"", "ES");
        assert!(for_ever.contains("[store] retain: must be 366d to 731d by Ley 25/2007"), "{for_ever}");
        let sessions = refused("retain_sessions = \"731d\"", "IE");
        assert!(sessions.contains("[store] retain_sessions: must be 366d by Communications"), "{sessions}");
        let unknown = parsed("[retention]\ncountry = \"XX\"\n").unwrap_err();
        assert!(unknown.contains("\"ES\""), "{unknown}");
    }
}

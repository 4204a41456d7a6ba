//! Which calls somebody may see at all: those of some trunks and numbers.

use ringtap_model::Call;
use ringtap_model::filter::{NumberPattern, Pattern};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A part of the calls. Everything outside of it does not exist for whoever has the scope: not by its id, not
/// in a search, not in a count.
///
/// It is a list of limits that all hold. No limit is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    limits: Vec<Limit>,
}

/// A limit to trunks and numbers; `None` does not limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// One of the call's trunks matches one of these.
    pub trunks: Option<Vec<Pattern>>,
    /// One of the call's parties matches one of these.
    pub numbers: Option<Vec<NumberPattern>>,
}

impl Scope {
    /// All calls.
    pub const fn everything() -> Self {
        Self { limits: Vec::new() }
    }

    /// Those that a limit lets through.
    pub fn limited(limit: Limit) -> Self {
        let Limit { trunks: None, numbers: None } = limit else { return Self { limits: vec![limit] } };
        Self::everything()
    }

    /// Parses patterns, as on the command line. An empty list does not limit.
    ///
    /// # Errors
    ///
    /// A text that is no pattern.
    pub fn parse(trunks: &[String], numbers: &[String]) -> Result<Self, Error> {
        let wrong = |what, pattern: &String| {
            let pattern = pattern.clone();
            move |problem| Error::Pattern { what, pattern, problem }
        };
        let trunks: Result<Vec<Pattern>, Error> =
            trunks.iter().map(|text| text.parse().map_err(wrong("trunks", text))).collect();
        let numbers: Result<Vec<NumberPattern>, Error> =
            numbers.iter().map(|text| text.parse().map_err(wrong("numbers", text))).collect();
        let (trunks, numbers) = (trunks?, numbers?);
        Ok(Self::limited(Limit {
            trunks: (!trunks.is_empty()).then_some(trunks),
            numbers: (!numbers.is_empty()).then_some(numbers),
        }))
    }

    /// What is in both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut limits = self.limits.clone();
        limits.extend(other.limits.iter().filter(|limit| !self.limits.contains(limit)).cloned());
        Self { limits }
    }

    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.limits.is_empty()
    }

    /// The limits, all of which hold: to be made conditions of a search.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// Whether trunks alone limit it, so that all calls of a trunk are in it or none by their numbers.
    pub fn is_of_trunks(&self) -> bool {
        self.limits.iter().all(|limit| limit.numbers.is_none())
    }

    /// Whether all calls of a trunk are in it, whatever their numbers.
    pub fn has_trunk(&self, name: &str) -> bool {
        self.is_of_trunks() && self.has(&[name], &[])
    }

    /// Whether something with these trunks and these numbers is in it. What has no trunk is in no scope that
    /// is limited to trunks, and what has no number in none that is limited to numbers.
    pub fn has(&self, trunks: &[&str], numbers: &[&str]) -> bool {
        self.limits.iter().all(|limit| {
            let trunk = |patterns: &Vec<Pattern>| {
                patterns.iter().any(|pattern| trunks.iter().any(|trunk| pattern.matches(trunk)))
            };
            let number = |patterns: &Vec<NumberPattern>| {
                patterns.iter().any(|pattern| numbers.iter().any(|number| pattern.matches(number)))
            };
            limit.trunks.as_ref().is_none_or(trunk) && limit.numbers.as_ref().is_none_or(number)
        })
    }

    /// Whether a call is in it: by either of its trunks, and any of its parties, as a search by `number`
    /// finds it.
    pub fn has_call(&self, call: &Call) -> bool {
        if self.is_everything() {
            return true;
        }
        let trunks = [&call.trunk_from, &call.trunk_to].into_iter().flatten();
        let parties = [&call.from_user, &call.asserted_identity, &call.to_user, &call.ruri_user];
        let parties = parties.into_iter().flatten().chain(&call.diverted_to);
        let trunks: Vec<&str> = trunks.map(String::as_str).collect();
        let numbers: Vec<&str> = parties.map(String::as_str).collect();
        self.has(&trunks, &numbers)
    }
}

/// A limit as JSON: `{"trunks": ["carrier-*"], "numbers": null}`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitText {
    trunks: Option<Vec<String>>,
    numbers: Option<Vec<String>>,
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let texts = |limit: &Limit| LimitText {
            trunks: limit.trunks.as_ref().map(|list| list.iter().map(Pattern::to_string).collect()),
            numbers: limit.numbers.as_ref().map(|list| list.iter().map(NumberPattern::to_string).collect()),
        };
        serializer.collect_seq(self.limits.iter().map(texts))
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parsed = |limit: LimitText| -> Result<Limit, String> {
            let trunks = limit.trunks.map(|list| list.iter().map(|text| text.parse()).collect());
            let numbers = limit.numbers.map(|list| list.iter().map(|text| text.parse()).collect());
            Ok(Limit { trunks: trunks.transpose()?, numbers: numbers.transpose()? })
        };
        let limits = Vec::<LimitText>::deserialize(deserializer)?;
        let limits: Result<Vec<Limit>, String> = limits.into_iter().map(parsed).collect();
        limits.map(|limits| Self { limits }).map_err(serde::de::Error::custom)
    }
}

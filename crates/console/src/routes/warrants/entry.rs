//! What somebody enters, read: every mistake of it at once.

use ringtap_model::Nanos;
use ringtap_warrant::{CountryCode, NewWarrant, NotATarget, SecretText, Target};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::problem::{FieldMistake, Problem};
use crate::request::int64;

/// A warrant to be entered.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewWarrant)]
pub(crate) struct Entry {
    /// Lawful interception identifier: 1 to 25 ASCII characters, or 0x and hex digits.
    #[schema(value_type = String, example = "LI-2026-017")]
    liid: SecretText,
    /// Number of the case.
    #[schema(value_type = String)]
    case: SecretText,
    /// Court or authority that has ordered it.
    #[schema(value_type = String)]
    authority: SecretText,
    /// Law and order that it rests on.
    #[schema(value_type = String)]
    legal_basis: SecretText,
    /// Who asked for it.
    #[schema(value_type = String)]
    requester: SecretText,
    /// Country whose law it is by, as two letters.
    #[schema(example = "GB")]
    authorisation_country: String,
    /// Country where it is delivered; the same unless it is given.
    #[serde(default)]
    delivery_country: Option<String>,
    /// Name of the agency that it is delivered to.
    #[schema(example = "agency-a")]
    agency: String,
    /// Number of the mediation function, where there are several.
    #[serde(default)]
    mediation_function: Option<u32>,
    /// Identifies the operator to the agency.
    operator: String,
    /// From then; from now on unless it is given.
    #[serde(default, deserialize_with = "int64")]
    begins_us: Option<u64>,
    /// Before then.
    #[serde(deserialize_with = "time")]
    ends_us: u64,
    /// `iri`, `content` or `both`.
    #[schema(example = "both")]
    delivers: String,
    /// The key that encrypts payloads: 48 or 64 hex digits. They are not encrypted unless it is given.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    payload_key: Option<SecretText>,
    /// Whom it is about: 1 to 256, such as `user~:alice@example.org` (docs/manual/warrants.md).
    #[schema(value_type = Vec<String>)]
    targets: Vec<SecretText>,
}

/// A time as far as 63 bits hold it.
pub(super) fn time<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    int64(deserializer)?.ok_or_else(|| serde::de::Error::custom("it is null"))
}

impl Entry {
    /// The warrant, if all of it can be read.
    pub(crate) fn warrant(self, now: Nanos) -> Result<NewWarrant, Problem> {
        let mut mistakes = Vec::new();
        let country = self.delivery_country.as_ref().filter(|country| !country.trim().is_empty());
        let liid = read("liid", &self.liid, &mut mistakes);
        let authorisation_country =
            read::<CountryCode>("authorisation_country", &self.authorisation_country, &mut mistakes);
        let delivery_country = match country {
            Some(country) => read("delivery_country", country, &mut mistakes),
            None => authorisation_country,
        };
        let delivers = read("delivers", &self.delivers, &mut mistakes);
        let key = self.payload_key.filter(|key| !key.trim().is_empty());
        let payload_key = key.map(|key| read("payload_key", &key, &mut mistakes));
        let targets = targets(&self.targets, &mut mistakes);
        if !mistakes.is_empty() {
            return Err(Problem::fields(mistakes));
        }
        // What could not be read is a mistake.
        let none = || Problem::request("the warrant cannot be read", "send it again");
        Ok(NewWarrant {
            liid: liid.ok_or_else(none)?,
            case_number: self.case,
            authority: self.authority,
            legal_basis: self.legal_basis,
            requester: self.requester,
            authorisation_country: authorisation_country.ok_or_else(none)?,
            delivery_country: delivery_country.ok_or_else(none)?,
            agency: self.agency,
            mediation_function: self.mediation_function,
            operator: self.operator,
            begins: self.begins_us.map_or(now, Nanos::from_micros),
            ends: Nanos::from_micros(self.ends_us),
            delivers: delivers.ok_or_else(none)?,
            payload_key: payload_key.map(|key| key.ok_or_else(none)).transpose()?,
            targets,
        })
    }
}

/// Reads a field; a mistake is noted, without what was written there.
fn read<T: std::str::FromStr>(field: &str, text: &str, mistakes: &mut Vec<FieldMistake>) -> Option<T>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| mistakes.push(FieldMistake::of(field, error.to_string()))).ok()
}

fn targets(texts: &[SecretText], mistakes: &mut Vec<FieldMistake>) -> Vec<Target> {
    let mut targets = Vec::new();
    for (entry, text) in texts.iter().enumerate() {
        match text.parse::<Target>() {
            Ok(target) => targets.push(target),
            Err(error) => mistakes.push(mistake(entry, text, error)),
        }
    }
    targets
}

/// Where a target is wrong: its kind, or what follows the colon.
fn mistake(entry: usize, text: &str, error: NotATarget) -> FieldMistake {
    let begin = text.chars().take_while(|c| c.is_whitespace()).count();
    let whole = text.trim().chars().count();
    let kind = text.trim().chars().position(|c| c == ':');
    let (column, length) = match (error.kind, kind) {
        (Some(_), Some(kind)) => (begin + kind + 2, (whole - kind - 1).max(1)),
        (_, kind) => (begin + 1, kind.unwrap_or(whole).max(1)),
    };
    FieldMistake {
        field: "targets".to_owned(),
        entry: Some(entry),
        column: Some(column),
        length: Some(length),
        problem: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_target_is_named_by_its_place_and_not_repeated() {
        for (text, place) in [
            ("zebra", (1, 5)),
            ("  zebra:1", (3, 5)),
            ("", (1, 1)),
            ("sip:zebra", (5, 5)),
            (" imsi:zébra ", (7, 5)),
            ("sip:", (5, 1)),
        ] {
            let mut mistakes = Vec::new();
            let texts = [SecretText::from("user:right"), SecretText::from(text)];
            assert_eq!(targets(&texts, &mut mistakes).len(), 1);
            let FieldMistake { entry, column, length, problem, .. } = &mistakes[0];
            assert_eq!((*entry, *column, *length), (Some(1), Some(place.0), Some(place.1)), "{text:?}");
            assert!(!problem.contains("ebra"), "{problem}");
        }
    }
}

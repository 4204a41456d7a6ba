//! Numbers that are written differently on two legs and are the same.

use crate::settings::NumberPlan;

/// A party of a call: its digits, or the name that it has instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    /// Digits without prefixes as far as these are known, or the name in small letters.
    text: Box<str>,
    kind: NumberKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberKind {
    /// With its country code.
    International,
    /// Of unknown scope: leading zeros are left out.
    Digits,
    Name,
}

/// Whether two parties are the same, as far as both are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    Same,
    Different,
    Unknown,
}

impl Number {
    /// The party that a user part names; none where it hides it (RFC 3323 section 4.1.1.3).
    pub(crate) fn parse(user: &str, plan: &NumberPlan) -> Option<Self> {
        // Parameters of a telephone number (RFC 3966) follow a semicolon.
        let user = user.split(';').next().unwrap_or_default().trim();
        if user.is_empty() || HIDDEN.iter().any(|word| user.eq_ignore_ascii_case(word)) {
            return None;
        }
        let digits: String = user.chars().filter(|c| !"-.()/ ".contains(*c)).collect();
        let plain = digits.strip_prefix('+').unwrap_or(&digits);
        if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self { text: user.to_lowercase().into(), kind: NumberKind::Name });
        }
        let after = |prefix: &str| plain.strip_prefix(prefix).filter(|_| !prefix.is_empty());
        let (text, kind) = if plain.len() < digits.len() {
            (plain.to_owned(), NumberKind::International)
        } else if let Some(rest) = after(&plan.international_prefix).filter(|rest| rest.len() >= TAIL) {
            (rest.to_owned(), NumberKind::International)
        } else if let Some(rest) = after(&plan.trunk_prefix).filter(|_| !plan.country.is_empty()) {
            (format!("{}{rest}", plan.country), NumberKind::International)
        } else {
            (plain.trim_start_matches('0').to_owned(), NumberKind::Digits)
        };
        Some(Self { text: text.into(), kind })
    }

    /// What equal numbers have in common, however they are written: their last digits.
    pub(crate) fn tail(&self) -> &str {
        match self.kind {
            NumberKind::Name => &self.text,
            _ => &self.text[self.text.len().saturating_sub(TAIL)..],
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        if self.kind == other.kind && self.kind != NumberKind::Digits {
            return self.text == other.text;
        }
        let (short, long) = if self.text.len() <= other.text.len() { (self, other) } else { (other, self) };
        let is_digits = [short, long].iter().all(|number| number.kind != NumberKind::Name);
        // An extension is not the end of every number that ends so.
        short.text == long.text || is_digits && short.text.len() >= TAIL && long.text.ends_with(&*short.text)
    }
}

/// Whether both are the same party.
pub(crate) fn agreement(one: Option<&Number>, other: Option<&Number>) -> Agreement {
    match (one, other) {
        (Some(one), Some(other)) if one.is_same(other) => Agreement::Same,
        (Some(_), Some(_)) => Agreement::Different,
        _ => Agreement::Unknown,
    }
}

/// Digits that make a number: what is shorter is an extension or a service.
const TAIL: usize = 7;
/// User parts of callers who do not say who they are.
const HIDDEN: [&str; 6] = ["anonymous", "unknown", "restricted", "unavailable", "private", "asterisk"];

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> NumberPlan {
        NumberPlan { country: "49".into(), ..NumberPlan::default() }
    }

    fn of(one: &str, other: &str, plan: &NumberPlan) -> Agreement {
        agreement(Number::parse(one, plan).as_ref(), Number::parse(other, plan).as_ref())
    }

    #[test]
    fn one_number_in_every_way_of_writing_it() {
        let ways = ["+4930123456", "004930123456", "030123456", "+49 (30) 123-456", "030/12 34 56"];
        for one in ways {
            for other in ways {
                assert_eq!(of(one, other, &plan()), Agreement::Same, "{one} {other}");
            }
            assert_eq!(of(one, "+4930123457", &plan()), Agreement::Different, "{one}");
            assert_eq!(of(one, "+4830123456", &plan()), Agreement::Different, "{one}");
        }
        // Without a country only last digits are compared.
        let nowhere = NumberPlan::default();
        assert_eq!(of("+4930123456", "030123456", &nowhere), Agreement::Same);
        assert_eq!(of("+4930123456", "+4830123456", &nowhere), Agreement::Different);
    }

    #[test]
    fn an_extension_is_no_end_of_a_number_and_a_name_no_number() {
        assert_eq!(of("3456", "+4930123456", &plan()), Agreement::Different);
        assert_eq!(of("3456", "3456", &plan()), Agreement::Same);
        assert_eq!(of("Alice", "alice", &plan()), Agreement::Same);
        assert_eq!(of("alice", "1234567", &plan()), Agreement::Different);
        assert_eq!(of("+4930123456;phone-context=x", "+4930123456", &plan()), Agreement::Same);
        for hidden in ["Anonymous", "", "unknown", " "] {
            assert_eq!(of(hidden, hidden, &plan()), Agreement::Unknown);
        }
    }

    #[test]
    fn same_numbers_have_the_same_tail() {
        let tail = |number: &str| Number::parse(number, &plan()).map(|number| number.tail().to_owned());
        assert_eq!(tail("+4930123456"), tail("030123456"));
        assert_eq!(tail("0123456"), Some("9123456".into()));
        assert_eq!(tail("12"), Some("12".into()));
    }
}

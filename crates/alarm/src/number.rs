//! Telephone numbers: which country they are of, and whether they are premium numbers.

use crate::settings::Settings;

/// A number that is called, as rules see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number {
    /// `+` and digits where the country is known, else as it was written, at most 64 bytes.
    pub(crate) text: String,
    /// Country code, with a number that has one.
    pub(crate) country: Option<u16>,
    /// Its digits, where it has no others.
    pub(crate) digits: Option<u64>,
}

/// How numbers are written here, and which are premium.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumberPlan {
    country: String,
    home: Option<u16>,
    trunk_prefix: String,
    international_prefix: String,
    premium: Vec<String>,
}

impl NumberPlan {
    pub(crate) fn new(settings: &Settings) -> Self {
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let country = digits(&settings.country);
        Self {
            home: country_code(&country),
            country,
            trunk_prefix: settings.trunk_prefix.clone(),
            international_prefix: settings.international_prefix.clone(),
            premium: settings
                .premium
                .iter()
                .map(|prefix| digits(prefix))
                .filter(|prefix| !prefix.is_empty())
                .collect(),
        }
    }

    /// The number of a user part.
    pub(crate) fn parse(&self, user: &str) -> Number {
        // Parameters of a telephone number (RFC 3966) follow a semicolon.
        let user = user.split(';').next().unwrap_or_default().trim();
        let is_separator = |c: char| matches!(c, ' ' | '-' | '.' | '(' | ')' | '/');
        let plain: String = user.chars().filter(|c| !is_separator(*c)).take(LONGEST + 8).collect();
        let digits = plain.strip_prefix('+').unwrap_or(&plain);
        if digits.is_empty() || digits.len() > LONGEST || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Number { text: printable(user), country: None, digits: None };
        }
        let after = |prefix: &str| digits.strip_prefix(prefix).filter(|_| !prefix.is_empty());
        let national = || after(&self.trunk_prefix).filter(|_| !self.country.is_empty());
        let international = if digits.len() < plain.len() {
            Some(digits.to_owned())
        } else if let Some(rest) = after(&self.international_prefix) {
            Some(rest.to_owned())
        } else {
            national().map(|rest| format!("{}{rest}", self.country))
        };
        match international.filter(|number| country_code(number).is_some()) {
            Some(number) => Number {
                country: country_code(&number),
                digits: number.parse().ok(),
                text: format!("+{number}"),
            },
            None => Number { digits: digits.parse().ok(), country: None, text: plain },
        }
    }

    /// Whether it is abroad. Without a country of ours, whatever has a country is.
    pub(crate) fn is_abroad(&self, number: &Number) -> bool {
        number.country.is_some() && number.country != self.home
    }

    pub(crate) fn is_premium(&self, number: &Number) -> bool {
        let digits = number.text.strip_prefix('+');
        digits.is_some_and(|digits| self.premium.iter().any(|prefix| digits.starts_with(prefix.as_str())))
    }
}

/// The country code that a number with one begins with (ITU-T E.164, list of 2016: zones 1 and 7 have one
/// digit, the listed ones two, all others three).
pub(crate) fn country_code(digits: &str) -> Option<u16> {
    let length = match digits.as_bytes() {
        [b'0', ..] | [] => return None,
        [b'1' | b'7', ..] => 1,
        [b'2', b'0' | b'7', ..]
        | [b'3', b'0'..=b'4' | b'6' | b'9', ..]
        | [b'4', b'0' | b'1' | b'3'..=b'9', ..]
        | [b'5', b'1'..=b'8', ..]
        | [b'6', b'0'..=b'6', ..]
        | [b'8', b'1' | b'2' | b'4' | b'6', ..]
        | [b'9', b'0'..=b'5' | b'8', ..] => 2,
        _ => 3,
    };
    digits.get(..length)?.parse().ok()
}

/// A text of the wire as a name: at most 64 bytes, without control characters.
pub(crate) fn printable(text: &str) -> String {
    let cut = ringtap_kpi::key::cut(text);
    cut.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// A number of 64 bits of a text: FNV-1a, the same in every run.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Digits of the longest number: 15 in E.164, and a prefix.
const LONGEST: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> NumberPlan {
        NumberPlan::new(&Settings {
            country: "49".into(),
            premium: vec!["+49900".into(), "+881".into()],
            ..Settings::default()
        })
    }

    #[test]
    fn numbers_and_their_countries() {
        for (written, text, country) in [
            ("+49 (30) 1234", "+49301234", Some(49)),
            ("0049301234", "+49301234", Some(49)),
            ("0301234", "+49301234", Some(49)),
            ("+1 876 555 0100", "+18765550100", Some(1)),
            ("+78121234567", "+78121234567", Some(7)),
            ("00420602222222", "+420602222222", Some(420)),
            ("+88213000000", "+88213000000", Some(882)),
            ("+4930;phone-context=x", "+4930", Some(49)),
            ("112", "112", None),
            ("2001", "2001", None),
            ("+0123", "+0123", None),
            ("+", "+", None),
            ("alice", "alice", None),
            ("ev\x1bil", "ev?il", None),
            ("", "", None),
        ] {
            let number = plan().parse(written);
            assert_eq!((number.text.as_str(), number.country), (text, country), "{written}");
        }
        let without = NumberPlan::new(&Settings::default());
        assert_eq!(without.parse("0301234").country, None);
        assert!(without.is_abroad(&without.parse("+49301")));
        assert!(plan().parse(&"1".repeat(500)).text.len() <= 64);
    }

    #[test]
    fn abroad_and_premium() {
        let plan = plan();
        let of = |number: &str| {
            let number = plan.parse(number);
            (plan.is_abroad(&number), plan.is_premium(&number))
        };
        assert_eq!(of("09001234567"), (false, true));
        assert_eq!(of("+8816123"), (true, true));
        assert_eq!(of("0033123"), (true, false));
        assert_eq!(of("900123"), (false, false));
    }

    /// Every assigned code of the list of 2016 is found in a number that begins with it.
    #[test]
    fn assigned_codes() {
        let two = [
            20, 27, 30, 31, 32, 33, 34, 36, 39, 40, 41, 43, 44, 45, 46, 47, 48, 49, 51, 52, 53, 54, 55, 56,
            57, 58, 60, 61, 62, 63, 64, 65, 66, 81, 82, 84, 86, 90, 91, 92, 93, 94, 95, 98,
        ];
        let three = [
            211, 212, 213, 216, 350, 358, 359, 370, 380, 385, 420, 421, 500, 590, 670, 800, 850, 852, 870,
            880, 886, 960, 970, 992, 998,
        ];
        for code in two.into_iter().chain(three).chain([1, 7]) {
            assert_eq!(country_code(&format!("{code}5551234")), Some(code));
        }
    }
}

//! Telephone numbers to compare with.

use std::fmt;
use std::str::FromStr;

use super::pattern::Pattern;

/// A number or the user part of a URI to match whole, in which `*` stands for any characters.
///
/// It matches a text as it stands. Where both are telephone numbers, it also matches the same digits:
/// visual separators (RFC 3966 section 5.1.1: `-`, `.`, `(`, `)`, and space and `/`), parameters after `;`
/// and a leading `+` or `00` before a country code make no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberPattern {
    written: Pattern,
    digits: Option<Pattern>,
}

impl NumberPattern {
    /// Numbers that match `written`, also where they are written otherwise. A text with `*` as a character of
    /// its own, such as `*72`, is compared as it is written unless it is the whole number.
    pub fn of(written: Pattern) -> Self {
        let exact = |text: &str| digits_of(text).map(|digits| Pattern::exact(&digits));
        let has_star = |pattern: &Pattern| pattern.pieces().any(|piece| piece.contains('*'));
        let digits = match written.is_exact() {
            true => exact(written.head()),
            false if has_star(&written) => None,
            false => digits_of(&written.to_string())
                .map(|digits| Pattern::of_pieces(digits.split('*').map(str::to_owned))),
        };
        Self { written, digits }
    }

    /// Whether `user` matches.
    pub fn matches(&self, user: &str) -> bool {
        self.written.matches(user)
            || self
                .digits
                .as_ref()
                .is_some_and(|digits| digits_of(user).is_some_and(|number| digits.matches(&number)))
    }

    /// As it was given.
    pub fn written(&self) -> &Pattern {
        &self.written
    }

    /// Its digits, without separators and without a leading `+` or `00`; none if it is not a telephone
    /// number.
    pub fn digits(&self) -> Option<&Pattern> {
        self.digits.as_ref()
    }
}

impl fmt::Display for NumberPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.written.fmt(f)
    }
}

impl FromStr for NumberPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self::of(text.parse()?))
    }
}

/// What separates digits for the eye.
const SEPARATORS: [char; 6] = ['-', '.', '(', ')', ' ', '/'];

/// The digits of the telephone number in the user part of a URI, without separators and without a leading `+`
/// or `00`, as [`NumberPattern::digits`] is compared with them; none if it is something else.
pub fn digits_of(user: &str) -> Option<String> {
    number(user).map(|number| without_prefix(&number).to_owned())
}

/// The telephone number in the user part of a URI, without separators; none if it is something else.
fn number(user: &str) -> Option<String> {
    let subscriber = user.split(';').next().unwrap_or_default();
    // RFC 3261 section 19.1.2 lets a `+` be escaped.
    let plus = subscriber.strip_prefix("%2B").or_else(|| subscriber.strip_prefix("%2b"));
    let (mut number, rest) = match plus {
        Some(rest) => ("+".to_owned(), rest),
        None => (String::new(), subscriber),
    };
    number.extend(rest.chars().filter(|c| !SEPARATORS.contains(c)));
    let digits = number.strip_prefix('+').unwrap_or(&number);
    let is_number = digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '*' | '#'));
    (is_number && digits.contains(|c: char| c.is_ascii_digit())).then_some(number)
}

/// A number without the `+` or `00` before its country code, which never begins with 0 (E.164).
fn without_prefix(number: &str) -> &str {
    let is_country = |rest: &&str| rest.starts_with(|c: char| matches!(c, '1'..='9'));
    let after = |prefix| number.strip_prefix(prefix).filter(is_country);
    after("+").or_else(|| after("00")).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, user: &str) -> bool {
        pattern.parse::<NumberPattern>().unwrap().matches(user)
    }

    #[test]
    fn the_last_digits_or_the_first() {
        assert!(matches("*0138", "+442079460138") && matches("*0138", "00442079460138"));
        assert!(matches("+44*", "+442079460138") && matches("+44*", "00442079460138"));
        assert!(matches("+44*", "442079460138") && matches("0044*", "+442079460138"));
        assert!(matches("44*0138", "+44 20 7946-0138") && matches("*7946*", "+44 (20) 79.46-0138"));
        assert!(!matches("*0138", "+4420794601380") && !matches("+45*", "+442079460138"));
        assert!(
            matches("+442079460138", "0044-20-7946/0138") && matches("+44 20 7946 0138", "+442079460138")
        );
    }

    #[test]
    fn a_national_number_is_another_than_an_international_one() {
        assert!(!matches("02079460138", "+442079460138"));
        assert!(matches("0*", "02079460138") && matches("0*", "00442079460138"), "as it is written");
        assert!(!matches("0*", "+442079460138"));
        assert!(matches("00*", "00442079460138") && !matches("00*", "+442079460138"));
        assert!(matches("+*", "+442079460138") && !matches("+*", "00442079460138"));
    }

    #[test]
    fn parameters_and_escapes_make_no_difference() {
        assert!(matches("*5678", "+1-212-555-5678;phone-context=example.org"));
        assert!(matches("+12125555678", "%2B12125555678"));
        assert!(matches("*0138", "alice0138"), "any text ends so");
        assert!(matches("alice", "alice") && !matches("alice", "Alice") && !matches("ali", "alice"));
        assert!(matches("*", "") && matches("*", "alice"));
        assert!(matches("*72", "*72") && matches("#31#*", "#31#5551234"));
        let exact = NumberPattern::of(Pattern::exact("*72"));
        assert!(exact.matches("*72") && !exact.matches("172") && !exact.matches("72"));
        let tail = NumberPattern::of(Pattern::of_pieces(["".into(), "*72".into()]));
        assert!(tail.matches("1*72") && !tail.matches("172"));
        assert!(!matches("*.*", "1234") && !matches("-", "1234"), "a pattern without digits is a text");
    }
}

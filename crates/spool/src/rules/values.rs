//! Values in the conditions of a rule: numbers, networks, a share of all calls.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

/// A value that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not {right}")]
pub struct InvalidValue {
    /// As it was given.
    pub given: String,
    /// What it should be.
    pub right: &'static str,
}

/// Numbers and names: exact ones, and patterns in which `*` stands for anything. A million of them are
/// searched as fast as ten, as long as the star is at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    exact: HashSet<Box<str>>,
    /// Patterns with one star at their end, without the star.
    beginnings: HashSet<Box<str>>,
    /// Their lengths, ascending.
    lengths: Vec<usize>,
    patterns: Vec<Box<str>>,
}

impl Numbers {
    /// Adds a number, a name or a pattern. Spaces, dashes, dots and brackets between digits are ignored.
    /// False if there are too many patterns with a star elsewhere than at the end: each of them is tried for
    /// each call.
    pub fn add(&mut self, text: &str) -> bool {
        let plain = plain(text);
        match plain.split_once('*') {
            None => _ = self.exact.insert(plain.into()),
            Some((beginning, "")) => {
                if let Err(place) = self.lengths.binary_search(&beginning.len()) {
                    self.lengths.insert(place, beginning.len());
                }
                self.beginnings.insert(beginning.into());
            }
            Some(_) if self.patterns.len() >= MAX_PATTERNS => return false,
            Some(_) => self.patterns.push(plain.into()),
        }
        true
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.exact.len() + self.beginnings.len() + self.patterns.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the number is one of them.
    pub fn holds(&self, number: &str) -> bool {
        let number = plain(number);
        let beginning = |length: &usize| {
            number.get(..*length).is_some_and(|beginning| self.beginnings.contains(beginning))
        };
        self.exact.contains(&*number)
            || self.lengths.iter().any(beginning)
            || self.patterns.iter().any(|pattern| fits(pattern, &number))
    }
}

/// Patterns of a list with a star elsewhere than at the end.
pub const MAX_PATTERNS: usize = 1000;

/// A telephone number without the characters that people write between its digits; other text unchanged.
fn plain(text: &str) -> String {
    let text = text.trim();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+*# -.()/".contains(&byte));
    if is_number { text.chars().filter(|char| !" -.()/".contains(*char)).collect() } else { text.to_owned() }
}

/// `*` stands for any characters, or none. The pieces between the stars are found one after the other.
fn fits(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    // `split` returns at least one piece.
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

/// A share of all calls, in millionths. Written `1%` or `0.01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallShare(u32);

impl CallShare {
    /// Whether calls with this key belong to the share: always the same for the same key.
    pub fn holds(self, key: u64) -> bool {
        // The key is a hash: its upper half is as good as random.
        ((key >> 32) * 1_000_000) >> 32 < u64::from(self.0)
    }
}

impl fmt::Display for CallShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 1e4)
    }
}

impl FromStr for CallShare {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong =
            || InvalidValue { given: text.to_owned(), right: "a share from 0% to 100%, like 1% or 0.01" };
        let (number, scale) = match text.strip_suffix('%') {
            Some(number) => (number, 1e4),
            None => (text, 1e6),
        };
        let share = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
        if (0.0..=1e6).contains(&share) { Ok(Self(share.round() as u32)) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, right) in [
            ("+4930*", "+4930123", true),
            ("+49 (30) 1-*", "+49301", true),
            ("+4930*", "+4931123", false),
            ("+4930*", "+493", false),
            ("*99", "1299", true),
            ("*99", "99", true),
            ("*99", "991", false),
            ("1*2*3", "1xx2yy3", true),
            ("1*2*3", "1xx3yy2", false),
            ("12*21", "121", false),
            ("*", "", true),
            ("*", "\u{e4}", true),
            ("a*", "\u{e4}", false),
            ("alice", "alice", true),
            ("alice", "Alice", false),
            ("al-ice", "al-ice", true),
            ("0160 1234", "01601234", true),
        ] {
            let mut numbers = Numbers::default();
            assert!(numbers.is_empty() && numbers.add(pattern) && numbers.len() == 1);
            assert_eq!(numbers.holds(text), right, "{pattern} {text}");
        }
    }

    #[test]
    fn a_long_list() {
        let mut numbers = Numbers::default();
        for number in 0..200_000 {
            numbers.add(&format!("+420{number:06}"));
            numbers.add(&format!("+421{number:06}*"));
        }
        assert_eq!(numbers.len(), 400_000);
        assert!(numbers.holds("+420 199 999") && !numbers.holds("+420200000"));
        assert!(
            numbers.holds("+4211999991234") && !numbers.holds("+421200000") && !numbers.holds("+42119999")
        );
        assert!((0..MAX_PATTERNS).all(|number| numbers.add(&format!("*{number}"))));
        assert!(!numbers.add("*0*"));
    }

    #[test]
    fn shares_of_calls() {
        assert_eq!("1%".parse::<CallShare>(), "0.01".parse());
        for wrong in ["101%", "-1%", "x", "", "1.01", "NaN"] {
            assert!(wrong.parse::<CallShare>().is_err(), "{wrong}");
        }
        let part: CallShare = "1%".parse().unwrap();
        let mut key = 1u64;
        let held = (0..100_000)
            .filter(|_| {
                // A step of a 64-bit congruential generator.
                key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                part.holds(key)
            })
            .count();
        assert!((900..=1100).contains(&held), "{held}");
        assert!(
            "100%".parse::<CallShare>().unwrap().holds(u64::MAX)
                && !"0%".parse::<CallShare>().unwrap().holds(0)
        );
    }
}

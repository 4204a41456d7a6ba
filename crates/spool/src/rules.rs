//! What is kept of which call: rules in order, the first that matches wins.
//!
//! A rule may ask what is not known yet: the codec before the answer, the quality before the end. Until it is known the
//! decision waits, and so does everything that a rule which is still possible would keep.

use std::collections::HashSet;
use std::net::IpAddr;
use std::str::FromStr;

/// What is kept of a call. Each keeps what those before it keep, and more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// Its record alone.
    #[default]
    Nothing,
    /// Its messages.
    Signalling,
    /// And its media packets without what is said in them: the RTP header and what is in front of it.
    Headers,
    /// And its media, whole.
    Full,
}

impl What {
    /// As the configuration writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Signalling => "signalling",
            Self::Headers => "headers",
            Self::Full => "full",
        }
    }
}

/// The words are others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not {right}")]
pub struct Wrong {
    /// As it was given.
    pub given: String,
    /// What it should be.
    pub right: &'static str,
}

impl FromStr for What {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        [Self::Nothing, Self::Signalling, Self::Headers, Self::Full]
            .into_iter()
            .find(|what| what.name() == text)
            .ok_or_else(|| Wrong {
                given: text.to_owned(),
                right: "one of nothing, signalling, headers, full",
            })
    }
}

/// Numbers and names: exact ones, and patterns in which `*` stands for anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    exact: HashSet<String>,
    patterns: Vec<String>,
}

impl Numbers {
    /// Takes a number, a name or a pattern. Spaces, dashes, dots and brackets between digits are left out.
    pub fn add(&mut self, text: &str) {
        let plain = plain(text);
        if plain.contains('*') {
            self.patterns.push(plain);
        } else {
            self.exact.insert(plain);
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.patterns.is_empty()
    }

    /// Whether the number is one of them.
    pub fn holds(&self, number: &str) -> bool {
        let number = plain(number);
        self.exact.contains(&number) || self.patterns.iter().any(|pattern| fits(pattern, &number))
    }
}

/// A telephone number without what people write between its digits; anything else as it is.
fn plain(text: &str) -> String {
    let text = text.trim();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+*# -.()/".contains(&byte));
    if is_number { text.chars().filter(|char| !" -.()/".contains(*char)).collect() } else { text.to_owned() }
}

/// `*` stands for any characters, none included. The pieces between the stars are found one after the other.
fn fits(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    // `split` gives at least one piece.
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

/// Addresses that share their first bits. Written `192.0.2.0/24`, `2001:db8::/32`, or an address alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Whether the address lies in it.
    pub fn holds(&self, address: IpAddr) -> bool {
        let same = |a: u128, b: u128, width: u32| {
            let rest = width - u32::from(self.bits);
            a.checked_shr(rest).unwrap_or(0) == b.checked_shr(rest).unwrap_or(0)
        };
        match (self.address, address) {
            (IpAddr::V4(net), IpAddr::V4(address)) => {
                same(net.to_bits().into(), address.to_bits().into(), 32)
            }
            (IpAddr::V6(net), IpAddr::V6(address)) => same(net.to_bits(), address.to_bits(), 128),
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        let wrong = || Wrong { given: text.to_owned(), right: "an address or a network like 192.0.2.0/24" };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits <= most { Ok(Self { address, bits }) } else { Err(wrong()) }
    }
}

/// A part of all calls, in millionths. Written `1%` or `0.01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part(u32);

impl Part {
    /// Whether calls with this key belong to the part: always the same for the same key.
    fn holds(self, key: u64) -> bool {
        // The key is a hash: its upper half is as good as random.
        ((key >> 32) * 1_000_000) >> 32 < u64::from(self.0)
    }
}

impl FromStr for Part {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        let wrong = || Wrong { given: text.to_owned(), right: "a share from 0% to 100%, like 1% or 0.01" };
        let (number, scale) = match text.strip_suffix('%') {
            Some(number) => (number, 1e4),
            None => (text, 1e6),
        };
        let share = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
        if (0.0..=1e6).contains(&share) { Ok(Self(share.round() as u32)) } else { Err(wrong()) }
    }
}

/// One rule. What it does not ask matches always.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// For people.
    pub name: String,
    /// One of the caller's numbers is among these.
    pub caller: Option<Numbers>,
    /// One of the callee's.
    pub callee: Option<Numbers>,
    /// Signalling or media come from or go to one of these.
    pub address: Vec<Network>,
    /// A stream has one of these codecs; names as in SDP, in any case.
    pub codec: Vec<String>,
    /// The worst MOS of the call is below this. Known at the end.
    pub mos_below: Option<f64>,
    /// A part of the calls that match otherwise, the same for all legs of a call.
    pub part: Option<Part>,
    /// What is kept of a call that matches.
    pub what: What,
    /// Digits that are pressed are not kept.
    pub mask_digits: bool,
}

/// What is known of a call so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// From, P-Asserted-Identity.
    pub callers: &'a [&'a str],
    /// To, Request-URI.
    pub callees: &'a [&'a str],
    /// Of signalling and media.
    pub addresses: &'a [IpAddr],
    /// Of its streams so far.
    pub codecs: &'a [&'a str],
    /// Worst MOS so far.
    pub mos: Option<f64>,
    /// Shared by all legs of the call, and otherwise random.
    pub key: u64,
    /// The call is over: nothing more becomes known.
    pub over: bool,
}

/// What the rules say of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A rule, by its place, or none.
    Decided {
        /// Of the rule that matched.
        rule: Option<usize>,
        /// What it keeps.
        what: What,
        /// Digits are masked.
        mask_digits: bool,
    },
    /// Not yet known: meanwhile this is to be kept.
    Open {
        /// The most that a rule which may still match keeps.
        what: What,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    NotYet,
}

impl Rule {
    fn asks(&self, facts: &Facts<'_>) -> Answer {
        let yes = |holds: bool| if holds { Answer::Yes } else { Answer::No };
        // What may still come is not a no.
        let later = |holds: bool, settled: bool| if holds || settled { yes(holds) } else { Answer::NotYet };
        let among = |numbers: &Option<Numbers>, given: &[&str]| {
            numbers.as_ref().map(|numbers| yes(given.iter().any(|number| numbers.holds(number))))
        };
        let address =
            facts.addresses.iter().any(|address| self.address.iter().any(|net| net.holds(*address)));
        let codec =
            facts.codecs.iter().any(|name| self.codec.iter().any(|codec| codec.eq_ignore_ascii_case(name)));
        let answers = [
            self.part.map(|part| yes(part.holds(facts.key))),
            among(&self.caller, facts.callers),
            among(&self.callee, facts.callees),
            (!self.address.is_empty()).then(|| later(address, facts.over)),
            (!self.codec.is_empty()).then(|| later(codec, facts.over)),
            self.mos_below.map(|least| later(facts.mos.is_some_and(|mos| mos < least), facts.over)),
        ];
        let mut answers = answers.into_iter().flatten();
        answers
            .try_fold(Answer::Yes, |so_far, answer| match answer {
                Answer::No => Err(Answer::No),
                Answer::NotYet => Ok(Answer::NotYet),
                Answer::Yes => Ok(so_far),
            })
            .unwrap_or(Answer::No)
    }
}

/// The rules of a configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules(pub Vec<Rule>);

impl Rules {
    /// What is to be kept of a call of which so much is known.
    pub fn decide(&self, facts: &Facts<'_>) -> Verdict {
        let mut possible: Option<What> = None;
        for (place, rule) in self.0.iter().enumerate() {
            match rule.asks(facts) {
                Answer::No => {}
                Answer::NotYet => possible = Some(possible.unwrap_or_default().max(rule.what)),
                // Behind a rule that may still match, this one does not win, but it may.
                Answer::Yes => {
                    return match possible {
                        Some(what) => Verdict::Open { what: what.max(rule.what) },
                        None => Verdict::Decided {
                            rule: Some(place),
                            what: rule.what,
                            mask_digits: rule.mask_digits,
                        },
                    };
                }
            }
        }
        match possible {
            Some(what) => Verdict::Open { what },
            None => Verdict::Decided { rule: None, what: What::Nothing, mask_digits: false },
        }
    }

    /// Whether any rule keeps anything.
    pub fn keep_anything(&self) -> bool {
        self.0.iter().any(|rule| rule.what > What::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(list: &[&str]) -> Option<Numbers> {
        let mut numbers = Numbers::default();
        list.iter().for_each(|number| numbers.add(number));
        Some(numbers)
    }

    fn decided(rule: usize, what: What) -> Verdict {
        Verdict::Decided { rule: Some(rule), what, mask_digits: false }
    }

    const NONE: Verdict = Verdict::Decided { rule: None, what: What::Nothing, mask_digits: false };

    #[test]
    fn patterns() {
        for (pattern, text, right) in [
            ("+4930*", "+4930123", true),
            ("+49 (30) 1-*", "+49301", true),
            ("+4930*", "+4931123", false),
            ("*99", "1299", true),
            ("*99", "99", true),
            ("*99", "991", false),
            ("1*2*3", "1xx2yy3", true),
            ("1*2*3", "1xx3yy2", false),
            ("12*21", "121", false),
            ("*", "", true),
            ("alice", "alice", true),
            ("alice", "Alice", false),
            ("al-ice", "al-ice", true),
            ("0160 1234", "01601234", true),
        ] {
            assert_eq!(numbers(&[pattern]).unwrap().holds(text), right, "{pattern} {text}");
        }
    }

    #[test]
    fn networks_and_parts() {
        let holds = |net: &str, address: &str| {
            net.parse::<Network>().map(|net| net.holds(address.parse().unwrap())).ok()
        };
        assert_eq!(holds("192.0.2.0/24", "192.0.2.255"), Some(true));
        assert_eq!(holds("192.0.2.0/24", "192.0.3.0"), Some(false));
        assert_eq!(holds("0.0.0.0/0", "203.0.113.9"), Some(true));
        assert_eq!(holds("192.0.2.7", "192.0.2.7"), Some(true));
        assert_eq!(holds("2001:db8::/32", "2001:db8:ffff::1"), Some(true));
        assert_eq!(holds("2001:db8::/32", "192.0.2.7"), Some(false));
        assert_eq!(holds("::/0", "2001:db8::1"), Some(true));
        for wrong in ["192.0.2.0/33", "x", "192.0.2.0/", "::/129"] {
            assert_eq!(holds(wrong, "::1"), None, "{wrong}");
        }
        assert_eq!("1%".parse::<Part>(), "0.01".parse());
        for wrong in ["101%", "-1%", "x", "", "1.01", "NaN"] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
        let part: Part = "1%".parse().unwrap();
        let mut key = 1u64;
        let held = (0..100_000)
            .filter(|_| {
                // A step of a 64-bit congruential generator.
                key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                part.holds(key)
            })
            .count();
        assert!((900..=1100).contains(&held), "{held}");
        assert!("100%".parse::<Part>().unwrap().holds(u64::MAX) && !"0%".parse::<Part>().unwrap().holds(0));
    }

    #[test]
    fn the_first_that_matches_wins_and_what_may_match_waits() {
        let rules = Rules(vec![
            Rule { caller: numbers(&["911"]), what: What::Nothing, ..Rule::default() },
            Rule { mos_below: Some(3.0), what: What::Full, ..Rule::default() },
            Rule { callee: numbers(&["+49*"]), what: What::Signalling, ..Rule::default() },
        ]);
        let facts = Facts { callers: &["911"], callees: &["+491"], ..Facts::default() };
        assert_eq!(rules.decide(&facts), decided(0, What::Nothing));
        let facts = Facts { callers: &["1"], ..facts };
        assert_eq!(rules.decide(&facts), Verdict::Open { what: What::Full });
        let bad = Facts { mos: Some(2.5), ..facts };
        assert_eq!(rules.decide(&bad), decided(1, What::Full));
        let good = Facts { mos: Some(4.2), over: true, ..facts };
        assert_eq!(rules.decide(&good), decided(2, What::Signalling));
        let other = Facts { callees: &["112"], ..good };
        assert_eq!(rules.decide(&other), NONE);
        assert!(rules.keep_anything());
        assert_eq!(Rules::default().decide(&facts), NONE);
    }

    #[test]
    fn every_condition_of_a_rule_must_hold() {
        let rules = Rules(vec![Rule {
            address: vec!["192.0.2.0/24".parse().unwrap()],
            codec: vec!["g729".into()],
            what: What::Headers,
            mask_digits: true,
            ..Rule::default()
        }]);
        let here: [IpAddr; 1] = ["192.0.2.1".parse().unwrap()];
        let facts = Facts { addresses: &here, ..Facts::default() };
        assert_eq!(rules.decide(&facts), Verdict::Open { what: What::Headers });
        let right = Facts { codecs: &["PCMU", "G729"], ..facts };
        let masked = Verdict::Decided { rule: Some(0), what: What::Headers, mask_digits: true };
        assert_eq!(rules.decide(&right), masked);
        assert_eq!(rules.decide(&Facts { addresses: &[], over: true, ..right }), NONE);
        assert_eq!(rules.decide(&Facts { codecs: &["PCMU"], over: true, ..facts }), NONE);
    }
}

//! What is kept of which call: rules in order, the first that matches wins.
//!
//! A rule may ask what is not known yet: the codec before the answer, the quality before the end. Until it is known the
//! decision waits, and so does everything that a rule which is still possible would keep.

mod table;
mod undecided;
mod values;

pub use table::{Place, Standing, State, Table};
pub use undecided::{List, Undecided, Waited};
pub use values::{MAX_PATTERNS, Network, Numbers, Part, Wrong};

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
    /// Each, in order.
    pub const ALL: [Self; 4] = [Self::Nothing, Self::Signalling, Self::Headers, Self::Full];

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

impl FromStr for What {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        Self::ALL.into_iter().find(|what| what.name() == text).ok_or_else(|| Wrong {
            given: text.to_owned(),
            right: "one of nothing, signalling, headers, full",
        })
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
    /// One of either's.
    pub number: Option<Numbers>,
    /// Its signalling comes from or goes to one of these.
    pub trunk: Vec<Network>,
    /// Signalling or media come from or go to one of these.
    pub address: Vec<Network>,
    /// A stream has one of these codecs; names as in SDP, in any case.
    pub codec: Vec<String>,
    /// It is answered.
    pub answered: bool,
    /// The worst MOS of the call is below this. Known at the end.
    pub mos_below: Option<f64>,
    /// A part of the calls that match otherwise, the same for all legs of a call.
    pub part: Option<Part>,
    /// What is kept of a call that matches.
    pub what: What,
    /// Digits that are pressed are not kept.
    pub mask_digits: bool,
    /// Those who speak may pause it, by digits or a header.
    pub may_pause: bool,
    /// It intercepts: what it keeps is a copy of its own, product of this case, and other rules are asked as if it were not there.
    /// Neither masks nor pauses.
    pub product: Option<String>,
}

/// What is known of a call so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// From, P-Asserted-Identity.
    pub callers: &'a [&'a str],
    /// To, Request-URI.
    pub callees: &'a [&'a str],
    /// Of its signalling.
    pub trunk: &'a [IpAddr],
    /// Of its media so far.
    pub addresses: &'a [IpAddr],
    /// Of its streams so far.
    pub codecs: &'a [&'a str],
    /// Worst MOS.
    pub mos: Option<f64>,
    /// Shared by all legs of the call, and otherwise random.
    pub key: u64,
    /// It was answered.
    pub answered: bool,
    /// It is released or given up: who was not answered will not be, and no stream follows.
    pub over: bool,
    /// Its media have been judged: nothing more becomes known.
    pub judged: bool,
}

impl Facts<'_> {
    /// Addresses and codecs are as they will be.
    fn is_settled(&self) -> bool {
        self.answered || self.is_over()
    }

    fn is_over(&self) -> bool {
        self.over || self.judged
    }
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
        /// It may be paused by those who speak.
        may_pause: bool,
    },
    /// Not yet known: meanwhile this is to be kept.
    Open {
        /// The most that a rule which may still match keeps.
        what: What,
        /// One of them masks digits.
        mask_digits: bool,
        /// All of them may be paused.
        may_pause: bool,
        /// It is its quality alone that is waited for: until the end.
        until_end: bool,
    },
}

impl Verdict {
    /// What is to be kept, or the most that is.
    pub fn what(&self) -> What {
        let (Self::Decided { what, .. } | Self::Open { what, .. }) = *self;
        what
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    /// Its quality is not known yet.
    AtEnd,
    NotYet,
    No,
}

impl Rule {
    /// Whether it matches every call.
    pub fn asks_nothing(&self) -> bool {
        self.caller.is_none()
            && self.callee.is_none()
            && self.number.is_none()
            && self.trunk.is_empty()
            && self.address.is_empty()
            && self.codec.is_empty()
            && !self.answered
            && self.mos_below.is_none()
            && self.part.is_none()
    }

    /// Whether it matches; None while that is not known.
    pub fn matches(&self, facts: &Facts<'_>) -> Option<bool> {
        match self.asks(facts) {
            Answer::Yes => Some(true),
            Answer::No => Some(false),
            Answer::AtEnd | Answer::NotYet => None,
        }
    }

    fn asks(&self, facts: &Facts<'_>) -> Answer {
        let yes = |holds: bool| if holds { Answer::Yes } else { Answer::No };
        // What may still come is not a no.
        let later = |holds: bool, settled: bool| if holds || settled { yes(holds) } else { Answer::NotYet };
        let among = |numbers: &Numbers, given: &[&str]| given.iter().any(|number| numbers.holds(number));
        let within = |networks: &[Network], given: &[IpAddr]| {
            given.iter().any(|address| networks.iter().any(|network| network.holds(*address)))
        };
        let codec = |name: &&str| facts.codecs.iter().any(|given| given.eq_ignore_ascii_case(name));
        let answers = [
            self.part.map(|part| yes(part.holds(facts.key))),
            (!self.trunk.is_empty()).then(|| yes(within(&self.trunk, facts.trunk))),
            self.caller.as_ref().map(|numbers| yes(among(numbers, facts.callers))),
            self.callee.as_ref().map(|numbers| yes(among(numbers, facts.callees))),
            self.number
                .as_ref()
                .map(|numbers| yes(among(numbers, facts.callers) || among(numbers, facts.callees))),
            (!self.address.is_empty()).then(|| {
                let holds = within(&self.address, facts.trunk) || within(&self.address, facts.addresses);
                later(holds, facts.is_settled())
            }),
            (!self.codec.is_empty())
                .then(|| later(self.codec.iter().any(|name| codec(&name.as_str())), facts.is_settled())),
            self.answered.then(|| later(facts.answered, facts.is_over())),
            self.mos_below.map(|least| match facts.mos {
                Some(mos) => yes(mos < least),
                None if facts.judged => Answer::No,
                None => Answer::AtEnd,
            }),
        ];
        let weakest = |so_far: Answer, answer: Answer| match (so_far, answer) {
            (Answer::No, _) | (_, Answer::No) => Answer::No,
            (Answer::NotYet, _) | (_, Answer::NotYet) => Answer::NotYet,
            (Answer::AtEnd, _) | (_, Answer::AtEnd) => Answer::AtEnd,
            (Answer::Yes, Answer::Yes) => Answer::Yes,
        };
        answers.into_iter().flatten().fold(Answer::Yes, weakest)
    }
}

/// The rules of a configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules(pub Vec<Rule>);

impl Rules {
    /// What is to be kept of a call of which so much is known.
    pub fn decide(&self, facts: &Facts<'_>) -> Verdict {
        let mut open: Option<Verdict> = None;
        for (place, rule) in self.0.iter().enumerate() {
            let answer = rule.asks(facts);
            if answer == Answer::No {
                continue;
            }
            if answer == Answer::Yes && open.is_none() {
                let Rule { what, mask_digits, may_pause, .. } = *rule;
                return Verdict::Decided { rule: Some(place), what, mask_digits, may_pause };
            }
            // Behind a rule that may still match, the next one does not win, but it may.
            open = Some(rule.join(open, answer != Answer::NotYet));
            if answer == Answer::Yes {
                break;
            }
        }
        open.unwrap_or(Verdict::Decided {
            rule: None,
            what: What::Nothing,
            mask_digits: false,
            may_pause: false,
        })
    }

    /// The rule that matches every call, where nothing else can.
    pub fn always(&self) -> Option<&Rule> {
        self.0.first().filter(|rule| rule.asks_nothing())
    }

    /// The most that any of them keeps.
    pub fn most(&self) -> What {
        self.0.iter().map(|rule| rule.what).max().unwrap_or_default()
    }
}

impl Rule {
    /// What is to be kept while this one may match as well.
    fn join(&self, open: Option<Verdict>, ends: bool) -> Verdict {
        let Self { what, mask_digits, may_pause, .. } = *self;
        match open {
            Some(Verdict::Open { what: w, mask_digits: m, may_pause: p, until_end }) => Verdict::Open {
                what: w.max(what),
                mask_digits: m || mask_digits,
                may_pause: p && may_pause,
                until_end: until_end && ends,
            },
            _ => Verdict::Open { what, mask_digits, may_pause, until_end: ends },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(list: &[&str]) -> Option<Numbers> {
        let mut numbers = Numbers::default();
        list.iter().for_each(|number| _ = numbers.add(number));
        Some(numbers)
    }

    fn decided(rule: usize, what: What) -> Verdict {
        Verdict::Decided { rule: Some(rule), what, mask_digits: false, may_pause: false }
    }

    fn open(what: What, until_end: bool) -> Verdict {
        Verdict::Open { what, mask_digits: false, may_pause: false, until_end }
    }

    const NONE: Verdict =
        Verdict::Decided { rule: None, what: What::Nothing, mask_digits: false, may_pause: false };

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
        assert_eq!(rules.decide(&facts), open(What::Full, true));
        let bad = Facts { mos: Some(2.5), ..facts };
        assert_eq!(rules.decide(&bad), decided(1, What::Full));
        let good = Facts { mos: Some(4.2), judged: true, ..facts };
        assert_eq!(rules.decide(&good), decided(2, What::Signalling));
        // Released, but not yet judged.
        assert_eq!(rules.decide(&Facts { over: true, ..facts }), open(What::Full, true));
        let other = Facts { callees: &["112"], ..good };
        assert_eq!(rules.decide(&other), NONE);
        assert_eq!((rules.most(), rules.always()), (What::Full, None));
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
        let waits =
            Verdict::Open { what: What::Headers, mask_digits: true, may_pause: false, until_end: false };
        assert_eq!(rules.decide(&facts), waits);
        let right = Facts { codecs: &["PCMU", "G729"], ..facts };
        let masked =
            Verdict::Decided { rule: Some(0), what: What::Headers, mask_digits: true, may_pause: false };
        assert_eq!(rules.decide(&right), masked);
        assert_eq!(rules.decide(&Facts { addresses: &[], trunk: &here, ..right }), masked);
        assert_eq!(rules.decide(&Facts { addresses: &[], over: true, ..right }), NONE);
        assert_eq!(rules.decide(&Facts { codecs: &["PCMU"], answered: true, ..facts }), NONE);
    }

    #[test]
    fn whether_one_rule_matches() {
        let rule = Rule { caller: numbers(&["100"]), answered: true, ..Rule::default() };
        let facts = Facts { callers: &["100"], ..Facts::default() };
        assert_eq!(rule.matches(&facts), None);
        assert_eq!(rule.matches(&Facts { answered: true, ..facts }), Some(true));
        assert_eq!(rule.matches(&Facts { over: true, ..facts }), Some(false));
        assert_eq!(rule.matches(&Facts { callers: &["1"], ..facts }), Some(false));
    }

    #[test]
    fn what_is_waited_for() {
        let rule = Rule { what: What::Full, may_pause: true, ..Rule::default() };
        let answered = Rule { answered: true, ..rule.clone() };
        let bad = Rule { mos_below: Some(3.5), ..rule.clone() };
        let both = Rules(vec![bad.clone(), answered.clone()]);
        let waits =
            |until_end| Verdict::Open { what: What::Full, mask_digits: false, may_pause: true, until_end };
        let facts = Facts::default();
        // The answer first, then the end.
        assert_eq!(both.decide(&facts), waits(false));
        assert_eq!(both.decide(&Facts { answered: true, ..facts }), waits(true));
        assert_eq!(both.decide(&Facts { over: true, ..facts }), waits(true));
        assert_eq!(both.decide(&Facts { over: true, judged: true, ..facts }), NONE);
        // One rule that asks both waits for the answer before it waits for the end.
        let one = Rules(vec![Rule { answered: true, ..bad }]);
        assert_eq!(one.decide(&facts), waits(false));
        assert_eq!(one.decide(&Facts { answered: true, ..facts }), waits(true));
        assert_eq!(one.decide(&Facts { over: true, ..facts }), NONE);
        assert!(!answered.asks_nothing() && rule.asks_nothing());
        assert!(Rules(vec![rule]).always().is_some());
    }

    #[test]
    fn either_number_and_the_trunk() {
        let rules = Rules(vec![
            Rule { number: numbers(&["100"]), what: What::Full, ..Rule::default() },
            Rule { trunk: vec!["198.51.100.0/24".parse().unwrap()], what: What::Headers, ..Rule::default() },
        ]);
        let there: [IpAddr; 1] = ["198.51.100.7".parse().unwrap()];
        let facts = Facts { callers: &["1"], callees: &["2", "100"], ..Facts::default() };
        assert_eq!(rules.decide(&facts), decided(0, What::Full));
        assert_eq!(
            rules.decide(&Facts { callees: &["2"], trunk: &there, ..facts }),
            decided(1, What::Headers)
        );
        // A trunk is where signalling passes, not media.
        assert_eq!(rules.decide(&Facts { callees: &["2"], addresses: &there, ..facts }), NONE);
    }
}

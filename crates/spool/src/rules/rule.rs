//! Rules, the facts that they ask for, and their verdict.

use std::net::IpAddr;

use ringtap_model::Network;

use crate::rules::scope::RecordingScope;
use crate::rules::values::{CallShare, Numbers};

/// A rule. A condition that is not set always matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// The name for logs and commands.
    pub name: String,
    /// One of the caller's numbers is among these.
    pub caller: Option<Numbers>,
    /// One of the callee's numbers is.
    pub callee: Option<Numbers>,
    /// One of the caller's or the callee's numbers is.
    pub number: Option<Numbers>,
    /// Signalling comes from or goes to one of these networks.
    pub trunk: Vec<Network>,
    /// Signalling or media come from or go to one of these networks.
    pub address: Vec<Network>,
    /// A stream has one of these codecs; names as in SDP, in any case.
    pub codec: Vec<String>,
    /// The call is answered.
    pub answered: bool,
    /// The worst MOS of the call is below this. Known at the end.
    pub mos_below: Option<f64>,
    /// A share of the calls that match otherwise, the same for all legs of a call.
    pub part: Option<CallShare>,
    /// What is recorded of a call that matches.
    pub what: RecordingScope,
    /// Digits are not recorded.
    pub mask_digits: bool,
    /// The speakers may pause the recording, by digits or a header.
    pub may_pause: bool,
    /// The rule intercepts: it records product of this case, a copy of its own, without masks and pauses.
    /// Other rules are asked as if it did not exist.
    pub product: Option<String>,
}

/// What is known of a call so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallFacts<'a> {
    /// From, P-Asserted-Identity.
    pub callers: &'a [&'a str],
    /// To, Request-URI.
    pub callees: &'a [&'a str],
    /// Addresses of its signalling.
    pub trunk: &'a [IpAddr],
    /// Addresses of its media so far.
    pub addresses: &'a [IpAddr],
    /// Codecs of its streams so far.
    pub codecs: &'a [&'a str],
    /// Worst MOS.
    pub mos: Option<f64>,
    /// The same for all legs of the call, otherwise random.
    pub key: u64,
    /// It was answered.
    pub answered: bool,
    /// It is released or given up: it will not be answered, and no stream follows.
    pub over: bool,
    /// Its media have been judged: nothing more becomes known.
    pub judged: bool,
}

impl CallFacts<'_> {
    /// Addresses and codecs do not change any more.
    fn is_settled(&self) -> bool {
        self.answered || self.is_over()
    }

    fn is_over(&self) -> bool {
        self.over || self.judged
    }
}

/// What the rules decide about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The decision is final.
    Decided {
        /// Index of the rule that matched, if any did.
        rule: Option<usize>,
        /// What is recorded.
        what: RecordingScope,
        /// Digits are masked.
        mask_digits: bool,
        /// The speakers may pause the recording.
        may_pause: bool,
    },
    /// The decision is pending; meanwhile this is kept.
    Open {
        /// The most that a rule which may still match records.
        what: RecordingScope,
        /// One of these rules masks digits.
        mask_digits: bool,
        /// All of these rules allow pauses.
        may_pause: bool,
        /// Only the quality is missing: the decision waits for the end.
        until_end: bool,
    },
}

impl Verdict {
    /// What is recorded, or the most that may be.
    pub fn what(&self) -> RecordingScope {
        let (Self::Decided { what, .. } | Self::Open { what, .. }) = *self;
        what
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    /// The quality is not known yet.
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
    pub fn matches(&self, facts: &CallFacts<'_>) -> Option<bool> {
        match self.asks(facts) {
            Answer::Yes => Some(true),
            Answer::No => Some(false),
            Answer::AtEnd | Answer::NotYet => None,
        }
    }

    fn asks(&self, facts: &CallFacts<'_>) -> Answer {
        let yes = |holds: bool| if holds { Answer::Yes } else { Answer::No };
        // A fact that may still become known is not a no.
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
    /// Decides about a call with these facts.
    pub fn decide(&self, facts: &CallFacts<'_>) -> Verdict {
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
            // A rule behind one that may still match does not win yet, but it may.
            open = Some(rule.join(open, answer != Answer::NotYet));
            if answer == Answer::Yes {
                break;
            }
        }
        open.unwrap_or(Verdict::Decided {
            rule: None,
            what: RecordingScope::Nothing,
            mask_digits: false,
            may_pause: false,
        })
    }

    /// The first rule, if it matches every call.
    pub fn always(&self) -> Option<&Rule> {
        self.0.first().filter(|rule| rule.asks_nothing())
    }

    /// The widest scope of all rules.
    pub fn most(&self) -> RecordingScope {
        self.0.iter().map(|rule| rule.what).max().unwrap_or_default()
    }
}

impl Rule {
    /// What is kept while this rule may match as well.
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

    fn decided(rule: usize, what: RecordingScope) -> Verdict {
        Verdict::Decided { rule: Some(rule), what, mask_digits: false, may_pause: false }
    }

    fn open(what: RecordingScope, until_end: bool) -> Verdict {
        Verdict::Open { what, mask_digits: false, may_pause: false, until_end }
    }

    const NONE: Verdict =
        Verdict::Decided { rule: None, what: RecordingScope::Nothing, mask_digits: false, may_pause: false };

    #[test]
    fn the_first_that_matches_wins_and_what_may_match_waits() {
        let rules = Rules(vec![
            Rule { caller: numbers(&["911"]), what: RecordingScope::Nothing, ..Rule::default() },
            Rule { mos_below: Some(3.0), what: RecordingScope::Full, ..Rule::default() },
            Rule { callee: numbers(&["+49*"]), what: RecordingScope::Signalling, ..Rule::default() },
        ]);
        let facts = CallFacts { callers: &["911"], callees: &["+491"], ..CallFacts::default() };
        assert_eq!(rules.decide(&facts), decided(0, RecordingScope::Nothing));
        let facts = CallFacts { callers: &["1"], ..facts };
        assert_eq!(rules.decide(&facts), open(RecordingScope::Full, true));
        let bad = CallFacts { mos: Some(2.5), ..facts };
        assert_eq!(rules.decide(&bad), decided(1, RecordingScope::Full));
        let good = CallFacts { mos: Some(4.2), judged: true, ..facts };
        assert_eq!(rules.decide(&good), decided(2, RecordingScope::Signalling));
        // Released, but not yet judged.
        assert_eq!(rules.decide(&CallFacts { over: true, ..facts }), open(RecordingScope::Full, true));
        let other = CallFacts { callees: &["112"], ..good };
        assert_eq!(rules.decide(&other), NONE);
        assert_eq!((rules.most(), rules.always()), (RecordingScope::Full, None));
        assert_eq!(Rules::default().decide(&facts), NONE);
    }

    #[test]
    fn every_condition_of_a_rule_must_hold() {
        let rules = Rules(vec![Rule {
            address: vec!["192.0.2.0/24".parse().unwrap()],
            codec: vec!["g729".into()],
            what: RecordingScope::Headers,
            mask_digits: true,
            ..Rule::default()
        }]);
        let here: [IpAddr; 1] = ["192.0.2.1".parse().unwrap()];
        let facts = CallFacts { addresses: &here, ..CallFacts::default() };
        let waits = Verdict::Open {
            what: RecordingScope::Headers,
            mask_digits: true,
            may_pause: false,
            until_end: false,
        };
        assert_eq!(rules.decide(&facts), waits);
        let right = CallFacts { codecs: &["PCMU", "G729"], ..facts };
        let masked = Verdict::Decided {
            rule: Some(0),
            what: RecordingScope::Headers,
            mask_digits: true,
            may_pause: false,
        };
        assert_eq!(rules.decide(&right), masked);
        assert_eq!(rules.decide(&CallFacts { addresses: &[], trunk: &here, ..right }), masked);
        assert_eq!(rules.decide(&CallFacts { addresses: &[], over: true, ..right }), NONE);
        assert_eq!(rules.decide(&CallFacts { codecs: &["PCMU"], answered: true, ..facts }), NONE);
    }

    #[test]
    fn whether_one_rule_matches() {
        let rule = Rule { caller: numbers(&["100"]), answered: true, ..Rule::default() };
        let facts = CallFacts { callers: &["100"], ..CallFacts::default() };
        assert_eq!(rule.matches(&facts), None);
        assert_eq!(rule.matches(&CallFacts { answered: true, ..facts }), Some(true));
        assert_eq!(rule.matches(&CallFacts { over: true, ..facts }), Some(false));
        assert_eq!(rule.matches(&CallFacts { callers: &["1"], ..facts }), Some(false));
    }

    #[test]
    fn what_is_waited_for() {
        let rule = Rule { what: RecordingScope::Full, may_pause: true, ..Rule::default() };
        let answered = Rule { answered: true, ..rule.clone() };
        let bad = Rule { mos_below: Some(3.5), ..rule.clone() };
        let both = Rules(vec![bad.clone(), answered.clone()]);
        let waits = |until_end| Verdict::Open {
            what: RecordingScope::Full,
            mask_digits: false,
            may_pause: true,
            until_end,
        };
        let facts = CallFacts::default();
        // The answer first, then the end.
        assert_eq!(both.decide(&facts), waits(false));
        assert_eq!(both.decide(&CallFacts { answered: true, ..facts }), waits(true));
        assert_eq!(both.decide(&CallFacts { over: true, ..facts }), waits(true));
        assert_eq!(both.decide(&CallFacts { over: true, judged: true, ..facts }), NONE);
        // A rule with both conditions waits for the answer before it waits for the end.
        let one = Rules(vec![Rule { answered: true, ..bad }]);
        assert_eq!(one.decide(&facts), waits(false));
        assert_eq!(one.decide(&CallFacts { answered: true, ..facts }), waits(true));
        assert_eq!(one.decide(&CallFacts { over: true, ..facts }), NONE);
        assert!(!answered.asks_nothing() && rule.asks_nothing());
        assert!(Rules(vec![rule]).always().is_some());
    }

    #[test]
    fn either_number_and_the_trunk() {
        let rules = Rules(vec![
            Rule { number: numbers(&["100"]), what: RecordingScope::Full, ..Rule::default() },
            Rule {
                trunk: vec!["198.51.100.0/24".parse().unwrap()],
                what: RecordingScope::Headers,
                ..Rule::default()
            },
        ]);
        let there: [IpAddr; 1] = ["198.51.100.7".parse().unwrap()];
        let facts = CallFacts { callers: &["1"], callees: &["2", "100"], ..CallFacts::default() };
        assert_eq!(rules.decide(&facts), decided(0, RecordingScope::Full));
        assert_eq!(
            rules.decide(&CallFacts { callees: &["2"], trunk: &there, ..facts }),
            decided(1, RecordingScope::Headers)
        );
        // A trunk is where signalling passes, not media.
        assert_eq!(rules.decide(&CallFacts { callees: &["2"], addresses: &there, ..facts }), NONE);
    }
}

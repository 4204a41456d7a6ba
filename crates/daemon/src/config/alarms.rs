//! `[alarms]`: what all alarms have in common.

use ringtap_model::Nanos;
use serde::{Deserialize, Deserializer};

use super::key::{Bounds, DAY, KeyProblem, MINUTE, key_values, list, quoted, section};
use super::values::Span;

/// Names of ready-made patterns: a list, or `"all"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatternNames(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for PatternNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum OneOrMore {
            One(String),
            More(Vec<String>),
        }
        Ok(Self(match OneOrMore::deserialize(deserializer)? {
            OneOrMore::One(name) => vec![name],
            OneOrMore::More(names) => names,
        }))
    }
}

key_values! {
    PatternNames: "a list of patterns, such as [\"wangiri\", \"premium_burst\"], or \"all\"",
        |names| list(&names.0, |name| quoted(name));
}

section! {
    /// Alarms: see [[alarm]] for what raises them, and [[notify]] for who is told. Without a pattern and an
    /// [[alarm]] there are none.
    #[name = "alarms"]
    pub(crate) struct Alarms {
        /// Ready-made patterns of fraud and attacks that raise alarms, `"all"` for each: see
        /// [patterns](alarms.md#patterns). An [[alarm]] with `pattern` changes one.
        pub(super) patterns: PatternNames = PatternNames::default(),
        /// What premium numbers begin with, with + and the country code.
        #[accepts = "a list of prefixes, such as [\"+49900\", \"+1900\"]"]
        pub(super) premium: Vec<String> = Vec::new(),
        /// While the capture loses more than this percentage of the packets, no alarm says that something is
        /// absent.
        #[accepts = "a percentage from 0 to 100, such as 0.1"]
        pub(super) capture_loss: f64 = 0.1,
        /// How often somebody is told again of an alarm that stands, unless it was acknowledged.
        #[bounds = Bounds::at_least(MINUTE).zero("0s is never")]
        pub(super) repeat: Span = Span(Nanos::from_secs(4 * 3_600)),
        /// How long callers and trunks are watched until a country that they call is a new one.
        #[bounds = Bounds::between(DAY, 365 * DAY)]
        pub(super) learning: Span = Span(Nanos::from_secs(14 * 86_400)),
        /// What notices call this machine. Empty is its own name.
        #[accepts = "a text, such as \"sensor-1.example.org\""]
        pub(super) host: String = String::new(),
    }
}

impl Alarms {
    pub(super) fn check(&self) -> Result<(), KeyProblem> {
        let wrong = |key, problem: String| Err(("alarms", key, problem));
        if !(0.0..=100.0).contains(&self.capture_loss) {
            return wrong("capture_loss", "must be from 0 to 100 percent, for example 0.1".to_owned());
        }
        let is_prefix = |text: &str| {
            let digits = text.strip_prefix('+').unwrap_or_default();
            (1..=15).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit())
        };
        match self.premium.iter().find(|prefix| !is_prefix(prefix)) {
            Some(prefix) => {
                wrong("premium", format!("`{prefix}` must be + and up to 15 digits, for example +49900"))
            }
            None => Ok(()),
        }
    }
}

//! `[conversations]`: which calls are joined as legs of one conversation.

use ringtap_conversation::{NumberPlan, Settings};
use ringtap_model::{JoinReason, Nanos};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::key::{Bounds, HOUR, SECOND, key_values, list, quoted, section};
use super::values::Span;

/// A reason for joining two calls, by its name in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reason(JoinReason);

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        JoinReason::from_name(&name).map(Self).ok_or_else(|| {
            let names: Vec<&str> = JoinReason::ALL.iter().map(|reason| reason.name()).collect();
            D::Error::custom(format!("`{name}` is none of {}", names.join(", ")))
        })
    }
}

key_values! {
    Vec<Reason>: "a list of reasons, such as [\"session_id\", \"replaces\"]",
        |reasons| list(reasons, |reason| quoted(reason.0.name()));
}

section! {
    /// Which calls are joined as legs of one conversation.
    #[name = "conversations"]
    pub(crate) struct Conversations {
        /// How long after its end a call is remembered for legs that end later.
        #[bounds = Bounds::between(SECOND, HOUR)]
        window: Span = Span(Settings::default().window),
        /// Calls that are remembered at most, about 1.5 KiB each; the oldest give way. 0 joins none.
        #[bounds = Bounds::between(0, 4_000_000).unit("calls")]
        remembered: usize = Settings::default().max_legs,
        /// Country code that national numbers lack. Empty: numbers are compared by their last digits.
        #[accepts = "a text, such as \"49\""]
        country: String = NumberPlan::default().country,
        /// What national numbers begin with.
        #[accepts = "a text, such as \"0\""]
        trunk_prefix: String = NumberPlan::default().trunk_prefix,
        /// What international numbers begin with.
        #[accepts = "a text, such as \"00\""]
        international_prefix: String = NumberPlan::default().international_prefix,
        /// What joins calls; a reason that is not in this list is not looked at.
        reasons: Vec<Reason> = JoinReason::ALL.iter().copied().map(Reason).collect(),
    }
}

impl Conversations {
    /// How numbers are written here.
    pub(super) fn plan(&self) -> NumberPlan {
        NumberPlan {
            country: self.country.clone(),
            trunk_prefix: self.trunk_prefix.clone(),
            international_prefix: self.international_prefix.clone(),
        }
    }

    /// As the joiner has them; None where no calls are joined.
    pub(crate) fn settings(&self) -> Option<Settings> {
        let plan = self.plan();
        let window: Nanos = self.window.0;
        let reasons = self.reasons.iter().map(|reason| reason.0).collect();
        (self.remembered > 0).then_some(Settings { window, max_legs: self.remembered, reasons, plan })
    }
}

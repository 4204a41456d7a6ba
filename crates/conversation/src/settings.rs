//! What an operator may choose.

use ringtap_model::{JoinReason, Nanos};

/// How calls are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long after its end a call is remembered for legs whose records come later.
    pub window: Nanos,
    /// Calls that are remembered at most: the oldest give way.
    pub max_legs: usize,
    /// The reasons that count; the others are not looked at.
    pub reasons: Vec<JoinReason>,
    /// How numbers are dialled here.
    pub plan: NumberPlan,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            window: Nanos::from_secs(300),
            max_legs: 65_536,
            reasons: JoinReason::ALL.to_vec(),
            plan: NumberPlan::default(),
        }
    }
}

/// What numbers begin with in this network, so that `+4930123456`, `004930123456` and `030123456` are the
/// same number (ITU-T E.164, E.123).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberPlan {
    /// The country code that national numbers lack, such as `49`; empty where it is not known: then only last
    /// digits are compared.
    pub country: String,
    /// What national numbers begin with.
    pub trunk_prefix: String,
    /// What international numbers begin with.
    pub international_prefix: String,
}

impl Default for NumberPlan {
    fn default() -> Self {
        Self { country: String::new(), trunk_prefix: "0".into(), international_prefix: "00".into() }
    }
}

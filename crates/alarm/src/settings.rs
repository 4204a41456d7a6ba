//! What the evaluator depends on beside the events.

use std::sync::Arc;

use ringtap_kpi::Zone;
use ringtap_model::Nanos;

use crate::rule::Rule;

/// What the evaluator depends on beside the events.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The rules; each has passed [`Rule::check`].
    pub rules: Vec<Rule>,
    /// Time zone of [`Hours`](crate::Hours), and of the hour a week ago.
    pub zone: Zone,
    /// Names of the configured trunks: their absence is noticed even before their first call.
    pub trunks: Vec<Arc<str>>,
    /// The country code that national numbers lack, such as `49`; empty where it is not known.
    pub country: String,
    /// What national numbers begin with.
    pub trunk_prefix: String,
    /// What international numbers begin with.
    pub international_prefix: String,
    /// What premium numbers begin with, in E.164 with a +, such as `+49900`.
    pub premium: Vec<String>,
    /// An answered call of at most this length is short.
    pub short_call: Nanos,
    /// Digits of a destination prefix, 1 to 15.
    pub prefix_digits: u8,
    /// Share of packets, 0 to 1: while the capture loses more, alarms of absence are suspended.
    pub capture_loss: f64,
    /// How often a standing alarm is repeated; never where it is 0.
    pub repeat: Nanos,
    /// How long it takes until a country that was not called is new, and until one is forgotten.
    pub learning: Nanos,
    /// Calls in progress that are followed.
    pub max_calls: usize,
    /// Subjects of each [`Per`](crate::Per) that are followed at a time.
    pub max_groups: usize,
    /// Alarms that stand at a time.
    pub max_standing: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let kpi = ringtap_kpi::Settings::default();
        Self {
            rules: Vec::new(),
            zone: Zone::UTC,
            trunks: Vec::new(),
            country: String::new(),
            trunk_prefix: "0".into(),
            international_prefix: "00".into(),
            premium: Vec::new(),
            short_call: kpi.short_call,
            prefix_digits: kpi.prefix_digits,
            capture_loss: 0.001,
            repeat: Nanos::from_secs(4 * 3_600),
            learning: Nanos::from_secs(14 * 86_400),
            max_calls: 500_000,
            max_groups: 100_000,
            max_standing: 10_000,
        }
    }
}

//! The alarm record.

use crate::definition::{names, record};
use crate::{Id, Nanos};

names! {
    /// How much an alarm matters.
    pub enum Severity {
        /// Worth knowing.
        Info = "info",
        /// To be looked at within the day.
        Warning = "warning",
        /// To be looked at now.
        Critical = "critical",
    }
}

record! {
    /// One alarm: a rule that held for one subject, from the moment it was raised until it cleared.
    #[name = "alarm"]
    pub struct Alarm {
        /// Derived from the rule, the subject and the time it was raised.
        pub id: Id,
        /// Name of the rule.
        pub rule: String,
        /// How much it matters.
        pub severity: Severity,
        /// What the rule looks at one by one, such as `trunk`.
        pub per: String,
        /// Which one of them; empty where the rule looks at all traffic together.
        pub subject: String,
        /// The figure that the rule watches.
        pub figure: String,
        /// Its value when the alarm was raised; null for an absence.
        pub value: Option<f64>,
        /// The value furthest from the threshold while it stands.
        pub worst: Option<f64>,
        /// What the rule allows.
        pub threshold: f64,
        /// Calls, streams or registrations behind the value when it was raised.
        pub behind: u64,
        /// What an engineer would say of it, in one sentence.
        pub text: String,
        /// When it was raised.
        #[name = "raised_us"]
        pub raised: Nanos,
        /// When the rule last held.
        #[name = "last_us"]
        pub last: Nanos,
        /// When it cleared; null while it stands.
        #[name = "cleared_us"]
        pub cleared: Option<Nanos>,
        /// Call-IDs of calls that show it, at most ten, the newest first.
        pub calls: Vec<String>,
        /// When somebody acknowledged it.
        #[name = "acknowledged_us"]
        pub acknowledged: Option<Nanos>,
        /// Who acknowledged it.
        pub acknowledged_by: Option<String>,
        /// What they wrote.
        pub comment: Option<String>,
        /// Until when nobody is told of it; null where it is not silenced.
        #[name = "silenced_until_us"]
        pub silenced_until: Option<Nanos>,
    }
}

//! What is watched, of whom, and what is too much.

use ringtap_kpi::Figure;
use ringtap_model::{Nanos, Severity};

use crate::event::HealthFigure;

/// A rule: it raises an alarm for each subject for which it holds.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// How much its alarms matter.
    pub severity: Severity,
    /// What it looks at.
    pub watched: Watched,
    /// What it looks at one by one.
    pub per: Per,
    /// The subjects that it looks at, a `*` standing for any text; all where it is empty.
    pub only: Vec<String>,
    /// The time over which the figure is computed, up to now.
    pub over: Nanos,
    /// How many calls, intervals or registrations the figure needs behind it.
    pub minimum: u64,
    /// What is too much, or too little.
    pub limit: Limit,
    /// For how long it must hold before the alarm is raised, and must not before it clears.
    pub lasting: Nanos,
    /// When it is looked at; always where None.
    pub hours: Option<Hours>,
    /// Names of who is told; everybody where it is empty.
    pub notify: Vec<String>,
}

/// What is too much, or too little. Between the two values nothing changes (hysteresis).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Whether values above are wrong, or those below.
    pub is_above: bool,
    /// Raises the alarm: beyond it, or at it for an upper limit of a count.
    pub raise: f64,
    /// Clears it.
    pub clear: f64,
    /// The two values are percent of the figure of the same hour a week before.
    pub of_week_ago: bool,
}

/// Hours of days in the time zone of the KPIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hours {
    /// Monday first.
    pub days: [bool; 7],
    /// Minutes since midnight at which it begins.
    pub from: u16,
    /// Minutes since midnight at which it ends, on the next day where that is not later.
    pub to: u16,
}

/// What a rule looks at one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Per {
    /// All together.
    Total,
    /// Configured trunks, on whichever side of the call.
    Trunk,
    /// Trunks and addresses that calls come from.
    TrunkIn,
    /// Trunks and addresses that calls are sent to.
    TrunkOut,
    /// In, out, through or inside.
    Direction,
    /// Codecs.
    Codec,
    /// User-Agents.
    Device,
    /// First digits of the number that is called.
    Prefix,
    /// Country of the number that is called (ITU-T E.164).
    Country,
    /// Callers.
    Caller,
    /// Numbers that are called.
    Callee,
    /// Addresses that calls and REGISTERs come from.
    Source,
    /// Addresses of record that register.
    User,
    /// What a health figure is of: a directory, an interface.
    Part,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug)]
pub enum Watched {
    /// A KPI, of the calls that were answered, failed or ended in the time of the rule, of the intervals of
    /// streams and of the attempts to register.
    Kpi(&'static Figure),
    /// Calls that began.
    Begun,
    /// Calls in progress.
    InProgress,
    /// How long the longest call in progress lasts since its answer, in seconds.
    LongestCall,
    /// Different numbers that were called.
    Callees,
    /// Different countries that were called.
    Countries,
    /// Most numbers that were called in a row, each one higher than another.
    Sequential,
    /// Calls to configured premium numbers.
    Premium,
    /// Calls to numbers abroad.
    Abroad,
    /// Calls to a country that the subject never called before in the time of learning.
    NewCountry,
    /// Different numbers whose call rang shortly and was given up by the caller.
    MissedCallees,
    /// Different users that were refused: REGISTERs with 401, 403, 404 or no credentials that hold, and calls
    /// answered 401, 403, 404 or 484.
    RefusedUsers,
    /// Attempts to register.
    Registrations,
    /// Attempts to register that failed.
    RegistrationsFailed,
    /// Packets lost of all expected in the intervals of streams, in percent.
    LossShare,
    /// A figure of this monitor.
    Health(HealthFigure),
}

//! Names of what rules watch, in the configuration and in the manual, and what goes with what.

use ringtap_kpi::figure::figure;
use ringtap_kpi::{FIGURES, FigureUnit};

use crate::event::HealthFigure;
use crate::rule::{Per, Watched};

/// Which events a rule needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Calls,
    Streams,
    Registrations,
    /// Calls and registrations.
    Users,
    Health,
}

impl Watched {
    /// What can be watched beside the KPIs: name, and description.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("begun", "calls that began"),
        ("in_progress", "calls in progress now, whatever `over` says"),
        ("longest_call_s", "seconds since the answer of the longest call in progress now"),
        ("callees", "different numbers that were called"),
        ("countries", "different countries abroad that were called"),
        ("sequential", "most numbers called of which each is one higher than another"),
        ("premium", "calls to premium numbers (`premium` in `[alarms]`)"),
        ("abroad", "calls to another country; without a configured country, to any number with + or 00"),
        (
            "new_country",
            "calls to countries that the subject did not call before the last day, in the time \
            of learning",
        ),
        ("missed_callees", "different numbers that rang for at most 5 seconds until the caller gave up"),
        (
            "refused_users",
            "different users that were refused: REGISTERs with 401, 403, 404 or 407 as their \
            final answer, and calls answered 401, 403, 404, 407 or 484 that came from no configured trunk",
        ),
        ("registrations", "attempts to register that ended"),
        ("registrations_failed", "attempts to register that failed"),
        ("loss_pct", "packets lost of all expected in the intervals of streams"),
        ("capture_loss_pct", "packets that this monitor lost, of all"),
        ("packets_per_s", "packets a second that this monitor received"),
        ("disk_used_pct", "space in use of a file system"),
        ("records_dropped", "records that this monitor dropped"),
        ("entries_refused", "calls, streams and others that found no room in a table of this monitor"),
        ("clock_step_ms", "by how much the clock was set, forwards or backwards"),
        (
            "service_out_s",
            "seconds for which a service was out of service, the longest outage then: `[availability]`",
        ),
        ("failovers", "failovers: `[availability]`"),
        ("address_conflicts", "addresses that two hosts claimed in turn: `[availability]`"),
    ];

    /// What is watched under a name: one of [`NAMES`](Self::NAMES), or a KPI.
    ///
    /// # Errors
    ///
    /// There is none of that name, or it makes no rule: says why, and what would be right.
    pub fn from_name(name: &str) -> Result<Self, String> {
        if let Some(watched) = Self::ALL_BUT_KPIS.iter().find(|watched| watched.name() == name) {
            return Ok(*watched);
        }
        if let Some((_, reason)) = NO_RULE.iter().find(|(figure, _)| *figure == name) {
            return Err(format!("{name} makes no rule: {reason}"));
        }
        match figure(name) {
            Some(figure) => Ok(Self::Kpi(figure)),
            None => Err(format!("{name} is no figure: write one of {}", Self::names().join(", "))),
        }
    }

    /// All names that [`from_name`](Self::from_name) knows.
    pub fn names() -> Vec<&'static str> {
        let kpis = FIGURES.iter().map(|figure| figure.name);
        let kpis = kpis.filter(|name| NO_RULE.iter().all(|(no_rule, _)| no_rule != name));
        Self::NAMES.iter().map(|(name, _)| *name).chain(kpis).collect()
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Kpi(figure) => figure.name,
            Self::Begun => "begun",
            Self::InProgress => "in_progress",
            Self::LongestCall => "longest_call_s",
            Self::Callees => "callees",
            Self::Countries => "countries",
            Self::Sequential => "sequential",
            Self::Premium => "premium",
            Self::Abroad => "abroad",
            Self::NewCountry => "new_country",
            Self::MissedCallees => "missed_callees",
            Self::RefusedUsers => "refused_users",
            Self::Registrations => "registrations",
            Self::RegistrationsFailed => "registrations_failed",
            Self::LossShare => "loss_pct",
            Self::Health(HealthFigure::CaptureLoss) => "capture_loss_pct",
            Self::Health(HealthFigure::PacketRate) => "packets_per_s",
            Self::Health(HealthFigure::DiskUsed) => "disk_used_pct",
            Self::Health(HealthFigure::RecordsDropped) => "records_dropped",
            Self::Health(HealthFigure::Refused) => "entries_refused",
            Self::Health(HealthFigure::ClockStep) => "clock_step_ms",
            Self::Health(HealthFigure::ServiceOut) => "service_out_s",
            Self::Health(HealthFigure::Failovers) => "failovers",
            Self::Health(HealthFigure::AddressConflicts) => "address_conflicts",
        }
    }

    const ALL_BUT_KPIS: &'static [Self] = &[
        Self::Begun,
        Self::InProgress,
        Self::LongestCall,
        Self::Callees,
        Self::Countries,
        Self::Sequential,
        Self::Premium,
        Self::Abroad,
        Self::NewCountry,
        Self::MissedCallees,
        Self::RefusedUsers,
        Self::Registrations,
        Self::RegistrationsFailed,
        Self::LossShare,
        Self::Health(HealthFigure::CaptureLoss),
        Self::Health(HealthFigure::PacketRate),
        Self::Health(HealthFigure::DiskUsed),
        Self::Health(HealthFigure::RecordsDropped),
        Self::Health(HealthFigure::Refused),
        Self::Health(HealthFigure::ClockStep),
        Self::Health(HealthFigure::ServiceOut),
        Self::Health(HealthFigure::Failovers),
        Self::Health(HealthFigure::AddressConflicts),
    ];

    /// Whether it is a number of things: then an upper limit holds at its value, not only beyond.
    pub(crate) fn is_count(&self) -> bool {
        match self {
            Self::Kpi(figure) => figure.unit == FigureUnit::Count,
            Self::LossShare | Self::LongestCall => false,
            Self::Health(figure) => matches!(
                figure,
                HealthFigure::RecordsDropped
                    | HealthFigure::Refused
                    | HealthFigure::Failovers
                    | HealthFigure::AddressConflicts
            ),
            _ => true,
        }
    }

    /// Whether it is 0, not unknown, where nothing happens: too little of it is an absence.
    pub(crate) fn is_zero_without_events(&self) -> bool {
        match self {
            Self::Kpi(figure) => matches!(figure.name, "attempts" | "answered" | "short_calls"),
            Self::Health(_) => false,
            _ => self.is_count(),
        }
    }

    pub(crate) fn family(&self) -> Family {
        let is_of = |name: &str, kinds: &[&str]| kinds.iter().any(|kind| name.starts_with(kind));
        match self {
            Self::Kpi(figure) if is_of(figure.name, &["mos_", "loss_", "jitter_"]) => Family::Streams,
            Self::Kpi(figure) if is_of(figure.name, &["ira", "rrd_"]) => Family::Registrations,
            Self::LossShare => Family::Streams,
            Self::Registrations | Self::RegistrationsFailed => Family::Registrations,
            Self::RefusedUsers => Family::Users,
            Self::Health(_) => Family::Health,
            _ => Family::Calls,
        }
    }
}

/// KPIs that make no rule, and why.
const NO_RULE: [(&str, &str); 7] = [
    ("repeated_calls", "it needs the records of the five minutes before"),
    ("concurrent_max", "write in_progress, the calls in progress now"),
    ("concurrent_mean", "write in_progress, the calls in progress now"),
    ("rtt_ms_p50", "intervals of streams have no round trip"),
    ("rtt_ms_p95", "intervals of streams have no round trip"),
    ("begun_before", "it counts calls that began before the monitor"),
    ("capture_drops", "write capture_loss_pct"),
];

impl Per {
    /// Names of all, each with what its subjects are.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("total", "everything together"),
        ("trunk", "configured trunks, on whichever side of the call"),
        ("trunk_in", "trunks and addresses that calls come from"),
        ("trunk_out", "trunks and addresses that calls are sent to"),
        ("direction", "in, out, through or inside"),
        ("codec", "codecs"),
        ("device", "User-Agents of callers, and of who registers"),
        ("prefix", "first digits of the number that is called, as many as `[kpi] prefix_digits` says"),
        ("country", "country code of the number that is called (ITU-T E.164), such as +49"),
        ("caller", "numbers or names of callers"),
        ("callee", "numbers or names that are called"),
        ("source", "addresses that calls and REGISTERs come from"),
        ("user", "addresses of record that register"),
        (
            "part",
            "what a figure of this monitor is of: a directory, an interface, a service; empty for the whole",
        ),
    ];

    pub(crate) const ALL: [Self; 14] = [
        Self::Total,
        Self::Trunk,
        Self::TrunkIn,
        Self::TrunkOut,
        Self::Direction,
        Self::Codec,
        Self::Device,
        Self::Prefix,
        Self::Country,
        Self::Caller,
        Self::Callee,
        Self::Source,
        Self::User,
        Self::Part,
    ];

    /// The one of that name.
    ///
    /// # Errors
    ///
    /// There is none: says which there are.
    pub fn from_name(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|per| per.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
            format!("per = {name:?} is not known: write one of {}", names.join(", "))
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Those that go with a family of events.
    pub(crate) fn of(family: Family) -> Vec<Self> {
        // Which codec a call has is known of its streams alone.
        let of_calls = |per: &Self| !matches!(per, Self::Codec | Self::User | Self::Part);
        match family {
            Family::Calls => Self::ALL.into_iter().filter(of_calls).collect(),
            Family::Streams => {
                Self::ALL.into_iter().filter(|per| of_calls(per) || *per == Self::Codec).collect()
            }
            Family::Registrations => vec![Self::Total, Self::Device, Self::Source, Self::User],
            Family::Users => vec![Self::Total, Self::Device, Self::Source],
            Family::Health => vec![Self::Total, Self::Part],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_what_it_names() {
        let names: Vec<&str> = Watched::ALL_BUT_KPIS.iter().map(Watched::name).collect();
        assert_eq!(names, Watched::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for name in Watched::names() {
            assert_eq!(Watched::from_name(name).unwrap().name(), name);
        }
        for (place, per) in Per::ALL.into_iter().enumerate() {
            assert_eq!((per as usize, Per::from_name(per.name())), (place, Ok(per)));
        }
        for (name, _) in NO_RULE {
            assert!(figure(name).is_some(), "{name} is no KPI any more");
            assert!(Watched::from_name(name).unwrap_err().starts_with(name));
        }
        assert!(Watched::from_name("asrr").unwrap_err().contains("asr,"));
    }
}

//! What an engineer would say of an alarm.

use ringtap_kpi::FigureUnit;
use ringtap_model::Nanos;

use crate::event::HealthFigure;
use crate::judge::is_absence;
use crate::names::Family;
use crate::rule::{Limit, Per, Rule, Watched};
use crate::window::Reading;

/// One sentence about a rule that holds. `past` is the figure of the hour a week ago, where the rule compares
/// with it; `capture_loss` is what the capture loses in percent, where that is too much.
pub(crate) fn sentence(
    rule: &Rule,
    subject: &str,
    reading: Reading,
    limit: Limit,
    past: Option<f64>,
    capture_loss: Option<f64>,
) -> String {
    let over = match rule.watched {
        Watched::InProgress | Watched::LongestCall => String::new(),
        _ => format!(" over the last {}", span(rule.over)),
    };
    let past = past.map(|past| format!(", the same hour a week ago had {}", quantity(&rule.watched, past)));
    let bound = if limit.is_above { "limit" } else { "at least" };
    let limit = format!(" ({bound} {}{})", quantity(&rule.watched, limit.raise), past.unwrap_or_default());
    let behind = match reading.behind {
        _ if is_absence(rule) || rule.watched.is_count() => String::new(),
        _ if is_of_service(rule) => String::new(),
        behind => format!(", {behind} {} behind it", things(rule, behind)),
    };
    let loss = capture_loss
        .map(|loss| format!("; this monitor loses {} % of the packets itself at this time", number(loss)));
    let subject = match rule.per {
        Per::Part if is_of_service(rule) => format!("Service {subject}"),
        per => whom(per, subject),
    };
    let fact = fact(rule, reading);
    format!("{subject}: {fact}{over}{limit}{behind}{}.", loss.unwrap_or_default())
}

fn is_of_service(rule: &Rule) -> bool {
    matches!(rule.watched, Watched::Health(HealthFigure::ServiceOut))
}

fn whom(per: Per, subject: &str) -> String {
    match per {
        Per::Total => "All traffic".into(),
        Per::Trunk => format!("Trunk {subject}"),
        Per::TrunkIn => format!("Calls from {subject}"),
        Per::TrunkOut => format!("Calls to {subject}"),
        Per::Direction => format!("Calls in direction {subject}"),
        Per::Codec => format!("Codec {subject}"),
        Per::Device => format!("Device {subject}"),
        Per::Prefix => format!("Destination {subject}"),
        Per::Country => format!("Country {subject}"),
        Per::Caller => format!("Caller {subject}"),
        Per::Callee => format!("Called number {subject}"),
        Per::Source => format!("Address {subject}"),
        Per::User => format!("User {subject}"),
        Per::Part if subject.is_empty() => "This monitor".into(),
        Per::Part => format!("{subject} of this monitor"),
    }
}

fn fact(rule: &Rule, reading: Reading) -> String {
    let value = reading.value.unwrap_or(0.0);
    let shown = quantity(&rule.watched, value);
    let counted = |one: &str, many: &str| match value {
        0.0 => format!("no {one}"),
        1.0 => format!("1 {one}"),
        _ => format!("{shown} {many}"),
    };
    match rule.watched {
        Watched::Kpi(figure) => match figure.name {
            "attempts" => counted("call attempt", "call attempts"),
            "answered" => counted("answered call", "answered calls"),
            "short_calls" => counted("short call", "short calls"),
            _ => format!("{} {shown}", figure.title),
        },
        Watched::Begun => counted("call began", "calls began"),
        Watched::InProgress => counted("call in progress", "calls in progress"),
        Watched::LongestCall => format!("a call lasts for {shown}"),
        Watched::Callees => counted("different number called", "different numbers called"),
        Watched::Countries => counted("foreign country called", "foreign countries called"),
        Watched::Sequential => counted("number called in a row", "numbers in a row called"),
        Watched::Premium => counted("call to premium numbers", "calls to premium numbers"),
        Watched::Abroad => counted("call abroad", "calls abroad"),
        Watched::NewCountry => {
            counted("call to countries not called before", "calls to countries not called before")
        }
        Watched::MissedCallees => counted(
            "different number rung shortly and given up",
            "different numbers rung shortly and given up",
        ),
        Watched::RefusedUsers => counted("different user refused", "different users refused"),
        Watched::Registrations => counted("attempt to register", "attempts to register"),
        Watched::RegistrationsFailed => counted("attempt to register failed", "attempts to register failed"),
        Watched::LossShare => format!("{shown} of packets lost"),
        Watched::Health(HealthFigure::CaptureLoss) => format!("{shown} of packets lost by the capture"),
        Watched::Health(HealthFigure::PacketRate) => format!("{shown} packets a second received"),
        Watched::Health(HealthFigure::DiskUsed) => format!("{shown} of the space in use"),
        Watched::Health(HealthFigure::RecordsDropped) => counted("record dropped", "records dropped"),
        Watched::Health(HealthFigure::Refused) => {
            counted("call or stream without room in a table", "calls and streams without room in a table")
        }
        Watched::Health(HealthFigure::ClockStep) => format!("the clock was set by {shown}"),
        Watched::Health(HealthFigure::ServiceOut) => format!("out of service for {shown}"),
        Watched::Health(HealthFigure::Failovers) => counted("failover", "failovers"),
        Watched::Health(HealthFigure::AddressConflicts) => {
            counted("address claimed by two hosts", "addresses claimed by two hosts")
        }
    }
}

/// A value with its unit.
fn quantity(watched: &Watched, value: f64) -> String {
    let unit = match watched {
        Watched::Kpi(figure) => match figure.unit {
            FigureUnit::Percent => " %",
            FigureUnit::Milliseconds => " ms",
            FigureUnit::Mos => return format!("{value:.2}"),
            FigureUnit::Count | FigureUnit::Number => "",
        },
        Watched::LossShare => " %",
        Watched::LongestCall => return span(Nanos::from_secs(value as u64)),
        Watched::Health(HealthFigure::CaptureLoss | HealthFigure::DiskUsed) => " %",
        Watched::Health(HealthFigure::ClockStep) => " ms",
        Watched::Health(HealthFigure::ServiceOut) => " s",
        _ => "",
    };
    format!("{}{unit}", number(value))
}

fn number(value: f64) -> String {
    let decimals = match value.abs() {
        value if value.fract() == 0.0 || value >= 100.0 => 0,
        value if value >= 1.0 => 1,
        value if value >= 0.1 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

fn things(rule: &Rule, count: u64) -> &'static str {
    let (one, many) = match rule.watched.family() {
        Family::Calls => ("call", "calls"),
        Family::Streams => ("interval of streams", "intervals of streams"),
        Family::Registrations => ("attempt to register", "attempts to register"),
        Family::Users => ("user", "users"),
        Family::Health => ("value", "values"),
    };
    if count == 1 { one } else { many }
}

/// `20 s`, `5 min`, `4 h 10 min`.
pub(crate) fn span(span: Nanos) -> String {
    let seconds = span.0 / 1_000_000_000;
    match (seconds / 3_600, seconds % 3_600 / 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, 1, _) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

//! Filters that select calls.

use clap::Args;
use ringtap_model::{Call, CallState, Nanos, NoteCode};
use ringtap_report::time;

/// The filters of `analyze`, `calls` and others. A call passes if it matches all that are given.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Filters (calls and their streams)")]
pub(crate) struct Filter {
    /// Caller: From's user or P-Asserted-Identity; exact, or a prefix with a trailing `*`
    #[arg(long, value_name = "NUMBER")]
    pub(crate) from: Option<Pattern>,
    /// Callee: the user of To or of the Request-URI, or a number it was diverted to; exact or prefix`*`
    #[arg(long, value_name = "NUMBER")]
    pub(crate) to: Option<Pattern>,
    /// Either party; exact or prefix`*`
    #[arg(long, value_name = "NUMBER")]
    pub(crate) number: Option<Pattern>,
    /// Call-ID; exact or prefix`*`
    #[arg(long, value_name = "ID")]
    pub(crate) call_id: Option<Pattern>,
    /// State: completed, active, failed, redirected, cancelled, timeout, ringing, trying; several with commas
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = state)]
    pub(crate) state: Vec<CallState>,
    /// Calls that began at this time or later: 2026-11-21T02:00:00Z, "2026-11-21 02:00" (UTC) or 2026-11-21
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    pub(crate) since: Option<Nanos>,
    /// Calls that began before this time
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    pub(crate) until: Option<Nanos>,
    /// Calls whose worse direction has a MOS below this; calls without a MOS do not match
    #[arg(long, value_name = "MOS", value_parser = mos)]
    pub(crate) mos_below: Option<f64>,
    /// Calls with a note of this code, such as one_way; several with commas: see the manual, quality
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = note)]
    pub(crate) note: Vec<NoteCode>,
    /// Calls with any note
    #[arg(long)]
    pub(crate) problems: bool,
}

impl Filter {
    /// Whether any filter was given.
    pub(crate) fn is_set(&self) -> bool {
        self.from.is_some()
            || self.to.is_some()
            || self.number.is_some()
            || self.call_id.is_some()
            || !self.state.is_empty()
            || self.since.is_some()
            || self.until.is_some()
            || self.mos_below.is_some()
            || !self.note.is_empty()
            || self.problems
    }

    /// Whether `call` matches all filters.
    pub(crate) fn passes(&self, call: &Call) -> bool {
        let caller = |pattern: &Pattern| callers(call).any(|number| pattern.matches(number));
        let called = |pattern: &Pattern| callees(call).any(|number| pattern.matches(number));
        // A call whose start is unknown matches no time.
        let start = call.start();
        holds(&self.from, caller)
            && holds(&self.to, called)
            && holds(&self.number, |pattern| caller(pattern) || called(pattern))
            && holds(&self.call_id, |pattern| pattern.matches(&call.call_id))
            && (self.state.is_empty() || self.state.contains(&call.state))
            && holds(&self.since, |since| start.is_some_and(|start| start >= *since))
            && holds(&self.until, |until| start.is_some_and(|start| start < *until))
            && holds(&self.mos_below, |limit| call.mos.is_some_and(|mos| mos < *limit))
            && (self.note.is_empty() || call.notes.iter().any(|note| self.note.contains(&note.code)))
            && (!self.problems || !call.notes.is_empty())
    }
}

fn holds<T>(filter: &Option<T>, test: impl FnOnce(&T) -> bool) -> bool {
    filter.as_ref().is_none_or(test)
}

fn callers(call: &Call) -> impl Iterator<Item = &str> {
    [call.from_user.as_deref(), call.asserted_identity.as_deref()].into_iter().flatten()
}

fn callees(call: &Call) -> impl Iterator<Item = &str> {
    let named = [call.to_user.as_deref(), call.ruri_user.as_deref()].into_iter().flatten();
    named.chain(call.diverted_to.iter().map(String::as_str))
}

/// A text to match exactly, or a prefix if it ends in `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// The text without its `*`.
    pub(crate) text: String,
    /// The text is a prefix.
    pub(crate) prefix: bool,
}

impl Pattern {
    /// Whether `text` matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        if self.prefix { text.starts_with(&self.text) } else { text == self.text }
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.text, if self.prefix { "*" } else { "" })
    }
}

impl std::str::FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (text, prefix) = text.strip_suffix('*').map_or((text, false), |start| (start, true));
        if text.contains('*') {
            return Err("`*` is allowed only once, at the end".to_string());
        }
        if text.is_empty() && !prefix {
            return Err("an empty text matches nothing: write a number or a prefix with `*`".to_string());
        }
        Ok(Self { text: text.to_string(), prefix })
    }
}

fn state(text: &str) -> Result<CallState, String> {
    CallState::from_name(text.trim()).ok_or_else(|| {
        let names: Vec<&str> = CallState::ALL.iter().map(|state| state.name()).collect();
        format!("a call is one of {}", names.join(", "))
    })
}

fn note(text: &str) -> Result<NoteCode, String> {
    NoteCode::from_name(text.trim()).ok_or_else(|| {
        let names: Vec<&str> = NoteCode::ALL.iter().map(|code| code.name()).collect();
        format!("a note is one of {}", names.join(", "))
    })
}

fn mos(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(mos) if (1.0..=5.0).contains(&mos) => Ok(mos),
        _ => Err("a MOS lies between 1 and 5".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use ringtap_model::Note;
    use ringtap_testing::samples;

    use super::*;

    fn pattern(text: &str) -> Option<Pattern> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn numbers_match_whole_or_from_the_start() {
        let call = samples::call();
        let from = |text| Filter { from: pattern(text), ..Filter::default() }.passes(&call);
        assert!(from("+420221111111"));
        assert!(from("+4202*"));
        assert!(from("*"));
        assert!(!from("+4202"));
        assert!(!from("+420602222222"));
        let to = |text| Filter { to: pattern(text), ..Filter::default() }.passes(&call);
        assert!(to("+420602222222"));
        assert!(to("voicemail"), "diverted to");
        let number = |text| Filter { number: pattern(text), ..Filter::default() }.passes(&call);
        assert!(number("+420221111111") && number("+420602*") && !number("999"));
    }

    #[test]
    fn a_span_of_time_is_half_open() {
        let call = samples::call();
        let start = call.start();
        let filter = |since, until| Filter { since, until, ..Filter::default() }.passes(&call);
        assert!(filter(start, None));
        assert!(!filter(None, start));
        assert!(filter(start, start.map(|start| start + Nanos(1))));
        let unknown =
            Call { invite: None, trying: None, ringing: None, answer: None, end: None, ..samples::call() };
        assert!(!Filter { since: Some(Nanos::ZERO), ..Filter::default() }.passes(&unknown));
    }

    #[test]
    fn every_filter_must_hold() {
        let call = samples::call();
        let filter = Filter { state: vec![CallState::Completed], mos_below: Some(4.0), ..Filter::default() };
        assert!(!filter.passes(&call), "MOS of {:?}", call.mos);
        assert!(Filter { mos_below: Some(4.5), ..filter.clone() }.passes(&call));
        assert!(
            !Filter { mos_below: Some(5.0), ..Filter::default() }.passes(&Call { mos: None, ..call.clone() })
        );
        assert!(
            !Filter { state: vec![CallState::Failed, CallState::Timeout], ..Filter::default() }.passes(&call)
        );
        assert!(filter.is_set() && !Filter::default().is_set());
        assert!(Filter::default().passes(&call));
    }

    #[test]
    fn notes_are_filtered_by_code_or_all_together() {
        let fine = samples::call();
        let note = Note::new(NoteCode::OneWay, "x".into());
        let bad = Call { notes: vec![note], ..samples::call() };
        let one_way = Filter { note: vec![NoteCode::OneWay, NoteCode::Fax], ..Filter::default() };
        assert!(one_way.passes(&bad) && !one_way.passes(&fine) && one_way.is_set());
        let fax = Filter { note: vec![NoteCode::Fax], ..Filter::default() };
        assert!(!fax.passes(&bad));
        let any = Filter { problems: true, ..Filter::default() };
        assert!(any.passes(&bad) && !any.passes(&fine) && any.is_set());
        assert_eq!(super::note("one_way"), Ok(NoteCode::OneWay));
        assert!(super::note("oneway").unwrap_err().contains("one_way"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!("12*34".parse::<Pattern>().is_err());
        assert!("".parse::<Pattern>().is_err());
        assert!(state("answered").unwrap_err().contains("completed"));
        assert_eq!(state("failed"), Ok(CallState::Failed));
        assert!(mos("6").is_err() && mos("NaN").is_err() && mos("x").is_err());
    }
}

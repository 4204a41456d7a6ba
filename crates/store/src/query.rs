//! What to search for, and the SQL that finds it.

use ringtap_model::{CallState, Nanos, NoteCode};
use rusqlite::types::Value;

use crate::Day;

/// Conditions on calls; all that are set must hold. The default finds every call.
///
/// Numbers and users are compared exactly, letter case included; one that ends in `*` finds all that begin
/// so.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Calling party: user of From, or asserted identity.
    pub from: Option<String>,
    /// Called party: user of To, user of the Request-URI, or a number that the call was routed on to.
    pub to: Option<String>,
    /// Either of them.
    pub number: Option<String>,
    /// Call-ID.
    pub call_id: Option<String>,
    /// Where the call stands.
    pub state: Option<CallState>,
    /// Calls that began then or later.
    pub since: Option<Nanos>,
    /// Calls that began before.
    pub until: Option<Nanos>,
    /// Calls with a MOS, and a lower one than this.
    pub mos_below: Option<f64>,
    /// Calls with a note of one of these codes; empty: with or without notes.
    pub notes: Vec<NoteCode>,
    /// At most this many; [`FoundCalls::cut`](crate::FoundCalls::cut) tells whether there were more.
    pub limit: usize,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            from: None,
            to: None,
            number: None,
            call_id: None,
            state: None,
            since: None,
            until: None,
            mos_below: None,
            notes: Vec::new(),
            limit: usize::MAX,
        }
    }
}

const CALLING: &[Party] = &[Party::Column("from_user"), Party::Column("asserted_identity")];
const CALLED: &[Party] = &[Party::Column("to_user"), Party::Column("ruri_user"), Party::Diversion];
const EITHER: &[Party] = &[
    Party::Column("from_user"),
    Party::Column("asserted_identity"),
    Party::Column("to_user"),
    Party::Column("ruri_user"),
    Party::Diversion,
];

/// Where a number may stand.
#[derive(Clone, Copy)]
enum Party {
    Column(&'static str),
    Diversion,
}

impl Query {
    /// Whether calls of that day can be among those searched.
    pub(crate) fn covers(&self, day: Day) -> bool {
        self.since.is_none_or(|since| day.end() > since) && self.until.is_none_or(|until| day.start() < until)
    }

    /// The condition and its values. Every value is bound, none is spliced into the text.
    pub(crate) fn condition(&self) -> (String, Vec<Value>) {
        let mut condition = Condition::default();
        for (pattern, parties) in [(&self.from, CALLING), (&self.to, CALLED), (&self.number, EITHER)] {
            if let Some(pattern) = pattern {
                let any: Vec<_> = parties.iter().map(|&party| condition.party(party, pattern)).collect();
                condition.all.push(format!("({})", any.join(" OR ")));
            }
        }
        if let Some(call_id) = &self.call_id {
            condition.compare("call_id =", Value::Text(call_id.clone()));
        }
        if let Some(state) = self.state {
            condition.compare("state =", Value::Text(state.name().into()));
        }
        if let Some(since) = self.since {
            condition.compare("start_us >=", micros(since));
        }
        if let Some(until) = self.until {
            condition.compare("start_us <", micros(until));
        }
        if let Some(mos) = self.mos_below {
            condition.compare("mos <", Value::Real(mos));
        }
        if !self.notes.is_empty() {
            let codes: Vec<_> =
                self.notes.iter().map(|code| condition.bind(Value::Text(code.name().into()))).collect();
            let codes = codes.join(", ");
            // Qualified: `json_each` has a column `json` of its own.
            condition.all.push(format!(
                "EXISTS (SELECT 1 FROM json_each(calls.json, '$.notes') AS note \
                 WHERE note.value ->> 'code' IN ({codes}))"
            ));
        }
        let all = if condition.all.is_empty() { "1".into() } else { condition.all.join(" AND ") };
        (all, condition.values)
    }
}

/// A moment as the columns hold it: rounded up, so that a call in the same microsecond as `since` but before
/// it is not found, and one as `until` but before it is.
fn micros(time: Nanos) -> Value {
    Value::Integer(i64::try_from(time.0.div_ceil(1_000)).unwrap_or(i64::MAX))
}

#[derive(Default)]
struct Condition {
    all: Vec<String>,
    values: Vec<Value>,
}

impl Condition {
    fn compare(&mut self, left: &str, right: Value) {
        let place = self.bind(right);
        self.all.push(format!("{left} {place}"));
    }

    fn bind(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }

    fn party(&mut self, party: Party, pattern: &str) -> String {
        match party {
            Party::Column(column) => self.matches(column, pattern),
            Party::Diversion => {
                let number = self.matches("number", pattern);
                format!("id IN (SELECT call FROM diversions WHERE {number})")
            }
        }
    }

    /// A range rather than LIKE for what begins so: it uses the index, and knows no wildcards but the one.
    fn matches(&mut self, column: &str, pattern: &str) -> String {
        match pattern.strip_suffix('*') {
            None => format!("{column} = {}", self.bind(Value::Text(pattern.into()))),
            Some("") => format!("{column} IS NOT NULL"),
            Some(prefix) => {
                let low = self.bind(Value::Text(prefix.into()));
                // The last code point sorts behind everything that may follow the prefix.
                let high = self.bind(Value::Text(format!("{prefix}\u{10FFFF}")));
                format!("({column} >= {low} AND {column} < {high})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_asked_finds_all() {
        assert_eq!(Query::default().condition(), ("1".into(), vec![]));
    }

    #[test]
    fn values_are_bound() {
        let hostile = "'; DROP TABLE calls; --";
        let query = Query { number: Some(hostile.into()), call_id: Some(hostile.into()), ..Query::default() };
        let (condition, values) = query.condition();
        assert!(!condition.contains("DROP"));
        assert_eq!(values.len(), 6);
    }

    #[test]
    fn days() {
        let noon = Nanos::from_secs(1_795_262_400);
        let day = Day::of(noon);
        assert!(Query { since: Some(noon), until: Some(noon + Nanos(1)), ..Query::default() }.covers(day));
        assert!(!Query { since: Some(day.end()), ..Query::default() }.covers(day));
        assert!(!Query { until: Some(day.start()), ..Query::default() }.covers(day));
    }
}

//! What to search for, and the SQL that leaves out what cannot match.
//!
//! The rows that are left are compared with the filter itself, as records of a capture are: the SQL may find
//! too much, never too little.

use ringtap_model::filter::{
    CodeRange, CodecName, Condition, NumberPattern, PUNCTUATION, Pattern, SEPARATORS,
};
use ringtap_model::{Filter, Nanos, Network, NoteCode};
use rusqlite::types::Value;

use crate::Day;

/// What to search for. The default finds everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// What records must satisfy.
    pub filter: Filter,
    /// At most this many, the earliest; [`Found::cut`](crate::Found::cut) tells whether there were more.
    pub limit: usize,
}

impl Default for Query {
    fn default() -> Self {
        Filter::default().into()
    }
}

impl From<Filter> for Query {
    fn from(filter: Filter) -> Self {
        Self { filter, limit: usize::MAX }
    }
}

impl Query {
    /// Whether records of that day can be among those searched.
    pub(crate) fn covers(&self, day: Day) -> bool {
        self.filter.0.iter().all(|condition| match condition {
            Condition::Since(since) => day.end() > *since,
            Condition::Until(until) => day.start() < *until,
            _ => true,
        })
    }

    /// A condition that all calls satisfy that the filter selects, and its values. Every value is bound, none
    /// is spliced into the text.
    pub(crate) fn of_calls(&self) -> (String, Vec<Value>) {
        let mut sql = Sql::default();
        self.filter.0.iter().for_each(|condition| sql.call(condition));
        sql.finish()
    }

    /// The same of streams that need no call.
    pub(crate) fn of_streams(&self) -> (String, Vec<Value>) {
        let mut sql = Sql::default();
        for condition in &self.filter.0 {
            match condition {
                Condition::CallId(pattern) => sql.matches("call_id", pattern),
                Condition::Since(since) => sql.compare("first_us >=", micros(*since)),
                Condition::Until(until) => sql.compare("first_us <", micros(*until)),
                Condition::MosBelow(limit) => sql.compare("mos <", Value::Real(*limit)),
                Condition::LossAbove(limit) if *limit >= 0.0 => sql.all.push("lost > 0".into()),
                Condition::Codec(names) => {
                    let any = sql.codecs("codec", names);
                    sql.all.push(any);
                }
                Condition::Ip(networks) => {
                    let any = sql.hosts(networks);
                    sql.all.push(any);
                }
                _ => {}
            }
        }
        sql.finish()
    }

    /// The same of registrations and messages: `time` is the column of their beginning.
    pub(crate) fn of_others(&self, time: &str) -> (String, Vec<Value>) {
        let mut sql = Sql::default();
        for condition in &self.filter.0 {
            match condition {
                Condition::Since(since) => sql.compare(&format!("{time} >="), micros(*since)),
                Condition::Until(until) => sql.compare(&format!("{time} <"), micros(*until)),
                Condition::Code(codes) => sql.codes("code", codes),
                Condition::Ip(networks) => {
                    let any = sql.hosts(networks);
                    sql.all.push(any);
                }
                _ => {}
            }
        }
        sql.finish()
    }
}

const CALLING: &[Party] = &[Party::Column("from_user"), Party::Column("asserted_identity")];
const CALLED: &[Party] = &[Party::Column("to_user"), Party::Column("ruri_user"), Party::Diversion];

/// Where a number may stand.
#[derive(Clone, Copy)]
enum Party {
    Column(&'static str),
    Diversion,
}

/// A moment as the columns hold it: rounded up, as a filter compares it.
fn micros(time: Nanos) -> Value {
    Value::Integer(i64::try_from(time.0.div_ceil(1_000)).unwrap_or(i64::MAX))
}

#[derive(Default)]
struct Sql {
    all: Vec<String>,
    values: Vec<Value>,
}

impl Sql {
    fn finish(self) -> (String, Vec<Value>) {
        (if self.all.is_empty() { "1".into() } else { self.all.join(" AND ") }, self.values)
    }

    fn call(&mut self, condition: &Condition) {
        match condition {
            Condition::From(pattern) => self.number(CALLING, pattern),
            Condition::To(pattern) => self.number(CALLED, pattern),
            Condition::Number(pattern) => self.number(&[CALLING, CALLED].concat(), pattern),
            Condition::CallId(pattern) => self.matches("call_id", pattern),
            Condition::State(states) => {
                let names = states.iter().map(|state| state.name());
                let names = self.list(names);
                self.all.push(format!("state IN ({names})"));
            }
            Condition::Code(codes) => self.codes("final_code", codes),
            Condition::Since(since) => self.compare("start_us >=", micros(*since)),
            Condition::Until(until) => self.compare("start_us <", micros(*until)),
            Condition::MosBelow(limit) => self.compare("mos <", Value::Real(*limit)),
            Condition::LossAbove(limit) if *limit >= 0.0 => self.stream("stream.lost > 0"),
            Condition::LossAbove(_) => self.stream("1"),
            Condition::Codec(names) => {
                let any = self.codecs("stream.codec", names);
                self.stream(&any);
            }
            Condition::Duration(range) => {
                if let Some((from, _)) = range.from {
                    self.compare("duration_ms >=", Value::Real(from));
                }
                if let Some((to, _)) = range.to {
                    self.compare("duration_ms <=", Value::Real(to));
                }
            }
            Condition::Ip(networks) => {
                let own = self.hosts(networks);
                let streams = with_stream(&self.hosts(networks));
                self.all.push(format!("({own} OR {streams})"));
            }
            Condition::UserAgent(words) => {
                let glob = self.text(&words.glob());
                let matches = |side| format!("lower(user_agent_{side}) GLOB {glob}");
                self.all.push(format!("({} OR {})", matches("caller"), matches("callee")));
            }
            Condition::Note(codes) => self.notes(codes),
            Condition::Problems => self.notes(NoteCode::ALL),
        }
    }

    fn compare(&mut self, left: &str, right: Value) {
        let place = self.bind(right);
        self.all.push(format!("{left} {place}"));
    }

    fn bind(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }

    fn text(&mut self, text: &str) -> String {
        self.bind(Value::Text(text.into()))
    }

    fn list<'a>(&mut self, texts: impl Iterator<Item = &'a str>) -> String {
        texts.map(|text| self.text(text)).collect::<Vec<_>>().join(", ")
    }

    fn notes(&mut self, codes: &[NoteCode]) {
        let codes = self.list(codes.iter().map(|code| code.name()));
        // Qualified: `json_each` has a column `json` of its own.
        self.all.push(format!(
            "EXISTS (SELECT 1 FROM json_each(calls.json, '$.notes') AS note \
             WHERE note.value ->> 'code' IN ({codes}))"
        ));
    }

    fn codes(&mut self, column: &str, codes: &[CodeRange]) {
        let any: Vec<_> = codes
            .iter()
            .map(|range| format!("{column} BETWEEN {} AND {}", range.first, range.last))
            .collect();
        self.all.push(format!("({})", any.join(" OR ")));
    }

    fn stream(&mut self, condition: &str) {
        self.all.push(with_stream(condition));
    }

    /// `src` or `dst` in one of the networks. A column holds `ip:port` or `[ip]:port` as text, so a network
    /// that is not a single address is searched by the octets of which it has all bits.
    fn hosts(&mut self, networks: &[Network]) -> String {
        let mut any = Vec::new();
        for network in networks {
            let head = network.text_prefix();
            for column in ["src", "dst"] {
                any.push(self.begins(column, &head));
            }
        }
        format!("({})", any.join(" OR "))
    }

    /// A column that is the name of one of the codecs.
    fn codecs(&mut self, column: &str, names: &[CodecName]) -> String {
        let plain = PUNCTUATION
            .iter()
            .fold(format!("lower({column})"), |column, mark| format!("replace({column}, '{mark}', '')"));
        let globs: Vec<_> = names.iter().flat_map(CodecName::globs).map(|glob| self.text(&glob)).collect();
        let any: Vec<_> = globs.iter().map(|glob| format!("{plain} GLOB {glob}")).collect();
        format!("({})", any.join(" OR "))
    }

    /// A column that matches a pattern, by its text before the first `*`.
    fn matches(&mut self, column: &str, pattern: &Pattern) {
        let condition = match pattern.is_exact() {
            true => format!("{column} = {}", self.text(pattern.head())),
            false => self.begins(column, pattern.head()),
        };
        self.all.push(condition);
    }

    /// A range rather than LIKE: it uses the index, and has no wildcards.
    fn begins(&mut self, column: &str, head: &str) -> String {
        if head.is_empty() {
            return format!("{column} IS NOT NULL");
        }
        let low = self.text(head);
        // The last code point sorts behind everything that may follow.
        let high = self.text(&format!("{head}\u{10FFFF}"));
        format!("({column} >= {low} AND {column} < {high})")
    }

    /// Rows by the numbers in them. One statement for each way to write a number, so that each uses its
    /// index: with OR, SQLite reads the whole table.
    fn number(&mut self, parties: &[Party], pattern: &NumberPattern) {
        let rows: Vec<_> = parties.iter().flat_map(|&party| self.rows(party, pattern)).collect();
        self.all.push(format!("rowid IN ({})", rows.join(" UNION ALL ")));
    }

    /// A column that begins so and has the rest of the pattern's characters in their order, which saves
    /// reading the records of all that begin so.
    fn begins_and_has(&mut self, column: &str, head: &str, pattern: &Pattern) -> String {
        let begins = self.begins(column, head);
        if pattern.pieces().skip(1).all(str::is_empty) {
            return begins;
        }
        let loose = self.text(&loose(pattern));
        format!("{begins} AND {column} GLOB {loose}")
    }

    fn rows(&mut self, party: Party, pattern: &NumberPattern) -> Vec<String> {
        let (column, select) = match party {
            Party::Column(column) => (column, "SELECT rowid FROM calls WHERE"),
            Party::Diversion => (
                "number",
                "SELECT calls.rowid FROM diversions JOIN calls ON calls.id = diversions.call WHERE",
            ),
        };
        // As it is written, and digit for digit: most patterns are the same twice.
        let mut patterns: Vec<&Pattern> =
            [Some(pattern.written()), pattern.digits()].into_iter().flatten().collect();
        patterns.dedup();
        let mut any = Vec::new();
        if patterns.iter().any(|pattern| pattern.head().is_empty()) {
            // Without a beginning, an index is read through.
            let globs: Vec<_> = patterns
                .iter()
                .map(|pattern| format!("{column} GLOB {}", self.text(&loose(pattern))))
                .collect();
            any.push(format!("({})", globs.join(" OR ")));
        } else {
            any.push(self.begins_and_has(column, pattern.written().head(), pattern.written()));
            if let Some(digits) = pattern.digits() {
                for prefix in ["", "+", "00", "%2B", "%2b"] {
                    let head = format!("{prefix}{}", digits.head());
                    any.push(self.begins_and_has(column, &head, digits));
                }
                let separated = self.text(&loose(digits));
                any.push(format!("{} AND {column} GLOB {separated}", has_separator(column)));
            }
        }
        any.iter().map(|condition| format!("{select} {condition}")).collect()
    }
}

/// Calls with a stream like that, and those of which streams lie in the file of another day.
fn with_stream(condition: &str) -> String {
    format!(
        "(EXISTS (SELECT 1 FROM streams AS stream WHERE stream.call = calls.id AND {condition}) \
         OR json_array_length(calls.json, '$.streams') \
         > (SELECT count(*) FROM streams WHERE streams.call = calls.id))"
    )
}

/// Whether a column has something that separates digits, as in the partial indexes of the schema.
pub(crate) fn has_separator(column: &str) -> String {
    let separators: String = SEPARATORS.iter().filter(|c| **c != '-').collect();
    format!("{column} GLOB '*[-{separators}]*'")
}

/// A pattern of GLOB for texts that have these characters in this order.
fn loose(pattern: &Pattern) -> String {
    let mut loose = String::from("*");
    for c in pattern.pieces().flat_map(str::chars) {
        match c {
            '*' | '?' | '[' => loose.push_str(&format!("[{c}]")),
            c => loose.push(c),
        }
        loose.push('*');
    }
    loose
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_asked_finds_all() {
        assert_eq!(Query::default().of_calls(), ("1".into(), vec![]));
    }

    #[test]
    fn values_are_bound() -> Result<(), String> {
        let hostile = "'; DROP TABLE calls; --";
        let conditions = vec![
            Condition::Number(hostile.parse()?),
            Condition::CallId(hostile.parse()?),
            Condition::Codec(vec![hostile.parse()?]),
            Condition::UserAgent(hostile.parse()?),
        ];
        let (condition, values) = Query::from(Filter(conditions)).of_calls();
        assert!(!condition.contains("DROP"), "{condition}");
        assert_eq!(values.len(), 13);
        Ok(())
    }

    #[test]
    fn days() {
        let noon = Nanos::from_secs(1_795_262_400);
        let day = Day::of(noon);
        let covers = |conditions: Vec<Condition>| Query::from(Filter(conditions)).covers(day);
        assert!(covers(vec![Condition::Since(noon), Condition::Until(noon + Nanos(1))]));
        assert!(!covers(vec![Condition::Since(day.end())]));
        assert!(!covers(vec![Condition::Until(day.start())]));
    }
}

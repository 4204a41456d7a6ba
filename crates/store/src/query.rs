//! What to search for, and the SQL that leaves out what cannot match.
//!
//! The rows that are left are compared with the filter itself, as records of a capture are: the SQL may find
//! too much, never too little.

use ringtap_model::filter::{CodeRange, CodecName, Condition, PUNCTUATION};
use ringtap_model::{Filter, Id, Nanos, Network, NoteCode};
use rusqlite::types::Value;

use crate::Day;
use crate::keys::{self, Probes};
use crate::record::{integer, part_of_day};
use crate::schema::{self, PARTS_OF_DAY};
use crate::tables::{Address, OTHER_NOTES, STREAM_CALL_ID};
use crate::texts;

/// What to search for. The default finds everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// What records must satisfy.
    pub filter: Filter,
    /// At most this many; [`Found::cut`](crate::Found::cut) tells whether there were more.
    pub limit: usize,
    /// Where there are more: the newest instead of the earliest.
    pub newest: bool,
}

impl Default for Query {
    fn default() -> Self {
        Filter::default().into()
    }
}

impl From<Filter> for Query {
    fn from(filter: Filter) -> Self {
        Self { filter, limit: usize::MAX, newest: false }
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

    /// A condition that all calls of a day satisfy that the filter selects, and its values. Every value is
    /// bound, none is spliced into the text.
    pub(crate) fn of_calls(&self, day: Day) -> (String, Vec<Value>) {
        let mut sql = Sql { parts: parts(&self.filter.0, day), ..Sql::of(day) };
        self.filter.0.iter().for_each(|condition| sql.call(condition));
        sql.finish()
    }

    /// The same of streams that need no call.
    pub(crate) fn of_streams(&self, day: Day) -> (String, Vec<Value>) {
        let mut sql = Sql::of(day);
        for condition in &self.filter.0 {
            match condition {
                Condition::CallId(pattern) => sql.stream_call_id(pattern.head(), pattern.is_exact()),
                Condition::Since(_) | Condition::Until(_) => sql.time("first_us", condition, day),
                Condition::MosBelow(limit) => sql.mos_below(*limit),
                Condition::Duration(range) => sql.span("span_ms", range.from, range.to),
                condition => {
                    if let Some(condition) = sql.of_stream(condition) {
                        sql.all.push(condition);
                    }
                }
            }
        }
        sql.finish()
    }

    /// The same of registrations, messages and transactions: `time` is the column of their beginning.
    pub(crate) fn of_others(&self, time: &str, day: Day) -> (String, Vec<Value>) {
        let mut sql = Sql::of(day);
        for condition in &self.filter.0 {
            match condition {
                Condition::Since(_) | Condition::Until(_) => sql.time(time, condition, day),
                Condition::Code(codes) => sql.codes("code", codes),
                Condition::Ip(networks) => {
                    let any = sql.hosts("", networks);
                    sql.all.push(any);
                }
                _ => {}
            }
        }
        sql.finish()
    }

    /// The same of records that are searched by time alone: `column` is that of their beginning.
    pub(crate) fn of_time(&self, column: &str, day: Day) -> (String, Vec<Value>) {
        let mut sql = Sql::of(day);
        self.filter.0.iter().for_each(|condition| sql.time(column, condition, day));
        sql.finish()
    }
}

/// The parts of a day that conditions are about.
pub(crate) fn parts(conditions: &[Condition], day: Day) -> Vec<u8> {
    let (mut first, mut last) = (0, PARTS_OF_DAY - 1);
    for condition in conditions {
        match condition {
            Condition::Since(since) if *since > day.start() => first = first.max(part_of_day(*since)),
            Condition::Until(until) if *until < day.end() => last = last.min(part_of_day(*until)),
            _ => {}
        }
    }
    (first..=last).collect()
}

/// A moment as the columns hold it: rounded up, as a filter compares it.
fn micros(time: Nanos) -> Value {
    Value::Integer(integer(time.0.div_ceil(1_000)))
}

/// Conditions in SQL, with their values.
pub(crate) struct Sql {
    pub(crate) day: Day,
    /// Those that must all hold.
    pub(crate) all: Vec<String>,
    pub(crate) values: Vec<Value>,
    /// The parts of the day in which keys are looked up.
    pub(crate) parts: Vec<u8>,
}

impl Sql {
    pub(crate) fn of(day: Day) -> Self {
        Self { day, all: Vec::new(), values: Vec::new(), parts: Vec::new() }
    }

    /// Since or until a time, by its second and the time itself. A time in another day says nothing.
    pub(crate) fn time(&mut self, column: &str, condition: &Condition, day: Day) {
        let second = schema::second_of_day(column);
        let seconds = |time: Nanos| Value::Integer(integer(time.micros() / 1_000_000 % 86_400));
        match *condition {
            Condition::Since(since) if since > day.start() => {
                self.compare(&format!("{second} >="), seconds(since));
                self.compare(&format!("{column} >="), micros(since));
            }
            Condition::Until(until) if until < day.end() => {
                self.compare(&format!("{second} <="), seconds(until));
                self.compare(&format!("{column} <"), micros(until));
            }
            _ => {}
        }
    }

    pub(crate) fn finish(self) -> (String, Vec<Value>) {
        (if self.all.is_empty() { "1".into() } else { self.all.join(" AND ") }, self.values)
    }

    pub(crate) fn call(&mut self, condition: &Condition) {
        match condition {
            Condition::From(pattern) | Condition::To(pattern) | Condition::Number(pattern) => {
                self.keys(&keys::of_number(pattern));
            }
            Condition::CallId(pattern) => self.keys(&keys::of_call_id(pattern)),
            Condition::State(states) => {
                let names = self.list(states.iter().map(|state| state.name()));
                self.all.push(texts::condition("state", &format!("text IN ({names})")));
            }
            Condition::Code(codes) => self.codes("final_code", codes),
            Condition::Since(_) | Condition::Until(_) => self.time("start_us", condition, self.day),
            Condition::MosBelow(limit) => self.mos_below(*limit),
            Condition::LossAbove(_) | Condition::Codec(_) => {
                if let Some(condition) = self.of_stream(condition) {
                    self.all.push(with_stream(&condition));
                }
            }
            Condition::Duration(range) => self.span("duration_ms", range.from, range.to),
            Condition::Ip(networks) => {
                let own = self.hosts("", networks);
                let streams = with_stream(&self.hosts("stream.", networks));
                self.all.push(format!("({own} OR {streams})"));
            }
            Condition::UserAgent(words) => {
                let glob = format!("lower(text) GLOB {}", self.text(&words.glob()));
                let [caller, callee] =
                    ["user_agent_caller", "user_agent_callee"].map(|column| texts::condition(column, &glob));
                self.all.push(format!("({caller} OR {callee})"));
            }
            Condition::Note(codes) => {
                let condition = self.notes("notes", codes);
                self.all.push(condition);
            }
            // No column has it: the records of the time are compared.
            Condition::Trunk(_) => {}
            Condition::Problems => self.all.push("notes <> 0".into()),
            Condition::Conversation(id) => {
                let condition = self.conversation(*id);
                self.all.push(condition);
            }
        }
    }

    /// Calls whose conversation is that one: by their own id, by their record, by what a later one changed.
    pub(crate) fn conversation(&mut self, id: Id) -> String {
        let id = self.blob(&id.0);
        let parts: Vec<String> = (0..PARTS_OF_DAY).map(|part| part.to_string()).collect();
        let parts = format!("{} IN ({})", schema::part_of_day("leg.start_us"), parts.join(", "));
        format!(
            "calls.number IN (SELECT number FROM calls AS leg WHERE {parts} AND leg.id = {id} \
             UNION ALL SELECT number FROM calls AS leg WHERE {parts} \
             AND substr(leg.conversation, 9) = substr({id}, 9) AND leg.conversation > x'' \
             UNION ALL SELECT leg.number FROM conversations JOIN calls AS leg \
             ON {parts} AND leg.id = conversations.call WHERE conversations.conversation = {id})"
        )
    }

    /// A condition on a row of `streams`, also one that has the name `stream`.
    fn of_stream(&mut self, condition: &Condition) -> Option<String> {
        Some(match condition {
            // Loss is never below 0; the columns are rounded.
            Condition::LossAbove(limit) => format!("loss >= {}", self.bind(Value::Real(limit * 1e3 - 1.0))),
            Condition::Codec(names) => self.codecs(names),
            Condition::Ip(networks) => self.hosts("", networks),
            Condition::Note(codes) => self.notes("notes", codes),
            Condition::Problems => "notes <> 0".into(),
            _ => return None,
        })
    }

    fn mos_below(&mut self, limit: f64) {
        self.compare("mos <=", Value::Real(limit * 1e3 + 1.0));
    }

    /// A span in milliseconds, which the column has rounded.
    fn span(&mut self, column: &str, from: Option<(f64, bool)>, to: Option<(f64, bool)>) {
        if let Some((from, _)) = from {
            self.compare(&format!("{column} >="), Value::Real(from - 1.0));
        }
        if let Some((to, _)) = to {
            self.compare(&format!("{column} <="), Value::Real(to + 1.0));
        }
    }

    /// Calls that have one of these keys.
    fn keys(&mut self, probes: &Probes) {
        if let Some(rows) = self.key_rows(probes) {
            self.all.push(format!("calls.number IN ({rows})"));
        }
    }

    /// The statement that gives the rows of calls that have one of these keys; none where that is every call.
    pub(crate) fn key_rows(&mut self, probes: &Probes) -> Option<String> {
        let parts: Vec<String> = self.parts.iter().map(u8::to_string).collect();
        let select = format!("SELECT call FROM keys WHERE part IN ({}) AND key", parts.join(", "));
        let rows = match probes {
            Probes::None => return None,
            Probes::Ranges(ranges) => {
                let mut range = |(low, high): &(Vec<u8>, Vec<u8>)| {
                    let (low, high) = (self.blob(low), self.blob(high));
                    format!("{select} BETWEEN {low} AND {high}")
                };
                ranges.iter().map(&mut range).collect::<Vec<_>>().join(" UNION ALL ")
            }
            Probes::Scan(pieces) => {
                let (low, high) = (self.blob(&[keys::BACKWARDS]), self.blob(&[keys::BACKWARDS + 1]));
                let has: Vec<_> =
                    pieces.iter().map(|piece| format!("instr(key, {}) > 0", self.blob(piece))).collect();
                let has = if has.is_empty() { "1".to_owned() } else { has.join(" OR ") };
                format!("{select} BETWEEN {low} AND {high} AND ({has} OR length(key) > {})", keys::LONGEST)
            }
        };
        Some(rows)
    }

    fn stream_call_id(&mut self, head: &str, is_exact: bool) {
        let head = head.as_bytes();
        let head = &head[..head.len().min(STREAM_CALL_ID)];
        let low = self.blob(head);
        if is_exact {
            return self.all.push(format!("call_id = {low}"));
        }
        let high = self.blob(&[head, &[0xff]].concat());
        self.all.push(format!("call_id BETWEEN {low} AND {high}"));
    }

    fn compare(&mut self, left: &str, right: Value) {
        let place = self.bind(right);
        self.all.push(format!("{left} {place}"));
    }

    pub(crate) fn bind(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }

    pub(crate) fn text(&mut self, text: &str) -> String {
        self.bind(Value::Text(text.into()))
    }

    pub(crate) fn blob(&mut self, bytes: &[u8]) -> String {
        self.bind(Value::Blob(bytes.into()))
    }

    pub(crate) fn list<'a>(&mut self, texts: impl Iterator<Item = &'a str>) -> String {
        texts.map(|text| self.text(text)).collect::<Vec<_>>().join(", ")
    }

    /// A note of one of the codes, or one without a bit of its own.
    fn notes(&mut self, column: &str, codes: &[NoteCode]) -> String {
        format!("{column} & ({})", self.note_bits(codes))
    }

    /// The statement that selects the bits of those codes, and the one of all that have none of their own.
    pub(crate) fn note_bits(&mut self, codes: &[NoteCode]) -> String {
        let codes = self.list(codes.iter().map(|code| code.name()));
        format!("SELECT coalesce(sum(1 << bit), 0) | (1 << {OTHER_NOTES}) FROM notes WHERE code IN ({codes})")
    }

    fn codes(&mut self, column: &str, codes: &[CodeRange]) {
        let any: Vec<_> = codes
            .iter()
            .map(|range| format!("{column} BETWEEN {} AND {}", range.first, range.last))
            .collect();
        self.all.push(format!("({})", any.join(" OR ")));
    }

    /// `src` or `dst` in one of the networks.
    fn hosts(&mut self, table: &str, networks: &[Network]) -> String {
        self.endpoints(table, networks.iter().map(|network| (*network, None)))
    }

    /// The same, with a port or any.
    pub(crate) fn endpoints(
        &mut self,
        table: &str,
        hosts: impl Iterator<Item = (Network, Option<u16>)>,
    ) -> String {
        let mut any = Vec::new();
        for (network, port) in hosts {
            let (first, last) = network.ends();
            let end = |ip, port| {
                let address = Address::of(ringtap_model::Endpoint::new(ip, port));
                address.bytes().to_vec()
            };
            let low = self.blob(&end(first, port.unwrap_or(0)));
            let high = self.blob(&end(last, port.unwrap_or(u16::MAX)));
            any.extend(["src", "dst"].map(|column| format!("{table}{column} BETWEEN {low} AND {high}")));
        }
        format!("({})", any.join(" OR "))
    }

    /// The codec is one of those.
    pub(crate) fn codecs(&mut self, names: &[CodecName]) -> String {
        let plain = PUNCTUATION
            .iter()
            .fold("lower(text)".to_owned(), |column, mark| format!("replace({column}, '{mark}', '')"));
        let globs: Vec<_> = names.iter().flat_map(CodecName::globs).map(|glob| self.text(&glob)).collect();
        let any: Vec<_> = globs.iter().map(|glob| format!("{plain} GLOB {glob}")).collect();
        texts::condition("codec", &format!("({})", any.join(" OR ")))
    }
}

/// Calls with a stream like that, and those of which streams lie elsewhere: in the file of another day, or
/// far behind the beginning of the call.
pub(crate) fn with_stream(condition: &str) -> String {
    let (here, of_call) = (with_stream_here(condition), of_call());
    format!("({here} OR calls.streams > (SELECT count(*) {of_call}))")
}

/// Calls with a stream like that in the file, soon after the beginning of the call.
pub(crate) fn with_stream_here(condition: &str) -> String {
    format!("EXISTS (SELECT 1 {} AND {condition})", of_call())
}

fn of_call() -> String {
    let part = schema::part_of_day("calls.start_us");
    format!(
        "FROM streams AS stream WHERE {} IN ({part}, {part} + 1) \
         AND substr(stream.call, 9) = substr(calls.id, 9) AND stream.call = calls.id",
        schema::part_of_day("stream.first_us"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_asked_finds_all() {
        assert_eq!(Query::default().of_calls(Day::of(Nanos::ZERO)), ("1".into(), vec![]));
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
        let (condition, values) = Query::from(Filter(conditions)).of_calls(Day::of(Nanos::ZERO));
        assert!(!condition.contains("DROP"), "{condition}");
        assert_eq!(values.len(), 6);
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

//! Records as comma-separated values (RFC 4180): one header line, the names that the JSON has.
//!
//! Names, phrases and Call-IDs come from the network, and people open a CSV in a spreadsheet, which runs a
//! cell that begins like a formula. So such a cell is quoted and begins with an apostrophe, as OWASP
//! recommends ("CSV Injection"). JSON lines have the text as it was.

use std::io::{self, Write};

use ringtap_model::{
    Alarm, Call, Dtmf, Failure, Field, FieldType, Identity, Interval, Message, MethodCount, Record,
    Registration, Stream, User, Value,
};
use serde_json::Number;

use crate::text;

/// Which records a CSV holds: it has one header, so one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordKind {
    /// One line a call
    #[default]
    Calls,
    /// One line a stream, those without a call included
    Streams,
    /// One line a 10 s interval of a stream
    Intervals,
    /// One line a registration
    Registrations,
    /// One line a SIP MESSAGE
    Messages,
    /// One line an alarm
    Alarms,
    /// One line a user
    Users,
    /// One line a session
    Identities,
}

impl RecordKind {
    /// Its columns: the fields of the record that fit a cell. An interval has its stream before them.
    pub fn columns(self) -> Vec<&'static str> {
        match self {
            Self::Calls => names::<Call>().collect(),
            Self::Streams => names::<Stream>().collect(),
            Self::Intervals => ["stream", "call_id"].into_iter().chain(names::<Interval>()).collect(),
            Self::Registrations => names::<Registration>().collect(),
            Self::Messages => names::<Message>().collect(),
            Self::Alarms => names::<Alarm>().collect(),
            Self::Users => names::<User>().collect(),
            Self::Identities => names::<Identity>().collect(),
        }
    }
}

fn names<R: Record>() -> impl Iterator<Item = &'static str> {
    columns::<R>().map(|field| field.name)
}

/// The fields that fit a cell: all but the intervals of a stream, which have a CSV of their own.
pub(crate) fn columns<R: Record>() -> impl Iterator<Item = &'static Field<R>> {
    R::FIELDS.iter().filter(|field| !is_list_of::<Interval>(field.kind))
}

/// Whether a field is a list of those parts.
fn is_list_of<Part: Record>(kind: FieldType) -> bool {
    matches!(kind, FieldType::Parts(name, _) if name == Part::NAME)
}

fn cells<R: Record>(record: &R) -> impl Iterator<Item = String> {
    columns::<R>().map(|field| text_of(field.kind, (field.value)(record)))
}

/// The value of a field of that type as the text of a cell, before it is quoted.
pub(crate) fn text_of(kind: FieldType, value: Value<'_>) -> String {
    match value {
        // What is counted, with its count.
        Value::Parts(parts) if is_list_of::<Failure>(kind) || is_list_of::<MethodCount>(kind) => {
            let count = |part| format!("{}={}", cell(parts.value(part, 0)), cell(parts.value(part, 1)));
            (0..parts.count()).map(count).collect::<Vec<_>>().join(" ")
        }
        // Digits are one number, other lists words.
        Value::Parts(parts) if !is_list_of::<Dtmf>(kind) => {
            (0..parts.count()).map(|part| cell(parts.value(part, 0))).collect::<Vec<_>>().join(" ")
        }
        value => cell(value),
    }
}

/// Writes a CSV.
pub struct Csv {
    kind: RecordKind,
}

impl Csv {
    /// Begins with the header.
    pub fn begin(out: &mut dyn Write, kind: RecordKind) -> io::Result<Self> {
        row(out, kind.columns().into_iter())?;
        Ok(Self { kind })
    }

    /// Writes `record` when it is of the kind that this CSV holds.
    pub fn record<R: Record>(&self, out: &mut dyn Write, kind: RecordKind, record: &R) -> io::Result<()> {
        if kind == self.kind { row(out, cells(record)) } else { Ok(()) }
    }

    /// The intervals of `stream`, where this CSV holds those.
    pub fn intervals(&self, out: &mut dyn Write, stream: &Stream) -> io::Result<()> {
        if self.kind != RecordKind::Intervals {
            return Ok(());
        }
        let call_id = cell(stream.call_id.as_deref().map_or(Value::Null, Value::Text));
        let stream_cells = [stream.id.to_string(), call_id];
        let rows =
            stream.intervals.iter().map(|interval| stream_cells.iter().cloned().chain(cells(interval)));
        rows.into_iter().try_for_each(|cells| row(out, cells))
    }
}

/// Writes a line of cells, each quoted where it needs to be.
pub fn row<T: AsRef<str>>(out: &mut dyn Write, cells: impl Iterator<Item = T>) -> io::Result<()> {
    let mut line = String::with_capacity(512);
    for (index, text) in cells.enumerate() {
        if index > 0 {
            line.push(',');
        }
        push_cell(&mut line, text.as_ref());
    }
    line.push('\n');
    out.write_all(line.as_bytes())
}

/// Appends a cell, quoted if it must be (RFC 4180 section 2).
fn push_cell(line: &mut String, text: &str) {
    let formula = text.starts_with(FORMULA) && !is_number(text);
    if !formula && !text.contains([',', '"', '\r', '\n']) {
        return line.push_str(text);
    }
    line.push('"');
    if formula {
        line.push('\'');
    }
    line.push_str(&text.replace('"', "\"\""));
    line.push('"');
}

/// Whether all of `text` is a decimal number. `+` and digits, as telephone numbers are written, are one.
fn is_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let signed = |text: &str| digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    signed(whole) && digits(fraction) && signed(exponent)
}

/// With one of these, spreadsheets begin a formula; also with the full-width forms where those are typed, and
/// after a control character, which some of them skip.
const FORMULA: fn(char) -> bool =
    |c| matches!(c, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠') || c.is_control();

/// Unknown is empty. A list is joined with spaces; of parts, the digits of DTMF, the first field alone and
/// without spaces; of notes, their codes with spaces. Controls are escaped as in tables, since a line feed
/// inside a cell breaks most readers.
fn cell(value: Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        Value::Text(text) => text::shown(text).into_owned(),
        Value::Id(id) => id.to_string(),
        Value::Endpoint(endpoint) => endpoint.to_string(),
        Value::Integer(number) => number.to_string(),
        // As JSON has it; nothing where JSON has `null`.
        Value::Real(number) => Number::from_f64(number).map(|number| number.to_string()).unwrap_or_default(),
        Value::Texts(texts) => texts.iter().map(|text| text::shown(text)).collect::<Vec<_>>().join(" "),
        Value::Ids(ids) => ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        Value::Parts(parts) => (0..parts.count()).map(|part| cell(parts.value(part, 0))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;
    use serde::Serialize;

    use super::*;

    fn csv<R: Record>(kind: RecordKind, record: &R) -> String {
        let mut out = Vec::new();
        let csv = Csv::begin(&mut out, kind).unwrap();
        csv.record(&mut out, kind, record).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Every field that a record serialises has its column, and no column is without a field.
    fn complete(kind: RecordKind, record: &impl Serialize, left_out: &[&str]) {
        let value = serde_json::to_value(record).unwrap();
        let names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        for name in &names {
            assert!(kind.columns().contains(name) || left_out.contains(name), "no column for {name}");
        }
        assert!(kind.columns().iter().all(|column| names.contains(column)), "{:?}", kind);
    }

    #[test]
    fn columns_are_the_fields() {
        complete(RecordKind::Calls, &samples::call(), &["type"]);
        complete(RecordKind::Streams, &samples::stream(), &["type", "intervals"]);
        complete(RecordKind::Registrations, &samples::registration(), &["type"]);
        complete(RecordKind::Messages, &samples::message(), &["type"]);
    }

    #[test]
    fn a_hostile_call_is_one_line() {
        let text = csv(RecordKind::Calls, &samples::hostile_call());
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains('\x1b'));
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap().len(), RecordKind::Calls.columns().len());
        let row = reader.records().next().unwrap().unwrap();
        let reason = RecordKind::Calls.columns().iter().position(|name| *name == "final_reason").unwrap();
        assert_eq!(&row[reason], "Busy\\tHere\\r\\n\\x1b[31m");
    }

    #[test]
    fn lists_and_digits_are_joined() {
        let text = csv(RecordKind::Calls, &samples::call());
        let row = text.lines().nth(1).unwrap();
        assert!(
            row.contains(
                &format!("{},{},4.2,3.4,1#,0,none", "", "01".repeat(16) + " " + &"02".repeat(16))[1..]
            ),
            "{row}"
        );
    }

    #[test]
    fn intervals_name_their_stream() {
        let mut out = Vec::new();
        let csv = Csv::begin(&mut out, RecordKind::Intervals).unwrap();
        csv.intervals(&mut out, &samples::stream()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 7);
        let row = format!(
            "{},{},1795226404000000,500,0,1.2,0,4.4,4.3,4.4",
            "01".repeat(16),
            samples::call().call_id
        );
        assert_eq!(text.lines().nth(1), Some(row.as_str()));
    }

    #[test]
    fn a_formula_is_text_and_a_number_stays_a_number() {
        let line = |text: &str| {
            let mut line = String::new();
            push_cell(&mut line, text);
            line
        };
        let harmless = ["", "alice", "0.5", "-5", "+4930123", "-1.5", "1e-7", "+2.5E+3", "a=b", "'=1"];
        harmless.iter().for_each(|text| assert_eq!(line(text), *text));
        let formulas = [
            "=1+1", "+1+1", "-1+1", "+49 30", "-", "@SUM(A1)", "\t=1", "\r=1", "\0=1", "＝1", "-.5", "+1e",
            "-∞",
        ];
        formulas.iter().for_each(|text| assert_eq!(line(text), format!("\"'{text}\"")));
        assert_eq!(line("=\"a\",b"), "\"'=\"\"a\"\",b\"");
        assert_eq!(line("a,\"b\""), "\"a,\"\"b\"\"\"");
    }

    #[test]
    fn another_kind_is_left_out() {
        let mut out = Vec::new();
        let csv = Csv::begin(&mut out, RecordKind::Streams).unwrap();
        csv.record(&mut out, RecordKind::Calls, &samples::call()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 1);
    }
}

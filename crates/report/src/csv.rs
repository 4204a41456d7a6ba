//! Records as comma-separated values (RFC 4180): one header line, the names that the JSON has.

use std::io::{self, Write};

use ringtap_model::Stream;
use serde::Serialize;
use serde_json::Value;

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
}

impl RecordKind {
    /// Its columns: the fields of the record but its type and what does not fit a cell.
    pub const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Calls => CALL,
            Self::Streams => STREAM,
            Self::Intervals => INTERVAL,
            Self::Registrations => REGISTRATION,
            Self::Messages => MESSAGE,
        }
    }
}

/// Writes a CSV.
pub struct Csv {
    kind: RecordKind,
}

impl Csv {
    /// Begins with the header.
    pub fn begin(out: &mut dyn Write, kind: RecordKind) -> io::Result<Self> {
        row(out, kind.columns().iter())?;
        Ok(Self { kind })
    }

    /// Writes `record` when it is of the kind that this CSV holds; `extra` are fields that the record itself lacks.
    pub fn record(
        &self,
        out: &mut dyn Write,
        kind: RecordKind,
        record: &impl Serialize,
        extra: &[(&str, String)],
    ) -> io::Result<()> {
        if kind != self.kind {
            return Ok(());
        }
        let value = serde_json::to_value(record).map_err(io::Error::from)?;
        let field = |name: &&str| match extra.iter().find(|(extra, _)| extra == name) {
            Some((_, text)) => text.clone(),
            None => cell(&value[*name]),
        };
        row(out, kind.columns().iter().map(field))
    }
}

impl Csv {
    /// The intervals of `stream`, where this CSV holds those.
    pub fn intervals(&self, out: &mut dyn Write, stream: &Stream) -> io::Result<()> {
        if self.kind != RecordKind::Intervals {
            return Ok(());
        }
        let call_id = stream.call_id.as_deref().map(text::shown).unwrap_or_default().into_owned();
        let extra = [("stream", stream.id.to_string()), ("call_id", call_id)];
        stream
            .intervals
            .iter()
            .try_for_each(|interval| self.record(out, RecordKind::Intervals, interval, &extra))
    }
}

fn row<T: AsRef<[u8]>>(out: &mut dyn Write, fields: impl Iterator<Item = T>) -> io::Result<()> {
    let mut line = csv::Writer::from_writer(Vec::with_capacity(512));
    line.write_record(fields)?;
    let line = line.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    out.write_all(&line)
}

/// Unknown is empty; a list is joined with spaces, the digits of DTMF without. Controls are escaped as in tables, since
/// a line feed inside a cell breaks most readers.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text::shown(text).into_owned(),
        Value::Array(list) if list.iter().any(Value::is_object) => {
            list.iter().map(|item| cell(&item["digit"])).collect()
        }
        Value::Array(list) => list.iter().map(cell).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

const CALL: &[&str] = &[
    "id",
    "call_id",
    "protocol",
    "transport",
    "src",
    "dst",
    "from_user",
    "from_host",
    "from_display",
    "to_user",
    "to_host",
    "ruri_user",
    "ruri_host",
    "asserted_identity",
    "diverted_to",
    "state",
    "final_code",
    "final_reason",
    "cause",
    "released_by",
    "invite_us",
    "trying_us",
    "ringing_us",
    "answer_us",
    "end_us",
    "pdd_ms",
    "duration_ms",
    "messages",
    "retransmissions",
    "user_agent_caller",
    "user_agent_callee",
    "streams",
    "mos",
    "mos_worst_interval",
    "dtmf",
    "capture_drops",
    "recorded",
    "recorded_packets",
    "recorded_missing",
    "recorded_empty",
];

const STREAM: &[&str] = &[
    "id",
    "call_id",
    "call",
    "direction",
    "src",
    "dst",
    "ssrc",
    "payload_type",
    "codec",
    "clock_hz",
    "ptime_ms",
    "first_us",
    "last_us",
    "packets",
    "unique",
    "lost",
    "duplicates",
    "reordered",
    "bytes",
    "ip_bytes",
    "rate_bps",
    "jitter_ms_mean",
    "jitter_ms_max",
    "delta_ms_max",
    "iat_ms_min",
    "iat_ms_mean",
    "iat_ms_max",
    "iat_ms_sd",
    "size_min",
    "size_mean",
    "size_max",
    "size_sd",
    "loss_bursts",
    "burst_len_mean",
    "burst_len_max",
    "burst_ratio",
    "rtt_ms",
    "rtt_source",
    "mos",
    "r_factor",
    "mos_fixed50",
    "mos_fixed200",
    "mos_adaptive500",
    "mos_cole",
    "silence_pct",
    "clipped_pct",
];

const INTERVAL: &[&str] = &[
    "stream",
    "call_id",
    "start_us",
    "packets",
    "lost",
    "jitter_ms",
    "discarded",
    "mos",
    "mos_fixed50",
    "mos_fixed200",
];

const REGISTRATION: &[&str] = &[
    "id",
    "aor",
    "contact",
    "src",
    "dst",
    "user_agent",
    "state",
    "code",
    "first_us",
    "last_us",
    "expires_us",
    "requests",
];

const MESSAGE: &[&str] =
    &["id", "call_id", "src", "dst", "from", "to", "content_type", "size", "time_us", "code"];

#[cfg(test)]
mod tests {
    use ringtap_cases::samples;

    use super::*;

    fn csv(kind: RecordKind, record: &impl Serialize) -> String {
        let mut out = Vec::new();
        let csv = Csv::begin(&mut out, kind).unwrap();
        csv.record(&mut out, kind, record, &[]).unwrap();
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
        assert_eq!(reader.headers().unwrap().len(), CALL.len());
        let row = reader.records().next().unwrap().unwrap();
        assert_eq!(&row[17], "Busy\\tHere\\r\\n\\x1b[31m");
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
    fn another_kind_is_left_out() {
        let mut out = Vec::new();
        let csv = Csv::begin(&mut out, RecordKind::Streams).unwrap();
        csv.record(&mut out, RecordKind::Calls, &samples::call(), &[]).unwrap();
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 1);
    }
}

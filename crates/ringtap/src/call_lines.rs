//! Prints calls one by one, in the formats that programs read.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use ringtap_model::Call;
use ringtap_report::csv::{Csv, RecordKind};
use ringtap_report::json;
use ringtap_report::parquet::Parquet;

use crate::page::RecordFormat;

/// Prints records as they come; nothing for a table.
pub(crate) struct Lines<'a> {
    kind: Kind,
    out: &'a mut dyn Write,
    /// When what was printed was written last.
    flushed: Option<Instant>,
}

enum Kind {
    Table,
    Jsonl(json::Lines),
    Csv(Csv),
    Parquet(Box<Parquet<Call>>),
}

impl<'a> Lines<'a> {
    pub(crate) fn begin(format: RecordFormat, out: &'a mut dyn Write) -> io::Result<Self> {
        let kind = match format {
            RecordFormat::Table => Kind::Table,
            RecordFormat::Jsonl => Kind::Jsonl(json::Lines::default()),
            RecordFormat::Csv => Kind::Csv(Csv::begin(out, RecordKind::Calls)?),
            RecordFormat::Parquet => Kind::Parquet(Box::new(Parquet::begin(out)?)),
        };
        Ok(Self { kind, out, flushed: None })
    }

    pub(crate) fn print(&mut self, call: &Call) -> io::Result<()> {
        match &mut self.kind {
            Kind::Table => {}
            Kind::Jsonl(lines) => lines.write(self.out, call)?,
            Kind::Csv(csv) => csv.record(self.out, RecordKind::Calls, call)?,
            Kind::Parquet(file) => file.record(self.out, call)?,
        }
        // Whoever reads a pipe sees the first call at once.
        if self.flushed.is_none_or(|flushed| flushed.elapsed() > FLUSH) {
            self.out.flush()?;
            self.flushed = Some(Instant::now());
        }
        Ok(())
    }

    pub(crate) fn end(self) -> io::Result<()> {
        match self.kind {
            Kind::Table => return Ok(()),
            Kind::Jsonl(_) | Kind::Csv(_) => {}
            Kind::Parquet(file) => file.end(self.out)?,
        }
        self.out.flush()
    }
}

/// How long lines wait before they are written.
const FLUSH: Duration = Duration::from_millis(100);

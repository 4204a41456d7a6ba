//! Prints the records of a pass: collected for tables, or printed at once.

use std::collections::HashMap;
use std::io::{self, Write};

use anyhow::bail;
use clap::ValueEnum;
use ringtap_model::{Amendment, Call, Id, Message, Registration, Stream};
use ringtap_report::calls::Order;
use ringtap_report::csv::{Csv, RecordKind};
use ringtap_report::style::Style;
use ringtap_report::summary::Summary;
use ringtap_report::{calls, json, messages, parquet, registrations, sentence, streams};

use crate::exit::Misuse;
use crate::input::Pass;
use crate::screen::Screen;

/// How records are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Table,
    /// One JSON object a line
    Jsonl,
    /// One header line, one line a record
    Csv,
}

/// How records of one kind are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordFormat {
    /// For people
    #[default]
    Table,
    /// One JSON object a line
    Jsonl,
    /// One header line, one line a record
    Csv,
    /// Columns with types (Apache Parquet): binary, for a file
    Parquet,
}

impl RecordFormat {
    /// Refuses what this program cannot write, or would spoil a terminal.
    pub(crate) fn check(self, screen: &Screen) -> anyhow::Result<()> {
        match self {
            Self::Parquet if !parquet::IS_AVAILABLE => bail!(parquet::LACKING),
            Self::Parquet if screen.terminal => {
                Err(Misuse("Parquet is binary: add `> FILE.parquet`".to_owned()).into())
            }
            _ => Ok(()),
        }
    }
}

/// How lines are printed that have no CSV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LineFormat {
    /// For people
    #[default]
    Table,
    /// One JSON object a line
    Jsonl,
}

/// The kind of records in a CSV, which has one header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CsvRecords {
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

impl From<CsvRecords> for RecordKind {
    fn from(records: CsvRecords) -> Self {
        match records {
            CsvRecords::Calls => Self::Calls,
            CsvRecords::Streams => Self::Streams,
            CsvRecords::Intervals => Self::Intervals,
            CsvRecords::Registrations => Self::Registrations,
            CsvRecords::Messages => Self::Messages,
        }
    }
}

/// What a table of calls shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) order: Order,
    /// Below each call, what happened to it, in words.
    pub(crate) sentences: bool,
}

impl Shown {
    /// The line of a call.
    pub(crate) fn row(self, call: &Call, streams: &[Stream]) -> calls::Row {
        let row = calls::Row::new(call, streams.iter());
        if self.sentences { row.with_words(sentence::of_call(call, streams)) } else { row }
    }
}

/// An output in one of the formats.
pub(crate) enum Page<'a> {
    Table { screen: &'a mut Screen, shown: Shown, rows: Rows },
    Jsonl(&'a mut dyn Write, json::Lines),
    Csv(&'a mut dyn Write, Csv),
}

/// The rows of the tables.
#[derive(Default)]
pub(crate) struct Rows {
    calls: Vec<calls::Row>,
    streams: Vec<streams::Row>,
    registrations: Vec<registrations::Row>,
    messages: Vec<messages::Row>,
    /// Calls that have another conversation than their rows say.
    amended: HashMap<Id, Id>,
}

impl<'a> Page<'a> {
    /// Begins the output; `kind` is that of a CSV.
    pub(crate) fn begin(
        format: Format,
        shown: Shown,
        kind: RecordKind,
        screen: &'a mut Screen,
    ) -> io::Result<Self> {
        Ok(match format {
            Format::Table => Self::Table { screen, shown, rows: Rows::default() },
            Format::Jsonl => Self::Jsonl(&mut *screen.out, json::Lines::default()),
            Format::Csv => {
                let csv = Csv::begin(&mut *screen.out, kind)?;
                Self::Csv(&mut *screen.out, csv)
            }
        })
    }

    /// Prints a call and its streams.
    pub(crate) fn call(&mut self, call: &Call, streams: &[Stream]) -> io::Result<()> {
        match self {
            Self::Table { rows, shown, .. } => {
                rows.calls.push(shown.row(call, streams));
                return Ok(());
            }
            Self::Jsonl(out, lines) => lines.write(*out, call)?,
            Self::Csv(out, csv) => csv.record(*out, RecordKind::Calls, call)?,
        }
        streams.iter().try_for_each(|stream| self.stream(stream))
    }

    /// Prints which conversation an earlier call has now. The table of calls shows it, a CSV has no place for
    /// it.
    pub(crate) fn amend(&mut self, amendment: &Amendment) -> io::Result<()> {
        match self {
            Self::Table { rows, .. } => {
                rows.amended.insert(amendment.call, amendment.conversation);
                Ok(())
            }
            Self::Jsonl(out, lines) => lines.write(*out, amendment),
            Self::Csv(..) => Ok(()),
        }
    }

    /// Prints a stream, with or without a call.
    pub(crate) fn stream(&mut self, stream: &Stream) -> io::Result<()> {
        match self {
            Self::Table { rows, .. } => rows.streams.push(streams::Row::new(stream)),
            Self::Jsonl(out, lines) => lines.write(*out, stream)?,
            Self::Csv(out, csv) => {
                csv.record(*out, RecordKind::Streams, stream)?;
                csv.intervals(*out, stream)?;
            }
        }
        Ok(())
    }

    /// Prints a registration.
    pub(crate) fn registration(&mut self, registration: &Registration) -> io::Result<()> {
        match self {
            Self::Table { rows, .. } => {
                rows.registrations.push(registrations::Row::new(registration));
                Ok(())
            }
            Self::Jsonl(out, lines) => lines.write(*out, registration),
            Self::Csv(out, csv) => csv.record(*out, RecordKind::Registrations, registration),
        }
    }

    /// Prints a SIP MESSAGE.
    pub(crate) fn message(&mut self, message: &Message) -> io::Result<()> {
        match self {
            Self::Table { rows, .. } => {
                rows.messages.push(messages::Row::new(message));
                Ok(())
            }
            Self::Jsonl(out, lines) => lines.write(*out, message),
            Self::Csv(out, csv) => csv.record(*out, RecordKind::Messages, message),
        }
    }

    /// Ends the output: for people, prints the tables and the summary, which comes first where a pager shows
    /// them.
    pub(crate) fn end(self, summary: &Summary, pass: &Pass, stored: Option<String>) -> io::Result<()> {
        let Self::Table { screen, shown, rows } = self else { return Ok(()) };
        let sorted = shown.order;
        let long = screen.is_long(rows.lines(sorted) + SUMMARY);
        let Screen { out, width, colour, .. } = screen;
        let below = match long {
            true => Some(rows),
            false => rows.write(out, sorted, *width, *colour).map(|()| None)?,
        };
        let input = pass.figures(stored);
        summary.write(out, &input, *width, *colour)?;
        if let Some(rows) = below {
            writeln!(out)?;
            rows.write(out, sorted, *width, *colour)?;
        }
        Ok(())
    }
}

impl Rows {
    /// About how many lines the tables have.
    fn lines(&self, order: Order) -> usize {
        let calls = self.calls.len().min(order.top.unwrap_or(usize::MAX));
        calls + self.streams.len() + self.registrations.len() + self.messages.len()
    }

    /// Writes each table that has rows, with an empty line after it.
    fn write(mut self, out: &mut dyn Write, order: Order, width: usize, colour: bool) -> io::Result<()> {
        let heading = |out: &mut dyn Write, title| writeln!(out, "{}", Style::Bold.paint(title, colour));
        if !self.calls.is_empty() {
            for row in &mut self.calls {
                row.conversation = self.amended.get(&row.id).copied().or(row.conversation);
            }
            calls::write(out, self.calls, order, width, colour)?;
            writeln!(out)?;
        }
        if !self.streams.is_empty() {
            heading(out, "Streams without signalling")?;
            streams::write(out, self.streams, width, colour)?;
            writeln!(out)?;
        }
        if !self.registrations.is_empty() {
            heading(out, "Registrations")?;
            registrations::write(out, self.registrations, width, colour)?;
            writeln!(out)?;
        }
        if !self.messages.is_empty() {
            heading(out, "Messages")?;
            messages::write(out, self.messages, width, colour)?;
            writeln!(out)?;
        }
        Ok(())
    }
}

/// About as many lines as a summary has.
const SUMMARY: usize = 12;

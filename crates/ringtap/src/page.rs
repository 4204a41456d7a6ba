//! Prints the records of a pass: collected for tables, or printed at once.

use std::io::{self, Write};

use clap::ValueEnum;
use ringtap_model::{Call, Record, Stream};
use ringtap_report::calls::Order;
use ringtap_report::csv::{Csv, RecordKind};
use ringtap_report::style::Style;
use ringtap_report::summary::{self, Summary};
use ringtap_report::{calls, json, streams};
use serde::Serialize;

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

/// An output in one of the formats.
pub(crate) enum Page<'a> {
    Table { screen: &'a mut Screen, order: Order, calls: Vec<calls::Row>, streams: Vec<streams::Row> },
    Jsonl(&'a mut dyn Write, json::Lines),
    Csv(&'a mut dyn Write, Csv),
}

impl<'a> Page<'a> {
    /// Begins the output; `kind` is that of a CSV.
    pub(crate) fn begin(
        format: Format,
        order: Order,
        kind: RecordKind,
        screen: &'a mut Screen,
    ) -> io::Result<Self> {
        Ok(match format {
            Format::Table => Self::Table { screen, order, calls: Vec::new(), streams: Vec::new() },
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
            Self::Table { calls, .. } => {
                calls.push(calls::Row::new(call, streams.iter()));
                return Ok(());
            }
            Self::Jsonl(out, lines) => lines.write(*out, call)?,
            Self::Csv(out, csv) => csv.record(*out, RecordKind::Calls, call)?,
        }
        streams.iter().try_for_each(|stream| self.stream(stream))
    }

    /// Prints a stream, with or without a call.
    pub(crate) fn stream(&mut self, stream: &Stream) -> io::Result<()> {
        match self {
            Self::Table { streams, .. } => streams.push(streams::Row::new(stream)),
            Self::Jsonl(out, lines) => lines.write(*out, stream)?,
            Self::Csv(out, csv) => {
                csv.record(*out, RecordKind::Streams, stream)?;
                csv.intervals(*out, stream)?;
            }
        }
        Ok(())
    }

    /// Prints a record that tables do not show.
    pub(crate) fn record(&mut self, kind: RecordKind, record: &(impl Record + Serialize)) -> io::Result<()> {
        match self {
            Self::Table { .. } => Ok(()),
            Self::Jsonl(out, lines) => lines.write(*out, record),
            Self::Csv(out, csv) => csv.record(*out, kind, record),
        }
    }

    /// Ends the output: for people, prints the tables and the summary.
    pub(crate) fn end(self, summary: &Summary, pass: &Pass, stored: Option<String>) -> io::Result<()> {
        let Self::Table { screen, order, calls, streams } = self else { return Ok(()) };
        let Screen { out, width, colour, .. } = screen;
        if !calls.is_empty() {
            calls::write(out, calls, order, *width, *colour)?;
            writeln!(out)?;
        }
        if !streams.is_empty() {
            writeln!(out, "{}", Style::Bold.paint("Streams without signalling", *colour))?;
            streams::write(out, streams, *width, *colour)?;
            writeln!(out)?;
        }
        let input = summary::Input {
            span: pass.span,
            kinds: pass.counters.kinds(),
            // Frames without IP (ARP, LLDP) are not lost; `kinds` counts them.
            drops: pass.counters.drops().into_iter().filter(|(name, _)| *name != "not_ip").collect(),
            stored,
            damage: pass.damages.iter().map(|(name, damage)| format!("`{name}`: {damage}")).collect(),
        };
        summary.write(out, &input, *width, *colour)
    }
}

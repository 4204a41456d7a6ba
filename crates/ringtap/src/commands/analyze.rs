//! `ringtap analyze`: every call and every stream of captures.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use ringtap_engine::{Sink, StreamEnd};
use ringtap_model::{Call, Message, Registration, Stream};
use serde::Serialize;

use crate::exit::{Exit, Misuse};
use crate::filter::Filter;
use crate::input::{Input, Listener, Pass};
use crate::screen::Screen;
use crate::show::csv::{Csv, Kind};
use crate::show::style::Style;
use crate::show::summary::{self, Summary};
use crate::show::{calls, json, streams};

/// Find every call in captures and measure its streams: where to begin
///
/// Reads pcap, pcapng and ERF, also gzip or zstd compressed, several files in order of time; `-` is standard input. For
/// people it prints a table of the calls, each with its worst stream, then the streams that no call announced, then a
/// summary. For programs it prints one JSON object a line (calls, each followed by its streams; streams without a call;
/// registrations; messages) or one kind of record as CSV.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Analyze {
    /// Capture files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Which records to print as CSV [default: calls]
    #[arg(long, value_name = "RECORDS", value_enum)]
    csv: Option<Kind>,
    #[command(flatten)]
    filter: Filter,
}

const EXAMPLES: &str = "\
Examples:
  ringtap analyze trunk.pcap
  ringtap analyze --state failed,timeout --since '2026-11-21 02:00' trunk-*.pcap.zst
  ringtap analyze --mos-below 3.6 --format jsonl trunk.pcap | jq -r .call_id
  ringtap analyze --csv streams trunk.pcap > streams.csv
  ssh sensor tcpdump -w - udp | ringtap analyze -";

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

impl Analyze {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let format = self.format.unwrap_or(if self.csv.is_some() { Format::Csv } else { Format::Table });
        if self.csv.is_some() && format != Format::Csv {
            return Err(
                Misuse("`--csv` chooses records for `--format csv`: leave one of them out".into()).into()
            );
        }
        let input = Input::open(&self.files)?;
        // Lines that scroll over the same terminal would tear the bar apart.
        let bar = match format {
            Format::Table => input.progress(screen, "reading"),
            _ if screen.terminal => indicatif::ProgressBar::hidden(),
            _ => input.progress(screen, "reading"),
        };
        let page = Page::begin(format, self.csv.unwrap_or_default(), screen).context(WRITING)?;
        let mut report = Report { filter: self.filter, page, summary: Summary::default(), failed: None };
        let pass = input.pass(&mut report, &bar);
        let Report { page, summary, failed, .. } = report;
        match failed {
            Some(error) => Err(error).context(WRITING),
            None => page.end(&summary, &pass).context(WRITING),
        }?;
        screen.out.flush().context(WRITING)?;
        Ok(Exit::after(&pass, screen))
    }
}

const WRITING: &str = "cannot write the results";

/// Takes the records as the engine finds them.
struct Report<'a> {
    filter: Filter,
    page: Page<'a>,
    summary: Summary,
    /// The first error of the output; nothing is written after it.
    failed: Option<io::Error>,
}

impl Report<'_> {
    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }
}

impl Sink for Report<'_> {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        if !self.filter.passes(&call) {
            return self.summary.left_out();
        }
        self.summary.call(&call);
        streams.iter().for_each(|stream| self.summary.stream(&stream.record));
        if self.failed.is_none() {
            let result = self.page.call(&call, &streams);
            self.note(result);
        }
    }

    fn stream(&mut self, stream: StreamEnd) {
        // Filters name calls; what belongs to none is not what was asked for.
        if self.filter.is_set() {
            return;
        }
        self.summary.stream(&stream.record);
        if self.failed.is_none() {
            let result = self.page.stream(&stream.record);
            self.note(result);
        }
    }

    fn registration(&mut self, registration: Registration) {
        if self.filter.is_set() {
            return;
        }
        self.summary.registration(&registration);
        if self.failed.is_none() {
            let result = self.page.record(Kind::Registrations, &registration);
            self.note(result);
        }
    }

    fn message(&mut self, message: Message) {
        if self.filter.is_set() {
            return;
        }
        self.summary.message();
        if self.failed.is_none() {
            let result = self.page.record(Kind::Messages, &message);
            self.note(result);
        }
    }
}

impl Listener for Report<'_> {
    fn has_enough(&self) -> bool {
        self.failed.is_some()
    }
}

/// Where records go: kept for a table, or printed at once.
enum Page<'a> {
    Table { screen: &'a mut Screen, calls: Vec<calls::Row>, streams: Vec<streams::Row> },
    Jsonl(&'a mut dyn Write),
    Csv(&'a mut dyn Write, Csv),
}

impl<'a> Page<'a> {
    fn begin(format: Format, kind: Kind, screen: &'a mut Screen) -> io::Result<Self> {
        Ok(match format {
            Format::Table => Self::Table { screen, calls: Vec::new(), streams: Vec::new() },
            Format::Jsonl => Self::Jsonl(&mut *screen.out),
            Format::Csv => {
                let csv = Csv::begin(&mut *screen.out, kind)?;
                Self::Csv(&mut *screen.out, csv)
            }
        })
    }

    fn call(&mut self, call: &Call, streams: &[StreamEnd]) -> io::Result<()> {
        match self {
            Self::Table { calls, .. } => {
                calls.push(calls::Row::new(call, streams.iter().map(|stream| &stream.record)));
                return Ok(());
            }
            Self::Jsonl(out) => json::line(*out, call)?,
            Self::Csv(out, csv) => csv.record(*out, Kind::Calls, call, &[])?,
        }
        streams.iter().try_for_each(|stream| self.stream(&stream.record))
    }

    fn stream(&mut self, stream: &Stream) -> io::Result<()> {
        match self {
            Self::Table { streams, .. } => streams.push(streams::Row::new(stream)),
            Self::Jsonl(out) => json::line(*out, stream)?,
            Self::Csv(out, csv) => {
                csv.record(*out, Kind::Streams, stream, &[])?;
                csv.intervals(*out, stream)?;
            }
        }
        Ok(())
    }

    fn record(&mut self, kind: Kind, record: &impl Serialize) -> io::Result<()> {
        match self {
            Self::Table { .. } => Ok(()),
            Self::Jsonl(out) => json::line(*out, record),
            Self::Csv(out, csv) => csv.record(*out, kind, record, &[]),
        }
    }

    fn end(self, summary: &Summary, pass: &Pass) -> io::Result<()> {
        let Self::Table { screen, calls, streams } = self else { return Ok(()) };
        let Screen { out, width, colour, .. } = screen;
        if !calls.is_empty() {
            calls::write(out, calls, *width, *colour)?;
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
            // Frames without IP (ARP, LLDP) are nothing lost; the kinds have them already.
            drops: pass.counters.drops().into_iter().filter(|(name, _)| *name != "not_ip").collect(),
            damage: pass.damages.iter().map(|(name, damage)| format!("`{name}`: {damage}")).collect(),
        };
        summary.write(out, &input, *width, *colour)
    }
}

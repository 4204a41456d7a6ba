//! `ringtap streams`, `registrations` and `messages`: records of one kind, of captures or of the database.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ringtap_engine::{Sink, StreamEnd};
use ringtap_model::{Call, Condition, Filter, Message, Record, Registration, Stream};
use ringtap_report::csv::{Csv, RecordKind};
use ringtap_report::parquet::Parquet;
use ringtap_report::text::counted;
use ringtap_report::{json, messages, registrations, streams};
use ringtap_store::{Found, Query, Reader};
use serde::Serialize;

use crate::assumed::Assumed;
use crate::exit::Exit;
use crate::filter::{FilterArgs, refuse_unfit};
use crate::input::{Input, Listener, Unpacking, Workers};
use crate::limit::LimitArgs;
use crate::page::RecordFormat;
use crate::screen::Screen;
use crate::store_args::StoreArgs;

/// List media streams, of captures or of the database
///
/// One line a stream, with and without a call. Conditions on numbers, state, code and User-Agent are those of
/// the stream's call.
#[derive(Args, Debug)]
#[command(after_help = STREAMS)]
pub(crate) struct Streams {
    #[command(flatten)]
    records: RecordArgs,
    #[command(flatten)]
    assumed: Assumed,
}

/// List registrations, of captures or of the database
///
/// One line an address of record at a registrar, with its source and the final code: who cannot register, and
/// since when.
#[derive(Args, Debug)]
#[command(after_help = REGISTRATIONS)]
pub(crate) struct Registrations {
    #[command(flatten)]
    records: RecordArgs,
}

/// List SIP MESSAGEs, of captures or of the database: parties and sizes, never the text
#[derive(Args, Debug)]
#[command(after_help = MESSAGES)]
pub(crate) struct Messages {
    #[command(flatten)]
    records: RecordArgs,
}

/// Where the records are, which of them are shown, and how.
#[derive(Args, Debug)]
struct RecordArgs {
    /// Capture files; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with_all = ["store", "newest"])]
    files: Vec<PathBuf>,
    #[command(flatten)]
    unpacking: Unpacking,
    #[command(flatten)]
    store: StoreArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: RecordFormat,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

const STREAMS: &str = "\
Examples:
  ringtap streams trunk.pcap --loss-above 1 --codec G.729
  ringtap streams --number '*0138' --since 2026-11-20
  ringtap streams --ip 198.51.100.7 --limit 0 --format csv > streams.csv";

const REGISTRATIONS: &str = "\
Examples:
  ringtap registrations trunk.pcap --code 4xx
  ringtap registrations --number 2001 --since 2026-11-20
  ringtap registrations --ip 198.51.100.0/24 --format jsonl";

const MESSAGES: &str = "\
Examples:
  ringtap messages trunk.pcap --from alice
  ringtap messages --number '*0138' --code 4xx";

impl Streams {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        self.records.run::<Stream>(&self.assumed, screen)
    }
}

impl Registrations {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        self.records.run::<Registration>(&Assumed::default(), screen)
    }
}

impl Messages {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        self.records.run::<Message>(&Assumed::default(), screen)
    }
}

/// A kind of record that has a list of its own.
trait Listed: Record + Serialize {
    const KIND: RecordKind;
    /// A line of the table.
    type Row;

    fn row(&self) -> Self::Row;
    fn table(out: &mut dyn Write, rows: Vec<Self::Row>, width: usize, colour: bool) -> io::Result<()>;
    fn search(reader: &Reader, query: &Query) -> Result<Found<Self>, ringtap_store::Error>;
    /// Whether it has what the condition is about.
    fn fits(condition: &Condition) -> bool;
}

impl Listed for Stream {
    const KIND: RecordKind = RecordKind::Streams;
    type Row = streams::Row;

    fn row(&self) -> Self::Row {
        streams::Row::new(self)
    }

    fn table(out: &mut dyn Write, rows: Vec<Self::Row>, width: usize, colour: bool) -> io::Result<()> {
        streams::write(out, rows, width, colour)
    }

    fn search(reader: &Reader, query: &Query) -> Result<Found<Self>, ringtap_store::Error> {
        reader.streams(query)
    }

    fn fits(_: &Condition) -> bool {
        true
    }
}

impl Listed for Registration {
    const KIND: RecordKind = RecordKind::Registrations;
    type Row = registrations::Row;

    fn row(&self) -> Self::Row {
        registrations::Row::new(self)
    }

    fn table(out: &mut dyn Write, rows: Vec<Self::Row>, width: usize, colour: bool) -> io::Result<()> {
        registrations::write(out, rows, width, colour)
    }

    fn search(reader: &Reader, query: &Query) -> Result<Found<Self>, ringtap_store::Error> {
        reader.registrations(query)
    }

    fn fits(condition: &Condition) -> bool {
        condition.fits_registrations()
    }
}

impl Listed for Message {
    const KIND: RecordKind = RecordKind::Messages;
    type Row = messages::Row;

    fn row(&self) -> Self::Row {
        messages::Row::new(self)
    }

    fn table(out: &mut dyn Write, rows: Vec<Self::Row>, width: usize, colour: bool) -> io::Result<()> {
        messages::write(out, rows, width, colour)
    }

    fn search(reader: &Reader, query: &Query) -> Result<Found<Self>, ringtap_store::Error> {
        reader.messages(query)
    }

    fn fits(condition: &Condition) -> bool {
        condition.fits_messages()
    }
}

impl RecordArgs {
    fn run<R: Listed>(self, assumed: &Assumed, screen: &mut Screen) -> anyhow::Result<Exit>
    where
        for<'a> List<'a, R>: Listener,
    {
        let filter = self.filter.filter();
        refuse_unfit(&filter, &format!("{}s", R::NAME), R::fits)?;
        self.format.check(screen)?;
        match self.files[..] {
            [] => self.of_store::<R>(&self.store.open()?, filter, screen),
            _ => self.of_files(filter, assumed, screen),
        }
    }

    fn of_files<R: Listed>(
        &self,
        filter: Filter,
        assumed: &Assumed,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit>
    where
        for<'a> List<'a, R>: Listener,
    {
        let input = Input::open(&self.files, self.unpacking)?.assuming(assumed.clone());
        let bar = input.progress(screen, "reading");
        let mut list = List::<R>::begin(self.format, filter, screen).context(WRITING)?;
        let pass = input.pass_records(Workers::default(), &mut list, &bar)?;
        let count = counted(list.count, R::NAME);
        list.end(&format!("{count} found")).context(WRITING)?;
        Ok(pass.exit(screen))
    }

    fn of_store<R: Listed>(
        &self,
        reader: &Reader,
        filter: Filter,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let found = R::search(reader, &self.limit.query(filter))?;
        let count = counted(found.records.len() as u64, R::NAME);
        let days = counted(found.days as u64, "day");
        let mut list = List::<R>::begin(self.format, Filter::default(), screen).context(WRITING)?;
        found.records.iter().for_each(|record| list.show(record));
        list.end(&format!("{count} found; {days} searched")).context(WRITING)?;
        if found.cut && self.limit.tells_of_more() {
            screen
                .remark(format!("more match than the {count} shown: raise `--limit` or narrow the filters"));
        }
        if found.days == 0 {
            screen.remark("no records are stored for that time: no day was searched");
        }
        Ok(Exit::Done)
    }
}

/// Prints records of one kind: at once, or as a table at the end.
struct List<'a, R: Listed> {
    filter: Filter,
    screen: &'a mut Screen,
    printer: Printer<R>,
    count: u64,
    /// The first error; nothing is written after it.
    failed: Option<io::Error>,
}

enum Printer<R: Listed> {
    Table(Vec<R::Row>),
    Jsonl(json::Lines),
    Csv(Csv),
    Parquet(Box<Parquet<R>>),
}

impl<'a, R: Listed> List<'a, R> {
    fn begin(format: RecordFormat, filter: Filter, screen: &'a mut Screen) -> io::Result<Self> {
        if format == RecordFormat::Table {
            screen.page();
        }
        let printer = match format {
            RecordFormat::Table => Printer::Table(Vec::new()),
            RecordFormat::Jsonl => Printer::Jsonl(json::Lines::default()),
            RecordFormat::Csv => Printer::Csv(Csv::begin(&mut *screen.out, R::KIND)?),
            RecordFormat::Parquet => Printer::Parquet(Box::new(Parquet::begin(&mut *screen.out)?)),
        };
        Ok(Self { filter, screen, printer, count: 0, failed: None })
    }

    fn show(&mut self, record: &R) {
        if self.failed.is_some() {
            return;
        }
        self.count += 1;
        let out = &mut *self.screen.out;
        let written = match &mut self.printer {
            Printer::Table(rows) => {
                rows.push(record.row());
                Ok(())
            }
            Printer::Jsonl(lines) => lines.write(out, record),
            Printer::Csv(csv) => csv.record(out, R::KIND, record),
            Printer::Parquet(file) => file.record(out, record),
        };
        self.failed = written.err();
    }

    /// Ends the output; a table has a line below it.
    fn end(self, line: &str) -> io::Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let rows = match self.printer {
            Printer::Table(rows) => rows,
            Printer::Jsonl(_) | Printer::Csv(_) => return self.screen.out.flush(),
            Printer::Parquet(file) => {
                file.end(&mut *self.screen.out)?;
                return self.screen.out.flush();
            }
        };
        let long = self.screen.is_long(rows.len() + 4);
        let Screen { out, width, colour, .. } = &mut *self.screen;
        if long {
            writeln!(out, "{line}\n")?;
        }
        if !rows.is_empty() {
            R::table(out, rows, *width, *colour)?;
            writeln!(out)?;
        }
        if !long {
            writeln!(out, "{line}")?;
        }
        self.screen.out.flush()
    }
}

impl Sink for List<'_, Stream> {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        for stream in streams {
            if self.filter.selects_stream(&stream.record, Some(&call)) {
                self.show(&stream.record);
            }
        }
    }

    fn stream(&mut self, stream: StreamEnd) {
        if self.filter.selects_stream(&stream.record, None) {
            self.show(&stream.record);
        }
    }

    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
}

impl Sink for List<'_, Registration> {
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}

    fn registration(&mut self, registration: Registration) {
        if self.filter.selects_registration(&registration) {
            self.show(&registration);
        }
    }

    fn message(&mut self, _: Message) {}
}

impl Sink for List<'_, Message> {
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}

    fn message(&mut self, message: Message) {
        if self.filter.selects_message(&message) {
            self.show(&message);
        }
    }
}

impl Listener for List<'_, Stream> {
    fn has_enough(&self) -> bool {
        self.failed.is_some()
    }
}

impl Listener for List<'_, Registration> {
    fn has_enough(&self) -> bool {
        self.failed.is_some()
    }
}

impl Listener for List<'_, Message> {
    fn has_enough(&self) -> bool {
        self.failed.is_some()
    }
}

const WRITING: &str = "cannot write the results";

//! `ringtap analyze`: lists every call and stream in captures.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ringtap_conversation::Joiner;
use ringtap_engine::{RecordedPackets, Sink, StreamEnd};
use ringtap_kpi::Trunks;
use ringtap_model::{Call, Filter, Message, Registration, Stream};
use ringtap_report::summary::Summary;
use ringtap_report::text::counted;
use ringtap_stir::Checker;
use ringtap_store::{ImportWriter, RecordCounts};

use crate::assumed::Assumed;
use crate::exit::{Exit, Misuse};
use crate::filter::FilterArgs;
use crate::identity::IdentityArgs;
use crate::input::{Input, InputFiles, Listener, Workers};
use crate::join::JoinArgs;
use crate::kpi_args::KpiArgs;
use crate::order::OrderArgs;
use crate::page::{CsvRecords, Format, Page};
use crate::screen::Screen;
use crate::store_args::on_migration;

/// Find every call in captures and measure its streams: start here
///
/// Reads pcap, pcapng, snoop, NetMon 2 and ERF files, also compressed with gzip or zstd, and merges several
/// files in order of time; `-` is standard input. NetMon before version 2.3 stores local time, which is taken
/// for UTC. For people it prints a table of the calls, each with its worst stream, then
/// the streams that no call announced, registrations, messages, and a summary (which comes first where a
/// pager shows it). For programs it prints one JSON object a line (calls,
/// each followed by its streams; streams without a call; registrations; messages) or one kind of record as
/// CSV.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Analyze {
    #[command(flatten)]
    input: InputFiles,
    #[command(flatten)]
    assumed: Assumed,
    /// Output format
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Which records to print as CSV [default: calls]
    #[arg(long, value_name = "RECORDS", value_enum)]
    csv: Option<CsvRecords>,
    /// Also write the records that pass the filters to the database in this directory, for `ringtap calls`
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    #[command(flatten)]
    config: KpiArgs,
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    join: JoinArgs,
    #[command(flatten)]
    workers: Workers,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    order: OrderArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap analyze trunk.pcap
  ringtap analyze --state failed,timeout --since '2026-11-21 02:00' trunk-*.pcap.zst
  ringtap analyze --mos-below 3.6 --format jsonl trunk.pcap | jq -r .call_id
  ringtap analyze --number '*0138' --code 4xx,503 trunk.pcap
  ringtap analyze --problems --sort mos --top 20 trunk.pcap
  ringtap analyze --csv streams trunk.pcap > streams.csv
  ringtap analyze --workers 4 --store /var/lib/ringtap/records month.pcap.zst
  ringtap analyze --certificates stir/ --note bad_identity trunk.pcap
  ssh sensor tcpdump -w - udp | ringtap analyze -
  ringtap analyze --store /var/lib/ringtap/records monday.pcap";

impl Analyze {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let format = self.format.unwrap_or(if self.csv.is_some() { Format::Csv } else { Format::Table });
        if self.csv.is_some() && format != Format::Csv {
            return Err(Misuse(
                "`--csv` selects the records of `--format csv`: leave out `--csv` or `--format`".into(),
            )
            .into());
        }
        let order = self.order.of(format == Format::Table)?;
        let trunks = self.config.read(screen)?.unwrap_or_default().trunks;
        let identities = self.identity.checker()?;
        let input = Input::open(&self.input.files, self.input.unpacking)?.assuming(self.assumed.clone());
        // Results that scroll over the same terminal would break up the progress bar.
        let bar = match format {
            Format::Table => input.progress(screen, "reading"),
            _ if screen.terminal => indicatif::ProgressBar::hidden(),
            _ => input.progress(screen, "reading"),
        };
        if format == Format::Table {
            screen.page();
        }
        let open = |dir| ImportWriter::open_telling(dir, on_migration());
        let store = self.store.as_deref().map(open).transpose()?;
        let page =
            Page::begin(format, order, self.csv.unwrap_or_default().into(), screen).context(WRITING)?;
        let mut report = Report {
            joiner: self.join.joiner(),
            filter: self.filter.filter(),
            trunks,
            identities,
            page,
            store,
            summary: Summary::default(),
            failed: None,
            read: Vec::new(),
            streams: Vec::new(),
        };
        let pass = input.pass_records(self.workers, &mut report, &bar)?;
        let Report { page, store, summary, failed, .. } = report;
        if let Some(error) = failed {
            return Err(error);
        }
        // Before the summary, which states what is durable.
        let stored = store.map(ImportWriter::close).transpose()?;
        page.end(&summary, &pass, stored.map(stored_line)).context(WRITING)?;
        screen.out.flush().context(WRITING)?;
        Ok(pass.exit(screen))
    }
}

const WRITING: &str = "cannot write the results";

fn stored_line(written: RecordCounts) -> String {
    let counts = [
        (written.calls, "call"),
        (written.streams, "stream"),
        (written.registrations, "registration"),
        (written.messages, "message"),
        (written.transactions, "transaction"),
    ];
    let counts: Vec<_> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(*count, noun)).collect();
    match counts[..] {
        [] => "nothing".to_string(),
        _ => format!("{}; {}", counts.join(", "), counted(written.days, "day file")),
    }
}

/// Prints and stores the records as the engine finds them.
struct Report<'a> {
    identities: Checker,
    joiner: Joiner,
    filter: Filter,
    trunks: Trunks,
    page: Page<'a>,
    store: Option<ImportWriter>,
    summary: Summary,
    /// The first error of the output; nothing is written after it.
    failed: Option<anyhow::Error>,
    /// What was read, for its memory, and a list for the streams of the next.
    read: Vec<(Call, Vec<StreamEnd>)>,
    streams: Vec<Stream>,
}

/// Records that are given back at once.
const MOST_READ: usize = 64;

impl Report<'_> {
    /// Prints a record, and stores it if there is a database.
    fn keep(
        &mut self,
        print: impl FnOnce(&mut Page<'_>) -> io::Result<()>,
        store: impl FnOnce(&mut ImportWriter) -> Result<(), ringtap_store::Error>,
    ) {
        if self.failed.is_some() {
            return;
        }
        let printed = print(&mut self.page).context(WRITING);
        let stored = self.store.as_mut().map_or(Ok(()), store);
        self.failed = printed.and_then(|()| stored.map_err(Into::into)).err();
    }
}

impl Sink for Report<'_> {
    fn call(&mut self, mut call: Call, mut ends: Vec<StreamEnd>) {
        self.trunks.annotate(&mut call);
        self.identities.check(&mut call);
        // Calls that the filter leaves out join others all the same.
        for amendment in self.joiner.add(&mut call) {
            self.keep(|page| page.amend(&amendment), |store| store.amend(&amendment));
        }
        let mut streams = std::mem::take(&mut self.streams);
        streams.extend(ends.drain(..).map(|stream| stream.record));
        if self.filter.selects_call(&call, &streams) {
            self.summary.call(&call);
            streams.iter().for_each(|stream| self.summary.stream(stream));
            self.keep(|page| page.call(&call, &streams), |store| store.call(&call, &streams));
        } else {
            self.summary.left_out();
        }
        let (serial, recorded) = (0, RecordedPackets::default());
        ends.extend(streams.drain(..).map(|record| StreamEnd { serial, record, recorded }));
        self.streams = streams;
        if self.read.len() < MOST_READ {
            self.read.push((call, ends));
        }
    }

    fn give_back(&mut self) -> Option<(Call, Vec<StreamEnd>)> {
        self.read.pop()
    }

    fn stream(&mut self, stream: StreamEnd) {
        let stream = stream.record;
        if self.filter.selects_stream(&stream, None) {
            self.summary.stream(&stream);
            self.keep(|page| page.stream(&stream), |store| store.stream(&stream));
        }
    }

    fn registration(&mut self, registration: Registration) {
        if self.filter.selects_registration(&registration) {
            self.summary.registration(&registration);
            self.keep(|page| page.registration(&registration), |store| store.registration(&registration));
        }
    }

    fn message(&mut self, message: Message) {
        if self.filter.selects_message(&message) {
            self.summary.message();
            self.keep(|page| page.message(&message), |store| store.message(&message));
        }
    }
}

impl Listener for Report<'_> {
    fn has_enough(&self) -> bool {
        self.failed.is_some()
    }
}

//! `ringtap why`: what distinguishes the calls that pass the filters from the others of the same time.

mod print;

use std::path::PathBuf;

use clap::Args;
use ringtap_daemon::KpiConfig;
use ringtap_engine::{Sink, StreamEnd};
use ringtap_investigate::{MarkedBy, Sample};
use ringtap_model::{Call, Condition, Filter, Message, Nanos, Registration, Stream};
use ringtap_report::text::counted;
use ringtap_store::{Error, Reader};

use self::print::print;
use crate::exit::{Exit, Misuse};
use crate::filter::FilterArgs;
use crate::input::{Input, Listener, Unpacking, Workers};
use crate::kpi_args::KpiArgs;
use crate::page::Format;
use crate::screen::Screen;
use crate::store_args::StoreArgs;

/// Rank what distinguishes the calls that pass the filters from the others of the same time: "Why these?"
///
/// The filters mark calls, those that fail or sound bad; `--since` and `--until` say which calls are
/// compared. Every field of a call and its streams is asked (addresses, trunks, devices, codecs, numbers,
/// times, ...), and every pair of fields: what more of the marked calls have is listed, the most telling
/// first, with how many of the others have it too. What chance could have done is not listed: on a day
/// without a cause, the answer is that nothing distinguishes them.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Why {
    /// Capture files; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with = "store")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    unpacking: Unpacking,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    config: KpiArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    filter: FilterArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap why --since 2026-11-21 --until 2026-11-22 --mos-below 3
  ringtap why --since '2026-11-21 14:00' --note one_way,no_audio
  ringtap why --since 2026-11-21 --code 5xx --format jsonl | jq -r .q
  ringtap why trunk.pcap --loss-above 2";

impl Why {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let filter = self.filter.filter();
        let is_time = |condition: &Condition| matches!(condition, Condition::Since(_) | Condition::Until(_));
        let time = Filter(filter.0.iter().filter(|condition| is_time(condition)).cloned().collect());
        if time.0.len() == filter.0.len() {
            let text = "say which calls are marked, such as `--mos-below 3`, `--note one_way` or \
                        `--code 5xx`: without such a filter there are no others to compare with";
            return Err(Misuse(text.to_owned()).into());
        }
        let sample = Sample::new(MarkedBy::filter(&filter));
        let mut marking = Marking { sample, filter, time, trunks: None };
        if self.files.is_empty() {
            let days = marking.add_stored(&self.store.open()?)?;
            print(&marking.sample.rank(), &counted(days as u64, "day"), self.format, screen)?;
            if days == 0 {
                screen.remark("no records are stored for that time: no day was searched");
            }
            return Ok(Exit::Done);
        }
        marking.trunks = self.config.read(screen)?;
        let input = Input::open(&self.files, self.unpacking)?;
        let bar = input.progress(screen, "reading");
        let pass = input.pass_records(Workers::default(), &mut marking, &bar)?;
        let files = counted(self.files.len() as u64, "capture file");
        print(&marking.sample.rank(), &files, self.format, screen)?;
        Ok(pass.exit(screen))
    }
}

/// Adds calls to a sample: marked if they pass the filter.
struct Marking {
    sample: Sample,
    filter: Filter,
    /// The conditions on time alone.
    time: Filter,
    /// Names of trunks, for calls of captures: those of the database have them.
    trunks: Option<KpiConfig>,
}

impl Marking {
    fn add(&mut self, call: &Call, streams: &[Stream]) {
        let is_marked = self.filter.selects_call(call, streams);
        self.sample.add(call, streams, is_marked);
    }

    /// Adds the calls of the database, those of an hour at once; returns of how many days.
    fn add_stored(&mut self, reader: &Reader) -> Result<usize, Error> {
        let mut days = 0;
        for day in reader.days()? {
            let is_outside = |condition: &Condition| match condition {
                Condition::Since(since) => day.end() <= *since,
                Condition::Until(until) => day.start() >= *until,
                _ => false,
            };
            if self.time.0.iter().any(is_outside) {
                continue;
            }
            days += 1;
            let mut from = day.start();
            while from < day.end() {
                let until = from + HOUR;
                let mut hour = self.time.clone();
                hour.0.extend([Condition::Since(from), Condition::Until(until)]);
                let found = reader.calls(&hour.into())?;
                reader.with_streams(&found.records, |call, streams| self.add(call, streams))?;
                from = until;
            }
        }
        Ok(days)
    }
}

impl Sink for Marking {
    fn call(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        let streams: Vec<Stream> = streams.into_iter().map(|stream| stream.record).collect();
        if self.time.selects_call(&call, &streams) {
            if let Some(config) = &self.trunks {
                config.trunks.annotate(&mut call);
            }
            self.add(&call, &streams);
        }
    }

    fn stream(&mut self, _: StreamEnd) {}

    fn registration(&mut self, _: Registration) {}

    fn message(&mut self, _: Message) {}
}

impl Listener for Marking {}

/// What of the database is in memory at once.
const HOUR: Nanos = Nanos::from_secs(3_600);

//! `ringtap why`: what distinguishes the calls that pass the filters from the others of the same time.

mod print;

use std::ops::ControlFlow;

use clap::Args;
use ringtap_daemon::KpiConfig;
use ringtap_engine::{Sink, StreamEnd};
use ringtap_investigate::{MarkedBy, Sample};
use ringtap_model::{Call, Condition, Filter, Message, Registration, Stream};
use ringtap_report::text::counted;
use ringtap_search::Expression;
use ringtap_store::{Coverage, Reader, Search, SearchEnd, SearchOrder};

use self::print::print;
use super::calls::found::walk;
use crate::exit::{Exit, Misuse};
use crate::filter::FilterArgs;
use crate::input::{Input, Listener, Workers};
use crate::kpi_args::KpiArgs;
use crate::page::Format;
use crate::query::{Asked, QueryArgs};
use crate::screen::Screen;
use crate::store_args::StoreArgs;

/// Rank what distinguishes the calls that pass the filters from the others of the same time: "Why these?"
///
/// The search and the filters mark calls, those that fail or sound bad; the times in them (`at:`, `began:`,
/// `ended:`, `--since`, `--until`) say which calls are compared. Every field of a call and its streams is
/// asked (addresses, trunks, devices, codecs, numbers, times, ...), and every pair of fields: what more of
/// the marked calls have is listed, the most telling first, with how many of the others have it too. What
/// chance could have done is not listed: on a day without a cause, the answer is that nothing distinguishes
/// them.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Why {
    #[command(flatten)]
    query: QueryArgs,
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
  ringtap why 'mos<3 began:yesterday'
  ringtap why 'state:failed' trunk.pcap
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
        let unpacking = self.query.unpacking;
        let Asked { expression, files } = self.query.read()?;
        let expression = expression.unwrap_or_default();
        let times = expression.times();
        if time.0.len() == filter.0.len() && times.parts().len() == expression.parts().len() {
            let text = "say which calls are marked, such as `mos<3`, `note:one_way` or `--code 5xx`: without \
                        that there are no others to compare with";
            return Err(Misuse(text.to_owned()).into());
        }
        let marked_by = MarkedBy::filter(&filter).with(MarkedBy::fields(expression.field_names()));
        let sample = Sample::new(marked_by);
        let mut marking = Marking { sample, filter, time, expression, times, trunks: None };
        if files.is_empty() {
            let coverage = marking.add_stored(&self.store.open()?)?;
            let days = counted(coverage.days_searched as u64, "day");
            print(&marking.sample.rank(), &days, self.format, screen)?;
            if coverage.days == 0 {
                screen.remark("no records are stored for that time: no day was searched");
            }
            if coverage.end == SearchEnd::Stopped {
                screen.remark(format!(
                    "interrupted when {days} of {} had been searched: the results cover those calls",
                    coverage.days
                ));
                return Ok(Exit::Interrupted);
            }
            return Ok(Exit::Done);
        }
        marking.trunks = self.config.read(screen)?;
        let input = Input::open(&files, unpacking)?;
        let bar = input.progress(screen, "reading");
        let pass = input.pass_records(Workers::default(), &mut marking, &bar)?;
        let files = counted(files.len() as u64, "capture file");
        print(&marking.sample.rank(), &files, self.format, screen)?;
        Ok(pass.exit(screen))
    }
}

/// Adds calls to a sample: marked if they pass the filter and satisfy the search.
struct Marking {
    sample: Sample,
    filter: Filter,
    /// The conditions on time alone.
    time: Filter,
    expression: Expression,
    /// The conditions of the search on time alone.
    times: Expression,
    /// Names of trunks, for calls of captures: those of the database have them.
    trunks: Option<KpiConfig>,
}

impl Marking {
    fn add(&mut self, call: &Call, streams: &[Stream]) {
        let is_marked = self.filter.selects_call(call, streams) && self.expression.matches(call, streams);
        self.sample.add(call, streams, is_marked);
    }

    /// Adds the calls of the database.
    fn add_stored(&mut self, reader: &Reader) -> anyhow::Result<Coverage> {
        let (filter, order) = (self.time.clone(), SearchOrder::OldestFirst);
        let search = Search { filter, order, ..Search::new(self.times.clone()) };
        walk(reader, &search, true, |call, streams| {
            self.add(&call, &streams);
            ControlFlow::Continue(())
        })
    }
}

impl Sink for Marking {
    fn call(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        let streams: Vec<Stream> = streams.into_iter().map(|stream| stream.record).collect();
        if self.time.selects_call(&call, &streams) && self.times.matches(&call, &streams) {
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

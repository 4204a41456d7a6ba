//! `ringtap kpis`: key performance indicators, of captures or of the database.

mod print;

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use ringtap_daemon::{KpiConfig, KpiRollups};
use ringtap_engine::{Sink, StreamEnd};
use ringtap_kpi::rollup::{MINUTE, minute_of};
use ringtap_kpi::{Dimension, Fold, Per, Rollup, Table, Zone};
use ringtap_model::{Call, Condition, Filter, Message, Nanos, Registration, Stream};
use ringtap_report::text::counted;
use ringtap_report::time::{self, Moment};

use self::print::Printed;
use crate::assumed::Assumed;
use crate::exit::Exit;
use crate::input::{Input, Listener, Unpacking, Workers};
use crate::kpi_args::KpiArgs;
use crate::page::Format;
use crate::screen::Screen;
use crate::store_args::StoreArgs;

/// Show key performance indicators, by trunk, codec and others, over time: ASR, NER, PDD, MOS, ...
///
/// Counts the calls that began in the time, of captures or of the database. Legs that belong to one
/// conversation are counted once; a further leg counts at the configured trunk that it comes from or goes
/// to. Each figure is shown with its definition, and with the number of calls or streams behind it in JSON
/// lines and CSV. A `!` marks times in which this monitor is known to have lost more than 0.1 % of the
/// packets: figures of quality may be wrong then.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Kpis {
    /// Capture files; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with = "store")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    unpacking: Unpacking,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    config: KpiArgs,
    /// Calls that began in this minute or later: 2026-11-21T02:00:00Z, or "2026-11-21 02:00" or 2026-11-21
    /// in the zone in which times are shown
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Calls that began before this time, which is rounded up to a minute
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Group calls by this
    #[arg(long, value_name = "WHAT", value_enum)]
    by: Option<By>,
    /// A row for each minute, hour or day of `[kpi] timezone`; of the zone in which times are shown where
    /// there is no configuration
    #[arg(long, value_name = "PERIOD", value_enum)]
    per: Option<Period>,
    /// Count every leg, instead of conversations
    #[arg(long)]
    legs: bool,
    /// Output format; tables show the figures that are asked for most, the other formats all of them
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    assumed: Assumed,
}

const EXAMPLES: &str = "\
Examples:
  ringtap kpis --since '2026-11-21 02:00' --by trunk
  ringtap kpis --since 2026-11-01 --until 2026-12-01 --per day
  ringtap kpis --since 2026-11-21 --by prefix --per hour --format csv > prefixes.csv
  ringtap kpis --since 2026-11-21 --by code
  ringtap kpis trunk.pcap --by codec
  ringtap kpis --config /etc/ringtap/ringtap.toml --by trunk monday.pcap
  ringtap kpis --since 2026-11-21 --by trunk --format jsonl | jq 'select(.asr.value < 40)'";

/// What calls are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// [[trunk]], or the address of the other side; incoming and outgoing
    Trunk,
    /// In, out, through: whether a call came from or went to a configured trunk
    Direction,
    /// Codec of the streams: a call counts with each of its codecs
    Codec,
    /// User-Agent of the caller; of registrations, of who registers
    Device,
    /// First digits of the number that was called
    Prefix,
    /// Final code
    Code,
}

/// The length of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Period {
    /// 60 s
    Minute,
    /// As the clock shows it
    Hour,
    /// 23 to 25 hours, from midnight to midnight
    Day,
}

impl Kpis {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let config = self.config.read(screen)?;
        let shown = || Zone::named(&time::zone_name()).unwrap_or(Zone::UTC);
        let zone = config.as_ref().map_or_else(shown, |config| config.zone.clone());
        let config = config.unwrap_or_default();
        let (table, exit, covered) = match self.files[..] {
            [] => self.of_store(&config, &zone)?,
            _ => self.of_files(&config, &zone, screen)?,
        };
        if table.folded > 0 {
            let records = counted(table.folded, "record");
            screen.remark(format!("there are too many groups: {records} counted as (other)"));
        }
        let by = self.by.map(By::title);
        let printed = Printed { by, per: self.per.map(Period::per), zone, legs: self.legs, covered };
        printed.print(table, self.format, screen)?;
        Ok(exit)
    }

    fn table(&self, zone: &Zone) -> Table {
        let mut dimensions = vec![Dimension::Total];
        dimensions.extend(self.by.map(By::dimensions).unwrap_or_default());
        Table::new(dimensions, self.per.map(|per| (per.per(), zone.clone())), self.legs)
    }

    fn of_files(
        &self,
        config: &KpiConfig,
        zone: &Zone,
        screen: &mut Screen,
    ) -> anyhow::Result<(Table, Exit, String)> {
        let input = Input::open(&self.files, self.unpacking)?.assuming(self.assumed.clone());
        let bar = input.progress(screen, "reading");
        let filter = self.filter();
        let mut listener = Adding { fold: Fold::new(config.settings), config, filter };
        let pass = input.pass_records(Workers::default(), &mut listener, &bar)?;
        if listener.fold.unknown > 0 {
            let calls = counted(listener.fold.unknown, "call");
            screen.remark(format!("{calls} were not compared with others to see whether they are repeated"));
        }
        let mut table = self.table(zone);
        listener.fold.finish().iter().for_each(|(minute, rollup)| table.add(*minute, rollup));
        Ok((table, pass.exit(screen), counted(self.files.len() as u64, "capture file")))
    }

    fn of_store(&self, config: &KpiConfig, zone: &Zone) -> anyhow::Result<(Table, Exit, String)> {
        let reader = self.store.open()?;
        let mut table = self.table(zone);
        let (since, until) = self.span();
        let (mut unread, dimensions) = (None, table.dimensions().to_vec());
        let from = since - EARLIER;
        let counts = reader.rollups((from, until), &KpiRollups(config.settings), |minute, rollup| {
            match Rollup::from_bytes(rollup, &dimensions) {
                // Of a minute whose records are gone, or are now of another one.
                Some(rollup) if rollup.is_empty() => {}
                Some(rollup) if minute < since => table.add_before(&rollup),
                Some(rollup) => table.add(minute, &rollup),
                None => unread = Some(minute),
            }
            Ok(())
        })?;
        if let Some(minute) = unread {
            let minute = zone.shown(minute);
            bail!("the stored figures of {minute} cannot be read: restore its day file from a backup");
        }
        Ok((table, Exit::Done, counted(counts.days, "day")))
    }

    /// Whole minutes from and to.
    fn span(&self) -> (Nanos, Nanos) {
        let since = self.since.map_or(Nanos::ZERO, |since| minute_of(since.instant()));
        let up = |until: Nanos| minute_of(Nanos(until.0.saturating_add(MINUTE - 1)));
        (since, self.until.map_or(Nanos::MAX, |until| up(until.instant())))
    }

    fn filter(&self) -> Filter {
        let (since, until) = self.span();
        Filter(vec![Condition::Since(since), Condition::Until(until)])
    }
}

impl By {
    fn dimensions(self) -> Vec<Dimension> {
        match self {
            Self::Trunk => vec![Dimension::TrunkIn, Dimension::TrunkOut],
            Self::Direction => vec![Dimension::Direction],
            Self::Codec => vec![Dimension::Codec],
            Self::Device => vec![Dimension::Device],
            Self::Prefix => vec![Dimension::Prefix],
            Self::Code => vec![Dimension::Code],
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Trunk => "TRUNK",
            Self::Direction => "DIRECTION",
            Self::Codec => "CODEC",
            Self::Device => "DEVICE",
            Self::Prefix => "PREFIX",
            Self::Code => "CODE",
        }
    }
}

impl Period {
    fn per(self) -> Per {
        match self {
            Self::Minute => Per::Minute,
            Self::Hour => Per::Hour,
            Self::Day => Per::Day,
        }
    }
}

/// Calls that began so long before are looked at as well: those still in progress count as such.
const EARLIER: Nanos = Nanos::from_secs(3_600);

/// Adds up the records of a capture.
struct Adding<'a> {
    fold: Fold,
    config: &'a KpiConfig,
    filter: Filter,
}

impl Sink for Adding<'_> {
    fn call(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        let streams: Vec<Stream> = streams.into_iter().map(|stream| stream.record).collect();
        if self.filter.selects_call(&call, &streams) {
            self.config.trunks.annotate(&mut call);
            self.fold.call(&call, &streams);
        }
    }

    fn stream(&mut self, _: StreamEnd) {}

    fn registration(&mut self, registration: Registration) {
        if self.filter.selects_registration(&registration) {
            self.fold.registration(&registration);
        }
    }

    fn message(&mut self, _: Message) {}
}

impl Listener for Adding<'_> {}

//! `ringtap alarms`: alarms of the database, or those that rules would have raised.

mod replay;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use ringtap_daemon::{AlarmConfig, KpiConfig};
use ringtap_model::{Alarm, Condition, Filter, Nanos};
use ringtap_report::alarms::{self, Row};
use ringtap_report::csv::{Csv, RecordKind};
use ringtap_report::json;
use ringtap_report::text::counted;
use ringtap_report::time::Moment;

use self::replay::{Replay, of_files, of_store};
use crate::assumed::Assumed;
use crate::exit::Exit;
use crate::input::{Input, Unpacking};
use crate::limit::LimitArgs;
use crate::page::Format;
use crate::screen::Screen;
use crate::store_args::StoreArgs;

/// List alarms that stand and those that are past; with `--replay`, those that rules would have raised
///
/// Alarms are raised by the running daemon, as [[alarm]] and [alarms] of its configuration say. `--replay`
/// applies the rules of a configuration to the records of past days, or to captures, and tells nobody: to
/// try a rule before it wakes somebody. Of the database, intervals of streams and attempts to register are
/// those that the records have; captures are judged as `ringtap run` would.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Alarms {
    /// With --replay: capture files instead of the database; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with = "store", requires = "replay")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    unpacking: Unpacking,
    #[command(flatten)]
    store: StoreArgs,
    /// Apply the rules of the configuration to the past, and show what they raise
    #[arg(long)]
    replay: bool,
    /// Configuration with [[alarm]] and [alarms], for --replay
    #[arg(long, value_name = "FILE", default_value = USUAL)]
    config: PathBuf,
    /// Only alarms that stand
    #[arg(long, conflicts_with = "replay")]
    standing: bool,
    /// Only alarms of this rule; `*` stands for any text
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// Alarms raised at this time or later; with --replay, calls that began then or later
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Alarms raised before this time; with --replay, calls that began before it
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    assumed: Assumed,
}

const EXAMPLES: &str = "\
Examples:
  ringtap alarms --standing
  ringtap alarms --since 2026-11-20 --rule 'carrier-*'
  ringtap alarms --replay --config new-rules.toml --since 2026-11-16 --until 2026-11-23
  ringtap alarms --replay --config new-rules.toml incident.pcap
  ringtap alarms --since 2026-11-01 --format jsonl | jq -r 'select(.cleared_us == null) | .text'";

/// Where `ringtap run` reads its configuration.
const USUAL: &str = "/etc/ringtap/ringtap.toml";
const WRITING: &str = "cannot write the results";

impl Alarms {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        if self.replay {
            return self.replay(screen);
        }
        let reader = self.store.open()?;
        let found = reader.alarms(&self.limit.query(self.filter()))?;
        let fits = |alarm: &Alarm| !self.standing || alarm.cleared.is_none();
        let alarms: Vec<Alarm> =
            found.records.into_iter().filter(|alarm| fits(alarm) && self.is_of(alarm)).collect();
        let count = counted(alarms.len() as u64, "alarm");
        let line = format!("{count} found; {} searched", counted(found.days as u64, "day"));
        self.print(&alarms, &line, screen).context(WRITING)?;
        if found.cut && self.limit.tells_of_more() {
            screen.remark("there are more: raise `--limit` or narrow the time");
        }
        if found.days == 0 {
            screen.remark("no records are stored for that time: no day was searched");
        }
        Ok(Exit::Done)
    }

    fn replay(&self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let (mut settings, kpi) = (AlarmConfig::load(&self.config)?.settings, KpiConfig::load(&self.config)?);
        if let Some(pattern) = &self.rule {
            settings.rules.retain(|rule| ringtap_alarm::matches(pattern, &rule.name));
        }
        if settings.rules.is_empty() {
            let config = self.config.display();
            let which = self.rule.as_ref().map_or(String::new(), |rule| format!(" named `{rule}`"));
            bail!("{config} has no rule{which}: add an [[alarm]], or `patterns` in [alarms]");
        }
        let rules = counted(settings.rules.len() as u64, "rule");
        let mut replay = Replay::new(settings);
        let (exit, of) = match self.files[..] {
            [] => {
                let days = of_store(&mut replay, &self.store.open()?, &kpi, self.span(), screen)?;
                if days == 0 {
                    screen.remark("no records are stored for that time: no day was looked at");
                }
                (Exit::Done, counted(days as u64, "day"))
            }
            _ => {
                let input = Input::open(&self.files, self.unpacking)?.assuming(self.assumed.clone());
                let bar = input.progress(screen, "judging");
                let pass = of_files(&mut replay, &input, &kpi, &bar);
                (pass.exit(screen), counted(self.files.len() as u64, "capture file"))
            }
        };
        let (alarms, remarks) = replay.finish();
        let count = counted(alarms.len() as u64, "alarm");
        self.print(&alarms, &format!("{count} raised by {rules} over {of}"), screen).context(WRITING)?;
        remarks.into_iter().for_each(|remark| screen.remark(remark));
        Ok(exit)
    }

    fn span(&self) -> (Nanos, Nanos) {
        let since = self.since.map_or(Nanos::ZERO, Moment::instant);
        (since, self.until.map_or(Nanos::MAX, Moment::instant))
    }

    fn filter(&self) -> Filter {
        let (since, until) = self.span();
        Filter(vec![Condition::Since(since), Condition::Until(until)])
    }

    fn is_of(&self, alarm: &Alarm) -> bool {
        self.rule.as_ref().is_none_or(|pattern| ringtap_alarm::matches(pattern, &alarm.rule))
    }

    fn print(&self, alarms: &[Alarm], line: &str, screen: &mut Screen) -> io::Result<()> {
        if self.format == Format::Table {
            screen.page();
        }
        let Screen { out, width, colour, .. } = screen;
        match self.format {
            Format::Jsonl => {
                let mut lines = json::Lines::default();
                alarms.iter().try_for_each(|alarm| lines.write(out, alarm))?;
            }
            Format::Csv => {
                let csv = Csv::begin(out, RecordKind::Alarms)?;
                alarms.iter().try_for_each(|alarm| csv.record(out, RecordKind::Alarms, alarm))?;
            }
            Format::Table => {
                if !alarms.is_empty() {
                    alarms::write(out, alarms.iter().map(Row::new).collect(), *width, *colour)?;
                    writeln!(out)?;
                }
                writeln!(out, "{line}")?;
            }
        }
        out.flush()
    }
}

//! `ringtap mcp`: the records as tools for AI assistants.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use indicatif::ProgressBar;
use ringtap_conversation::{Joiner, Settings as JoinSettings};
use ringtap_daemon::{KpiConfig, KpiRollups};
use ringtap_mcp::{Captured, Ceilings, MessageCollector, Settings, Sources, Stored, serve};

use crate::anonymous;
use crate::exit::{Exit, Misuse};
use crate::input::{Input, Unpacking, Workers};
use crate::interrupt;
use crate::kpi_args::KpiArgs;
use crate::query::SitesArg;
use crate::screen::Screen;
use crate::spool_args::SpoolArgs;
use crate::store_args::StoreArgs;

/// Let an AI assistant ask about calls: Model Context Protocol on standard input and output
///
/// Serves captures or the database as tools: problems, search, one call with its ladder and messages,
/// streams, KPIs, users, and what distinguishes calls. It only reads, and ends with standard input.
/// Telephone numbers and names are replaced by tokens, the same for the same number, unless `--numbers` is
/// given; User-Agents, addresses, trunks and Call-IDs are shown. What was sent on the wire is marked as
/// untrusted. An assistant starts this command itself: see docs/manual/mcp.md.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Mcp {
    /// Capture files; their records are held in memory
    #[arg(value_name = "FILE", conflicts_with_all = ["store", "spool"])]
    files: Vec<PathBuf>,
    #[command(flatten)]
    unpacking: Unpacking,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    spool: SpoolArgs,
    #[command(flatten)]
    config: KpiArgs,
    /// Show telephone numbers and names to the assistant, and whoever operates it, instead of tokens
    #[arg(long)]
    numbers: bool,
    /// A file with a secret of 16 bytes or more: the same secret gives the same tokens. Without it, each
    /// start has tokens of its own
    #[arg(long, value_name = "FILE", conflicts_with = "numbers")]
    token_key: Option<PathBuf>,
    #[command(flatten)]
    sites: SitesArg,
    /// Longest time of a request in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=600))]
    time_limit: u64,
    /// Calls of captures that are held in memory at most
    #[arg(long, value_name = "N", default_value_t = Ceilings::default().calls)]
    max_calls: usize,
}

const EXAMPLES: &str = "\
Examples:
  ringtap mcp trunk.pcap
  ringtap mcp --store /var/lib/ringtap/records --spool /var/lib/ringtap/spool
  ringtap mcp --store records --numbers";

impl Mcp {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let tokens = match self.numbers {
            true => None,
            false => Some(anonymous::tokens(self.token_key.as_deref())?),
        };
        // What is wrong with the file is said now; what it has may change.
        self.sites.known()?;
        let sites = self.sites.clone();
        let settings = Settings {
            tokens,
            longest: Duration::from_secs(self.time_limit),
            sites: Arc::new(move || Ok(sites.known()?)),
        };
        let config = self.config.read(screen)?.unwrap_or_default();
        let sources = match self.files.is_empty() {
            true => Sources::Stored(self.stored(config)?),
            false => Sources::Captured(self.captured(config, screen)?),
        };
        ringtap_daemon::log_to_stderr();
        serve(sources, settings, interrupt::asked)?;
        Ok(if interrupt::asked() { Exit::Interrupted } else { Exit::Done })
    }

    fn stored(&self, config: KpiConfig) -> anyhow::Result<Stored> {
        let reader = self.store.open()?;
        let spool = match self.spool.spool.is_empty() {
            true => None,
            false => {
                // Whatever is wrong with it is told now.
                self.spool.open_quietly()?;
                let spool = self.spool.clone();
                Some(Box::new(move || spool.open_quietly()) as ringtap_mcp::OpenSpool)
            }
        };
        Ok(Stored { reader, spool, kpis: Box::new(KpiRollups(config.settings)) })
    }

    fn captured(&self, config: KpiConfig, screen: &mut Screen) -> anyhow::Result<Captured> {
        if self.files.iter().any(|file| file.as_os_str() == "-") {
            let text = "standard input is where the assistant asks: name capture files";
            return Err(Misuse(text.to_owned()).into());
        }
        let (unpacking, files) = (self.unpacking, self.files.clone());
        let input = Input::open(&files, unpacking)?.with_transactions();
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let name = match &names[..] {
            [name] => name.clone(),
            [first, ..] => format!("{first} and {} more files", names.len() - 1),
            [] => String::new(),
        };
        let ceilings = Ceilings { calls: self.max_calls, ..Ceilings::default() };
        let (trunks, mut joiner) = (config.trunks, Joiner::new(JoinSettings::default()));
        let mut captured = Captured::new(name, ceilings, config.settings, move |call| {
            trunks.annotate(call);
            joiner.add(call)
        });
        let bar = input.progress(screen, "reading");
        let pass = input.pass_records(Workers::default(), &mut captured, &bar)?;
        // What is wrong with the input is told; what could be read is served.
        pass.exit(screen);
        screen.remark(format!("{} calls are ready", captured.calls()));
        if captured.left_out() > 0 {
            screen.remark(format!(
                "{} records were left out: raise `--max-calls`, or use `ringtap analyze --store` and serve \
                 the database",
                captured.left_out()
            ));
        }
        Ok(captured.read_whole(Box::new(move |collector: &mut MessageCollector| {
            let input = Input::open(&files, unpacking).context("a capture cannot be read again")?;
            input.pass(collector, &ProgressBar::hidden());
            Ok(())
        })))
    }
}

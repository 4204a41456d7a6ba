//! `ringtap availability`: outages of services, from packets alone.

mod effects;
mod results;
mod stored;
mod table;

use std::any::Any;
use std::io;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, value_parser};
use ringtap_availability::{
    Counts, EffectsTracker, Findings, LinkWatch, Observed, Role, Settings, Totals, failovers, totals,
};
use ringtap_engine::{Sink, StreamEnd};
use ringtap_model::{Call, Message, Nanos, Registration};
use ringtap_report::json;
use ringtap_report::text::counted;
use ringtap_report::time::Moment;

use results::Results;

use crate::exit::Exit;
use crate::input::{Input, Listener, Unpacking};
use crate::page::LineFormat;
use crate::screen::Screen;

/// List outages of the services in captures, and how long each service was available
///
/// A service is an address, port and transport that SIP requests are sent to. It is out of service where it
/// sends nothing while two requests or more wait, or one that is repeated in vain; or where it answers all
/// requests of a kind with 500 or 503. Outages that belong together are one failover, with the cause that
/// ARP, neighbour advertisements, MAC addresses and requests sent elsewhere tell of, and with what it did:
/// calls that were delayed, failed or were cut, gaps in their media, users. Time in which nobody asked, or
/// packets were lost, is unobserved and counts neither as available nor as an outage. Telephones are left out
/// of the tables.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AvailabilityArgs {
    /// Capture files; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "store", conflicts_with = "store")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    unpacking: Unpacking,
    /// Instead of captures: directory of the database in which `ringtap run` stores outages, with `follow =
    /// true` in [availability] of its configuration
    #[arg(long, value_name = "DIR", conflicts_with_all = ["after", "observe", "telephones", "max_unpacked"])]
    store: Option<PathBuf>,
    /// With --store: what began at this time or later
    #[arg(long, value_name = "TIME", conflicts_with = "files")]
    since: Option<Moment>,
    /// With --store: what began before this time
    #[arg(long, value_name = "TIME", conflicts_with = "files")]
    until: Option<Moment>,
    /// Milliseconds without any answer, while requests wait, that make an outage
    #[arg(long, value_name = "MS", default_value_t = 500)]
    #[arg(value_parser = value_parser!(u64).range(50..=600_000))]
    after: u64,
    /// Seconds between an answer and the next request for which a service still counts as observed
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = value_parser!(u64).range(1..=86_400))]
    observe: u64,
    /// Show telephones, too: what registers, or is registered
    #[arg(long)]
    telephones: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: LineFormat,
}

const EXAMPLES: &str = "\
Examples:
  ringtap availability proxy.pcapng
  ringtap availability --observe 60 trunk-*.pcap.gz
  ringtap availability --store /var/lib/ringtap/records --since 2026-11-20
  ringtap availability --format jsonl proxy.pcapng | jq -r 'select(.type == \"outage\") | .down_ms'";

const WRITING: &str = "cannot write the results";

impl AvailabilityArgs {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        if let Some(directory) = &self.store {
            let (findings, failovers, effects) = stored::read(directory, self.since, self.until, screen)?;
            let results =
                Results { failovers: &failovers, effects: &effects, totals: None, findings: &findings };
            self.print(&results, screen).context(WRITING)?;
            return Ok(Exit::Done);
        }
        let settings = Settings {
            after: Nanos::from_millis(self.after),
            observe: Nanos::from_secs(self.observe),
            ..Settings::default()
        };
        let input = Input::open(&self.files, self.unpacking)?;
        let bar = input.progress(screen, "reading");
        let mut found = Found::default();
        let mut link = LinkWatch::default();
        let tracker = EffectsTracker::new(settings);
        let pass = input.pass_observed(tracker, &mut found, &bar, |frame| link.frame(frame));
        let Found { mut findings, observed } = found;
        let (signs, refused) = link.close();
        findings.counts.evidence_refused += refused;
        let failovers = failovers(&findings, &signs);
        let effects = ringtap_availability::effects(&failovers, &observed);
        let totals = totals(&effects, &observed);
        if !self.telephones {
            findings.outages.retain(|outage| outage.role != Role::Telephone);
            findings.services.retain(|service| service.role != Role::Telephone);
        }
        let effects: Vec<_> = effects.into_iter().map(Some).collect();
        let results =
            Results { failovers: &failovers, effects: &effects, totals: Some(totals), findings: &findings };
        self.print(&results, screen).context(WRITING)?;
        remark(&findings.counts, totals, screen);
        Ok(pass.exit(screen))
    }

    fn print(&self, results: &Results<'_>, screen: &mut Screen) -> io::Result<()> {
        if self.format == LineFormat::Table {
            screen.page();
        }
        let Screen { out, width, colour, .. } = screen;
        match self.format {
            LineFormat::Table => table::write(out, results, *width, *colour)?,
            LineFormat::Jsonl => {
                let mut lines = json::Lines::default();
                results.lines().try_for_each(|line| lines.write(out, &line))?;
            }
        }
        out.flush()
    }
}

/// What has to be known of the result.
fn remark(counts: &Counts, totals: Totals, screen: &mut Screen) {
    if counts.services == 0 {
        screen.remark("no SIP request was found: nothing can be told of any service");
    }
    let told = [
        (
            counts.never_answered,
            "address",
            "never answered anything: nothing is claimed of these, as answers may take another way",
        ),
        (counts.losses, "time", "the capture lost packets: what waited then counts as unobserved"),
        (
            counts.services_refused,
            "request",
            "to further services were not followed: read fewer files at once",
        ),
        (counts.transactions_evicted, "request", "had to give way to others before their time"),
        (counts.evidence_refused, "address", "or sign of a failover was left out: causes may be missing"),
        (counts.outages_refused, "outage", "are not listed: there are too many; read fewer files at once"),
        (
            totals.calls_refused,
            "call",
            "were not followed: what failovers did to them is not told; read fewer files at once",
        ),
        (
            totals.facts_refused,
            "packet",
            "of requests and streams were not followed: effects may be missing; read fewer files at once",
        ),
    ];
    for (count, noun, what) in told.into_iter().filter(|(count, ..)| *count > 0) {
        screen.remark(format!("{} {what}", counted(count, noun)));
    }
}

/// What the tracker emits.
#[derive(Default)]
struct Found {
    findings: Findings,
    observed: Observed,
}

impl Sink for Found {
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}

    fn stream(&mut self, _: StreamEnd) {}

    fn registration(&mut self, _: Registration) {}

    fn message(&mut self, _: Message) {}

    fn event(&mut self, event: &dyn Any) {
        if let Some(findings) = event.downcast_ref::<Findings>() {
            self.findings = findings.clone();
        }
        if let Some(observed) = event.downcast_ref::<Observed>() {
            self.observed = observed.clone();
        }
    }
}

impl Listener for Found {}

//! `ringtap status`: what the running daemon says of itself.

use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use ringtap_daemon::control::{Request, ask};
use ringtap_daemon::status_report::StatusReport;
use ringtap_model::Nanos;
use ringtap_report::fields::Layout;
use ringtap_report::streams::bytes;
use ringtap_report::style::Style;
use ringtap_report::text::{counted, grouped};
use ringtap_report::{json, time};
use serde_json::json;

use super::control::ControlArgs;
use crate::exit::Exit;
use crate::screen::Screen;

/// Ask the running daemon how it is: since when, packets, losses, calls, workers, database, spool
///
/// Takes a second, over which it measures the rates. The exit status is 1 if no daemon answers, and 3 if
/// something is wrong: packets or records were lost meanwhile, the database or the spool cannot be written, a
/// worker is silent, or the clock is not trusted.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Status {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: StatusFormat,
    #[command(flatten)]
    at: ControlArgs,
}

/// How the state is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum StatusFormat {
    /// For people
    #[default]
    Table,
    /// One JSON object
    Json,
}

const EXAMPLES: &str = "\
Examples:
  ringtap status
  ringtap status --format json | jq .calls";

impl Status {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        const WRITING: &str = "cannot write to standard output";
        let before = report(&self.at.control)?;
        thread::sleep(Duration::from_secs(1));
        let now = report(&self.at.control)?;
        let rates = Rates::between(&before, &now);
        let problems = problems(&before, &now);
        match self.format {
            StatusFormat::Json => json::line(
                &mut *screen.out,
                &json!({
                    "type": "status", "status": now, "packets_per_second": rates.packets,
                    "bits_per_second": rates.bits, "problems": problems,
                }),
            ),
            StatusFormat::Table => table(&now, &rates, &problems, screen),
        }
        .and_then(|()| screen.out.flush())
        .context(WRITING)?;
        Ok(if problems.is_empty() { Exit::Done } else { Exit::Damaged })
    }
}

fn report(control: &Path) -> anyhow::Result<StatusReport> {
    let told = ask(control, &Request::Status)?;
    serde_json::from_str(&told).context("the daemon is of another version: its state cannot be read")
}

struct Rates {
    packets: f64,
    bits: f64,
}

impl Rates {
    fn between(before: &StatusReport, now: &StatusReport) -> Self {
        let seconds = (now.now_us.saturating_sub(before.now_us) as f64 / 1e6).max(1e-3);
        Self {
            packets: now.packets.saturating_sub(before.packets) as f64 / seconds,
            bits: now.bytes.saturating_sub(before.bytes) as f64 * 8.0 / seconds,
        }
    }
}

/// What is wrong now, a sentence each.
fn problems(before: &StatusReport, now: &StatusReport) -> Vec<String> {
    let mut problems = Vec::new();
    for ((place, total), (_, earlier)) in now.lost.iter().zip(&before.lost) {
        let new = total.saturating_sub(*earlier);
        if new > 0 {
            problems.push(format!("{} lost at {place} within a second", grouped(new)));
        }
    }
    for (number, worker) in now.workers.iter().enumerate() {
        if worker.silent_ms > SILENT && !worker.ended {
            let seconds = worker.silent_ms / 1_000;
            problems.push(format!("worker {number} on {} is silent for {seconds} s", worker.source));
        }
    }
    if !now.store.ok {
        problems.push("the database cannot be written: records wait in the outbox".to_owned());
    }
    if now.spool.as_ref().is_some_and(|spool| !spool.ok) {
        problems.push("nothing is recorded: the disk of the spool is full".to_owned());
    }
    if now.spool.as_ref().is_some_and(|spool| spool.far_lost) {
        problems.push("the bucket cannot be reached".to_owned());
    }
    if now.clock_step_s != 0 {
        problems.push(format!("the clock has stepped by {} s: see `ringtap clock`", now.clock_step_s));
    }
    problems
}

fn table(now: &StatusReport, rates: &Rates, problems: &[String], screen: &mut Screen) -> io::Result<()> {
    let Screen { out, width, colour, .. } = screen;
    let layout = Layout { indent: 0, name: 12, width: *width, colour: *colour };
    let mut line = |name: &str, value: String, style| layout.line(out, name, &value, style);
    let since = Nanos::from_micros(now.since_us);
    let up = time::span(now.now_us.saturating_sub(now.since_us) as f64 / 1e3);
    let zone = time::zone_name();
    line(
        "Running",
        format!("since {} {zone} ({up}), version {}", time::full(since), now.version),
        Style::Plain,
    )?;
    for problem in problems {
        line("Problem", problem.clone(), Style::Bad)?;
    }
    line(
        "Calls",
        format!("{} now, {} since the start", grouped(now.calls), grouped(now.calls_begun)),
        Style::Plain,
    )?;
    line("Streams", format!("{} now", grouped(now.streams)), Style::Plain)?;
    let packets = grouped(now.packets);
    line(
        "Packets",
        format!(
            "{packets}; now {:.0}/s, {:.1} Mbit/s; time by {}",
            rates.packets,
            rates.bits / 1e6,
            now.timestamps
        ),
        Style::Plain,
    )?;
    let lost = now.lost.iter().filter(|(_, count)| *count > 0);
    let lost: Vec<_> = lost.map(|(place, count)| format!("{} at {place}", grouped(*count))).collect();
    let lost = lost.join(", ");
    line("Lost", if lost.is_empty() { "nothing".to_owned() } else { lost.clone() }, bad(!lost.is_empty()))?;
    if !now.refused.is_empty() {
        let refused = now.refused.iter().map(|(name, count)| format!("{name} {}", grouped(*count)));
        line("Refused", refused.collect::<Vec<_>>().join(", "), Style::Fair)?;
    }
    for (number, worker) in now.workers.iter().enumerate() {
        let state = if worker.ended { ", ended" } else { "" };
        let packets = grouped(worker.packets);
        let value = format!(
            "{} on {}: {packets} packets, ring {:.0} %{state}",
            number, worker.source, worker.ring_pct
        );
        line("Worker", value, Style::Plain)?;
    }
    let store = &now.store;
    let state = if store.ok { "ok" } else { "cannot be written" };
    let value = format!(
        "{state}; {} written, {} waiting, {} in the outbox, {} dropped",
        grouped(store.written),
        grouped(store.waiting),
        grouped(store.outbox),
        grouped(store.dropped)
    );
    line("Database", value, bad(!store.ok || store.dropped > 0))?;
    line("Spool", spool(now), bad(now.spool.as_ref().is_some_and(|spool| !spool.ok)))?;
    line("Memory", bytes(now.resident_bytes), Style::Plain)
}

fn spool(now: &StatusReport) -> String {
    let Some(spool) = &now.spool else { return "no packets are recorded".to_owned() };
    let mut value = format!("{}; {}", if spool.ok { "ok" } else { "stopped" }, bytes(spool.bytes));
    if let Some(free) = spool.free_pct {
        value.push_str(&format!(", {free:.1} % of its disk is free"));
    }
    if spool.far_bytes > 0 {
        value.push_str(&format!(", {} in the bucket", bytes(spool.far_bytes)));
    }
    if spool.held > 0 {
        value.push_str(&format!(", {} on hold", counted(spool.held, "call")));
    }
    if spool.listened > 0 {
        value.push_str(&format!(", {} listened to", counted(spool.listened, "call")));
    }
    value
}

fn bad(is_bad: bool) -> Style {
    if is_bad { Style::Bad } else { Style::Plain }
}

/// Milliseconds without a report after which a worker counts as silent.
const SILENT: u64 = 3_000;

#[cfg(test)]
mod tests {
    use ringtap_daemon::status_report::{SpoolHealth, StoreStatus, WorkerStatus};

    use super::*;
    use crate::screen::tests::captured;

    fn sample() -> StatusReport {
        StatusReport {
            version: "0.1.0".into(),
            now_us: 1_795_226_460_000_000,
            since_us: 1_795_226_400_000_000,
            workers: vec![WorkerStatus { source: "eth0\x1b".into(), packets: 1_000, ..Default::default() }],
            packets: 1_000,
            lost: vec![("ring".into(), 3)],
            calls: 2,
            store: StoreStatus { ok: true, ..Default::default() },
            spool: Some(SpoolHealth { ok: true, free_pct: Some(40.0), ..Default::default() }),
            ..Default::default()
        }
    }

    #[test]
    fn a_healthy_daemon_has_no_problem_and_what_is_wrong_now_is_said() {
        assert_eq!(problems(&sample(), &sample()), Vec::<String>::new());
        let silent = WorkerStatus { silent_ms: 4_000, ..sample().workers[0].clone() };
        let wrong = StatusReport {
            lost: vec![("ring".into(), 7)],
            workers: vec![silent],
            store: StoreStatus::default(),
            spool: Some(SpoolHealth { far_lost: true, ..Default::default() }),
            clock_step_s: -3,
            ..sample()
        };
        assert_eq!(problems(&sample(), &wrong).len(), 6, "{:?}", problems(&sample(), &wrong));
        let ended = WorkerStatus { ended: true, ..wrong.workers[0].clone() };
        assert!(problems(&sample(), &StatusReport { workers: vec![ended], ..sample() }).is_empty());
    }

    #[test]
    fn it_is_shown_for_people() {
        let (mut screen, out, _) = captured(80);
        let later = StatusReport { now_us: sample().now_us + 2_000_000, packets: 3_000, ..sample() };
        table(&later, &Rates::between(&sample(), &later), &[], &mut screen).unwrap();
        let text = out.text();
        for shown in [
            "Running     since 2026-11-21 02:00:00.000 UTC (1:02), version 0.1.0",
            "now 1000/s",
            "Lost        3 at ring",
            "0 on eth0\\x1b: 1,000 packets",
            "40.0 % of its disk is free",
        ] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
    }
}

//! `ringtap bench`: measures what one core of this machine can process.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ringtap_bench::{Codec, Error, Headers, Load, Machine, Outcome, Workload};
use ringtap_report::json;

use super::bench_tables::{self, Report};
use crate::exit::{Exit, Misuse};
use crate::interrupt;
use crate::screen::Screen;

/// Measure what one core of this machine can process: to plan capacity, and to compare machines
///
/// Lays out traffic in memory as in a capture ring and runs the engine over it, without a network card. Shows
/// how many packets, calls and messages per second it processes, what each stage costs per packet, and how
/// much memory a call needs. A reference loop, which only reads one byte of each header, shows the upper
/// limit for any analysis.
///
/// On a machine that does other work meanwhile, only ratios within one run are meaningful: every round
/// measures all stages one after another, and the median is shown with the minimum and maximum. The engine's
/// records are checked against the traffic; if they differ, no figures are shown and the exit status is 1.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Bench {
    /// What to measure [default: all]
    #[arg(value_enum, value_name = "WORKLOAD")]
    workloads: Vec<What>,
    /// Measure your own traffic: capture files, once loaded into memory and once read from the files
    #[arg(
        long,
        value_name = "FILE",
        num_args = 1..,
        conflicts_with_all = ["workloads", "calls", "codec", "headers", "packets"]
    )]
    file: Vec<PathBuf>,
    /// Concurrent calls; each has two streams
    #[arg(long, value_name = "N", default_value_t = Load::default().calls)]
    calls: u32,
    /// Codec of the media, with 20 ms per packet
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    codec: Sound,
    /// What the packets of `media` have below RTP
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    headers: Below,
    /// Frames in memory, all processed in each round [default: 4,000,000 for media and other; about 500,000
    /// for sip and calls]
    #[arg(long, value_name = "N")]
    packets: Option<u32>,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = Load::default().rounds)]
    rounds: u32,
    /// Frames passed to the engine at once
    #[arg(long, value_name = "N", default_value_t = Load::default().batch, hide_short_help = true)]
    batch: usize,
    /// Do not measure silence and clipping of G.711; the engine then reads no payload
    #[arg(long)]
    no_sound: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  ringtap bench
  ringtap bench media --calls 10000 --codec g729
  ringtap bench sip calls --rounds 15
  ringtap bench media --headers ipv6
  ringtap bench --file trunk.pcap
  taskset -c 3 ringtap bench --format json | jq '.outcomes[].measures[] | {name, median: .figure.median}'

Media need about 250 bytes of memory per packet: 4,000,000 packets need a gigabyte.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Media of calls that SIP has set up: what a sensor does all day
    Media,
    /// Packets of 64 bytes that are not telephony, classified and dropped
    Other,
    /// SIP only: calls are set up and released
    Sip,
    /// Complete calls: set-up, endpoints, first media packets, release, record
    Calls,
    /// How long it takes to add or end a stream while many others are active
    Changes,
    /// Media processed by one worker, and by two that share it
    Workers,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Sound {
    /// Frames of 214 bytes
    #[default]
    G711,
    /// Frames of 74 bytes
    G729,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Below {
    /// Ethernet, IPv4, UDP
    #[default]
    Plain,
    /// Ethernet, IPv6, UDP
    Ipv6,
    /// Ethernet with two VLAN tags, IPv4, UDP
    Qinq,
    /// Linux cooked capture (interface `any`), IPv4, UDP
    Cooked,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Table,
    /// One JSON object
    Json,
}

impl Bench {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let bar = progress(screen);
        let machine = Machine::here();
        let mut outcomes = Vec::new();
        if !self.file.is_empty() {
            let outcome = ringtap_bench::run_file(&self.file, &self.load(), &mut |step| said(&bar, step));
            outcomes.push(outcome.map_err(misuse)?);
        }
        let workloads = match self.workloads[..] {
            [] if self.file.is_empty() => What::value_variants(),
            _ => &self.workloads,
        };
        for what in workloads {
            if workloads.len() == 1 {
                let outcome = ringtap_bench::run(what.workload(), &self.load(), &mut |step| said(&bar, step));
                outcomes.push(outcome.map_err(misuse)?);
                continue;
            }
            bar.set_message(what.name());
            match self.run_in_process(*what)? {
                Ok(mut outcome) => outcomes.append(&mut outcome),
                Err(exit) => return Ok(exit),
            }
        }
        bar.finish_and_clear();
        let report = Report { version: env!("CARGO_PKG_VERSION").to_owned(), machine, outcomes };
        let written = match self.format {
            Format::Json => json::line(&mut *screen.out, &report),
            Format::Table => bench_tables::write(&mut *screen.out, &report, screen.width, screen.colour),
        };
        written.and_then(|()| screen.out.flush()).context("cannot write the result")?;
        Ok(Exit::Done)
    }

    fn load(&self) -> Load {
        Load {
            calls: self.calls,
            codec: match self.codec {
                Sound::G711 => Codec::G711,
                Sound::G729 => Codec::G729,
            },
            headers: match self.headers {
                Below::Plain => Headers::Plain,
                Below::Ipv6 => Headers::Ipv6,
                Below::Qinq => Headers::Qinq,
                Below::Cooked => Headers::Cooked,
            },
            packets: self.packets,
            rounds: self.rounds,
            batch: self.batch,
            sound: !self.no_sound,
        }
    }

    /// Runs one of several workloads in a process of its own, so that it does not reuse memory that another
    /// one freed. Returns the status of a process that failed; it has printed the reason.
    fn run_in_process(&self, what: What) -> anyhow::Result<Result<Vec<Outcome>, Exit>> {
        let program = std::env::current_exe().context("cannot find this program to start it again")?;
        let mut command = Command::new(program);
        command.args(["bench", what.name(), "--format", "json"]);
        let codec = self.codec.to_possible_value();
        let codec = codec.as_ref().map_or("", |value| value.get_name());
        let headers = self.headers.to_possible_value();
        let headers = headers.as_ref().map_or("", |value| value.get_name());
        if what == What::Media {
            command.args(["--headers", headers]);
        }
        command.args(["--codec", codec, "--calls", &self.calls.to_string()]);
        command.args(["--rounds", &self.rounds.to_string(), "--batch", &self.batch.to_string()]);
        if let Some(packets) = self.packets {
            command.args(["--packets", &packets.to_string()]);
        }
        if self.no_sound {
            command.arg("--no-sound");
        }
        let output = command.stderr(Stdio::inherit()).output().context("cannot start this program again")?;
        match output.status.code() {
            Some(0) => {}
            Some(2) => return Ok(Err(Exit::Usage)),
            Some(130) => return Ok(Err(Exit::Interrupted)),
            Some(_) => return Ok(Err(Exit::Failed)),
            None => bail!("the process for `{}` was killed: the machine may be short of memory", what.name()),
        }
        let report: Report = serde_json::from_slice(&output.stdout).context("cannot read its result")?;
        Ok(Ok(report.outcomes))
    }
}

impl What {
    fn workload(self) -> Workload {
        match self {
            Self::Media => Workload::Media,
            Self::Other => Workload::Other,
            Self::Sip => Workload::Sip,
            Self::Calls => Workload::Calls,
            Self::Changes => Workload::Changes,
            Self::Workers => Workload::Workers,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Media => "media",
            Self::Other => "other",
            Self::Sip => "sip",
            Self::Calls => "calls",
            Self::Changes => "changes",
            Self::Workers => "workers",
        }
    }
}

/// The progress shown at a terminal.
fn progress(screen: &Screen) -> ProgressBar {
    if !screen.watched {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
    bar.set_style(
        ProgressStyle::with_template("{msg} {elapsed}").unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar
}

/// Shows the current step. Ctrl-C ends the program here: partial figures are not shown.
fn said(bar: &ProgressBar, step: &str) {
    if interrupt::asked() {
        bar.finish_and_clear();
        std::process::exit(Exit::Interrupted as i32);
    }
    bar.set_message(step.to_owned());
    bar.tick();
}

fn misuse(error: Error) -> anyhow::Error {
    match error {
        Error::Load(text) => Misuse(text).into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::screen::tests::captured;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        bench: Bench,
    }

    fn run(arguments: &str) -> Result<String, String> {
        let line = Line::try_parse_from(format!("bench {arguments}").split_whitespace())
            .map_err(|error| error.to_string())?;
        let (mut screen, out, _) = captured(100);
        line.bench.run(&mut screen).map_err(|error| error.to_string())?;
        Ok(out.text())
    }

    #[test]
    fn json_says_what_was_measured() {
        let text = run("media --calls 20 --packets 400 --rounds 2 --format json").unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let outcome = &value["outcomes"][0];
        assert_eq!((&outcome["workload"], &outcome["calls"]), (&"media".into(), &20.into()));
        assert_eq!((&outcome["streams"], &outcome["packets"]), (&40.into(), &400.into()));
        let names: Vec<_> = outcome["measures"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
        assert_eq!(names, ["reference", "decode", "rtp", "engine"]);
        assert!(outcome["measures"][3]["ratio"]["median"].as_f64().unwrap() > 0.0);
    }

    #[test]
    fn people_read_a_table() {
        let text = run("calls --calls 30 --packets 180 --rounds 1 --codec g729").unwrap();
        assert!(text.contains("30 calls, 60 streams") && text.contains("engine"), "{text}");
    }

    #[test]
    fn what_cannot_be_is_told() {
        assert!(run("media --calls 0").unwrap_err().contains("0 calls"));
        assert!(
            run("media --calls 100 --packets 10").unwrap_err().contains("take more packets or fewer calls")
        );
        assert!(run("media --packets 4000000000 --calls 1").unwrap_err().contains("MB of memory"));
        assert!(run("--file a.pcap --calls 7").unwrap_err().contains("cannot be used with"));
    }
}

//! `ringtap bench`: what one core of this machine carries.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ringtap_bench::{Codec, Error, Load, Machine, Outcome, Workload};
use ringtap_report::json;

use super::bench_tables::{self, Report};
use crate::exit::{Exit, Misuse};
use crate::interrupt;
use crate::screen::Screen;

/// Measure what one core of this machine carries: to plan capacity, and to compare machines
///
/// Lays traffic out in memory as a capture ring holds it and runs the engine over it, without a network card:
/// how many packets, calls and messages a second there can be, what a packet costs by stage, how much memory
/// a call takes. Beside it runs the reference loop, which reads one byte of each header and does nothing
/// else: what no analysis can be faster than.
///
/// Only ratios within one run mean anything on a machine that does other work meanwhile: every round measures
/// all stages in turn, and the median of the rounds is shown with the least and the most. What the engine
/// found is checked against what was put in; where it differs there are no figures, and the exit status is 1.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Bench {
    /// What to measure [default: all]
    #[arg(value_enum, value_name = "WORKLOAD")]
    workloads: Vec<What>,
    /// Your own traffic instead: capture files, held in memory and read from the files
    #[arg(
        long,
        value_name = "FILE",
        num_args = 1..,
        conflicts_with_all = ["workloads", "calls", "codec", "packets"]
    )]
    file: Vec<PathBuf>,
    /// Calls under way at once; each has two streams
    #[arg(long, value_name = "N", default_value_t = Load::default().calls)]
    calls: u32,
    /// What media are coded in, 20 ms a packet
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    codec: Sound,
    /// Frames in memory, and so in each round [default: 4,000,000 of media and other; some 500,000 of sip and
    /// calls]
    #[arg(long, value_name = "N")]
    packets: Option<u32>,
    /// How often everything is measured
    #[arg(long, value_name = "N", default_value_t = Load::default().rounds)]
    rounds: u32,
    /// Frames handed to the engine at once
    #[arg(long, value_name = "N", default_value_t = Load::default().batch, hide_short_help = true)]
    batch: usize,
    /// Leave silence and clipping of G.711 alone: the engine then reads no payload
    #[arg(long)]
    no_sound: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  ringtap bench
  ringtap bench media --calls 10000 --codec g729
  ringtap bench sip calls --rounds 15
  ringtap bench --file trunk.pcap
  taskset -c 3 ringtap bench --format json | jq '.outcomes[].measures[] | {name, median: .figure.median}'

Media take about 250 bytes of memory for each packet laid out, 4,000,000 packets a gigabyte.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Media of calls that SIP has set up: what a sensor does all day
    Media,
    /// Packets of 64 bytes that are no telephony, told apart and dropped
    Other,
    /// SIP alone: calls come and go
    Sip,
    /// Whole lives of calls: set-up, endpoints, first media packets, release, record
    Calls,
    /// How long a stream takes to be taken in or ended while many are under way
    Changes,
    /// Media by one worker and by two that share them
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
            match self.apart(*what)? {
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
            packets: self.packets,
            rounds: self.rounds,
            batch: self.batch,
            sound: !self.no_sound,
        }
    }

    /// One of several workloads, in a process of its own: none finds memory that another has used and given
    /// back. The status of a process that failed, which has told why.
    fn apart(&self, what: What) -> anyhow::Result<Result<Vec<Outcome>, Exit>> {
        let program = std::env::current_exe().context("cannot find this program to start it again")?;
        let mut command = Command::new(program);
        command.args(["bench", what.name(), "--format", "json"]);
        let codec = self.codec.to_possible_value();
        let codec = codec.as_ref().map_or("", |value| value.get_name());
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
            None => bail!("the process for `{}` was killed; it may be short of memory", what.name()),
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

/// What the person at the terminal sees meanwhile.
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

/// Tells what is done. Ctrl-C ends it here: there is nothing to show of a part.
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

//! `ringtap live`: shows calls as they happen.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use clap::{Args, value_parser};
use ringtap_conversation::Joiner;
use ringtap_engine::{Config, Engine, Sink, StreamEnd};
use ringtap_kpi::Trunks;
use ringtap_live::calls::{Limits, View};
use ringtap_live::feed::{self, ANY, Feed, FeedStatus, Files, Taps};
use ringtap_live::watch::{self, Shared};
use ringtap_model::{Call, CallState, Id, Message, Nanos, Registration, Stream};
use ringtap_report::csv::RecordKind;
use ringtap_report::text::grouped;
use ringtap_tui::terminal;

use crate::assumed::Assumed;
use crate::duration::duration;
use crate::engine_config::engine_config;
use crate::exit::{Exit, Misuse};
use crate::input::{Input, Unpacking};
use crate::interrupt;
use crate::join::JoinArgs;
use crate::page::{Format, Page, Shown};
use crate::screen::Screen;

/// Watch calls in the terminal as they happen: list, ladder, messages, streams
///
/// The keys are those of sngrep; F1 lists them. Beside the messages it shows the streams of each call, with
/// loss, jitter and MOS of every ten seconds. It captures on interfaces, or reads capture files. Memory is
/// limited, so it can run for days: the oldest calls that have ended are removed first, and counted.
///
/// With `--records` it draws nothing and prints records as calls end, like `analyze --format jsonl`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[group(skip)]
pub(crate) struct Live {
    /// Capture files to read instead; `-` is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The same with an option, as in sngrep; may be repeated
    #[arg(short = 'I', long = "input", value_name = "FILE", conflicts_with = "interface")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    unpacking: Unpacking,
    /// Capture on this interface; may be repeated; `any` is every interface that is up
    #[arg(short, long, visible_short_alias = 'd', value_name = "IFACE", conflicts_with = "files")]
    interface: Vec<String>,
    /// Capture only packets that match, in the syntax of tcpdump: 'udp port 5060 or udp portrange
    /// 10000-20000'
    #[arg(short, long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// Read files at this multiple of the speed at which they were captured [default: as fast as possible]
    #[arg(long, value_name = "FACTOR", conflicts_with = "interface", value_parser = factor)]
    speed: Option<f64>,
    /// Show only calls, without registrations, OPTIONS and subscriptions
    #[arg(short, long)]
    calls_only: bool,
    /// Keep at most this many calls and other dialogs
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = value_parser!(u32).range(1..))]
    max_calls: u32,
    /// Keep at most this many messages of each call
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = value_parser!(u32).range(1..))]
    max_messages: u32,
    /// Keep at most this many MiB of messages and records
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = 256,
        value_parser = value_parser!(u32).range(1..=65_536)
    )]
    memory: u32,
    /// Keep at most this many MiB of the newest media packets, to be saved with a call; 0 keeps none
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = 128,
        value_parser = value_parser!(u32).range(..=65_536)
    )]
    media_memory: u32,
    /// Print records as JSON lines instead of drawing
    #[arg(long)]
    records: bool,
    /// Exit after this time: 10s, 5m, 2h
    #[arg(long, value_name = "TIME", requires = "records", value_parser = duration)]
    duration: Option<Duration>,
    #[command(flatten)]
    assumed: Assumed,
}

const EXAMPLES: &str = "\
Examples:
  ringtap live -i eth0
  ringtap live -i any --calls-only
  ringtap live -I trunk.pcap
  ringtap live -i eth0 -i eth1 --calls-only --filter 'net 192.0.2.0/24'
  ringtap live --speed 1 trunk.pcap
  ringtap live -i eth0 --records --duration 5m > calls.jsonl";

impl Live {
    /// Runs it.
    pub(crate) fn run(mut self, screen: &mut Screen) -> anyhow::Result<Exit> {
        self.files.append(&mut self.inputs);
        if self.interface.is_empty() && self.files.is_empty() {
            let why = "nothing to watch: name an interface with `-i` (`any` is all, `ip -br link` lists \
                       them) or capture files";
            return Err(Misuse(why.into()).into());
        }
        let watched = screen.terminal && io::stdin().is_terminal();
        if !self.records && !watched {
            let why = "`ringtap live` needs a terminal: use `--records` in scripts";
            return Err(Misuse(why.into()).into());
        }
        if self.interface.is_empty() {
            let input = Input::open(&self.files, self.unpacking)?;
            let filter = self.filter.as_deref().map(feed::filter).transpose()?;
            let names: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
            return self.follow(Files::new(input.frames(), filter, self.speed), names.join(", "), screen);
        }
        let mut names = self.interface.clone();
        names.sort();
        names.dedup();
        if names.len() < self.interface.len() {
            bail!("an interface is named twice, so each of its packets would count twice: name it once");
        }
        if names.iter().any(|name| name == ANY) && names.len() > 1 {
            bail!(Misuse("`-i any` has every interface in it: leave out the others".to_owned()));
        }
        let taps = Taps::open(&self.interface, self.filter.as_deref())?;
        for note in taps.warnings() {
            screen.remark(note);
        }
        let names = taps.names();
        self.follow(taps, names, screen)
    }

    fn follow(
        &self,
        mut feed: impl Feed + Send,
        source: String,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let config = Config { receivers: self.assumed.receivers(), ..engine_config() };
        if self.records {
            return self.print(&mut feed, config, &source, screen);
        }
        let limits = Limits {
            calls: self.max_calls as usize,
            messages: self.max_messages as usize,
            bytes: (self.memory as usize) << 20,
            media_bytes: (self.media_memory as usize) << 20,
            calls_only: self.calls_only,
        };
        let shared = Shared::new(View::empty(source, limits));
        let colour = screen.colour;
        thread::scope(|scope| {
            let engine = thread::Builder::new()
                .name("engine".into())
                .spawn_scoped(scope, || watch::follow(&mut feed, &shared, limits, config))
                .context("cannot start the thread of the engine")?;
            let shown = terminal::run(&shared, colour, interrupt::asked);
            shared.stop();
            if engine.join().is_err() {
                bail!("the engine's thread panicked: this is a bug in ringtap, please report it");
            }
            shown.map(|()| Exit::Done)
        })
    }

    /// Prints records until the input ends, the time is over, or Ctrl-C.
    fn print(
        &self,
        feed: &mut impl Feed,
        config: Config,
        source: &str,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let begin = Instant::now();
        let mut engine = Engine::new(config);
        if feed.is_live() {
            // A script may wait for this line before it sends packets.
            screen.remark(format!("capturing on {source}; Ctrl-C ends it"));
        }
        let page =
            Page::begin(Format::Jsonl, Shown::default(), RecordKind::default(), screen).context(WRITING)?;
        let mut records = Records {
            page,
            calls_only: self.calls_only,
            trunks: Trunks::default(),
            joiner: JoinArgs::default().joiner(),
            lost: BTreeMap::new(),
            failed: None,
        };
        let mut looked = begin;
        let exit = loop {
            if interrupt::asked() {
                break Exit::Interrupted;
            }
            if self.duration.is_some_and(|duration| begin.elapsed() >= duration) {
                break Exit::Done;
            }
            let status = feed.next_batch(WAIT, &mut |frames| engine.batch(frames, &mut records))?;
            if status == FeedStatus::End {
                break Exit::Done;
            }
            if status == FeedStatus::Nothing && feed.is_live() {
                let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                engine.tick(Nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)), &mut records);
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                engine.report_external_drops(feed.lost().iter().map(|(_, count)| count).sum());
                records.flush();
            }
            if records.failed.is_some() {
                break Exit::Done;
            }
        };
        engine.close(&mut records);
        records.flush();
        if let Some(error) = records.failed {
            return Err(error).context(WRITING);
        }
        let counters = engine.counters();
        let lost: Vec<String> = feed
            .lost()
            .into_iter()
            .chain(counters.drops().into_iter().map(|(name, count)| (name.to_string(), count)))
            .filter(|(name, count)| *count > 0 && name != "not_ip")
            .map(|(name, count)| format!("{name} {}", grouped(count)))
            .collect();
        let lost =
            if lost.is_empty() { "nothing lost".to_string() } else { format!("lost: {}", lost.join(", ")) };
        screen.remark(format!("{} packets; {lost}", grouped(counters.frames)));
        // Ctrl-C is the usual way to end a live capture.
        Ok(if feed.is_live() && exit == Exit::Interrupted { Exit::Done } else { exit })
    }
}

/// Prints records as calls end.
struct Records<'a> {
    page: Page<'a>,
    calls_only: bool,
    trunks: Trunks,
    joiner: Joiner,
    /// Calls whose record was printed since their BYE was probably lost, and where it says that they ended.
    lost: BTreeMap<Id, Option<Nanos>>,
    /// The first error; nothing is written after it.
    failed: Option<io::Error>,
}

impl<'a> Records<'a> {
    fn write(&mut self, write: impl FnOnce(&mut Page<'a>) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut self.page).err();
        }
    }

    /// Completes the record of a call and prints it.
    fn print(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        self.trunks.annotate(&mut call);
        for amendment in self.joiner.add(&mut call) {
            self.write(|page| page.amend(&amendment));
        }
        let streams: Vec<Stream> = streams.into_iter().map(|stream| stream.record).collect();
        self.write(|page| page.call(&call, &streams));
    }

    fn flush(&mut self) {
        self.write(|page| match page {
            Page::Jsonl(out, _) => out.flush(),
            _ => Ok(()),
        });
    }
}

impl Sink for Records<'_> {
    const LOST: bool = true;

    fn lost(&mut self, call: Call, streams: Vec<StreamEnd>) {
        if self.lost.len() >= MOST_LOST {
            self.lost.pop_first();
        }
        self.lost.insert(call.id, call.end);
        self.print(call, streams);
    }

    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        if self.lost.remove(&call.id).is_some_and(|end| call.state == CallState::Timeout && end == call.end) {
            // Nothing has come since.
            return;
        }
        self.print(call, streams);
    }

    fn stream(&mut self, stream: StreamEnd) {
        if !self.calls_only {
            self.write(|page| page.stream(&stream.record));
        }
    }

    fn registration(&mut self, registration: Registration) {
        if !self.calls_only {
            self.write(|page| page.registration(&registration));
        }
    }

    fn message(&mut self, message: Message) {
        if !self.calls_only {
            self.write(|page| page.message(&message));
        }
    }
}

fn factor(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| "write a number such as 1, 0.5 or 10".to_string())?;
    if factor.is_finite() && factor > 0.0 { Ok(factor) } else { Err("it must be above 0".to_string()) }
}

const WRITING: &str = "cannot write the records";
/// Most calls that are remembered to have lost their BYE.
const MOST_LOST: usize = 1 << 16;
/// How long to wait for packets before other work.
const WAIT: Duration = Duration::from_millis(50);
/// Interval at which losses are read.
const LOOK: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors() {
        assert!(factor("0.5").is_ok() && factor("0").is_err() && factor("nan").is_err());
    }
}

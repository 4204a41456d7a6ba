//! `ringtap generate`: generates telephone traffic with a known truth.

mod scenario;

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ringtap_capture::live::{Injector, Source, XdpMode};
use ringtap_model::Nanos;
use ringtap_report::file::Target;
use ringtap_report::text::grouped;
use ringtap_report::time;
use ringtap_traffic::{
    Codec, CrossKind, FloodKind, HoldingTime, Jitter, Loss, Mix, ModelShare, PacketTime, Rate, Share,
    Traffic, Transport,
};

use crate::exit::{Exit, Misuse};
use crate::screen::Screen;
use crate::send::{self, Sent, Speed};
use crate::write::write;

/// Generate calls, as a capture or on an interface, and the records that a monitor should find in them
///
/// Generates SIP calls, registrations and RTP between addresses and numbers reserved for documentation, over
/// a simulated network that loses, delays, reorders and duplicates packets. The same options give the same
/// file, byte for byte, on every machine. `--truth` writes what was sent, with the field names of `analyze
/// --format jsonl`, for `ringtap compare`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[group(skip)]
pub(crate) struct Generate {
    /// Write the capture to this file, as pcap; `-` is standard output
    #[arg(long, value_name = "FILE", required_unless_present = "interface")]
    out: Option<PathBuf>,
    /// Send the frames on this interface in real time, starting now; `--start` changes only the times in the
    /// truth
    #[arg(long, short, value_name = "IFACE", conflicts_with = "out")]
    interface: Option<String>,
    /// How to send: packet (AF_PACKET, any interface) or xdp (AF_XDP, in the driver's best mode)
    /// [default: packet]
    #[arg(long, value_name = "WAY", value_enum, hide_possible_values = true)]
    via: Option<Via>,
    /// Send this many times faster than real time, or max: as fast as the interface accepts [default: 1]
    #[arg(long, value_name = "TIMES")]
    speed: Option<Speed>,
    /// Write the truth to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Seed of all randomness: another number gives another capture
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Number of call attempts
    #[arg(long, value_name = "N", default_value_t = 20)]
    calls: u64,
    /// Mean number of call attempts per second (a Poisson process)
    #[arg(long, value_name = "CALLS", default_value_t = 1.0)]
    rate: f64,
    /// Start time: 2026-11-21T02:00:00Z, or 2026-11-21 02:00 (UTC) [default: 2026-01-01T08:00:00Z; now on an
    /// interface]
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    start: Option<Nanos>,
    /// Calls begin within this many seconds after the start; other traffic lasts at least that long
    #[arg(long, value_name = "SECONDS")]
    duration: Option<f64>,
    /// `all` enables every impairment and every kind of call, each with a share; other options override it
    #[arg(long, value_name = "PRESET", value_enum, default_value_t, hide_default_value = true)]
    impair: Impair,
    /// Seconds from answer to release, the same for every call
    #[arg(long, value_name = "SECONDS", conflicts_with = "hold_distribution")]
    hold: Option<String>,
    /// constant:S, uniform:LOW,HIGH, exponential:MEAN, lognormal:MEDIAN,SIGMA or inverse-gaussian:MEAN,SHAPE
    #[arg(long, value_name = "MODEL", default_value = "inverse-gaussian:117,19")]
    hold_distribution: HoldingTime,
    /// Codecs and their weights: PCMU, PCMA, G722, G729, GSM, iLBC, opus [default: PCMU=60,PCMA=40]
    #[arg(long, value_name = "NAME=WEIGHT,...")]
    codec: Option<Mix<Codec>>,
    /// Milliseconds of sound per packet, with weights: each call uses one that suits its codec
    /// [default: 20]
    #[arg(long, value_name = "MS=WEIGHT,...")]
    ptime: Option<Mix<PacketTime>>,
    /// none, bernoulli:SHARE, or gilbert:P,R[,BAD[,GOOD]] for bursts; append @SHARE for a part of the
    /// streams [default: none]
    #[arg(long, value_name = "MODEL")]
    loss: Vec<ModelShare<Loss>>,
    /// Packets that senders number and never send; the same models.
    #[arg(long, value_name = "MODEL")]
    unsent: Vec<ModelShare<Loss>>,
    /// Loss between the capture point and the receivers; the same models.
    #[arg(long, value_name = "MODEL")]
    loss_behind: Vec<ModelShare<Loss>>,
    /// Packets that reach the receivers and are not captured; the same models.
    #[arg(long, value_name = "MODEL")]
    uncaptured: Vec<ModelShare<Loss>>,
    /// none, or gamma:SHAPE,SCALE with the scale in milliseconds; append @SHARE for a part of the streams
    /// [default: gamma:2,0.5]
    #[arg(long, value_name = "MODEL")]
    jitter: Vec<ModelShare<Jitter>>,
    /// RTP packets that are overtaken by the next one [default: 0%]
    #[arg(long, value_name = "SHARE")]
    reorder: Option<Share>,
    /// RTP packets that are duplicated [default: 0%]
    #[arg(long, value_name = "SHARE")]
    duplicate: Option<Share>,
    /// Calls that fail (busy, not found, declined, ...) and registrations that are refused [default: 5%]
    #[arg(long, value_name = "SHARE")]
    failed: Option<Share>,
    /// Calls that the caller cancels while ringing [default: 3%]
    #[arg(long, value_name = "SHARE")]
    cancelled: Option<Share>,
    /// Calls and registrations that must authenticate first: 401, 407 [default: 10%]
    #[arg(long, value_name = "SHARE")]
    challenged: Option<Share>,
    /// Requests and final responses that are retransmitted; over TCP, segments [default: 2%]
    #[arg(long, value_name = "SHARE")]
    retransmit: Option<Share>,
    /// Answered calls whose media move to another host [default: 5%]
    #[arg(long, value_name = "SHARE")]
    reinvite: Option<Share>,
    /// Answered calls in which one side puts the other on hold for a while [default: 0%]
    #[arg(long, value_name = "SHARE")]
    on_hold: Option<Share>,
    /// Calls with early media (183), including announcements of failing calls [default: 0%]
    #[arg(long, value_name = "SHARE")]
    early_media: Option<Share>,
    /// Calls that ring at two phones until one answers [default: 0%]
    #[arg(long, value_name = "SHARE")]
    forked: Option<Share>,
    /// Answered calls with dialled digits (telephone-event) [default: 5%]
    #[arg(long, value_name = "SHARE")]
    dtmf: Option<Share>,
    /// Answered calls with RTCP from both sides [default: 0%]
    #[arg(long, value_name = "SHARE")]
    rtcp: Option<Share>,
    /// Calls and registrations over IPv6 [default: 0%]
    #[arg(long, value_name = "SHARE")]
    ipv6: Option<Share>,
    /// Calls and registrations whose frames have an 802.1Q tag [default: 0%]
    #[arg(long, value_name = "SHARE")]
    vlan: Option<Share>,
    /// Number of registrations, spread over the time of the calls [default: 0]
    #[arg(long, value_name = "N")]
    registrations: Option<u64>,
    /// Transport of SIP: udp, tcp, or both with weights, such as udp=80,tcp=20 [default: udp]
    #[arg(long, value_name = "NAME=WEIGHT,...")]
    transport: Option<Mix<Transport>>,
    /// Rate of other traffic: 100M for bits per second, 50kpps for packets per second
    #[arg(long, value_name = "RATE")]
    cross: Option<Rate>,
    /// Composition of the other traffic, by weight of its flows: web, quic, dns, small (64-byte frames)
    #[arg(
        long,
        value_name = "NAME=WEIGHT,...",
        default_value = "web=5,quic=3,dns=1,small=1",
        requires = "cross"
    )]
    cross_mix: Mix<CrossKind>,
    /// Rate of hostile traffic from the addresses of the calls: 100M or 20kpps
    #[arg(long, value_name = "RATE")]
    flood: Option<Rate>,
    /// Composition of the hostile traffic, by weight of its packets: invite, register, message, codecs, ssrc,
    /// collision, fragment, hole, bytes, synfin, websocket, chunks, lengths [default: all alike]
    #[arg(long, value_name = "NAME=WEIGHT,...", requires = "flood")]
    flood_mix: Option<Mix<FloodKind>>,
    /// Sound of G.711 calls: a WAV of 16 bits at 8 kHz, caller left, callee right [default: noise like
    /// speech]
    #[arg(long, value_name = "FILE")]
    wav: Option<PathBuf>,
}

/// How frames are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Via {
    /// AF_PACKET
    #[default]
    Packet,
    /// AF_XDP
    Xdp,
}

impl Via {
    fn source(self) -> Source {
        match self {
            Self::Packet => Source::Packet,
            Self::Xdp => Source::Xdp { mode: XdpMode::Auto },
        }
    }
}

/// The values that a scenario starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Impair {
    /// A good network
    #[default]
    None,
    /// Every impairment and every kind of call
    All,
}

const EXAMPLES: &str = "\
Examples:
  ringtap generate --out demo.pcap --hold-distribution exponential:10
  ringtap generate --out demo.pcap --truth demo.jsonl --calls 1000 --seed 7
  ringtap generate --out bad.pcap --truth bad.jsonl --calls 5000 --rate 50 --impair all
  ringtap generate --out lossy.pcap --loss bernoulli:1% --jitter gamma:2,5
  ringtap generate --out bursts.pcap --loss gilbert:1%,25%@10% --loss bernoulli:0.1%
  ringtap generate --out bad.pcap --reorder 0.5% --duplicate 0.1% --retransmit 5%
  ringtap generate --out busy.pcap --failed 30% --cancelled 10% --challenged 50%
  ringtap generate --out wideband.pcap --codec G722=3,opus=1 --ptime 20=90,40=10
  ringtap generate --out mixed.pcap --ipv6 30% --vlan 50% --rtcp 100% --transport udp=80,tcp=20
  ringtap generate --out needle.pcap --calls 10 --hold 20 --cross 100M
  ringtap generate --out flood.pcap --calls 100 --rate 10 --flood 5kpps --flood-mix invite=3,hole=1
  ringtap generate --out - --calls 5 --hold 10 | ringtap analyze -
  sudo ringtap generate --interface veth0 --calls 1000 --rate 20 --truth sent.jsonl
  ringtap generate --out phones.pcap --calls 0 --registrations 500 --transport tcp

A share is written 5% or 0.05. A G.711 call needs about 25 kB per second. By default calls last two minutes on
average: half of them less than 40 seconds, and a few an hour.";

impl Generate {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        if self.truth.is_some() && self.truth == self.out {
            bail!(Misuse("`--out` and `--truth` name the same file: name two".to_owned()));
        }
        if self.interface.is_none() && (self.via.is_some() || self.speed.is_some()) {
            bail!(Misuse("`--via` and `--speed` need `--interface`".to_owned()));
        }
        match (&self.interface, &self.out) {
            (Some(interface), _) => self.send(interface, screen),
            (None, Some(out)) => self.write(out, screen),
            // INVARIANT: the parser refuses a command line without either.
            (None, None) => Ok(Exit::Usage),
        }
    }

    fn write(&self, out: &Path, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut traffic = self.traffic()?;
        let truth = self.truth.as_deref().map(Target::create).transpose()?;
        let bar = self.progress(screen);
        let made = if out == Path::new("-") {
            if screen.terminal {
                bail!(Misuse(
                    "`--out -` would write a capture to the terminal: redirect it, or name a file".to_owned()
                ));
            }
            write(&mut traffic, &mut screen.out, "standard output", truth, &bar)
        } else {
            let mut target = Target::create(out)?;
            let made = write(&mut traffic, &mut target, &out.display().to_string(), truth, &bar);
            made.and_then(|made| target.keep().map(|()| made))
        };
        bar.finish_and_clear();
        let made = made?;
        screen.remark(format!(
            "{}: {}{} packets in {}",
            out.display(),
            sessions(&traffic),
            grouped(made.packets),
            time::span(made.span.millis_f64()),
        ));
        Ok(Exit::Done)
    }

    fn send(&self, interface: &str, screen: &mut Screen) -> anyhow::Result<Exit> {
        let traffic = self.traffic()?;
        let mut truth = self.truth.as_deref().map(Target::create).transpose()?.map(BufWriter::new);
        let mut injector = Injector::open(interface, self.via.unwrap_or_default().source())?;
        let speed = self.speed.unwrap_or(Speed::Times(1.0));
        // Unless `--start` chose the times, those of the truth are those on the wire: traffic starts only
        // after the set-up so far.
        let ahead = if self.start.is_none() { traffic.start() - now() } else { Nanos::ZERO };
        let began = Instant::now() + Duration::from_nanos(ahead.0);
        let (traffic, sent) = send::all(traffic, &mut injector, speed, began, truth.as_mut())?;
        let seconds = sent.took.as_secs_f64().max(1e-6);
        screen.remark(format!(
            "{interface}: {}{} frames in {}: {} frames/s, {:.1} Mb/s",
            sessions(&traffic),
            grouped(sent.frames),
            time::span(seconds * 1e3),
            grouped((sent.frames as f64 / seconds) as u64),
            sent.bytes as f64 * 8.0 / seconds / 1e6,
        ));
        screen.remark(deviations(&sent, speed));
        if sent.interrupted {
            return Ok(Exit::Interrupted);
        }
        if let Some(truth) = truth {
            truth
                .into_inner()
                .map_err(|error| error.into_error())
                .context("cannot write the truth")?
                .keep()?;
        }
        Ok(Exit::Done)
    }

    /// A progress bar if the file will be large and standard error is a terminal; hidden otherwise.
    fn progress(&self, screen: &Screen) -> ProgressBar {
        let total = self.calls.saturating_add(self.registrations.unwrap_or(0));
        if total < MANY || !screen.watched {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(5));
        let layout = "{msg} {bar:30} {percent:>3} %, {eta} left";
        bar.set_style(ProgressStyle::with_template(layout).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message("generating");
        bar
    }
}

/// The current time in whole microseconds, as all times of generated traffic.
fn now() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos::from_micros(since.as_micros() as u64)
}

/// Calls and registrations, for a sentence.
fn sessions(traffic: &Traffic) -> String {
    let registrations = match traffic.registrations() {
        0 => String::new(),
        count => format!("{} registrations, ", grouped(count)),
    };
    format!("{} calls, {registrations}", grouped(traffic.calls()))
}

/// Describes how the sending deviated from the plan.
fn deviations(sent: &Sent, speed: Speed) -> String {
    let refused = match sent.refused {
        0 => "the kernel accepted every frame at once".to_owned(),
        count => format!("the kernel's queue was full {} times, and sending was retried", grouped(count)),
    };
    let dropped = match sent.dropped {
        0 => String::new(),
        count => format!("; the interface dropped {} of them", grouped(count)),
    };
    if speed == Speed::Unbound {
        return format!("{refused}{dropped}");
    }
    let (latest, late) = (sent.latest.as_secs_f64() * 1e3, grouped(sent.late));
    format!("{refused}{dropped}; {late} frames were sent more than 1 ms late, at most {latest:.2} ms")
}

/// From so many calls on a progress bar is worth its line.
const MANY: u64 = 500;

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;
    use ringtap_capture::Capture;
    use serde_json::Value;
    use tempfile::TempDir;

    use super::*;
    use crate::screen::tests::captured;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        generate: Generate,
    }

    /// Runs it in a folder of its own, which `FOLDER` in the arguments stands for; gives the folder and the
    /// remarks.
    fn run(arguments: &str) -> Result<(TempDir, String), String> {
        let folder = tempfile::tempdir().unwrap();
        let words = arguments.replace("FOLDER", &folder.path().display().to_string());
        let words = ["generate"].into_iter().chain(words.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        let (mut screen, _, err) = captured(80);
        line.generate.run(&mut screen).map_err(|error| format!("{error:#}"))?;
        Ok((folder, err.text()))
    }

    fn refused(arguments: &str) -> String {
        run(&format!("--out FOLDER/out.pcap {arguments}")).expect_err(arguments)
    }

    #[test]
    fn nothing_but_a_name_is_needed() {
        let (folder, remarks) = run("--out FOLDER/out.pcap").unwrap();
        assert!(remarks.contains("out.pcap: 20 calls, ") && remarks.contains(" packets in "), "{remarks}");
        let capture = Capture::open(&folder.path().join("out.pcap"), None).unwrap();
        let times: Vec<_> = capture.frames().owned().iter().map(|frame| frame.time).collect();
        assert!(times.len() > 1_000 && times.is_sorted());
        assert_eq!(time::full(times[0]).split(' ').next(), Some("2026-01-01"));
    }

    #[test]
    fn the_truth_has_the_names_of_the_records() {
        let arguments =
            "--calls 3 --hold 1 --registrations 2 --loss bernoulli:5% --out FOLDER/a --truth FOLDER/b";
        let (folder, remarks) = run(arguments).unwrap();
        assert!(remarks.contains("3 calls, 2 registrations, "), "{remarks}");
        let text = fs::read_to_string(folder.path().join("b")).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
        assert_eq!((of("call"), of("registration")), (3, 2));
        let stream = lines.iter().find(|line| line["type"] == "stream").unwrap();
        for name in ["call_id", "ssrc", "first_us", "packets", "lost", "jitter_ms_mean", "burst_len_max"] {
            assert!(stream.get(name).is_some(), "{name} in {stream}");
        }
    }

    #[test]
    fn a_recording_is_heard() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tone.wav");
        let spec = hound::WavSpec {
            channels: 1,
            sample_rate: 8_000,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let mut wav = hound::WavWriter::create(&path, spec).unwrap();
        (0..160).for_each(|_| wav.write_sample(1_000_i16).unwrap());
        wav.finalize().unwrap();
        let arguments = format!(
            "--calls 2 --hold 1 --codec PCMU --dtmf 0% --failed 0% --cancelled 0% --wav {}",
            path.display()
        );
        let (folder, _) = run(&format!("{arguments} --out FOLDER/out.pcap")).unwrap();
        let capture = Capture::open(&folder.path().join("out.pcap"), None).unwrap();
        // 0xce is 1,000 in mu-law.
        let heard =
            capture.frames().owned().iter().filter(|frame| frame.data.ends_with(&[0xce; 160])).count();
        assert!(heard > 150, "{heard}");
    }

    #[test]
    fn what_is_wrong_names_the_option_and_what_would_be_right() {
        let cases = [
            ("--loss 5%", "--loss", "bernoulli:1%"),
            ("--jitter gamma:1", "--jitter", "gamma:2,1.5"),
            ("--loss none@60% --loss bernoulli:1%@60%", "--loss", "within 100 %"),
            ("--codec H264", "--codec", "PCMU, PCMA"),
            ("--failed 5", "--failed", "5% or 0.05"),
            ("--failed 60% --cancelled 60%", "--failed", "exceed 100%"),
            ("--hold soon", "--hold", "seconds"),
            ("--hold 5 --hold-distribution constant:6", "--hold-distribution", "cannot be used with"),
            ("--hold-distribution pareto:1", "--hold-distribution", "lognormal:MEDIAN,SIGMA"),
            ("--ptime 25", "--ptime", "multiple of 10 ms"),
            ("--rate 0", "--rate", "above 0"),
            ("--calls 7000000", "--calls", "6,000,000"),
            ("--start yesterday", "--start", "2026-11-21T02:00:00Z"),
            ("--transport sctp", "--transport", "udp or tcp"),
            ("--wav /dev/null", "--wav", "sox in.wav"),
            ("--wav FOLDER/none.wav", "--wav", "No such file"),
            ("--truth FOLDER/out.pcap", "--truth", "the same file"),
            ("--interface lo", "--interface", "cannot be used with"),
            ("--speed 2", "--speed", "need `--interface`"),
            ("--ptime 20=x", "--ptime", "WEIGHT"),
            ("--ptime 70", "--ptime", "from 1 to 60"),
            ("--cross fast", "--cross", "50kpps"),
            ("--cross 1M --cross-mix ftp", "--cross-mix", "web, quic, dns or small"),
            ("--duration 0", "--duration", "seconds"),
        ];
        for (arguments, option, right) in cases {
            let error = refused(arguments);
            assert!(error.contains(option) && error.contains(right), "{arguments}: {error}");
        }
    }

    /// The command in `demo/README.md` makes the capture beside it, byte for byte.
    #[test]
    fn the_demonstration_is_what_its_command_makes() {
        let demo = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo"));
        let readme = fs::read_to_string(demo.join("README.md")).unwrap();
        let from = readme.find("    ringtap generate ").expect("the command");
        let command = readme[from..].split("\n\n").next().unwrap_or_default().replace('\\', " ");
        let arguments = command
            .trim()
            .strip_prefix("ringtap generate")
            .unwrap()
            .replace("demo/calls.pcap", "FOLDER/calls.pcap");
        assert!(arguments.contains("FOLDER"), "{arguments}");
        let (folder, _) = run(&arguments).unwrap();
        let (made, kept) = (folder.path().join("calls.pcap"), demo.join("calls.pcap"));
        let same = fs::read(made).unwrap() == fs::read(kept).unwrap();
        assert!(
            same,
            "the generator makes other bytes now: run the command in demo/README.md and commit its result"
        );
    }
}

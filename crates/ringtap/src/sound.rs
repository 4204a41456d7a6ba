//! Writes the sound of a call to files, for `extract` and `export`.

use std::io::BufWriter;
use std::path::Path;

use anyhow::Context;
use clap::{Args, ValueEnum, value_parser};
use ringtap_audio::{
    ChannelLayout, Decoders, EncoderSettings, Flac, MixSettings, Opus, Output, OutputFormat, Peaks,
    PlayoutRules, Recording, Wav, mix, play,
};
use ringtap_export::collect::Sound;
use ringtap_model::{Hz, Nanos};
use ringtap_report::file::Target;
use ringtap_report::{text, time};

use crate::exit::Exit;
use crate::helper;
use crate::screen::Screen;

/// The options of the sound.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Sound")]
pub(crate) struct How {
    /// Samples per second [default: the highest rate that was sent: 8000 for G.711 and G.729, 16000 for
    /// G.722, 48000 for Opus]
    #[arg(long, value_name = "HZ", value_parser = value_parser!(u32).range(4_000..=192_000))]
    rate: Option<u32>,
    /// Both sides on two channels, both on one, or one side only
    #[arg(long, value_enum, value_name = "SIDES", default_value_t)]
    mix: Mix,
    /// What replaces missing packets
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    loss: Loss,
    /// Play as a telephone with a jitter buffer of this depth: later packets are lost. Without it, every
    /// received packet is played
    #[arg(long, value_name = "MS", value_parser = value_parser!(u64).range(0..=10_000))]
    buffer_ms: Option<u64>,
    /// Play dialled digits (telephone events) as tones; by default they are silent, because digits can be
    /// secrets
    #[arg(long)]
    tones: bool,
    /// End the sound after this time; in any case after 24 hours [default: 60, or four times the sound that
    /// was received if that is more]
    #[arg(long, value_name = "MINUTES", value_parser = value_parser!(u64).range(1..=1_440))]
    max_minutes: Option<u64>,
    /// Mix at most this many streams that sound at the same time on one side; each may need a process
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = value_parser!(u16).range(1..=1_000))]
    max_streams: u16,
    /// Approximate bit rate of `--opus` in kbit/s per channel; a silent side needs 2
    #[arg(long, value_name = "KBPS", default_value_t = 24, value_parser = value_parser!(u32).range(6..=256))]
    opus_kbps: u32,
    /// Span of one minimum and maximum in `--peaks`
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = value_parser!(u64).range(1..=60_000))]
    peaks_ms: u64,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Mix {
    /// Caller left, callee right
    #[default]
    Stereo,
    /// Both on one channel
    Mono,
    /// Only the caller
    Caller,
    /// Only the callee
    Callee,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Loss {
    /// Sound that continues what was before and after
    #[default]
    Conceal,
    /// Silence
    Silence,
}

impl How {
    fn settings(self) -> MixSettings {
        let conceal = self.loss == Loss::Conceal;
        let buffer = self.buffer_ms.map(Nanos::from_millis);
        let sides = match self.mix {
            Mix::Stereo => ChannelLayout::Stereo,
            Mix::Mono => ChannelLayout::Mono,
            Mix::Caller => ChannelLayout::Left,
            Mix::Callee => ChannelLayout::Right,
        };
        let rules = PlayoutRules { conceal, tones: self.tones, buffer, ..PlayoutRules::default() };
        let longest = self.max_minutes.map(|minutes| Nanos::from_secs(60 * minutes));
        MixSettings { rules, rate: self.rate.map(Hz), sides, longest, most_at_once: self.max_streams.into() }
    }
}

/// The paths of the requested sound files.
#[derive(Clone, Copy, Default)]
pub(crate) struct Paths<'a> {
    pub(crate) wav: Option<&'a Path>,
    pub(crate) flac: Option<&'a Path>,
    pub(crate) opus: Option<&'a Path>,
    pub(crate) peaks: Option<&'a Path>,
}

/// The open sound files.
pub(crate) struct Files {
    wav: Option<Target>,
    flac: Option<Target>,
    opus: Option<Target>,
    peaks: Option<Target>,
}

impl Files {
    /// Opens the named files before any work begins.
    pub(crate) fn create(paths: Paths<'_>) -> anyhow::Result<Self> {
        let target = |path: Option<&Path>| path.map(Target::create).transpose();
        let Paths { wav, flac, opus, peaks } = paths;
        Ok(Self { wav: target(wav)?, flac: target(flac)?, opus: target(opus)?, peaks: target(peaks)? })
    }

    /// Whether any sound was requested.
    pub(crate) fn any(&self) -> bool {
        [&self.wav, &self.flac, &self.opus, &self.peaks].into_iter().any(Option::is_some)
    }

    fn all(self) -> impl Iterator<Item = Target> {
        [self.wav, self.flac, self.opus, self.peaks].into_iter().flatten()
    }

    /// Writes the sound to all files, or reports why there is none.
    pub(crate) fn save(
        mut self,
        sound: Sound,
        how: How,
        decoders: &dyn Decoders,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let [left, right] = sound.tracks();
        let mut recording = mix(&left, &right, how.settings(), decoders)?;
        let sides = sides(how.settings().sides, [left.is_empty(), right.is_empty()]);
        match self.fill(&mut recording, how, &sides) {
            Ok(()) => {}
            // The packets may be written already, so the remaining results are still reported.
            Err(ringtap_audio::Error::Nothing) => {
                screen.remark(ringtap_audio::Error::Nothing);
                return Ok(Exit::Failed);
            }
            Err(error) => return Err(error).context("cannot write the sound"),
        }
        let length = time::span(recording.frames() as f64 * 1e3 / f64::from(recording.rate().0));
        for target in self.all() {
            let path = target.path().to_path_buf();
            target.keep()?;
            screen.remark(format!("{}: {length}, {sides}", text::shown(&path.display().to_string())));
        }
        report_changes(&recording, screen);
        Ok(if report_limits(&recording, screen) { Exit::Damaged } else { Exit::Done })
    }

    fn fill(
        &mut self,
        recording: &mut Recording<'_>,
        how: How,
        sides: &str,
    ) -> Result<(), ringtap_audio::Error> {
        let shape = recording.shape();
        let mut outputs: Vec<Box<dyn Output + '_>> = Vec::new();
        if let Some(target) = &mut self.wav {
            outputs.push(Box::new(Wav::new(BufWriter::with_capacity(1 << 16, target), shape)?));
        }
        if let Some(target) = &mut self.flac {
            outputs.push(Box::new(Flac::new(BufWriter::new(target), shape)?));
        }
        if let Some(target) = &mut self.opus {
            let encoder = helper::encoder(EncoderSettings::of(shape, 1_000 * how.opus_kbps))?;
            let comments = [format!("DATE={} UTC", time::full(shape.start)), format!("DESCRIPTION={sides}")];
            outputs.push(Box::new(Opus::new(BufWriter::new(target), shape, encoder, &comments)?));
        }
        if let Some(target) = &mut self.peaks {
            outputs.push(Box::new(Peaks::new(
                BufWriter::new(target),
                shape,
                Nanos::from_millis(how.peaks_ms),
            )));
        }
        play(recording, outputs)
    }
}

/// Fails early if the Opus library is missing.
pub(crate) fn refuse_without_encoder(wanted: bool) -> Result<(), ringtap_audio::Error> {
    let shape = OutputFormat { rate: Hz(8_000), channels: 1, frames: 0, start: Nanos::ZERO };
    if wanted { helper::encoder(EncoderSettings::of(shape, 24_000)).map(drop) } else { Ok(()) }
}

/// Describes the channels.
pub(crate) fn sides(sides: ChannelLayout, silent: [bool; 2]) -> String {
    let [caller, callee] = silent.map(|silent| if silent { "silent" } else { "sounds" });
    match sides {
        ChannelLayout::Stereo => format!("left the caller ({caller}), right the callee ({callee})"),
        ChannelLayout::Mono => format!("the caller ({caller}) and the callee ({callee}) on one channel"),
        ChannelLayout::Left => format!("the caller ({caller})"),
        ChannelLayout::Right => format!("the callee ({callee})"),
    }
}

/// Reports what a limit left out; whether there is anything.
fn report_limits(recording: &Recording<'_>, screen: &mut Screen) -> bool {
    let cut = recording.cut_from();
    if let Some(whole) = cut {
        screen.remark(format!(
            "the sound ends here, of {}: the rest is left out, since little of it is sound; `--max-minutes` \
             sets this limit",
            time::span(whole.0 as f64 / 1e6)
        ));
    }
    let left_out = recording.left_out();
    if left_out > 0 {
        let streams = text::counted(left_out as u64, "stream");
        screen.remark(format!(
            "{streams} left out of the sound: too many at the same time; `--max-streams` sets this limit"
        ));
    }
    cut.is_some() || left_out > 0
}

/// Reports sound that differs from what was sent, so that nobody takes it for what was said.
fn report_changes(recording: &Recording<'_>, screen: &mut Screen) {
    for (side, figures) in ["caller", "callee"].into_iter().zip(recording.figures()) {
        let mut parts = Vec::new();
        if figures.concealed > Nanos::ZERO {
            parts.push(format!("{} ms of loss concealed", figures.concealed.0 / 1_000_000));
        }
        if figures.late > 0 {
            parts.push(format!("{} too late for the buffer", text::counted(figures.late, "packet")));
        }
        if figures.drift_ppm != 0.0 {
            parts.push(format!("its clock drifts by {:+.0} ppm, corrected", -figures.drift_ppm));
        }
        if figures.failures > 0 {
            parts.push(format!("{} not decoded", text::counted(figures.failures.into(), "frame")));
        }
        if !parts.is_empty() {
            screen.remark(format!("the {side}: {}", parts.join(", ")));
        }
    }
}

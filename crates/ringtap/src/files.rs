//! The files of an exported call: opened before the work begins, and complete or absent when it ends.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use ringtap_capture::Writer;
use ringtap_export::collect::Undecoded;
use ringtap_export::find::SelectedCalls;
use ringtap_export::page;
use ringtap_export::replay::Replay;
use ringtap_export::source::Source;
use ringtap_model::{Call, Frame, LinkType, Stream};
use ringtap_report::file::Target;
use ringtap_report::text;
use ringtap_report::text::grouped;
use serde_json::Value;

use crate::exit::{Exit, Misuse};
use crate::helper::Helpers;
use crate::screen::Screen;
use crate::sound::{Files as Sounds, How, Paths};

/// The requested files. A file without a name is named after the call's time and id.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Files (without a name, the call's time and id are used)")]
pub(crate) struct Wanted {
    /// Write its packets, as pcap
    #[arg(long, value_name = "FILE")]
    pcap: Option<Option<PathBuf>>,
    /// Write its sound, as WAV (PCM, 16 bits)
    #[arg(long, value_name = "FILE")]
    wav: Option<Option<PathBuf>>,
    /// Write its sound, as FLAC: the same samples in about half the space
    #[arg(long, value_name = "FILE")]
    flac: Option<Option<PathBuf>>,
    /// Write its sound, as Ogg Opus, for archiving: about 11 MB per hour and side (`--opus-kbps`). Needs
    /// Debian's libopus0
    #[arg(long, value_name = "FILE")]
    opus: Option<Option<PathBuf>>,
    /// Write the waveform of its sound, as JSON for a player: minimum and maximum of each span, -1 to 1, by
    /// channel
    #[arg(long, value_name = "FILE")]
    peaks: Option<Option<PathBuf>>,
    /// Write its record, its streams and every message with its time, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<Option<PathBuf>>,
    /// Write its parties, times, message ladder and streams, as text
    #[arg(long, value_name = "FILE")]
    text: Option<Option<PathBuf>>,
    /// Write the ladder with messages, streams and digits, as a drawing (SVG)
    #[arg(long, value_name = "FILE")]
    svg: Option<Option<PathBuf>>,
}

/// An option that is absent, given without a name, or given with a name.
type Asked = Option<Option<PathBuf>>;

impl Wanted {
    /// Each kind of file: its option, its extension, and the request.
    fn all(&self) -> [(&'static str, &'static str, &Asked); 8] {
        [
            ("--pcap", "pcap", &self.pcap),
            ("--wav", "wav", &self.wav),
            ("--flac", "flac", &self.flac),
            ("--opus", "opus", &self.opus),
            ("--peaks", "peaks.json", &self.peaks),
            ("--json", "json", &self.json),
            ("--text", "txt", &self.text),
            ("--svg", "svg", &self.svg),
        ]
    }

    /// Whether no file was requested.
    pub(crate) fn is_empty(&self) -> bool {
        self.all().iter().all(|(_, _, path)| path.is_none())
    }

    /// Whether sound was requested.
    pub(crate) fn sound(&self) -> bool {
        [&self.wav, &self.flac, &self.opus, &self.peaks].into_iter().any(Option::is_some)
    }

    /// Whether Opus was requested.
    pub(crate) fn opus(&self) -> bool {
        self.opus.is_some()
    }

    /// Removes the requests for sound.
    pub(crate) fn leave_sound_out(&mut self) {
        (self.wav, self.flac, self.opus, self.peaks) = (None, None, None, None);
    }

    /// The first option with a file name.
    pub(crate) fn named(&self) -> Option<&'static str> {
        let mut all = self.all().into_iter();
        all.find(|(_, _, asked)| asked.as_ref().is_some_and(Option::is_some)).map(|(option, ..)| option)
    }

    /// Refuses one file name for two options.
    pub(crate) fn refuse_one_file_for_two(&self) -> anyhow::Result<()> {
        let named: Vec<_> = self
            .all()
            .into_iter()
            .filter_map(|(option, _, asked)| Some((option, asked.as_ref()?.as_ref()?)))
            .collect();
        for (index, (option, path)) in named.iter().enumerate() {
            if let Some((other, _)) = named[..index].iter().find(|(_, other)| other == path) {
                bail!(Misuse(format!("`{other}` and `{option}` name the same file: name two")));
            }
        }
        Ok(())
    }
}

/// The files of one call.
pub(crate) struct Files {
    pcap: Option<Target>,
    sounds: Sounds,
    json: Option<Target>,
    text: Option<Target>,
    svg: Option<Target>,
    /// The path of each file.
    pub(crate) paths: Vec<PathBuf>,
}

/// The content of the files.
pub(crate) struct Content<'a> {
    /// Packets of the call, in order of time.
    pub(crate) source: Source<'a>,
    /// Their link types.
    pub(crate) links: &'a [LinkType],
    pub(crate) replay: &'a Replay,
    pub(crate) selected: SelectedCalls,
    /// Its record and those of its streams.
    pub(crate) record: (Option<Call>, Vec<Stream>),
    pub(crate) kept: Value,
    /// Only the headers of its media were recorded.
    pub(crate) mute: bool,
}

impl Files {
    /// Opens the requested files. `stem` is the path, without extension, of files without a name.
    pub(crate) fn create(wanted: &Wanted, stem: &Path, force: bool) -> anyhow::Result<Self> {
        let mut paths = Vec::new();
        let mut path = |(_, ending, asked): (&str, &str, &Asked)| -> anyhow::Result<Option<PathBuf>> {
            let Some(asked) = asked else { return Ok(None) };
            let made = || PathBuf::from(format!("{}.{ending}", stem.display()));
            let path = asked.clone().unwrap_or_else(made);
            if !force && path.is_file() {
                bail!(Misuse(format!(
                    "`{}` already exists: name another file, or add `--force`",
                    path.display()
                )));
            }
            paths.push(path.clone());
            Ok(Some(path))
        };
        let [pcap, wav, flac, opus, peaks, json, text, svg] = wanted.all();
        let [pcap, wav, flac, opus, peaks] =
            [path(pcap)?, path(wav)?, path(flac)?, path(opus)?, path(peaks)?];
        let [json, text, svg] = [path(json)?, path(text)?, path(svg)?];
        let target = |path: Option<PathBuf>| path.as_deref().map(Target::create).transpose();
        Ok(Self {
            pcap: target(pcap)?,
            sounds: Sounds::create(Paths {
                wav: wav.as_deref(),
                flac: flac.as_deref(),
                opus: opus.as_deref(),
                peaks: peaks.as_deref(),
            })?,
            json: target(json)?,
            text: target(text)?,
            svg: target(svg)?,
            paths,
        })
    }

    /// Writes all files. If the sound cannot be written, the others are, and the status says so.
    pub(crate) fn write(self, content: Content<'_>, how: How, screen: &mut Screen) -> anyhow::Result<Exit> {
        let Content { mut source, links, replay, selected, record: (call, streams), kept, mute } = content;
        if let Some(target) = self.pcap {
            let path = target.path().to_path_buf();
            let count = packets(&mut source, links, target)
                .with_context(|| format!("cannot write {}", path.display()))?;
            screen.remark(format!("{}: {} packets", path.display(), grouped(count)));
        }
        if let Some(target) = self.json {
            written(target, screen, |out| page::json(out, call.as_ref(), &streams, replay, kept))?;
        }
        if let Some(target) = self.text {
            written(target, screen, |out| page::text(out, &selected, replay))?;
        }
        if let Some(target) = self.svg {
            written(target, screen, |out| {
                selected.0.first().map_or(Ok(()), |(found, range)| {
                    page::svg(out, &found.call, &replay.steps, *range, &replay.bands())
                })
            })?;
        }
        if !self.sounds.any() {
            return Ok(Exit::Done);
        }
        if mute {
            screen.remark(
                "no sound written: only the headers of its media were recorded ([spool] keep = \"headers\")",
            );
            return Ok(Exit::Failed);
        }
        let decoders = Helpers;
        let (sound, mute) = Replay::sound(&selected, &mut source, &decoders)?;
        let exit = self.sounds.save(sound, how, &decoders, screen)?;
        Ok(exit_of(exit, &mute, screen))
    }
}

/// Reports the streams that the sound lacks, and returns the status: it failed if one of them is sound.
pub(crate) fn exit_of(exit: Exit, lacking: &[Undecoded], screen: &mut Screen) -> Exit {
    lacking.iter().for_each(|stream| screen.remark(&stream.why));
    if lacking.iter().any(|stream| stream.is_sound) { Exit::Failed } else { exit }
}

/// Writes frames as a capture.
pub(crate) fn frames(frames: &[Frame<'_>], target: Target) -> anyhow::Result<()> {
    let links: Vec<_> = frames.iter().map(|frame| frame.link).collect();
    packets(&mut Source::Frames(frames), &links, target).map(drop)
}

/// Writes packets as a capture, and returns their number.
fn packets(source: &mut Source<'_>, links: &[LinkType], target: Target) -> anyhow::Result<u64> {
    let mut writer = Writer::new(target, links)?;
    let mut count = 0;
    source.for_each_batch(&mut |frames| {
        count += frames.len() as u64;
        Ok(frames.iter().try_for_each(|frame| writer.write(frame))?)
    })?;
    writer.finish()?.keep()?;
    Ok(count)
}

fn written(
    mut target: Target,
    screen: &mut Screen,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let path = text::shown(&target.path().display().to_string()).into_owned();
    let mut out = BufWriter::new(&mut target);
    write(&mut out).and_then(|()| out.flush()).with_context(|| format!("cannot write {path}"))?;
    drop(out);
    target.keep()?;
    screen.remark(path);
    Ok(())
}

//! `ringtap extract`: extracts one call's packets and sound from captures.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use ringtap_anonymise::Mask;
use ringtap_capture::OwnedFrames;
use ringtap_engine::SipSeen;
use ringtap_export::anonymous::Anonymous;
use ringtap_export::collect::{CallCollector, RtcpFilter, Sound};
use ringtap_export::engine::small_config;
use ringtap_export::find::{Finder, FoundCall, SelectedCalls, beginning};
use ringtap_model::Frame;
use ringtap_report::file::Target;
use ringtap_report::text::grouped;

use crate::anonymous::Anonymise;
use crate::exit::{Exit, Interrupted, Misuse};
use crate::files;
use crate::helper::Helpers;
use crate::input::{self, BATCH, Input, InputFiles, Pass, Workers};
use crate::interrupt;
use crate::screen::Screen;
use crate::sound::{Files, How, Paths, refuse_without_encoder};

/// Extract one call: its packets as a capture, its sound as a WAV
///
/// The capture has the call's signalling and media in their original order, including fragments and RTCP, and
/// each packet once. The sound has the caller on the left and the callee on the right, on one time line.
/// Without loss it equals, sample for sample, the sound that was sent; short losses are concealed. Files
/// appear when they are complete: an error or Ctrl-C leaves none.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[group(skip)]
pub(crate) struct Extract {
    #[command(flatten)]
    input: InputFiles,
    /// Call-ID of the call, a unique beginning of it (also with the `…` of a table), or the id of its record
    #[arg(long, value_name = "CALL-ID")]
    call: String,
    /// Write its packets to this file, as pcap, or as pcapng if they have several link types
    #[arg(long, value_name = "OUT", required_unless_present_any = ["wav", "flac", "opus", "peaks"])]
    pcap: Option<PathBuf>,
    /// Write its sound to this file, as WAV (PCM, 16 bits)
    #[arg(long, value_name = "OUT")]
    wav: Option<PathBuf>,
    /// Write its sound to this file, as FLAC: the same samples in about half the space
    #[arg(long, value_name = "OUT")]
    flac: Option<PathBuf>,
    /// Write its sound to this file, as Ogg Opus, for archiving: about 11 MB per hour and side
    /// (`--opus-kbps`). Needs Debian's libopus0
    #[arg(long, value_name = "OUT")]
    opus: Option<PathBuf>,
    /// Write the waveform of its sound to this file, as JSON for a player: minimum and maximum of each span,
    /// -1 to 1, by channel
    #[arg(long, value_name = "OUT")]
    peaks: Option<PathBuf>,
    #[command(flatten)]
    anonymise: Anonymise,
    #[command(flatten)]
    sound: How,
}

const EXAMPLES: &str = "\
Examples:
  ringtap extract trunk.pcap --call 4f2a19 --pcap call.pcap
  ringtap extract trunk.pcap --call 4f2a19 --wav call.wav
  ringtap extract monday-*.pcap.zst --call 4f2a19 --pcap call.pcap --wav call.wav
  ringtap extract trunk.pcap --call 4f2a19 --wav caller.wav --mix caller --rate 16000
  ringtap extract trunk.pcap --call 4f2a19 --wav as-heard.wav --buffer-ms 60
  ringtap extract trunk.pcap --call 4f2a19 --flac call.flac --peaks call.json
  ringtap extract trunk.pcap --call 4f2a19 --opus call.opus --opus-kbps 16

G.711, L16, G.722, G.726, G.729 and GSM need no library. AMR, AMR-WB and Opus need Debian's
libopencore-amrnb0, libopencore-amrwb0 and libopus0, iLBC needs the distribution's libavcodec (or libilbc 3).
A separate process loads them when a call has such sound or `--opus` is given.";

impl Extract {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        self.refuse_one_file_for_two()?;
        let mut mask = self.anonymise.mask()?;
        if mask.is_some() && self.pcap.is_none() {
            bail!(Misuse("`--anonymise` applies to packets: add `--pcap`".to_owned()));
        }
        if mask.is_some()
            && !self.anonymise.how.keep_voice
            && [&self.wav, &self.flac, &self.opus, &self.peaks].into_iter().any(Option::is_some)
        {
            bail!(Misuse(
"`--anonymise` replaces voices by silence: extract the sound separately, or add `--keep-voice`"
                    .to_owned()
            ));
        }
        refuse_without_encoder(self.opus.is_some())?;
        let input = Input::open(&self.input.files, self.input.unpacking)?;
        let pcap = self.pcap.as_deref().map(Target::create).transpose()?;
        let files = Files::create(Paths {
            wav: self.wav.as_deref(),
            flac: self.flac.as_deref(),
            opus: self.opus.as_deref(),
            peaks: self.peaks.as_deref(),
        })?;
        let wanted = self.select(&input, screen)?;
        let decoders = Helpers;
        let (sound, mute) = Sound::of(&wanted, files.any(), &decoders);
        let mut collector = CallCollector::new(&wanted, sound, pcap.is_some());
        let pass = input.pass(&mut collector, &input.progress(screen, "extracting"));
        refuse_partial(&pass)?;
        let (frames, sound) = collector.finish();
        if let Some(target) = pcap {
            let path = target.path().to_path_buf();
            let mask = mask.as_mut().map(|mask| (mask, self.anonymise.how.keep_voice));
            let count = packets(&input, frames, &wanted, mask, target).with_context(|| writing(&path))?;
            screen.remark(format!("{}: {} packets", path.display(), grouped(count)));
        }
        let exit = match files.any() {
            true => files.save(sound, self.sound, &decoders, screen)?,
            false => Exit::Done,
        };
        let exit = files::exit_of(exit, &mute, screen);
        Ok(match (exit, pass.exit(screen)) {
            (Exit::Done, of_input) => of_input,
            (failed, _) => failed,
        })
    }

    fn refuse_one_file_for_two(&self) -> anyhow::Result<()> {
        let named = [
            ("--pcap", &self.pcap),
            ("--wav", &self.wav),
            ("--flac", &self.flac),
            ("--opus", &self.opus),
            ("--peaks", &self.peaks),
        ];
        for (index, (option, path)) in named.iter().enumerate().filter(|(_, (_, path))| path.is_some()) {
            if let Some((other, _)) = named[..index].iter().find(|(_, other)| other == path) {
                bail!("`{other}` and `{option}` name the same file: name two");
            }
        }
        Ok(())
    }

    /// Finds the named call.
    fn select(&self, input: &Input, screen: &mut Screen) -> anyhow::Result<SelectedCalls> {
        let mut found = find(&self.call, input, screen)?;
        let call_id = found.first().map(|found| found.call.call_id.clone()).unwrap_or_default();
        if !call_id.starts_with(beginning(&self.call)) {
            // Named by its record: other calls may have the same Call-ID.
            found = find(&call_id, input, screen)?;
        }
        Ok(SelectedCalls::of(found, &self.call))
    }
}

fn find(wanted: &str, input: &Input, screen: &mut Screen) -> anyhow::Result<Vec<FoundCall>> {
    let mut ignore = |_: &SipSeen<'_>| {};
    let mut finder = Finder::<false>::new(wanted, &mut ignore);
    let bar = input.progress(screen, "searching");
    let pass = input.pass_records(Workers::default(), &mut finder, &bar)?;
    refuse_partial(&pass)?;
    finder.found().inspect_err(|_| _ = pass.exit(screen)).map_err(Into::into)
}

/// Refuses part of a call. If only standard input was interrupted, all that arrived is used.
fn refuse_partial(pass: &Pass) -> Result<(), Interrupted> {
    match pass.interrupted {
        Some(input::Interrupted::At(_)) => Err(Interrupted),
        _ => Ok(()),
    }
}

fn writing(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Writes the frames with those numbers, and the call's RTCP, in the order of the input.
fn packets(
    input: &Input,
    numbers: Vec<u64>,
    wanted: &SelectedCalls,
    mask: Option<(&mut Mask, bool)>,
    target: Target,
) -> anyhow::Result<u64> {
    let reports = RtcpFilter::of(wanted);
    let mut numbers = numbers.into_iter().peekable();
    let mut selected = OwnedFrames::default();
    let mut source = input.frames();
    loop {
        let batch = source.batch(BATCH);
        if batch.is_empty() {
            break;
        }
        for frame in &batch {
            if numbers.next_if_eq(&frame.number).is_some() || reports.has(frame) {
                selected.push(frame);
            }
        }
        if interrupt::asked() {
            bail!(Interrupted);
        }
    }
    let selected: Vec<Frame<'_>> = selected.iter().collect();
    let anonymous =
        mask.map(|(mask, voice)| Anonymous::of(&selected, mask, voice, &small_config(selected.len())));
    let own = anonymous.as_ref().map(Anonymous::frames);
    let frames = own.as_deref().unwrap_or(&selected);
    files::frames(frames, target)?;
    Ok(frames.len() as u64)
}

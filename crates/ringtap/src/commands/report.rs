//! `ringtap report`: a capture as one HTML page.

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, value_parser};
use ringtap_anonymise::Mask;
use ringtap_capture::OwnedFrames;
use ringtap_engine::{Sink, StreamEnd};
use ringtap_export::anonymous::Anonymous;
use ringtap_export::chosen::{Choice, Chooser, Texts, with_ranges};
use ringtap_export::find::{FoundCall, SelectedCalls, TimeRange};
use ringtap_export::replay::band;
use ringtap_model::{Call, Filter, Frame, Message, Registration, Stream};
use ringtap_report::calls::Order;
use ringtap_report::file::Target;
use ringtap_report::html::{self, CallDetails, CallEntry, Sound};
use ringtap_report::streams::bytes;
use ringtap_report::text::counted;
use ringtap_report::text::grouped;
use tempfile::TempPath;

use crate::anonymous::Anonymise;
use crate::assumed::Assumed;
use crate::embed::Embedding;
use crate::engine_config::engine_config;
use crate::exit::{Exit, Interrupted, Misuse};
use crate::filter::FilterArgs;
use crate::input::{self, BATCH, Input, InputFiles, Listener, Pass, Workers};
use crate::order::OrderArgs;
use crate::screen::Screen;
use crate::{files, interrupt};

/// Write one HTML page about a capture, to look at in a browser or to send on
///
/// The page needs no other file and no network: summary, table of calls to search and sort, and for each call
/// what happened, its ladder, MOS, loss and jitter of each stream over time, its messages as text, and with
/// `--audio` its sound. Text from the wire is escaped, and the page's policy lets nothing run but its own
/// script; without script it reads just as well. Add `--anonymise` before it goes to somebody else.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[group(skip)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    input: InputFiles,
    /// Write the page to this file
    #[arg(long, value_name = "OUT")]
    html: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Embed the sound of the calls, as Ogg Opus if Debian's libopus0 is installed, otherwise as FLAC
    #[arg(long)]
    audio: bool,
    /// Embed at most this many MiB of sound
    #[arg(long, value_name = "MIB", default_value_t = 20, value_parser = value_parser!(u16).range(1..=1_024))]
    audio_limit: u16,
    /// Show ladders, charts and messages up to this many MiB; further calls are in the table alone
    #[arg(long, value_name = "MIB", default_value_t = 30, value_parser = value_parser!(u16).range(1..=1_024))]
    size_limit: u16,
    /// Leave out the messages as text
    #[arg(long)]
    no_messages: bool,
    #[command(flatten)]
    assumed: Assumed,
    #[command(flatten)]
    anonymise: Anonymise,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    order: OrderArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap report trunk.pcap --html trunk.html
  ringtap report trunk.pcap --problems --sort mos --top 50 --html bad.html
  ringtap report trunk.pcap --number '*0138' --anonymise --html for-the-vendor.html
  ringtap report call.pcap --audio --html call.html";

/// Calls that are shown unless `--top` says otherwise.
const TOP: usize = 200;

impl ReportArgs {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        self.refuse()?;
        let order = self.order.of(true)?.order;
        let mask = self.anonymise.mask()?;
        let mut target = Target::create(&self.html)?;
        let input = Input::open(&self.input.files, self.input.unpacking)?.assuming(self.assumed.clone());
        let capture = match mask {
            Some(mask) => self.without_names(&input, mask, screen)?,
            None => ReadCapture { input, temporary: None, kept: None, notes: Vec::new(), exit: Exit::Done },
        };
        let path = target.path().display().to_string();
        let (written, exit) = self.write(&capture, order, &mut target, screen)?;
        target.keep()?;
        screen.remark(format!("{path}: {written}"));
        Ok(if exit == Exit::Done { capture.exit } else { exit })
    }

    fn refuse(&self) -> anyhow::Result<()> {
        if self.html.is_file() && !self.force {
            let path = self.html.display();
            bail!(Misuse(format!("`{path}` already exists: name another file, or add `--force`")));
        }
        if self.audio && self.anonymise.anonymise && !self.anonymise.how.keep_voice {
            bail!(Misuse(
                "`--anonymise` replaces voices by silence: leave out `--audio`, or add `--keep-voice`"
                    .to_owned()
            ));
        }
        if self.anonymise.anonymise && self.assumed.names_receivers() {
            bail!(Misuse(
                "`--no-plc=LIST` names receivers that `--anonymise` renames: leave out one of them"
                    .to_owned()
            ));
        }
        Ok(())
    }

    /// Reads the capture into another without names, and finds the calls that pass the filters by their true
    /// names first.
    fn without_names(&self, input: &Input, mut mask: Mask, screen: &Screen) -> anyhow::Result<ReadCapture> {
        let mut kept = None;
        let filter = self.filter.filter();
        if filter.is_set() {
            let mut names = CallIds { filter: &filter, found: HashSet::new() };
            let bar = input.progress(screen, "searching");
            let pass = input.pass_records(Workers::default(), &mut names, &bar)?;
            refuse_partial(&pass)?;
            let masked = |name: String| String::from_utf8_lossy(&mask.text(name.as_bytes())).into_owned();
            kept = Some(names.found.into_iter().map(masked).collect());
        }
        let mut source = input.frames();
        let bar = input.progress(screen, "anonymising");
        let mut all = OwnedFrames::default();
        loop {
            let batch = source.batch(BATCH);
            if batch.is_empty() {
                break;
            }
            all.extend(batch);
            bar.set_position(source.offset());
            if interrupt::asked() {
                bail!(Interrupted);
            }
        }
        bar.finish_and_clear();
        let frames: Vec<Frame<'_>> = all.iter().collect();
        let anonymous = Anonymous::of(&frames, &mut mask, self.anonymise.how.keep_voice, &engine_config());
        let temporary = tempfile::NamedTempFile::with_prefix("ringtap-")
            .context(
                "cannot create a temporary file for the anonymised capture; set TMPDIR to another directory",
            )?
            .into_temp_path();
        files::frames(&anonymous.frames(), Target::create(&temporary)?)?;
        let mut notes = Vec::new();
        if anonymous.left_out > 0 {
            let packets = counted(anonymous.left_out, "packet");
            notes.push(format!("{packets} too long for a datagram after anonymising."));
        }
        let damages = source.damages().len() as u64;
        if damages > 0 {
            notes.push(format!("what follows the damage of {}.", counted(damages, "file")));
        }
        let exit = if notes.is_empty() { Exit::Done } else { Exit::Damaged };
        let input = Input::open(&[temporary.to_path_buf()], self.input.unpacking)?;
        let input = input.assuming(self.assumed.clone());
        Ok(ReadCapture { input, temporary: Some(temporary), kept, notes, exit })
    }

    fn write(
        &self,
        capture: &ReadCapture,
        order: Order,
        target: &mut Target,
        screen: &mut Screen,
    ) -> anyhow::Result<(String, Exit)> {
        let input = &capture.input;
        let filter = self.filter.filter();
        let choice = capture.kept.as_ref().map_or(Choice::Filter(&filter), Choice::CallIds);
        let most = order.top.unwrap_or(TOP);
        let mut chooser = Chooser::new(choice, order.sort, most);
        let bar = input.progress(screen, "measuring");
        let pass = input.pass_records(Workers::default(), &mut chooser, &bar)?;
        refuse_partial(&pass)?;
        let (calls, streams) = chooser.chosen();
        let mut left_out = capture.notes.clone();
        beyond(&mut left_out, chooser.passed, calls.len(), "call", most);
        beyond(&mut left_out, chooser.loose, streams.len(), "stream without a call", most);

        let limit = usize::from(self.size_limit) << 20;
        let mut texts = Texts::new(&calls, if self.no_messages { 0 } else { limit / 2 });
        refuse_partial(&input.pass(&mut texts, &input.progress(screen, "reading messages")))?;
        let calls: Vec<SelectedCalls> =
            with_ranges(calls).into_iter().map(|call| SelectedCalls(vec![call])).collect();
        let sounds = self.sounds(&calls, input, &mut left_out, screen)?;
        let entries = self.entries(&calls, &texts, sounds, &mut left_out);
        let page = html::Page {
            title: &self.title(),
            about: &self.about(),
            summary: &chooser.summary.told(&pass.figures(None)),
            calls: &entries,
            streams: &streams,
            left_out: &left_out,
        };
        let writing = || format!("cannot write {}", self.html.display());
        let mut out = BufWriter::new(CountingWriter { to: target, bytes: 0 });
        html::write(&mut out, &page).and_then(|()| out.flush()).with_context(writing)?;
        let size = bytes(out.get_ref().bytes);
        drop(out);
        for sentence in &left_out {
            screen.remark(format!("not on the page: {sentence}"));
        }
        Ok((format!("{}, {size}", counted(entries.len() as u64, "call")), pass.exit(screen)))
    }

    /// File names may name people too.
    fn title(&self) -> String {
        match &self.input.files[..] {
            _ if self.anonymise.anonymise => "Anonymised capture".to_owned(),
            [file] if file.as_os_str() == "-" => "Capture from standard input".to_owned(),
            [file] => file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned(),
            files => counted(files.len() as u64, "capture"),
        }
    }

    fn about(&self) -> Vec<String> {
        let mut about = Vec::new();
        if self.anonymise.anonymise {
            let voices = if self.anonymise.how.keep_voice { "" } else { ", voices are silent" };
            about.push(format!("Numbers, names, hosts and addresses are replaced by others{voices}."));
        }
        if self.filter.filter().is_set() {
            about.push("Calls that pass the filters given.".to_owned());
        }
        about
    }

    /// The sound of each call, as far as the limit allows.
    fn sounds(
        &self,
        calls: &[SelectedCalls],
        input: &Input,
        left_out: &mut Vec<String>,
        screen: &Screen,
    ) -> anyhow::Result<Vec<Option<Sound>>> {
        if !self.audio {
            return Ok(calls.iter().map(|_| None).collect());
        }
        let embedding = Embedding::new(usize::from(self.audio_limit) << 20);
        let (sounds, beyond) = embedding.of(calls, |sink| {
            let pass = input.pass(sink, &input.progress(screen, "collecting sound"));
            refuse_partial(&pass).map_err(Into::into)
        })?;
        if beyond > 0 {
            let calls = counted(beyond, "call");
            let limit = self.audio_limit;
            left_out.push(format!("the sound of {calls}, beyond {limit} MiB (`--audio-limit`)."));
        }
        Ok(sounds.into_iter().map(Some).collect())
    }

    fn entries(
        &self,
        calls: &[SelectedCalls],
        texts: &Texts,
        sounds: Vec<Option<Sound>>,
        left_out: &mut Vec<String>,
    ) -> Vec<CallEntry> {
        let limit = usize::from(self.size_limit) << 20;
        let (mut used, mut without, mut cut) = (0, 0, 0);
        let mut entries = Vec::new();
        let all = calls.iter().flat_map(|call| &call.0).zip(sounds).zip(1..);
        for (((found, range), sound), number) in all {
            let streams: Vec<Stream> = found.streams.iter().map(|stream| stream.record.clone()).collect();
            let mut entry = entry(number, found, *range, texts, (&streams, sound.as_ref()));
            let heard = sound.as_ref().map_or(0, Sound::size);
            if used + entry.size().saturating_sub(heard) > limit {
                entry = CallEntry::row(number, &found.call, &streams);
                without += 1;
            } else if !self.no_messages {
                cut += texts.of(&found.call).map_or(0, |texts| texts.left_out);
            }
            used += entry.size().saturating_sub(heard);
            entries.push(entry);
        }
        if without > 0 {
            let limit = self.size_limit;
            let calls = counted(without, "call");
            left_out.push(format!("all but the row of {calls}, beyond {limit} MiB (`--size-limit`)."));
        }
        if cut > 0 {
            left_out.push(format!("the text of {}; the ladders have them.", counted(cut, "message")));
        }
        entries
    }
}

/// A call as the page shows it.
fn entry(
    number: usize,
    found: &FoundCall,
    range: TimeRange,
    texts: &Texts,
    (streams, sound): (&[Stream], Option<&Sound>),
) -> CallEntry {
    let of_call = texts.of(&found.call);
    let steps = of_call.map(|texts| texts.steps.within(range)).unwrap_or_default();
    let remarks = of_call.map(|texts| texts.steps.remarks(range)).unwrap_or_default();
    let messages: Vec<_> = of_call
        .iter()
        .flat_map(|texts| &texts.texts)
        .filter(|message| range.contains(message.time))
        .cloned()
        .collect();
    let bands: Vec<_> =
        found.streams.iter().map(|stream| band(&stream.record, texts.reports(stream.serial))).collect();
    let details = CallDetails {
        call: &found.call,
        streams,
        steps: &steps,
        bands: &bands,
        remarks: &remarks,
        messages: &messages,
        sound,
    };
    CallEntry::new(number, &details)
}

/// The capture that the page is about.
struct ReadCapture {
    input: Input,
    /// The anonymised capture, removed at the end.
    #[expect(dead_code, reason = "removes the file when it is dropped")]
    temporary: Option<TempPath>,
    /// Call-IDs that passed the filters, by their new names.
    kept: Option<HashSet<String>>,
    /// What is missing in it.
    notes: Vec<String>,
    exit: Exit,
}

/// Collects the Call-IDs of calls that pass the filters.
struct CallIds<'a> {
    filter: &'a Filter,
    found: HashSet<String>,
}

impl Sink for CallIds<'_> {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        let streams: Vec<Stream> = streams.into_iter().map(|stream| stream.record).collect();
        if self.filter.selects_call(&call, &streams) {
            self.found.insert(call.call_id);
        }
    }

    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
}

impl Listener for CallIds<'_> {}

fn beyond(left_out: &mut Vec<String>, all: u64, shown: usize, what: &str, most: usize) {
    let rest = all.saturating_sub(shown as u64);
    if rest > 0 {
        left_out.push(format!(
            "{} beyond the first {} (`--top`).",
            counted(rest, what),
            grouped(most as u64)
        ));
    }
}

/// Refuses a page about a part of the input. If only standard input was interrupted, all that arrived is
/// used.
fn refuse_partial(pass: &Pass) -> Result<(), Interrupted> {
    match pass.interrupted {
        Some(input::Interrupted::At(_)) => Err(Interrupted),
        _ => Ok(()),
    }
}

struct CountingWriter<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.to.write(data)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

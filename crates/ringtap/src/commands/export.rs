//! `ringtap export`: calls out of the spool.

mod search;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use ringtap_anonymise::Mask;
use ringtap_engine::Engine;
use ringtap_export::anonymous::Anonymous;
use ringtap_export::batch::FrameBuffer;
use ringtap_export::call_packets::CallPackets;
use ringtap_export::engine::small_config;
use ringtap_export::find::named_call;
use ringtap_export::replay::Replay;
use ringtap_export::source::Source;
use ringtap_model::{Call, Frame, Id, LinkType, Nanos, Stream};
use ringtap_report::text::counted;
use ringtap_report::time;
use ringtap_spool::{MasterKey, Reader, Segment};
use serde_json::{Value, json};

use crate::anonymous::Anonymise;
use crate::distant;
use crate::exit::{Exit, Misuse};
use crate::files::{Content, Files, Wanted};
use crate::filter::Filter;
use crate::screen::Screen;
use crate::sound::{How, refuse_without_encoder};

/// Take calls of the past out of the spool: packets, sound, records, ladders
///
/// For calls that `ringtap run` kept packets of ([spool] in its configuration). One call by its Call-ID, or
/// with `--out` every call that the filters find, into one directory with an index of what was written. The
/// record in the database tells which packets there were; what is missing of them is said, and the exit
/// status is 3. Files appear when they are whole.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// Its Call-ID or the id of its record; without it, every call that the filters find
    #[arg(value_name = "CALL", required_unless_present = "out")]
    call: Option<String>,
    /// Directory of the database
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Directory of the spool; again for each other place where its segments may lie
    #[arg(long, value_name = "DIR", required = true)]
    spool: Vec<PathBuf>,
    /// A file with a key that the spool was sealed under; again for each key that it was
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
    /// Interception product: the copy that was kept of calls that were intercepted, whatever else was kept of
    /// them
    #[arg(long)]
    product: bool,
    /// Directory for files whose names are made: DAY/TIME-ID.pcap and so on, and index.jsonl, one line a call
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace files that are there already
    #[arg(long)]
    force: bool,
    /// Of a search, at most this many calls, the earliest; 0 is all
    #[arg(long, value_name = "N", default_value_t = 0)]
    limit: usize,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    anonymise: Anonymise,
    #[command(flatten)]
    sound: How,
    #[command(flatten)]
    filter: Filter,
}

const EXAMPLES: &str = "\
Examples:
  ringtap export 4f2a19@192.0.2.1 --store /var/lib/ringtap/records --spool /var/lib/ringtap/spool \
--pcap call.pcap --wav call.wav
  ringtap export 4f2a19@192.0.2.1 --store records --spool spool --svg ladder.svg --json call.json
  ringtap export 4f2a19@192.0.2.1 --store records --spool spool --pcap to-vendor.pcap --anonymise
  ringtap export --store records --spool spool --number '+4202*' --since 2026-11-20 --mos-below 3 \
--out bad --pcap --flac --svg
  ringtap export --store records --spool spool --until 2026-10-01 --out october --opus

Put CALL before an option whose name of a file you leave out.";

/// What became of one call.
struct Outcome {
    id: Id,
    paths: Vec<PathBuf>,
    packets: u64,
    kept: Value,
    call_id: Value,
    exit: Exit,
}

/// Says what was left out because nothing proves that the spool's writers wrote it.
fn remark_unproven(spool: &Reader, screen: &mut Screen) {
    let segments: Vec<&str> = spool.unproven().map(Segment::as_str).collect();
    if let Some(first) = segments.first() {
        screen.remark(format!(
            "left out: {} without a seal, the first `{first}`; the spool is signed, so nothing proves who \
             wrote that. `ringtap verify` names all",
            counted(segments.len() as u64, "segment")
        ));
    }
}

impl Export {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        self.refuse_nonsense()?;
        refuse_without_encoder(self.wanted.opus())?;
        let mut mask = self.anonymise.mask()?;
        let store = ringtap_store::Reader::open(&self.store)?;
        let mut spool = self.spool()?;
        let Some(call) = &self.call else {
            let exit = self.search(&store, &mut spool, mask.as_mut(), screen);
            remark_unproven(&spool, screen);
            return exit;
        };
        let call = named_call(&self.store, &store, call)?;
        let outcome = self.export(&call, &store, &mut spool, mask.as_mut(), screen);
        remark_unproven(&spool, screen);
        Ok(outcome?.exit)
    }

    fn refuse_nonsense(&self) -> anyhow::Result<()> {
        let misuse = |sentence: String| -> anyhow::Result<()> { Err(Misuse(sentence).into()) };
        self.wanted.refuse_one_file_for_two()?;
        if self.wanted.is_empty() {
            return misuse(
                "nothing to write: say `--pcap`, `--wav`, `--flac`, `--opus`, `--peaks`, `--json`, `--text` \
                 or `--svg`"
                    .into(),
            );
        }
        if let (Some(option), true) = (self.wanted.named(), self.out.is_some()) {
            return misuse(format!("with `--out` names of files are made: write `{option}` without one"));
        }
        if self.call.is_some() && (self.filter.is_set() || self.limit > 0) {
            return misuse("filters find calls, and CALL names one: leave one of them out".into());
        }
        if self.anonymise.anonymise && self.wanted.sound() && !self.anonymise.how.keep_voice {
            return misuse(
                "without names there are no voices: leave `--wav`, `--flac`, `--opus` and `--peaks` out, \
                 or add `--keep-voice`"
                    .into(),
            );
        }
        Ok(())
    }

    fn spool(&self) -> anyhow::Result<Reader> {
        let mut dirs = self.spool.iter();
        let first = dirs.next().map_or(Path::new("."), PathBuf::as_path);
        let mut spool = Reader::open(first)?;
        if let Some(far) = distant::of(first)? {
            spool.far(far);
        }
        dirs.for_each(|dir| spool.add_dir(dir));
        for path in &self.key {
            spool.add_key(MasterKey::read(path)?);
        }
        Ok(spool)
    }

    /// The files that are wanted of a call, opened.
    fn files(
        &self,
        start: Nanos,
        id: Id,
        call_packets: &CallPackets,
        screen: &mut Screen,
    ) -> anyhow::Result<Files> {
        let mut wanted = Cow::Borrowed(&self.wanted);
        if self.call.is_none() && wanted.sound() && call_packets.has_no_media() {
            // Nothing is missing of a call in which nobody spoke.
            screen.remark("no media, so no sound");
            wanted.to_mut().leave_sound_out();
        }
        Files::create(&wanted, &self.stem(start, id)?, self.force)
    }

    /// One call, into its files.
    fn export(
        &self,
        call: &Call,
        store: &ringtap_store::Reader,
        spool: &mut Reader,
        mask: Option<&mut Mask>,
        screen: &mut Screen,
    ) -> anyhow::Result<Outcome> {
        let streams = store.streams_of(&call.id)?;
        let mut call_packets = CallPackets::find(spool, call, &streams, self.product)?;
        let (mut replay, mut links) = (Replay::default(), Vec::new());
        let mut engine = Engine::new(small_config(call_packets.packet_limit()));
        // Without names all of it is held in memory: what names whom has to be known before the first packet
        // is written.
        let mut whole = FrameBuffer::default();
        call_packets.first_pass(spool, &mut |frames| {
            if mask.is_some() {
                frames.iter().for_each(|frame| whole.push(frame));
            }
            add_links(&mut links, frames);
            engine.batch(frames, &mut replay);
            Ok(())
        })?;
        engine.close(&mut replay);
        if call_packets.packets == 0 {
            bail!(call_packets.why_empty(&self.spool[0].display().to_string()));
        }
        for part in call_packets.descriptions().filter(|_| mask.is_none()) {
            screen.remark(part);
        }
        let found = whole.frames();
        let anonymous = mask.map(|mask| {
            Anonymous::of(&found, mask, self.anonymise.how.keep_voice, &small_config(found.len()))
        });
        let own = anonymous.as_ref().map(Anonymous::frames);
        let mut source = match &own {
            Some(frames) => Source::Frames(frames),
            None => Source::Spool { packets: &call_packets, reader: spool },
        };
        if own.is_some() {
            (replay, links) = (Replay::default(), vec![ETHERNET]);
            source.run(&mut replay)?;
        }
        let replay = replay.sorted();
        // Without names the record is that of what is written, or none.
        let stored = anonymous.is_none().then(|| call.clone());
        let Some(selected) = replay.selected(stored) else {
            bail!("the packets of the call that are left make no call: its INVITE is missing");
        };
        let (id, call_id) = selected.0.first().map_or((call.id, Value::Null), |(found, _)| {
            (found.call.id, Value::from(found.call.call_id.clone()))
        });
        let (record, kept_value) = match anonymous.is_some() {
            false => ((Some(call.clone()), streams), call_packets.to_json()),
            true => (of_replay(&selected), json!({ "complete": !call_packets.is_incomplete() })),
        };
        let files = self.files(call.start().unwrap_or_default(), id, &call_packets, screen)?;
        let paths = files.paths.clone();
        let content = Content {
            source,
            links: &links,
            replay: &replay,
            selected,
            record,
            kept: kept_value.clone(),
            mute: call_packets.is_mute() && anonymous.is_none(),
        };
        let packets = own.as_ref().map_or(call_packets.packets, |frames| frames.len() as u64);
        let exit = files.write(content, self.sound, screen)?;
        let left_out = anonymous.as_ref().map_or(0, |anonymous| anonymous.left_out);
        if left_out > 0 {
            screen.remark(format!("left out: {} longer than a datagram can be", counted(left_out, "packet")));
        }
        let exit = match exit {
            Exit::Done if call_packets.is_incomplete() || left_out > 0 => Exit::Damaged,
            exit => exit,
        };
        Ok(Outcome { id, paths, packets, kept: kept_value, call_id, exit })
    }

    /// Where files go whose names are made: of the time and the id alone, since everything else came from the
    /// wire.
    fn stem(&self, start: Nanos, id: Id) -> anyhow::Result<PathBuf> {
        let time = time::full(start);
        let (day, clock) = time.split_once(' ').unwrap_or(("", &time));
        let clock = clock.replace(':', "");
        let Some(out) = &self.out else { return Ok(PathBuf::from(format!("{day}-{clock}-{id}"))) };
        let folder = out.join(day);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder.join(format!("{clock}-{id}")))
    }
}

/// Adds the link types of `frames` that are not there yet.
fn add_links(links: &mut Vec<LinkType>, frames: &[Frame<'_>]) {
    for frame in frames {
        if !links.contains(&frame.link) {
            links.push(frame.link);
        }
    }
}

/// The records of what is written, where those of the database would name somebody.
fn of_replay(selected: &ringtap_export::find::SelectedCalls) -> (Option<Call>, Vec<Stream>) {
    let call = selected.0.first().map(|(found, _)| found.call.clone());
    (call, selected.streams().map(|(_, stream)| stream.record.clone()).collect())
}

/// That of frames that are made.
const ETHERNET: LinkType = LinkType(1);

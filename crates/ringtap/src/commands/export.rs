//! `ringtap export`: writes recorded calls to files.

mod search;

use std::borrow::Cow;
use std::path::PathBuf;

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
use ringtap_spool::Reader;
use serde_json::{Value, json};

use crate::anonymous::Anonymise;
use crate::exit::{Exit, Misuse};
use crate::files::{Content, Files, Wanted};
use crate::filter::FilterArgs;
use crate::screen::Screen;
use crate::sound::{How, refuse_without_encoder};
use crate::spool_args::{SpoolArgs, remark_unproven};
use crate::store_args::StoreArgs;

/// Export recorded calls from the spool: packets, sound, records, ladders
///
/// For calls whose packets `ringtap run` has recorded ([spool] in its configuration). Exports one call by its
/// Call-ID, or with `--out` every call that matches the filters, to a directory with an index. The record in
/// the database says which packets were recorded; missing packets are reported, and the exit status is 3.
/// Files appear when they are complete.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// Call-ID of the call, a unique beginning of it, or the id of its record [default: every call that
    /// matches the filters]
    #[arg(value_name = "CALL", required_unless_present = "out")]
    call: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    spool: SpoolArgs,
    /// Export the interception product of intercepted calls instead of their recording
    #[arg(long)]
    product: bool,
    /// Directory for the files of a search: DAY/TIME-ID.pcap and so on, and index.jsonl with one line a call
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
    /// Export at most this many calls of a search, the earliest; 0 is all
    #[arg(long, value_name = "N", default_value_t = 0)]
    limit: usize,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    anonymise: Anonymise,
    #[command(flatten)]
    sound: How,
    #[command(flatten)]
    filter: FilterArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap export 4f2a19@192.0.2.1 --spool /var/lib/ringtap/spool \
--pcap call.pcap --wav call.wav
  ringtap export 4f2a19@192.0.2.1 --store records --spool spool --svg ladder.svg --json call.json
  ringtap export 4f2a19@192.0.2.1 --store records --spool spool --pcap to-vendor.pcap --anonymise
  ringtap export --store records --spool spool --number '+4202*' --since 2026-11-20 --mos-below 3 \
--out bad --pcap --flac --svg
  ringtap export --store records --spool spool --until 2026-10-01 --out october --opus

Put CALL before an option that has no file name.";

/// The result of exporting one call.
struct Outcome {
    id: Id,
    paths: Vec<PathBuf>,
    packets: u64,
    kept: Value,
    call_id: Value,
    exit: Exit,
}

impl Export {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        self.refuse_nonsense()?;
        refuse_without_encoder(self.wanted.opus())?;
        let mut mask = self.anonymise.mask()?;
        let store = self.store.open()?;
        let mut spool = self.spool.open(screen)?;
        let Some(call) = &self.call else {
            let exit = self.search(&store, &mut spool, mask.as_mut(), screen);
            remark_unproven(&spool, screen);
            return exit;
        };
        let call = named_call(self.store.directory(), &store, call)?;
        let outcome = self.export(&call, &store, &mut spool, mask.as_mut(), screen);
        remark_unproven(&spool, screen);
        Ok(outcome?.exit)
    }

    fn refuse_nonsense(&self) -> anyhow::Result<()> {
        let misuse = |sentence: String| -> anyhow::Result<()> { Err(Misuse(sentence).into()) };
        if self.spool.spool.is_empty() {
            return misuse("name the directory of the spool with `--spool DIR`".into());
        }
        self.wanted.refuse_one_file_for_two()?;
        if self.wanted.is_empty() {
            return misuse(
                "nothing to export: add `--pcap`, `--wav`, `--flac`, `--opus`, `--peaks`, `--json`, `--text` \
                 or `--svg`"
                    .into(),
            );
        }
        if let (Some(option), true) = (self.wanted.named(), self.out.is_some()) {
            return misuse(format!("`--out` chooses the file names: write `{option}` without a name"));
        }
        if self.call.is_some() && (self.filter.filter().is_set() || self.limit > 0) {
            return misuse("CALL and filters cannot be combined: leave one of them out".into());
        }
        if self.anonymise.anonymise && self.wanted.sound() && !self.anonymise.how.keep_voice {
            return misuse(
                "`--anonymise` replaces voices by silence: leave out `--wav`, `--flac`, `--opus` and \
                 `--peaks`, or add `--keep-voice`"
                    .into(),
            );
        }
        Ok(())
    }

    /// Opens the requested files of a call.
    fn files(
        &self,
        start: Nanos,
        id: Id,
        call_packets: &CallPackets,
        screen: &mut Screen,
    ) -> anyhow::Result<Files> {
        let mut wanted = Cow::Borrowed(&self.wanted);
        if self.call.is_none() && wanted.sound() && call_packets.has_no_media() {
            // A call without media is complete without sound.
            screen.remark("the call has no media, so no sound was written");
            wanted.to_mut().leave_sound_out();
        }
        Files::create(&wanted, &self.stem(start, id)?, self.force)
    }

    /// Writes the files of one call.
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
        // To be anonymised, the whole call is held in memory: all names must be known before the first packet
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
            bail!(call_packets.why_empty(&self.spool.name()));
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
        // An anonymised call has the record of its new packets, or none.
        let stored = anonymous.is_none().then(|| call.clone());
        let Some(selected) = replay.selected(stored) else {
            bail!("cannot anonymise the call: its remaining packets do not include the INVITE");
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
            screen.remark(format!("{} left out, too long for a datagram", counted(left_out, "packet")));
        }
        let exit = match exit {
            Exit::Done if call_packets.is_incomplete() || left_out > 0 => Exit::Damaged,
            exit => exit,
        };
        Ok(Outcome { id, paths, packets, kept: kept_value, call_id, exit })
    }

    /// The path of generated file names without their extension. It consists of the time and the id only,
    /// because everything else came from the wire.
    fn stem(&self, start: Nanos, id: Id) -> anyhow::Result<PathBuf> {
        let time = time::full(start);
        let (day, clock) = time.split_once(' ').unwrap_or(("", &time));
        let clock = clock.replace(':', "");
        let Some(out) = &self.out else { return Ok(PathBuf::from(format!("{day}-{clock}-{id}"))) };
        let folder = out.join(day);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
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

/// The records of anonymised packets; those of the database have personal data.
fn of_replay(selected: &ringtap_export::find::SelectedCalls) -> (Option<Call>, Vec<Stream>) {
    let call = selected.0.first().map(|(found, _)| found.call.clone());
    (call, selected.streams().map(|(_, stream)| stream.record.clone()).collect())
}

/// The link type of anonymised frames.
const ETHERNET: LinkType = LinkType(1);

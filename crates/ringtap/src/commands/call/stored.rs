//! One call of the database: its record, and its messages where the spool has them.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use ringtap_engine::Engine;
use ringtap_export::call_packets::CallPackets;
use ringtap_export::engine::small_config;
use ringtap_export::find::{named_call, named_calls};
use ringtap_export::page::svg;
use ringtap_export::replay::{Replay, band};
use ringtap_model::{Call, Recorded, Stream};
use ringtap_report::file::Target;
use ringtap_report::ladder;
use ringtap_report::{detail, streams};
use ringtap_spool::Reader as Spool;
use ringtap_store::Reader;

use super::{CallArgs, WRITING};
use crate::exit::Exit;
use crate::screen::Screen;
use crate::spool_args::remark_unproven;

impl CallArgs {
    /// Shows a call of the database.
    pub(super) fn show_stored(&self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let (store, dir) = (self.store.open()?, self.store.directory());
        let mut spool = match self.spool.spool.is_empty() {
            true => None,
            false => Some(self.spool.open(screen)?),
        };
        let exit = match &self.svg {
            Some(path) => self.draw_stored(dir, path, &store, spool.as_mut(), screen)?,
            None => {
                let mut calls = named_calls(&store, &self.call)?;
                if calls.is_empty() {
                    calls.push(named_call(dir, &store, &self.call)?);
                }
                if let [call] = &calls[..]
                    && !self.leg
                    && let Some(conversation) = call.conversation
                {
                    let legs = store.conversation(&conversation)?;
                    if legs.len() > 1 {
                        let exit = self.show_stored_legs(&legs, &store, spool.as_mut(), screen)?;
                        screen.out.flush().context(WRITING)?;
                        return Ok(exit);
                    }
                }
                let mut exit = Exit::Done;
                for (index, call) in calls.iter().enumerate() {
                    if index > 0 {
                        writeln!(screen.out).context(WRITING)?;
                    }
                    if self.show_one(call, &store, spool.as_mut(), screen)? == Exit::Damaged {
                        exit = Exit::Damaged;
                    }
                }
                exit
            }
        };
        screen.out.flush().context(WRITING)?;
        if let Some(spool) = &spool {
            remark_unproven(spool, screen);
        }
        Ok(exit)
    }

    fn show_one(
        &self,
        call: &Call,
        store: &Reader,
        spool: Option<&mut Spool>,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let records = store.streams_of(&call.id)?;
        let found = spool.map(|spool| self.replay(call, &records, spool)).transpose()?;
        let page = self.page(screen);
        let Screen { out, width, colour, .. } = screen;
        detail::write(out, call, &records, *width, *colour).context(WRITING)?;
        writeln!(out).context(WRITING)?;
        let mut exit = Exit::Done;
        match &found {
            Some((replay, missing)) => {
                if !replay.steps.is_empty() {
                    ladder::draw(out, replay.steps.all(), page).context(WRITING)?;
                }
                for line in missing {
                    writeln!(out, "{line}").context(WRITING)?;
                    exit = Exit::Damaged;
                }
            }
            None => writeln!(out, "{}", without_spool(call)).context(WRITING)?,
        }
        for stream in &records {
            writeln!(out).context(WRITING)?;
            streams::detail(out, stream, *width, *colour).context(WRITING)?;
        }
        let (known, of) = (records.len(), call.streams.len());
        if known < of {
            let line = format!("Not in the database: {} of {of} streams of the call", of - known);
            writeln!(out, "\n{line}").context(WRITING)?;
            exit = Exit::Damaged;
        }
        Ok(exit)
    }

    /// Shows all legs of a conversation, with one ladder.
    fn show_stored_legs(
        &self,
        legs: &[Call],
        store: &Reader,
        mut spool: Option<&mut Spool>,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let (mut steps, mut remarks, mut all_streams) = (Vec::new(), Vec::new(), Vec::new());
        let mut exit = Exit::Done;
        for call in legs {
            let records = store.streams_of(&call.id)?;
            match spool.as_deref_mut() {
                Some(spool) => {
                    let (replay, missing) = self.replay(call, &records, spool)?;
                    steps.extend_from_slice(replay.steps.all());
                    if !missing.is_empty() {
                        exit = Exit::Damaged;
                    }
                    remarks.extend(missing);
                }
                None => remarks.push(without_spool(call).to_owned()),
            }
            if records.len() < call.streams.len() {
                let (missing, of) = (call.streams.len() - records.len(), call.streams.len());
                remarks.push(format!("Not in the database: {missing} of {of} streams of {}", call.id));
                exit = Exit::Damaged;
            }
            all_streams.push(records);
        }
        steps.sort_by_key(|step| step.time);
        remarks.dedup();
        let page = self.page(screen);
        let Screen { out, width, colour, .. } = screen;
        let mut show = || -> std::io::Result<()> {
            for (call, records) in legs.iter().zip(&all_streams) {
                detail::write(out, call, records, *width, *colour)?;
                writeln!(out)?;
            }
            if !steps.is_empty() {
                ladder::draw(out, &steps, page)?;
            }
            remarks.iter().try_for_each(|line| writeln!(out, "{line}"))?;
            for stream in all_streams.iter().flatten() {
                writeln!(out)?;
                streams::detail(out, stream, *width, *colour)?;
            }
            Ok(())
        };
        show().context(WRITING)?;
        Ok(exit)
    }

    /// The messages of the call that the spool has, and a sentence for all that is missing there.
    fn replay(
        &self,
        call: &Call,
        streams: &[Stream],
        spool: &mut Spool,
    ) -> anyhow::Result<(Replay, Vec<String>)> {
        let mut packets = CallPackets::find(spool, call, streams, false)?;
        let mut replay = Replay::default();
        let mut engine = Engine::new(small_config(packets.packet_limit()));
        packets.first_pass(spool, &mut |frames| {
            engine.batch(frames, &mut replay);
            Ok(())
        })?;
        engine.close(&mut replay);
        let missing = match (packets.packets, packets.is_incomplete()) {
            (0, _) => vec![format!("No ladder: {}", packets.why_empty(&self.spool.name()))],
            (_, true) => packets.descriptions().map(|part| format!("In the spool: {part}")).collect(),
            (_, false) => Vec::new(),
        };
        Ok((replay, missing))
    }

    fn draw_stored(
        &self,
        dir: &Path,
        path: &Path,
        store: &Reader,
        spool: Option<&mut Spool>,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let call = named_call(dir, store, &self.call)?;
        let Some(spool) = spool else { bail!(without_spool(&call)) };
        let records = store.streams_of(&call.id)?;
        let (replay, missing) = self.replay(&call, &records, spool)?;
        let Some(selected) = replay.selected(Some(call)).filter(|_| !replay.steps.is_empty()) else {
            bail!(missing.join("; "));
        };
        let mut target = Target::create(path)?;
        let bands: Vec<_> = records.iter().map(|stream| band(stream, Vec::new())).collect();
        for (found, range) in &selected.0 {
            svg(&mut target, &found.call, &replay.steps, *range, &bands)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        target.keep()?;
        screen.remark(path.display());
        missing.iter().for_each(|line| screen.remark(line));
        Ok(if missing.is_empty() { Exit::Done } else { Exit::Damaged })
    }
}

/// Why there is no ladder without a spool.
fn without_spool(call: &Call) -> &'static str {
    match call.recorded {
        Recorded::None => "No ladder: no packets of this call were recorded",
        Recorded::Signalling | Recorded::Headers | Recorded::Full => {
            "No ladder: its messages are in the spool; add `--spool DIR`"
        }
    }
}

//! The packets, the sound and the drawn ladder of one call, out of the spool.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use anyhow::{Context, bail, ensure};
use ringtap_audio::{Decoders, MixSettings, Peaks, Wav, mix, play};
use ringtap_capture::Writer;
use ringtap_engine::Engine;
use ringtap_export::call_packets::CallPackets;
use ringtap_export::engine::small_config;
use ringtap_export::find::SelectedCalls;
use ringtap_export::page;
use ringtap_export::replay::Replay;
use ringtap_export::source::Source;
use ringtap_model::{Call, LinkType, Nanos, Stream};
use ringtap_spool::Reader as Spool;

use super::lost_packets::{LostPackets, Mark};
use crate::work::Stop;

/// One call whose packets were found, ready to be written in any form.
pub(crate) struct RecordedCall<'a> {
    spool: &'a mut Spool,
    packets: CallPackets,
    replay: Replay,
    links: Vec<LinkType>,
    selected: SelectedCalls,
    stop: Stop,
}

impl<'a> RecordedCall<'a> {
    /// Finds the packets of a call.
    ///
    /// # Errors
    ///
    /// The spool cannot be read, or has none of them: the error says why. Or `stop` is over, here and where
    /// they are written.
    pub(crate) fn find(
        spool: &'a mut Spool,
        call: &Call,
        streams: &[Stream],
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let mut packets = CallPackets::find(spool, call, streams, false)?;
        let (mut replay, mut links) = (Replay::default(), Vec::new());
        let mut engine = Engine::new(small_config(packets.packet_limit()));
        packets.first_pass(spool, &mut |frames| {
            go_on(stop)?;
            for frame in frames {
                if !links.contains(&frame.link) {
                    links.push(frame.link);
                }
            }
            engine.batch(frames, &mut replay);
            Ok(())
        })?;
        engine.close(&mut replay);
        if packets.packets == 0 {
            bail!(packets.why_empty("the spool"));
        }
        let replay = replay.sorted();
        let selected = replay.selected(Some(call.clone())).context("the call has no record")?;
        Ok(Self { spool, packets, replay, links, selected, stop: Stop::clone(stop) })
    }

    fn source(&mut self) -> Source<'_> {
        Source::Spool { packets: &self.packets, reader: self.spool }
    }

    /// Writes its packets as pcapng.
    pub(crate) fn pcap(&mut self, to: impl Write) -> anyhow::Result<()> {
        let mut writer = Writer::new(to, &self.links)?;
        let stop = Stop::clone(&self.stop);
        self.source().for_each_batch(&mut |frames| {
            go_on(&stop)?;
            Ok(frames.iter().try_for_each(|frame| writer.write(frame))?)
        })?;
        writer.finish()?;
        Ok(())
    }

    /// Draws its ladder.
    pub(crate) fn svg(&self, to: &mut dyn Write) -> anyhow::Result<()> {
        for (found, range) in &self.selected.0 {
            page::svg(to, &found.call, &self.replay.steps, *range, &self.replay.bands())?;
        }
        Ok(())
    }

    /// Writes its sound as WAV, the caller left and the callee right, and its waveform as JSON; returns
    /// where packets are missing.
    ///
    /// # Errors
    ///
    /// There is no sound: only headers were recorded, or nothing can be decoded.
    pub(crate) fn sound(
        &mut self,
        decoders: &dyn Decoders,
        wav: &File,
        peaks: &mut Vec<u8>,
    ) -> anyhow::Result<Vec<Mark>> {
        if self.packets.is_mute() {
            bail!("only the headers of its media were recorded ([spool] keep = \"headers\")");
        }
        let mut source = Source::Spool { packets: &self.packets, reader: self.spool };
        let (sound, mute) = Replay::sound(&self.selected, &mut source, decoders)?;
        let [left, right] = sound.tracks();
        let mut recording = mix(&left, &right, MixSettings::default(), decoders)?;
        let shape = recording.shape();
        if shape.frames == 0 {
            let why: Vec<&str> = mute.iter().map(|stream| stream.why.as_str()).collect();
            match why.is_empty() {
                true => bail!("it has no sound: no packet of its media was recorded"),
                false => bail!("it has no sound that can be decoded: {}", why.join("; ")),
            }
        }
        let wav = UntilStopped { to: wav, stop: &self.stop };
        play(
            &mut recording,
            vec![
                Box::new(Wav::new(BufWriter::with_capacity(1 << 16, wav), shape)?),
                Box::new(Peaks::new(peaks, shape, PEAK)),
            ],
        )?;
        let mut lost = LostPackets::of(&self.selected);
        self.source().run(&mut lost)?;
        Ok(lost.marks(shape.start))
    }
}

/// An error where nobody waits for the answer any more.
pub(super) fn go_on(stop: &Stop) -> anyhow::Result<()> {
    ensure!(!stop.is_over(), GIVEN_UP);
    Ok(())
}

/// A file that cannot be written any more once nobody waits for it: what makes it ends.
struct UntilStopped<'a, W> {
    to: W,
    stop: &'a Stop,
}

impl<W: Write> Write for UntilStopped<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.is_over() { Err(io::Error::other(GIVEN_UP)) } else { self.to.write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// What is said where nobody reads it.
const GIVEN_UP: &str = "nobody waits for it any more";
/// Span of one minimum and maximum of the waveform.
const PEAK: Nanos = Nanos::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_nobody_waits_for_is_not_written_to_its_end() {
        let (stop, mut written) = (Stop::default(), Vec::new());
        let mut file = UntilStopped { to: &mut written, stop: &stop };
        file.write_all(b"RIFF").unwrap();
        assert!(go_on(&stop).is_ok());
        stop.stop();
        assert!(file.write_all(b"WAVE").is_err() && go_on(&stop).is_err());
        assert_eq!(written, b"RIFF");
    }
}

//! The sound of calls as files in memory, to embed into a page.

use std::io::Cursor;

use ringtap_audio::{
    EncoderSettings, Error, Flac, MixSettings, Opus, Output, OutputFormat, Recording, mix, play,
};
use ringtap_export::chosen::Sounds;
use ringtap_export::collect;
use ringtap_export::find::SelectedCalls;
use ringtap_model::{Hz, Nanos};
use ringtap_report::html::Sound;
use ringtap_report::time;

use crate::helper::{self, Helpers};
use crate::sound::sides;

/// Encodes the sound of calls, up to a number of bytes.
pub(crate) struct Embedding {
    limit: usize,
    /// Ogg Opus; FLAC without its library.
    opus: bool,
}

impl Embedding {
    /// Embeds at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        let shape = OutputFormat { rate: Hz(8_000), channels: 1, frames: 0, start: Nanos::ZERO };
        Self { limit, opus: helper::encoder(EncoderSettings::of(shape, RATE)).is_ok() }
    }

    /// The sound of each call, read by one pass over the input, and how many calls are beyond the limit.
    pub(crate) fn of(
        &self,
        calls: &[SelectedCalls],
        pass: impl FnOnce(&mut Sounds<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<(Vec<Sound>, u64)> {
        let mut planned = Vec::new();
        let mut reasons = Vec::new();
        let (mut estimated, mut payload, mut beyond) = (0, 0, 0);
        for call in calls {
            let (size, raw) = self.estimate(call);
            let fits = estimated + size <= self.limit && payload + raw <= self.limit.saturating_mul(PAYLOAD);
            let (sound, mute) = collect::Sound::of(call, fits, &Helpers);
            if fits {
                estimated += size;
                payload += raw;
                planned.push((call, sound));
            } else {
                beyond += 1;
            }
            reasons.push((fits, mute));
        }
        let mut sounds = Sounds::new(planned);
        pass(&mut sounds)?;
        let mut collected = sounds.finish().into_iter();
        let mut left = self.limit;
        let mut all = Vec::new();
        for (fits, mute) in reasons {
            let sound = if fits { collected.next() } else { None };
            let sound = match sound {
                Some(sound) => self.encoded(sound, &mute),
                None => Sound::Missing(BEYOND.to_owned()),
            };
            let size = sound.size();
            if size > left {
                beyond += 1;
                all.push(Sound::Missing(BEYOND.to_owned()));
            } else {
                left -= size;
                all.push(sound);
            }
        }
        Ok((all, beyond))
    }

    /// Bytes of the file that a call will be, roughly, and of the payload that is in memory until then.
    fn estimate(&self, call: &SelectedCalls) -> (usize, usize) {
        let per_second = if self.opus { RATE as usize / 8 } else { 10_000 };
        let streams = call.streams().map(|(_, stream)| &stream.record);
        streams.fold((0, 0), |(size, raw), stream| {
            let seconds = stream.last.since(stream.first).secs_f64() as usize + 1;
            let bytes = usize::try_from(stream.bytes).unwrap_or(usize::MAX);
            (seconds.saturating_mul(per_second).saturating_add(size), bytes.saturating_add(raw))
        })
    }

    /// A call that cannot be heard says why.
    fn encoded(&self, sound: collect::Sound, mute: &[collect::Undecoded]) -> Sound {
        let reasons = || mute.iter().map(|stream| &*stream.why).collect::<Vec<_>>().join("; ");
        let [left, right] = sound.tracks();
        if left.is_empty() && right.is_empty() {
            let why = if mute.is_empty() { "No media of the call was seen.".to_owned() } else { reasons() };
            return Sound::Missing(why);
        }
        let silent = [left.is_empty(), right.is_empty()];
        let settings = MixSettings::default();
        let file = mix(&left, &right, settings, &Helpers).and_then(|mut recording| {
            let data = self.file(&mut recording)?;
            let length = recording.frames() as f64 * 1e3 / f64::from(recording.rate().0);
            Ok((data, time::span(length)))
        });
        match file {
            Ok((data, length)) => {
                let missing = if mute.is_empty() { String::new() } else { format!("; {}", reasons()) };
                let mime = if self.opus { "audio/ogg" } else { "audio/flac" };
                let sides = format!("{length}, {}{missing}", sides(settings.sides, silent));
                Sound::File { mime, data, sides }
            }
            Err(error) => Sound::Missing(format!("The sound cannot be decoded: {error}")),
        }
    }

    fn file(&self, recording: &mut Recording<'_>) -> Result<Vec<u8>, Error> {
        let shape = recording.shape();
        let mut data = Cursor::new(Vec::new());
        let output: Box<dyn Output + '_> = if self.opus {
            let encoder = helper::encoder(EncoderSettings::of(shape, RATE))?;
            Box::new(Opus::new(&mut data, shape, encoder, &[])?)
        } else {
            Box::new(Flac::new(&mut data, shape)?)
        };
        play(recording, vec![output])?;
        Ok(data.into_inner())
    }
}

/// Bits per second and channel of Opus: speech is transparent.
const RATE: u32 = 24_000;
/// Payload in memory, in multiples of the limit.
const PAYLOAD: usize = 16;
const BEYOND: &str = "The sound of this call is beyond the limit of sound in this page.";

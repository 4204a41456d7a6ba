//! The sound of the calls: speech-like noise, or a recording.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use crate::error::Error;
use crate::g711;
use crate::rng::Rng;

/// Sound of both parties at 8 kHz, encoded in both laws of G.711. It repeats in longer calls.
#[derive(Clone)]
pub struct Voice {
    caller: Arc<Coded>,
    callee: Arc<Coded>,
    /// Whether every call begins at the first sample, as for a recording.
    recorded: bool,
}

/// The same sound in two codecs.
struct Coded {
    mu_law: Vec<u8>,
    a_law: Vec<u8>,
}

impl Voice {
    /// Half a minute with the rhythm and pitch of speech, the same for a seed; each stream begins at a random
    /// offset.
    pub fn synthetic(seed: u64) -> Self {
        let speak = |stream, pitch| Arc::new(Coded::new(&speech(&mut Rng::new(seed, stream), pitch)));
        Self { caller: speak(CALLER, 66), callee: speak(CALLEE, 40), recorded: false }
    }

    /// A WAV of 16-bit PCM at 8 kHz: both parties use a single channel; of two, the caller has the left and
    /// the callee the right one.
    ///
    /// # Errors
    ///
    /// [`Error::Sound`], with the command that converts the file.
    pub fn from_wav(wav: impl Read) -> Result<Self, Error> {
        let wrong = |error: hound::Error| Error::Sound(format!("cannot read the WAV: {error}"));
        let reader = hound::WavReader::new(wav).map_err(wrong)?;
        let hound::WavSpec { channels, sample_rate, bits_per_sample, sample_format } = reader.spec();
        if sample_rate != 8_000 || bits_per_sample != 16 || sample_format != hound::SampleFormat::Int {
            return Err(Error::Sound(format!(
                "the file has {bits_per_sample} bits at {sample_rate} Hz, not 16 at 8000"
            )));
        }
        let samples: Vec<i16> = reader.into_samples().collect::<Result<_, _>>().map_err(wrong)?;
        let channel = |first: usize| -> Vec<i16> {
            samples.iter().skip(first).step_by(usize::from(channels)).copied().collect()
        };
        let (left, right) = match channels {
            1 => (channel(0), channel(0)),
            2 => (channel(0), channel(1)),
            _ => return Err(Error::Sound(format!("the file has {channels} channels, not 1 or 2"))),
        };
        if right.is_empty() {
            return Err(Error::Sound("the file has no samples".to_owned()));
        }
        Ok(Self { caller: Arc::new(Coded::new(&left)), callee: Arc::new(Coded::new(&right)), recorded: true })
    }

    /// Offset at which a stream begins: random for noise.
    pub(crate) fn begin(&self, rng: &mut Rng) -> u64 {
        let index = rng.below(self.caller.mu_law.len() as u64);
        if self.recorded { 0 } else { index }
    }

    /// Appends `count` octets from sample `at` on.
    pub(crate) fn octets(&self, caller: bool, law: Law, at: u64, count: usize, to: &mut Vec<u8>) {
        let coded = if caller { &self.caller } else { &self.callee };
        let octets = match law {
            Law::Mu => &coded.mu_law,
            Law::A => &coded.a_law,
        };
        let mut at = (at % octets.len() as u64) as usize;
        let mut left = count;
        while left > 0 {
            let part = left.min(octets.len() - at);
            to.extend_from_slice(&octets[at..at + part]);
            left -= part;
            at = 0;
        }
    }
}

impl fmt::Debug for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Voice({} samples, recorded: {})", self.caller.mu_law.len(), self.recorded)
    }
}

/// The laws of G.711.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    Mu,
    A,
}

impl Coded {
    fn new(samples: &[i16]) -> Self {
        Self {
            mu_law: samples.iter().map(|sample| g711::mu_law(*sample)).collect(),
            a_law: samples.iter().map(|sample| g711::a_law(*sample)).collect(),
        }
    }
}

/// Pulses and noise through a moving resonance, like vowels, with an envelope of syllables (3 to 6 a second)
/// in phrases of one to three seconds with pauses. The pitch is the number of samples between two pulses.
fn speech(rng: &mut Rng, pitch: u64) -> Vec<i16> {
    let mut samples = Vec::with_capacity(LENGTH);
    let mut filter = Resonance::default();
    while samples.len() < LENGTH {
        let phrase_end = samples.len() + rng.between(8_000, 24_000) as usize;
        while samples.len() < phrase_end {
            let syllable = rng.between(1_300, 2_600) as usize;
            let loudness = 3_000.0 + 5_000.0 * rng.unit();
            filter.tune(300.0 + 500.0 * rng.unit());
            let period = rng.between(pitch * 9 / 10, pitch * 11 / 10) as usize;
            for index in 0..syllable {
                // A parabola from 0 over 1 to 0.
                let x = index as f64 / syllable as f64;
                let envelope = 4.0 * x * (1.0 - x);
                let pulse = if index % period == 0 { 1.0 } else { 0.0 };
                samples.push(sample(filter.next(rng, pulse), loudness * envelope));
            }
        }
        for _ in 0..rng.between(2_400, 9_600) {
            samples.push(sample(filter.next(rng, 0.0), 12.0));
        }
    }
    samples.truncate(LENGTH);
    samples
}

fn sample(value: f64, loudness: f64) -> i16 {
    (value * loudness).clamp(-32_000.0, 32_000.0) as i16
}

/// A two-pole filter: y = x + a y1 - b y2.
#[derive(Default)]
struct Resonance {
    a: f64,
    y1: f64,
    y2: f64,
}

impl Resonance {
    /// Pole radius: a bandwidth of about 200 Hz.
    const RADIUS: f64 = 0.925;

    fn tune(&mut self, hertz: f64) {
        self.a = 2.0 * Self::RADIUS * libm::cos(std::f64::consts::TAU * hertz / 8_000.0);
    }

    /// Adds a little noise to the pulse.
    fn next(&mut self, rng: &mut Rng, pulse: f64) -> f64 {
        let x = pulse + (2.0 * rng.unit() - 1.0) * 0.1;
        let y = x + self.a * self.y1 - Self::RADIUS * Self::RADIUS * self.y2;
        (self.y2, self.y1) = (self.y1, y);
        y
    }
}

/// Half a minute.
const LENGTH: usize = 30 * 8_000;
const CALLER: u64 = 0x0063_616c_6c65_7200;
const CALLEE: u64 = 0x0063_616c_6c65_6500;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn wav(channels: u16, sample_rate: u32, samples: &[i16]) -> Vec<u8> {
        let spec = hound::WavSpec {
            channels,
            sample_rate,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let mut bytes = Cursor::new(Vec::new());
        let mut writer = hound::WavWriter::new(&mut bytes, spec).unwrap();
        samples.iter().for_each(|sample| writer.write_sample(*sample).unwrap());
        writer.finalize().unwrap();
        bytes.into_inner()
    }

    /// Loud and quiet hundredths of a second: a talker is silent a part of the time.
    #[test]
    fn noise_has_phrases_and_pauses() {
        let samples = speech(&mut Rng::new(1, CALLER), 66);
        let levels: Vec<f64> = samples
            .chunks(80)
            .map(|chunk| chunk.iter().map(|s| f64::from(*s).powi(2)).sum::<f64>() / 80.0)
            .map(f64::sqrt)
            .collect();
        let quiet = levels.iter().filter(|level| **level < 100.0).count() as f64 / levels.len() as f64;
        let loud = levels.iter().filter(|level| **level > 1_000.0).count() as f64 / levels.len() as f64;
        assert!((0.1..0.5).contains(&quiet) && loud > 0.4, "quiet {quiet}, loud {loud}");
        assert!(samples.iter().all(|sample| sample.abs() < 32_000), "nothing is clipped");
        assert_ne!(samples[..800], speech(&mut Rng::new(2, CALLER), 66)[..800]);
    }

    #[test]
    fn a_recording_is_played_from_its_beginning_and_repeats() {
        let voice = Voice::from_wav(&wav(2, 8_000, &[0, 1_000, 0, -1_000])[..]).unwrap();
        assert_eq!(voice.begin(&mut Rng::new(1, 1)), 0);
        let mut octets = Vec::new();
        voice.octets(true, Law::Mu, 0, 3, &mut octets);
        voice.octets(false, Law::Mu, 1, 4, &mut octets);
        assert_eq!(octets, [0xff, 0xff, 0xff, 0x4e, 0xce, 0x4e, 0xce]);
    }

    #[test]
    fn other_sounds_are_refused_with_the_way_to_make_one() {
        let cases = [wav(1, 44_100, &[1]), wav(3, 8_000, &[1, 2, 3]), wav(1, 8_000, &[]), b"RIFX".to_vec()];
        for bytes in cases {
            let error = Voice::from_wav(&bytes[..]).unwrap_err().to_string();
            assert!(error.contains("sox in.wav -r 8000"), "{error}");
        }
    }
}

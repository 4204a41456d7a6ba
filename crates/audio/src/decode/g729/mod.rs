//! G.729 (ITU-T G.729, 06/2012) with annex A's postfilter and annex B's comfort noise: ten bytes are 10 ms.
//!
//! Written from the Recommendation's text, in floating point as annex C allows, so it is close but not equal
//! to the fixed-point decoders; `docs/manual/sound.md` gives the difference. Section numbers are those of the
//! Recommendation.
//!
//! | module | holds |
//! |---|---|
//! | `spectrum` | the filter of the vocal tract |
//! | `excitation` | its excitation |
//! | `postfilter` | the postfilter of its output |
//! | `arithmetic` | sums over rows of samples |
//! | `tables` | numeric tables |

mod arithmetic;
mod excitation;
mod postfilter;
mod spectrum;
mod tables;

use super::decoder::{DecodeStep, Decoder};
use crate::Error;
use arithmetic::faded;
use excitation::{Delay, Excitation, SUBFRAME};
use postfilter::{Postfilter, synthesize};
use spectrum::{Filter, Spectrum};

/// A decoder of one stream.
#[derive(Clone, Debug)]
pub(crate) struct G729 {
    spectrum: Spectrum,
    excitation: Excitation,
    /// Of the synthesis filter.
    memory: [f32; 10],
    postfilter: Postfilter,
    /// Of the last subframe.
    delay: usize,
    /// Whether one of the last two subframes was.
    periodic: bool,
    /// Comfort noise, from its description until speech.
    noise: Option<Noise>,
}

/// Comfort noise (annex B).
#[derive(Clone, Copy, Debug)]
struct Noise {
    /// Root mean square of the excitation: as described, and as it is.
    wanted: f32,
    level: f32,
    seed: i16,
}

impl G729 {
    pub(crate) fn new() -> Self {
        Self {
            spectrum: Spectrum::new(),
            excitation: Excitation::new(),
            memory: [0.0; 10],
            postfilter: Postfilter::new(),
            delay: 60,
            periodic: false,
            noise: None,
        }
    }

    /// A frame of ten bytes is speech, one of two describes noise; any other length is a missing frame.
    fn frame(&mut self, bytes: &[u8], out: &mut Vec<i16>) {
        match (<&[u8; 10]>::try_from(bytes), <[u8; 2]>::try_from(bytes)) {
            (Ok(frame), _) => self.speech(frame, out),
            (_, Ok(frame)) => {
                self.set_noise(u16::from_be_bytes(frame));
                self.comfort_noise(out);
            }
            // After a noise description it was not sent; else it was lost.
            _ if self.noise.is_some() => self.comfort_noise(out),
            _ => self.lost(out),
        }
    }

    /// Section 4.1, table 8.
    fn speech(&mut self, frame: &[u8; 10], out: &mut Vec<i16>) {
        let mut bits = BitReader(frame.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte)), 80);
        let envelope = spectrum::Codewords {
            predictor: bits.read(1),
            first: bits.read(7),
            second: [bits.read(5), bits.read(5)],
        };
        let (delay, parity) = (bits.read(8), bits.read(1));
        let words = |bits: &mut BitReader| excitation::Codewords {
            pulses: bits.read(13),
            signs: bits.read(4),
            gains: [bits.read(3), bits.read(4)],
        };
        let first_words = words(&mut bits);
        let second = bits.read(5);
        let second_words = words(&mut bits);
        // The six upper bits and the parity bit have an odd number of ones; else the delay is the one before
        // (section 4.4.2).
        let whole = ((delay >> 2).count_ones() as usize + parity) % 2 == 1;
        let first = if whole { Delay::first(delay) } else { Delay { whole: self.delay, third: 0 } };
        let second = Delay::second(second, first.whole);
        self.noise = None;
        let filters = self.spectrum.speech(envelope);
        let mut periodic = false;
        for (at, (delay, words)) in [(first, first_words), (second, second_words)].into_iter().enumerate() {
            let excitation = *self.excitation.speech(at, delay, words);
            periodic |= self.sound(excitation, &filters[at], Some(delay.whole), out);
        }
        self.periodic = periodic;
        self.delay = second.whole;
        self.excitation.advance();
    }

    /// Section 4.4: the delay grows by one each subframe, so that the repetition does not hum.
    fn lost(&mut self, out: &mut Vec<i16>) {
        let filters = self.spectrum.repeat();
        for (at, filter) in filters.iter().enumerate() {
            let delay = Delay { whole: self.delay, third: 0 };
            let excitation = *self.excitation.lost(at, delay, self.periodic);
            self.sound(excitation, filter, Some(delay.whole), out);
            self.delay = (self.delay + 1).min(excitation::LONGEST);
        }
        self.excitation.advance();
    }

    /// B.4.1.3 and table B.2: predictor, two stages of the envelope, and the level.
    fn set_noise(&mut self, frame: u16) {
        let mut bits = BitReader(u128::from(frame), 16);
        let predictor = bits.read(1);
        let first = bits.read(5);
        let second = bits.read(4);
        self.spectrum.set_noise(spectrum::Codewords { predictor, first, second: [second; 2] });
        let wanted = level(bits.read(5));
        match &mut self.noise {
            Some(noise) => noise.wanted = wanted,
            // After speech the level applies at once.
            None => self.noise = Some(Noise { wanted, level: wanted, seed: 11_111 }),
        }
    }

    /// B.4.4.
    fn comfort_noise(&mut self, out: &mut Vec<i16>) {
        let Some(mut noise) = self.noise else { return };
        noise.level += (noise.wanted - noise.level) / 8.0;
        for (at, filter) in self.spectrum.filters().iter().enumerate() {
            let excitation = *self.excitation.noise(at, noise.level, &mut noise.seed);
            self.sound(excitation, filter, None, out);
        }
        self.periodic = false;
        self.noise = Some(noise);
        self.excitation.advance();
    }

    /// A subframe through the vocal tract and the postfilter; whether it is periodic.
    fn sound(
        &mut self,
        samples: [f32; SUBFRAME],
        filter: &Filter,
        delay: Option<usize>,
        out: &mut Vec<i16>,
    ) -> bool {
        let mut speech = [0.0; 10 + SUBFRAME];
        speech[..10].copy_from_slice(&self.memory);
        speech[10..].copy_from_slice(&samples);
        synthesize(filter, &mut speech);
        self.memory.copy_from_slice(&speech[SUBFRAME..]);
        self.memory = self.memory.map(faded);
        self.postfilter.run(&speech, filter, delay, out)
    }
}

impl Decoder for G729 {
    fn run(&mut self, steps: &[DecodeStep<'_>], out: &mut Vec<i16>) -> Result<(), Error> {
        for step in steps {
            let end = out.len() + step.samples();
            match step {
                DecodeStep::Packet { payload, .. } => {
                    payload.chunks(10).for_each(|frame| self.frame(frame, out))
                }
                DecodeStep::Lost { samples, .. } => {
                    (0..samples.div_ceil(80)).for_each(|_| self.frame(&[], out))
                }
            }
            out.resize(end, 0);
        }
        Ok(())
    }

    fn conceals(&self) -> bool {
        true
    }
}

/// BitReader from the top, and how many are left.
struct BitReader(u128, u32);

impl BitReader {
    fn read(&mut self, width: u32) -> usize {
        self.1 -= width;
        (self.0 >> self.1) as usize & ((1 << width) - 1)
    }
}

/// The levels of noise (B.4.2.1) as root mean square: -12 dB, -4 to 16 dB by 4, 18 to 66 dB by 2.
fn level(word: usize) -> f32 {
    let decibels = match word {
        0 => -12,
        1..=6 => 4 * word as i32 - 8,
        _ => 2 * word as i32 + 4,
    };
    10_f32.powf(decibels as f32 / 20.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power(samples: &[i16]) -> f64 {
        let sum: f64 = samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
        10.0 * (sum / samples.len() as f64).max(1e-3).log10()
    }

    /// Frames of any bits: loud, and nothing that anybody said.
    fn noise(frames: usize) -> Vec<u8> {
        let mut state = 9_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..10 * frames).map(|_| next()).collect()
    }

    fn decoded(decoder: &mut G729, steps: &[DecodeStep<'_>]) -> Vec<i16> {
        let mut out = Vec::new();
        decoder.run(steps, &mut out).expect("it does not fail");
        assert_eq!(out.len(), steps.iter().map(DecodeStep::samples).sum::<usize>());
        out
    }

    #[test]
    fn delays_of_every_codeword() {
        let first: Vec<i32> = (0..256)
            .map(|word| {
                let delay = Delay::first(word);
                3 * delay.whole as i32 + delay.third
            })
            .collect();
        // 19 1/3 to 84 2/3 by thirds, then 85 to 143 (section 3.7).
        assert_eq!(first[..197], (58..255).collect::<Vec<_>>());
        assert_eq!(first[197..], (85..144).map(|whole| 3 * whole).collect::<Vec<_>>());
        for (before, lowest) in [(19, 20), (40, 35), (143, 134)] {
            let second: Vec<i32> = (0..32)
                .map(|word| {
                    let delay = Delay::second(word, before);
                    3 * delay.whole as i32 + delay.third
                })
                .collect();
            // Two thirds below the lowest whole one, to two thirds above the highest, nine on.
            assert_eq!(second, (0..32).map(|word| 3 * lowest - 2 + word).collect::<Vec<_>>());
        }
    }

    #[test]
    fn any_bits_are_finite_and_what_follows_silence_is_sound() {
        let bytes = noise(3_000);
        let mut decoder = G729::new();
        let packets: Vec<DecodeStep<'_>> = bytes
            .chunks(10)
            .enumerate()
            .map(|(at, payload)| match at % 7 {
                0 => DecodeStep::Lost { samples: 100, next: None },
                // A description of noise.
                1 => DecodeStep::Packet { payload: &payload[..2], samples: 80 },
                _ => DecodeStep::Packet { payload, samples: 80 },
            })
            .collect();
        decoded(&mut decoder, &packets);
        let state = &decoder.memory;
        assert!(state.iter().all(|value| value.is_finite()), "{state:?}");
        // Ten minutes of loss leave nothing, and then there is sound again.
        let lost = decoded(&mut decoder, &[DecodeStep::Lost { samples: 4_800_000, next: None }]);
        assert!(power(&lost[4_000_000..]) < power(&lost[..800]).max(60.0) - 20.0);
        assert!(power(&decoded(&mut decoder, &packets)) > 50.0);
    }

    #[test]
    fn loss_fades() {
        let bytes = noise(50);
        let mut decoder = G729::new();
        let packets: Vec<DecodeStep<'_>> =
            bytes.chunks(10).map(|payload| DecodeStep::Packet { payload, samples: 80 }).collect();
        let before = power(&decoded(&mut decoder, &packets)[2_400..]);
        let lost = decoded(&mut decoder, &[DecodeStep::Lost { samples: 8_000, next: None }]);
        let [early, late] = [power(&lost[..800]), power(&lost[7_200..])];
        assert!(early < before && early > 20.0 && late < early - 15.0, "{before} {early} {late}");
    }

    #[test]
    fn noise_is_as_loud_as_described_for_as_long_as_it_lasts() {
        // The excitation at 34 dB (word 15); the predictor, both stages 0.
        let word = 15_u16 << 1;
        let mut decoder = G729::new();
        let described = word.to_be_bytes();
        let first = decoded(&mut decoder, &[DecodeStep::Packet { payload: &described, samples: 80 }]);
        let rest = decoded(&mut decoder, &[DecodeStep::Lost { samples: 80 * 500, next: None }]);
        let [first, early, late] = [&first[..], &rest[..8_000], &rest[32_000..]].map(power);
        assert!((early - late).abs() < 1.0, "{early} {late}");
        // The filter amplifies; twice is 6 dB.
        assert!(first > 30.0 && (35.0..60.0).contains(&early), "{first} {early}");
        // Described softer, it goes down by an eighth of the way each frame.
        let softer = (5_u16 << 1).to_be_bytes();
        decoded(&mut decoder, &[DecodeStep::Packet { payload: &softer, samples: 80 }]);
        let soft = decoded(&mut decoder, &[DecodeStep::Lost { samples: 80 * 500, next: None }]);
        assert!((early - power(&soft[8_000..]) - 22.0).abs() < 3.0);
    }
}

//! Both directions of a call in one WAV.

use std::io::{Seek, Write};

use hound::{SampleFormat, WavSpec, WavWriter};
use ringtap_model::Nanos;

use crate::{Error, Track};

/// Places the tracks of the two directions on one time line: `left` and `right` begin by the capture time of their first packets.
///
/// Tracks of one side follow one another (a re-INVITE, another SSRC). Where one begins up to half a second before the one
/// before it has ended, it waits; where they overlap by more, both sound, and are added.
pub fn mix<'a>(left: &'a [Track], right: &'a [Track]) -> Stereo<'a> {
    let start = left.iter().chain(right).filter_map(Track::start).min().unwrap_or_default();
    Stereo { start, sides: [side(left, start), side(right, start)] }
}

/// Two sides of sound at 8000 samples a second.
#[derive(Clone, Debug)]
pub struct Stereo<'a> {
    start: Nanos,
    sides: [Vec<Placed<'a>>; 2],
}

/// A track and where it begins.
#[derive(Clone, Debug)]
struct Placed<'a> {
    track: &'a Track,
    /// In samples of the WAV.
    start: u64,
}

impl Placed<'_> {
    fn end(&self) -> u64 {
        self.start + resampled(self.track)
    }

    /// Adds what this track has between `from` and the end of `out`.
    fn add(&self, from: u64, out: &mut [i32], scratch: &mut Vec<i16>) {
        let to = from + out.len() as u64;
        let (start, end) = (self.start.max(from), self.end().min(to));
        if start >= end {
            return;
        }
        let out = &mut out[(start - from) as usize..(end - from) as usize];
        let rate = u64::from(self.track.rate().0);
        let source = |sample: u64| sample * rate / RATE;
        // The samples of the track that a sample of the WAV stands for: one, several to take the mean of, or one that
        // several share.
        let begin = source(start - self.start);
        let end = source(end - self.start).max(source(end - self.start - 1) + 1);
        scratch.resize((end - begin) as usize, 0);
        self.track.read(begin, scratch);
        for (index, sum) in (start - self.start..).zip(out) {
            let first = (source(index) - begin) as usize;
            let last = (source(index + 1) - begin) as usize;
            let samples = &scratch[first..last.max(first + 1)];
            let total: i32 = samples.iter().map(|sample| i32::from(*sample)).sum();
            *sum += total / samples.len() as i32;
        }
    }
}

impl Stereo<'_> {
    /// When the first sample was captured.
    pub fn start(&self) -> Nanos {
        self.start
    }

    /// Samples of each side; 8000 are a second.
    pub fn frames(&self) -> u64 {
        self.sides.iter().flatten().map(Placed::end).max().unwrap_or(0).min(CEILING)
    }

    /// Writes 16-bit PCM with two channels at 8000 Hz. [`Error::Nothing`] where no track has a sample.
    pub fn write_wav<W: Write + Seek>(&self, to: W) -> Result<(), Error> {
        let frames = self.frames();
        if frames == 0 {
            return Err(Error::Nothing);
        }
        let spec = WavSpec {
            channels: 2,
            sample_rate: RATE as u32,
            bits_per_sample: 16,
            sample_format: SampleFormat::Int,
        };
        let mut writer = WavWriter::new(to, spec)?;
        let mut sums = [[0; BLOCK]; 2];
        let mut scratch = Vec::new();
        for from in (0..frames).step_by(BLOCK) {
            let count = (frames - from).min(BLOCK as u64) as usize;
            for (side, sums) in self.sides.iter().zip(&mut sums) {
                sums.fill(0);
                side.iter().for_each(|placed| placed.add(from, &mut sums[..count], &mut scratch));
            }
            let mut block = writer.get_i16_writer(2 * count as u32);
            let [left, right] = &sums;
            for (left, right) in left.iter().zip(right).take(count) {
                block.write_sample(clipped(*left));
                block.write_sample(clipped(*right));
            }
            block.flush()?;
        }
        Ok(writer.finalize()?)
    }
}

/// The tracks of one side in order, those without sound and those that begin beyond the end left out.
fn side(tracks: &[Track], origin: Nanos) -> Vec<Placed<'_>> {
    let mut starts: Vec<(Nanos, &Track)> =
        tracks.iter().filter_map(|track| Some((track.start()?, track))).collect();
    starts.sort_by_key(|(start, _)| *start);
    let mut side: Vec<Placed<'_>> = Vec::with_capacity(starts.len());
    for (start, track) in starts {
        // Rounded to the nearest sample.
        let offset = u128::from((start - origin).0) * u128::from(RATE) + u128::from(SECOND / 2);
        let mut start = (offset / u128::from(SECOND)) as u64;
        if let Some(end) = side.last().map(Placed::end)
            && (start..start + RATE / 2).contains(&end)
        {
            start = end;
        }
        if start < CEILING {
            side.push(Placed { track, start });
        }
    }
    side
}

/// How many samples a track has in the WAV.
fn resampled(track: &Track) -> u64 {
    (track.samples() * RATE).div_ceil(u64::from(track.rate().0))
}

fn clipped(sum: i32) -> i16 {
    sum.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

const SECOND: u64 = 1_000_000_000;
/// Samples a second in the WAV.
const RATE: u64 = 8_000;
/// 24 hours: two channels of them stay below the 4 GiB that a WAV can hold.
const CEILING: u64 = 24 * 3600 * RATE;
const BLOCK: usize = 4_096;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ringtap_model::Hz;

    use super::*;
    use crate::{Codec, RtpSound};

    /// A track whose packets of 20 ms all hold one mu-law byte; from `millis` on.
    fn track(byte: u8, clock: u32, millis: u64, packets: u16) -> Track {
        let mut track = Track::new(Codec::Pcmu, Hz(clock));
        let samples = clock / 50;
        for number in 0..packets {
            track.push(RtpSound {
                arrival: Nanos::from_millis(millis + 20 * u64::from(number)),
                sequence: number,
                timestamp: u32::from(number) * samples,
                payload_type: 0,
                payload: &vec![byte; samples as usize],
            });
        }
        track
    }

    /// Runs of equal pairs in the WAV: how many, left, right.
    fn runs(left: &[Track], right: &[Track]) -> Vec<(usize, i16, i16)> {
        let mut wav = Cursor::new(Vec::new());
        let stereo = mix(left, right);
        stereo.write_wav(&mut wav).expect("a vector takes everything");
        let reader = hound::WavReader::new(Cursor::new(wav.into_inner())).expect("a WAV");
        let spec = reader.spec();
        assert_eq!((spec.channels, spec.sample_rate, spec.bits_per_sample), (2, 8_000, 16));
        let samples: Vec<i16> = reader.into_samples().map(|sample| sample.expect("whole")).collect();
        assert_eq!(samples.len() as u64, 2 * stereo.frames());
        let pairs: Vec<(i16, i16)> = samples.chunks(2).map(|pair| (pair[0], pair[1])).collect();
        pairs.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0].0, run[0].1)).collect()
    }

    const LOUD: i16 = 32_124;
    const SOFT: i16 = 8;

    #[test]
    fn sides_keep_their_distance_in_time() {
        let (left, right) = ([track(0x80, 8_000, 1_000, 100)], [track(0xfe, 8_000, 2_500, 50)]);
        assert_eq!(runs(&left, &right), [(12_000, LOUD, 0), (4_000, LOUD, SOFT), (4_000, 0, SOFT)]);
        assert_eq!(mix(&left, &right).start(), Nanos::from_secs(1));
    }

    #[test]
    fn tracks_of_a_side_follow_one_another() {
        let pause = [track(0xfe, 8_000, 3_000, 50), track(0x80, 8_000, 1_000, 50)];
        assert_eq!(runs(&[], &pause), [(8_000, 0, LOUD), (8_000, 0, 0), (8_000, 0, SOFT)]);
        let touching = [track(0x80, 8_000, 1_000, 50), track(0xfe, 8_000, 1_900, 50)];
        assert_eq!(runs(&touching, &[]), [(8_000, LOUD, 0), (8_000, SOFT, 0)]);
    }

    #[test]
    fn what_sounds_at_once_is_added() {
        let both = [track(0xfe, 8_000, 0, 100), track(0xfe, 8_000, 1_000, 50)];
        assert_eq!(runs(&both, &[]), [(8_000, SOFT, 0), (8_000, 2 * SOFT, 0)]);
        let clipped = [track(0x80, 8_000, 0, 50), track(0x80, 8_000, 0, 50)];
        assert_eq!(runs(&[], &clipped), [(8_000, 0, i16::MAX)]);
    }

    #[test]
    fn other_clocks_last_as_long() {
        for clock in [16_000, 48_000, 1_000, 11_000] {
            let tracks = [track(0x80, clock, 0, 400)];
            assert_eq!(runs(&tracks, &[]), [(64_000, LOUD, 0)], "{clock} Hz");
        }
    }

    #[test]
    fn no_sound_is_an_error() {
        let silent = [track(0x80, 8_000, 0, 0)];
        let error = mix(&silent, &[]).write_wav(Cursor::new(Vec::new())).expect_err("nothing to write");
        assert!(matches!(error, Error::Nothing));
    }

    #[test]
    fn capture_times_that_lie_do_not_make_a_long_file() {
        let tracks = [track(0x80, 8_000, 0, 1), track(0x80, 8_000, u64::MAX / 1_000_000, 1)];
        assert_eq!(mix(&tracks, &[]).frames(), 160);
        let late = [track(0x80, 8_000, 0, 1), track(0x80, 8_000, 24 * 3_600_000 - 10, 1)];
        assert_eq!(mix(&late, &[]).frames(), CEILING);
    }
}

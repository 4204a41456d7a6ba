//! Both directions of a call in one recording.

use ringtap_model::{Hz, Nanos};

use crate::codec::RATES;
use crate::output::OutputFormat;
use crate::playout::{Player, PlayoutFigures, PlayoutRules};
use crate::{Decoders, Error, Track};

/// The channels of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelLayout {
    /// Two channels: the left side and the right.
    #[default]
    Stereo,
    /// One channel: the sum of both.
    Mono,
    /// One channel: the left side.
    Left,
    /// One channel: the right side.
    Right,
}

impl ChannelLayout {
    /// Number of channels.
    pub fn channels(self) -> u16 {
        if self == Self::Stereo { 2 } else { 1 }
    }
}

/// Settings of a recording.
#[derive(Clone, Copy, Debug)]
pub struct MixSettings {
    /// How gaps are treated.
    pub rules: PlayoutRules,
    /// Sampling rate; by default the highest of the tracks.
    pub rate: Option<Hz>,
    /// What the channels are.
    pub sides: ChannelLayout,
    /// The recording ends after this time, and in any case after 24 hours. By default it is an hour, or four
    /// times the sound that was received: a few packets over a day would give gigabytes of silence.
    pub longest: Option<Nanos>,
    /// Tracks of one side that sound at the same time: each may need a process that decodes it. Of more,
    /// those with the fewest packets are left out.
    pub most_at_once: usize,
}

impl Default for MixSettings {
    fn default() -> Self {
        let (rules, sides) = (PlayoutRules::default(), ChannelLayout::default());
        Self { rules, rate: None, sides, longest: None, most_at_once: 16 }
    }
}

/// Places the tracks of the two directions on one time line: `left` and `right` begin by the capture time of
/// their first packets.
///
/// Tracks of one side follow one another (a re-INVITE, another SSRC). A track that begins up to half a second
/// before the end of the previous one is delayed; with more overlap both are mixed. [`Error::Rate`] for a
/// rate below 4000 or above 192000.
pub fn mix<'a>(
    left: &'a [Track],
    right: &'a [Track],
    settings: MixSettings,
    decoders: &'a dyn Decoders,
) -> Result<Recording<'a>, Error> {
    let MixSettings { rules, rate, sides, longest, most_at_once } = settings;
    let heard = |side: ChannelLayout, tracks: &'a [Track]| match sides {
        ChannelLayout::Left | ChannelLayout::Right if sides != side => &tracks[..0],
        _ => tracks,
    };
    let (left, right) = (heard(ChannelLayout::Left, left), heard(ChannelLayout::Right, right));
    let sounding = || left.iter().chain(right).filter(|track| track.start().is_some());
    let rate = rate.or_else(|| sounding().map(Track::rate).max()).unwrap_or(Hz(8_000));
    if !RATES.contains(&rate.0) || (settings.rate.is_some() && rate.0 < MIN_RATE) {
        return Err(Error::Rate { rate: rate.0 });
    }
    let start = sounding().filter_map(Track::start).min().unwrap_or_default();
    let line = Timeline { start, rate, rules, decoders };
    let [(left, left_out), (right, right_out)] =
        [left, right].map(|tracks| at_most(line.side(tracks), most_at_once));
    // Of all tracks: a long call may consist of many, one after another.
    let received = sounding().fold(0, |sum: u64, track| sum.saturating_add(track.received().0));
    let longest = longest.unwrap_or_else(|| LONGEST.max(Nanos(received.saturating_mul(SILENCE))));
    Ok(Recording {
        start,
        rate,
        sides,
        tracks: [left, right],
        longest: longest.min(Nanos::from_secs(CEILING)),
        left_out: left_out + right_out,
        at: 0,
        scratch: Vec::new(),
    })
}

/// The time line of a recording.
#[derive(Clone, Copy)]
struct Timeline<'a> {
    start: Nanos,
    rate: Hz,
    rules: PlayoutRules,
    decoders: &'a dyn Decoders,
}

impl<'a> Timeline<'a> {
    /// The tracks of one side in order, without silent ones and those that begin after the end.
    fn side(&self, tracks: &'a [Track]) -> Vec<PlacedTrack<'a>> {
        let rate = u64::from(self.rate.0);
        let mut starts: Vec<(Nanos, &Track)> =
            tracks.iter().filter_map(|track| Some((track.start()?, track))).collect();
        starts.sort_by_key(|(start, _)| *start);
        let mut side: Vec<PlacedTrack<'_>> = Vec::with_capacity(starts.len());
        for (start, track) in starts {
            // Rounded to the nearest sample.
            let offset = u128::from((start - self.start).0) * u128::from(rate) + u128::from(SECOND / 2);
            let mut start = u64::try_from(offset / u128::from(SECOND)).unwrap_or(u64::MAX);
            if let Some(end) = side.last().map(|last| last.end)
                && (start..start.saturating_add(rate / 2)).contains(&end)
            {
                start = end;
            }
            if start < CEILING * rate {
                let player = Player::new(track, self.rules, self.rate, self.decoders);
                let (packets, end) = (track.entries().len(), start + player.frames());
                side.push(PlacedTrack { start, end, packets, player });
            }
        }
        side
    }
}

/// Leaves out tracks where more than `most` sound at once, and returns how many.
fn at_most(mut tracks: Vec<PlacedTrack<'_>>, most: usize) -> (Vec<PlacedTrack<'_>>, usize) {
    // A track that was delayed may begin after the next one.
    tracks.sort_by_key(|track| track.start);
    let mut is_left_out = vec![false; tracks.len()];
    let mut at_once: Vec<usize> = Vec::new();
    for (index, track) in tracks.iter().enumerate() {
        at_once.retain(|before| tracks[*before].end > track.start);
        at_once.push(index);
        let least = at_once.iter().enumerate().min_by_key(|(_, one)| tracks[**one].packets);
        if let Some((place, _)) = least.filter(|_| at_once.len() > most) {
            is_left_out[at_once.swap_remove(place)] = true;
        }
    }
    let left_out = is_left_out.iter().filter(|out| **out).count();
    let kept = tracks.into_iter().zip(is_left_out).filter(|(_, out)| !out).map(|(track, _)| track);
    (kept.collect(), left_out)
}

/// A track, with its start and end in samples of the recording.
struct PlacedTrack<'a> {
    player: Player<'a>,
    packets: usize,
    start: u64,
    end: u64,
}

/// Sound of one or two channels, read from start to end.
pub struct Recording<'a> {
    start: Nanos,
    rate: Hz,
    sides: ChannelLayout,
    tracks: [Vec<PlacedTrack<'a>>; 2],
    longest: Nanos,
    left_out: usize,
    at: u64,
    scratch: Vec<i16>,
}

impl Recording<'_> {
    /// Capture time of the first sample.
    pub fn start(&self) -> Nanos {
        self.start
    }

    /// Samples of each channel a second.
    pub fn rate(&self) -> Hz {
        self.rate
    }

    /// One or two.
    pub fn channels(&self) -> u16 {
        self.sides.channels()
    }

    /// Samples of each channel.
    pub fn frames(&self) -> u64 {
        let longest = u128::from(self.longest.0) * u128::from(self.rate.0) / u128::from(SECOND);
        self.end().min(u64::try_from(longest).unwrap_or(u64::MAX))
    }

    /// The length that it would have without a limit, if that is longer.
    pub fn cut_from(&self) -> Option<Nanos> {
        let whole = u128::from(self.end()) * u128::from(SECOND) / u128::from(self.rate.0);
        (self.end() > self.frames()).then(|| Nanos(u64::try_from(whole).unwrap_or(u64::MAX)))
    }

    /// Tracks that are left out because more than the limit sound at once.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    fn end(&self) -> u64 {
        self.tracks.iter().flatten().map(|placed| placed.end).max().unwrap_or(0)
    }

    /// The format for an output.
    pub fn shape(&self) -> OutputFormat {
        OutputFormat { rate: self.rate, channels: self.channels(), frames: self.frames(), start: self.start }
    }

    /// Play-out figures of the sides so far, left first.
    pub fn figures(&self) -> [PlayoutFigures; 2] {
        [0, 1].map(|side: usize| {
            let all = self.tracks[side].iter().map(|placed| placed.player.figures());
            all.fold(PlayoutFigures::default(), |sum, one| PlayoutFigures {
                late: sum.late + one.late,
                concealed: sum.concealed + one.concealed,
                failures: sum.failures + one.failures,
                drift_ppm: if one.drift_ppm.abs() > sum.drift_ppm.abs() {
                    one.drift_ppm
                } else {
                    sum.drift_ppm
                },
            })
        })
    }

    /// Fills the channels, all of one length, with the next samples; returns their number, which is smaller
    /// only at the end. In mono the second is not touched.
    pub fn read(&mut self, channels: [&mut [i16]; 2]) -> Result<usize, Error> {
        let [left, right] = channels;
        let count = usize::try_from(self.frames() - self.at).unwrap_or(usize::MAX).min(left.len());
        let (from, scratch) = (self.at, &mut self.scratch);
        let [caller, callee] = &mut self.tracks;
        match self.sides {
            ChannelLayout::Stereo => {
                sound(caller, from, &mut left[..count], scratch)?;
                sound(callee, from, &mut right[..count], scratch)?;
            }
            ChannelLayout::Left => sound(caller, from, &mut left[..count], scratch)?,
            ChannelLayout::Right => sound(callee, from, &mut left[..count], scratch)?,
            ChannelLayout::Mono => {
                sound(caller, from, &mut left[..count], scratch)?;
                add(callee, from, &mut left[..count], scratch)?;
            }
        }
        self.at += count as u64;
        Ok(count)
    }
}

/// The sound of a side from `from` on.
fn sound(
    side: &mut [PlacedTrack<'_>],
    from: u64,
    out: &mut [i16],
    scratch: &mut Vec<i16>,
) -> Result<(), Error> {
    let to = from + out.len() as u64;
    let mut heard = side.iter_mut().filter(|placed| placed.start < to && from < placed.end);
    if let (Some(one), None) = (heard.next(), heard.next())
        && one.start <= from
        && to <= one.end
    {
        let count = one.player.read(out)?;
        out[count..].fill(0);
        return Ok(());
    }
    out.fill(0);
    add(side, from, out, scratch)
}

fn add(
    side: &mut [PlacedTrack<'_>],
    from: u64,
    out: &mut [i16],
    scratch: &mut Vec<i16>,
) -> Result<(), Error> {
    let to = from + out.len() as u64;
    for placed in side.iter_mut().filter(|placed| placed.start < to && from < placed.end) {
        let (start, end) = (placed.start.max(from), placed.end.min(to));
        let out = &mut out[(start - from) as usize..(end - from) as usize];
        scratch.resize(out.len(), 0);
        let count = placed.player.read(scratch)?;
        for (sum, sample) in out.iter_mut().zip(&scratch[..count]) {
            *sum = sum.saturating_add(*sample);
        }
    }
    Ok(())
}

const SECOND: u64 = 1_000_000_000;
/// Seconds: 24 hours of two channels at 8000 Hz stay below the 4 GiB that a WAV can hold.
const CEILING: u64 = 24 * 3600;
/// A recording may be that long however little sound it has.
const LONGEST: Nanos = Nanos::from_secs(3600);
/// And that many times longer than the sound of its tracks.
const SILENCE: u64 = 4;
/// Lowest rate for speech.
const MIN_RATE: u32 = 4_000;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ringtap_model::Hz;

    use super::*;
    use crate::{AudioPacket, BuiltIn, Codec, write_wav};

    /// A track whose packets of 20 ms all hold one mu-law byte; from `millis` on.
    fn track(byte: u8, clock: u32, millis: u64, packets: u16) -> Track {
        let mut track = Track::new(Codec::Pcmu, Hz(clock));
        let samples = clock / 50;
        for number in 0..packets {
            track.push(AudioPacket {
                arrival: Nanos::from_millis(millis + 20 * u64::from(number)),
                sequence: number,
                timestamp: u32::from(number) * samples,
                payload_type: 0,
                payload: &vec![byte; samples as usize],
            });
        }
        track
    }

    fn recording<'a>(left: &'a [Track], right: &'a [Track], sides: ChannelLayout) -> Recording<'a> {
        let settings = MixSettings { rate: Some(Hz(8_000)), sides, ..MixSettings::default() };
        mix(left, right, settings, &BuiltIn).expect("a rate that exists")
    }

    /// The WAV's samples.
    fn written(mut recording: Recording<'_>) -> Vec<i16> {
        let mut wav = Cursor::new(Vec::new());
        write_wav(&mut recording, &mut wav).expect("a vector takes everything");
        let reader = hound::WavReader::new(Cursor::new(wav.into_inner())).expect("a WAV");
        let spec = reader.spec();
        assert_eq!(
            (spec.channels, spec.sample_rate, spec.bits_per_sample),
            (recording.channels(), 8_000, 16)
        );
        let samples: Vec<i16> = reader.into_samples().map(|sample| sample.expect("whole")).collect();
        assert_eq!(samples.len() as u64, u64::from(recording.channels()) * recording.frames());
        samples
    }

    /// Runs of equal pairs in the WAV: how many, left, right.
    fn runs(left: &[Track], right: &[Track]) -> Vec<(usize, i16, i16)> {
        let samples = written(recording(left, right, ChannelLayout::Stereo));
        let pairs: Vec<(i16, i16)> = samples.chunks(2).map(|pair| (pair[0], pair[1])).collect();
        pairs.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0].0, run[0].1)).collect()
    }

    const LOUD: i16 = 32_124;
    const SOFT: i16 = 8;

    #[test]
    fn sides_keep_their_distance_in_time() {
        let (left, right) = ([track(0x80, 8_000, 1_000, 100)], [track(0xfe, 8_000, 2_500, 50)]);
        assert_eq!(runs(&left, &right), [(12_000, LOUD, 0), (4_000, LOUD, SOFT), (4_000, 0, SOFT)]);
        assert_eq!(recording(&left, &right, ChannelLayout::Stereo).start(), Nanos::from_secs(1));
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
    fn one_channel() {
        let (left, right) = ([track(0xfe, 8_000, 0, 100)], [track(0x80, 8_000, 1_000, 50)]);
        let heard = |sides| {
            let samples = written(recording(&left, &right, sides));
            samples.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0])).collect::<Vec<_>>()
        };
        assert_eq!(heard(ChannelLayout::Mono), [(8_000, SOFT), (8_000, LOUD + SOFT)]);
        assert_eq!(heard(ChannelLayout::Left), [(16_000, SOFT)]);
        assert_eq!(heard(ChannelLayout::Right), [(8_000, LOUD)]);
    }

    #[test]
    fn other_rates_last_as_long() {
        for clock in [16_000, 48_000, 4_000, 11_000] {
            let tracks = [track(0x8f, clock, 0, 400)];
            let samples = written(recording(&tracks, &[], ChannelLayout::Left));
            assert_eq!(samples.len(), 64_000, "{clock} Hz");
            let middle = &samples[1_000..63_000];
            let level = Codec::Pcmu.decode(0x8f);
            assert!(middle.iter().all(|sample| sample.abs_diff(level) < 20), "{clock} Hz");
        }
    }

    #[test]
    fn a_tone_keeps_its_place_at_another_rate() {
        let mut track = Track::new(Codec::L16 { channels: 1 }, Hz(16_000));
        let tone = |at: usize, rate: f64| (at as f64 * 440.0 * std::f64::consts::TAU / rate).sin() * 10_000.0;
        for number in 0..100_u16 {
            let payload: Vec<u8> = (0..320)
                .flat_map(|at| (tone(usize::from(number) * 320 + at, 16e3) as i16).to_be_bytes())
                .collect();
            track.push(AudioPacket {
                arrival: Nanos::from_millis(u64::from(number) * 20),
                sequence: number,
                timestamp: u32::from(number) * 320,
                payload_type: 96,
                payload: &payload,
            });
        }
        let tracks = [track];
        let samples = written(recording(&tracks, &[], ChannelLayout::Left));
        assert_eq!(samples.len(), 16_000);
        let worst =
            (1_000..15_000).map(|at| (f64::from(samples[at]) - tone(at, 8e3)).abs()).fold(0.0, f64::max);
        assert!(worst < 30.0, "{worst}");
    }

    #[test]
    fn the_highest_rate_is_kept() {
        let (left, right) = ([track(0xfe, 16_000, 0, 50)], [track(0xfe, 8_000, 0, 50)]);
        let both = mix(&left, &right, MixSettings::default(), &BuiltIn).expect("a rate that exists");
        assert_eq!((both.rate(), both.frames()), (Hz(16_000), 16_000));
        let settings = MixSettings { rate: Some(Hz(3_000)), ..MixSettings::default() };
        assert!(matches!(mix(&left, &[], settings, &BuiltIn), Err(Error::Rate { rate: 3_000 })));
    }

    #[test]
    fn no_sound_is_an_error() {
        let silent = [track(0x80, 8_000, 0, 0)];
        let error = write_wav(&mut recording(&silent, &[], ChannelLayout::Stereo), Cursor::new(Vec::new()));
        assert!(matches!(error, Err(Error::Nothing)));
    }

    #[test]
    fn capture_times_that_lie_do_not_make_a_long_file() {
        let tracks = [track(0x80, 8_000, 0, 1), track(0x80, 8_000, u64::MAX / 1_000_000, 1)];
        assert_eq!(recording(&tracks, &[], ChannelLayout::Stereo).frames(), 160);
        let late = [track(0x80, 8_000, 0, 1), track(0x80, 8_000, 24 * 3_600_000 - 10, 1)];
        let cut = recording(&late, &[], ChannelLayout::Stereo);
        assert_eq!((cut.frames(), cut.cut_from()), (3_600 * 8_000, Some(Nanos::from_millis(86_400_010))));
        let day = Some(Nanos::from_secs(2 * CEILING));
        let settings = MixSettings { longest: day, ..MixSettings::default() };
        let whole = mix(&late, &[], settings, &BuiltIn).expect("a rate that exists");
        assert_eq!(whole.frames(), CEILING * 8_000);
    }

    #[test]
    fn silence_has_a_limit_and_sound_has_none() {
        let spoken = [track(0x80, 8_000, 0, 60_000), track(0x80, 8_000, 1_200_000 + 3_599_000, 10)];
        let whole = recording(&spoken, &[], ChannelLayout::Mono);
        assert_eq!((whole.frames(), whole.cut_from()), (4_799_200 * 8, None));
        // Three hours of streams of ten minutes, as re-INVITEs make them.
        let many: Vec<Track> = (0..18).map(|place| track(0x80, 8_000, 600_000 * place, 30_000)).collect();
        let whole = recording(&many, &[], ChannelLayout::Mono);
        assert_eq!((whole.frames(), whole.cut_from()), (3 * 3_600 * 8_000, None));
    }

    #[test]
    fn of_too_many_tracks_at_once_those_with_the_fewest_packets_are_left_out() {
        // More than half a second, so none is delayed until the one before it ends.
        let loud = |place: usize| track(0x80, 8_000, 0, if place == 20 { 80 } else { 40 });
        let tracks: Vec<Track> = (0..40).map(loud).collect();
        let settings = MixSettings { most_at_once: 1, ..MixSettings::default() };
        let one = mix(&tracks, &[], settings, &BuiltIn).expect("a rate that exists");
        assert_eq!((one.frames(), one.left_out()), (80 * 160, 39));
        assert_eq!(recording(&tracks, &[], ChannelLayout::Mono).left_out(), 24);
        // One after another, any number.
        let queue: Vec<Track> = (0..40).map(|place| track(0x80, 8_000, 1_000 * place, 5)).collect();
        assert_eq!(recording(&queue, &[], ChannelLayout::Mono).left_out(), 0);
    }
}

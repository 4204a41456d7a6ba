//! Plays both directions of a call while it goes on, a piece at a time.
//!
//! Each piece is played as a recording is, from two seconds before it: so a decoder has heard what went
//! before, and a gap is concealed from both sides.

use ringtap_model::{Hz, Nanos};

use crate::codec::RATES;
use crate::{AudioPacket, Decoders, Error, Player, PlayoutRules, Track};

/// A direction of a call that goes on: packets are pushed, and what has been played is forgotten.
#[derive(Clone, Debug)]
pub struct LiveTrack {
    track: Track,
    /// The track before its first packet.
    empty: Track,
}

impl LiveTrack {
    /// `empty` has no packets yet.
    pub fn new(empty: Track) -> Self {
        Self { track: empty.clone(), empty }
    }

    /// Adds the next packet in order of capture.
    pub fn push(&mut self, packet: AudioPacket<'_>) {
        self.track.push(packet);
    }

    /// Begins the time line again if its sound stands away from its arrival: else it would be played ever
    /// later, or before it is there.
    fn keep_up(&mut self) {
        if self.track.displacement().is_some_and(|off| off.unsigned_abs() > DISPLACED.0) {
            self.track = self.empty.clone();
        }
    }
}

/// Both directions on one time line, in pieces.
#[derive(Clone, Debug)]
pub struct LiveMix {
    rate: Hz,
    /// Where the time line begins, and how many samples of it were played.
    begun: Nanos,
    played: u64,
}

impl LiveMix {
    /// Begins at a capture time. [`Error::Rate`] for a rate that nothing has.
    pub fn new(begun: Nanos, rate: Hz) -> Result<Self, Error> {
        match RATES.contains(&rate.0) {
            true => Ok(Self { rate, begun, played: 0 }),
            false => Err(Error::Rate { rate: rate.0 }),
        }
    }

    /// Samples of each side a second.
    pub fn rate(&self) -> Hz {
        self.rate
    }

    /// The capture time of the next sample.
    pub fn at(&self) -> Nanos {
        self.begun + Nanos((u128::from(self.played) * SECOND / u128::from(self.rate.0)) as u64)
    }

    /// Plays both sides, the caller and the callee, up to a capture time: samples of one length, none if it
    /// has been reached. What is not there is silence; what comes later is not heard.
    ///
    /// # Errors
    ///
    /// A decoder cannot be opened, or fails repeatedly.
    pub fn play(
        &mut self,
        sides: [&mut [&mut LiveTrack]; 2],
        until: Nanos,
        decoders: &dyn Decoders,
    ) -> Result<[Vec<i16>; 2], Error> {
        let (from, to) = (self.played, self.samples(until).max(self.played));
        let from_time = self.at();
        let mut heard = [Vec::new(), Vec::new()];
        for (side, out) in sides.into_iter().zip(&mut heard) {
            out.resize((to - from) as usize, 0);
            for live in side {
                live.track.forget_before(Nanos(from_time.0.saturating_sub(BEFORE.0)));
                self.add(&live.track, from, out, decoders)?;
                live.keep_up();
            }
        }
        self.played = to;
        Ok(heard)
    }

    /// Adds the sound of a track from a sample on.
    fn add(&self, track: &Track, from: u64, out: &mut [i16], decoders: &dyn Decoders) -> Result<(), Error> {
        let Some(start) = track.start().filter(|_| !out.is_empty()) else { return Ok(()) };
        let rules = PlayoutRules { drift: false, ..PlayoutRules::default() };
        let mut player = Player::new(track, rules, self.rate, decoders);
        // Both in samples since the time line began; the track may begin before it.
        let begins = match start.0.checked_sub(self.begun.0) {
            Some(_) => self.samples(start) as i64,
            None => -((u128::from((self.begun - start).0) * u128::from(self.rate.0) / SECOND) as i64),
        };
        let wanted = from as i64 + out.len() as i64 - begins;
        let wanted = usize::try_from(wanted).unwrap_or(0).min(LONGEST_SECONDS * self.rate.0 as usize);
        let mut samples = vec![0; wanted];
        let count = player.read(&mut samples)?;
        for (place, sample) in samples[..count].iter().enumerate() {
            let at = begins + place as i64 - from as i64;
            if let Some(sum) = usize::try_from(at).ok().and_then(|at| out.get_mut(at)) {
                *sum = sum.saturating_add(*sample);
            }
        }
        Ok(())
    }

    fn samples(&self, time: Nanos) -> u64 {
        let since = time.0.saturating_sub(self.begun.0);
        ((u128::from(since) * u128::from(self.rate.0) + SECOND / 2) / SECOND) as u64
    }
}

/// How much of what was played is played again, unheard, before a piece.
const BEFORE: Nanos = Nanos::from_secs(2);
/// Sound may stand so far from its arrival: more than a jitter buffer bridges.
const DISPLACED: Nanos = Nanos::from_millis(120);
/// No piece and what is before it are longer.
const LONGEST_SECONDS: usize = 60;
const SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuiltIn, Codec, MixSettings, mix};

    const START: Nanos = Nanos(1_795_219_200_000_000_000);

    fn packet(number: u64) -> (Nanos, [u8; 160]) {
        let mut payload = [0; 160];
        for (place, byte) in payload.iter_mut().enumerate() {
            let phase = (number * 160 + place as u64) as f64 * 440.0 / 8_000.0 * std::f64::consts::TAU;
            *byte = linear_to_mu_law((phase.sin() * 12_000.0) as i16);
        }
        (START + Nanos::from_millis(20 * number), payload)
    }

    /// ITU-T G.711, of a sample.
    fn linear_to_mu_law(sample: i16) -> u8 {
        let magnitude = u32::from(sample.unsigned_abs().min(32_635)) + 132;
        let exponent = (0..8).rev().find(|bit| magnitude >> (bit + 7) & 1 == 1).unwrap_or(0);
        let sign = if sample < 0 { 0x80 } else { 0 };
        !(sign | exponent << 4 | magnitude >> (exponent + 3) & 0xf) as u8
    }

    fn push(live: &mut LiveTrack, number: u64) {
        let (arrival, payload) = packet(number);
        live.push(audio(arrival, number, &payload));
    }

    fn audio(arrival: Nanos, number: u64, payload: &[u8]) -> AudioPacket<'_> {
        let (sequence, timestamp) = (number as u16, number as u32 * 160);
        AudioPacket { arrival, sequence, timestamp, payload_type: 0, payload }
    }

    fn track() -> LiveTrack {
        LiveTrack::new(Track::new(Codec::Pcmu, Hz(8_000)))
    }

    #[test]
    fn pieces_are_the_recording_and_memory_does_not_grow() {
        let lost = |number: u64| number % 37 == 5;
        let mut live = track();
        let mut whole = Track::new(Codec::Pcmu, Hz(8_000));
        let mut played = LiveMix::new(START, Hz(8_000)).expect("a rate");
        let mut heard: Vec<i16> = Vec::new();
        let mut most = 0;
        for number in (0..3_000).filter(|number| !lost(*number)) {
            push(&mut live, number);
            let (arrival, payload) = packet(number);
            whole.push(audio(arrival, number, &payload));
            if number % 13 == 0 {
                let until = arrival - Nanos::from_millis(200);
                let [left, right] = played.play([&mut [&mut live], &mut []], until, &BuiltIn).expect("sound");
                assert_eq!(left.len(), right.len());
                assert!(right.iter().all(|sample| *sample == 0));
                heard.extend(left);
                most = most.max(live.track.entries().len());
            }
        }
        let (left, settings) = ([whole], MixSettings::default());
        let mut recording = mix(&left, &[], settings, &BuiltIn).expect("sound");
        let mut expected = vec![0; heard.len()];
        let mut silence = expected.clone();
        recording.read([&mut expected, &mut silence]).expect("sound");
        assert_eq!(heard.len(), 59_600 * 8);
        let different = heard.iter().zip(&expected).filter(|(one, other)| one != other).count();
        assert_eq!(different, 0, "concealed gaps as well");
        assert!(most < 150, "{most} packets are remembered");
    }

    #[test]
    fn nothing_is_silence_and_late_is_not_heard() {
        let mut live = track();
        let mut played = LiveMix::new(START, Hz(8_000)).expect("a rate");
        let mut play = |live: &mut LiveTrack, until| {
            let [left, _] = played
                .play([&mut [live], &mut []], START + Nanos::from_millis(until), &BuiltIn)
                .expect("sound");
            left
        };
        assert_eq!(play(&mut live, 500), vec![0; 4_000]);
        (0..30).for_each(|number| push(&mut live, number));
        let late = play(&mut live, 600);
        assert_eq!(late.len(), 800);
        assert!(late.iter().any(|sample| *sample != 0), "from where it is now");
        assert!(play(&mut live, 600).is_empty());
        assert!(play(&mut live, 590).is_empty());
        // Paused: headers without payload.
        for number in 30..60 {
            let (arrival, _) = packet(number);
            live.push(audio(arrival, number, &[]));
        }
        push(&mut live, 60);
        let paused = play(&mut live, 1_200);
        assert_eq!(paused, vec![0; 4_800]);
    }

    #[test]
    fn a_drifting_sender_is_caught_up_with() {
        let mut live = track();
        let mut played = LiveMix::new(START, Hz(8_000)).expect("a rate");
        let (mut silent, mut pieces) = (0, 0);
        // It sends 1 % too slowly: after a minute, 600 ms less sound.
        for number in 0..3_000_u64 {
            let (_, payload) = packet(number);
            let arrival = START + Nanos(20_200_000 * number);
            live.push(audio(arrival, number, &payload));
            if number % 10 == 9 {
                let until = arrival - Nanos::from_millis(250);
                let [left, _] = played.play([&mut [&mut live], &mut []], until, &BuiltIn).expect("sound");
                pieces += 1;
                silent += usize::from(left.iter().all(|sample| *sample == 0));
            }
        }
        assert!(pieces > 290 && silent < 20, "{silent} of {pieces} pieces are silent");
    }
}

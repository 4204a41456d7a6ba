//! Decodes and plays arbitrary packets.

use std::io::Cursor;

use ringtap_audio::{
    AudioPacket, BuiltIn, ChannelLayout, Codec, Encoder, EncoderSettings, Error, Flac, MixSettings, Opus,
    Output, Packing, PayloadKind, Peaks, Player, PlayoutRules, Track, Wav, mix, play,
};
use ringtap_model::{Hz, Nanos};

use crate::choices::Choices;

/// Plays packets of four tracks, two on each side, of any codec that we decode: times, sequence numbers,
/// timestamps and payload types are close together or arbitrary, and so are the play-out rules.
pub fn audio(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut tracks = [0; 4].map(|_| {
        let mut track = Track::new(choices.pick(&CODECS), Hz(choices.pick(&CLOCKS)));
        track.announce(101, PayloadKind::Events);
        track.announce(127, PayloadKind::Sound(choices.pick(&CODECS)));
        match choices.byte() {
            kind @ 96..=127 => track.with_payload_type(kind),
            _ => track,
        }
    });
    let (mut arrival, mut sequence, mut timestamp) = (Nanos::from_secs(1_000_000), 0_u16, 0_u32);
    let mut pushed = [0_u64; 4];
    for _ in 0..MAX_PACKETS {
        if choices.is_empty() {
            break;
        }
        let control = choices.byte();
        let index = usize::from(control & 3);
        arrival = later(arrival, control >> 2 & 7, &mut choices);
        sequence = if control & 0x20 == 0 { sequence.wrapping_add(1) } else { choices.short() };
        timestamp = if control & 0x40 == 0 { timestamp.wrapping_add(160) } else { choices.long() };
        let payload = if control & 0x80 == 0 { &[0x55; 160] } else { choices.bytes() };
        let payload_type = choices.pick(&[0, 8, 13, 96, 101, 127]);
        for codec in CODECS.into_iter().chain(LIBRARIES) {
            // With a second per byte, a few packets would last for hours.
            assert!(
                codec.samples(payload).is_none_or(|samples| (1..=5_760 * payload.len()).contains(&samples))
            );
        }
        tracks[index].push(AudioPacket { arrival, sequence, timestamp, payload_type, payload });
        pushed[index] += payload.len() as u64;
    }
    let rules = rules(&mut choices);
    tracks.iter().zip(pushed).for_each(|(track, pushed)| check(track, pushed, rules));
    let (left, right) = tracks.split_at(2);
    let sides = choices.pick(&[
        ChannelLayout::Stereo,
        ChannelLayout::Mono,
        ChannelLayout::Left,
        ChannelLayout::Right,
    ]);
    let rate = choices.pick(&[None, Some(Hz(8_000)), Some(Hz(16_000)), Some(Hz(11_025))]);
    write(left, right, MixSettings { rules, rate, sides, ..MixSettings::default() });
}

fn later(arrival: Nanos, kind: u8, choices: &mut Choices<'_>) -> Nanos {
    match kind {
        0..=2 => arrival + Nanos::from_millis(20),
        3 => arrival,
        4 => arrival + Nanos::from_millis(u64::from(choices.short())),
        5 => arrival + Nanos::from_secs(u64::from(choices.short())),
        6 => arrival.since(Nanos::from_millis(u64::from(choices.short()))),
        _ => Nanos(u64::from(choices.long()) << 32 | u64::from(choices.long())),
    }
}

fn rules(choices: &mut Choices<'_>) -> PlayoutRules {
    let bits = choices.byte();
    let on = |bit: u8| bits & 1 << bit == 0;
    let buffer = (!on(4)).then(|| Nanos::from_millis(u64::from(choices.byte())));
    PlayoutRules { conceal: on(0), noise: on(1), tones: !on(2), drift: on(3), buffer }
}

fn check(track: &Track, pushed: u64, rules: PlayoutRules) {
    let clock = u64::from(track.clock().0);
    // A sample may be up to a second before the first packet, and up to one payload after the end.
    assert!(
        track.ticks() <= 24 * 3600 * clock + 300 * 160 * clock / 1_000 + clock,
        "{} ticks",
        track.ticks()
    );
    assert_eq!(track.start().is_some(), track.ticks() > 0);
    assert!(track.ticks() == 0 || pushed > 0);
    if track.ticks() > 60 * clock {
        return;
    }
    let mut player = Player::new(track, rules, Hz(8_000), &BuiltIn);
    let (frames, mut played, mut out) = (player.frames(), 0, [0; 1_000]);
    loop {
        match player.read(&mut out) {
            Ok(0) => break,
            Ok(count) => played += count as u64,
            // The payload type of a codec that needs a library.
            Err(_) => return,
        }
    }
    assert_eq!(played, frames);
}

/// Recordings longer than this are not written, to save time.
fn write(left: &[Track], right: &[Track], settings: MixSettings) {
    let mut recording = mix(left, right, settings, &BuiltIn).expect("a rate that exists");
    let (frames, channels) = (recording.frames(), u64::from(recording.channels()));
    if frames > MAX_SECONDS * u64::from(recording.rate().0) {
        return;
    }
    let (mut wav, mut flac, mut peaks) = (Cursor::new(Vec::new()), Cursor::new(Vec::new()), Vec::new());
    let (mut opus, shape) = (Vec::new(), recording.shape());
    let encoder = Box::new(Silent(EncoderSettings::of(shape, 24_000)));
    let outputs: Vec<Box<dyn Output + '_>> = vec![
        Box::new(Wav::new(&mut wav, shape).expect("a minute fits")),
        Box::new(Flac::new(&mut flac, shape).expect("memory takes everything")),
        Box::new(Opus::new(&mut opus, shape, encoder, &[]).expect("memory takes everything")),
        Box::new(Peaks::new(&mut peaks, shape, Nanos::from_millis(100))),
    ];
    match play(&mut recording, outputs) {
        Ok(()) => {
            assert_eq!(wav.into_inner().len() as u64, 44 + frames * 2 * channels);
            // Hardly more than the samples themselves.
            assert!(flac.into_inner().len() as u64 <= 42 + frames * 2 * channels + (frames / 4_096 + 1) * 24);
            assert!(peaks.ends_with(b"]]}\n"));
            // At any rate, one page per second with 50 packets of one byte.
            let seconds = frames / u64::from(shape.rate.0) + 1;
            assert!(opus.len() as u64 <= 200 + seconds * (27 + 2 * 50));
        }
        Err(Error::Nothing) => assert_eq!(frames, 0),
        Err(Error::Unsupported { .. }) => {}
        Err(error) => panic!("memory takes everything: {error}"),
    }
}

/// An encoder that produces fixed bytes.
struct Silent(EncoderSettings);

impl Encoder for Silent {
    fn coding(&self) -> EncoderSettings {
        self.0
    }

    fn lookahead(&self) -> u32 {
        52
    }

    fn encode(&mut self, samples: &[i16]) -> Result<Vec<Vec<u8>>, Error> {
        Ok(vec![vec![0]; samples.len() / (self.0.frame() * usize::from(self.0.channels))])
    }
}

/// A decoder that only measures its payloads.
const LIBRARIES: [Codec; 4] = [Codec::AmrNb, Codec::AmrWb, Codec::Opus, Codec::Ilbc];
const CODECS: [Codec; 10] = [
    Codec::Pcmu,
    Codec::Pcma,
    Codec::G722,
    Codec::G726 { bits: 2, packing: Packing::Aal2 },
    Codec::G726 { bits: 3, packing: Packing::Rfc3551 },
    Codec::G726 { bits: 5, packing: Packing::Aal2 },
    Codec::Gsm,
    Codec::G729,
    Codec::L16 { channels: 1 },
    Codec::L16 { channels: 2 },
];
const CLOCKS: [u32; 6] = [8_000, 16_000, 48_000, 0, 11_025, u32::MAX];
const MAX_PACKETS: usize = 1_000;
const MAX_SECONDS: u64 = 60;

//! Sound out of packets.

use std::io::Cursor;

use ringtap_audio::{Codec, Error, RtpSound, Track, mix};
use ringtap_model::{Hz, Nanos};

use crate::choices::Choices;

/// Packets for four tracks, two on each side: times, numbers, timestamps and types near each other or anywhere.
pub fn audio(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut tracks = [0; 4].map(|_| {
        let track = Track::new(choices.pick(&[Codec::Pcmu, Codec::Pcma]), Hz(choices.pick(&CLOCKS)));
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
        tracks[index].push(RtpSound { arrival, sequence, timestamp, payload_type, payload });
        pushed[index] += payload.len() as u64;
    }
    tracks.iter().zip(pushed).for_each(|(track, pushed)| check(track, pushed));
    let (left, right) = tracks.split_at(2);
    write(left, right);
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

fn check(track: &Track, pushed: u64) {
    let day = 24 * 3600 * u64::from(track.rate().0) + 255;
    // One sample can lie a second before the first packet.
    assert!(track.samples() <= day + u64::from(track.rate().0), "{} samples", track.samples());
    assert_eq!(track.start().is_some(), track.samples() > 0);
    assert!(track.samples() == 0 || pushed > 0);
    let mut ends = [0; 64];
    track.read(0, &mut ends);
    track.read(track.samples(), &mut ends);
    assert_eq!(ends, [0; 64], "there is silence behind the end");
    track.read(u64::MAX, &mut ends);
}

/// Long ones are not written, for the time it takes.
fn write(left: &[Track], right: &[Track]) {
    let stereo = mix(left, right);
    if stereo.frames() > MAX_FRAMES {
        return;
    }
    let mut wav = Cursor::new(Vec::new());
    match stereo.write_wav(&mut wav) {
        Ok(()) => assert_eq!(wav.into_inner().len() as u64, 44 + stereo.frames() * 4),
        Err(Error::Nothing) => assert_eq!(stereo.frames(), 0),
        Err(error) => panic!("memory takes everything: {error}"),
    }
}

const CLOCKS: [u32; 6] = [8_000, 16_000, 48_000, 0, 11_025, u32::MAX];
const MAX_PACKETS: usize = 1_000;
/// A minute.
const MAX_FRAMES: u64 = 60 * 8_000;

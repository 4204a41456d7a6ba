//! G.711 against other decoders: the formulas of the standard in another shape, and sox where it is
//! installed.

use std::fs;
use std::io::Cursor;
use std::process::Command;

use ringtap_audio::{AudioPacket, BuiltIn, Codec, MixSettings, Track, mix, write_wav};
use ringtap_model::{Hz, Nanos};

/// What sox makes of raw G.711; `None` where there is no sox.
fn sox(codec: Codec, bytes: &[u8]) -> Option<Vec<i16>> {
    if !ringtap_testing::program("sox") {
        return None;
    }
    let directory = tempfile::tempdir().expect("temporary directory");
    let input = directory.path().join("sound");
    fs::write(&input, bytes).expect("written");
    let encoding = if codec == Codec::Pcmu { "ul" } else { "al" };
    let output = Command::new("sox")
        .args(["-t", encoding, "-r", "8000", "-c", "1"])
        .arg(&input)
        .args(["-t", "s16", "-L", "-"])
        .output()
        .expect("sox runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect())
}

/// The standard's values in floating point: mu-law at 14 bits, A-law at 13, both scaled to 16.
fn formula(codec: Codec, byte: u8) -> i16 {
    let bits = if codec == Codec::Pcmu { byte ^ 0xff } else { byte ^ 0x55 };
    let (segment, mantissa) = (i32::from(bits >> 4 & 7), f64::from(bits & 15));
    let value = match (codec, segment) {
        (Codec::Pcmu, _) => ((33.0 + 2.0 * mantissa) * 2_f64.powi(segment) - 33.0) * 4.0,
        (Codec::Pcma, 0) => (2.0 * mantissa + 1.0) * 8.0,
        (_, _) => (2.0 * mantissa + 33.0) * 2_f64.powi(segment - 1) * 8.0,
    };
    let negative = (bits & 0x80 != 0) == (codec == Codec::Pcmu);
    if negative { -value as i16 } else { value as i16 }
}

/// Noise, the same every time.
fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// A lossless stream in packets of a size that changes, with jitter of up to 60 ms.
fn stream(codec: Codec, begin: Nanos, bytes: &[u8]) -> Track {
    let mut track = Track::new(codec, Hz(8_000));
    let (mut sent, mut sequence) = (0, 65_500_u16);
    while sent < bytes.len() {
        let size = [160, 240, 80, 1][usize::from(sequence) / 16 % 4].min(bytes.len() - sent);
        let jitter = Nanos::from_millis(u64::from(sequence) * 7 % 60);
        track.push(AudioPacket {
            arrival: begin + Nanos(sent as u64 * 125_000) + if sent == 0 { Nanos::ZERO } else { jitter },
            sequence,
            timestamp: (sent as u32).wrapping_sub(10_000),
            payload_type: if codec == Codec::Pcmu { 0 } else { 8 },
            payload: &bytes[sent..sent + size],
        });
        sent += size;
        sequence = sequence.wrapping_add(1);
    }
    track
}

#[test]
fn every_byte() {
    let bytes: Vec<u8> = (0..=255).collect();
    for codec in [Codec::Pcmu, Codec::Pcma] {
        let ours: Vec<i16> = bytes.iter().map(|byte| codec.decode(*byte)).collect();
        let standard: Vec<i16> = bytes.iter().map(|byte| formula(codec, *byte)).collect();
        assert_eq!(ours, standard, "{codec:?}");
        if let Some(theirs) = sox(codec, &bytes) {
            assert_eq!(ours, theirs, "{codec:?}");
        }
    }
}

#[test]
fn a_lossless_call_is_what_the_payload_decodes_to() {
    let (caller, callee) = (noise(1, 100_003), noise(2, 80_001));
    let begin = Nanos::from_secs(1_700_000_000);
    // The callee is heard 250 ms later: 2000 samples.
    let left = [stream(Codec::Pcmu, begin, &caller)];
    let right = [stream(Codec::Pcma, begin + Nanos::from_millis(250), &callee)];
    let mut wav = Cursor::new(Vec::new());
    let mut recording = mix(&left, &right, MixSettings::default(), &BuiltIn).expect("a rate that exists");
    write_wav(&mut recording, &mut wav).expect("a vector takes everything");
    let reader = hound::WavReader::new(Cursor::new(wav.into_inner())).expect("a WAV");
    let samples: Vec<i16> = reader.into_samples().map(|sample| sample.expect("whole")).collect();
    let side = |side: usize| -> Vec<i16> { samples.iter().skip(side).step_by(2).copied().collect() };
    assert_eq!(side(0).len(), caller.len());
    assert_eq!(side(1)[..2_000], [0; 2_000]);
    assert_eq!(side(1)[2_000 + callee.len()..], vec![0; 100_003 - 82_001]);

    let sides =
        [(Codec::Pcmu, &caller, side(0)), (Codec::Pcma, &callee, side(1)[2_000..][..callee.len()].to_vec())];
    for (codec, payload, heard) in sides {
        let standard: Vec<i16> = payload.iter().map(|byte| formula(codec, *byte)).collect();
        assert!(heard == standard, "{codec:?} differs from the standard");
        if let Some(theirs) = sox(codec, payload) {
            assert!(heard == theirs, "{codec:?} differs from sox");
        }
    }
}

//! What the tests of sound share: other programs, and a voice to try codecs on.
#![allow(dead_code, reason = "each test uses some of it")]

use std::f64::consts::TAU;
use std::fs;
use std::process::Command;

use ringtap_audio::{BuiltIn, Codec, DecodeStep, Decoders};
use ringtap_model::Hz;

/// What a program writes to standard output when it reads `input` from the file `{}` among its arguments;
/// `None`, and the test is skipped, where it is not installed.
pub(crate) fn filtered(program: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    if !ringtap_testing::program(program) {
        return None;
    }
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("sound");
    fs::write(&path, input).expect("written");
    let name = path.to_str().expect("a plain name");
    let arguments = arguments.iter().map(|argument| if *argument == "{}" { name } else { argument });
    let output = Command::new(program).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

pub(crate) fn from_le(bytes: &[u8]) -> Vec<i16> {
    bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()
}

pub(crate) fn to_le(samples: &[i16]) -> Vec<u8> {
    samples.iter().flat_map(|sample| sample.to_le_bytes()).collect()
}

/// Noise, the same every time.
pub(crate) fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Something like a voice: pulses whose pitch moves between 90 and 190 Hz through three resonances that move
/// too, in words with pauses between them, and a little breath.
pub(crate) fn voice(seconds: usize, rate: usize) -> Vec<i16> {
    let breath = noise(7, seconds * rate);
    let mut phase = 0.0_f64;
    let mut memory = [[0.0_f64; 2]; 3];
    let mut out = Vec::with_capacity(seconds * rate);
    for (at, breath) in breath.iter().enumerate() {
        let time = at as f64 / rate as f64;
        let pitch = 130.0 + 35.0 * (TAU * 0.7 * time).sin() + 20.0 * (TAU * 2.3 * time).sin();
        phase += pitch / rate as f64;
        let pulse = if phase >= 1.0 { 1.0 } else { 0.0 };
        phase = phase.fract();
        let word = ((TAU * 1.7 * time).sin() * 1.6 + 0.5).clamp(0.0, 1.0);
        let mut value = (pulse * 9_000.0 + (f64::from(*breath) - 127.5) * 1.5) * word;
        for (index, [one, two]) in memory.iter_mut().enumerate() {
            let centre =
                [500.0, 1_500.0, 2_500.0][index] + [200.0, 400.0, 200.0][index] * (TAU * 1.1 * time).sin();
            let radius = (-TAU / 2.0 * [70.0, 110.0, 160.0][index] / rate as f64).exp();
            let next = value * 0.6 + 2.0 * radius * (TAU * centre / rate as f64).cos() * *one
                - radius * radius * *two;
            (*two, *one) = (*one, next);
            value = next;
        }
        out.push(value.clamp(-30_000.0, 30_000.0) as i16);
    }
    out
}

/// What our own decoder makes of payloads of `size` bytes.
pub(crate) fn decoded(codec: Codec, bytes: &[u8], size: usize) -> Vec<i16> {
    let mut decoder = BuiltIn.open(codec, Hz(8_000)).expect("our own");
    let mut out = Vec::new();
    for payload in bytes.chunks(size) {
        let samples = codec.samples(payload).expect("a payload");
        decoder.run(&[DecodeStep::Packet { payload, samples }], &mut out).expect("our own does not fail");
    }
    out
}

/// Where two sequences of samples differ first.
pub(crate) fn assert_same(ours: &[i16], theirs: &[i16], what: &str) {
    let length = ours.len().min(theirs.len());
    assert!(length > 0, "{what}: nothing to compare");
    if let Some(at) = (0..length).find(|at| ours[*at] != theirs[*at]) {
        panic!("{what}: sample {at} of {length} is {} here and {} there", ours[at], theirs[at]);
    }
}

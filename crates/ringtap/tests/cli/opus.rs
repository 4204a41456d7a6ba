//! Ogg Opus: what other programs make of it, and what the process does that encodes it.

use std::io::{Read, Write};
use std::path::Path;

use ringtap_audio::{Encoder, EncoderSettings, Error, RemoteEncoder};
use ringtap_model::Hz;

use crate::built::{Built, CALL_ID, conversation};
use crate::run::run;
use crate::sound::{helper, likeness, piped, samples, spoken};

/// A call of ten seconds in 16-bit samples; the callee says backwards what the caller says.
fn talk(path: &Path) {
    let caller: Vec<u8> = spoken(8_000).chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    let callee: Vec<u8> = caller.chunks_exact(2).rev().flatten().copied().collect();
    let payloads = |bytes: &[u8]| bytes.chunks_exact(320).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let mut built = Built::default();
    conversation(&mut built, (96, "L16/8000"), (20, 160), [&payloads(&caller), &payloads(&callee)]);
    built.write(path);
}

/// By `ringtap extract`; false, and the test is skipped, where there is no library to encode with.
fn extracted(capture: &Path, arguments: &[&str]) -> bool {
    let run = run([&["extract", text(capture), "--call", CALL_ID], arguments].concat());
    if run.status == 1 && run.err.contains("Opus cannot be written") {
        assert!(run.err.contains("libopus0"), "it says what to install: {}", run.err);
        ringtap_testing::skip("libopus", &run.err);
        return false;
    }
    assert_eq!(run.status, 0, "{run:?}");
    true
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn channel(samples: &[i16], channels: usize, index: usize) -> Vec<i16> {
    samples.iter().skip(index).step_by(channels).copied().collect()
}

/// The likeness where it is greatest: resampling moves sound by up to a tenth of a millisecond.
fn nearest(ours: &[i16], theirs: &[i16]) -> f64 {
    (0..=10).map(|shift| likeness(&ours[5..], &theirs[shift..])).fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn others_hear_in_it_what_is_in_the_wav() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let capture = at("in.pcap");
    talk(&capture);
    for (rate, mix, channels, kbps, least) in [
        ("8000", "stereo", 2, "24", 15.0),
        ("48000", "stereo", 2, "256", 25.0),
        ("11025", "stereo", 2, "24", 15.0),
        ("8000", "mono", 1, "24", 10.0),
        ("16000", "callee", 1, "12", 10.0),
    ] {
        let (opus, wav) = (at("out.opus"), at("out.wav"));
        let how = ["--rate", rate, "--mix", mix, "--opus", text(&opus), "--opus-kbps", kbps];
        if !extracted(&capture, &how) {
            return;
        }
        extracted(&capture, &["--rate", "48000", "--mix", mix, "--wav", text(&wav)]);
        let mut reader = hound::WavReader::open(&wav).expect("a WAV");
        let truth: Vec<i16> = reader.samples::<i16>().map(|sample| sample.expect("whole")).collect();
        // The library, and a decoder of their own, which fails on tones below 18 kbit/s at 8000 Hz, whoever
        // coded them.
        let own = if kbps == "12" { &[][..] } else { &["opus"] };
        for decoder in ["libopus"].iter().chain(own) {
            let arguments =
                ["-v", "error", "-xerror", "-c:a", decoder, "-i", text(&opus), "-f", "s16le", "-"];
            let Some(heard) = piped("ffmpeg", &arguments, b"") else { continue };
            let heard = samples(&heard);
            assert_eq!(heard.len(), truth.len(), "{rate} {mix} by {decoder}: the same length to the sample");
            for index in 0..channels {
                let (ours, theirs) = (channel(&heard, channels, index), channel(&truth, channels, index));
                let alike = nearest(&ours, &theirs);
                assert!(alike > least, "{rate} {mix} by {decoder}, channel {index}: {alike:.1} dB");
                let other = nearest(&ours, &channel(&truth, channels, channels - 1 - index));
                assert!(channels == 1 || other < 1.0, "{other:.1} dB like the other side");
            }
        }
        let arguments = ["-v", "error", "-show_streams", "-of", "default=nw=1", text(&opus)];
        if let Some(probed) = piped("ffprobe", &arguments, b"") {
            let probed = String::from_utf8_lossy(&probed).into_owned();
            let has = |line: &str| probed.lines().any(|found| found == line);
            assert!(has("codec_name=opus") && has(&format!("channels={channels}")), "{probed}");
            assert!(has("TAG:DATE=2026-11-21 02:00:00.020 UTC"), "{probed}");
        }
    }
}

#[test]
fn noise_and_extremes_end_nothing_and_nonsense_ends_the_process() {
    let coding = EncoderSettings { rate: Hz(8_000), channels: 2, bits: 24_000 };
    let mut process = helper();
    let (from, to) = (process.0.stdout.take().expect("piped"), process.0.stdin.take().expect("piped"));
    let mut encoder = match RemoteEncoder::open(coding, from, to) {
        Err(Error::NoEncoder { .. }) => return,
        encoder => encoder.expect("a process that encodes"),
    };
    assert_eq!(encoder.lookahead(), 52, "6.5 ms");
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as i16
    };
    for round in 0..50_usize {
        let samples: Vec<i16> = (0..320 * (1 + round % 50))
            .map(|at| match round % 3 {
                0 => noise(),
                1 => [i16::MIN, i16::MAX][at / 80 % 2],
                _ => 0,
            })
            .collect();
        let packets = encoder.encode(&samples).expect("it goes on");
        assert_eq!(packets.len(), 1 + round % 50);
        assert!(packets.iter().all(|packet| !packet.is_empty()));
    }
    drop(encoder);
    assert!(process.0.wait().expect("it ends").success(), "the end of the input is its end");

    let mut process = helper();
    let mut to = process.0.stdin.take().expect("piped");
    // 8000 Hz, a channel, 24000 bits; then a request that is longer than any.
    to.write_all(&[128, 64, 31, 0, 0, 1, 192, 93, 0, 0])
        .and_then(|()| to.write_all(&[0xff; 8]))
        .expect("written");
    let mut answer = Vec::new();
    process.0.stdout.take().expect("piped").read_to_end(&mut answer).expect("read");
    assert_eq!(answer, [1, 52, 0, 0, 0], "ready, and then nothing");
    assert!(!process.0.wait().expect("it ends").success());
}

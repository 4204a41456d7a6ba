//! Codecs whose standard fixes every bit, against the decoders of ffmpeg and sox: a voice as ffmpeg encodes
//! it, and noise, which takes the predictors where no voice does.

mod common;

use common::{assert_same, decoded, filtered, from_le, noise, to_le, voice};
use ringtap_audio::{Codec, Packing};

const RAW: [&str; 4] = ["-f", "s16le", "-ac", "1"];

fn ffmpeg(before: &[&str], after: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let arguments = [&["-v", "error"], before, &["-i", "{}"], after, &["-"]].concat();
    filtered("ffmpeg", &arguments, input)
}

/// Decodes the encoded voice and noise of a multiple of `size` bytes with both.
fn compare(codec: Codec, size: usize, encode: &[&str], rate: &str, decode: &[&str]) {
    let spoken = to_le(&voice(12, rate.parse().expect("a rate")));
    let Some(mut encoded) = ffmpeg(&[&RAW[..], &["-ar", rate]].concat(), encode, &spoken) else { return };
    encoded.truncate(encoded.len() / size * size);
    for (what, bytes) in [("voice", encoded), ("noise", noise(3, size * 100))] {
        let Some(theirs) = ffmpeg(decode, &["-f", "s16le"], &bytes) else { return };
        let ours = decoded(codec, &bytes, size);
        assert!(ours.len().abs_diff(from_le(&theirs).len()) <= size * 4, "{codec:?} {what}");
        assert_same(&ours, &from_le(&theirs), &format!("{codec:?}, {what}"));
    }
}

#[test]
fn g722() {
    compare(Codec::G722, 160, &["-c:a", "g722", "-f", "g722"], "16000", &["-f", "g722"]);
}

/// ffmpeg's G.726 is not exact: it differs from spandsp's, which is the reference for ours, in the last bit
/// of the first words.
#[test]
fn g726() {
    let spoken = to_le(&voice(12, 8_000));
    for bits in [2_u8, 3, 4, 5] {
        for (packing, name, spandsp) in [(Packing::Aal2, "g726", "1"), (Packing::Rfc3551, "g726le", "2")] {
            let code_size = bits.to_string();
            let encode = ["-c:a", name, "-code_size", &code_size, "-f", name];
            let size = 20 * usize::from(bits);
            let Some(mut encoded) = ffmpeg(&[&RAW[..], &["-ar", "8000"]].concat(), &encode, &spoken) else {
                return;
            };
            encoded.truncate(encoded.len() / size * size);
            let codec = Codec::G726 { bits, packing };
            for (what, bytes) in [("voice", encoded), ("noise", noise(3, size * 100))] {
                let rate = (u32::from(bits) * 8_000).to_string();
                let Some(theirs) = filtered("python3", &["-c", SPANDSP, "{}", &rate, spandsp], &bytes) else {
                    return;
                };
                if theirs.is_empty() {
                    return ringtap_testing::skip("libspandsp", "libspandsp.so.2 cannot be loaded");
                }
                let ours = decoded(codec, &bytes, size);
                // Beyond the end of the scale, which noise reaches, spandsp wraps around.
                let extreme = |sample: &i16| [i16::MIN, i16::MAX].contains(sample);
                let theirs = from_le(&theirs);
                let theirs: Vec<i16> = ours
                    .iter()
                    .zip(&theirs)
                    .map(|(ours, theirs)| if extreme(ours) { *ours } else { *theirs })
                    .collect();
                assert_same(&ours, &theirs, &format!("{codec:?}, {what}"));
            }
        }
    }
}

/// Decodes a file with libspandsp; writes nothing where it is not installed.
const SPANDSP: &str = "
import ctypes, sys
try:
    library = ctypes.CDLL('libspandsp.so.2')
except OSError:
    sys.exit(0)
library.g726_init.restype = ctypes.c_void_p
data = open(sys.argv[1], 'rb').read()
state = ctypes.c_void_p(library.g726_init(None, int(sys.argv[2]), 0, int(sys.argv[3])))
out = (ctypes.c_int16 * (len(data) * 4 + 8))()
count = library.g726_decode(state, out, data, len(data))
sys.stdout.buffer.write(bytes(out)[:2 * count])
";

#[test]
fn gsm() {
    let spoken = to_le(&voice(12, 8_000));
    let raw = ["-t", "s16", "-L", "-r", "8000", "-c", "1", "{}"];
    let Some(mut encoded) = filtered("sox", &[&raw[..], &["-t", "gsm", "-"]].concat(), &spoken) else {
        return;
    };
    encoded.truncate(encoded.len() / 33 * 33);
    // Noise with the signature of a frame.
    let mut frames = noise(5, 33 * 100);
    frames.chunks_mut(33).for_each(|frame| frame[0] = 0xd0 | frame[0] & 15);
    for (what, bytes) in [("voice", encoded), ("noise", frames)] {
        let ours = decoded(Codec::Gsm, &bytes, 33);
        let arguments = ["-t", "gsm", "-r", "8000", "-c", "1", "{}", "-t", "s16", "-L", "-"];
        if let Some(theirs) = filtered("sox", &arguments, &bytes) {
            assert_same(&ours, &from_le(&theirs), &format!("GSM, {what}, sox"));
        }
        // ffmpeg does not saturate as the standard does, which a voice does not reach.
        if what == "noise" {
            continue;
        }
        if let Some(theirs) = ffmpeg(&["-f", "gsm"], &["-f", "s16le"], &bytes) {
            assert_same(&ours, &from_le(&theirs), &format!("GSM, {what}, ffmpeg"));
        }
    }
}

#[test]
fn linear() {
    let spoken = voice(2, 8_000);
    let wire: Vec<u8> = spoken.iter().flat_map(|sample| sample.to_be_bytes()).collect();
    assert_same(&decoded(Codec::L16 { channels: 1 }, &wire, 320), &spoken, "L16");
    let twice: Vec<u8> =
        spoken.iter().flat_map(|sample| [sample.to_be_bytes(), sample.to_be_bytes()].concat()).collect();
    assert_same(&decoded(Codec::L16 { channels: 2 }, &twice, 640), &spoken, "L16 of two channels");
}

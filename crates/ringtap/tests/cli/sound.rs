//! Codecs that libraries decode: the helper process against other decoders, and what it does when it is
//! maltreated.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use ringtap_audio::{Codec, DecodeStep, Decoder, Error, Remote};
use ringtap_model::Hz;

use crate::run::ringtap;

/// The process, killed and waited for at the end.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn helper() -> Process {
    let child = ringtap().arg("decode-helper").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    Process(child.expect("the program starts"))
}

type Ends = (Process, Remote<std::process::ChildStdout, std::process::ChildStdin>);

/// A helper that decodes; `None`, and the test is skipped, where the library is not installed.
fn opened(codec: Codec, rate: u32) -> Option<Ends> {
    let mut process = helper();
    let (from, to) = (process.0.stdout.take().expect("piped"), process.0.stdin.take().expect("piped"));
    match Remote::open(codec, Hz(rate), from, to) {
        Ok(remote) => Some((process, remote)),
        Err(Error::Missing { library, .. }) => {
            ringtap_testing::skip(library, "the library is not installed");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A library in the place of libopus. Its constructor tries what it must not; `opus_decode` tells what it
/// could do, one sample for each attempt.
const HOSTILE: &str = r#"
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
static int could[6];
__attribute__((constructor)) static void begin(void) {
    could[0] = 1;
    could[1] = open("/etc/passwd", O_RDONLY) >= 0;
    could[2] = open(WRITTEN, O_WRONLY | O_CREAT, 0600) >= 0;
    could[3] = socket(AF_INET, SOCK_STREAM, 0) >= 0;
    could[4] = fork() >= 0;
    could[5] = unlink(KEPT) == 0;
}
void *opus_decoder_create(int32_t rate, int channels, int *error) { return could; }
int opus_decode(void *state, const unsigned char *data, int32_t length, int16_t *samples, int count, int fec)
{
    for (int at = 0; at < 6; at++) samples[at] = could[at];
    return count;
}
"#;

#[test]
fn the_constructors_of_a_codec_library_reach_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("hostile.c"), HOSTILE).expect("written");
    fs::write(at("kept"), "x").expect("written");
    let defined = [("WRITTEN", "written"), ("KEPT", "kept")];
    let defined = defined.map(|(name, file)| format!("-D{name}=\"{}\"", at(file)));
    if !ringtap_testing::program("cc") {
        return;
    }
    let mut made = Command::new("cc");
    made.args(["-shared", "-fPIC", "-o", &at("libopus.so.0"), &at("hostile.c")]).args(defined);
    assert!(made.status().expect("it runs").success());
    let mut command = ringtap();
    let command = command.arg("decode-helper").env("LD_LIBRARY_PATH", folder.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let (from, to) = (child.stdout.take().expect("piped"), child.stdin.take().expect("piped"));
    let _process = Process(child);
    let mut remote = Remote::open(Codec::Opus, Hz(48_000), from, to).expect("it is confined");
    // 20 ms (RFC 6716 section 3.1).
    let out = decoded(&mut remote, Codec::Opus, &[&[0xf8, 0]]);
    assert_eq!(out[..6], [1, 0, 0, 0, 0, 0], "the constructor ran, and could do nothing");
    assert!(!folder.path().join("written").exists() && folder.path().join("kept").exists());
}

/// What a program writes for `input`; `None`, and the test is skipped, where it is not there or cannot.
pub(crate) fn piped(program: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    if !ringtap_testing::program(program) {
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("in");
    fs::write(&path, input).expect("written");
    let name = path.to_str().expect("a plain name");
    let arguments = arguments.iter().map(|argument| if *argument == "{}" { name } else { argument });
    let output = Command::new(program).args(arguments).output().expect("it runs");
    if output.status.success() && !output.stdout.is_empty() {
        return Some(output.stdout);
    }
    ringtap_testing::skip(&format!("{program} with all its codecs"), String::from_utf8_lossy(&output.stderr));
    None
}

/// Ten seconds of tones that come and go, as 16-bit samples.
pub(crate) fn spoken(rate: usize) -> Vec<u8> {
    let sample = |at: usize| {
        let time = at as f64 / rate as f64;
        let tone = |hz: f64| (time * hz * std::f64::consts::TAU).sin();
        let level = (time * 9.0).sin().max(0.0) * 4_000.0;
        (level * (tone(180.0 + 40.0 * tone(0.5)) + 0.5 * tone(720.0) + 0.3 * tone(1_650.0))) as i16
    };
    (0..10 * rate).flat_map(|at| sample(at).to_le_bytes()).collect()
}

pub(crate) fn samples(bytes: &[u8]) -> Vec<i16> {
    bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()
}

fn decoded(remote: &mut dyn Decoder, codec: Codec, payloads: &[&[u8]]) -> Vec<i16> {
    let steps: Vec<DecodeStep<'_>> = payloads
        .iter()
        .map(|payload| DecodeStep::Packet { payload, samples: codec.samples(payload).expect("a payload") })
        .collect();
    let mut out = Vec::new();
    steps.chunks(50).for_each(|steps| remote.run(steps, &mut out).expect("decoded"));
    out
}

/// Signal to difference, in dB; infinite where they are the same.
pub(crate) fn likeness(ours: &[i16], theirs: &[i16]) -> f64 {
    let power = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>();
    let pairs = || ours.iter().zip(theirs).map(|(a, b)| (f64::from(*a), f64::from(*b)));
    assert!(ours.len().min(theirs.len()) > 8_000, "{} and {}", ours.len(), theirs.len());
    10.0 * (power(&mut pairs().map(|(a, _)| a)) / power(&mut pairs().map(|(a, b)| a - b))).log10()
}

/// Encodes with a library of Debian through ctypes, which is how the input of these tests is made.
pub(crate) const ENCODER: &str = "
import ctypes, sys
data = open(sys.argv[2], 'rb').read()
out = sys.stdout.buffer
if sys.argv[1] == 'g729':
    library = ctypes.CDLL('libbcg729.so.0')
    library.initBcg729EncoderChannel.restype = ctypes.c_void_p
    state = ctypes.c_void_p(library.initBcg729EncoderChannel(0))
    frame, length = ctypes.create_string_buffer(10), ctypes.c_uint8(0)
    for at in range(0, len(data) - 159, 160):
        library.bcg729Encoder(state, data[at:at + 160], frame, ctypes.byref(length))
        out.write(frame.raw)
elif sys.argv[1] == 'amr-wb':
    library = ctypes.CDLL('libvo-amrwbenc.so.0')
    library.E_IF_init.restype = ctypes.c_void_p
    state = ctypes.c_void_p(library.E_IF_init())
    frame = ctypes.create_string_buffer(64)
    for at in range(0, len(data) - 639, 640):
        count = library.E_IF_encode(state, 8, data[at:at + 640], frame, 0)
        out.write(frame.raw[:count])
else:
    library = ctypes.CDLL('libopencore-amrnb.so.0')
    library.Encoder_Interface_init.restype = ctypes.c_void_p
    state = ctypes.c_void_p(library.Encoder_Interface_init(0))
    frame = ctypes.create_string_buffer(64)
    for at in range(0, len(data) - 319, 320):
        count = library.Encoder_Interface_Encode(state, 7, data[at:at + 320], frame, 0)
        out.write(frame.raw[:count])
";

#[test]
fn amr_is_what_ffmpeg_decodes() {
    let Some((_process, mut remote)) = opened(Codec::AmrNb, 8_000) else { return };
    let Some(encoded) = piped("python3", &["-c", ENCODER, "amr", "{}"], &spoken(8_000)) else { return };
    // Frames of 12.2 kbit/s in the format of a file; octet-aligned, and the same bits bandwidth-efficient.
    let frames: Vec<&[u8]> = encoded.chunks_exact(32).collect();
    let aligned: Vec<Vec<u8>> = frames.iter().map(|frame| [&[0xf0], *frame].concat()).collect();
    let packed: Vec<Vec<u8>> = frames.iter().map(|frame| efficient(frame)).collect();
    let ours = decoded(&mut remote, Codec::AmrNb, &aligned.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let (_process, mut again) = opened(Codec::AmrNb, 8_000).expect("it was there");
    let same = decoded(&mut again, Codec::AmrNb, &packed.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert!(ours == same && ours.len() == 80_000, "both formats carry the same bits");
    let file = [&b"#!AMR\n"[..], &encoded].concat();
    let arguments = ["-v", "error", "-f", "amr", "-i", "{}", "-f", "s16le", "-"];
    if let Some(theirs) = piped("ffmpeg", &arguments, &file) {
        let likeness = likeness(&ours, &samples(&theirs));
        assert!(likeness > 20.0, "{likeness} dB");
    }
}

/// The bits of one frame of 12.2 kbit/s after four bits of request and six of contents (RFC 4867 section
/// 4.3).
fn efficient(frame: &[u8]) -> Vec<u8> {
    let bit = |at: usize| u8::from(frame[1 + at / 8] >> (7 - at % 8) & 1 == 1);
    let head = [1, 1, 1, 1, 0, 0, 1, 1, 1, 1];
    let bits: Vec<u8> = head.into_iter().chain((0..244).map(bit)).collect();
    bits.chunks(8)
        .map(|bits| bits.iter().enumerate().fold(0, |byte, (at, bit)| byte | bit << (7 - at)))
        .collect()
}

#[test]
fn loss_and_noise_end_nothing() {
    for (codec, rate) in
        [(Codec::AmrNb, 8_000), (Codec::AmrWb, 16_000), (Codec::Opus, 48_000), (Codec::Ilbc, 8_000)]
    {
        let Some((_process, mut remote)) = opened(codec, rate) else { continue };
        let mut state = 1_u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let mut out = Vec::new();
        for round in 0..300 {
            let mut payload: Vec<u8> = (0..1 + round % 70).map(|_| noise()).collect();
            if codec == Codec::AmrNb || codec == Codec::AmrWb {
                payload.splice(..1, [0xf0, (noise() & 7) << 3]);
            }
            let lost = DecodeStep::Lost { samples: rate as usize / 50, next: Some(&payload) };
            let step = match codec.samples(&payload) {
                Some(samples) => DecodeStep::Packet { payload: &payload, samples },
                None => lost,
            };
            let before = out.len();
            remote.run(&[step, lost], &mut out).expect("it goes on");
            assert_eq!(out.len() - before, step.samples() + lost.samples());
        }
    }
}

#[test]
fn what_is_no_request_ends_the_process() {
    let Some((mut process, remote)) = opened(Codec::Opus, 8_000) else { return };
    drop(remote);
    assert!(process.0.wait().expect("it ends").success(), "the end of the input is its end");

    let mut process = helper();
    let mut to = process.0.stdin.take().expect("piped");
    to.write_all(&[2, 64, 31, 0, 0]).and_then(|()| to.write_all(&[0xff; 8])).expect("written");
    let mut answer = Vec::new();
    process.0.stdout.take().expect("piped").read_to_end(&mut answer).expect("read");
    assert_eq!(answer, [1], "ready, and then nothing");
    assert!(!process.0.wait().expect("it ends").success());
}

//! Each codec from a capture to a WAV, against another decoder: sample for sample where the standard says
//! what a decoder gives, by how far the difference lies below the sound where it does not. `cargo test -p
//! ringtap --test cli codecs -- --nocapture` prints the table.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::built::{Built, CALL_ID, rtp, speech};
use crate::run::{ringtap, run};
use crate::sound::{ENCODER, likeness, piped, samples, spoken};

/// How a codec is tried: what speaks, who decodes it as well, and how alike it has to be.
struct Trial {
    rtpmap: &'static str,
    payload_type: u8,
    /// Of the RTP clock in a packet of 20 ms.
    ticks: u32,
    encoded: Option<Vec<Vec<u8>>>,
    by: &'static str,
    theirs: Option<Vec<i16>>,
    /// dB; infinite where every sample has to be the same.
    least: f64,
}

pub(crate) const EXACT: f64 = f64::INFINITY;

#[test]
fn every_codec_is_what_another_decoder_makes_of_it() {
    let mut table = String::from("codec            samples  compared with         alike\n");
    let mut tried = 0;
    for trial in trials() {
        let name = trial.rtpmap.split('/').next().unwrap_or_default();
        let (Some(payloads), Some(theirs)) = (trial.encoded, trial.theirs) else {
            ringtap_testing::skip(name, format!("no encoder or other decoder is installed ({})", trial.by));
            continue;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let capture = folder.path().join("in.pcap");
        let mut built = Built::default();
        speech(&mut built, (trial.payload_type, trial.rtpmap), (20, trial.ticks), &payloads);
        built.write(&capture);
        let Some(ours) = heard(&capture, CALL_ID, "caller") else {
            ringtap_testing::skip(name, "its library is not installed");
            continue;
        };
        let alike = judged(name, &ours, &theirs, trial.least);
        let _ = writeln!(table, "{name:16} {:7}  {:20}  {alike}", ours.len(), trial.by);
        tried += 1;
    }
    println!("{table}");
    assert!(tried >= 1, "{table}");
}

/// The same, in words, of what has to be so.
pub(crate) fn judged(name: &str, ours: &[i16], theirs: &[i16], least: f64) -> String {
    // Other programs drop a last frame that is not whole, or fill it.
    let apart = ours.len().abs_diff(theirs.len());
    assert!(apart <= 1_000, "{name}: {} samples here, {} there", ours.len(), theirs.len());
    let found = likeness(ours, theirs);
    assert!(found >= least, "{name}: {found:.1} dB, not {least}");
    if found.is_infinite() { "every sample".to_owned() } else { format!("{found:.1} dB") }
}

/// One side of a call by `ringtap extract`; `None` where its codec has no decoder on this machine.
pub(crate) fn heard(capture: &Path, call: &str, side: &str) -> Option<Vec<i16>> {
    let wav = capture.with_extension("wav");
    let wav = wav.to_str().expect("UTF-8");
    let capture = capture.to_str().expect("UTF-8");
    let run = run(["extract", capture, "--call", call, "--wav", wav, "--mix", side, "--loss", "silence"]);
    if run.status == 1 && run.err.contains("not installed") {
        return None;
    }
    assert_eq!(run.status, 0, "{run:?}");
    let mut reader = hound::WavReader::open(wav).expect("a WAV");
    Some(reader.samples::<i16>().map(|sample| sample.expect("whole")).collect())
}

fn trials() -> Vec<Trial> {
    let narrow = spoken(8_000);
    let raw = ["-t", "s16", "-L", "-r", "8000", "-c", "1", "{}"];
    let sox_in = |kind: &str| piped("sox", &[&raw[..], &["-t", kind, "-"]].concat(), &narrow);
    let sox_out = |kind: &str, bytes: &[u8]| {
        let arguments = ["-t", kind, "-r", "8000", "-c", "1", "{}", "-t", "s16", "-L", "-"];
        piped("sox", &arguments, bytes).map(|bytes| samples(&bytes))
    };
    let ffmpeg_in = |rate: &str, encode: &[&str], input: &[u8]| {
        let decode = ["-v", "error", "-f", "s16le", "-ac", "1", "-ar", rate, "-i", "{}"];
        piped("ffmpeg", &[&decode[..], encode, &["-"]].concat(), input)
    };
    let ffmpeg_out = |decode: &[&str], input: &[u8]| {
        let encode = ["-i", "{}", "-f", "s16le", "-ac", "1", "-"];
        piped("ffmpeg", &[&["-v", "error"], decode, &encode].concat(), input).map(|bytes| samples(&bytes))
    };
    let cut = |bytes: &[u8], size: usize| bytes.chunks_exact(size).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let narrowband = |rtpmap, payload_type, bytes: Option<Vec<u8>>, size, by, theirs, least| Trial {
        rtpmap,
        payload_type,
        ticks: 160,
        encoded: bytes.map(|bytes| cut(&bytes, size)),
        by,
        theirs,
        least,
    };
    let mut trials = Vec::new();
    for (rtpmap, payload_type, kind) in [("PCMU/8000", 0, "ul"), ("PCMA/8000", 8, "al")] {
        let encoded = sox_in(kind);
        let theirs = encoded.as_ref().and_then(|bytes| sox_out(kind, bytes));
        trials.push(narrowband(rtpmap, payload_type, encoded, 160, "sox", theirs, EXACT));
    }
    let wire: Vec<u8> = narrow.chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    let big = ["-t", "s16", "-B", "-r", "8000", "-c", "1", "{}", "-t", "s16", "-L", "-"];
    let theirs = piped("sox", &big, &wire).map(|bytes| samples(&bytes));
    trials.push(narrowband("L16/8000", 96, Some(wire), 320, "sox", theirs, EXACT));

    let wide = spoken(16_000);
    let encoded = ffmpeg_in("16000", &["-c:a", "g722", "-f", "g722"], &wide);
    let theirs = encoded.as_ref().and_then(|bytes| ffmpeg_out(&["-f", "g722"], bytes));
    trials.push(narrowband("G722/8000", 9, encoded, 160, "ffmpeg", theirs, EXACT));
    for (rtpmap, bits) in G726 {
        let (kind, packing) = if rtpmap.starts_with("AAL2") { ("g726", "1") } else { ("g726le", "2") };
        let encoded =
            ffmpeg_in("8000", &["-c:a", kind, "-code_size", &bits.to_string(), "-f", kind], &narrow);
        let rate = (bits * 8_000).to_string();
        let theirs = encoded.as_ref().and_then(|bytes| {
            piped("python3", &["-c", SPANDSP, "{}", &rate, packing], bytes).map(|bytes| samples(&bytes))
        });
        trials.push(narrowband(rtpmap, 97, encoded, 20 * bits, "spandsp", theirs, EXACT));
    }
    let encoded = sox_in("gsm");
    let theirs = encoded.as_ref().and_then(|bytes| sox_out("gsm", bytes));
    trials.push(narrowband("GSM/8000", 3, encoded, 33, "sox (libgsm)", theirs, EXACT));

    let encoded = piped("python3", &["-c", ENCODER, "g729", "{}"], &narrow);
    let theirs = encoded
        .as_ref()
        .and_then(|bytes| piped("python3", &["-c", BCG729, "{}"], bytes).map(|bytes| samples(&bytes)));
    // Fixed-point and floating point; both have the postfilter of annex A.
    trials.push(narrowband("G729/8000", 18, encoded.clone(), 20, "libbcg729", theirs, 30.0));
    // ffmpeg has the postfilter of the main body.
    let theirs = encoded.as_ref().and_then(|bytes| ffmpeg_out(&["-f", "g729"], bytes));
    trials.push(narrowband("G729/8000", 18, encoded, 20, "ffmpeg", theirs, 15.0));

    trials.extend(amr(&narrow, &wide));
    trials.push(opus());
    trials
}

/// AMR and AMR-WB, frames of which lie in packets as octet-aligned payloads.
fn amr(narrow: &[u8], wide: &[u8]) -> [Trial; 2] {
    let trial = |rtpmap, ticks, size: usize, encoded: Option<Vec<u8>>, magic: &[u8]| Trial {
        rtpmap,
        payload_type: 96,
        ticks,
        theirs: encoded.as_ref().and_then(|bytes| {
            let decode = ["-v", "error", "-f", "amr", "-i", "{}", "-f", "s16le", "-ac", "1", "-"];
            piped("ffmpeg", &decode, &[magic, bytes].concat()).map(|bytes| samples(&bytes))
        }),
        encoded: encoded
            .map(|bytes| bytes.chunks_exact(size).map(|frame| [&[0xf0], frame].concat()).collect::<Vec<_>>()),
        by: "ffmpeg",
        least: 20.0,
    };
    // ffmpeg's decoders of AMR are in floating point, those of 3GPP, which the libraries are, in fixed point.
    let encoded = |codec: &str, sound: &[u8]| piped("python3", &["-c", ENCODER, codec, "{}"], sound);
    [
        trial("AMR/8000", 160, 32, encoded("amr", narrow), b"#!AMR\n"),
        trial("AMR-WB/16000", 320, 61, encoded("amr-wb", wide), b"#!AMR-WB\n"),
    ]
}

/// libopus on both sides: all that differs is how it gets there, and ffmpeg's conversion.
fn opus() -> Trial {
    let encode = [
        "-v", "error", "-f", "s16le", "-ar", "48000", "-ac", "1", "-i", "{}", "-c:a", "libopus", "-f", "ogg",
        "-",
    ];
    let ogg = piped("ffmpeg", &encode, &spoken(48_000));
    let packets = ogg.as_ref().map(|ogg| packets_of(ogg));
    let decode = ["-v", "error", "-c:a", "libopus", "-i", "{}", "-f", "s16le", "-ac", "1", "-"];
    let theirs = ogg.as_ref().and_then(|ogg| piped("ffmpeg", &decode, ogg)).zip(packets.as_ref());
    let theirs = theirs.map(|(bytes, packets)| {
        // What a player leaves out at the beginning.
        let skipped = usize::from(u16::from_le_bytes([packets[0][10], packets[0][11]]));
        [vec![0; skipped], samples(&bytes)].concat()
    });
    Trial {
        rtpmap: "opus/48000/2",
        payload_type: 96,
        ticks: 960,
        encoded: packets.map(|packets| packets[2..].to_vec()),
        by: "ffmpeg (libopus)",
        theirs,
        least: 40.0,
    }
}

/// The packets of an Ogg stream (RFC 3533 section 6).
fn packets_of(mut ogg: &[u8]) -> Vec<Vec<u8>> {
    let (mut packets, mut open) = (Vec::new(), Vec::new());
    while ogg.len() > 27 {
        let segments = usize::from(ogg[26]);
        let (table, mut body) = ogg[27..].split_at(segments);
        for length in table {
            let (segment, rest) = body.split_at(usize::from(*length));
            open.extend_from_slice(segment);
            body = rest;
            if *length < 255 {
                packets.push(std::mem::take(&mut open));
            }
        }
        ogg = body;
    }
    packets
}

const G726: [(&str, usize); 8] = [
    ("G726-16/8000", 2),
    ("G726-24/8000", 3),
    ("G726-32/8000", 4),
    ("G726-40/8000", 5),
    ("AAL2-G726-16/8000", 2),
    ("AAL2-G726-24/8000", 3),
    ("AAL2-G726-32/8000", 4),
    ("AAL2-G726-40/8000", 5),
];

/// Decodes a file with libspandsp.
const SPANDSP: &str = "
import ctypes, sys
library = ctypes.CDLL('libspandsp.so.2')
library.g726_init.restype = ctypes.c_void_p
data = open(sys.argv[1], 'rb').read()
state = ctypes.c_void_p(library.g726_init(None, int(sys.argv[2]), 0, int(sys.argv[3])))
out = (ctypes.c_int16 * (len(data) * 4 + 8))()
count = library.g726_decode(state, out, data, len(data))
sys.stdout.buffer.write(bytes(out)[:2 * count])
";

/// Decodes a file of ten bytes a frame with libbcg729.
pub(crate) const BCG729: &str = "
import ctypes, sys
library = ctypes.CDLL('libbcg729.so.0')
library.initBcg729DecoderChannel.restype = ctypes.c_void_p
state = ctypes.c_void_p(library.initBcg729DecoderChannel())
data = open(sys.argv[1], 'rb').read()
out = (ctypes.c_int16 * 80)()
for at in range(0, len(data) - 9, 10):
    library.bcg729Decoder(state, data[at:at + 10], 10, 0, 0, 0, out)
    sys.stdout.buffer.write(bytes(out))
";

/// Captures of other people's telephones: file, codec, and how ffmpeg is told what it is.
const CAPTURES: [(&str, &str, &[&str], f64); 6] = [
    ("russo-rtp_sip_g711alaw_30ms.pcapng", "PCMA", &["-f", "alaw", "-ar", "8000", "-ac", "1"], EXACT),
    ("russo-rtp_sip_g711ulaw_10ms.pcapng", "PCMU", &["-f", "mulaw", "-ar", "8000", "-ac", "1"], EXACT),
    ("sipnab-sip-rtp-g722.pcap", "G722", &["-f", "g722"], EXACT),
    ("sipnab-sip-rtp-g729a.pcap", "G729", &["-f", "g729"], 15.0),
    ("russo-rtp_sip_ilbc_20ms_15dot2kbps.pcapng", "iLBC", &["-f", "ilbc"], EXACT),
    ("asterisk-40msalaw.pcap", "PCMA", &["-f", "alaw", "-ar", "8000", "-ac", "1"], EXACT),
];

/// Where they are; `None`, and the test is skipped, where they are absent.
#[track_caller]
pub(crate) fn captures() -> Option<PathBuf> {
    ringtap_testing::shared().map(|shared| shared.join("captures"))
}

#[test]
fn captures_of_others_are_what_another_decoder_makes_of_them() {
    let Some(folder) = captures() else { return };
    let folder = folder.join("rtp-codecs");
    let mut table =
        String::from("capture                                         side    codec  samples  alike\n");
    for (file, codec, decode, least) in CAPTURES {
        let capture = folder.join(file);
        for stream in streams(&capture) {
            let text = |field: &str| stream[field].as_str().unwrap_or_default().to_owned();
            if text("codec") != codec || stream["lost"] != 0 || stream["packets"].as_u64() < Some(60) {
                continue;
            }
            let side = if text("direction") == "callee_to_caller" { "callee" } else { "caller" };
            let Some(packets) = packets(&capture, &stream) else { continue };
            let payloads: Vec<u8> = packets.iter().flat_map(|(_, payload)| payload.clone()).collect();
            let head: &[u8] = if codec == "iLBC" { b"#!iLBC20\n" } else { b"" };
            let arguments = [&["-v", "error"], decode, &["-i", "{}", "-f", "s16le", "-"]].concat();
            let Some(theirs) = piped("ffmpeg", &arguments, &[head, &payloads].concat()) else { continue };
            let temporary = tempfile::tempdir().expect("a temporary folder");
            let copy = temporary.path().join(file);
            fs::copy(&capture, &copy).expect("copied");
            let Some(ours) = heard(&copy, &text("call_id"), side) else {
                let _ = writeln!(table, "{file:47} {side:7} {codec}: no library for it");
                continue;
            };
            let theirs = samples(&theirs);
            // A sender that pauses numbers on, and its time stamps leap: ffmpeg is not told.
            let theirs = if codec == "iLBC" { placed(&packets, &theirs, 160) } else { theirs };
            let alike = judged(file, &ours, &theirs, least);
            let _ = writeln!(table, "{file:47} {side:7} {codec:5} {:8}  {alike}", ours.len());
        }
    }
    println!("{table}");
}

fn streams(capture: &Path) -> Vec<Value> {
    let run = run(["analyze", "--format", "jsonl", capture.to_str().expect("UTF-8")]);
    assert!(run.status == 0 || run.status == 3, "{run:?}");
    let records = run.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("one object a line"));
    records.filter(|record| record["type"] == "stream" && record["call_id"].is_string()).collect()
}

/// Frames of `length` samples where their time stamps put them.
fn placed(packets: &[(u32, Vec<u8>)], frames: &[i16], length: usize) -> Vec<i16> {
    let mut out = Vec::new();
    for ((timestamp, _), frame) in packets.iter().zip(frames.chunks_exact(length)) {
        let at = timestamp.wrapping_sub(packets[0].0) as usize;
        assert!(at < 3_600 * 8_000, "an hour");
        out.resize(at, 0);
        out.extend_from_slice(frame);
    }
    out
}

/// Time stamps and payloads of a stream in order, by tshark.
fn packets(capture: &Path, stream: &Value) -> Option<Vec<(u32, Vec<u8>)>> {
    let ssrc = &stream["ssrc"];
    let ssrc = ssrc.as_str().map_or_else(|| ssrc.to_string(), str::to_owned);
    let filter = format!("rtp.ssrc=={ssrc} && rtp.p_type=={}", stream["payload_type"]);
    let fields = ["-T", "fields", "-e", "rtp.timestamp", "-e", "rtp.payload"];
    let out = piped("tshark", &[&["-r", capture.to_str()?, "-Y", &filter], &fields[..]].concat(), b"")?;
    let out = String::from_utf8(out).ok()?;
    out.lines()
        .map(|line| {
            let (timestamp, digits) = line.split_once('\t')?;
            let digits: Vec<char> = digits.chars().filter(char::is_ascii_hexdigit).collect();
            let byte = |pair: &[char]| Some((pair[0].to_digit(16)? << 4 | pair[1].to_digit(16)?) as u8);
            Some((timestamp.parse().ok()?, digits.chunks_exact(2).map(byte).collect::<Option<_>>()?))
        })
        .collect()
}

/// Extracts the sound of a call to `out.wav`; returns what became of it, and what was said.
fn extracted(capture: &str, call: &str, folder: &Path) -> (Output, String) {
    let out = ringtap()
        .args(["extract", capture, "--call", call, "--wav"])
        .arg(folder.join("out.wav"))
        .output()
        .expect("the program starts");
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    (out, err)
}

#[test]
fn a_codec_that_nobody_decodes_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let capture = folder.path().join("in.pcap");
    let mut built = Built::default();
    speech(&mut built, (97, "speex/8000"), (20, 160), &vec![vec![7; 38]; 100]);
    built.write(&capture);
    let (out, err) = extracted(capture.to_str().expect("UTF-8"), CALL_ID, folder.path());
    assert!(!out.status.success() && err.contains("speex cannot be decoded"), "{err}");
}

/// As SIPp sends a digit: an SSRC of its own, a payload type that the answer does not have.
#[test]
fn a_stream_of_events_beside_the_voice_is_a_remark_and_no_failure() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let capture = folder.path().join("in.pcap");
    let mut built = Built::default();
    speech(&mut built, (8, "PCMA/8000"), (20, 160), &vec![vec![0xd5; 160]; 100]);
    for number in 0..8 {
        let event = rtp(101, number, 800, 9, &[1, 0x0a, 0, 160]);
        built.udp(1_000 + 20 * u64::from(number), (1, 4000), (2, 6000), &event);
    }
    built.write(&capture);
    let (out, err) = extracted(capture.to_str().expect("UTF-8"), CALL_ID, folder.path());
    let remark = "a stream of telephone-events (payload type 101) is left out: it is no sound";
    assert!(out.status.success() && err.contains(remark), "{:?}: {err}", out.status);
    assert!(folder.path().join("out.wav").is_file());
}

/// A call with video beside its voice.
#[test]
fn video_beside_the_voice_is_a_remark_and_no_failure() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let capture = format!("{}/../../cases/audio-and-video/in.pcap", env!("CARGO_MANIFEST_DIR"));
    let list =
        ringtap().args(["analyze", "--format", "jsonl", &capture]).output().expect("the program starts");
    let records = String::from_utf8_lossy(&list.stdout).into_owned();
    let call: Value = serde_json::from_str(records.lines().next().expect("a call")).expect("JSON");
    let (out, err) = extracted(&capture, call["call_id"].as_str().expect("a Call-ID"), folder.path());
    assert!(out.status.success() && err.contains("is left out: it is no sound"), "{:?}: {err}", out.status);
    assert!(folder.path().join("out.wav").is_file());
}

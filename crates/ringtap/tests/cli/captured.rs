//! Streams that other people captured, mostly without their signalling: put into a call that says what they
//! are, taken out of it by `ringtap extract`, and compared with another decoder; then what is no codec:
//! digits and comfort noise. `cargo test -p ringtap --test cli captured -- --nocapture` prints the table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::built::{Built, CALL_ID, rtp, signalling};
use crate::codecs::{BCG729, EXACT, captures, heard, judged};
use crate::run::run;
use crate::sound::{piped, samples};

/// A stream of a capture, and who decodes it as well.
struct Captured {
    file: &'static str,
    ssrc: u32,
    /// What tshark has to be told to find it.
    port: Option<&'static str>,
    payload_type: u8,
    rtpmap: &'static str,
    /// Of the RTP clock in a packet.
    ticks: u32,
    by: By,
    /// dB.
    least: f64,
}

#[derive(Clone, Copy)]
enum By {
    /// libopencore-amrnb or -amrwb, called directly: pauses and their noise included.
    Opencore,
    /// ffmpeg, which has no noise for AMR: the longest run of speech.
    Speech,
    /// libopus by ffmpeg.
    Opus,
    Sox,
    Bcg729,
    Ffmpeg,
}

/// A packet of it.
struct Packet {
    timestamp: u32,
    payload: Vec<u8>,
}

const AMR: &str = "rtp-codecs/rtpdump-sample1_ipv4_amr-nb.pcap";
const PORT: &str = "udp.port==12002,rtp";
const NULL: &str = "rtp-quality/rtpproxy-DLT_NULL.a.rtp.pcap";
const VOLTE: &str = "volte/open5gs-ipsec_to_nonipsec_call.pcapng";

#[rustfmt::skip]
const ALL: [Captured; 16] = [
    amr(AMR, 0x7100_06b8, 118, "AMR/8000", By::Opencore, EXACT),
    amr(AMR, 0x7100_06b8, 118, "AMR/8000", By::Speech, 20.0),
    amr(AMR, 0x7100_8205, 113, "AMR/8000", By::Opencore, EXACT),
    amr(AMR, 0x7100_8205, 113, "AMR/8000", By::Speech, 20.0),
    amr(VOLTE, 1_110_912_931, 116, "AMR-WB/16000", By::Opencore, EXACT),
    amr(VOLTE, 2_733_151, 116, "AMR-WB/16000", By::Opencore, EXACT),
    opus("sip-tcp/russo-rtp_sip_opus.pcapng", 0xf783_5471, 114),
    opus("sip-tcp/russo-rtp_sip_opus.pcapng", 0xfd1f_d070, 114),
    opus("sip-outcomes/kuko6-hovor_rtp.pcapng", 2_056_504_039, 96),
    opus("sip-outcomes/kuko6-hovor_rtp.pcapng", 317_857_361, 96),
    opus("sip-video/vitaly-opus.pcap", 0x9ad6_8ae5, 111),
    opus("dtmf/asterisk-opus-2013785496.pcap", 0x1c2c_77ca, 96),
    Captured { port: Some(PORT), ..narrow(NULL, 3_467_455_019, 3, "GSM/8000", By::Sox, EXACT) },
    narrow("rtp-quality/rtpproxy-c1.a.rtp.pcap", 0, 18, "G729/8000", By::Bcg729, 20.0),
    narrow("rtp-codecs/russo-rtp_g729abr8.pcapng", 0x8b44_e1a2, 18, "G729/8000", By::Bcg729, 20.0),
    narrow("rtp-quality/rtpproxy-c1.a.rtp.pcap", 0, 18, "G729/8000", By::Ffmpeg, 15.0),
];

const fn narrow(
    file: &'static str,
    ssrc: u32,
    payload_type: u8,
    rtpmap: &'static str,
    by: By,
    least: f64,
) -> Captured {
    Captured { file, ssrc, port: None, payload_type, rtpmap, ticks: 160, by, least }
}

const fn amr(
    file: &'static str,
    ssrc: u32,
    payload_type: u8,
    rtpmap: &'static str,
    by: By,
    least: f64,
) -> Captured {
    // AMR/8000 is shorter.
    let ticks = if rtpmap.len() == 8 { 160 } else { 320 };
    Captured { ticks, ..narrow(file, ssrc, payload_type, rtpmap, by, least) }
}

const fn opus(file: &'static str, ssrc: u32, payload_type: u8) -> Captured {
    Captured { ticks: 960, ..narrow(file, ssrc, payload_type, "opus/48000/2", By::Opus, 40.0) }
}

#[test]
fn streams_of_others_are_what_another_decoder_makes_of_them() {
    let Some(folder) = captures() else { return };
    let mut table = String::from(
        "capture                                          codec         packets  samples  alike\n",
    );
    for captured in ALL {
        let Captured { file, rtpmap, .. } = captured;
        let Some(packets) = captured.packets(&folder) else { return };
        let Some(theirs) = captured.theirs(&packets) else {
            ringtap_testing::skip(rtpmap, "no other decoder is installed");
            continue;
        };
        let temporary = tempfile::tempdir().expect("a temporary folder");
        let capture = temporary.path().join("in.pcap");
        captured.call(&packets).write(&capture);
        let Some(ours) = heard(&capture, CALL_ID, "caller") else {
            ringtap_testing::skip(rtpmap, "its library is not installed");
            continue;
        };
        let alike = judged(file, &ours, &theirs, captured.least);
        let (by, count) = (captured.by.name(), packets.len());
        let _ = writeln!(table, "{file:48} {rtpmap:13} {count:7}  {:7}  {by}: {alike}", ours.len());
    }
    println!("{table}");
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Opencore => "libopencore",
            Self::Speech | Self::Ffmpeg => "ffmpeg",
            Self::Opus => "ffmpeg (libopus)",
            Self::Sox => "sox (libgsm)",
            Self::Bcg729 => "libbcg729",
        }
    }
}

impl Captured {
    /// By tshark, each once, in order; `None` where that does not run.
    fn packets(&self, folder: &Path) -> Option<Vec<Packet>> {
        let filter = format!("rtp.ssrc=={} && rtp.p_type=={}", self.ssrc, self.payload_type);
        let path = folder.join(self.file);
        let mut arguments = vec!["-r", path.to_str()?, "--enable-heuristic", "rtp_udp", "-Y", &filter];
        arguments.extend(self.port.iter().flat_map(|port| ["-d", port]));
        let fields = ["rtp.seq", "rtp.timestamp", "rtp.payload"];
        arguments.extend(["-T", "fields"].into_iter().chain(fields.iter().flat_map(|field| ["-e", field])));
        let out = String::from_utf8(piped("tshark", &arguments, b"")?).expect("text");
        let mut packets = BTreeMap::new();
        let mut newest = None;
        for line in out.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            let [sequence, timestamp, digits] = words[..] else { panic!("{line}") };
            let sequence: u16 = sequence.parse().expect("a number");
            // Extended, so that they may wrap.
            let before = *newest.get_or_insert(i64::from(sequence) + 65_536);
            let place = before + i64::from(sequence.wrapping_sub(before as u16) as i16);
            newest = Some(before.max(place));
            let digits: Vec<u32> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
            let payload = digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect();
            let packet = Packet { timestamp: timestamp.parse().expect("a number"), payload };
            packets.insert(place, packet);
        }
        let packets: Vec<Packet> = packets.into_values().collect();
        assert!(packets.len() > 60, "{}: {}", self.file, packets.len());
        let packets = if matches!(self.by, By::Speech) { self.speech(packets) } else { packets };
        Some(packets)
    }

    /// The longest run of packets without a pause between them and without noise, which is shorter.
    fn speech(&self, packets: Vec<Packet>) -> Vec<Packet> {
        let follows = |pair: &[Packet]| {
            pair[1].timestamp.wrapping_sub(pair[0].timestamp) == self.ticks
                && pair.iter().all(|one| one.payload.len() > 10)
        };
        let (mut best, mut begin) = (0..0, 0);
        for end in 1..=packets.len() {
            if end == packets.len() || !follows(&packets[end - 1..=end]) {
                if end - begin > best.len() {
                    best = begin..end;
                }
                begin = end;
            }
        }
        packets.into_iter().skip(best.start).take(best.len()).collect()
    }

    /// A call of them alone, numbered without gaps: what was lost is a pause.
    fn call(&self, packets: &[Packet]) -> Built {
        let clock: u64 = self.rtpmap.split('/').nth(1).and_then(|clock| clock.parse().ok()).expect("a clock");
        let mut built = Built::default();
        let place = |packet: &Packet| packet.timestamp.wrapping_sub(packets[0].timestamp);
        let millis = |packet: &Packet| 20 + u64::from(place(packet)) * 1_000 / clock;
        let formats = format!("{0}\r\na=rtpmap:{0} {1}", self.payload_type, self.rtpmap);
        signalling(&mut built, &formats, packets.last().map_or(0, millis) + 100);
        for (sequence, packet) in packets.iter().enumerate() {
            let data = rtp(self.payload_type, sequence as u16, packet.timestamp, 1, &packet.payload);
            built.udp(millis(packet), (1, 4000), (2, 6000), &data);
        }
        built
    }

    /// What the other decoder makes of them, each at its place.
    fn theirs(&self, packets: &[Packet]) -> Option<Vec<i16>> {
        let joined: Vec<u8> = packets.iter().flat_map(|packet| packet.payload.clone()).collect();
        let wide = self.ticks == 320;
        let frames = || packets.iter().map(|packet| stored(&packet.payload, wide));
        let decoded = match self.by {
            By::Opencore => {
                let mut lines = String::new();
                let mut at = packets[0].timestamp;
                for (packet, frame) in packets.iter().zip(frames()) {
                    let missing = packet.timestamp.wrapping_sub(at) / self.ticks;
                    lines.extend(std::iter::repeat_n("7c\n", missing as usize));
                    frame.iter().for_each(|byte| _ = write!(lines, "{byte:02x}"));
                    lines.push('\n');
                    at = packet.timestamp.wrapping_add(self.ticks);
                }
                let width = if wide { "wide" } else { "narrow" };
                // Every pause is in it.
                return piped("python3", &["-c", OPENCORE, "{}", width], lines.as_bytes())
                    .map(|bytes| samples(&bytes));
            }
            By::Speech => {
                let head: &[u8] = if wide { b"#!AMR-WB\n" } else { b"#!AMR\n" };
                let file: Vec<u8> = head.iter().copied().chain(frames().flatten()).collect();
                piped("ffmpeg", &["-v", "error", "-f", "amr", "-i", "{}", "-f", "s16le", "-"], &file)
            }
            By::Opus => {
                let decode = ["-v", "error", "-c:a", "libopus", "-i", "{}", "-f", "s16le", "-ac", "1", "-"];
                piped("ffmpeg", &decode, &ogg(packets))
            }
            By::Sox => {
                let decode = ["-t", "gsm", "-r", "8000", "-c", "1", "{}", "-t", "s16", "-L", "-"];
                piped("sox", &decode, &joined)
            }
            By::Bcg729 => piped("python3", &["-c", BCG729, "{}"], &joined),
            By::Ffmpeg => {
                piped("ffmpeg", &["-v", "error", "-f", "g729", "-i", "{}", "-f", "s16le", "-"], &joined)
            }
        };
        let decoded = samples(&decoded?);
        let frame = self.ticks as usize;
        assert!(decoded.len() >= packets.len() * frame, "{}: {}", self.file, decoded.len());
        let mut placed = Vec::new();
        for (packet, frame) in packets.iter().zip(decoded.chunks_exact(frame)) {
            let at = packet.timestamp.wrapping_sub(packets[0].timestamp) as usize;
            assert!(at < 3_600 * 48_000, "an hour");
            placed.resize(at, 0);
            placed.extend_from_slice(frame);
        }
        Some(placed)
    }
}

/// One side of a call, told by spandsp's receiver; `None` where that is not installed.
fn dialled(capture: &Path, call: &str) -> Option<String> {
    let wav = capture.with_extension("wav");
    let (capture, wav) = (capture.to_str().expect("UTF-8"), wav.to_str().expect("UTF-8"));
    let run = run([
        "extract", capture, "--call", call, "--wav", wav, "--mix", "caller", "--rate", "8000", "--tones",
    ]);
    assert_eq!(run.status, 0, "{run:?}");
    piped("python3", &["-c", RECEIVER, wav], b"").map(|digits| String::from_utf8(digits).expect("digits"))
}

#[test]
fn a_receiver_knows_the_tones_of_every_digit() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let capture = folder.path().join("in.pcap");
    let mut built = Built::default();
    let digits = "0123456789*#ABCD";
    signalling(&mut built, "0 101\r\na=rtpmap:101 telephone-event/8000", 4_000);
    let mut sequence = 0;
    let mut send = |payload_type, timestamp: u32, later: u32, payload: &[u8]| {
        let data = rtp(payload_type, sequence, timestamp, 1, payload);
        built.udp(20 + u64::from(timestamp + later) / 8, (1, 4000), (2, 6000), &data);
        sequence += 1;
    };
    // Sound, and of each 200 ms 80 of an event, told every 20.
    for event in 0..digits.len() as u32 {
        let start = 1_600 * event;
        (0..6).for_each(|packet| send(0, start + 160 * packet, 0, &[0xff; 160]));
        for length in [160_u16, 320, 480, 640] {
            let [high, low] = length.to_be_bytes();
            send(101, start + 960, u32::from(length), &[event as u8, 10, high, low]);
        }
    }
    send(0, 1_600 * digits.len() as u32, 0, &[0xff; 160]);
    built.write(&capture);
    if let Some(found) = dialled(&capture, CALL_ID) {
        assert_eq!(found, digits);
    }
}

/// Digits that other people dialled.
#[test]
fn a_receiver_knows_the_tones_of_other_peoples_digits() {
    let Some(folder) = captures() else { return };
    for (file, call, digits) in [
        ("russo-dtmf_relay_iwrk_rtpnte.pcapng", "A39AAB6C", "123"),
        ("russo-dtmf_relay_sip_rfc4733.pcapng", "179B092A", "123"),
        ("sipnab-SIP_DTMF2.cap", "25672@", "6789123"),
    ] {
        let temporary = tempfile::tempdir().expect("a temporary folder");
        let capture = temporary.path().join("in");
        fs::copy(folder.join("dtmf").join(file), &capture).expect("copied");
        if let Some(found) = dialled(&capture, call) {
            assert_eq!(found, digits, "{file}");
        }
    }
}

/// Comfort noise (RFC 3389): as loud as it was described, and of the colour that ffmpeg gives it. ffmpeg's is
/// 6 dB softer than the RFC says, where 0 dBov is a square wave at the end of the scale.
#[test]
fn comfort_noise_is_as_described() {
    for (level, filter) in [(40_u8, &[][..]), (40, &[200, 90, 140]), (55, &[60, 150])] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let capture = folder.path().join("in.pcap");
        let said = [&[level], filter].concat();
        let mut built = Built::default();
        signalling(&mut built, "0 13", 12_000);
        let packets = [(0, 0, vec![0xff; 160]), (13, 160, said.clone()), (0, 80_160, vec![0xff; 160])];
        for (sequence, (payload_type, timestamp, payload)) in packets.into_iter().enumerate() {
            let data = rtp(payload_type, sequence as u16, timestamp, 1, &payload);
            built.udp(20 + u64::from(timestamp) / 8, (1, 4000), (2, 6000), &data);
        }
        built.write(&capture);
        let heard = heard(&capture, CALL_ID, "caller").expect("G.711 needs no library");
        assert_eq!(heard.len(), 80_320);
        let ours = &heard[160..80_160];
        let power = ours.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>() / 80_000.0;
        let dbov = 10.0 * (power / 32_768_f64.powi(2)).log10();
        assert!((dbov + f64::from(level)).abs() < 1.0, "{dbov:.1} for -{level}");
        let digits: String = said.iter().map(|byte| format!("{byte:02x}")).collect();
        let Some(theirs) = piped("python3", &["-c", NOISE, &digits], b"") else { continue };
        for lag in 1..=4 {
            let (ours, theirs) = (correlation(ours, lag), correlation(&samples(&theirs)[8_000..], lag));
            assert!((ours - theirs).abs() < 0.04, "{digits}, lag {lag}: {ours:.3} and {theirs:.3}");
        }
    }
}

/// How alike the sound is to itself so many samples later.
fn correlation(samples: &[i16], lag: usize) -> f64 {
    let sum = |lag: usize| {
        let pairs = samples.iter().zip(&samples[lag..]);
        pairs.map(|(one, other)| f64::from(*one) * f64::from(*other)).sum::<f64>()
    };
    sum(lag) / sum(0)
}

/// The one frame of a payload that is bandwidth-efficient (RFC 4867 section 4.3), as files have it (section
/// 5.3).
fn stored(payload: &[u8], wide: bool) -> Vec<u8> {
    let bit = |at: usize| payload[at / 8] >> (7 - at % 8) & 1;
    let number = |from: usize, count: usize| (from..from + count).fold(0, |sum, at| sum << 1 | bit(at));
    // Mode request (4), more frames (1), type (4), quality (1).
    assert_eq!(bit(4), 0, "one frame");
    let (kind, quality) = (number(5, 4), bit(9));
    let narrow: &[usize] = &[95, 103, 118, 134, 148, 159, 204, 244, 39];
    let widths: &[usize] = if wide { &[132, 177, 253, 285, 317, 365, 397, 461, 477, 40] } else { narrow };
    let bits = widths.get(usize::from(kind)).copied().unwrap_or(0);
    let bytes = (0..bits.div_ceil(8)).map(|byte| {
        (0..8).fold(0, |sum, at| {
            let at = 8 * byte + at;
            sum << 1 | if at < bits { bit(10 + at) } else { 0 }
        })
    });
    std::iter::once(kind << 3 | quality << 2).chain(bytes).collect()
}

/// An Ogg file of them, without anything to skip.
fn ogg(packets: &[Packet]) -> Vec<u8> {
    use ogg::PacketWriteEndInfo::{EndPage, EndStream};
    let mut file = Vec::new();
    let mut writer = ogg::PacketWriter::new(&mut file);
    let head = b"OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0".to_vec();
    writer.write_packet(head, 1, EndPage, 0).expect("memory");
    writer.write_packet(b"OpusTags\0\0\0\0\0\0\0\0".to_vec(), 1, EndPage, 0).expect("memory");
    for (number, packet) in (1..).zip(packets) {
        let ends = if number as usize == packets.len() { EndStream } else { EndPage };
        writer.write_packet(packet.payload.clone(), 1, ends, 960 * number).expect("memory");
    }
    file
}

/// Tells the digits of a WAV of one channel at 8000 Hz with libspandsp.
const RECEIVER: &str = "
import ctypes, sys
library = ctypes.CDLL('libspandsp.so.2')
library.dtmf_rx_init.restype = ctypes.c_void_p
state = ctypes.c_void_p(library.dtmf_rx_init(None, None, None))
data = open(sys.argv[1], 'rb').read()[44:]
library.dtmf_rx(state, data, len(data) // 2)
digits = ctypes.create_string_buffer(129)
library.dtmf_rx_get(state, digits, 128)
sys.stdout.buffer.write(digits.value)
";

/// Ten seconds of the noise that a payload describes, by libavcodec.
const NOISE: &str = "
import ctypes, sys
codec, util = ctypes.CDLL('libavcodec.so.59'), ctypes.CDLL('libavutil.so.57')
pointer = ctypes.c_void_p
def made(library, name, *arguments):
    function = getattr(library, name)
    function.restype = pointer
    return pointer(function(*arguments))
decoder = made(codec, 'avcodec_find_decoder_by_name', b'comfortnoise')
context = made(codec, 'avcodec_alloc_context3', decoder)
util.av_opt_set_int(context, b'ar', ctypes.c_int64(8000), 0)
assert codec.avcodec_open2(context, decoder, None) == 0
packet, frame = made(codec, 'av_packet_alloc'), made(util, 'av_frame_alloc')
said = bytes.fromhex(sys.argv[1])
codec.av_new_packet(packet, len(said))
ctypes.memmove(pointer.from_address(packet.value + 24).value, said, len(said))
for _ in range(140):
    assert codec.avcodec_send_packet(context, packet) == 0
    assert codec.avcodec_receive_frame(context, frame) == 0
    count = ctypes.c_int.from_address(frame.value + 112).value
    sys.stdout.buffer.write(ctypes.string_at(pointer.from_address(frame.value).value, 2 * count))
";

/// Decodes frames, a line each, with the library that ringtap loads too, in another way.
const OPENCORE: &str = "
import ctypes, sys
wide = sys.argv[2] == 'wide'
library = ctypes.CDLL('libopencore-amrwb.so.0' if wide else 'libopencore-amrnb.so.0')
create = library.D_IF_init if wide else library.Decoder_Interface_init
decode = library.D_IF_decode if wide else library.Decoder_Interface_Decode
create.restype = ctypes.c_void_p
state = ctypes.c_void_p(create())
out = (ctypes.c_int16 * (320 if wide else 160))()
for line in open(sys.argv[1]):
    decode(state, ctypes.create_string_buffer(bytes.fromhex(line), 64), out, 0)
    sys.stdout.buffer.write(bytes(out))
";

//! A small capture, built packet by packet.

use std::fs::File;
use std::path::Path;

use ringtap_capture::Writer;
use ringtap_model::{Frame, LinkType, Nanos};

/// 2026-11-21 02:00:00 UTC.
pub(crate) const START: Nanos = Nanos(1_795_226_400_000_000_000);

const ETHERNET: LinkType = LinkType(1);

/// Ethernet frames in the order in which they were added.
#[derive(Default)]
pub(crate) struct Built {
    frames: Vec<(Nanos, Vec<u8>)>,
}

impl Built {
    /// Adds a UDP datagram from `192.0.2.SRC` to `192.0.2.DST`.
    pub(crate) fn udp(&mut self, millis: u64, src: (u8, u16), dst: (u8, u16), payload: &[u8]) {
        let length = 20 + 8 + payload.len() as u16;
        let mut frame = vec![2, 0, 0, 0, 0, dst.0, 2, 0, 0, 0, 0, src.0, 8, 0];
        frame.extend([0x45, 0]);
        frame.extend(length.to_be_bytes());
        frame.extend([0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, src.0, 192, 0, 2, dst.0]);
        frame.extend(src.1.to_be_bytes());
        frame.extend(dst.1.to_be_bytes());
        frame.extend((length - 20).to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(payload);
        self.frames.push((START + Nanos::from_millis(millis), frame));
    }

    /// Adds a frame as it is.
    pub(crate) fn frame(&mut self, millis: u64, frame: Vec<u8>) {
        self.frames.push((START + Nanos::from_millis(millis), frame));
    }

    /// Adds a SIP message from host 1 to host 2, or back.
    pub(crate) fn sip(&mut self, millis: u64, to_callee: bool, message: &str) {
        let (src, dst) = if to_callee { ((1, 5060), (2, 5060)) } else { ((2, 5060), (1, 5060)) };
        self.udp(millis, src, dst, message.as_bytes());
    }

    /// Adds an RTP packet of 20 ms of G.711 A-law, every sample `value`.
    pub(crate) fn rtp(
        &mut self,
        millis: u64,
        src: (u8, u16),
        dst: (u8, u16),
        ssrc: u32,
        number: u16,
        value: u8,
    ) {
        let mut packet = vec![0x80, 8];
        packet.extend(number.to_be_bytes());
        packet.extend((u32::from(number) * 160).to_be_bytes());
        packet.extend(ssrc.to_be_bytes());
        packet.extend([value; 160]);
        self.udp(millis, src, dst, &packet);
    }

    /// Writes it, in order of time.
    pub(crate) fn write(&mut self, path: &Path) {
        self.frames.sort_by_key(|(time, _)| *time);
        let mut writer =
            Writer::new(File::create(path).expect("a temporary file"), &[ETHERNET]).expect("a header");
        for (number, (time, data)) in (1..).zip(&self.frames) {
            let frame = Frame { time: *time, number, link: ETHERNET, wire_len: data.len() as u32, data };
            writer.write(&frame).expect("a frame");
        }
        writer.finish().expect("a whole file");
    }

    /// Frames so far.
    pub(crate) fn count(&self) -> usize {
        self.frames.len()
    }
}

/// The Call-ID of [`call`].
pub(crate) const CALL_ID: &str = "4f2a19c0@192.0.2.1";

/// A call of 10 s from host 1 (media on port 4000) to host 2 (port 6000): its INVITE is repeated, the caller
/// hangs up, of the caller's sound every fiftieth packet is lost, RTCP goes beside it.
pub(crate) fn call(built: &mut Built) {
    let request = |method: &str, cseq: &str, tag: &str, body: &str| {
        message(&format!("{method} sip:602@192.0.2.2 SIP/2.0"), cseq, tag, body)
    };
    let answer =
        |status: &str, cseq: &str, body: &str| message(&format!("SIP/2.0 {status}"), cseq, ";tag=b", body);
    let invite = request("INVITE", "1 INVITE", "", &sdp(1, 4000));
    built.sip(0, true, &invite);
    built.sip(500, true, &invite);
    built.sip(510, false, &answer("100 Trying", "1 INVITE", ""));
    built.sip(900, false, &answer("180 Ringing", "1 INVITE", ""));
    built.sip(2_000, false, &answer("200 OK", "1 INVITE", &sdp(2, 6000)));
    built.sip(2_010, true, &request("ACK", "1 ACK", ";tag=b", ""));
    for number in 0..500_u16 {
        let millis = 2_020 + u64::from(number) * 20;
        if number % 50 != 25 {
            built.rtp(millis, (1, 4000), (2, 6000), 0xaaaa_0001, number, 0xd5);
        }
        built.rtp(millis + 7, (2, 6000), (1, 4000), 0xbbbb_0002, number, 0xaa);
    }
    // A receiver report without blocks (RFC 3550 section 6.4.2).
    built.udp(7_000, (1, 4001), (2, 6001), &[0x80, 201, 0, 1, 0xaa, 0xaa, 0, 1]);
    built.sip(12_100, true, &request("BYE", "2 BYE", ";tag=b", ""));
    built.sip(12_120, false, &answer("200 OK", "2 BYE", ""));
}

/// A call in which the caller alone speaks: payloads of so many milliseconds and ticks, of the format that
/// `rtpmap` names.
pub(crate) fn speech(built: &mut Built, format: (u8, &str), length: (u64, u32), payloads: &[Vec<u8>]) {
    conversation(built, format, length, [payloads, &[]]);
}

/// The same with both sides, the caller's first.
pub(crate) fn conversation(
    built: &mut Built,
    (payload_type, rtpmap): (u8, &str),
    (millis, ticks): (u64, u32),
    sides: [&[Vec<u8>]; 2],
) {
    let formats = format!("{payload_type}\r\na=rtpmap:{payload_type} {rtpmap}");
    let length = sides.iter().map(|side| side.len()).max().unwrap_or(0) as u64 * millis;
    signalling(built, &formats, 40 + length);
    let ends = [((1, 4000), (2, 6000)), ((2, 6000), (1, 4000))];
    for (side, (payloads, (src, dst))) in (1_u8..).zip(sides.into_iter().zip(ends)) {
        for (number, payload) in (0_u32..).zip(payloads) {
            let packet = rtp(payload_type, number as u16, number * ticks, side, payload);
            built.udp(20 + u64::from(number) * millis, src, dst, &packet);
        }
    }
}

/// INVITE, 200, ACK at once, BYE at the `end`, in milliseconds; the formats of the media from the list of
/// payload types on.
pub(crate) fn signalling(built: &mut Built, formats: &str, end: u64) {
    let offer = |host: u8, port: u16| {
        let old = "RTP/AVP 8\r\na=rtpmap:8 PCMA/8000\r\n";
        sdp(host, port).replace(old, &format!("RTP/AVP {formats}\r\n"))
    };
    let request = |method: &str, tag: &str, body: &str| {
        message(&format!("{method} sip:602@192.0.2.2 SIP/2.0"), &format!("1 {method}"), tag, body)
    };
    built.sip(0, true, &request("INVITE", "", &offer(1, 4000)));
    built.sip(5, false, &message("SIP/2.0 200 OK", "1 INVITE", ";tag=b", &offer(2, 6000)));
    built.sip(10, true, &request("ACK", ";tag=b", ""));
    built.sip(end, true, &request("BYE", ";tag=b", ""));
    built.sip(end + 5, false, &message("SIP/2.0 200 OK", "1 BYE", ";tag=b", ""));
}

/// An RTP packet.
pub(crate) fn rtp(payload_type: u8, sequence: u16, timestamp: u32, ssrc: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x80, payload_type];
    packet.extend(sequence.to_be_bytes());
    packet.extend(timestamp.to_be_bytes());
    packet.extend([0xaa, 0xaa, 0, ssrc]);
    packet.extend_from_slice(payload);
    packet
}

/// What must not be taken for a part of the call: another call that is busy, and a stream without signalling.
pub(crate) fn others(built: &mut Built) {
    let busy = |start: &str| {
        message(start, "1 INVITE", "", "").replace(CALL_ID, "other@192.0.2.1").replace("221", "999")
    };
    built.sip(3_000, true, &busy("INVITE sip:602@192.0.2.2 SIP/2.0"));
    built.sip(3_050, false, &busy("SIP/2.0 486 Busy \x1b[31mHere"));
    for number in 0..200 {
        built.rtp(1_000 + u64::from(number) * 20, (7, 8000), (8, 9000), 0xcccc_0003, number, 0xd5);
    }
}

fn message(start: &str, cseq: &str, tag: &str, body: &str) -> String {
    let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
    format!(
        "{start}\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{}\r\nFrom: <sip:221@192.0.2.1>;tag=a\r\n\
         To: <sip:602@192.0.2.2>{tag}\r\nCall-ID: {CALL_ID}\r\nCSeq: {cseq}\r\n{kind}\
         Content-Length: {}\r\n\r\n{body}",
        cseq.replace(' ', ""),
        body.len(),
    )
}

fn sdp(host: u8, port: u16) -> String {
    format!(
        "v=0\r\no=- 1 1 IN IP4 192.0.2.{host}\r\ns=-\r\nc=IN IP4 192.0.2.{host}\r\nt=0 0\r\n\
         m=audio {port} RTP/AVP 8\r\na=rtpmap:8 PCMA/8000\r\n"
    )
}

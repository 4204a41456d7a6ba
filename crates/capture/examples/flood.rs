//! Sends G.711 RTP packets on an interface as fast as it goes.
//!
//!     flood INTERFACE [packet|xdp] [SECONDS] [BYTES] [STREAMS] [CPU]
//!
//! BYTES with the Ethernet header, 214 as they are for 20 ms of G.711.
#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::time::{Duration, Instant};

use ringtap_capture::live::{self, Injector, Source, XdpMode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let interface =
        arguments.next().ok_or("usage: flood INTERFACE [packet|xdp] [SECONDS] [BYTES] [STREAMS] [CPU]")?;
    let source = match arguments.next().as_deref() {
        None | Some("packet") => Source::Packet,
        Some("xdp") => Source::Xdp { mode: XdpMode::Auto },
        Some(other) => return Err(format!("`{other}` is no source: packet or xdp").into()),
    };
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |text| text.parse());
    let (seconds, bytes, streams) = (number(5)?, number(214)?.clamp(60, 1514), number(1000)?.max(1));
    if let Some(cpu) = arguments.next() {
        live::pin(cpu.parse()?)?;
    }
    let mut injector = Injector::open(&interface, source)?;
    let mut frames: Vec<Vec<u8>> = (0..64).map(|_| template(bytes)).collect();
    let (mut stream, mut sequence) = (0usize, 0u16);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(seconds as u64) {
        for frame in &mut frames {
            mark(frame, stream, sequence);
            stream += 1;
            if stream == streams {
                (stream, sequence) = (0, sequence.wrapping_add(1));
            }
        }
        let offered: [&[u8]; 64] = std::array::from_fn(|index| frames[index].as_slice());
        let mut left = &offered[..];
        while !left.is_empty() {
            left = &left[injector.send(left)?..];
        }
    }
    injector.flush()?;
    let sent = injector.sent();
    let rate = sent.frames as f64 / began.elapsed().as_secs_f64();
    println!(
        "{} frames sent, {rate:.0} a second, {} of them dropped, full {} times",
        sent.frames, sent.dropped, sent.full
    );
    Ok(())
}

/// Ethernet, IPv4, UDP and RTP with payload type 8.
fn template(bytes: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    frame.extend((bytes as u16 - 14).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 0, 0, 10, 8, 0, 2, 0x27, 0x10, 0x27, 0x10]);
    frame.extend((bytes as u16 - 34).to_be_bytes());
    frame.extend([0, 0, 0x80, 8]);
    frame.resize(bytes, 0xd5);
    frame
}

/// The stream's source, its SSRC, and the packet's number in it.
fn mark(frame: &mut [u8], stream: usize, sequence: u16) {
    let [.., high, low] = (stream as u32).to_be_bytes();
    frame[28..30].copy_from_slice(&[high, low]);
    frame[44..46].copy_from_slice(&sequence.to_be_bytes());
    frame[46..50].copy_from_slice(&(u32::from(sequence) * 160).to_be_bytes());
    frame[50..54].copy_from_slice(&(stream as u32).to_be_bytes());
    frame[24..26].fill(0);
    let words = frame[14..34].chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
}

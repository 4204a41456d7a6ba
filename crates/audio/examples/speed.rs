//! How many calls of 120 s become a stereo WAV in memory in a second, on one core.
//!
//!     cargo run --release -p ringtap-audio --example speed -- g729.raw
//!
//! The argument is raw G.729 (10 bytes a frame), as a telephone makes it; without it G.729 is measured with
//! frames of noise, which take as long.
#![expect(clippy::print_stdout, reason = "the figures are all it is for")]

use std::error::Error;
use std::io::Cursor;
use std::time::Duration;

use ringtap_audio::{AudioPacket, BuiltIn, Codec, MixSettings, Track, mix, write_wav};
use ringtap_model::{Hz, Nanos};

/// Calls a second, from packets in memory to a WAV in memory.
fn measure(codec: Codec, payload_type: u8, bytes: &[u8]) -> Result<f64, Box<dyn Error>> {
    let (size, clock) = (packet(codec), 8);
    let side = || {
        let mut track = Track::new(codec, Hz(8_000));
        for number in 0..PACKETS {
            let at = number as usize * size % (bytes.len() - size + 1) / size * size;
            track.push(AudioPacket {
                arrival: Nanos::from_millis(20 * u64::from(number)),
                sequence: number as u16,
                timestamp: number * 20 * clock,
                payload_type,
                payload: &bytes[at..at + size],
            });
        }
        [track]
    };
    let mut wav = Cursor::new(Vec::with_capacity(32 << 20));
    let (mut calls, begin) = (0_u32, spent()?);
    while calls < 2 || spent()? - begin < Duration::from_secs(4) {
        let (left, right) = (side(), side());
        wav.set_position(0);
        write_wav(&mut mix(&left, &right, MixSettings::default(), &BuiltIn)?, &mut wav)?;
        calls += 1;
    }
    Ok(f64::from(calls) / (spent()? - begin).as_secs_f64())
}

/// Bytes of 20 ms.
fn packet(codec: Codec) -> usize {
    match codec {
        Codec::G729 => 20,
        Codec::Gsm => 33,
        _ => 160,
    }
}

/// Processor time of this thread: what others take of a shared machine is left out.
fn spent() -> Result<Duration, Box<dyn Error>> {
    let figures = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos = figures.split_whitespace().next().ok_or("an empty schedstat")?;
    Ok(Duration::from_nanos(nanos.parse()?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let noise: Vec<u8> = (0..160_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let speech = std::env::args().nth(1).map(std::fs::read).transpose()?;
    let codecs = [(Codec::Pcmu, 0), (Codec::Pcma, 8), (Codec::G722, 9), (Codec::Gsm, 3), (Codec::G729, 18)];
    for (codec, payload_type) in codecs {
        let bytes = speech.as_ref().filter(|_| codec == Codec::G729).unwrap_or(&noise);
        println!("{:5} {:8.1} calls/s", codec.name(), measure(codec, payload_type, bytes)?);
    }
    Ok(())
}

const PACKETS: u32 = 120 * 50;

//! How many calls of 120 s become a stereo WAV in memory in a second, on one core.
//!
//!     cargo build --release -p ringtap
//!     cargo run --release -p ringtap-audio --example speed -- target/release/ringtap g729.raw
//!
//! The second argument is raw G.729 (10 bytes a frame), such as `ffmpeg -i call.wav -c:a g729` or a telephone makes; without both
//! only the codecs of our own are measured. The time of the helper process is in the figure: both run by turns.
#![expect(clippy::print_stdout, reason = "the figures are all it is for")]

use std::error::Error;
use std::io::Cursor;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use ringtap_audio::{
    Codec, Decoder, Decoders, Own, Remote, RtpSound, Settings, Step, Track, is_remote, mix, write_wav,
};
use ringtap_model::{Hz, Nanos};

struct Helpers(Option<String>);

struct Helper {
    remote: Remote<ChildStdout, ChildStdin>,
    child: Child,
}

impl Decoder for Helper {
    fn run(&mut self, steps: &[Step<'_>], out: &mut Vec<i16>) -> Result<(), ringtap_audio::Error> {
        self.remote.run(steps, out)
    }

    fn conceals(&self) -> bool {
        true
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Decoders for Helpers {
    fn open(&self, codec: Codec, rate: Hz) -> Result<Box<dyn Decoder>, ringtap_audio::Error> {
        let Some(program) = self.0.as_ref().filter(|_| is_remote(codec)) else {
            return Own.open(codec, rate);
        };
        let mut child = Command::new(program)
            .arg("decode-helper")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(from), Some(to)) = (child.stdout.take(), child.stdin.take()) else {
            return Own.open(codec, rate);
        };
        Ok(Box::new(Helper { remote: Remote::open(codec, rate, from, to)?, child }))
    }
}

/// Calls a second, from packets in memory to a WAV in memory.
fn measure(
    codec: Codec,
    payload_type: u8,
    bytes: &[u8],
    decoders: &dyn Decoders,
) -> Result<f64, Box<dyn Error>> {
    let (size, clock) = (20 * bytes_per_ms(codec), 8);
    let side = || {
        let mut track = Track::new(codec, Hz(8_000));
        for number in 0..PACKETS {
            let at = number as usize * size % (bytes.len() - size + 1) / size * size;
            track.push(RtpSound {
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
    let (mut calls, begin) = (0_u32, Instant::now());
    while calls < 2 || begin.elapsed() < Duration::from_secs(4) {
        let (left, right) = (side(), side());
        wav.set_position(0);
        write_wav(&mut mix(&left, &right, Settings::default(), decoders)?, &mut wav)?;
        calls += 1;
    }
    Ok(f64::from(calls) / begin.elapsed().as_secs_f64())
}

fn bytes_per_ms(codec: Codec) -> usize {
    if codec == Codec::G729 { 1 } else { 8 }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (helpers, raw) = (Helpers(arguments.next()), arguments.next());
    let noise: Vec<u8> = (0..160_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for (codec, payload_type) in [(Codec::Pcmu, 0), (Codec::Pcma, 8), (Codec::G722, 9)] {
        println!("{:5} {:8.1} calls/s", codec.name(), measure(codec, payload_type, &noise, &helpers)?);
    }
    if let Some(raw) = raw {
        println!("G729  {:8.1} calls/s", measure(Codec::G729, 18, &std::fs::read(raw)?, &helpers)?);
    }
    Ok(())
}

const PACKETS: u32 = 120 * 50;

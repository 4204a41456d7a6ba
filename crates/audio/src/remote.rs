//! Decoding and encoding in another process: the protocol on the two pipes.
//!
//! Some codecs come from C libraries, which read hostile bytes. A separate process loads them at run time: it
//! runs [`serve`] and nothing else; [`Remote`] and [`RemoteEncoder`] are its clients. The program starts the
//! process; this file only uses a reader and a writer.
//!
//! The client first sends the codec (1 byte) and its rate (4, all numbers little-endian). The server answers
//! with a byte: 1 if it can decode, 2 if it can but the process could not be confined, 0 if the library is
//! missing. A request is its length (4), then steps: the kind (1: 0 a packet, 1 loss, 2 loss before a packet
//! that may help), the samples (4), the length of the payload (4) and the payload. The answer is the number
//! of samples (4) and the samples (2 each).
//!
//! To encode, the client sends 128 instead of the codec, and after the rate the channels (1) and the bits per
//! second of each (4); the lookahead (4) follows the answer 1. A request is its length (4) and whole frames
//! of 20 ms, 2 bytes per sample; the answer is, for each frame, the length of its packet (4) and the packet.

use std::io::{self, Read, Write};

use ringtap_model::Hz;

use crate::confinement::{before_libraries, before_payloads};
use crate::sys::{LARGEST_PACKET, Native, OpusEncoder, alarm};
use crate::{Codec, DecodeStep, Decoder, Encoder, EncoderSettings, Error};

/// Codecs that are decoded in another process; their index is their number on the pipe.
const CODECS: [Codec; 4] = [Codec::AmrNb, Codec::AmrWb, Codec::Opus, Codec::Ilbc];

/// Whether [`serve`] decodes a codec.
pub fn is_remote(codec: Codec) -> bool {
    CODECS.contains(&codec)
}

/// A client of [`serve`] that decodes.
pub struct Remote<R, W> {
    codec: Codec,
    from: R,
    to: W,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl<R: Read, W: Write> Remote<R, W> {
    /// Requests a codec at a rate. [`Error::Missing`] if its library is not installed, [`Error::Unsupported`]
    /// for a codec that is not decoded remotely, [`Error::Helper`] if the process does not answer.
    pub fn open(codec: Codec, rate: Hz, from: R, to: W) -> Result<Self, Error> {
        let Some(number) = CODECS.iter().position(|known| *known == codec) else {
            return Err(Error::unsupported(codec.name()));
        };
        let mut remote = Self { codec, from, to, request: vec![number as u8], answer: vec![0] };
        remote.request.extend(rate.0.to_le_bytes());
        let ready = remote.to.write_all(&remote.request).and_then(|()| remote.to.flush());
        ready
            .and_then(|()| remote.from.read_exact(&mut remote.answer))
            .map_err(|error| remote.failed(&error))?;
        match remote.answer[0] {
            1 => Ok(remote),
            0 => Err(missing(codec)),
            _ => Err(Error::Helper { codec: codec.name(), why: UNCONFINED.to_owned() }),
        }
    }

    fn exchange(&mut self, steps: &[DecodeStep<'_>]) -> io::Result<()> {
        self.request.clear();
        self.request.extend([0; 4]);
        for step in steps {
            let (kind, payload) = match *step {
                DecodeStep::Packet { payload, .. } => (0, payload),
                DecodeStep::Lost { next: None, .. } => (1, &[][..]),
                DecodeStep::Lost { next: Some(next), .. } => (2, next),
            };
            self.request.push(kind);
            self.request.extend((step.samples() as u32).to_le_bytes());
            self.request.extend((payload.len() as u32).to_le_bytes());
            self.request.extend_from_slice(payload);
        }
        let length = (self.request.len() - 4) as u32;
        self.request[..4].copy_from_slice(&length.to_le_bytes());
        self.to.write_all(&self.request)?;
        self.to.flush()?;
        let count = number(&mut self.from)?;
        // Exactly the requested number of samples: the process cannot make this one allocate more.
        if count != steps.iter().map(DecodeStep::samples).sum::<usize>() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it returned a wrong number of samples"));
        }
        self.answer.resize(2 * count, 0);
        self.from.read_exact(&mut self.answer)
    }

    fn failed(&self, error: &io::Error) -> Error {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
                "the process that decodes it ended: its library failed on this call's packets".to_owned()
            }
            _ => format!("the process that decodes it does not answer: {error}"),
        };
        Error::Helper { codec: self.codec.name(), why }
    }
}

impl<R: Read, W: Write> Decoder for Remote<R, W> {
    fn run(&mut self, steps: &[DecodeStep<'_>], out: &mut Vec<i16>) -> Result<(), Error> {
        self.exchange(steps).map_err(|error| self.failed(&error))?;
        out.extend(self.answer.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])));
        Ok(())
    }

    fn conceals(&self) -> bool {
        true
    }
}

/// A client of [`serve`] that encodes.
pub struct RemoteEncoder<R, W> {
    coding: EncoderSettings,
    lookahead: u32,
    from: R,
    to: W,
    request: Vec<u8>,
}

impl<R: Read, W: Write> RemoteEncoder<R, W> {
    /// Requests Opus. [`Error::NoEncoder`] if its library is not installed, [`Error::Encoder`] if the process
    /// does not answer.
    pub fn open(coding: EncoderSettings, from: R, to: W) -> Result<Self, Error> {
        let mut remote = Self { coding, lookahead: 0, from, to, request: vec![ENCODE] };
        remote.request.extend(coding.rate.0.to_le_bytes());
        remote.request.push(coding.channels as u8);
        remote.request.extend(coding.bits.to_le_bytes());
        match remote.begin().map_err(|error| unwritten(&error))? {
            1 => Ok(remote),
            0 => {
                let (library, remedy) = OPUS;
                Err(Error::NoEncoder { codec: "Opus", library, remedy })
            }
            _ => Err(Error::Encoder { codec: "Opus", why: UNCONFINED.to_owned() }),
        }
    }

    fn begin(&mut self) -> io::Result<u8> {
        self.to.write_all(&self.request)?;
        self.to.flush()?;
        let mut answer = [0];
        self.from.read_exact(&mut answer)?;
        if answer == [1] {
            self.lookahead = number(&mut self.from)? as u32;
        }
        Ok(answer[0])
    }

    fn exchange(&mut self, samples: &[i16]) -> io::Result<Vec<Vec<u8>>> {
        self.request.clear();
        self.request.extend((2 * samples.len() as u32).to_le_bytes());
        self.request.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
        self.to.write_all(&self.request)?;
        self.to.flush()?;
        let frames = samples.len() / (self.coding.frame() * usize::from(self.coding.channels));
        (0..frames)
            .map(|_| {
                let length = number(&mut self.from)?;
                // The process cannot make this one allocate more.
                if !(1..=LARGEST_PACKET).contains(&length) {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "it returned an invalid packet"));
                }
                let mut packet = vec![0; length];
                self.from.read_exact(&mut packet)?;
                Ok(packet)
            })
            .collect()
    }
}

impl<R: Read, W: Write> Encoder for RemoteEncoder<R, W> {
    fn coding(&self) -> EncoderSettings {
        self.coding
    }

    fn lookahead(&self) -> u32 {
        self.lookahead
    }

    fn encode(&mut self, samples: &[i16]) -> Result<Vec<Vec<u8>>, Error> {
        self.exchange(samples).map_err(|error| unwritten(&error))
    }
}

fn unwritten(error: &io::Error) -> Error {
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
            "the process that encodes it ended: its library failed on this call's sound".to_owned()
        }
        _ => format!("the process that encodes it does not answer: {error}"),
    };
    Error::Encoder { codec: "Opus", why }
}

/// The missing library, and how to install it.
fn missing(codec: Codec) -> Error {
    let (library, remedy) = match codec {
        Codec::AmrNb => ("libopencore-amrnb.so.0", "install Debian's package libopencore-amrnb0"),
        Codec::AmrWb => ("libopencore-amrwb.so.0", "install Debian's package libopencore-amrwb0"),
        Codec::Opus => OPUS,
        _ => (
            "libilbc.so.3 or libavcodec.so.59",
            "install Debian's package libavcodec59, or libilbc version 3, of which Debian 12 has no package",
        ),
    };
    Error::Missing { codec: codec.name(), library, remedy }
}

/// Decodes or encodes requests until the input ends: all that the process does. Before it loads a library it
/// gives up writing files, reading others than libraries, programs and connections; before it reads the first
/// payload, all but reading, writing and memory. It exits if a request takes more than ten seconds.
pub fn serve<R: Read, W: Write>(mut from: R, mut to: W) -> io::Result<()> {
    let mut codec = [0];
    from.read_exact(&mut codec)?;
    let rate = number(&mut from)? as u32;
    let confined = before_libraries();
    if codec == [ENCODE] {
        return serve_encoder(rate, confined, from, to);
    }
    let native = |codec: &Codec| confined.then(|| Native::open(*codec, rate)).flatten();
    let native = CODECS.get(usize::from(codec[0])).and_then(native);
    let Some(mut native) = ready(native, confined, &mut to)? else { return Ok(()) };
    to.flush()?;
    let (mut request, mut samples, mut answer) = (Vec::new(), Vec::new(), Vec::new());
    while next(&mut from, &mut request)? {
        alarm(TIMEOUT);
        samples.clear();
        decode(&mut native, &request, &mut samples).ok_or(io::ErrorKind::InvalidData)?;
        alarm(0);
        answer.clear();
        answer.extend((samples.len() as u32).to_le_bytes());
        answer.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
        to.write_all(&answer)?;
        to.flush()?;
    }
    Ok(())
}

fn serve_encoder<R: Read, W: Write>(rate: u32, confined: bool, mut from: R, mut to: W) -> io::Result<()> {
    let mut channels = [0];
    from.read_exact(&mut channels)?;
    let bits = number(&mut from)? as u32;
    let coding = EncoderSettings { rate: Hz(rate), channels: channels[0].into(), bits };
    let encoder = confined.then(|| OpusEncoder::open(coding)).flatten();
    let Some(mut encoder) = ready(encoder, confined, &mut to)? else { return Ok(()) };
    to.write_all(&encoder.lookahead().to_le_bytes())?;
    to.flush()?;
    let (mut request, mut samples, mut answer) = (Vec::new(), Vec::new(), Vec::new());
    while next(&mut from, &mut request)? {
        alarm(TIMEOUT);
        samples.clear();
        samples.extend(request.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])));
        answer.clear();
        encoder.encode(&samples, &mut answer).ok_or(io::ErrorKind::InvalidData)?;
        alarm(0);
        to.write_all(&answer)?;
        to.flush()?;
    }
    Ok(())
}

/// Confines the process and reports to the client; `None` if the library is missing.
fn ready<T>(native: Option<T>, confined: bool, to: &mut impl Write) -> io::Result<Option<T>> {
    let confined = confined && before_payloads();
    let answer = match (&native, confined) {
        (_, false) => 2,
        (None, true) => 0,
        (Some(_), true) => 1,
    };
    to.write_all(&[answer])?;
    if answer != 1 {
        to.flush()?;
    }
    Ok(native.filter(|_| confined))
}

/// Reads the next request; false at the end of the input.
fn next(from: &mut impl Read, request: &mut Vec<u8>) -> io::Result<bool> {
    let length = match number(from) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        length => length?,
    };
    if length > LARGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    request.resize(length, 0);
    from.read_exact(request)?;
    Ok(true)
}

/// Serves one request; `None` if it is malformed.
fn decode(native: &mut Native, mut request: &[u8], out: &mut Vec<i16>) -> Option<()> {
    while !request.is_empty() {
        let (header, rest) = request.split_first_chunk::<9>()?;
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]) as usize
        };
        let (samples, length) = (word(1), word(5));
        let (payload, rest) = rest.split_at_checked(length)?;
        request = rest;
        let end = out.len() + samples;
        if end > LARGEST {
            return None;
        }
        match header[0] {
            0 => native.packet(payload, out),
            1 => native.lost(samples, None, out),
            2 => native.lost(samples, Some(payload), out),
            _ => return None,
        }
        out.resize(end, 0);
    }
    Some(())
}

fn number(from: &mut impl Read) -> io::Result<usize> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes) as usize)
}

/// The Opus library, and how to install it.
const OPUS: (&str, &str) = ("libopus.so.0", "install Debian's package libopus0");
const UNCONFINED: &str =
    "the process for it could not be confined; does a container forbid seccomp or setrlimit?";
/// Instead of a codec: encode Opus.
const ENCODE: u8 = 128;
/// Largest request in bytes, and answer in samples.
const LARGEST: usize = 16 << 20;
/// Seconds allowed for a request, which is about a second of sound.
const TIMEOUT: u32 = 10;

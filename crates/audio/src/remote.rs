//! Decoding in another process: what is said over the two pipes.
//!
//! Some codecs are decoded by libraries, which are C code that reads hostile bytes. So they are loaded at run time, by a process that does nothing else: [`serve`] is all of it, and
//! [`Remote`] is its other end. The process is started by the program; here are only a reader and a writer.
//!
//! A request is the length of what follows (4 bytes, all numbers little-endian), then steps: the kind (1 byte: 0 a packet, 1
//! loss, 2 loss before a packet that is given to help), the samples (4), the length of the payload (4) and the payload. The answer
//! is the number of samples (4) and the samples (2 each). First of all the codec (1) and its rate (4) go one way, a byte comes
//! back: 1 where it can be decoded, 2 where it can but the process could not be confined, 0 where the library is missing.

use std::io::{self, Read, Write};

use ringtap_model::Hz;

use crate::sys::{Native, alarm, confine};
use crate::{Codec, Decoder, Error, Step};

/// Codecs that are decoded in another process; their place is their number on the pipe.
const CODECS: [Codec; 4] = [Codec::AmrNb, Codec::AmrWb, Codec::Opus, Codec::Ilbc];

/// Whether a codec is one that [`serve`] decodes.
pub fn is_remote(codec: Codec) -> bool {
    CODECS.contains(&codec)
}

/// The other end of [`serve`].
pub struct Remote<R, W> {
    codec: Codec,
    from: R,
    to: W,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl<R: Read, W: Write> Remote<R, W> {
    /// Asks for a codec at a rate. [`Error::Missing`] where its library is not installed, [`Error::Unsupported`] for a codec that is not
    /// decoded so, [`Error::Helper`] where nobody answers.
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
            _ => Err(Error::Helper {
                codec: codec.name(),
                why:
                    "the process for it could not be confined; does a container forbid seccomp or setrlimit?"
                        .to_owned(),
            }),
        }
    }

    fn exchange(&mut self, steps: &[Step<'_>]) -> io::Result<()> {
        self.request.clear();
        self.request.extend([0; 4]);
        for step in steps {
            let (kind, payload) = match *step {
                Step::Packet { payload, .. } => (0, payload),
                Step::Lost { next: None, .. } => (1, &[][..]),
                Step::Lost { next: Some(next), .. } => (2, next),
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
        // What was asked for, to the sample: nothing that the process says makes this one take more.
        if count != steps.iter().map(Step::samples).sum::<usize>() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it gave another number of samples than asked for",
            ));
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
    fn run(&mut self, steps: &[Step<'_>], out: &mut Vec<i16>) -> Result<(), Error> {
        self.exchange(steps).map_err(|error| self.failed(&error))?;
        out.extend(self.answer.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])));
        Ok(())
    }

    fn conceals(&self) -> bool {
        true
    }
}

/// What is missing, and how to get it.
fn missing(codec: Codec) -> Error {
    let (library, remedy) = match codec {
        Codec::AmrNb => ("libopencore-amrnb.so.0", "install Debian's package libopencore-amrnb0"),
        Codec::AmrWb => ("libopencore-amrwb.so.0", "install Debian's package libopencore-amrwb0"),
        Codec::Opus => ("libopus.so.0", "install Debian's package libopus0"),
        _ => (
            "libilbc.so.3 or libavcodec.so.59",
            "install Debian's package libavcodec59, or libilbc version 3, of which Debian 12 has no package",
        ),
    };
    Error::Missing { codec: codec.name(), library, remedy }
}

/// Decodes what comes until the input ends: all that the process does. It gives up files, programs and most of the system's calls
/// before it reads the first payload, and ends if a request takes more than ten seconds.
pub fn serve<R: Read, W: Write>(mut from: R, mut to: W) -> io::Result<()> {
    let mut codec = [0];
    from.read_exact(&mut codec)?;
    let rate = number(&mut from)? as u32;
    let native = CODECS.get(usize::from(codec[0])).and_then(|codec| Native::open(*codec, rate));
    let confined = confine();
    let answer = if native.is_none() {
        0
    } else if confined {
        1
    } else {
        2
    };
    to.write_all(&[answer])?;
    to.flush()?;
    let (Some(mut native), true) = (native, confined) else { return Ok(()) };
    let (mut request, mut samples, mut answer) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let length = match number(&mut from) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            length => length?,
        };
        if length > LARGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        request.resize(length, 0);
        from.read_exact(&mut request)?;
        alarm(PATIENCE);
        samples.clear();
        decode(&mut native, &request, &mut samples).ok_or(io::ErrorKind::InvalidData)?;
        alarm(0);
        answer.clear();
        answer.extend((samples.len() as u32).to_le_bytes());
        answer.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
        to.write_all(&answer)?;
        to.flush()?;
    }
}

/// `None` for what is no request.
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

fn number<R: Read>(from: &mut R) -> io::Result<usize> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes) as usize)
}

/// Bytes of a request, and samples of an answer.
const LARGEST: usize = 16 << 20;
/// Seconds for a request, which is about a second of sound.
const PATIENCE: u32 = 10;

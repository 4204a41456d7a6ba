//! The process that decodes and encodes with codec libraries: this program, started again.

use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ringtap_audio::{
    BuiltIn, Codec, DecodeStep, Decoder, Decoders, Encoder, EncoderSettings, Error, Remote, RemoteEncoder,
    is_remote, serve,
};
use ringtap_model::Hz;

use crate::exit::Exit;

/// The hidden command that is the process; see `ringtap_audio::serve`.
pub(crate) const COMMAND: &str = "decode-helper";

/// Decoders of the audio crate, and libraries in a process for each stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Helpers;

impl Decoders for Helpers {
    fn open(&self, codec: Codec, rate: Hz) -> Result<Box<dyn Decoder>, Error> {
        if !is_remote(codec) {
            return BuiltIn.open(codec, rate);
        }
        let failed = |error| Error::Helper { codec: codec.name(), why: unstarted(&error) };
        let (child, from, to) = start().map_err(failed)?;
        Ok(Box::new(Helper { remote: Remote::open(codec, rate, from, to)?, _child: child }))
    }
}

/// An encoder of Opus, by its library in a process of its own. [`Error::NoEncoder`] where that is not
/// installed.
pub(crate) fn encoder(coding: EncoderSettings) -> Result<Box<dyn Encoder>, Error> {
    let failed = |error| Error::Encoder { codec: "Opus", why: unstarted(&error) };
    let (child, from, to) = start().map_err(failed)?;
    Ok(Box::new(Helper { remote: RemoteEncoder::open(coding, from, to)?, _child: child }))
}

fn unstarted(error: &io::Error) -> String {
    format!("the process for it could not be started: {error}")
}

fn start() -> io::Result<(Ended, ChildStdout, ChildStdin)> {
    // Not by its name: a program that was replaced since would be another version.
    let child = Command::new("/proc/self/exe")
        .arg(COMMAND)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut child = Ended(child);
    match (child.0.stdout.take(), child.0.stdin.take()) {
        (Some(from), Some(to)) => Ok((child, from, to)),
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// One end, and the process at the other.
struct Helper<T> {
    remote: T,
    _child: Ended,
}

impl<T: Decoder> Decoder for Helper<T> {
    fn run(&mut self, steps: &[DecodeStep<'_>], out: &mut Vec<i16>) -> Result<(), Error> {
        self.remote.run(steps, out)
    }

    fn conceals(&self) -> bool {
        self.remote.conceals()
    }
}

impl<T: Encoder> Encoder for Helper<T> {
    fn coding(&self) -> EncoderSettings {
        self.remote.coding()
    }

    fn lookahead(&self) -> u32 {
        self.remote.lookahead()
    }

    fn encode(&mut self, samples: &[i16]) -> Result<Vec<Vec<u8>>, Error> {
        self.remote.encode(samples)
    }
}

/// Killed and waited for when it is not needed any more.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended already, which is as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs as that process.
pub(crate) fn run() -> anyhow::Result<Exit> {
    serve(io::stdin().lock(), io::stdout().lock())?;
    Ok(Exit::Done)
}

//! The helper process that decodes and encodes with codec libraries: this program, started again.

use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ringtap_audio::{
    BuiltIn, Codec, DecodeStep, Decoder, Decoders, Encoder, EncoderSettings, Error, Remote, RemoteEncoder,
    is_remote, serve,
};
use ringtap_model::Hz;

use crate::exit::Exit;

/// The hidden command of the helper process; see `ringtap_audio::serve`.
pub(crate) const COMMAND: &str = "decode-helper";

/// Opens the decoders of the audio crate, and a helper process for each stream that needs a library.
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

/// Opens an Opus encoder in a helper process. [`Error::NoEncoder`] if its library is not installed.
pub(crate) fn encoder(coding: EncoderSettings) -> Result<Box<dyn Encoder>, Error> {
    let failed = |error| Error::Encoder { codec: "Opus", why: unstarted(&error) };
    let (child, from, to) = start().map_err(failed)?;
    Ok(Box::new(Helper { remote: RemoteEncoder::open(coding, from, to)?, _child: child }))
}

fn unstarted(error: &io::Error) -> String {
    format!("cannot start the helper process: {error}")
}

fn start() -> io::Result<(Ended, ChildStdout, ChildStdin)> {
    // Not by name: the program may have been replaced by another version since.
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

/// A connection to a helper process.
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

/// Kills the process and waits for it when dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs as the helper process.
pub(crate) fn run() -> anyhow::Result<Exit> {
    serve(io::stdin().lock(), io::stdout().lock())?;
    Ok(Exit::Done)
}

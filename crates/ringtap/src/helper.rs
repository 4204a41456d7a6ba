//! The process that decodes with codec libraries: this program, started again.

use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ringtap_audio::{Codec, Decoder, Decoders, Error, Own, Remote, Step, is_remote, serve};
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
            return Own.open(codec, rate);
        }
        let failed = |error: io::Error| Error::Helper {
            codec: codec.name(),
            why: format!("the process for it could not be started: {error}"),
        };
        let mut child = start().map_err(failed)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let child = Ended(child);
        Ok(Box::new(Helper { remote: Remote::open(codec, rate, from, to)?, _child: child }))
    }
}

fn start() -> io::Result<Child> {
    // Not by its name: a program that was replaced since would be another version.
    Command::new("/proc/self/exe")
        .arg(COMMAND)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

struct Helper {
    remote: Remote<ChildStdout, ChildStdin>,
    _child: Ended,
}

impl Decoder for Helper {
    fn run(&mut self, steps: &[Step<'_>], out: &mut Vec<i16>) -> Result<(), Error> {
        self.remote.run(steps, out)
    }

    fn conceals(&self) -> bool {
        self.remote.conceals()
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

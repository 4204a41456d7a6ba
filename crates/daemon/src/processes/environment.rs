//! Credentials that the service manager gives in the environment: for the process that speaks to the bucket,
//! and for no other.
//!
//! A program cannot remove from its memory what its environment had at the start. So it is started again
//! without them. Meanwhile they are in a pipe, its standard input, which the other process reads.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use nix::fcntl::{FcntlArg, fcntl};
use zeroize::Zeroizing;

/// Credentials out of the environment, on their way to the process that needs them.
#[derive(Debug)]
pub(crate) struct Credentials(Option<OwnedFd>);

impl Credentials {
    /// Starts this program again if its environment has any. Call it before anything is opened.
    ///
    /// # Errors
    ///
    /// The program cannot be started again.
    pub(crate) fn remove_from_environment() -> anyhow::Result<Self> {
        if env::var_os(MOVED).is_some() {
            let pipe = io::stdin().as_fd().try_clone_to_owned().context("standard input is closed")?;
            return Ok(Self(Some(pipe)));
        }
        let secrets: Vec<(OsString, OsString)> =
            env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(PREFIX)).collect();
        if secrets.is_empty() {
            return Ok(Self(None));
        }
        let failed = "cannot start again without the credentials in the environment";
        let (read, mut write) = io::pipe().context(failed)?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST));
        for (name, value) in &secrets {
            bytes.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
        }
        // Nobody reads it yet.
        let room = fcntl(&write, FcntlArg::F_GETPIPE_SZ).context(failed)?;
        if bytes.len() > usize::try_from(room)?.min(LONGEST) {
            bail!("{failed}: variables that begin with AWS_ have {} bytes: remove some", bytes.len());
        }
        write.write_all(&bytes).context(failed)?;
        // The name that `ps` shows is that of the file.
        let program = env::current_exe().ok().filter(|path| path.exists());
        let mut again = Command::new(program.unwrap_or_else(|| PathBuf::from("/proc/self/exe")));
        let mut arguments = env::args_os();
        again.arg0(arguments.next().unwrap_or_default()).args(arguments);
        for (name, _) in &secrets {
            again.env_remove(name);
        }
        Err(again.env(MOVED, "").stdin(Stdio::from(read)).exec()).context(failed)
    }

    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        self.0.is_some()
    }

    /// For the standard output of the process that reads them; /dev/null if there are none.
    pub(crate) fn into_stdio(self) -> Stdio {
        self.0.map_or_else(Stdio::null, Stdio::from)
    }

    /// Forgets them: no bucket needs them.
    pub(crate) fn discard(self) -> io::Result<()> {
        self.0.map_or(Ok(()), |pipe| read_all(pipe).map(drop))
    }
}

/// What the other process finds.
pub(crate) struct Variables(Vec<(String, Zeroizing<String>)>);

impl Variables {
    /// Those in the pipe that is standard output here.
    pub(crate) fn received() -> io::Result<Self> {
        let bytes = read_all(io::stdout().as_fd().try_clone_to_owned()?)?;
        let variables = bytes.split(|byte| *byte == 0).filter_map(|line| {
            let (name, value) = std::str::from_utf8(line).ok()?.split_once('=')?;
            Some((name.to_owned(), Zeroizing::new(value.to_owned())))
        });
        Ok(Self(variables.collect()))
    }

    /// None at all.
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    /// Of this name, here or in the environment.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        let found = self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.to_string());
        found.or_else(|| String::from_utf8(env::var_os(name)?.into_vec()).ok())
    }
}

fn read_all(pipe: OwnedFd) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST));
    File::from(pipe).take(LONGEST as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Variables with credentials begin so.
const PREFIX: &[u8] = b"AWS_";
/// Set for the program that was started again: they are in its standard input.
const MOVED: &str = "RINGTAP_CREDENTIALS_MOVED";
/// Most bytes of credentials.
const LONGEST: usize = 64 << 10;

//! Another process of the daemon: this program again, in a hidden role.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use ringtap_bucket::{Keys, Settings};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::config::{Config, KeyFiles, LogLevel};
use crate::processes::channel;
use crate::processes::hook_source::{HookSource, OpenHook};
use crate::processes::notify_source::{NotifySource, OpenTarget};

/// The hidden command of these processes.
pub const COMMAND: &str = "daemon-process";

/// What a process is for. It is sent before the daemon reads its first packet.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Role {
    /// Holds the master key and the signing key.
    Keys(KeyFiles),
    /// Reads the credentials of a bucket, and starts the process that uses them, again if it ends.
    NetworkStarter(BucketSource),
    /// Speaks to the bucket.
    Network { settings: Settings, keys: Keys },
    /// Reads the secrets of who is told of alarms, and starts the process that tells them, again if it ends.
    NotifyStarter(NotifySource),
    /// Tells of alarms.
    Notify { targets: Vec<OpenTarget>, host: String },
    /// Reads the secrets of hooks, and starts a process for each delivery.
    HookStarter(HookSource),
    /// Delivers one call.
    Hook(OpenHook),
}

/// What the process needs that starts the other one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BucketSource {
    pub(crate) settings: Settings,
    /// Segments move to it: without credentials the daemon does not start.
    pub(crate) needed: bool,
    /// Credentials are in the pipe that is standard output.
    pub(crate) environment: bool,
}

/// How a process starts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) role: Role,
    /// The user to become.
    pub(crate) user: String,
    pub(crate) log: LogLevel,
}

impl Start {
    pub(crate) fn new(role: Role, config: &Config) -> Self {
        Self { role, user: config.process.user.clone(), log: config.log.level }
    }
}

/// A running process. It ends when its socket is closed, so at the latest with the daemon.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    name: &'static str,
    child: Arc<Mutex<Child>>,
    socket: Arc<UnixStream>,
}

impl Process {
    /// Starts a process, and waits until it has read its secrets, dropped its privileges and is confined.
    ///
    /// # Errors
    ///
    /// It cannot be started, or says what it lacks.
    ///
    /// `secrets` is a pipe that it reads.
    pub(crate) fn start(name: &'static str, start: Start, secrets: Option<Stdio>) -> anyhow::Result<Self> {
        let failed = || format!("cannot start the process for {name}");
        let (ours, theirs) = UnixStream::pair().with_context(failed)?;
        // Not by name: the program may have been replaced by another version since.
        let child = Command::new("/proc/self/exe")
            .arg(COMMAND)
            .env_remove("NOTIFY_SOCKET")
            .env_remove("WATCHDOG_USEC")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(secrets.unwrap_or_else(Stdio::null))
            .spawn()
            .with_context(failed)?;
        let process = Self { name, child: Arc::new(Mutex::new(child)), socket: Arc::new(ours) };
        let mut line = Zeroizing::new(serde_json::to_vec(&start).with_context(failed)?);
        line.push(b'\n');
        (&*process.socket).write_all(&line).with_context(failed)?;
        let answer = read_line(&process.socket).with_context(failed)?;
        match answer.as_deref() {
            Some("") => Ok(process),
            Some(problem) => bail!("{problem}"),
            None => bail!("{}: it ended at once", failed()),
        }
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> io::Result<UnixStream> {
        channel::connect(&self.socket)
    }

    /// Passes a connection that another process has made.
    pub(crate) fn pass(&self, connection: &UnixStream) -> io::Result<()> {
        channel::pass(&self.socket, connection)
    }

    /// Has it end, and waits for that: nothing asks it any more.
    pub(crate) fn close(&self) {
        // An error means that it has ended.
        let _ = self.socket.shutdown(Shutdown::Both);
        let _ = self.child.lock().unwrap_or_else(PoisonError::into_inner).wait();
    }

    /// What it is for, if it has ended.
    pub(crate) fn ended(&self) -> Option<&'static str> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(child.try_wait(), Ok(Some(_)) | Err(_)).then_some(self.name)
    }
}

/// A line without its line feed, and not a byte more; None at the end of the input.
pub(crate) fn read_line(mut from: &UnixStream) -> io::Result<Option<String>> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    loop {
        if from.read(&mut byte)? == 0 {
            return Ok(None);
        }
        match byte {
            [b'\n'] => return Ok(Some(String::from_utf8_lossy(&line).into_owned())),
            _ if line.len() == LONGEST => return Err(io::ErrorKind::InvalidData.into()),
            [byte] => line.push(byte),
        }
    }
}

/// Longest line at the start.
const LONGEST: usize = 512 << 10;

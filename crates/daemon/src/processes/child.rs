//! Another process of the daemon: this program again, in a hidden role.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::config::{Config, KeyFiles, LogLevel};
use crate::processes::channel;
use crate::processes::key_role::{self, Serve};
use crate::{logger, system};

/// The hidden command of these processes.
pub const COMMAND: &str = "daemon-process";

/// What a process is for. It is sent before the daemon reads its first packet.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Role {
    /// Holds the master key and the signing key.
    Keys(KeyFiles),
}

/// How a process starts.
#[derive(Debug, Serialize, Deserialize)]
struct Start {
    role: Role,
    /// The user to become.
    user: String,
    log: LogLevel,
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
    pub(crate) fn start(name: &'static str, role: Role, config: &Config) -> anyhow::Result<Self> {
        let failed = || format!("cannot start the process for {name}");
        let (ours, theirs) = UnixStream::pair().with_context(failed)?;
        // Not by name: the program may have been replaced by another version since.
        let child = Command::new("/proc/self/exe")
            .arg(COMMAND)
            .env_remove("NOTIFY_SOCKET")
            .env_remove("WATCHDOG_USEC")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .with_context(failed)?;
        let process = Self { name, child: Arc::new(Mutex::new(child)), socket: Arc::new(ours) };
        let start = Start { role, user: config.process.user.clone(), log: config.log.level };
        let mut line = serde_json::to_string(&start).with_context(failed)?;
        line.push('\n');
        (&*process.socket).write_all(line.as_bytes()).with_context(failed)?;
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

    /// Has it end, and waits for that: nothing asks it any more.
    pub(crate) fn close(&self) {
        let ended = self.socket.shutdown(Shutdown::Both);
        if ended.is_ok() {
            let _ = self.child.lock().unwrap_or_else(PoisonError::into_inner).wait();
        }
    }

    /// What it is for, if it has ended.
    pub(crate) fn ended(&self) -> Option<&'static str> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(child.try_wait(), Ok(Some(_)) | Err(_)).then_some(self.name)
    }
}

/// Runs as such a process until the daemon ends.
///
/// # Errors
///
/// Standard input is not the daemon's socket.
pub fn run() -> anyhow::Result<()> {
    system::forbid_dumps();
    // The daemon gets these signals too, and still needs this process to end in order.
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let socket = io::stdin().as_fd().try_clone_to_owned().context("standard input is closed")?;
    let socket = UnixStream::from(socket);
    let not_ours = "only `ringtap run` starts this command";
    let line = read_line(&socket).context(not_ours)?.context(not_ours)?;
    let start: Start = serde_json::from_str(&line).context(not_ours)?;
    logger::level(start.log);
    let (answer, serve) = match prepared(start) {
        Ok(serve) => (String::new(), Some(serve)),
        Err(error) => (format!("{error:#}").replace('\n', " "), None),
    };
    (&socket).write_all(format!("{answer}\n").as_bytes())?;
    match serve {
        Some(serve) => serve_all(&socket, serve),
        None => Ok(()),
    }
}

fn prepared(start: Start) -> anyhow::Result<Serve> {
    let user = system::user(&start.user)?;
    match start.role {
        Role::Keys(files) => key_role::prepared(&files, user.as_ref()),
    }
}

fn serve_all(socket: &UnixStream, serve: Serve) -> anyhow::Result<()> {
    let open = Arc::new(AtomicUsize::new(0));
    while let Some(connection) = channel::accept(socket)? {
        if open.load(Ordering::Relaxed) >= CONNECTIONS {
            log::error!(target: "run", "too many connections between the daemon's processes: one is refused");
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (serve, own) = (Arc::clone(&serve), Arc::clone(&open));
        thread::Builder::new().spawn(move || {
            if let Err(error) = serve(connection) {
                log::debug!(target: "run", "a connection between the daemon's processes failed: {error}");
            }
            own.fetch_sub(1, Ordering::Relaxed);
        })?;
    }
    Ok(())
}

/// A line without its line feed, and not a byte more; None at the end of the input.
fn read_line(mut from: &UnixStream) -> io::Result<Option<String>> {
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

/// Connections of a process at once: two for each worker, and some to spare.
const CONNECTIONS: usize = 1024;
/// Longest line at the start.
const LONGEST: usize = 64 << 10;

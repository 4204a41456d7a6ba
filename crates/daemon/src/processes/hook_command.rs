//! Runs the command of a hook for one call: without a shell, in a directory of its own, with the environment
//! that the configuration names, and never longer than its time.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use ringtap_hook::{Hook, HookCommand};
use ringtap_notify::NotifyError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Resource as Limit, Rlimit, Signal, WaitOptions, kill_process, kill_process_group, nice, prlimit,
    set_child_subreaper, wait,
};
use serde_json::Value;

use crate::processes::hook_exchange::Order;

/// Runs it, and waits until it and all that it started have ended: by themselves, or killed at the time
/// limit, or when nobody waits for the answer any more.
pub(crate) fn run(
    command: &HookCommand,
    hook: &Hook,
    order: Order,
    connection: &UnixStream,
) -> Result<(), NotifyError> {
    let failed = |error: io::Error| NotifyError::later(format!("its command cannot be started: {error}"));
    let directory = WorkDirectory::make().map_err(failed)?;
    let mut document = order.document;
    if let Some(bytes) = order.sound_bytes {
        let path = directory.0.join("sound.wav");
        save(connection, bytes, &path).map_err(failed)?;
        document = with_path(&document, &path).map_err(failed)?;
    }
    let mut child = start(command, &directory.0).map_err(failed)?;
    let stdin = child.stdin.take();
    // A command that reads nothing, or not all, is right as well: it is judged by its exit status.
    let writer = thread::spawn(move || {
        document.push(b'\n');
        stdin.map(|mut stdin| stdin.write_all(&document))
    });
    let stderr = child.stderr.take();
    let reader = thread::spawn(move || stderr.map(last_of).unwrap_or_default());
    let status = until_end(&mut child, hook.timeout, connection);
    kill_all(child.id());
    let _ = writer.join();
    let said = reader.join().unwrap_or_default();
    judged(status.map_err(failed)?, hook, &said)
}

/// What an end means.
fn judged(status: Option<ExitStatus>, hook: &Hook, said: &str) -> Result<(), NotifyError> {
    let says = if said.is_empty() { String::new() } else { format!(": {said}") };
    let Some(status) = status else {
        let limit = hook.timeout.as_secs();
        return Err(NotifyError::later(format!("its command was killed after {limit} s{says}")));
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(NEVER), _) => Err(NotifyError::refused(format!("its command ends with status {NEVER}{says}"))),
        (Some(code), _) => Err(NotifyError::later(format!("its command ends with status {code}{says}"))),
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            Err(NotifyError::later(format!("its command is ended by signal {signal}{says}")))
        }
    }
}

/// A directory of its own, which goes with everything in it.
struct WorkDirectory(PathBuf);

impl WorkDirectory {
    fn make() -> io::Result<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = std::env::temp_dir().join(format!("ringtap-hook-{}-{now}", std::process::id()));
        // It fails where somebody has put anything there.
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            log::warn!(target: "hooks", "cannot remove `{}`: {error}", self.0.display());
        }
    }
}

fn save(connection: &UnixStream, bytes: u64, path: &Path) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let copied = io::copy(&mut connection.take(bytes), &mut file)?;
    if copied == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn with_path(document: &[u8], path: &Path) -> io::Result<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(document)?;
    document["sound"]["path"] = path.display().to_string().into();
    Ok(serde_json::to_vec(&document)?)
}

/// Starts the command in a process group of its own. Whatever it starts becomes a child of this process when
/// its parent ends.
fn start(command: &HookCommand, directory: &Path) -> io::Result<Child> {
    set_child_subreaper(Some(Pid::INIT))?;
    // Capturing comes first.
    nice(NICE)?;
    for (limit, most) in
        [(Resource::RLIMIT_CORE, 0), (Resource::RLIMIT_NOFILE, OPEN_FILES), (Resource::RLIMIT_FSIZE, FILE)]
    {
        let (_, allowed) = getrlimit(limit)?;
        setrlimit(limit, most.min(allowed), most.min(allowed))?;
    }
    let (program, arguments) = command.program.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut environment: Vec<(OsString, OsString)> = vec![("PATH".into(), PATH.into())];
    for variable in &command.environment {
        match variable.split_once('=') {
            Some((name, value)) => environment.push((name.into(), value.into())),
            None => environment.extend(std::env::var_os(variable).map(|value| (variable.into(), value))),
        }
    }
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    if command.memory > 0 {
        let most = Rlimit { current: Some(command.memory), maximum: Some(command.memory) };
        // It may have ended already.
        let _ = prlimit(pid(child.id()), Limit::As, most);
    }
    Ok(child)
}

/// Waits for its end; None where its time is over, or the service has ended.
fn until_end(child: &mut Child, most: Duration, connection: &UnixStream) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + most;
    let turn = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        // Hung up: nothing else is asked for.
        let mut watched = [PollFd::new(connection, PollFlags::empty())];
        let is_gone = poll(&mut watched, Some(&turn)).is_ok_and(|ready| ready > 0);
        if is_gone || Instant::now() >= until {
            return Ok(None);
        }
    }
}

/// Ends the command's process group, and everything else that it started and left.
fn kill_all(command: u32) {
    if let Some(group) = pid(command) {
        // Nothing of it is left where this fails.
        let _ = kill_process_group(group, Signal::KILL);
    }
    // Until nothing is left to wait for. What is killed here leaves its own children to this process.
    let until = Instant::now() + KILLING;
    while Instant::now() < until {
        match wait(WaitOptions::NOHANG) {
            Err(_) => return,
            Ok(Some(_)) => {}
            Ok(None) => {
                children()
                    .into_iter()
                    .filter_map(pid)
                    .for_each(|child| _ = kill_process(child, Signal::KILL));
                thread::sleep(Duration::from_millis(2));
            }
        }
    }
    log::error!(target: "hooks", "a command has left processes that cannot be ended");
}

/// The children of all threads of this process.
fn children() -> Vec<u32> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let listed = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    listed
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn pid(id: u32) -> Option<Pid> {
    Pid::from_raw(id.cast_signed())
}

/// The last line that it says, as one printable line.
pub(crate) fn last_of(mut from: impl Read) -> String {
    let (mut kept, mut bytes) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        kept.extend_from_slice(&bytes[..read]);
        let cut = kept.len().saturating_sub(KEPT);
        kept.drain(..cut);
    }
    let text = String::from_utf8_lossy(&kept);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    ringtap_report::text::shown(last.trim()).chars().take(SHOWN).collect()
}

/// The exit status with which a command says that it will never take this call: EX_DATAERR of sysexits.h.
const NEVER: i32 = 65;
/// Longest time for the end of what was killed.
const KILLING: Duration = Duration::from_secs(30);
const NICE: i32 = 10;
const OPEN_FILES: u64 = 1024;
/// Most bytes of a file that it writes.
const FILE: u64 = 4 << 30;
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Bytes of what it says on standard error that are kept.
const KEPT: usize = 4096;
/// Letters of that in the log.
const SHOWN: usize = 200;

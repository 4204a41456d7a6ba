//! A socket for commands to the running program: who may write to it decides what is kept.
//!
//! One line of JSON each way: `{"do":"pause","call":"4f2a19@192.0.2.1"}`, and `{"ok":true,"told":"paused"}`.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use nix::unistd::{User, chown};
use ringtap_model::Nanos;
use ringtap_recorder::orders::{CallCommand, Orders};
use ringtap_spool::Hold;
use ringtap_spool::rules::RecordingScope;
use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// From now on so much of the call is kept.
    Keep {
        /// Its Call-ID.
        call: String,
        /// As in the configuration.
        what: String,
    },
    /// What is said in it is not kept.
    Pause {
        /// Its Call-ID.
        call: String,
    },
    /// It is again.
    Resume {
        /// Its Call-ID.
        call: String,
    },
    /// It is held for a case when it has ended.
    Hold {
        /// Its Call-ID.
        call: String,
        /// The case.
        case: String,
        /// Its interception product.
        product: bool,
    },
    /// The rules now, and how many calls each decided.
    Rules,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) ok: bool,
    pub(crate) told: String,
}

/// Begins to listen, before anything is given up that this may need: what lies there from a run before is
/// cleared away.
pub(crate) fn listen(path: &Path, user: Option<&User>) -> anyhow::Result<UnixListener> {
    if UnixStream::connect(path).is_ok() {
        bail!(
            "[process] control: another program listens at {}: stop it, or name another path",
            path.display()
        );
    }
    let is_socket = |meta: fs::Metadata| {
        use std::os::unix::fs::FileTypeExt;
        meta.file_type().is_socket()
    };
    if fs::symlink_metadata(path).is_ok_and(is_socket) {
        fs::remove_file(path)
            .with_context(|| format!("[process] control: cannot replace {}", path.display()))?;
    }
    let listener = UnixListener::bind(path).with_context(|| {
        format!(
            "[process] control: cannot listen at {}: name a path in a directory of the program's user",
            path.display()
        )
    })?;
    // Until here the umask says who may write to it.
    fs::set_permissions(path, fs::Permissions::from_mode(0o660))
        .with_context(|| format!("[process] control: cannot set the mode of {}", path.display()))?;
    if let Some(user) = user {
        chown(path, Some(user.uid), Some(user.gid)).with_context(|| {
            format!("[process] control: {} cannot be given to `{}`", path.display(), user.name)
        })?;
    }
    Ok(listener)
}

/// What commands are about: where nothing is kept, nothing.
#[derive(Clone, Debug)]
pub(crate) struct ControlContext {
    pub(crate) orders: Arc<Orders>,
    /// The spool's directory.
    pub(crate) spool: PathBuf,
}

/// Serves in a thread of its own, for as long as the process lives. None: nothing is kept.
pub(crate) fn serve(listener: UnixListener, desk: Option<ControlContext>) -> io::Result<()> {
    let open = Arc::new(AtomicUsize::new(0));
    let accept = move || {
        for connection in listener.incoming() {
            let Ok(connection) = connection else {
                // Out of descriptors, say: it must not spin.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (desk, mine) = (desk.clone(), Arc::clone(&open));
            let served = thread::Builder::new().name("control".into()).spawn(move || {
                if let Err(error) = talk(&connection, desk.as_ref()) {
                    log::debug!(target: "control", "a connection ended: {error}");
                }
                mine.fetch_sub(1, Ordering::Relaxed);
            });
            if served.is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    };
    thread::Builder::new().name("control".into()).spawn(accept).map(|_| ())
}

/// One line, one answer.
fn talk(mut connection: &UnixStream, desk: Option<&ControlContext>) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(connection.take(REQUEST)).read_line(&mut line)?;
    let answer = match (serde_json::from_str(&line), desk) {
        (Err(error), _) => Err(anyhow::anyhow!("not a request: {error}")),
        (Ok(_), None) => Err(anyhow::anyhow!("nothing is kept: [spool] directory is empty")),
        (Ok(request), Some(desk)) => answer(request, desk),
    };
    let answer = match answer {
        Ok(told) => Answer { ok: true, told },
        Err(error) => Answer { ok: false, told: format!("{error:#}") },
    };
    let mut line = serde_json::to_string(&answer)?;
    line.push('\n');
    connection.write_all(line.as_bytes())
}

fn answer(request: Request, desk: &ControlContext) -> anyhow::Result<String> {
    let orders = &desk.orders;
    let (call, act) = match request {
        Request::Rules => {
            let ruling = orders.ruling().0;
            return Ok([ruling.product_lines(), ruling.lines()].concat().join("\n"));
        }
        Request::Keep { call, what } => (call, CallCommand::Keep(what.parse::<RecordingScope>()?)),
        Request::Hold { call, case, product } => return hold(desk, &call, &case, product),
        Request::Pause { call } => (call, CallCommand::Pause),
        Request::Resume { call } => (call, CallCommand::Resume),
    };
    match orders.command(&call, act)? {
        Some(told) => Ok(told),
        None => bail!("no call under way has the Call-ID `{call}`"),
    }
}

/// Puts a call on hold that is under way: what is to be held is known when it has ended.
fn hold(desk: &ControlContext, call: &str, case: &str, product: bool) -> anyhow::Result<String> {
    let Some(at) = desk.orders.command(call, CallCommand::Time)? else {
        bail!("no call under way has the Call-ID `{call}`");
    };
    // By its packets: those of a replay are of another time than now.
    let at = Nanos(at.parse().context("a worker does not know what time it is")?);
    Hold::of_call_under_way(case, call, at, ringtap_report::time::now(), product).save(&desk.spool)?;
    if !product {
        log::info!(target: "spool", "call {call}: is held for {case} when it has ended, by command");
    }
    Ok(format!("{call} is under way: it is held for {case} when it has ended"))
}

/// Asks a running program.
///
/// # Errors
///
/// Where none listens, or it says no.
pub fn ask(path: &Path, request: &Request) -> anyhow::Result<String> {
    let reach = || {
        format!(
            "cannot reach ringtap at {}: is it running, does [process] control of its configuration name this path, and may you \
             write to it?",
            path.display()
        )
    };
    let mut connection = UnixStream::connect(path).with_context(reach)?;
    connection.set_read_timeout(Some(2 * PATIENCE)).with_context(reach)?;
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    connection.write_all(line.as_bytes()).with_context(reach)?;
    let mut told = String::new();
    connection.take(ANSWER).read_to_string(&mut told).with_context(reach)?;
    let answer: Answer = serde_json::from_str(&told).context("ringtap ended before it answered")?;
    if answer.ok { Ok(answer.told) } else { bail!(answer.told) }
}

/// Connections served at once.
const CONNECTIONS: usize = 16;
/// Bytes of a request, and of an answer, at most.
const REQUEST: u64 = 8 << 10;
const ANSWER: u64 = 1 << 20;
/// How long a request may take to come, and an answer to go.
const PATIENCE: Duration = Duration::from_secs(5);

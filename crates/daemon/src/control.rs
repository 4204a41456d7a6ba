//! The socket for commands to the running program. Whoever may write to it decides what is recorded.
//!
//! One line of JSON each way: `{"do":"pause","call":"4f2a19@192.0.2.1"}`, and `{"ok":true,"told":"paused"}`.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use nix::unistd::{User, chown};
use ringtap_model::Nanos;
use ringtap_recorder::policy::{CallCommand, SharedPolicy};
use ringtap_spool::Hold;
use ringtap_spool::rules::RecordingScope;
use serde::{Deserialize, Serialize};

use crate::connections::{self, TIMEOUT};

/// A request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Records this much of the call from now on.
    Keep {
        /// Its Call-ID.
        call: String,
        /// A value of `keep` in the configuration.
        what: String,
    },
    /// Pauses the recording of its media.
    Pause {
        /// Its Call-ID.
        call: String,
    },
    /// Resumes it.
    Resume {
        /// Its Call-ID.
        call: String,
    },
    /// Holds it for a case once it has ended.
    Hold {
        /// Its Call-ID.
        call: String,
        /// The case.
        case: String,
        /// Whether its interception product is held.
        product: bool,
    },
    /// The rules in effect, and how many calls each has decided.
    Rules,
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) ok: bool,
    pub(crate) told: String,
}

/// Listens, before privileges are dropped. A socket left by a previous run is removed.
pub(crate) fn listen(path: &Path, user: Option<&User>) -> anyhow::Result<UnixListener> {
    if UnixStream::connect(path).is_ok() {
        bail!(
            "[process] control: another program listens at {}: stop it, or set another path",
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
            "[process] control: cannot listen at {}: set a path in a directory that the program's user may \
            write to",
            path.display()
        )
    })?;
    // Until now, the umask decided who may write to it.
    fs::set_permissions(path, fs::Permissions::from_mode(0o660))
        .with_context(|| format!("[process] control: cannot set the mode of {}", path.display()))?;
    if let Some(user) = user {
        chown(path, Some(user.uid), Some(user.gid)).with_context(|| {
            format!("[process] control: cannot give {} to the user `{}`", path.display(), user.name)
        })?;
    }
    Ok(listener)
}

/// What commands act on.
#[derive(Clone, Debug)]
pub(crate) struct ControlContext {
    pub(crate) shared_policy: Arc<SharedPolicy>,
    /// The spool's directory.
    pub(crate) spool: PathBuf,
}

/// Serves commands for as long as the process lives. Without a context, nothing is recorded.
pub(crate) fn serve(listener: UnixListener, context: Option<ControlContext>) -> io::Result<()> {
    let accept = |listener: &UnixListener| listener.accept().map(|(connection, _)| connection);
    let serve = move |connection: &UnixStream| serve_connection(connection, context.as_ref());
    connections::serve("control", listener, accept, serve, |_| ())
}

/// Reads one line and answers it.
fn serve_connection(mut connection: &UnixStream, context: Option<&ControlContext>) -> io::Result<()> {
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.set_write_timeout(Some(TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(connection.take(REQUEST)).read_line(&mut line)?;
    let answer = match (serde_json::from_str(&line), context) {
        (Err(error), _) => Err(anyhow::anyhow!("cannot read the request: {error}")),
        (Ok(_), None) => Err(anyhow::anyhow!("no packets are recorded: set [spool] directory")),
        (Ok(request), Some(context)) => answer(request, context),
    };
    let answer = match answer {
        Ok(told) => Answer { ok: true, told },
        Err(error) => Answer { ok: false, told: format!("{error:#}") },
    };
    let mut line = serde_json::to_string(&answer)?;
    line.push('\n');
    connection.write_all(line.as_bytes())
}

fn answer(request: Request, context: &ControlContext) -> anyhow::Result<String> {
    let shared_policy = &context.shared_policy;
    let (call, act) = match request {
        Request::Rules => {
            let policy = shared_policy.policy().0;
            return Ok([policy.product_lines(), policy.lines()].concat().join("\n"));
        }
        Request::Keep { call, what } => (call, CallCommand::Keep(what.parse::<RecordingScope>()?)),
        Request::Hold { call, case, product } => return hold(context, &call, &case, product),
        Request::Pause { call } => (call, CallCommand::Pause),
        Request::Resume { call } => (call, CallCommand::Resume),
    };
    match shared_policy.command(&call, act)? {
        Some(told) => Ok(told),
        None => bail!("no call in progress has the Call-ID `{call}`"),
    }
}

/// Holds a call in progress; what to hold is known when it has ended.
fn hold(context: &ControlContext, call: &str, case: &str, product: bool) -> anyhow::Result<String> {
    let Some(at) = context.shared_policy.command(call, CallCommand::Time)? else {
        bail!("no call in progress has the Call-ID `{call}`");
    };
    // The time of its packets: in a replay, it is not the time of day.
    let at = Nanos(at.parse().context("cannot read the time that a worker reported")?);
    Hold::of_call_under_way(case, call, at, ringtap_report::time::now(), product).save(&context.spool)?;
    if !product {
        log::info!(target: "spool", "call {call}: will be held for {case} when it ends, by command");
    }
    Ok(format!("{call} is in progress: it will be held for {case} when it ends"))
}

/// Sends a request to the running program.
///
/// # Errors
///
/// No program listens there, or it refuses the request.
pub fn ask(path: &Path, request: &Request) -> anyhow::Result<String> {
    let reach = || {
        format!(
            "cannot reach ringtap at {}: is it running, does [process] control of its configuration name \
            this \
             path, and may you write to it?",
            path.display()
        )
    };
    let mut connection = UnixStream::connect(path).with_context(reach)?;
    connection.set_read_timeout(Some(2 * TIMEOUT)).with_context(reach)?;
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    connection.write_all(line.as_bytes()).with_context(reach)?;
    let mut told = String::new();
    connection.take(ANSWER).read_to_string(&mut told).with_context(reach)?;
    let answer: Answer =
        serde_json::from_str(&told).context("ringtap ended before it answered: is it still running?")?;
    if answer.ok { Ok(answer.told) } else { bail!(answer.told) }
}

/// Longest request and longest answer, in bytes.
const REQUEST: u64 = 8 << 10;
const ANSWER: u64 = 1 << 20;

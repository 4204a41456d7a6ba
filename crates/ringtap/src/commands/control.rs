//! The control socket of a running daemon, for the commands that use it.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use ringtap_daemon::control::{MOST_CALLS, Request, ask};
use ringtap_daemon::live_calls::CallList;
use ringtap_export::find::{NotFound, beginning};
use ringtap_model::Call;

use crate::exit::Exit;
use crate::screen::Screen;

/// The arguments that name the daemon.
#[derive(Args, Debug)]
pub(super) struct ControlArgs {
    /// The control socket: `control` in section [process] of the daemon's configuration
    #[arg(long, value_name = "SOCKET", default_value = "/run/ringtap/control")]
    pub(super) control: PathBuf,
}

/// Calls in progress, at most so many.
///
/// # Errors
///
/// No daemon answers.
pub(super) fn calls_in_progress(control: &Path, most: usize) -> anyhow::Result<CallList> {
    let told = ask(control, &Request::Calls { most })?;
    serde_json::from_str(&told).context("the daemon is of another version: its calls cannot be read")
}

/// The Call-ID of the call in progress that is meant: as given, or the only one that begins so.
///
/// # Errors
///
/// Several begin so, or there are too many calls to tell.
pub(super) fn call_in_progress(control: &Path, wanted: &str) -> anyhow::Result<String> {
    // If nobody can be asked, the request itself says why.
    let Ok(list) = calls_in_progress(control, MOST_CALLS) else { return Ok(wanted.to_owned()) };
    let is_whole = list.calls.len() >= list.total;
    let prefix = beginning(wanted);
    let mut calls: Vec<Call> = list.calls.into_iter().map(|(call, _)| call).collect();
    if calls.iter().any(|call| call.call_id == wanted) {
        return Ok(wanted.to_owned());
    }
    calls.retain(|call| call.call_id.starts_with(prefix));
    calls.dedup_by(|one, other| one.call_id == other.call_id);
    match &calls[..] {
        [] => Ok(wanted.to_owned()),
        [only] if is_whole => Ok(only.call_id.clone()),
        [_] => bail!(
            "too many calls are in progress to tell whether only one begins with `{wanted}`: give its whole \
             Call-ID"
        ),
        _ => Err(NotFound::ambiguous(wanted, &calls).into()),
    }
}

/// Sends a request and prints the daemon's answer.
pub(super) fn request(screen: &mut Screen, at: &ControlArgs, request: &Request) -> anyhow::Result<Exit> {
    let answer = ask(&at.control, request)?;
    screen.remark(answer);
    Ok(Exit::Done)
}

//! What is recorded of a call in progress, and calls that are on hold for a case.

use std::path::Path as FilePath;

use axum::extract::State;
use axum::http::StatusCode;
use ringtap_access::{Action, Right, What};
use ringtap_model::Call;
use ringtap_recorder::holding::{self, By};
use ringtap_report::time;
use ringtap_spool::{Hold, Holds, release as release_of};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::found::{CallPath, find, id_of};
use crate::answer::Answer;
use crate::openapi::refusals::{Busy, Conflict, Missing};
use crate::problem::Problem;
use crate::request::{Json, Path, Query};
use crate::sources::Daemon;
use crate::state::{App, Shared};
use crate::viewer::Viewer;
use crate::work::Stop;

/// How much of a call is recorded.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Kept {
    /// No packets.
    Nothing,
    /// Its messages.
    Signalling,
    /// Its messages, and its media without the sound.
    Headers,
    /// All of its packets.
    Full,
}

impl Kept {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Signalling => "signalling",
            Self::Headers => "headers",
            Self::Full => "full",
        }
    }
}

/// What changes of the recording of a call in progress.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordingChange {
    /// How much is recorded from now on, whatever the rules say.
    #[serde(default)]
    keep: Option<Kept>,
    /// Whether its media are left out from now on.
    #[serde(default)]
    paused: Option<bool>,
}

/// Changes what is recorded of a call in progress
///
/// Packets that were not recorded so far cannot be recovered, and those that were are not deleted. Needs the
/// right `hold`.
#[utoipa::path(
    patch, path = "/calls/{id}/recording", operation_id = "change_recording", tag = "call", params(CallPath),
    request_body = RecordingChange,
    responses((status = 204, description = "It is changed."), Missing, Conflict, Busy)
)]
pub(crate) async fn change(
    State(app): State<App>,
    viewer: Viewer,
    Path(id): Path<String>,
    Json(wanted): Json<RecordingChange>,
) -> Result<StatusCode, Problem> {
    let id = id_of(&id)?;
    viewer.need(Right::Hold)?;
    let keep = wanted.keep.map(|kept| format!("keep {}", kept.name()));
    let pause = wanted.paused.map(|paused| if paused { "pause" } else { "resume" }.to_owned());
    let changes: Vec<String> = keep.into_iter().chain(pause).collect();
    if changes.is_empty() {
        return Err(Problem::request("nothing is to be changed", "send `keep`, `paused` or both"));
    }
    app.note(&viewer, Action::Hold, What::from(format!("{} of call {id}", changes.join(", ")))).await?;
    let (seen, by) = (app.clone(), viewer.clone());
    let done = app.work.read(move |stop| {
        let found = find(&seen, &by, &id, false, stop)?;
        let (call, _) = found.call();
        if !found.in_progress {
            return Err(Problem::conflict("the call has ended: nothing more of it is recorded"));
        }
        of_daemon(&seen, &by, |daemon| {
            if let Some(kept) = wanted.keep {
                daemon.keep(&call.call_id, kept.name())?;
            }
            wanted.paused.map_or(Ok(()), |paused| daemon.pause(&call.call_id, paused))
        })
    });
    done.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A case for which a call is put on hold.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewHold {
    /// Its name: letters, digits, `-`, `_` and `.`.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_-][A-Za-z0-9_.-]*$")]
    case: String,
    /// Why, for the audit log.
    #[serde(default)]
    #[schema(max_length = 1000)]
    reason: Option<String>,
}

/// Puts a call on hold for a case
///
/// Its packets and its record are not deleted until it is released from every case. A call in progress is
/// held from when it ends. Needs the right `hold`.
#[utoipa::path(
    post, path = "/calls/{id}/holds", operation_id = "hold_call", tag = "call", params(CallPath),
    request_body = NewHold,
    responses((status = 204, description = "It is on hold."), Missing, Conflict, Busy)
)]
pub(crate) async fn hold(
    State(app): State<App>,
    viewer: Viewer,
    Path(id): Path<String>,
    Json(wanted): Json<NewHold>,
) -> Result<StatusCode, Problem> {
    let id = id_of(&id)?;
    viewer.need(Right::Hold)?;
    let NewHold { case, reason } = wanted;
    let case = case_of(case)?;
    if reason.as_ref().is_some_and(|reason| reason.chars().count() > LONGEST_REASON) {
        return Err(Problem::request("the reason has more than 1,000 characters", "give a shorter one"));
    }
    app.note_because(&viewer, Action::Hold, What::from(format!("hold call {id} for {case}")), reason).await?;
    let (seen, by) = (app.clone(), viewer.clone());
    let done = app.work.read(move |stop| {
        let found = find(&seen, &by, &id, false, stop)?;
        let (call, _) = found.call();
        if found.in_progress {
            return of_daemon(&seen, &by, |daemon| daemon.hold(&call.call_id, &case));
        }
        let spool = directory(&seen)?;
        // Whoever has gone meanwhile does not leave half of a hold.
        let Some(reader) = seen.records(&Stop::default())? else { return Err(Problem::conflict(NOT_STORED)) };
        let by = By { case: &case, since: time::now(), product: false };
        holding::place(&seen.sources.records, &reader, spool, call, &by)?;
        Ok(())
    });
    done.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A call and a case.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it describes the variable part of a path")]
struct HoldPath {
    /// The id of the call's record: 32 hex digits.
    #[param(pattern = "^[0-9a-f]{32}$")]
    id: String,
    /// The name of the case.
    case: String,
}

/// Releases a call from a case
///
/// Needs the right `hold`.
#[utoipa::path(
    delete, path = "/calls/{id}/holds/{case}", operation_id = "release_call", tag = "call", params(HoldPath),
    responses((status = 204, description = "It is released."), Missing, Conflict, Busy)
)]
pub(crate) async fn release(
    State(app): State<App>,
    viewer: Viewer,
    Path((id, case)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let id = id_of(&id)?;
    viewer.need(Right::Hold)?;
    let case = case_of(case)?;
    app.note(&viewer, Action::Hold, What::from(format!("release call {id} from {case}"))).await?;
    let (seen, by) = (app.clone(), viewer.clone());
    let done = app.work.read(move |stop| {
        let found = find(&seen, &by, &id, false, stop)?;
        let (call, _) = found.call();
        let spool = directory(&seen)?;
        let released = release_of(spool, &case, Some(&id.to_string()), false)?;
        if released.is_empty() {
            return Err(Problem::not_found(format!("the call is not on hold for `{case}`")));
        }
        // The record is held as long as anything of the call is.
        if !Holds::read(spool)?.all().iter().any(|hold| hold.id == call.id.to_string()) {
            ringtap_store::release(&seen.sources.records, &call.id)?;
        }
        Ok(())
    });
    done.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which holds.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct HoldSearch {
    /// Only those of this case.
    #[serde(default)]
    case: Option<String>,
}

/// Calls on hold.
#[derive(Serialize, ToSchema)]
struct HoldList {
    /// By case, and by when they were put on hold.
    holds: Vec<HeldCall>,
}

/// A call on hold.
#[derive(Serialize, ToSchema)]
struct HeldCall {
    /// The name of the case.
    case: String,
    /// The id of its record; none while it is in progress.
    id: Option<String>,
    call_id: String,
    /// When it was put on hold, in microseconds since 1970.
    since_us: u64,
}

/// Calls on hold, by case
///
/// Needs the right `hold`.
#[utoipa::path(
    get, path = "/holds", operation_id = "list_holds", tag = "call", params(HoldSearch),
    responses((status = 200, description = "The holds.", body = HoldList), Conflict, Busy)
)]
pub(crate) async fn holds(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<HoldSearch>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Hold)?;
    viewer.need_everything("holds")?;
    let seen = app.clone();
    let holds = app.work.read(move |_| Ok(Holds::read(directory(&seen)?)?.all().to_vec())).await?;
    let is_wanted = |hold: &Hold| !hold.product && wanted.case.as_ref().is_none_or(|case| hold.case == *case);
    let mut holds: Vec<Hold> = holds.into_iter().filter(is_wanted).collect();
    holds.sort_by(|one, other| (&one.case, one.since).cmp(&(&other.case, other.since)));
    let held = |hold: Hold| HeldCall {
        case: hold.case,
        id: hold.pending.is_none().then_some(hold.id),
        call_id: hold.call_id,
        since_us: hold.since / 1_000,
    };
    Ok(viewer.answer(&app, HoldList { holds: holds.into_iter().map(held).collect() }))
}

/// The cases for which a call is on hold, without those of interception.
pub(super) fn cases(app: &Shared, call: &Call) -> Result<Vec<String>, Problem> {
    let Some(spool) = &app.sources.spool_directory else { return Ok(Vec::new()) };
    let id = call.id.to_string();
    let is_of = |hold: &&Hold| {
        !hold.product && (hold.id == id || hold.pending.is_some() && hold.call_id == call.call_id)
    };
    let mut cases: Vec<String> =
        Holds::read(spool)?.all().iter().filter(is_of).map(|hold| hold.case.clone()).collect();
    cases.sort_unstable();
    cases.dedup();
    Ok(cases)
}

/// A name of a case; it becomes that of a directory.
fn case_of(case: String) -> Result<String, Problem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = (1..=64).contains(&case.len()) && case.bytes().all(is_plain) && !case.starts_with('.');
    is_name.then_some(case).ok_or_else(|| {
        Problem::request(
            "the case has no name that can be used",
            "a name has up to 64 letters, digits, `-`, `_` and `.`, and does not begin with `.`",
        )
    })
}

/// The spool in which calls are held.
pub(super) fn directory(app: &Shared) -> Result<&FilePath, Problem> {
    app.sources.spool_directory.as_deref().ok_or_else(|| {
        Problem::conflict("the console was started without `--spool`: it knows nothing of holds")
    })
}

/// Asks the daemon for something, on a thread of its own work.
fn of_daemon(
    app: &Shared,
    viewer: &Viewer,
    question: impl FnOnce(&dyn Daemon) -> anyhow::Result<()>,
) -> Result<(), Problem> {
    let Some(daemon) = &app.sources.daemon else {
        return Err(Problem::unavailable("no running ringtap is known to this console"));
    };
    question(&**daemon).map_err(|error| match viewer.has(Right::Numbers) {
        true => Problem::of_daemon(&error),
        // It names the Call-ID, which may have a number.
        false => Problem::conflict("the daemon did not do it: the call may have ended"),
    })
}

const NOT_STORED: &str = "nothing is stored yet";
/// Characters of a reason, as its schema says.
const LONGEST_REASON: usize = 1_000;

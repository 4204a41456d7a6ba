//! Alarms: those that stand, those of the past, and what people do about them.

use axum::extract::State;
use ringtap_access::{Action, Right, What};
use ringtap_model::{Alarm, Condition, Filter, Nanos};
use ringtap_store::Query as Stored;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::TimeSpan;
use crate::answer::Answer;
use crate::openapi::records::AlarmRecord;
use crate::openapi::refusals::{Busy, Conflict};
use crate::problem::Problem;
use crate::request::{Bounded, Json, Path, Query};
use crate::state::App;
use crate::viewer::Viewer;

/// Alarms.
#[derive(Serialize, ToSchema)]
struct AlarmList {
    /// The newest first.
    #[schema(value_type = Vec<AlarmRecord>)]
    alarms: Vec<Alarm>,
    /// How many of them stand.
    standing: usize,
    /// Whether these are all of that time.
    complete: bool,
    /// Only alarms of trunks whose calls you may see.
    scoped: bool,
}

/// Alarms, the newest first
///
/// Those that were raised in the time that is given, and at most 1,000. Those that stand come from the
/// daemon, where it answers. Whoever may see the calls of some trunks only is shown the alarms of these
/// trunks; then `scoped` is true.
#[utoipa::path(
    get, path = "/alarms", operation_id = "list_alarms", tag = "alarms", params(TimeSpan),
    responses((status = 200, description = "Alarms.", body = AlarmList), Busy)
)]
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Query(span): Query<TimeSpan>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    // The figure of a trunk is of calls that are all in a scope of trunks; every other one is of all calls.
    if !viewer.identity.scope.is_of_trunks() {
        viewer.need_everything("alarms")?;
    }
    let (reading, by) = (app.clone(), viewer.clone());
    let (mut alarms, cut) = app
        .work
        .read(move |stop| {
            let Some(reader) = reading.records(stop)? else { return Ok((Vec::new(), false)) };
            let mut conditions = Vec::new();
            conditions.extend(span.from_us.map(|from| Condition::Since(Nanos::from_micros(from))));
            conditions.extend(span.until_us.map(|until| Condition::Until(Nanos::from_micros(until))));
            // How many alarms there are of others is not to be seen.
            let limit = if by.is_limited() { usize::MAX } else { MOST };
            let found = reader.alarms(&Stored { filter: Filter(conditions), limit, newest: true })?;
            let mut alarms = found.records;
            alarms.retain(|alarm| by.sees_alarm(alarm));
            let left_out = alarms.len().saturating_sub(MOST);
            alarms.drain(..left_out);
            Ok((alarms, found.cut || left_out > 0))
        })
        .await?;
    // The daemon knows better of those that stand; without it, what is stored is shown.
    let standing = app.ask(|daemon| daemon.alarms()).await.unwrap_or_default();
    let standing: Vec<Alarm> = standing.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for alarm in standing.into_iter().filter(|alarm| viewer.sees_alarm(alarm)) {
        match alarms.iter_mut().find(|stored| stored.id == alarm.id) {
            Some(stored) => *stored = alarm,
            None if span.has(alarm.raised) => alarms.push(alarm),
            None => {}
        }
    }
    alarms.sort_by_key(|alarm| std::cmp::Reverse((alarm.raised, alarm.id)));
    let stand = alarms.iter().filter(|alarm| alarm.cleared.is_none()).count();
    let scoped = viewer.is_limited();
    Ok(viewer.answer(&app, AlarmList { alarms, standing: stand, complete: !cut, scoped }))
}

/// What somebody writes about an alarm.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Comment {
    /// For others who look at it.
    #[serde(default)]
    comment: String,
}

/// What was done.
#[derive(Serialize, ToSchema)]
struct Done {
    /// In a sentence.
    done: String,
}

/// Marks a standing alarm as known
///
/// Nobody is told of it again. Needs the right `rules`.
#[utoipa::path(
    post, path = "/alarms/{id}/acknowledge", operation_id = "acknowledge_alarm", tag = "alarms",
    params(("id" = String, Path, description = "The alarm: its `id`.")), request_body = Comment,
    responses((status = 200, description = "It is marked.", body = Done), Conflict)
)]
pub(crate) async fn acknowledge(
    State(app): State<App>,
    viewer: Viewer,
    Path(id): Path<String>,
    Json(said): Json<Comment>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Rules)?;
    viewer.need_everything("alarms")?;
    app.note(&viewer, Action::Change, What::from(format!("acknowledge alarm {id}: {}", said.comment)))
        .await?;
    let by = viewer.name().to_owned();
    let told = app.ask(move |daemon| daemon.acknowledge(&id, &by, &said.comment)).await?;
    Ok(Answer::of(Done { done: told }))
}

/// For which alarms nobody is told, and until when.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Silence {
    /// The name of its rule.
    rule: String,
    /// What it is about, such as a trunk.
    subject: String,
    /// For how long, from now, at most a year; 0 ends the silence.
    #[schema(value_type = u64, maximum = 31536000)]
    seconds: Bounded<0, 31_536_000>,
    /// For others who look at it.
    #[serde(default)]
    comment: String,
}

/// Tells nobody of the alarms of a rule and a subject for a while
///
/// Needs the right `rules`.
#[utoipa::path(
    post, path = "/alarms/silence", operation_id = "silence_alarms", tag = "alarms", request_body = Silence,
    responses((status = 200, description = "They are silent.", body = Done), Conflict)
)]
pub(crate) async fn silence(
    State(app): State<App>,
    viewer: Viewer,
    Json(wanted): Json<Silence>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Rules)?;
    viewer.need_everything("alarms")?;
    let Silence { rule, subject, seconds, comment } = wanted;
    let seconds = seconds.get() as u64;
    app.note(
        &viewer,
        Action::Change,
        What::from(format!("silence {rule} of {subject} for {seconds} s: {comment}")),
    )
    .await?;
    let by = viewer.name().to_owned();
    let told = app.ask(move |daemon| daemon.silence(&rule, &subject, seconds, &by, &comment)).await?;
    Ok(Answer::of(Done { done: told }))
}

/// Most alarms of an answer.
const MOST: usize = 1_000;

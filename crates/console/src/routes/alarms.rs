//! Alarms: those that stand, those of the past, and what people do about them.

use axum::Json;
use axum::extract::{Path, Query, State};
use ringtap_access::{Action, Right, What};
use ringtap_model::{Alarm, Condition, Filter, Nanos};
use ringtap_store::Query as Stored;
use serde::Deserialize;
use serde_json::json;

use super::TimeSpan;
use crate::answer::Answer;
use crate::problem::Problem;
use crate::state::App;
use crate::viewer::Viewer;

/// `GET /alarms`: newest first.
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Query(span): Query<TimeSpan>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    viewer.need_everything("alarms")?;
    let reading = app.clone();
    let (mut alarms, cut) = app
        .work
        .read(move |_| {
            let Some(reader) = reading.records()? else { return Ok((Vec::new(), false)) };
            let mut conditions = Vec::new();
            conditions.extend(span.from_us.map(|from| Condition::Since(Nanos::from_micros(from))));
            conditions.extend(span.until_us.map(|until| Condition::Until(Nanos::from_micros(until))));
            let found = reader.alarms(&Stored { filter: Filter(conditions), limit: MOST, newest: true })?;
            Ok((found.records, found.cut))
        })
        .await?;
    // The daemon knows better of those that stand; without it, what is stored is shown.
    let standing = app.ask(|daemon| daemon.alarms()).await.unwrap_or_default();
    let standing: Vec<Alarm> = standing.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for alarm in standing {
        match alarms.iter_mut().find(|stored| stored.id == alarm.id) {
            Some(stored) => *stored = alarm,
            None if span.has(alarm.raised) => alarms.push(alarm),
            None => {}
        }
    }
    alarms.sort_by_key(|alarm| std::cmp::Reverse((alarm.raised, alarm.id)));
    let stand = alarms.iter().filter(|alarm| alarm.cleared.is_none()).count();
    Ok(viewer.answer(&app, json!({ "alarms": alarms, "standing": stand, "complete": !cut })))
}

/// What somebody writes about an alarm.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Comment {
    #[serde(default)]
    comment: String,
}

/// `POST /alarms/ID/acknowledge`.
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
    Ok(Answer::of(json!({ "done": told })))
}

/// For which alarms nobody is told, and until when.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Silence {
    rule: String,
    subject: String,
    seconds: u64,
    #[serde(default)]
    comment: String,
}

/// `POST /alarms/silence`.
pub(crate) async fn silence(
    State(app): State<App>,
    viewer: Viewer,
    Json(wanted): Json<Silence>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Rules)?;
    viewer.need_everything("alarms")?;
    let Silence { rule, subject, seconds, comment } = wanted;
    app.note(
        &viewer,
        Action::Change,
        What::from(format!("silence {rule} of {subject} for {seconds} s: {comment}")),
    )
    .await?;
    let by = viewer.name().to_owned();
    let told = app.ask(move |daemon| daemon.silence(&rule, &subject, seconds, &by, &comment)).await?;
    Ok(Answer::of(json!({ "done": told })))
}

/// Most alarms of an answer.
const MOST: usize = 1_000;

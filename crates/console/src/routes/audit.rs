//! Who looked at what.

use axum::extract::{Query, State};
use ringtap_access::{Action, AuditQuery, Entry, Right, What};
use ringtap_model::Nanos;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::problem::Problem;
use crate::state::App;
use crate::viewer::Viewer;

/// What is asked for.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    from_us: Option<u64>,
    until_us: Option<u64>,
    who: Option<String>,
    action: Option<String>,
    text: Option<String>,
    /// Only entries with a lower number.
    before: Option<u64>,
    limit: Option<usize>,
    /// Whether the whole chain is verified: so unless it is false.
    verify: Option<bool>,
}

/// `GET /audit`: the newest first. Reading it is noted in it.
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Audit)?;
    let query = query(&wanted, viewer.has(Right::Numbers))?;
    app.note(&viewer, Action::Audit, What::from("entries of the audit log")).await?;
    let reading = app.clone();
    let value = app
        .work
        .read(move |_| {
            let reader = reading.audit.reader();
            let page = reader.read(&query).map_err(anyhow::Error::from)?;
            let verified = match wanted.verify.unwrap_or(true) {
                true => Some(reader.verify(None, &[]).map_err(anyhow::Error::from)?),
                false => None,
            };
            Ok(json!({
                "entries": page.entries.iter().map(entry).collect::<Vec<_>>(),
                "more": page.more,
                "damaged": page.damaged,
                "verified": verified.as_ref().map(|verified| verified.fault.is_none()),
                "problem": verified.and_then(|verified| verified.fault.map(|fault| fault.to_string())),
            }))
        })
        .await?;
    Ok(Answer::of(value))
}

fn query(wanted: &Wanted, numbers: bool) -> Result<AuditQuery, Problem> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let wrong = |error: String| Problem::request(error, "`*` stands for any characters");
    Ok(AuditQuery {
        since: Nanos::from_micros(wanted.from_us.unwrap_or(0)),
        until: wanted.until_us.map_or(Nanos::MAX, Nanos::from_micros),
        who: given(&wanted.who).map(|who| who.parse()).transpose().map_err(wrong)?,
        actions: given(&wanted.action)
            .map(|action| action.parse::<Action>())
            .transpose()
            .map_err(|error| Problem::request("there is no such action", error))?
            .into_iter()
            .collect(),
        text: given(&wanted.text),
        before: wanted.before,
        limit: wanted.limit.unwrap_or(200).clamp(1, 1_000),
        numbers,
        ..AuditQuery::default()
    })
}

fn entry(entry: &Entry) -> Value {
    json!({
        "number": entry.number,
        "time_us": entry.time.micros(),
        "who": entry.actor.who,
        "role": entry.actor.role.map(|role| role.name()),
        "from": entry.actor.from,
        "action": entry.action.name(),
        "what": entry.what.to_string(),
        "reason": entry.reason,
    })
}

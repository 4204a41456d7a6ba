//! Who looked at what.

use axum::extract::State;
use ringtap_access::{Action, AuditQuery, Entry, Right, Role, What};
use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::Answer;
use crate::openapi::names::{ActionName, RoleName};
use crate::openapi::refusals::Busy;
use crate::problem::Problem;
use crate::request::{Bounded, Query};
use crate::state::App;
use crate::viewer::Viewer;

/// What is asked for.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// From then, in microseconds since 1970.
    #[serde(default, deserialize_with = "crate::request::int64")]
    from_us: Option<u64>,
    /// Until then, which is not included, in microseconds since 1970.
    #[serde(default, deserialize_with = "crate::request::int64")]
    until_us: Option<u64>,
    /// Whose entries; `*` stands for any characters at either end.
    #[param(example = "ana")]
    who: Option<String>,
    /// What kind of entries.
    #[param(value_type = Option<ActionName>)]
    action: Option<String>,
    /// Only entries with this text in what was done.
    text: Option<String>,
    /// Only entries with a lower number: for the next page, that of the last entry of this one.
    #[serde(default, deserialize_with = "crate::request::int64")]
    before: Option<u64>,
    /// Most entries of the answer; 200 unless it is given.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 1000)]
    limit: Option<Bounded<1, 1_000>>,
    /// Whether the whole chain is verified: so unless it is false.
    verify: Option<bool>,
}

/// A page of the audit log.
#[derive(Serialize, ToSchema)]
struct AuditPage {
    /// The newest first.
    entries: Vec<AuditEntry>,
    /// Whether there are earlier ones.
    more: bool,
    /// Lines that cannot be read.
    damaged: u64,
    /// Whether every entry stands as it was written; null where that was not asked.
    verified: Option<bool>,
    /// What is wrong with the first entry that does not.
    problem: Option<String>,
}

/// What somebody did or saw.
#[derive(Serialize, ToSchema)]
struct AuditEntry {
    /// From 0, without gaps.
    number: u64,
    time_us: u64,
    who: String,
    #[schema(value_type = Option<RoleName>)]
    role: Option<Role>,
    /// The address of whoever asked.
    from: String,
    #[schema(value_type = ActionName)]
    action: Action,
    /// What was done; numbers in it only for those who may see them, and while their key is kept.
    what: String,
    /// The reason that was given.
    reason: Option<String>,
}

/// The audit log, the newest entry first
///
/// Needs the right `audit`. Reading it is noted in it.
#[utoipa::path(
    get, path = "/audit", operation_id = "list_audit", tag = "people", params(Wanted),
    responses((status = 200, description = "A page of it.", body = AuditPage), Busy)
)]
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
            Ok(AuditPage {
                entries: page.entries.iter().map(entry).collect(),
                more: page.more,
                damaged: page.damaged,
                verified: verified.as_ref().map(|verified| verified.fault.is_none()),
                problem: verified.and_then(|verified| verified.fault.map(|fault| fault.to_string())),
            })
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
        limit: wanted.limit.map_or(200, Bounded::get),
        numbers,
        ..AuditQuery::default()
    })
}

fn entry(entry: &Entry) -> AuditEntry {
    AuditEntry {
        number: entry.number,
        time_us: entry.time.micros(),
        who: entry.actor.who.clone(),
        role: entry.actor.role,
        from: entry.actor.from.clone(),
        action: entry.action,
        what: entry.what.to_string(),
        reason: entry.reason.clone(),
    }
}

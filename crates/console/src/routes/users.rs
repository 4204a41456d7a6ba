//! Users: what each address of record did.

use axum::extract::{Path, Query, State};
use ringtap_access::{Action, Right, What};
use ringtap_model::{Condition, Filter, Nanos, User};
use ringtap_users::Users;
use serde::Deserialize;
use serde_json::json;

use super::TimeSpan;
use crate::answer::Answer;
use crate::problem::Problem;
use crate::state::{App, Shared};
use crate::viewer::Viewer;

/// What is asked for.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    /// A number or user name; `*` stands for any characters.
    #[serde(alias = "q")]
    number: Option<String>,
    from_us: Option<u64>,
    until_us: Option<u64>,
    limit: Option<usize>,
}

/// `GET /users`: those seen last first.
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    viewer.need_everything("users")?;
    if let Some(number) = wanted.number.as_deref().filter(|number| !number.is_empty()) {
        // Who may not see numbers could otherwise find out which is behind a token.
        viewer.need(Right::Numbers)?;
        app.note(&viewer, Action::Search, What::from("users ").number(number)).await?;
    }
    let reading = app.clone();
    let value = app
        .work
        .scan(move |stop| {
            let filter = filter(&wanted)?;
            let (users, days) = counted(&reading, &filter, || stop.is_over())?;
            let total = users.len();
            let limit = wanted.limit.unwrap_or(500).clamp(1, 5_000);
            let shown: Vec<User> = users.into_iter().take(limit).collect();
            Ok(json!({ "users": shown, "total": total, "days": days }))
        })
        .await?;
    Ok(viewer.answer(&app, value))
}

/// `GET /users/AOR`: one of them.
pub(crate) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    Path(aor): Path<String>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    viewer.need(Right::Numbers)?;
    viewer.need_everything("users")?;
    app.note(&viewer, Action::View, What::from("user ").number(&*aor)).await?;
    let reading = app.clone();
    let wanted = aor.clone();
    let found = app
        .work
        .scan(move |stop| {
            let name = wanted.split('@').next().unwrap_or_default().to_owned();
            let wanted_users = Wanted { number: Some(name), from_us: None, until_us: None, limit: None };
            let (users, _) = counted(&reading, &filter(&wanted_users)?, || stop.is_over())?;
            Ok(users.into_iter().find(|user| user.aor == wanted))
        })
        .await?;
    match found {
        Some(user) => Ok(viewer.answer(&app, json!({ "user": user }))),
        None => Err(Problem::not_found(format!("no record has the address of record `{aor}`"))),
    }
}

fn filter(wanted: &Wanted) -> Result<Filter, Problem> {
    let span = TimeSpan { from_us: wanted.from_us, until_us: wanted.until_us };
    let mut conditions = span.conditions();
    if let Some(number) = wanted.number.as_deref().filter(|number| !number.is_empty()) {
        let pattern = number.parse().map_err(|error: String| {
            Problem::request(error, "give a number or a user name, `*` standing for any characters")
        })?;
        conditions.push(Condition::Number(pattern));
    }
    Ok(Filter(conditions))
}

/// Counts users over the records that pass.
fn counted(app: &Shared, filter: &Filter, stopped: impl Fn() -> bool) -> Result<(Vec<User>, usize), Problem> {
    let Some(reader) = app.records()? else { return Ok((Vec::new(), 0)) };
    let mut users = Users::new(MOST_USERS);
    let query = || filter.clone().into();
    let calls = reader.calls(&query())?;
    calls.records.iter().for_each(|call| users.call(call));
    let days = calls.days;
    drop(calls);
    if stopped() {
        return Ok((Vec::new(), days));
    }
    reader.registrations(&query())?.records.iter().for_each(|registration| users.registration(registration));
    reader.messages(&query())?.records.iter().for_each(|message| users.message(message));
    reader.transactions(&query())?.records.iter().for_each(|transaction| users.transaction(transaction));
    let mut users = users.into_records();
    let pattern = filter.0.iter().find_map(|condition| match condition {
        Condition::Number(pattern) => Some(pattern.clone()),
        _ => None,
    });
    if let Some(pattern) = pattern {
        users.retain(|user| pattern.matches(user.aor.split('@').next().unwrap_or_default()));
    }
    users.sort_by_key(|user| std::cmp::Reverse(user.last));
    Ok((users, days))
}

/// Users that are counted at once.
const MOST_USERS: usize = 200_000;

impl TimeSpan {
    /// As conditions of a search.
    pub(crate) fn conditions(self) -> Vec<Condition> {
        let from = self.from_us.map(|from| Condition::Since(Nanos::from_micros(from)));
        let until = self.until_us.map(|until| Condition::Until(Nanos::from_micros(until)));
        from.into_iter().chain(until).collect()
    }
}

//! Users: what each address of record did.

use std::ops::ControlFlow;

use axum::extract::State;
use ringtap_access::{Action, Right, What};
use ringtap_model::{Condition, Filter, Nanos, User};
use ringtap_search::Expression;
use ringtap_store::{Day, Query, Reader, Search, SearchEnd};
use ringtap_users::Users;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::TimeSpan;
use crate::answer::Answer;
use crate::openapi::records::UserRecord;
use crate::openapi::refusals::{Busy, Missing};
use crate::problem::Problem;
use crate::request::{self, Bounded, Path};
use crate::state::{App, Shared};
use crate::viewer::Viewer;
use crate::work::Stop;

/// What is asked for.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// A number or user name; `*` stands for any characters at either end.
    #[serde(alias = "q")]
    #[param(example = "*0138")]
    number: Option<String>,
    /// From then, in microseconds since 1970.
    #[serde(default, deserialize_with = "crate::request::int64")]
    from_us: Option<u64>,
    /// Until then, which is not included, in microseconds since 1970.
    #[serde(default, deserialize_with = "crate::request::int64")]
    until_us: Option<u64>,
    /// Most users of the answer; 500 unless it is given.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 5000)]
    limit: Option<Bounded<1, 5_000>>,
}

/// Users.
#[derive(Serialize, ToSchema)]
struct UserList {
    #[schema(value_type = Vec<UserRecord>)]
    users: Vec<User>,
    /// How many there are.
    total: usize,
    /// Days that were searched.
    days: usize,
    /// Whether all records of that time were counted.
    complete: bool,
    /// Only the calls that you may see were counted; no registrations, messages and other transactions, of
    /// which no trunk is known.
    scoped: bool,
}

/// One user.
#[derive(Serialize, ToSchema)]
struct UserAnswer {
    #[schema(value_type = UserRecord)]
    user: User,
    /// Whether all records were counted.
    complete: bool,
    /// Only the calls that you may see were counted, and nothing else.
    scoped: bool,
}

/// Users, those seen last first
///
/// What each address of record did in the time that is given. For whoever may see some calls only, these
/// alone are counted; then `scoped` is true.
#[utoipa::path(
    get, path = "/users", operation_id = "list_users", tag = "figures", params(Wanted),
    responses((status = 200, description = "Users.", body = UserList), Busy)
)]
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    request::Query(wanted): request::Query<Wanted>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    if let Some(number) = wanted.number.as_deref().filter(|number| !number.is_empty()) {
        // Who may not see numbers could otherwise find out which is behind a token.
        viewer.need(Right::Numbers)?;
        app.note(&viewer, Action::Search, What::from("users ").number(number)).await?;
    }
    let (reading, by) = (app.clone(), viewer.clone());
    let value = app
        .work
        .scan(move |stop| {
            let filter = filter(&wanted)?;
            let Counted { mut users, days, complete } = counted(&reading, &by, &filter, stop)?;
            let total = users.len();
            users.truncate(wanted.limit.map_or(500, Bounded::get));
            Ok(UserList { users, total, days, complete, scoped: by.is_limited() })
        })
        .await?;
    Ok(viewer.answer(&app, value))
}

/// One user
///
/// Needs the right `numbers`.
#[utoipa::path(
    get, path = "/users/{aor}", operation_id = "show_user", tag = "figures",
    params(("aor" = String, Path, description = "The address of record, as in the record's field `aor`.",
        example = "442079460138@example.org")),
    responses((status = 200, description = "The user.", body = UserAnswer), Missing, Busy)
)]
pub(crate) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    Path(aor): Path<String>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    viewer.need(Right::Numbers)?;
    app.note(&viewer, Action::View, What::from("user ").number(&*aor)).await?;
    let (reading, by) = (app.clone(), viewer.clone());
    let wanted = aor.clone();
    let found = app
        .work
        .scan(move |stop| {
            let name = wanted.split('@').next().unwrap_or_default().to_owned();
            let wanted_users = Wanted { number: Some(name), from_us: None, until_us: None, limit: None };
            let counted = counted(&reading, &by, &filter(&wanted_users)?, stop)?;
            Ok((counted.users.into_iter().find(|user| user.aor == wanted), counted.complete))
        })
        .await?;
    match found {
        (Some(user), complete) => {
            let scoped = viewer.is_limited();
            Ok(viewer.answer(&app, UserAnswer { user, complete, scoped }))
        }
        (None, false) => Err(Problem::busy("counting this user took too long", 5)),
        (None, true) => Err(Problem::not_found(format!("no record has the address of record `{aor}`"))),
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

/// Users, those seen last first.
struct Counted {
    users: Vec<User>,
    days: usize,
    /// Whether all records were read, and no user gave way to another.
    complete: bool,
}

/// Counts users over the records that pass, few of which are in memory at a time.
fn counted(app: &Shared, viewer: &Viewer, filter: &Filter, stop: &Stop) -> Result<Counted, Problem> {
    let Some(reader) = app.records(stop)? else {
        return Ok(Counted { users: Vec::new(), days: 0, complete: true });
    };
    let mut users = Users::new(MOST_USERS);
    let mut gave_way = false;
    let search = Search { filter: filter.clone(), ..Search::new(Expression::default()) };
    let coverage = reader.each_call(&search, false, stop, |call, _| {
        if viewer.sees(&call) {
            users.call(&call);
        }
        gave_way |= !users.take_evicted().is_empty();
        ControlFlow::Continue(())
    })?;
    let span = search.time_span();
    let hours = reader.days()?.into_iter().flat_map(hours).filter(|hour| !hour.and(span).is_empty());
    let mut complete = coverage.end == SearchEnd::Complete;
    // No trunk is known of what is no call, and its number alone does not say whose it is.
    for hour in hours.filter(|_| !viewer.is_limited()) {
        complete &= !stop.is_over();
        if !complete {
            break;
        }
        let bounds = [hour.from.map(Condition::Since), hour.to.map(Condition::Until)];
        let conditions = filter.0.iter().cloned().chain(bounds.into_iter().flatten());
        match count_others(&reader, &Filter(conditions.collect()).into(), &mut users) {
            Ok(()) => {}
            Err(ringtap_store::Error::Interrupted { .. }) => complete = false,
            Err(error) => return Err(error.into()),
        }
        gave_way |= !users.take_evicted().is_empty();
    }
    let mut users = users.into_records();
    let pattern = filter.0.iter().find_map(|condition| match condition {
        Condition::Number(pattern) => Some(pattern.clone()),
        _ => None,
    });
    if let Some(pattern) = pattern {
        users.retain(|user| pattern.matches(user.aor.split('@').next().unwrap_or_default()));
    }
    users.sort_by_key(|user| std::cmp::Reverse(user.last));
    Ok(Counted { users, days: coverage.days, complete: complete && !gave_way })
}

/// Counts what is no call.
fn count_others(reader: &Reader, query: &Query, users: &mut Users) -> Result<(), ringtap_store::Error> {
    reader.registrations(query)?.records.iter().for_each(|record| users.registration(record));
    reader.messages(query)?.records.iter().for_each(|record| users.message(record));
    reader.transactions(query)?.records.iter().for_each(|record| users.transaction(record));
    Ok(())
}

/// The hours of a day.
fn hours(day: Day) -> impl Iterator<Item = ringtap_search::TimeSpan> {
    (0..24).map(move |hour| {
        let from = day.start() + Nanos::from_secs(hour * 3_600);
        ringtap_search::TimeSpan { from: Some(from), to: Some(from + Nanos::from_secs(3_600)) }
    })
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

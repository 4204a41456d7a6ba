//! Searches that people keep under a name, and share with others.

use axum::extract::State;
use axum::http::StatusCode;
use ringtap_access::{Action, NewSearch, Refusal, Right, SavedSearch, What};
use ringtap_report::time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::people::with_people;
use crate::answer::Answer;
use crate::openapi::refusals::{Conflict, Missing};
use crate::problem::Problem;
use crate::request::{Json, Path};
use crate::state::App;
use crate::viewer::Viewer;

/// Searches that one has saved, or that others share.
#[derive(Serialize, ToSchema)]
struct SavedSearchList {
    /// One's own by name, then those of others.
    searches: Vec<SavedSearchAnswer>,
}

/// A search that somebody keeps.
#[derive(Serialize, ToSchema)]
#[schema(as = SavedSearch)]
struct SavedSearchAnswer {
    number: u64,
    /// Who saved it.
    owner: String,
    /// It is one's own, and may be changed.
    own: bool,
    /// Null for a token that may not see numbers, where it may have one.
    name: Option<String>,
    /// The search (docs/manual/search.md). It finds what whoever uses it may see. Null for who may not see
    /// numbers, where it asks for some or cannot be read.
    q: Option<String>,
    /// Others see it as well.
    shared: bool,
    /// When it was saved or last changed.
    saved_us: u64,
}

/// Saved searches
///
/// One's own, and those that others share. Whoever may not see numbers does not get those of others that
/// may have numbers, and whoever may see some calls only gets those of people who may see the same calls.
#[utoipa::path(
    get, path = "/searches", operation_id = "list_searches", tag = "calls",
    responses((status = 200, description = "All of them.", body = SavedSearchList))
)]
pub(crate) async fn list(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let name = viewer.name().to_owned();
    let mut searches = with_people(&app, move |people| Ok(people.searches(&name)?)).await?;
    searches.retain(|search| is_told(&app, &viewer, search));
    let searches = searches.into_iter().map(|search| answer(&app, &viewer, search)).collect();
    Ok(Answer::of(SavedSearchList { searches }))
}

/// A search to be saved.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSearch)]
pub(crate) struct New {
    /// Up to 64 characters; one's own searches have different names.
    #[schema(example = "Failed, carrier A")]
    name: String,
    /// The search.
    #[schema(example = "state:failed trunk:carrier-a")]
    q: String,
    /// Whether others see it as well.
    #[serde(default)]
    shared: bool,
}

/// Saves a search
///
/// It is one that could be searched: it can be read, and asks for nothing that may not be seen. A person has
/// up to 100.
#[utoipa::path(
    post, path = "/searches", operation_id = "save_search", tag = "calls", request_body = New,
    responses((status = 201, description = "It is saved.", body = SavedSearchAnswer), Conflict)
)]
pub(crate) async fn add(
    State(app): State<App>,
    viewer: Viewer,
    Json(new): Json<New>,
) -> Result<(StatusCode, Answer), Problem> {
    viewer.need(Right::Search)?;
    app.parsed(&viewer, &new.q, None)?;
    note(&app, &viewer, "a search is saved", &new).await?;
    let name = viewer.name().to_owned();
    let saved = with_people(&app, move |people| {
        let New { name: called, q, shared } = &new;
        Ok(people.save_search(&name, &NewSearch { name: called, query: q, shared: *shared }, time::now())?)
    })
    .await?;
    Ok((StatusCode::CREATED, Answer::of(answer(&app, &viewer, saved))))
}

/// What becomes of a saved search; what is left out stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchChange {
    /// Another name.
    name: Option<String>,
    /// Another search.
    q: Option<String>,
    /// Whether others see it as well.
    shared: Option<bool>,
}

/// Renames, shares or replaces one of one's own searches
#[utoipa::path(
    patch, path = "/searches/{number}", operation_id = "change_search", tag = "calls",
    params(("number" = u64, Path, description = "Its number.")), request_body = SearchChange,
    responses((status = 200, description = "As it is now.", body = SavedSearchAnswer), Missing, Conflict)
)]
pub(crate) async fn change(
    State(app): State<App>,
    viewer: Viewer,
    Path(number): Path<u64>,
    Json(change): Json<SearchChange>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    if let Some(q) = &change.q {
        app.parsed(&viewer, q, None)?;
    }
    let before = own(&app, &viewer, number).await?;
    let new = New {
        name: change.name.unwrap_or(before.name),
        q: change.q.unwrap_or(before.query),
        shared: change.shared.unwrap_or(before.shared),
    };
    note(&app, &viewer, "a saved search is changed", &new).await?;
    let person = viewer.name().to_owned();
    let changed = with_people(&app, move |people| {
        let New { name, q, shared } = &new;
        let new = NewSearch { name, query: q, shared: *shared };
        Ok(people.change_search(&person, number, &new, time::now())?)
    })
    .await?;
    Ok(Answer::of(answer(&app, &viewer, changed)))
}

/// Removes one of one's own searches
#[utoipa::path(
    delete, path = "/searches/{number}", operation_id = "remove_search", tag = "calls",
    params(("number" = u64, Path, description = "Its number.")),
    responses((status = 204, description = "It is removed."), Missing)
)]
pub(crate) async fn remove(
    State(app): State<App>,
    viewer: Viewer,
    Path(number): Path<u64>,
) -> Result<StatusCode, Problem> {
    viewer.need(Right::Search)?;
    let before = own(&app, &viewer, number).await?;
    let what = What::from("a saved search is removed: ").number(before.name);
    app.note(&viewer, Action::Change, what).await?;
    let person = viewer.name().to_owned();
    with_people(&app, move |people| Ok::<_, Refusal>(people.remove_search(&person, number)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// One of one's own searches.
async fn own(app: &App, viewer: &Viewer, number: u64) -> Result<SavedSearch, Problem> {
    let person = viewer.name().to_owned();
    let search = with_people(app, move |people| Ok(people.search(&person, number)?)).await?;
    match is_told(app, viewer, &search) {
        true => Ok(search),
        false => Err(Problem::not_found("the token has no right to all that this search is about")),
    }
}

/// Notes what becomes of a search. Its name and its text may have numbers.
async fn note(app: &App, viewer: &Viewer, what: &str, new: &New) -> Result<(), Problem> {
    let shared = if new.shared { ", shared" } else { "" };
    let searched = format!("{}: {}", new.name.trim(), new.q.trim());
    app.note(viewer, Action::Change, What::from(format!("{what}{shared}: ")).number(searched)).await
}

/// Whether a search is told at all: its trunks, numbers and name are what its owner knows. A token may know
/// less than its owner.
fn is_told(app: &App, viewer: &Viewer, search: &SavedSearch) -> bool {
    let knows_the_same = !viewer.is_limited() || search.owner_scope == viewer.identity.scope;
    let is_own = search.owner == viewer.name();
    knows_the_same && (is_own || may_see_name(viewer, search) && may_see_text(app, viewer, search))
}

/// Whether the name has nothing that may not be seen. Whoever wrote it knows it.
fn may_see_name(viewer: &Viewer, search: &SavedSearch) -> bool {
    let is_writer = search.owner == viewer.name() && !viewer.is_token();
    is_writer || viewer.has(Right::Numbers) || !has_number(&search.name)
}

/// Whether the text asks for nothing that may not be seen. One that cannot be read is not known to do so.
fn may_see_text(app: &App, viewer: &Viewer, search: &SavedSearch) -> bool {
    viewer.has(Right::Numbers) || app.parsed(viewer, &search.query, None).is_ok()
}

/// Whether a name has what may be a telephone number: four digits in a row, or five between which no letter
/// stands. Times and codes have fewer.
fn has_number(name: &str) -> bool {
    let (mut in_a_row, mut digits) = (0, 0);
    name.chars().any(|letter| {
        (in_a_row, digits) = match letter {
            _ if letter.is_numeric() => (in_a_row + 1, digits + 1),
            _ if letter.is_alphabetic() => (0, 0),
            _ => (0, digits),
        };
        in_a_row >= 4 || digits >= 5
    })
}

fn answer(app: &App, viewer: &Viewer, search: SavedSearch) -> SavedSearchAnswer {
    let (has_name, has_text) = (may_see_name(viewer, &search), may_see_text(app, viewer, &search));
    let SavedSearch { number, owner, name, query, shared, saved, .. } = search;
    SavedSearchAnswer {
        number,
        own: owner == viewer.name(),
        owner,
        name: has_name.then_some(name),
        q: has_text.then_some(query),
        shared,
        saved_us: saved.micros(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_number_is_known_by_its_digits() {
        for number in [
            "0138",
            "01 38 7",
            "+49 (30) 1234",
            "Ana 4-9-3-0-1",
            "x12345",
            "\u{0664}\u{0665}\u{0666}\u{0667}\u{0668}",
        ] {
            assert!(has_number(number), "{number}");
        }
        for none in ["", "Failed, 503", "MOS < 3.6 at 15:00", "carrier-12 and trunk-345"] {
            assert!(!has_number(none), "{none}");
        }
    }
}

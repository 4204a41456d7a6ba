//! Officers and auditors.

use axum::extract::State;
use axum::http::StatusCode;
use ringtap_warrant::{PersonView, Role, SecretText};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Why;
use super::officer::Officer;
use crate::answer::Answer;
use crate::openapi::refusals::Conflict;
use crate::problem::{FieldMistake, Problem};
use crate::request::{Json, Path};
use crate::state::App;

/// Everybody of the register.
#[derive(Serialize, ToSchema)]
struct OfficerList {
    /// Those who are in it.
    people: Vec<OfficerEntry>,
    /// Changes that wait for another officer.
    proposals: Vec<Proposal>,
}

/// Somebody of the register.
#[derive(Serialize, ToSchema)]
struct OfficerEntry {
    name: String,
    /// `officer` or `auditor`.
    role: Option<&'static str>,
    /// `active`, `disabled` or `has to choose a passphrase`.
    state: &'static str,
}

/// A change of the people that waits.
#[derive(Serialize, ToSchema)]
struct Proposal {
    /// By which it is confirmed.
    number: u64,
    /// Whom it is about.
    name: String,
    /// Of somebody who is to be added: `officer` or `auditor`; null for somebody who is to be disabled.
    role: Option<&'static str>,
    proposed_by: String,
    /// Whoever asks can confirm it.
    waits_for_me: bool,
}

/// Officers and auditors, and what waits to be confirmed
///
/// It is a look, which is recorded with its reason.
#[utoipa::path(
    post, path = "/warrants/people/list", operation_id = "list_officers", tag = "warrants",
    request_body = Why,
    responses((status = 200, description = "Everybody.", body = OfficerList))
)]
pub(crate) async fn list(
    State(app): State<App>,
    officer: Officer,
    Json(Why { why }): Json<Why>,
) -> Result<Answer, Problem> {
    let people = app.warrants.act(&officer.known, move |acting| {
        let views = acting.register.people(acting.session, &why, acting.clock)?;
        let is_officer = acting.standing.role == Role::Officer;
        Ok(listed(views, is_officer.then(|| acting.session.name())))
    });
    Ok(Answer::of(people.await?))
}

/// `officer`: the name of whoever asks, if that is an officer.
fn listed(views: Vec<PersonView>, officer: Option<&str>) -> OfficerList {
    let mut list = OfficerList { people: Vec::new(), proposals: Vec::new() };
    for PersonView { name, role, state, proposal } in views {
        let role = role.map(Role::name);
        match proposal {
            None => list.people.push(OfficerEntry { name, role, state }),
            Some((number, proposed_by)) => {
                let waits_for_me = officer.is_some_and(|officer| officer != proposed_by && officer != name);
                list.proposals.push(Proposal { number, name, role, proposed_by, waits_for_me });
            }
        }
    }
    list
}

/// Somebody who is to be added.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewOfficer {
    /// 1 to 64 letters, digits, `.`, `-`, `_` and `@`, with a letter or a digit first.
    #[schema(example = "ben")]
    name: String,
    /// `officer` or `auditor`.
    #[schema(example = "officer")]
    role: String,
    /// The first passphrase, which opens nothing but its own change.
    #[schema(value_type = String)]
    passphrase: SecretText,
}

/// What was proposed.
#[derive(Serialize, ToSchema)]
struct Proposed {
    /// The number by which another officer confirms it; null if it holds at once, as the second officer does.
    proposal: Option<u64>,
}

/// Proposes to add somebody
///
/// Another officer confirms it. The only officer adds the second one alone.
#[utoipa::path(
    post, path = "/warrants/people", operation_id = "add_officer", tag = "warrants",
    request_body = NewOfficer,
    responses((status = 201, description = "It is proposed.", body = Proposed), Conflict)
)]
pub(crate) async fn add(
    State(app): State<App>,
    officer: Officer,
    Json(new): Json<NewOfficer>,
) -> Result<(StatusCode, Answer), Problem> {
    let NewOfficer { name, role, passphrase } = new;
    let role = role.parse::<Role>();
    let role = role.map_err(|error| Problem::fields(vec![FieldMistake::of("role", error)]))?;
    let proposal = app.warrants.act(&officer.known, move |acting| {
        acting.register.propose_person(acting.session, &name, role, &passphrase, acting.clock)
    });
    Ok((StatusCode::CREATED, Answer::of(Proposed { proposal: proposal.await? })))
}

/// Somebody who is to do nothing any more.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DisabledOfficer {
    #[schema(example = "ben")]
    name: String,
}

/// Proposes that somebody may do nothing any more
///
/// Another officer confirms it. Names stay, since acts have them.
#[utoipa::path(
    post, path = "/warrants/people/disable", operation_id = "disable_officer", tag = "warrants",
    request_body = DisabledOfficer,
    responses((status = 201, description = "It is proposed.", body = Proposed), Conflict)
)]
pub(crate) async fn disable(
    State(app): State<App>,
    officer: Officer,
    Json(DisabledOfficer { name }): Json<DisabledOfficer>,
) -> Result<(StatusCode, Answer), Problem> {
    let proposal = app.warrants.act(&officer.known, move |acting| {
        acting.register.propose_to_disable(acting.session, &name, acting.clock)
    });
    Ok((StatusCode::CREATED, Answer::of(Proposed { proposal: proposal.await? })))
}

/// Confirms a change of the people
///
/// By another officer than the one who proposed it or whom it is about.
#[utoipa::path(
    post, path = "/warrants/people/proposals/{number}/confirm", operation_id = "confirm_officer",
    tag = "warrants",
    params(("number" = u64, Path, description = "The number of the proposal.")),
    responses((status = 204, description = "It holds."), Conflict)
)]
pub(crate) async fn confirm(
    State(app): State<App>,
    officer: Officer,
    Path(number): Path<u64>,
) -> Result<StatusCode, Problem> {
    let confirmed = app.warrants.act(&officer.known, move |acting| {
        acting.register.confirm_person(acting.session, number, acting.clock)
    });
    confirmed.await.map(|()| StatusCode::NO_CONTENT)
}

//! What officers do with warrants.

use axum::extract::State;
use axum::http::StatusCode;
use ringtap_model::Nanos;
use ringtap_report::time::now;
use ringtap_warrant::{Extension, SecretText};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Why;
use super::entry::{Entry, time};
use super::officer::Officer;
use crate::answer::Answer;
use crate::openapi::refusals::Conflict;
use crate::problem::Problem;
use crate::request::{Json, Path};
use crate::state::App;

/// A warrant that was entered.
#[derive(Serialize, ToSchema)]
struct EnteredWarrant {
    /// Its number in the register.
    number: u32,
}

/// Enters a warrant: a draft until another officer approves it
///
/// Of what is wrong, `fields` names field, entry and column, and repeats nothing of it.
#[utoipa::path(
    post, path = "/warrants", operation_id = "enter_warrant", tag = "warrants", request_body = Entry,
    responses((status = 201, description = "It is entered.", body = EnteredWarrant), Conflict)
)]
pub(crate) async fn enter(
    State(app): State<App>,
    officer: Officer,
    Json(entry): Json<Entry>,
) -> Result<(StatusCode, Answer), Problem> {
    let warrant = entry.warrant(now())?;
    let number = app
        .warrants
        .act(&officer.known, move |acting| acting.register.enter(acting.session, warrant, acting.clock));
    Ok((StatusCode::CREATED, Answer::of(EnteredWarrant { number: number.await? })))
}

/// What is approved.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approval {
    /// The hash of the record, as it was shown to whoever approves it: 64 hex digits.
    hash: String,
}

/// Approves a draft, or the extension that waits
///
/// By another officer than the one who entered it, who was shown the record as it is now.
#[utoipa::path(
    post, path = "/warrants/{number}/approve", operation_id = "approve_warrant", tag = "warrants",
    params(("number" = u32, Path, description = "Its number in the register.")), request_body = Approval,
    responses((status = 204, description = "It is approved."), Conflict)
)]
pub(crate) async fn approve(
    State(app): State<App>,
    officer: Officer,
    Path(number): Path<u32>,
    Json(Approval { hash }): Json<Approval>,
) -> Result<StatusCode, Problem> {
    let approved = app.warrants.act(&officer.known, move |acting| {
        acting.register.approve(acting.session, number, &hash, acting.clock)
    });
    approved.await.map(|()| StatusCode::NO_CONTENT)
}

/// An extension, by an order of its own.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewExtension {
    /// The new end.
    #[serde(deserialize_with = "time")]
    ends_us: u64,
    /// Number of the order that extends it.
    #[schema(value_type = String)]
    reference: SecretText,
    /// Court or authority that has ordered it.
    #[schema(value_type = String)]
    authority: SecretText,
}

/// Enters an extension, which another officer has to approve before the warrant ends
///
/// One that waited is replaced.
#[utoipa::path(
    post, path = "/warrants/{number}/extend", operation_id = "extend_warrant", tag = "warrants",
    params(("number" = u32, Path, description = "Its number in the register.")), request_body = NewExtension,
    responses((status = 204, description = "It waits for another officer."), Conflict)
)]
pub(crate) async fn extend(
    State(app): State<App>,
    officer: Officer,
    Path(number): Path<u32>,
    Json(new): Json<NewExtension>,
) -> Result<StatusCode, Problem> {
    let NewExtension { ends_us, reference, authority } = new;
    let extension = Extension { ends: Nanos::from_micros(ends_us), reference, authority };
    let extended = app.warrants.act(&officer.known, move |acting| {
        acting.register.extend(acting.session, number, extension, acting.clock)
    });
    extended.await.map(|()| StatusCode::NO_CONTENT)
}

/// Ends a warrant at once
#[utoipa::path(
    post, path = "/warrants/{number}/withdraw", operation_id = "withdraw_warrant", tag = "warrants",
    params(("number" = u32, Path, description = "Its number in the register.")), request_body = Why,
    responses((status = 204, description = "It has ended."), Conflict)
)]
pub(crate) async fn withdraw(
    State(app): State<App>,
    officer: Officer,
    Path(number): Path<u32>,
    Json(Why { why }): Json<Why>,
) -> Result<StatusCode, Problem> {
    let withdrawn = app.warrants.act(&officer.known, move |acting| {
        acting.register.withdraw(acting.session, number, &why, acting.clock)
    });
    withdrawn.await.map(|()| StatusCode::NO_CONTENT)
}

/// A note.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewNote {
    /// 1 to 4,096 bytes.
    #[schema(value_type = String)]
    text: SecretText,
}

/// Adds a note to a warrant
#[utoipa::path(
    post, path = "/warrants/{number}/notes", operation_id = "note_warrant", tag = "warrants",
    params(("number" = u32, Path, description = "Its number in the register.")), request_body = NewNote,
    responses((status = 204, description = "It is added."), Conflict)
)]
pub(crate) async fn note(
    State(app): State<App>,
    officer: Officer,
    Path(number): Path<u32>,
    Json(NewNote { text }): Json<NewNote>,
) -> Result<StatusCode, Problem> {
    let noted = app
        .warrants
        .act(&officer.known, move |acting| acting.register.note(acting.session, number, &text, acting.clock));
    noted.await.map(|()| StatusCode::NO_CONTENT)
}

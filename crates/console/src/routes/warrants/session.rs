//! Logging in to the register, and out.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ringtap_warrant::{SecretText, Standing};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::officer::{Idle, Officer};
use crate::answer::Answer;
use crate::problem::Problem;
use crate::request::Json;
use crate::state::App;
use crate::warrants::IDLE;

/// Who is logged in to the register.
#[derive(Serialize, ToSchema)]
struct OfficerSession {
    /// The name.
    #[schema(example = "ana")]
    name: String,
    /// `officer` or `auditor`.
    role: &'static str,
    /// A passphrase has to be chosen before anything else.
    must_change: bool,
    /// The session ends after so many seconds without use.
    idle_s: u64,
}

impl OfficerSession {
    fn of(name: &str, standing: Standing) -> Self {
        let Standing { role, must_change, .. } = standing;
        Self { name: name.to_owned(), role: role.name(), must_change, idle_s: IDLE.as_secs() }
    }
}

/// Name and passphrase of the register.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfficerLogin {
    #[schema(example = "ana")]
    name: String,
    #[schema(value_type = String)]
    passphrase: SecretText,
}

/// Who is logged in to the register
///
/// Asking does not count as use: the session ends 10 minutes after the last look or act, and after 8 hours.
#[utoipa::path(
    get, path = "/warrants/session", operation_id = "show_officer_session", tag = "warrants",
    responses((status = 200, description = "Somebody is logged in.", body = OfficerSession))
)]
pub(crate) async fn show(State(app): State<App>, Idle(officer): Idle) -> Result<Answer, Problem> {
    let standing = app.warrants.act(&officer.known, |acting| Ok(acting.standing)).await?;
    Ok(Answer::of(OfficerSession::of(officer.known.session.name(), standing)))
}

/// Logs in to the register
///
/// It needs no session of the console, and gives none. A wrong passphrase is recorded in the register; after
/// three for a name each attempt waits, as does each after ten from an address, from a second up to 15
/// minutes.
#[utoipa::path(
    post, path = "/warrants/session", operation_id = "log_in_officer", tag = "warrants", security(()),
    request_body = OfficerLogin,
    responses(
        (status = 200, description = "The session begins.", body = OfficerSession, headers(
            ("Set-Cookie" = String, description = "The session's cookie: `__Host-ringtap-warrants=...`.")
        )),
        (status = 401, description = "Name or passphrase is wrong.", body = crate::problem::Details,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn login(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Json(given): Json<OfficerLogin>,
) -> Result<Response, Problem> {
    let OfficerLogin { name, passphrase } = given;
    let (secret, session, standing) = app.warrants.log_in(name, passphrase, peer.ip()).await?;
    let answer = Answer::of(OfficerSession::of(session.name(), standing)).into_response();
    Ok(with_cookie(&app, &secret, answer))
}

/// Logs out of the register
#[utoipa::path(
    delete, path = "/warrants/session", operation_id = "log_out_officer", tag = "warrants",
    responses((status = 204, description = "The session is ended."))
)]
pub(crate) async fn logout(State(app): State<App>, officer: Officer) -> Response {
    app.warrants.end(&officer.secret);
    with_cookie(&app, "", StatusCode::NO_CONTENT.into_response())
}

/// The present passphrase and another one.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPassphrase {
    #[schema(value_type = String)]
    present: SecretText,
    /// At least 12 characters, 5 of them different, without the name.
    #[schema(value_type = String)]
    passphrase: SecretText,
}

/// Chooses another passphrase for oneself
///
/// All other sessions of the person end.
#[utoipa::path(
    post, path = "/warrants/session/passphrase", operation_id = "change_officer_passphrase", tag = "warrants",
    request_body = NewPassphrase,
    responses((status = 200, description = "It holds.", body = OfficerSession, headers(
        ("Set-Cookie" = String, description = "The cookie of the session that goes on.")
    )))
)]
pub(crate) async fn passphrase(
    State(app): State<App>,
    officer: Officer,
    Json(given): Json<NewPassphrase>,
) -> Result<Response, Problem> {
    let NewPassphrase { present, passphrase } = given;
    let (secret, standing) = app.warrants.change_passphrase(&officer.known, present, passphrase).await?;
    let answer = Answer::of(OfficerSession::of(officer.known.session.name(), standing)).into_response();
    Ok(with_cookie(&app, &secret, answer))
}

fn with_cookie(app: &App, secret: &str, mut response: Response) -> Response {
    let cookie = HeaderValue::from_str(&app.officer_cookie(secret));
    response.headers_mut().extend(cookie.ok().map(|value| (SET_COOKIE, value)));
    response
}

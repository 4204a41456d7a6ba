//! Logging in and out.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, State};
use axum::http::header::{LOCATION, SET_COOKIE, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ringtap_access::{Action, Attempt, Credential, Identity, LoggedIn, Rights, Role, Scope, What};
use ringtap_report::time;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use utoipa::ToSchema;

use super::people::Limit;
use crate::answer::Answer;
use crate::openapi::names::{RightName, RoleName};
use crate::openapi::refusals::{Busy, Conflict};
use crate::problem::Problem;
use crate::request::{Json, Path};
use crate::settings::Link;
use crate::state::App;
use crate::viewer::Viewer;

/// Who is logged in.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub(super) struct SessionAnswer {
    /// The name.
    user: String,
    #[schema(value_type = RoleName)]
    role: Role,
    /// What this session, or this token, permits.
    #[schema(value_type = Vec<RightName>)]
    rights: Rights,
    /// With which calls: those that are within each of these limits; all where there is none.
    #[schema(value_type = Vec<Limit>)]
    scope: Scope,
    /// The password has to be changed before anything else.
    must_change_password: bool,
    /// An identity provider vouched for the person: `log_out_by_provider` logs out there as well.
    by_provider: bool,
}

/// Who is logged in
#[utoipa::path(
    get, path = "/session", operation_id = "show_session", tag = "session",
    responses((status = 200, description = "Somebody is logged in.", body = SessionAnswer))
)]
pub(crate) async fn show(viewer: Viewer) -> Answer {
    Answer::of(of(&viewer.identity))
}

pub(super) fn of(identity: &Identity) -> SessionAnswer {
    SessionAnswer {
        user: identity.name.clone(),
        role: identity.role,
        rights: identity.rights,
        scope: identity.scope.clone(),
        must_change_password: identity.must_change,
        by_provider: identity.by_provider,
    }
}

/// Name, password and, where the person has a second factor, its code.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Login)]
pub(crate) struct Given {
    #[schema(example = "ana")]
    name: String,
    password: String,
    /// Six digits, or a recovery code.
    #[serde(default)]
    code: Option<String>,
    /// Another password to be used from now on.
    #[serde(default)]
    new_password: Option<String>,
}

/// Logs in
///
/// Every attempt is in the audit log. `code_wanted` in an error tells that the person has a second factor.
#[utoipa::path(
    post, path = "/session", operation_id = "log_in", tag = "session", security(()), request_body = Given,
    responses(
        (status = 200, description = "The session begins.", body = SessionAnswer, headers(
            ("Set-Cookie" = String, description = "The session's cookie: `__Host-ringtap=...`.")
        )),
        (status = 401, description = "Name, password or code are wrong.", body = crate::problem::Details,
            content_type = "application/problem+json"),
        Conflict, Busy
    )
)]
pub(crate) async fn login(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(given): Json<Given>,
) -> Result<Response, Problem> {
    let session = try_login(&app, peer, &headers, given).await?;
    Ok(with_cookie(&app, &session, Answer::of(of(&session.identity)).into_response()))
}

/// `GET /open/KEY`: logs in by the link, and shows the calls.
pub(crate) async fn open(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Path(key): Path<String>,
) -> Result<Response, Problem> {
    let is_known = |link: &&Link| bool::from(link.key.as_bytes().ct_eq(key.as_bytes()));
    let Some(Link { name, password, .. }) = app.link.as_ref().filter(is_known).cloned() else {
        return Err(Problem::not_found("the link is of a console that has ended"));
    };
    let given = Given { name, password, code: None, new_password: None };
    let session = try_login(&app, peer, &headers, given).await?;
    let calls = (StatusCode::SEE_OTHER, [(LOCATION, "/calls")]).into_response();
    Ok(with_cookie(&app, &session, calls))
}

async fn try_login(
    app: &App,
    peer: SocketAddr,
    headers: &HeaderMap,
    given: Given,
) -> Result<LoggedIn, Problem> {
    let people = app.clone();
    let agent = agent(headers);
    let tried = tokio::task::spawn_blocking(move || {
        let Given { name, password, code, new_password } = &given;
        let code = code.as_deref().filter(|code| !code.is_empty());
        let attempt = Attempt { name, password, code, from: peer.ip(), agent: &agent };
        match new_password {
            None => people.people.log_in(&attempt, &people.audit, time::now()),
            Some(new) => people.people.change_password(&attempt, new, &people.audit, time::now()),
        }
    });
    tried
        .await
        .map_err(|_| Problem::unavailable("nobody can log in: the log says why"))?
        .map_err(Problem::from)
}

/// The browser, as it says itself.
pub(super) fn agent(headers: &HeaderMap) -> String {
    headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default().to_owned()
}

pub(super) fn with_cookie(app: &App, session: &LoggedIn, mut response: Response) -> Response {
    let cookie = app.cookie(&session.session, None);
    response.headers_mut().extend(HeaderValue::from_str(&cookie).ok().map(|value| (SET_COOKIE, value)));
    response
}

/// Logs out
#[utoipa::path(
    delete, path = "/session", operation_id = "log_out", tag = "session",
    responses((status = 204, description = "The session is ended."))
)]
pub(crate) async fn logout(State(app): State<App>, viewer: Viewer) -> Result<Response, Problem> {
    let gone = ended(&app, &viewer).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().extend(HeaderValue::from_str(&gone).ok().map(|value| (SET_COOKIE, value)));
    Ok(response)
}

/// Ends the session, if it is one. Returns the header that removes its cookie.
pub(super) async fn ended(app: &App, viewer: &Viewer) -> Result<String, Problem> {
    app.note(viewer, Action::Logout, What::from("logged out")).await?;
    if let Credential::Session(number) = viewer.identity.credential {
        let people = app.clone();
        let ended = tokio::task::spawn_blocking(move || people.people.end_session(number)).await;
        ended
            .map_err(|_| Problem::unavailable("the session cannot be ended"))?
            .map_err(anyhow::Error::from)?;
    }
    Ok(app.cookie("", Some(0)))
}

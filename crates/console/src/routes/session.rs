//! Logging in and out.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::header::{LOCATION, SET_COOKIE, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ringtap_access::{Action, Attempt, Credential, Identity, LoggedIn, Right, What};
use ringtap_report::time;
use serde::Deserialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use crate::answer::Answer;
use crate::problem::Problem;
use crate::settings::Link;
use crate::state::App;
use crate::viewer::Viewer;

/// `GET /session`: who is logged in.
pub(crate) async fn show(viewer: Viewer) -> Answer {
    Answer::of(of(&viewer.identity))
}

fn of(identity: &Identity) -> Value {
    let rights: Vec<&str> = identity.rights.iter().map(Right::name).collect();
    json!({
        "user": identity.name,
        "role": identity.role.name(),
        "rights": rights,
        "scope": identity.scope,
        "must_change_password": identity.must_change,
    })
}

/// Name, password and, where the person has a second factor, its code.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    name: String,
    password: String,
    #[serde(default)]
    code: Option<String>,
    /// Another password to be used from now on.
    #[serde(default)]
    new_password: Option<String>,
}

/// `POST /session`: logs in. Every attempt is in the audit log.
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
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default().to_owned();
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

fn with_cookie(app: &App, session: &LoggedIn, mut response: Response) -> Response {
    let cookie = app.cookie(&session.session, None);
    response.headers_mut().extend(HeaderValue::from_str(&cookie).ok().map(|value| (SET_COOKIE, value)));
    response
}

/// `DELETE /session`: logs out.
pub(crate) async fn logout(State(app): State<App>, viewer: Viewer) -> Result<Response, Problem> {
    app.note(&viewer, Action::Logout, What::from("logged out")).await?;
    if let Credential::Session(number) = viewer.identity.credential {
        let people = app.clone();
        let ended = tokio::task::spawn_blocking(move || people.people.end_session(number)).await;
        ended
            .map_err(|_| Problem::unavailable("the session cannot be ended"))?
            .map_err(anyhow::Error::from)?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let gone = app.cookie("", Some(0));
    response.headers_mut().extend(HeaderValue::from_str(&gone).ok().map(|value| (SET_COOKIE, value)));
    Ok(response)
}

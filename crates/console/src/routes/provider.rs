//! Logging in and out by an identity provider.

use std::net::SocketAddr;

use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use ringtap_access::{LoggedIn, ProviderAttempt, Refusal, What};
use ringtap_oidc::{Failure, FailureKind, Provider};
use ringtap_report::time;
use serde::Serialize;
use utoipa::ToSchema;

use super::session::{agent, ended, with_cookie};
use crate::answer::Answer;
use crate::guard;
use crate::openapi::refusals::Conflict;
use crate::problem::Problem;
use crate::state::App;
use crate::viewer::{Viewer, cookie};

/// The identity provider.
#[derive(Serialize, ToSchema)]
#[schema(as = LoginProvider)]
struct ProviderAnswer {
    /// What it is called; null where people log in without one.
    #[schema(example = "Example")]
    name: Option<String>,
}

/// Which identity provider people log in by
///
/// Asked by the page before anybody has logged in.
#[utoipa::path(
    get, path = "/session/provider", operation_id = "show_provider", tag = "session", security(()),
    responses((status = 200, description = "Its name, if there is one.", body = ProviderAnswer))
)]
pub(crate) async fn show(State(app): State<App>) -> Answer {
    let name = app.provider.as_ref().map(|provider| provider.settings().name.clone());
    Answer::of(ProviderAnswer { name })
}

/// Where the browser goes.
#[derive(Serialize, ToSchema)]
struct BeginAnswer {
    /// An address of the identity provider.
    location: String,
}

/// Begins to log in by the identity provider
///
/// The browser goes where this answers, with the cookie that comes with it, and is sent back by the provider
/// within 10 minutes. Refused with 409 where there is no provider, or the console was asked for under another
/// address than the one that the provider knows.
#[utoipa::path(
    post, path = "/session/provider/begin", operation_id = "begin_provider_login", tag = "session",
    security(()),
    responses(
        (status = 200, description = "For the browser.", body = BeginAnswer, headers(
            ("Set-Cookie" = String, description = "What the browser is known by when it comes back.")
        )),
        Conflict
    )
)]
pub(crate) async fn begin(State(app): State<App>, uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    let provider = provider(&app)?;
    let address = &provider.settings().address;
    let asked = guard::host(&headers, &uri).unwrap_or_default();
    // The cookie would not come back to another name.
    if address.split_once("://").is_none_or(|(_, host)| !host.eq_ignore_ascii_case(asked)) {
        return Err(Problem::conflict(format!(
            "{} sends people back to {address}: open the console there to log in by it",
            provider.settings().name
        )));
    }
    let begun = provider.begin(time::now()).await.map_err(|failure| unavailable(&failure))?;
    let cookie = app.login_cookie(&begun.cookie, LIFE);
    let location = begun.location;
    Ok(with(cookie, Answer::of(BeginAnswer { location }).into_response()))
}

/// Where the browser goes, if anywhere.
#[derive(Serialize, ToSchema)]
struct EndAnswer {
    /// An address of the identity provider, which logs out there; null where it has none, or does not answer.
    location: Option<String>,
}

/// Logs out, here and at the identity provider
///
/// The session is ended. The browser goes where this answers to log out at the provider as well.
#[utoipa::path(
    post, path = "/session/provider/end", operation_id = "log_out_by_provider", tag = "session",
    responses((status = 200, description = "The session is ended.", body = EndAnswer), Conflict)
)]
pub(crate) async fn end(State(app): State<App>, viewer: Viewer) -> Result<Response, Problem> {
    let provider = provider(&app)?;
    let gone = ended(&app, &viewer).await?;
    let location = provider.logout(time::now()).await.unwrap_or_else(|failure| {
        log::warn!(target: "console", "nobody is logged out at the identity provider: {failure}");
        None
    });
    Ok(with(gone, Answer::of(EndAnswer { location }).into_response()))
}

/// `GET /login/callback`: the browser comes back from the provider. It is sent on to the page, with a session
/// or with the reason why there is none.
pub(crate) async fn callback(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    answer: Result<Query<ringtap_oidc::Answer>, QueryRejection>,
) -> Result<Response, Problem> {
    let provider = provider(&app)?;
    // What cannot be read, such as a state that comes twice, is no answer.
    let answer = answer.map(|Query(answer)| answer).unwrap_or_default();
    let came = come_back(&app, provider, &answer, peer, &headers).await;
    let forgotten = app.login_cookie("", 0);
    Ok(match came {
        Ok(session) => with(forgotten, with_cookie(&app, &session, to_page("/"))),
        Err(reason) => with(forgotten, to_page(&format!("/?login={reason}"))),
    })
}

/// Logs in whom the provider vouches for; an error is the reason, as the page knows it.
async fn come_back(
    app: &App,
    provider: &Provider,
    answer: &ringtap_oidc::Answer,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<LoggedIn, &'static str> {
    let attempt = app.people.begin_provider_login(peer.ip(), &agent(headers), time::now());
    let attempt = attempt.map_err(|refusal| reason(&refusal))?;
    let cookie = cookie(headers, app.login_cookie_name());
    let vouched = match provider.finish(answer, cookie.as_deref(), time::now()).await {
        Ok(vouched) => vouched,
        Err(failure) => {
            let kind = failure.kind.name();
            return Err(refuse(app, provider, attempt, failure).await.unwrap_or(kind));
        }
    };
    let people = app.clone();
    let logged_in = tokio::task::spawn_blocking(move || {
        people.people.log_in_by_provider(&attempt, &vouched, &people.audit, time::now())
    });
    logged_in.await.map_err(|_| UNAVAILABLE)?.map_err(|refusal| reason(&refusal))
}

/// Notes in the audit log why nobody is logged in. Returns another reason if that is not possible.
async fn refuse(
    app: &App,
    provider: &Provider,
    attempt: ProviderAttempt,
    failure: Failure,
) -> Option<&'static str> {
    log::info!(target: "console", "nobody is logged in by the identity provider: {failure}");
    let Failure { kind, why } = failure;
    let what = What::from(format!("by {}: ", provider.settings().issuer));
    // What the provider writes may name somebody.
    let what = match kind {
        FailureKind::State | FailureKind::Unavailable => what.text(why),
        _ => what.number(why),
    };
    let people = app.clone();
    let noted = tokio::task::spawn_blocking(move || {
        let counts = kind.is_of_the_browser();
        people.people.refuse_provider_login(&attempt, what, counts, &people.audit, time::now())
    });
    match noted.await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => {
            log::warn!(target: "console", "a refused login cannot be noted: {error}");
            Some(UNAVAILABLE)
        }
        Err(_) => Some(UNAVAILABLE),
    }
}

/// A refusal as the page knows it.
fn reason(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NotPermitted => FailureKind::NotPermitted.name(),
        Refusal::Disabled => "disabled",
        Refusal::Wait(_) | Refusal::Busy => "busy",
        refusal => {
            log::warn!(target: "console", "nobody is logged in by the identity provider: {refusal}");
            UNAVAILABLE
        }
    }
}

fn provider(app: &App) -> Result<&Provider, Problem> {
    app.provider.as_ref().ok_or_else(|| {
        Problem::conflict("people log in here without an identity provider: `--oidc` names one")
    })
}

fn unavailable(failure: &Failure) -> Problem {
    log::warn!(target: "console", "nobody can log in by the identity provider: {failure}");
    Problem::unavailable(failure.to_string())
}

fn to_page(path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, path)]).into_response()
}

fn with(cookie: String, mut response: Response) -> Response {
    if let Ok(value) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(SET_COOKIE, value);
    }
    response
}

/// Seconds that a login may take.
const LIFE: u64 = Provider::LIFE.0 / 1_000_000_000;
const UNAVAILABLE: &str = FailureKind::Unavailable.name();

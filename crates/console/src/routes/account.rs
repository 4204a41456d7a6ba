//! How somebody logs in: one's own second factor, and one's own sessions. Passkeys are in `passkeys`.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode};
use ringtap_access::{Action, Attempt, Credential, Refusal, Right, Session, What};
use ringtap_report::time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::people::{PersonAnswer, with_people};
use super::session::agent;
use crate::answer::Answer;
use crate::openapi::refusals::{Busy, Conflict, Missing};
use crate::problem::{Details, Problem};
use crate::request::{Json, Path};
use crate::state::App;
use crate::viewer::Viewer;

impl Viewer {
    /// The number of the session, of somebody who may change how to log in. A program that has a token may
    /// not: it would make more of it than it was given.
    pub(super) fn own_session(&self) -> Result<u64, Problem> {
        self.need(Right::Search)?;
        match self.identity.credential {
            Credential::Session(number) => Ok(number),
            Credential::Token(_) => {
                Err(Problem::conflict("a token cannot change how its owner logs in: log in yourself"))
            }
        }
    }
}

/// Password and, where the person has a second factor, its code: a session alone, left open or stolen, does
/// not change how its owner logs in.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OwnPassword)]
pub(crate) struct Proof {
    password: String,
    /// Six digits, or a recovery code.
    #[serde(default)]
    code: Option<String>,
}

/// Refuses those who are not who the session says.
pub(super) async fn prove(
    app: &App,
    viewer: &Viewer,
    peer: SocketAddr,
    headers: &HeaderMap,
    proof: Proof,
) -> Result<(), Problem> {
    let (shared, name, agent) = (app.clone(), viewer.name().to_owned(), agent(headers));
    with_people(app, move |people| {
        let Proof { password, code } = &proof;
        let code = code.as_deref().filter(|code| !code.is_empty());
        let attempt = Attempt { name: &name, password, code, from: peer.ip(), agent: &agent };
        people.prove(&attempt, &shared.audit, time::now())
    })
    .await
}

/// One's own account
#[utoipa::path(
    get, path = "/account", operation_id = "show_account", tag = "account",
    responses((status = 200, description = "As the account is now.", body = PersonAnswer))
)]
pub(crate) async fn show(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let name = viewer.name().to_owned();
    let person = with_people(&app, move |people| {
        people.find(&name)?.ok_or_else(|| ringtap_access::Error::Nobody { name: name.clone() }.into())
    })
    .await?;
    Ok(Answer::of(PersonAnswer::from(person)))
}

/// The secret of an authenticator app, which is shown this once.
#[derive(Serialize, ToSchema)]
struct TotpSecret {
    /// In base32, to be typed.
    #[schema(example = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")]
    secret: String,
    /// What an app reads from a QR code.
    #[schema(example = "otpauth://totp/ringtap:ana?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=ringtap")]
    uri: String,
    /// That QR code, an image in SVG.
    qr_svg: String,
}

/// Begins to set up an authenticator app
///
/// The app gets the secret of this answer; it holds once `confirm_totp` has seen a code of it. Until then the
/// login is as before.
#[utoipa::path(
    post, path = "/account/totp", operation_id = "begin_totp", tag = "account", request_body = Proof,
    responses(
        (status = 200, description = "The secret.", body = TotpSecret),
        (status = 401, description = "The password or the code is wrong; or nobody is logged in.",
            body = Details, content_type = "application/problem+json"),
        Conflict, Busy
    )
)]
pub(crate) async fn begin_totp(
    State(app): State<App>,
    viewer: Viewer,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(proof): Json<Proof>,
) -> Result<Answer, Problem> {
    viewer.own_session()?;
    prove(&app, &viewer, peer, &headers, proof).await?;
    app.note(&viewer, Action::People, What::from("new secret of own codes")).await?;
    let name = viewer.name().to_owned();
    let made = with_people(&app, move |people| Ok(people.begin_totp(&name)?)).await?;
    let (secret, uri, qr_svg) = (made.secret.to_string(), made.uri.to_string(), made.qr_svg().to_string());
    Ok(Answer::of(TotpSecret { secret, uri, qr_svg }))
}

/// A code of the app.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TotpCode)]
pub(crate) struct Code {
    /// The six digits that the app shows now.
    #[schema(example = "287082")]
    code: String,
}

/// Recovery codes, which are shown this once.
#[derive(Serialize, ToSchema)]
#[schema(as = RecoveryCodes)]
struct RecoveryAnswer {
    /// Each lets in once in place of a code of the app.
    #[schema(example = json!(["8kx4-mq2w-tz7c"]))]
    recovery_codes: Vec<String>,
}

/// Sets the authenticator app up
///
/// From now on each login asks for a code. Answers with recovery codes, for the day on which the phone is
/// lost.
#[utoipa::path(
    post, path = "/account/totp/confirm", operation_id = "confirm_totp", tag = "account",
    request_body = Code,
    responses((status = 200, description = "It is set up.", body = RecoveryAnswer), Conflict)
)]
pub(crate) async fn confirm_totp(
    State(app): State<App>,
    viewer: Viewer,
    Json(given): Json<Code>,
) -> Result<Answer, Problem> {
    viewer.own_session()?;
    app.note(&viewer, Action::People, What::from("ask for own codes")).await?;
    let name = viewer.name().to_owned();
    let codes = with_people(&app, move |people| Ok(people.confirm_totp(&name, &given.code, time::now())?));
    let recovery_codes = codes.await?.iter().map(|code| code.to_string()).collect();
    Ok(Answer::of(RecoveryAnswer { recovery_codes }))
}

/// Removes one's own authenticator app
///
/// The login asks for no code any more. Whoever has lost the phone gives a recovery code, or asks an
/// administrator.
#[utoipa::path(
    post, path = "/account/totp/remove", operation_id = "remove_totp", tag = "account", request_body = Proof,
    responses(
        (status = 204, description = "It is removed."),
        (status = 401, description = "The password or the code is wrong; or nobody is logged in.",
            body = Details, content_type = "application/problem+json"),
        Conflict, Busy
    )
)]
pub(crate) async fn remove_totp(
    State(app): State<App>,
    viewer: Viewer,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(proof): Json<Proof>,
) -> Result<StatusCode, Problem> {
    viewer.own_session()?;
    prove(&app, &viewer, peer, &headers, proof).await?;
    app.note(&viewer, Action::People, What::from("no codes for oneself")).await?;
    let name = viewer.name().to_owned();
    with_people(&app, move |people| Ok(people.remove_totp(&name)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes other recovery codes
///
/// Those that there were let nobody in any more.
#[utoipa::path(
    post, path = "/account/recovery-codes", operation_id = "renew_recovery_codes", tag = "account",
    request_body = Proof,
    responses(
        (status = 200, description = "The codes.", body = RecoveryAnswer),
        (status = 401, description = "The password or the code is wrong; or nobody is logged in.",
            body = Details, content_type = "application/problem+json"),
        Conflict, Busy
    )
)]
pub(crate) async fn renew_recovery_codes(
    State(app): State<App>,
    viewer: Viewer,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(proof): Json<Proof>,
) -> Result<Answer, Problem> {
    viewer.own_session()?;
    prove(&app, &viewer, peer, &headers, proof).await?;
    app.note(&viewer, Action::People, What::from("other recovery codes of one's own")).await?;
    let name = viewer.name().to_owned();
    let codes = with_people(&app, move |people| Ok(people.renew_recovery_codes(&name)?)).await?;
    let recovery_codes = codes.iter().map(|code| code.to_string()).collect();
    Ok(Answer::of(RecoveryAnswer { recovery_codes }))
}

/// A session that lasts.
#[derive(Serialize, ToSchema)]
struct OwnSession {
    /// Names it.
    number: u64,
    /// It is the one that asks.
    current: bool,
    /// From which address it began.
    #[schema(example = "192.0.2.7")]
    address: String,
    /// With which browser, as it says itself.
    agent: String,
    began_us: u64,
    /// When it was last used, to the minute.
    used_us: u64,
    /// When it ends in any case.
    expires_us: u64,
}

impl OwnSession {
    fn of(session: Session, current: u64) -> Self {
        let Session { number, address, agent, began, used, expires, .. } = session;
        Self {
            number,
            current: number == current,
            address,
            agent,
            began_us: began.micros(),
            used_us: used.micros(),
            expires_us: expires.micros(),
        }
    }
}

/// Sessions that last.
#[derive(Serialize, ToSchema)]
struct OwnSessions {
    sessions: Vec<OwnSession>,
}

/// One's own sessions
#[utoipa::path(
    get, path = "/account/sessions", operation_id = "list_sessions", tag = "account",
    responses(
        (status = 200, description = "Those that were used last come first.", body = OwnSessions), Conflict
    )
)]
pub(crate) async fn sessions(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    let current = viewer.own_session()?;
    let name = viewer.name().to_owned();
    let found = with_people(&app, move |people| Ok(people.sessions(Some(&name), time::now())?)).await?;
    let sessions = found.into_iter().map(|session| OwnSession::of(session, current)).collect();
    Ok(Answer::of(OwnSessions { sessions }))
}

/// Ends one of one's own sessions
#[utoipa::path(
    delete, path = "/account/sessions/{number}", operation_id = "end_session", tag = "account",
    params(("number" = u64, Path, description = "Its number.")),
    responses((status = 204, description = "It is ended."), Missing, Conflict)
)]
pub(crate) async fn end_session(
    State(app): State<App>,
    viewer: Viewer,
    Path(number): Path<u64>,
) -> Result<StatusCode, Problem> {
    viewer.own_session()?;
    app.note(&viewer, Action::Logout, What::from(format!("own session {number}"))).await?;
    let name = viewer.name().to_owned();
    with_people(&app, move |people| Ok(people.end_session_of(&name, number)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends all of one's own sessions but for the one that asks
#[utoipa::path(
    delete, path = "/account/sessions", operation_id = "end_other_sessions", tag = "account",
    responses((status = 204, description = "They are ended."), Conflict)
)]
pub(crate) async fn end_other_sessions(
    State(app): State<App>,
    viewer: Viewer,
) -> Result<StatusCode, Problem> {
    let current = viewer.own_session()?;
    app.note(&viewer, Action::Logout, What::from("all other sessions of one's own")).await?;
    let name = viewer.name().to_owned();
    with_people(&app, move |people| Ok(people.end_other_sessions(&name, current)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes the authenticator app of somebody who has lost the phone
///
/// One's own is removed with the password, by `remove_totp`. Needs the right `administer`.
#[utoipa::path(
    delete, path = "/people/{name}/totp", operation_id = "remove_totp_of", tag = "people",
    params(("name" = String, Path, description = "The name.")),
    responses((status = 204, description = "The login asks for no code any more."), Missing, Conflict)
)]
pub(crate) async fn remove_totp_of(
    State(app): State<App>,
    viewer: Viewer,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    viewer.need(Right::Administer)?;
    // A session that somebody else has got hold of would do without code what asks for one elsewhere.
    if name.eq_ignore_ascii_case(viewer.name()) {
        return Err(Problem::conflict("your own is removed on the page of your account, with the password"));
    }
    app.note(&viewer, Action::People, What::from(format!("no codes for {name}"))).await?;
    with_people(&app, move |people| Ok::<_, Refusal>(people.remove_totp(&name)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

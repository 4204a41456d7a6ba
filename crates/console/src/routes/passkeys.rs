//! Passkeys: made on the page of one's account, and a way to log in.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ringtap_access::{Action, NewPasskey, Passkey, PasskeyAttempt, Refusal, Right, What};
use ringtap_model::Nanos;
use ringtap_report::time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::account::{Proof, prove};
use super::people::with_people;
use super::session::{SessionAnswer, agent, of, with_cookie};
use crate::answer::Answer;
use crate::openapi::refusals::{Busy, Conflict, Missing};
use crate::own_site::OwnSite;
use crate::problem::{Details, Problem};
use crate::request::{Base64Url, Json, Path};
use crate::state::App;
use crate::viewer::Viewer;

/// A passkey of one's own.
#[derive(Serialize, ToSchema)]
#[schema(as = Passkey)]
struct PasskeyAnswer {
    /// Names it.
    number: u64,
    /// What its owner calls it.
    name: String,
    /// The name of the console for which it was made: it logs in under that name alone.
    #[schema(example = "tap.example.org")]
    site: String,
    /// It has copies, as one that a password manager synchronises.
    synchronised: bool,
    created_us: u64,
    /// When it last logged in.
    used_us: Option<u64>,
}

impl From<Passkey> for PasskeyAnswer {
    fn from(passkey: Passkey) -> Self {
        let Passkey { number, name, site, synchronised, created, used } = passkey;
        let (created_us, used_us) = (created.micros(), used.map(Nanos::micros));
        Self { number, name, site, synchronised, created_us, used_us }
    }
}

/// Passkeys of one's own.
#[derive(Serialize, ToSchema)]
struct PasskeyList {
    passkeys: Vec<PasskeyAnswer>,
}

/// One's own passkeys
#[utoipa::path(
    get, path = "/account/passkeys", operation_id = "list_passkeys", tag = "account",
    responses((status = 200, description = "The oldest first.", body = PasskeyList), Conflict)
)]
pub(crate) async fn list(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.own_session()?;
    let name = viewer.name().to_owned();
    let passkeys = with_people(&app, move |people| Ok(people.passkeys(&name)?)).await?;
    Ok(Answer::of(PasskeyList { passkeys: passkeys.into_iter().map(PasskeyAnswer::from).collect() }))
}

/// What a browser needs to make a passkey (`navigator.credentials.create`). Bytes are in base64url.
#[derive(Serialize, ToSchema)]
struct PasskeyOptions {
    /// What the authenticator signs; it is valid for 5 minutes.
    challenge: String,
    /// The id of the relying party.
    #[schema(example = "tap.example.org")]
    site: String,
    /// Stands for the person, and tells nothing of it.
    user_handle: String,
    user: String,
    /// Kinds of keys (COSE), the preferred one first.
    algorithms: Vec<i64>,
    /// Credentials that there are already.
    known: Vec<String>,
}

/// Begins to make a passkey
///
/// The browser is given what this answers, and `add_passkey` what the browser answers. Refused with 409 where
/// the console is asked for by an address instead of a name, for which browsers make no passkeys.
#[utoipa::path(
    post, path = "/account/passkeys/begin", operation_id = "begin_passkey", tag = "account",
    request_body = Proof,
    responses(
        (status = 200, description = "For the browser.", body = PasskeyOptions),
        (status = 401, description = "The password or the code is wrong; or nobody is logged in.",
            body = Details, content_type = "application/problem+json"),
        Conflict, Busy
    )
)]
pub(crate) async fn begin(
    State(app): State<App>,
    viewer: Viewer,
    site: OwnSite,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(proof): Json<Proof>,
) -> Result<Answer, Problem> {
    viewer.own_session()?;
    prove(&app, &viewer, peer, &headers, proof).await?;
    let user = viewer.name().to_owned();
    let name = user.clone();
    let made = with_people(&app, move |people| Ok(people.begin_passkey(&name, time::now())?)).await?;
    Ok(Answer::of(PasskeyOptions {
        challenge: made.challenge,
        site: site.name,
        user_handle: made.handle,
        user,
        algorithms: ringtap_access::PASSKEY_ALGORITHMS.to_vec(),
        known: made.known,
    }))
}

/// What the browser has made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewPasskey)]
pub(crate) struct Made {
    /// What to call it.
    #[schema(example = "phone")]
    name: String,
    /// `response.clientDataJSON`, in base64url.
    #[schema(value_type = String)]
    client_data: Base64Url,
    /// `response.getAuthenticatorData()`, in base64url.
    #[schema(value_type = String)]
    authenticator_data: Base64Url,
}

/// Adds a passkey
///
/// It logs in from now on, without password and code.
#[utoipa::path(
    post, path = "/account/passkeys", operation_id = "add_passkey", tag = "account", request_body = Made,
    responses((status = 201, description = "It is added.", body = PasskeyAnswer), Conflict)
)]
pub(crate) async fn add(
    State(app): State<App>,
    viewer: Viewer,
    site: OwnSite,
    Json(made): Json<Made>,
) -> Result<(StatusCode, Answer), Problem> {
    viewer.own_session()?;
    app.note(&viewer, Action::People, What::from("new passkey of one's own")).await?;
    let person = viewer.name().to_owned();
    let passkey = with_people(&app, move |people| {
        let Made { name, client_data, authenticator_data } = &made;
        let (client_data, authenticator_data) = (&client_data.0[..], &authenticator_data.0[..]);
        let new = NewPasskey { person: &person, name, client_data, authenticator_data };
        Ok(people.add_passkey(&new, site.as_site(), time::now())?)
    })
    .await?;
    Ok((StatusCode::CREATED, Answer::of(PasskeyAnswer::from(passkey))))
}

/// Removes one of one's own passkeys
#[utoipa::path(
    post, path = "/account/passkeys/{number}/remove", operation_id = "remove_passkey", tag = "account",
    params(("number" = u64, Path, description = "Its number.")), request_body = Proof,
    responses(
        (status = 204, description = "It is removed."),
        (status = 401, description = "The password or the code is wrong; or nobody is logged in.",
            body = Details, content_type = "application/problem+json"),
        Missing, Conflict, Busy
    )
)]
pub(crate) async fn remove(
    State(app): State<App>,
    viewer: Viewer,
    Path(number): Path<u64>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(proof): Json<Proof>,
) -> Result<StatusCode, Problem> {
    viewer.own_session()?;
    prove(&app, &viewer, peer, &headers, proof).await?;
    app.note(&viewer, Action::People, What::from("own passkey removed")).await?;
    let name = viewer.name().to_owned();
    with_people(&app, move |people| Ok(people.remove_passkey(&name, number)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes all passkeys of somebody
///
/// For a device that was lost. One's own are removed with the password, by `remove_passkey`. Needs the right
/// `administer`.
#[utoipa::path(
    delete, path = "/people/{name}/passkeys", operation_id = "remove_passkeys_of", tag = "people",
    params(("name" = String, Path, description = "The name.")),
    responses((status = 204, description = "They are removed."), Missing, Conflict)
)]
pub(crate) async fn remove_of(
    State(app): State<App>,
    viewer: Viewer,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    viewer.need(Right::Administer)?;
    if name.eq_ignore_ascii_case(viewer.name()) {
        return Err(Problem::conflict("your own are removed on the page of your account, with the password"));
    }
    app.note(&viewer, Action::People, What::from(format!("no passkeys for {name}"))).await?;
    with_people(&app, move |people| Ok::<_, Refusal>(people.remove_passkeys(&name)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a browser needs to ask for a passkey (`navigator.credentials.get`).
#[derive(Serialize, ToSchema)]
struct LoginOptions {
    /// What the authenticator signs, in base64url; it is valid for 5 minutes.
    challenge: String,
    /// The id of the relying party.
    #[schema(example = "tap.example.org")]
    site: String,
}

/// Begins to log in by a passkey
///
/// Nobody says who it is: the browser asks which of the passkeys for this site to use. Refused with 409 where
/// the console is asked for by an address instead of a name.
#[utoipa::path(
    post, path = "/session/passkey/begin", operation_id = "begin_passkey_login", tag = "session",
    security(()),
    responses((status = 200, description = "For the browser.", body = LoginOptions), Conflict)
)]
pub(crate) async fn begin_login(State(app): State<App>, site: OwnSite) -> Result<Answer, Problem> {
    let challenge = app.people.begin_passkey_login(time::now())?;
    Ok(Answer::of(LoginOptions { challenge, site: site.name }))
}

/// What the browser answers. Bytes are in base64url.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PasskeyLogin)]
pub(crate) struct Given {
    /// `rawId`.
    #[schema(value_type = String)]
    credential: Base64Url,
    /// `response.clientDataJSON`.
    #[schema(value_type = String)]
    client_data: Base64Url,
    /// `response.authenticatorData`.
    #[schema(value_type = String)]
    authenticator_data: Base64Url,
    /// `response.signature`.
    #[schema(value_type = String)]
    signature: Base64Url,
    /// `response.userHandle`.
    #[schema(value_type = String)]
    user_handle: Base64Url,
}

/// Logs in by a passkey
///
/// Every attempt is in the audit log, with what was wrong with it.
#[utoipa::path(
    post, path = "/session/passkey", operation_id = "log_in_by_passkey", tag = "session", security(()),
    request_body = Given,
    responses(
        (status = 200, description = "The session begins.", body = SessionAnswer, headers(
            ("Set-Cookie" = String, description = "The session's cookie: `__Host-ringtap=...`.")
        )),
        (status = 401, description = "The passkey is not accepted.", body = Details,
            content_type = "application/problem+json"),
        Conflict, Busy
    )
)]
pub(crate) async fn login(
    State(app): State<App>,
    site: OwnSite,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(given): Json<Given>,
) -> Result<Response, Problem> {
    let (shared, agent) = (app.clone(), agent(&headers));
    let session = with_people(&app, move |people| {
        let attempt = PasskeyAttempt {
            credential: &given.credential.0,
            client_data: &given.client_data.0,
            authenticator_data: &given.authenticator_data.0,
            signature: &given.signature.0,
            handle: &given.user_handle.0,
            from: peer.ip(),
            agent: &agent,
        };
        people.log_in_by_passkey(&attempt, site.as_site(), &shared.audit, time::now())
    })
    .await?;
    Ok(with_cookie(&app, &session, Answer::of(of(&session.identity)).into_response()))
}

//! Who may use the console, and tokens of programs.

use axum::extract::State;
use axum::http::StatusCode;
use ringtap_access::{
    Action, NewPerson, NewToken, People, Person, Refusal, Right, Rights, Role, Scope, Token, What,
};
use ringtap_model::Nanos;
use ringtap_report::time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::answer::Answer;
use crate::openapi::names::{RightName, RoleName};
use crate::openapi::refusals::{Conflict, Missing};
use crate::problem::Problem;
use crate::request::{Bounded, Json, Path};
use crate::state::App;
use crate::viewer::Viewer;

/// Does something with the people, outside of the threads that serve connections.
pub(super) async fn with_people<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&People) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Problem> {
    let people = app.clone();
    let done = tokio::task::spawn_blocking(move || work(&people.people)).await;
    match done {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(refusal)) => Err(refusal.into()),
        Err(_) => Err(Problem::unavailable("the people cannot be changed: the log says why")),
    }
}

/// Somebody who may log in.
#[derive(Serialize, ToSchema)]
#[schema(as = Person)]
pub(super) struct PersonAnswer {
    /// In lower case.
    name: String,
    #[schema(value_type = RoleName)]
    role: Role,
    /// With which calls: those that are within each of these limits; all where there is none.
    #[schema(value_type = Vec<Limit>)]
    scope: Scope,
    /// May not log in, nor use tokens.
    disabled: bool,
    /// Has to choose a password before anything else.
    must_change: bool,
    /// Has a second factor.
    totp: bool,
    /// Recovery codes that were not used yet.
    recovery_codes: u32,
    /// Passkeys that log the person in.
    passkeys: u32,
    created_us: u64,
    last_login_us: Option<u64>,
}

impl From<Person> for PersonAnswer {
    fn from(person: Person) -> Self {
        let Person { name, role, scope, disabled, must_change, totp, recovery_codes, passkeys, .. } = person;
        Self {
            name,
            role,
            scope,
            disabled,
            must_change,
            totp,
            recovery_codes,
            passkeys,
            created_us: person.created.micros(),
            last_login_us: person.last_login.map(Nanos::micros),
        }
    }
}

/// Calls of some trunks, or of some numbers.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a scope writes itself; this describes what it writes")]
pub(crate) struct Limit {
    /// Trunks; `*` stands for any characters at either end. Null does not limit.
    #[schema(required = true)]
    trunks: Option<Vec<String>>,
    /// Numbers and user names; `*` stands for any characters at either end. Null does not limit.
    #[schema(required = true)]
    numbers: Option<Vec<String>>,
}

/// People who may log in.
#[derive(Serialize, ToSchema)]
struct PersonList {
    people: Vec<PersonAnswer>,
}

/// Everybody who may log in
///
/// Needs the right `administer`.
#[utoipa::path(
    get, path = "/people", operation_id = "list_people", tag = "people",
    responses((status = 200, description = "By name.", body = PersonList))
)]
pub(crate) async fn list(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Administer)?;
    let people = with_people(&app, |people| Ok(people.list()?)).await?;
    Ok(Answer::of(PersonList { people: people.into_iter().map(PersonAnswer::from).collect() }))
}

/// Somebody to be added.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewPerson)]
pub(crate) struct New {
    /// Small letters, digits, `.`, `_` and `-`.
    #[schema(example = "ana")]
    name: String,
    #[schema(value_type = RoleName)]
    role: String,
    /// To be changed at the first login.
    password: String,
    /// Calls of these trunks only; `*` stands for any characters at either end. None does not limit.
    #[serde(default)]
    trunks: Vec<String>,
    /// Calls of these numbers only; `*` stands for any characters at either end. None does not limit.
    #[serde(default)]
    numbers: Vec<String>,
}

fn role_of(text: &str) -> Result<Role, Problem> {
    text.parse().map_err(|error: String| Problem::request(format!("`{text}` is no role"), error))
}

fn scope_of(trunks: &[String], numbers: &[String]) -> Result<Scope, Problem> {
    Scope::parse(trunks, numbers)
        .map_err(|error| Problem::request(error.to_string(), "`*` stands for any characters at either end"))
}

/// Adds somebody
///
/// The password that is given here has to be changed at the first login. Needs the right `administer`.
#[utoipa::path(
    post, path = "/people", operation_id = "add_person", tag = "people", request_body = New,
    responses((status = 201, description = "The person is added.", body = PersonAnswer), Conflict)
)]
pub(crate) async fn add(
    State(app): State<App>,
    viewer: Viewer,
    Json(new): Json<New>,
) -> Result<(StatusCode, Answer), Problem> {
    viewer.need(Right::Administer)?;
    let (role, scope) = (role_of(&new.role)?, scope_of(&new.trunks, &new.numbers)?);
    app.note(&viewer, Action::People, What::from(format!("add {} as {role}", new.name))).await?;
    let person = with_people(&app, move |people| {
        let New { name, password, .. } = &new;
        people.add(&NewPerson { name, role, scope, password, must_change: true }, time::now())
    })
    .await?;
    Ok((StatusCode::CREATED, Answer::of(PersonAnswer::from(person))))
}

/// What changes of a person.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PersonChanges)]
pub(crate) struct Changes {
    #[schema(value_type = Option<RoleName>)]
    role: Option<String>,
    /// May not log in, nor use tokens.
    disabled: Option<bool>,
    /// A new first password.
    password: Option<String>,
    /// Calls of these trunks only; together with `numbers`. An empty list does not limit.
    trunks: Option<Vec<String>>,
    /// Calls of these numbers only; together with `trunks`. An empty list does not limit.
    numbers: Option<Vec<String>>,
}

/// Changes somebody
///
/// What is left out stays. Needs the right `administer`.
#[utoipa::path(
    patch, path = "/people/{name}", operation_id = "change_person", tag = "people",
    params(("name" = String, Path, description = "The name.")), request_body = Changes,
    responses((status = 200, description = "As the person is now.", body = PersonAnswer), Missing, Conflict)
)]
pub(crate) async fn change(
    State(app): State<App>,
    viewer: Viewer,
    Path(name): Path<String>,
    Json(changes): Json<Changes>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Administer)?;
    let role = changes.role.as_deref().map(role_of).transpose()?;
    let scope = match (&changes.trunks, &changes.numbers) {
        (None, None) => None,
        (Some(trunks), Some(numbers)) => Some(scope_of(trunks, numbers)?),
        _ => {
            return Err(Problem::request(
                "a scope is made of both, and only one is given",
                "send `trunks` and `numbers`; an empty list does not limit",
            ));
        }
    };
    let mut what = vec![format!("change {name}")];
    what.extend(role.map(|role| format!("role {role}")));
    what.extend(changes.disabled.map(|disabled| if disabled { "disabled" } else { "enabled" }.to_owned()));
    what.extend(changes.password.as_ref().map(|_| "another password".to_owned()));
    what.extend(scope.as_ref().map(|_| "another scope".to_owned()));
    app.note(&viewer, Action::People, What::from(what.join(", "))).await?;
    let person = with_people(&app, move |people| {
        if let Some(role) = role {
            people.set_role(&name, role)?;
        }
        if let Some(scope) = scope {
            people.set_scope(&name, &scope)?;
        }
        if let Some(disabled) = changes.disabled {
            people.set_disabled(&name, disabled)?;
        }
        if let Some(password) = &changes.password {
            people.set_password(&name, password, true)?;
        }
        people.find(&name)?.ok_or_else(|| ringtap_access::Error::Nobody { name: name.clone() }.into())
    })
    .await?;
    Ok(Answer::of(PersonAnswer::from(person)))
}

/// A token, without its text.
#[derive(Serialize, ToSchema)]
#[schema(as = Token)]
struct TokenAnswer {
    /// Whose it is.
    person: String,
    /// What it is called: unique among those of the person.
    name: String,
    /// What it permits, as far as its owner may.
    #[schema(value_type = Vec<RightName>)]
    rights: Rights,
    /// With which calls, as far as its owner may.
    #[schema(value_type = Vec<Limit>)]
    scope: Scope,
    created_us: u64,
    /// Until when it is valid.
    expires_us: u64,
    /// When it was last used, to the minute.
    used_us: Option<u64>,
}

impl From<Token> for TokenAnswer {
    fn from(token: Token) -> Self {
        let Token { person, name, rights, scope, created, expires, used } = token;
        Self {
            person,
            name,
            rights,
            scope,
            created_us: created.micros(),
            expires_us: expires.micros(),
            used_us: used.map(Nanos::micros),
        }
    }
}

/// Tokens of programs.
#[derive(Serialize, ToSchema)]
struct TokenList {
    tokens: Vec<TokenAnswer>,
}

/// One's own tokens
#[utoipa::path(
    get, path = "/tokens", operation_id = "list_tokens", tag = "people",
    responses((status = 200, description = "Without their texts.", body = TokenList))
)]
pub(crate) async fn tokens(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let name = viewer.name().to_owned();
    let tokens = with_people(&app, move |people| Ok(people.tokens(Some(&name))?)).await?;
    Ok(Answer::of(TokenList { tokens: tokens.into_iter().map(TokenAnswer::from).collect() }))
}

/// A token to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewToken)]
pub(crate) struct Wanted {
    /// What it is called: unique among one's own.
    #[schema(example = "nightly-report")]
    name: String,
    /// What it permits: what its owner may not do, it does not permit either.
    #[schema(value_type = Vec<RightName>)]
    rights: Vec<Right>,
    /// Calls of these trunks only; `*` stands for any characters at either end. None does not limit.
    #[serde(default)]
    trunks: Vec<String>,
    /// Calls of these numbers only; `*` stands for any characters at either end. None does not limit.
    #[serde(default)]
    numbers: Vec<String>,
    /// For how long it is valid.
    #[schema(value_type = u64, minimum = 1, maximum = 366)]
    days: Bounded<1, 366>,
}

/// A token that was made.
#[derive(Serialize, ToSchema)]
struct MadeToken {
    /// Its text, which is shown this once.
    #[schema(example = "rt_4f0c...")]
    token: String,
    about: TokenAnswer,
}

/// Makes a token
///
/// Its text is in this answer and nowhere else. A token cannot make another one.
#[utoipa::path(
    post, path = "/tokens", operation_id = "make_token", tag = "people", request_body = Wanted,
    responses((status = 201, description = "The token is made.", body = MadeToken), Conflict)
)]
pub(crate) async fn make_token(
    State(app): State<App>,
    viewer: Viewer,
    Json(wanted): Json<Wanted>,
) -> Result<(StatusCode, Answer), Problem> {
    viewer.need(Right::Search)?;
    // A token that makes another would outlive its own expiry.
    if viewer.is_token() {
        return Err(Problem::conflict("a token cannot make another one: log in"));
    }
    let scope = scope_of(&wanted.trunks, &wanted.numbers)?;
    app.note(&viewer, Action::People, What::from(format!("make the token {}", wanted.name))).await?;
    let person = viewer.name().to_owned();
    let (text, token) = with_people(&app, move |people| {
        let now = time::now();
        let rights: Rights = wanted.rights.iter().copied().collect();
        let expires = now + Nanos::from_secs(wanted.days.get() as u64 * 86_400);
        let new = NewToken { person: &person, name: &wanted.name, rights, scope, expires };
        Ok(people.make_token(&new, now)?)
    })
    .await?;
    Ok((StatusCode::CREATED, Answer::of(MadeToken { token: text.to_string(), about: token.into() })))
}

/// Ends one of one's own tokens
#[utoipa::path(
    delete, path = "/tokens/{name}", operation_id = "end_token", tag = "people",
    params(("name" = String, Path, description = "What it is called.")),
    responses((status = 204, description = "It is ended."), Missing, Conflict)
)]
pub(crate) async fn end_token(
    State(app): State<App>,
    viewer: Viewer,
    Path(token): Path<String>,
) -> Result<StatusCode, Problem> {
    app.note(&viewer, Action::People, What::from(format!("end the token {token}"))).await?;
    let person = viewer.name().to_owned();
    with_people(&app, move |people| Ok(people.revoke_token(&person, &token)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

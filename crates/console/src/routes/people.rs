//! Who may use the console, and tokens of programs.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ringtap_access::{Action, NewPerson, NewToken, People, Refusal, Right, Rights, Role, Scope, What};
use ringtap_model::Nanos;
use ringtap_report::time;
use serde::Deserialize;
use serde_json::json;

use crate::answer::Answer;
use crate::problem::Problem;
use crate::state::App;
use crate::viewer::Viewer;

/// Does something with the people, outside of the threads that serve connections.
async fn with_people<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&People) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Problem> {
    let people = app.clone();
    let done = tokio::task::spawn_blocking(move || work(&people.people)).await;
    match done {
        Ok(Ok(done)) => Ok(done),
        // What is wrong with a request is no failure of the console.
        Ok(Err(Refusal::Failed(error))) => Err(match error {
            ringtap_access::Error::Io { .. } | ringtap_access::Error::Database { .. } => {
                anyhow::Error::from(error).into()
            }
            error => Problem::conflict(error.to_string()),
        }),
        Ok(Err(refusal)) => Err(refusal.into()),
        Err(_) => Err(Problem::unavailable("the people cannot be changed: the log says why")),
    }
}

/// `GET /people`.
pub(crate) async fn list(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Administer)?;
    let people = with_people(&app, |people| Ok(people.list()?)).await?;
    Ok(Answer::of(json!({ "people": people })))
}

/// Somebody to be added.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct New {
    name: String,
    role: String,
    password: String,
    #[serde(default)]
    trunks: Vec<String>,
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

/// `POST /people`. The password that is given here has to be changed at the first login.
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
    Ok((StatusCode::CREATED, Answer::of(json!(person))))
}

/// What changes of a person.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changes {
    role: Option<String>,
    disabled: Option<bool>,
    /// A new first password.
    password: Option<String>,
    trunks: Option<Vec<String>>,
    numbers: Option<Vec<String>>,
}

/// `PATCH /people/NAME`.
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
        Ok(people.find(&name)?)
    })
    .await?;
    Ok(Answer::of(json!(person)))
}

/// `GET /tokens`: one's own.
pub(crate) async fn tokens(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let name = viewer.name().to_owned();
    let tokens = with_people(&app, move |people| Ok(people.tokens(Some(&name))?)).await?;
    Ok(Answer::of(json!({ "tokens": tokens })))
}

/// A token to be made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    name: String,
    rights: Vec<Right>,
    #[serde(default)]
    trunks: Vec<String>,
    #[serde(default)]
    numbers: Vec<String>,
    days: u64,
}

/// `POST /tokens`: its text is in this answer and nowhere else.
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
        let expires = now + Nanos::from_secs(wanted.days.min(10_000) * 86_400);
        let new = NewToken { person: &person, name: &wanted.name, rights, scope, expires };
        Ok(people.make_token(&new, now)?)
    })
    .await?;
    Ok((StatusCode::CREATED, Answer::of(json!({ "token": *text, "about": token }))))
}

/// `DELETE /tokens/NAME`.
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

//! AI assistants that ask over HTTP, under the rights of a token.
//!
//! The transport is MCP's Streamable HTTP (revision 2025-06-18) without sessions: a message is a request, and
//! its answer is JSON. So there is no id of a session that could be guessed, fixed or left open.

use axum::extract::State;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ringtap_access::{Action, Right, What};
use serde_json::Value;

use crate::answer::Answer;
use crate::problem::Problem;
use crate::request::Json;
use crate::sources::AssistedPerson;
use crate::state::App;
use crate::viewer::Viewer;

/// Answers a message of an assistant. It is not in the description of the API: MCP describes it.
pub(crate) async fn answer(
    State(app): State<App>,
    viewer: Result<Viewer, Problem>,
    Json(message): Json<Value>,
) -> Response {
    let viewer = match viewer {
        Ok(viewer) if viewer.is_token() => viewer,
        // A cookie goes wherever a browser goes; a token is given to the assistant on purpose.
        Ok(_) => return unknown(Problem::login().saying("an assistant needs a token of its own")),
        Err(problem) => return unknown(problem),
    };
    answer_to(&app, &viewer, message).await.unwrap_or_else(IntoResponse::into_response)
}

/// Whoever is not known is told how to say who it is (RFC 6750 section 3).
fn unknown(problem: Problem) -> Response {
    let mut response = problem.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

async fn answer_to(app: &App, viewer: &Viewer, message: Value) -> Result<Response, Problem> {
    viewer.need(Right::Search)?;
    let Some(assistants) = app.sources.assistants.clone() else {
        return Err(Problem::not_found("assistants are not answered here"));
    };
    if !message.is_object() {
        return Err(Problem::request("the body is no JSON-RPC message", "send one message: a JSON object"));
    }
    if message["method"] == "tools/call" {
        let tool = message["params"]["name"].as_str().unwrap_or_default();
        // Arguments may have numbers, so they are sealed as numbers are.
        let arguments = message["params"]["arguments"].to_string();
        let what = What::from(format!("assistant: {} ", cut(tool))).number(cut(&arguments));
        let action = if LOOKS.contains(&tool) { Action::View } else { Action::Search };
        app.note(viewer, action, what).await?;
    }
    let person = AssistedPerson {
        scope: viewer.identity.scope.clone(),
        signalling: viewer.has(Right::Signalling),
        tokens: (!viewer.has(Right::Numbers)).then(|| app.tokens.clone()),
        sites: app.sites_of(viewer),
    };
    let _place = app.work.assistant().await?;
    Ok(match assistants.answer(message, person).await {
        Some(answer) => Answer::of(answer).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    })
}

/// What of a text goes into the audit log.
fn cut(text: &str) -> &str {
    match text.char_indices().nth(MOST) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Tools that show one call; the others search.
const LOOKS: [&str; 3] = ["call", "messages", "streams"];
/// Characters.
const MOST: usize = 1_000;

//! JSON as an answer.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;

/// A JSON document.
#[derive(Debug)]
pub(crate) struct Answer(Value);

impl Answer {
    /// A document that is ready.
    pub(crate) fn of(value: impl Serialize) -> Self {
        // What is answered is made of strings, numbers, and lists and maps of them.
        Self(serde_json::to_value(value).unwrap_or_default())
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.0.to_string()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

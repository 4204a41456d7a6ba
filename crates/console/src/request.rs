//! What a request carries, read so that what is wrong with it is answered as every other error is.

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use crate::problem::Problem;

/// The variable part of a path.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(rejection) => Err(Problem::request(
                rejection.body_text(),
                "write other characters than letters, digits, `-`, `.`, `_` and `~` as `%` and two hex \
                 digits of their UTF-8",
            )),
        }
    }
}

/// What follows the `?`.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(Problem::request(
                rejection.body_text(),
                "`/api/v1/openapi.json` lists what may follow the `?`",
            )),
        }
    }
}

/// A body in JSON.
pub(crate) struct Json<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match axum::Json::from_request(request, state).await {
            Ok(axum::Json(value)) => Ok(Self(value)),
            Err(rejection) => Err(refused(&rejection)),
        }
    }
}

fn refused(rejection: &JsonRejection) -> Problem {
    let said = rejection.body_text();
    match rejection.status() {
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Problem::media_type(said),
        StatusCode::PAYLOAD_TOO_LARGE => Problem::too_large(said),
        _ => Problem::request(said, "`/api/v1/openapi.json` says what the body is made of"),
    }
}

/// Bytes in base64url without padding (RFC 4648 section 5), as browsers write those of passkeys.
#[derive(Clone, Debug)]
pub(crate) struct Base64Url(pub(crate) Vec<u8>);

impl<'de> Deserialize<'de> for Base64Url {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = URL_SAFE_NO_PAD.decode(text);
        bytes.map(Self).map_err(|error| D::Error::custom(format!("this is not base64url: {error}")))
    }
}

/// A number from `FROM` to `TO`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounded<const FROM: usize, const TO: usize>(usize);

impl<const FROM: usize, const TO: usize> Bounded<FROM, TO> {
    /// The number.
    pub(crate) fn get(self) -> usize {
        self.0
    }
}

impl<'de, const FROM: usize, const TO: usize> Deserialize<'de> for Bounded<FROM, TO> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = usize::deserialize(deserializer)?;
        match (FROM..=TO).contains(&number) {
            true => Ok(Self(number)),
            false => Err(D::Error::custom(format!("{number} is not from {FROM} to {TO}"))),
        }
    }
}

/// A number that may be left out, as far as 63 bits hold it: the database and many programs have no larger
/// ones, and the description says so.
pub(crate) fn int64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<u64>::deserialize(deserializer)?;
    match number.filter(|number| i64::try_from(*number).is_err()) {
        Some(number) => Err(D::Error::custom(format!("{number} is greater than {}", i64::MAX))),
        None => Ok(number),
    }
}

//! Errors as people and programs get them: RFC 9457.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::sources::Refused;

/// What went wrong, on what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Problem(Box<Details>);

/// An error (RFC 9457): what went wrong, on what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct Details {
    /// A path that names the kind, such as `/problems/query`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The kind in a few words.
    pub title: &'static str,
    /// HTTP status.
    pub status: u16,
    /// What went wrong this time.
    pub detail: String,
    /// What would be right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Of a search: the column of the mistake, in characters from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// Of a search: how many characters are wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
    /// The right that is lacking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<&'static str>,
    /// Of a login: a code of the second factor is wanted; then it is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_wanted: Option<bool>,
    /// Of recording rules: which of them are wrong, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mistakes: Option<Vec<RuleMistake>>,
    /// Of a form, such as a warrant that is entered: which of its fields are wrong, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<FieldMistake>>,
    /// Seconds to wait before another attempt.
    #[serde(skip)]
    pub retry_after: Option<u64>,
}

/// A mistake in a list of recording rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleMistake {
    /// Its index in the list, from 0.
    pub rule: Option<usize>,
    /// The key whose value is wrong.
    pub key: String,
    /// What is wrong with it, and what to do.
    pub problem: String,
}

/// A mistake in a field of a form. It does not repeat what was written there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldMistake {
    /// Its name.
    pub field: String,
    /// Of a list: the index of the entry, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<usize>,
    /// The column of the mistake in it, in characters from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// How many characters are wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl FieldMistake {
    /// Of a field as a whole.
    pub(crate) fn of(field: &str, problem: impl Into<String>) -> Self {
        Self { field: field.to_owned(), entry: None, column: None, length: None, problem: problem.into() }
    }
}

impl Problem {
    fn new(kind: &'static str, title: &'static str, status: StatusCode, detail: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            title,
            status: status.as_u16(),
            detail: detail.into(),
            remedy: None,
            column: None,
            length: None,
            right: None,
            code_wanted: None,
            mistakes: None,
            fields: None,
            retry_after: None,
        }))
    }

    /// The request itself is wrong.
    pub fn request(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        let mut problem =
            Self::new("/problems/request", "The request cannot be read", StatusCode::BAD_REQUEST, detail);
        problem.0.remedy = Some(remedy.into());
        problem
    }

    /// A search that cannot be read; the mistake is at `column` and `length` characters long.
    pub fn query(detail: impl Into<String>, remedy: Option<String>, column: usize, length: usize) -> Self {
        let mut problem =
            Self::new("/problems/query", "The search cannot be read", StatusCode::BAD_REQUEST, detail);
        problem.0.remedy = remedy;
        problem.0.column = Some(column);
        problem.0.length = Some(length);
        problem
    }

    /// The same, with other words about this time.
    #[must_use]
    pub fn saying(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = detail.into();
        self
    }

    /// Nobody is logged in.
    pub fn login() -> Self {
        let mut problem = Self::new(
            "/problems/login",
            "Nobody is logged in",
            StatusCode::UNAUTHORIZED,
            "the request has no session and no token, or an expired one",
        );
        problem.0.remedy = Some("log in, or send `Authorization: Bearer TOKEN`".into());
        problem
    }

    /// Name, password or code are wrong.
    pub fn refused_login(detail: impl Into<String>, code_wanted: bool) -> Self {
        let mut problem =
            Self::new("/problems/password", "The login is refused", StatusCode::UNAUTHORIZED, detail);
        problem.0.code_wanted = code_wanted.then_some(true);
        problem
    }

    /// There is no right to it.
    pub fn forbidden(right: &'static str) -> Self {
        let mut problem = Self::new(
            "/problems/right",
            "A right is lacking",
            StatusCode::FORBIDDEN,
            format!("this needs the right `{right}`, which your role does not have"),
        );
        problem.0.right = Some(right);
        problem.0.remedy = Some("ask an administrator".into());
        problem
    }

    /// A password has to be chosen before anything else.
    pub fn password_first() -> Self {
        let mut problem = Self::new(
            "/problems/password-first",
            "A password has to be chosen first",
            StatusCode::FORBIDDEN,
            "your password was given by somebody else and opens nothing but its own change",
        );
        problem.0.remedy = Some("choose a password of your own".into());
        problem
    }

    /// No officer or auditor is logged in.
    pub fn officer_login() -> Self {
        let mut problem = Self::new(
            "/problems/officer-login",
            "No officer is logged in",
            StatusCode::UNAUTHORIZED,
            "the request has no session of an officer or an auditor, or one that has ended",
        );
        problem.0.remedy = Some("log in with name and passphrase of the register".into());
        problem
    }

    /// Auditors enter nothing.
    pub(crate) fn officers_only(detail: impl Into<String>) -> Self {
        Self::new("/problems/officer", "Only an officer may do this", StatusCode::FORBIDDEN, detail)
    }

    /// A passphrase has to be chosen before anything else.
    pub(crate) fn passphrase_first() -> Self {
        let mut problem = Self::new(
            "/problems/passphrase-first",
            "A passphrase has to be chosen first",
            StatusCode::FORBIDDEN,
            "your passphrase was given by somebody else and opens nothing but its own change",
        );
        problem.0.remedy = Some("choose a passphrase of your own".into());
        problem
    }

    /// The configuration names no register of warrants.
    pub(crate) fn no_register() -> Self {
        let mut problem = Self::new(
            "/problems/no-register",
            "There is no register of warrants",
            StatusCode::NOT_FOUND,
            "this console has no register of warrants",
        );
        problem.0.remedy = Some("`[warrants] register` of the configuration names it".into());
        problem
    }

    /// Fields of a form that are wrong.
    pub(crate) fn fields(mistakes: Vec<FieldMistake>) -> Self {
        let told = mistakes.iter().map(|FieldMistake { field, entry, problem, .. }| match entry {
            Some(entry) => format!("{field}, entry {}: {problem}", entry + 1),
            None => format!("{field}: {problem}"),
        });
        let told = told.collect::<Vec<_>>().join("; ");
        let mut problem = Self::request(told, "nothing is done: correct what is named, and send it again");
        problem.0.fields = Some(mistakes);
        problem
    }

    /// It is counted over all calls, and only some may be seen.
    pub fn scope(what: &str) -> Self {
        Self::new(
            "/problems/scope",
            "Only some calls may be seen",
            StatusCode::FORBIDDEN,
            format!(
                "{what} are counted over all calls, and you may see those of some trunks or numbers only"
            ),
        )
    }

    /// A request that a foreign page may have made.
    pub fn foreign(detail: impl Into<String>) -> Self {
        Self::new("/problems/origin", "The request came from elsewhere", StatusCode::FORBIDDEN, detail)
    }

    /// The daemon refused something, or does not answer.
    pub(crate) fn of_daemon(error: &anyhow::Error) -> Self {
        match error.is::<Refused>() {
            true => Self::conflict(format!("{error:#}")),
            false => Self::unavailable(format!("{error:#}")),
        }
    }

    /// It is not there.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new("/problems/not-found", "It is not there", StatusCode::NOT_FOUND, detail)
    }

    /// It cannot be done in this state, such as listening to a call that was not recorded.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new("/problems/conflict", "It cannot be done", StatusCode::CONFLICT, detail)
    }

    /// Somebody else changed it since it was read.
    pub fn changed_meanwhile(what: &str) -> Self {
        let mut problem = Self::conflict(format!("somebody changed {what} meanwhile: nothing is done"));
        problem.0.remedy = Some("read them again, and make your change from what they are now".into());
        problem
    }

    /// Recording rules that are wrong.
    pub(crate) fn rules(mistakes: Vec<RuleMistake>) -> Self {
        let told = mistakes.iter().map(|RuleMistake { rule, key, problem }| match rule {
            Some(rule) => format!("rule {}: {key}: {problem}", rule + 1),
            None => format!("{key}: {problem}"),
        });
        let told = told.collect::<Vec<_>>().join("; ");
        let mut problem = Self::request(told, "nothing changes: correct what is named, and send all rules");
        problem.0.mistakes = Some(mistakes);
        problem
    }

    /// The path does not take the method.
    pub fn method(detail: impl Into<String>) -> Self {
        Self::new("/problems/method", "The method is not possible", StatusCode::METHOD_NOT_ALLOWED, detail)
    }

    /// The body is in no format that can be read.
    pub fn media_type(detail: impl Into<String>) -> Self {
        let mut problem = Self::new(
            "/problems/media-type",
            "The body is not JSON",
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            detail,
        );
        problem.0.remedy = Some("send JSON, and `Content-Type: application/json` with it".into());
        problem
    }

    /// The body is too long.
    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::new("/problems/too-large", "The body is too long", StatusCode::PAYLOAD_TOO_LARGE, detail)
    }

    /// Too many attempts, or too much at once.
    pub fn busy(detail: impl Into<String>, seconds: u64) -> Self {
        let mut problem =
            Self::new("/problems/busy", "Too much at once", StatusCode::TOO_MANY_REQUESTS, detail);
        problem.0.retry_after = Some(seconds);
        problem
    }

    /// Reading the records took longer than a request may take.
    pub(crate) fn too_long() -> Self {
        let mut problem = Self::busy("reading the records took longer than a request may take", 5);
        problem.0.remedy = Some(
            "ask for a shorter time, or again: figures that were computed are stored; `--search-time` sets \
             the limit"
                .into(),
        );
        problem
    }

    /// The daemon, a disk or a file does not answer.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(
            "/problems/unavailable",
            "Something that is needed does not answer",
            StatusCode::SERVICE_UNAVAILABLE,
            detail,
        )
    }
}

impl std::ops::Deref for Problem {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl From<anyhow::Error> for Problem {
    /// An error of the disk, the database or the spool: logged, since an operator has to know.
    fn from(error: anyhow::Error) -> Self {
        log::warn!(target: "console", "a request failed: {error:#}");
        Self::unavailable(format!("{error:#}"))
    }
}

impl From<ringtap_store::Error> for Problem {
    /// What was stopped because its time was over has nobody to blame; nobody reads the answer where its
    /// connection closed.
    fn from(error: ringtap_store::Error) -> Self {
        if matches!(error, ringtap_store::Error::Interrupted { .. }) {
            return Self::too_long();
        }
        anyhow::Error::from(error).into()
    }
}

impl From<ringtap_spool::Error> for Problem {
    fn from(error: ringtap_spool::Error) -> Self {
        anyhow::Error::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

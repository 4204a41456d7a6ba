//! What was found when it was looked at whether the console can answer.

use serde::Serialize;
use utoipa::ToSchema;

/// Whether the console can answer.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// Every check is right.
    pub(crate) ok: bool,
    /// What was looked at; only for those who are logged in and see all calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) checks: Vec<Check>,
}

/// A check.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Check {
    /// `records`, `daemon`, `disk`, `spool` or `certificate`.
    pub(crate) name: &'static str,
    pub(crate) ok: bool,
    /// What was found.
    pub(crate) detail: String,
}

/// A check of what was found, or of what is wrong.
pub(crate) fn check(name: &'static str, found: Result<String, String>) -> Check {
    let ok = found.is_ok();
    let (Ok(detail) | Err(detail)) = found;
    Check { name, ok, detail }
}

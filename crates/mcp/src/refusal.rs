//! Errors that teach: what is wrong, and what would be right.

use ringtap_search::ParseError;
use serde_json::{Value, json};

/// A request that cannot be answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    problem: String,
    remedy: String,
    /// Of a search: the column of the mistake, from 1, and how many characters it has.
    place: Option<(usize, usize)>,
}

impl Refusal {
    pub(crate) fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { problem: problem.into(), remedy: remedy.into(), place: None }
    }

    /// No call has that id.
    pub(crate) fn no_call(id: &str) -> Self {
        Self::new(
            format!("no call has the id `{id}`"),
            "take the field `id` of an answer of `search_calls` or `problems`: 32 hex digits",
        )
    }

    /// As a document.
    pub(crate) fn json(&self) -> Value {
        let mut value = json!({ "problem": self.problem, "remedy": self.remedy });
        if let Some((column, length)) = self.place {
            value["column"] = column.into();
            value["length"] = length.into();
        }
        value
    }
}

impl From<ParseError> for Refusal {
    fn from(error: ParseError) -> Self {
        let ParseError { column, length, problem, remedy } = error;
        let problem = format!("the search cannot be read at column {column}: {problem}");
        let remedy = format!("{remedy}. The resource ringtap://search explains the language");
        Self { problem, remedy, place: Some((column, length)) }
    }
}

impl From<anyhow::Error> for Refusal {
    /// An error of a disk or a file: logged, since an operator has to know.
    fn from(error: anyhow::Error) -> Self {
        log::warn!(target: "mcp", "a request failed: {error:#}");
        Self::new(format!("{error:#}"), "tell the person who runs ringtap: this is not about the request")
    }
}

impl From<ringtap_store::Error> for Refusal {
    fn from(error: ringtap_store::Error) -> Self {
        anyhow::Error::from(error).into()
    }
}

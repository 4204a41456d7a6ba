//! Turns an answer of the storage into a sentence.

use std::error::Error as _;

use object_store::Error;
use ringtap_spool::FarError;

/// `place` names the bucket and its server.
pub(crate) fn refusal(place: &str, error: &Error) -> FarError {
    let said = said(error);
    let because = |what: String| FarError::Failed(format!("{place}: {what}"));
    let refused = "the credentials are refused";
    let remedy = "correct them, or give them the right to it";
    match (code(&said), error) {
        (Some("NoSuchBucket"), _) => {
            because("there is no such bucket: make it, or correct [retention] tier".into())
        }
        (_, Error::NotFound { .. }) => FarError::NotFound(place.to_owned()),
        (Some(code), Error::PermissionDenied { .. } | Error::Unauthenticated { .. }) => {
            because(format!("{refused} ({code}): {remedy}"))
        }
        (None, Error::PermissionDenied { .. } | Error::Unauthenticated { .. }) => {
            because(format!("{refused}: {remedy}"))
        }
        (Some(code), _) => because(format!("it answers {code}")),
        (None, _) => match status(&said) {
            Some(status) => because(format!("it answers with status {status}")),
            None => {
                because(format!("it cannot be reached: {}: check the network and the endpoint", root(error)))
            }
        },
    }
}

/// The texts of an error and of its causes.
fn said(error: &Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        said.push('\n');
        said.push_str(&inner.to_string());
        cause = inner.source();
    }
    said
}

/// The status of the answer, if there was one.
fn status(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("status code: ")?;
    rest.get(..3).filter(|status| status.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The code in the answer's XML.
fn code(body: &str) -> Option<&str> {
    let (_, rest) = body.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let known = !code.is_empty() && code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    known.then_some(code)
}

/// The innermost cause: `Connection refused`.
fn root(error: &Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(inner) = last.source() {
        last = inner;
    }
    // One line is enough for a log.
    last.to_string().lines().next().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_an_answer() {
        let body =
            "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code><Message>x</Message></Error>";
        assert_eq!(code(body), Some("SignatureDoesNotMatch"));
        for wrong in ["", "<Code>", "<Code></Code>", "<Code>a\nb</Code>"] {
            assert_eq!(code(wrong), None, "{wrong}");
        }
    }
}

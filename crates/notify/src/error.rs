//! Why a notice was not delivered.

/// A notice that was not delivered, or a target that cannot be used. No secret is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct NotifyError {
    /// What went wrong, and on which host: one line.
    pub problem: String,
    /// Whether the same notice may be accepted later.
    pub is_retryable: bool,
}

impl NotifyError {
    /// A fault that may pass.
    pub fn later(problem: impl Into<String>) -> Self {
        Self { problem: one_line(&problem.into()), is_retryable: true }
    }

    /// A refusal that stays.
    pub fn refused(problem: impl Into<String>) -> Self {
        Self { problem: one_line(&problem.into()), is_retryable: false }
    }
}

/// A log line is one line, and not a long one.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(LONGEST).collect()
}

/// Most letters of a problem.
const LONGEST: usize = 300;

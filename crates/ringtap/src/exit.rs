//! Exit statuses, and how errors are reported.

use std::{fmt, io};

use ringtap_export::find::NotFound;

use crate::screen::Screen;

/// The exit status of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Failed.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// Done, but the input was damaged: the results cover what comes before the damage.
    Damaged = 3,
    /// Ended by Ctrl-C: 128 + SIGINT.
    Interrupted = 130,
}

impl Exit {
    /// Reports why a command failed, and returns its status. A closed pipe, as after `head`, is not a
    /// failure.
    pub(crate) fn of_error(error: &anyhow::Error, screen: &mut Screen) -> Self {
        let kind = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
        if kind == Some(io::ErrorKind::BrokenPipe) {
            return Self::Done;
        }
        if error.is::<Interrupted>() {
            screen.remark(error);
            return Self::Interrupted;
        }
        if let Some(not_found) = error.downcast_ref::<NotFound>() {
            // Its lines are candidates.
            screen.explain(&not_found.to_string());
            return Self::Failed;
        }
        if error.is::<Misuse>() {
            // A search that cannot be read has a line that points at the mistake.
            screen.explain(&error.to_string());
            return Self::Usage;
        }
        let remedy = match kind {
            Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                "; free some space or write to another disk"
            }
            Some(io::ErrorKind::PermissionDenied) => "; check the permissions of the file and its directory",
            _ => "",
        };
        screen.remark(format!("{error:#}{remedy}"));
        Self::Failed
    }
}

/// Arguments that are wrong or cannot be combined.
#[derive(Clone, Debug)]
pub(crate) struct Misuse(pub(crate) String);

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

/// The error of a command that Ctrl-C ended before it had a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted before there was a result")
    }
}

impl std::error::Error for Interrupted {}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;
    use crate::screen::tests::captured;

    fn of(kind: io::ErrorKind) -> (Exit, String) {
        let (mut screen, _, err) = captured(80);
        let error = Err::<(), _>(io::Error::from(kind)).context("cannot write the results").unwrap_err();
        (Exit::of_error(&error, &mut screen), err.text())
    }

    #[test]
    fn a_closed_pipe_is_not_a_failure() {
        assert_eq!(of(io::ErrorKind::BrokenPipe), (Exit::Done, String::new()));
    }

    #[test]
    fn a_full_disk_is_reported_with_its_remedy() {
        let (exit, text) = of(io::ErrorKind::StorageFull);
        assert_eq!(exit, Exit::Failed);
        assert!(
            text.starts_with("ringtap: cannot write the results: ") && text.contains("free some space"),
            "{text}"
        );
    }

    #[test]
    fn an_interruption_has_its_own_status() {
        let (mut screen, ..) = captured(80);
        assert_eq!(Exit::of_error(&Interrupted.into(), &mut screen), Exit::Interrupted);
    }
}

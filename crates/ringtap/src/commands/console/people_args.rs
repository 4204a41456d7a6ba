//! The option of commands that use the people of a console.

use std::path::{Path, PathBuf};

use clap::Args;

/// Where people are.
#[derive(Args, Clone, Debug)]
pub(crate) struct PeopleArgs {
    /// Directory of people, keys and the audit log
    #[arg(long, value_name = "DIR", default_value = "/var/lib/ringtap/console")]
    people: PathBuf,
}

impl PeopleArgs {
    /// The directory.
    pub(super) fn directory(&self) -> &Path {
        &self.people
    }
}

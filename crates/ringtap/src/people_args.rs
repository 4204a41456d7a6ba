//! The directory of the console, with its people and its audit log.

use std::path::{Path, PathBuf};

use clap::Args;
use ringtap_access::{Action, Actor, AuditLog, NewEntry, People, Settings, What};
use ringtap_daemon::become_owner_of;
use ringtap_report::time;

use crate::person::person;

/// Where the people are.
#[derive(Args, Clone, Debug)]
pub(crate) struct PeopleArgs {
    /// Directory of the console: its people and its audit log
    #[arg(long = "people", global = true, value_name = "DIR", default_value = USUAL)]
    dir: PathBuf,
}

/// The people and the log that every change of them is recorded in.
pub(crate) struct OpenConsole {
    pub(crate) people: People,
    log: AuditLog,
}

impl PeopleArgs {
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Opens both, or makes them, as the user whom the directory belongs to; if it does not exist, as the one
    /// of the directory above. So the service can use what root makes.
    pub(crate) fn open(&self) -> anyhow::Result<OpenConsole> {
        ringtap_daemon::forbid_dumps();
        self.become_owner()?;
        let people = People::open(&self.dir, Settings::default())?;
        Ok(OpenConsole { people, log: AuditLog::open(&self.dir)? })
    }

    pub(crate) fn become_owner(&self) -> anyhow::Result<()> {
        let there = self.dir.ancestors().find(|dir| dir.exists());
        there.map_or(Ok(()), become_owner_of)
    }
}

impl OpenConsole {
    /// Records a change of the people, then makes it. If it fails, that is recorded too.
    pub(crate) fn change<T, E: std::error::Error + Send + Sync + 'static>(
        &self,
        what: What,
        change: impl FnOnce(&People) -> Result<T, E>,
    ) -> anyhow::Result<T> {
        self.record(Action::People, what.clone())?;
        match change(&self.people) {
            Ok(changed) => Ok(changed),
            Err(error) => {
                self.record(Action::Refused, what.text(format!(": {error}")))?;
                Err(error.into())
            }
        }
    }

    fn record(&self, action: Action, what: What) -> anyhow::Result<()> {
        let entry = NewEntry { time: time::now(), actor: actor(), action, what, reason: None };
        self.log.append(&entry)?;
        Ok(())
    }

    pub(crate) fn log(&self) -> &AuditLog {
        &self.log
    }
}

/// Whoever runs this command: as the environment says, since people of this machine are not those of the
/// console.
pub(crate) fn actor() -> Actor {
    let who = match person(None) {
        name if name.is_empty() => "command line".to_owned(),
        name => format!("{name} (command line)"),
    };
    Actor { who, role: None, from: "terminal".to_owned() }
}

const USUAL: &str = "/var/lib/ringtap/console";

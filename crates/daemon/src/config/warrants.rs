//! `[warrants]`: the register of warrants, for officers and auditors who use it in a browser.

use std::path::{Path, PathBuf};

use super::key::{KeyProblem, section};

section! {
    /// The pages of officers and auditors in `ringtap console serve` (`docs/manual/warrants.md`). `ringtap
    /// run` has no part in it.
    #[name = "warrants"]
    pub(crate) struct WarrantPages {
        /// Directory of the register of warrants, which `ringtap warrant setup` makes and the user of the
        /// console can write. Empty has no such pages.
        #[accepts = "a path, such as \"/var/lib/ringtap/warrants\", or \"\" for none"]
        register: PathBuf = PathBuf::new(),
        /// File with the master key of the register, which the user of the console alone can read. It is read
        /// at the start of the console.
        #[accepts = "a path, such as \"/etc/ringtap/warrant.key\""]
        pub(crate) key: PathBuf = PathBuf::from("/etc/ringtap/warrant.key"),
        /// Shell command that prints the master key, in place of the file. It is run at the start of the
        /// console.
        #[accepts = "a command, such as \"cat $CREDENTIALS_DIRECTORY/warrant.key\", or \"\" for none"]
        pub(crate) key_command: String = String::new(),
    }
}

impl WarrantPages {
    /// The register; None where there are no pages.
    pub(crate) fn register(&self) -> Option<&Path> {
        Some(self.register.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// The file with the master key.
    pub(crate) fn key_file(&self) -> Option<&Path> {
        let is_used = self.register().is_some() && self.key_command.is_empty();
        is_used.then_some(self.key.as_path())
    }

    pub(super) fn check(&self) -> Result<(), KeyProblem> {
        if self.register().is_none() && !self.key_command.is_empty() {
            let problem = "is empty, but `key_command` is set: set it, for example \
                           /var/lib/ringtap/warrants, or remove the command";
            return Err(("warrants", "register", problem.to_owned()));
        }
        if self.key_file().is_some_and(|key| self.register().is_some_and(|dir| key.starts_with(dir))) {
            let problem = "must lie apart from `register`: whoever has both reads everything; move it";
            return Err(("warrants", "key", problem.to_owned()));
        }
        Ok(())
    }
}

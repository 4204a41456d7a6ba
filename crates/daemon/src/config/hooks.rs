//! `[hooks]`: what all hooks have in common.

use std::path::{Path, PathBuf};

use super::key::section;

section! {
    /// Hooks, which `ringtap hooks` runs: see [[hook]] for what they are.
    #[name = "hooks"]
    pub(crate) struct Hooks {
        /// Directory of what waits, which survives a restart, and of sound on its way.
        #[accepts = "a path, such as \"/var/lib/ringtap/hooks\""]
        pub(crate) directory: PathBuf = PathBuf::from("/var/lib/ringtap/hooks"),
        /// The user that commands run as, where `ringtap hooks` was started as root. Empty is that of
        /// `[process] user`.
        #[accepts = "a user's name, such as \"ringtap-hook\""]
        pub(crate) user: String = String::new(),
        /// File of the key with which `mask` replaces numbers by tokens: that of the console, so that a
        /// number is the same token everywhere.
        #[accepts = "a path, such as \"/var/lib/ringtap/console/masking.key\""]
        pub(crate) masking_key: PathBuf = PathBuf::from("/var/lib/ringtap/console/masking.key"),
        /// File of the networks that have names, which `site:` in a query knows: `sites.json` of the console.
        #[accepts = "a path, such as \"/var/lib/ringtap/console/sites.json\""]
        pub(crate) sites: PathBuf = PathBuf::from("/var/lib/ringtap/console/sites.json"),
        /// What deliveries call this machine. Empty is its own name.
        #[accepts = "a text, such as \"sensor-1.example.org\""]
        pub(crate) host: String = String::new(),
    }
}

impl Hooks {
    /// The directory, unless it is none.
    pub(crate) fn directory(&self) -> Option<&Path> {
        (!self.directory.as_os_str().is_empty()).then_some(&*self.directory)
    }
}

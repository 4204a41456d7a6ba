//! `[intercept]`: warrants in force while traffic is captured.

use std::path::{Path, PathBuf};

use ringtap_model::Nanos;

use super::key::{Bounds, KeyProblem, MIB, section};
use super::values::{Size, Span};

section! {
    /// Lawful interception: what the warrants in force are entitled to of the traffic
    /// (`docs/manual/product.md`). Nothing of it is in records, logs, metrics or status.
    #[name = "intercept"]
    pub(crate) struct Intercept {
        /// Directory of the register of warrants, which `ringtap warrant setup` makes. Empty intercepts
        /// nothing.
        #[accepts = "a path, such as \"/var/lib/ringtap/warrants\", or \"\" for none"]
        register: PathBuf = PathBuf::new(),
        /// File with the master key of the register, read at the start: an unattended restart goes on with
        /// the orders in force. Others than its owner must not be able to read it.
        #[accepts = "a path, such as \"/etc/ringtap/warrant.key\""]
        key: PathBuf = PathBuf::from("/etc/ringtap/warrant.key"),
        /// Shell command that prints the master key, in place of the file. It is run at the start.
        #[accepts = "a command, such as \"vault kv get -field=key ringtap/warrants\", or \"\" for none"]
        key_command: String = String::new(),
        /// Directory that product is written into, with mode 0700; a file system of its own, so that product
        /// takes no room from others.
        #[accepts = "a path, such as \"/var/lib/ringtap/product\""]
        product: PathBuf = PathBuf::new(),
        /// File of the mediation functions that product is delivered to as well, as `ringtap warrant product
        /// --deliver` reads it. It is read at the start. Empty writes files alone.
        #[accepts = "a path, such as \"/etc/ringtap/functions.toml\", or \"\" for none"]
        deliver: PathBuf = PathBuf::new(),
        /// Memory for the latest frames, over all workers: packets of a target from the moment at which it is
        /// one are taken from it. It is locked and never dumped. 0 turns it off: what passes in the half
        /// second before a target is known is not in its product.
        #[bounds = Bounds::at_least(MIB).zero("0 remembers no frames")]
        pub(crate) ring: Size = Size(256 << 20),
        /// How long product is written into the same files.
        #[bounds = Bounds::between(60_000_000_000, 86_400_000_000_000 * 7).example("1h")]
        pub(crate) rotate: Span = Span(Nanos::from_secs(3_600)),
        /// Product of one warrant that may wait for its mediation function on each interface, on the disk of
        /// `product`. What finds no room is lost to the function, and reported to it; files have it.
        #[bounds = Bounds::at_least(MIB)]
        pub(crate) buffer: Size = Size(1 << 30),
    }
}

impl Intercept {
    /// The register; None where nothing is intercepted.
    pub(crate) fn register(&self) -> Option<&Path> {
        Some(self.register.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// Where product goes, where anything is intercepted.
    pub(crate) fn product(&self) -> Option<&Path> {
        self.register().map(|_| self.product.as_path())
    }

    /// The file of mediation functions.
    pub(crate) fn functions(&self) -> Option<&Path> {
        let is_used = self.register().is_some() && !self.deliver.as_os_str().is_empty();
        is_used.then_some(self.deliver.as_path())
    }

    /// The file with the master key.
    pub(crate) fn key_file(&self) -> Option<&Path> {
        let is_used = self.register().is_some() && self.key_command.is_empty();
        is_used.then_some(self.key.as_path())
    }

    /// The command that prints it.
    pub(crate) fn key_command(&self) -> Option<&str> {
        Some(self.key_command.as_str()).filter(|command| !command.is_empty())
    }

    pub(super) fn check(&self) -> Result<(), KeyProblem> {
        let wrong = |key, problem: &str| Err(("intercept", key, problem.to_owned()));
        let Some(register) = self.register() else {
            let is_set = !self.product.as_os_str().is_empty() || !self.deliver.as_os_str().is_empty();
            let problem = "is empty, but `product` or `deliver` is set: set it, for example \
                           /var/lib/ringtap/warrants, or remove them";
            return if is_set { wrong("register", problem) } else { Ok(()) };
        };
        if self.product.as_os_str().is_empty() {
            let problem = "is empty, but there is a `register`: set the directory that product is written \
                           into, for example /var/lib/ringtap/product";
            return wrong("product", problem);
        }
        if self.product.starts_with(register) || register.starts_with(&self.product) {
            return wrong("product", "must lie apart from `register`: set another directory");
        }
        Ok(())
    }
}

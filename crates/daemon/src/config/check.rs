//! What the keys of a configuration say of each other.

use ringtap_engine::team::MAX_WORKERS;

use super::key::WrongKey;
use super::values::Speed;
use super::{Capture, Config, Spool};

type Check = Result<(), WrongKey>;

fn wrong(section: &'static str, key: &'static str, problem: impl Into<String>) -> Check {
    Err((section, key, problem.into()))
}

impl Config {
    /// What types alone cannot say: the first key that is wrong, and what would be right.
    pub(super) fn check(&self) -> Check {
        self.capture.check_sources()?;
        self.capture.check_workers(self.workers())?;
        self.check_bounds()?;
        if self.store.outbox == self.store.directory {
            return wrong("store", "outbox", "must be another directory than that of the records");
        }
        if !self.keep.is_empty() && self.spool.directory().is_none() {
            let problem = "is empty, and there are [[keep]] rules: name the directory to record into, for \
                example /var/lib/ringtap/spool";
            return wrong("spool", "directory", problem);
        }
        self.spool.check()?;
        self.retention.check(self.spool.directory())
    }
}

impl Capture {
    fn check_sources(&self) -> Check {
        match (self.interfaces.is_empty(), self.files.is_empty()) {
            (true, true) => {
                let problem = "no interface is named, and no file: name at least one, such as [\"eth0\"]";
                return wrong("capture", "interfaces", problem);
            }
            (false, false) => {
                let problem =
                    "interfaces are captured, or files are replayed, not both: leave one of them out";
                return wrong("capture", "files", problem);
            }
            _ => {}
        }
        for (index, interface) in self.interfaces.iter().enumerate() {
            if self.interfaces[..index].contains(interface) {
                let problem = format!("`{interface}` is named twice: each interface is captured once");
                return wrong("capture", "interfaces", problem);
            }
            // IFNAMSIZ of Linux, with its closing zero.
            if interface.is_empty() || interface.len() > 15 || interface.contains(['/', ' ']) {
                let problem =
                    format!("`{interface}` cannot be an interface: `ip -br link` shows those that there are");
                return wrong("capture", "interfaces", problem);
            }
        }
        Ok(())
    }

    fn check_workers(&self, workers: usize) -> Check {
        if !self.cpus.is_empty() && self.cpus.len() != workers {
            let problem = format!(
                "there are {workers} workers (workers times interfaces) and {} CPUs in the list: name one \
                 for \
                 each, or none",
                self.cpus.len()
            );
            return wrong("capture", "cpus", problem);
        }
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        if let Some(twice) = cpus.windows(2).find(|pair| pair[0] == pair[1]) {
            let problem = format!("CPU {} is named twice: give each worker its own", twice[0]);
            return wrong("capture", "cpus", problem);
        }
        if workers > MAX_WORKERS {
            let problem = format!("{workers} workers (workers times interfaces) are more than {MAX_WORKERS}");
            return wrong("capture", "workers", problem);
        }
        if !self.files.is_empty() && workers > 1 && self.speed == Speed::Max {
            let problem =
                "at \"max\" one worker would run away from the other: leave workers at 1, or name a speed";
            return wrong("capture", "speed", problem);
        }
        Ok(())
    }
}

impl Spool {
    fn check(&self) -> Check {
        for (key, digits) in [("pause_digits", &self.pause_digits), ("resume_digits", &self.resume_digits)] {
            if digits.len() > 16 || !digits.bytes().all(|digit| b"0123456789*#ABCD".contains(&digit)) {
                return wrong("spool", key, "must be at most 16 of 0-9, *, #, A-D, for example *7");
            }
        }
        if self.legs.iter().any(|name| name.is_empty() || name.contains([':', ' '])) {
            let problem = "must be names of header fields, for example [\"Session-ID\", \"X-CID\"]";
            return wrong("spool", "legs", problem);
        }
        if self.has_two_seals() {
            let problem = "the key comes from a file or from a command: leave one of them out";
            return wrong("spool", "seal_command", problem);
        }
        if self.is_signed() && !self.is_sealed() {
            let problem = "needs `seal` or `seal_command` as well: a call that is not sealed can only be \
             forgotten by changing a \
                           segment, which is then no longer what was signed";
            return wrong("spool", "sign", problem);
        }
        Ok(())
    }
}

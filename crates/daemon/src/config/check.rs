//! Checks that concern several keys of a configuration.

use ringtap_engine::team::MAX_WORKERS;

use super::key::KeyProblem;
use super::values::Speed;
use super::{Capture, Config, Spool};

type Check = Result<(), KeyProblem>;

fn wrong(section: &'static str, key: &'static str, problem: impl Into<String>) -> Check {
    Err((section, key, problem.into()))
}

impl Config {
    /// Checks what types cannot: the wrong keys, and how to correct them.
    pub(super) fn check(&self) -> Vec<KeyProblem> {
        let together = [
            self.capture.check_sources(),
            self.capture.check_workers(self.workers()),
            self.check_directories(),
            self.kpi.check(),
            self.alarms.check(),
            self.metrics.check(),
            self.spool.check(),
            self.retention.check(self.spool.directory()),
            self.radius.check(self.store.sessions_retained().0),
            self.availability.check(),
            self.check_country(),
            self.intercept.check(),
            self.warrants.check(),
        ];
        let mut wrong = self.check_bounds();
        wrong.extend(together.into_iter().filter_map(Result::err));
        wrong
    }

    fn check_country(&self) -> Check {
        let checked = self.retention.country.check(self.store.retain, self.store.sessions_retained());
        checked.map_err(|(key, problem)| ("store", key, problem))
    }

    fn check_directories(&self) -> Check {
        if self.store.outbox == self.store.directory {
            return wrong("store", "outbox", "must not be the directory of the records: set another one");
        }
        if !self.keep.is_empty() && self.spool.directory().is_none() {
            let problem = "is empty, but there are [[keep]] rules: set the directory to record into, \
                           for example /var/lib/ringtap/spool";
            return wrong("spool", "directory", problem);
        }
        if self.spool.rules_file().is_some() && self.spool.directory().is_none() {
            let problem = "needs `directory`: set the directory to record into, for example \
                           /var/lib/ringtap/spool, or remove this key";
            return wrong("spool", "rules", problem);
        }
        Ok(())
    }
}

impl Capture {
    fn check_sources(&self) -> Check {
        match (self.interfaces.is_empty(), self.files.is_empty()) {
            (true, true) => {
                let problem = "no interface and no file is set: set at least one, such as [\"eth0\"]";
                return wrong("capture", "interfaces", problem);
            }
            (false, false) => {
                let problem = "cannot be combined with `interfaces`: set one of the two";
                return wrong("capture", "files", problem);
            }
            _ => {}
        }
        for (index, interface) in self.interfaces.iter().enumerate() {
            if self.interfaces[..index].contains(interface) {
                let problem = format!("`{interface}` is listed twice: remove one");
                return wrong("capture", "interfaces", problem);
            }
            // IFNAMSIZ of Linux, with its closing zero.
            if interface.is_empty() || interface.len() > 15 || interface.contains(['/', ' ']) {
                let problem =
                    format!("`{interface}` cannot be an interface: `ip -br link` lists the interfaces");
                return wrong("capture", "interfaces", problem);
            }
        }
        Ok(())
    }

    fn check_workers(&self, workers: usize) -> Check {
        if !self.cpus.is_empty() && self.cpus.len() != workers {
            let problem = format!(
                "there are {workers} workers (workers times interfaces) and {} CPUs in the list: name \
                 one for each, or none",
                self.cpus.len()
            );
            return wrong("capture", "cpus", problem);
        }
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        if let Some(twice) = cpus.windows(2).find(|pair| pair[0] == pair[1]) {
            let problem = format!("CPU {} is listed twice: give each worker its own", twice[0]);
            return wrong("capture", "cpus", problem);
        }
        if workers > MAX_WORKERS {
            let problem = format!(
                "{workers} workers (workers times interfaces) are more than {MAX_WORKERS}, the most allowed"
            );
            return wrong("capture", "workers", problem);
        }
        if !self.files.is_empty() && workers > 1 && self.speed == Speed::Max {
            let problem =
                "\"max\" needs one worker, since several would drift apart: set workers to 1, or a speed";
            return wrong("capture", "speed", problem);
        }
        Ok(())
    }
}

impl Spool {
    fn check(&self) -> Check {
        for (key, digits) in [("pause_digits", &self.pause_digits), ("resume_digits", &self.resume_digits)] {
            if digits.len() > 16 || !digits.bytes().all(|digit| b"0123456789*#ABCD".contains(&digit)) {
                return wrong(
                    "spool",
                    key,
                    "must be at most 16 of the digits 0-9, *, #, A-D, for example *7",
                );
            }
        }
        if self.legs.iter().any(|name| name.is_empty() || name.contains([':', ' '])) {
            let problem = "must be names of header fields, for example [\"Session-ID\", \"X-CID\"]";
            return wrong("spool", "legs", problem);
        }
        if self.has_two_seals() {
            let problem = "cannot be combined with `seal`: set one of the two";
            return wrong("spool", "seal_command", problem);
        }
        if self.is_signed() && !self.is_sealed() {
            let problem = "needs `seal` or `seal_command` as well: to forget a call that is not \
                           sealed, its segment is changed, which breaks the \
                           signature";
            return wrong("spool", "sign", problem);
        }
        Ok(())
    }
}

//! Sessions of officers and auditors: in memory alone, so that none outlives the process.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ringtap_warrant::Session;
use sha2::{Digest, Sha256};

/// Who is logged in.
#[derive(Default)]
pub(crate) struct Sessions {
    /// By the hash of the secret: a copy of this memory logs nobody in.
    all: HashMap<[u8; 32], Entry>,
}

struct Entry {
    known: Known,
    began: Instant,
    used: Instant,
}

/// Somebody who is logged in.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) session: Session,
    /// The passphrase that was given, as the register counts them.
    pub(crate) passphrase: u64,
}

impl Sessions {
    /// Begins the session that a secret opens. Who has too many loses the one that was not used for longest.
    pub(crate) fn begin(&mut self, secret: &str, known: Known, now: Instant) {
        self.forget_old(now);
        let own = |entry: &Entry| entry.known.session.name() == known.session.name();
        if self.all.values().filter(|entry| own(entry)).count() >= MOST_OF_ONE {
            self.forget_one(own);
        }
        if self.all.len() >= MOST {
            self.forget_one(|_| true);
        }
        self.all.insert(hash(secret), Entry { known, began: now, used: now });
    }

    /// Whose session a secret opens. `uses`: the person does something, and is idle no longer.
    pub(crate) fn find(&mut self, secret: &str, uses: bool, now: Instant) -> Option<Known> {
        self.forget_old(now);
        let entry = self.all.get_mut(&hash(secret))?;
        if uses {
            entry.used = now;
        }
        Some(entry.known.clone())
    }

    /// Ends the session of a secret.
    pub(crate) fn end(&mut self, secret: &str) {
        self.all.remove(&hash(secret));
    }

    /// Ends all sessions of somebody.
    pub(crate) fn end_all_of(&mut self, name: &str) {
        self.all.retain(|_, entry| entry.known.session.name() != name);
    }

    fn forget_old(&mut self, now: Instant) {
        let is_over = |entry: &Entry| {
            now.duration_since(entry.used) >= IDLE || now.duration_since(entry.began) >= LONGEST
        };
        self.all.retain(|_, entry| !is_over(entry));
    }

    fn forget_one(&mut self, of: impl Fn(&Entry) -> bool) {
        let oldest = self.all.iter().filter(|(_, entry)| of(entry)).min_by_key(|(_, entry)| entry.used);
        if let Some(oldest) = oldest.map(|(hash, _)| *hash) {
            self.all.remove(&oldest);
        }
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// A session ends after so long without use.
pub(crate) const IDLE: Duration = Duration::from_secs(10 * 60);
/// And after so long at latest.
const LONGEST: Duration = Duration::from_secs(8 * 3_600);
/// Sessions of one person.
const MOST_OF_ONE: usize = 4;
/// Sessions of all.
const MOST: usize = 256;

#[cfg(test)]
mod tests {
    use ringtap_warrant::{Register, RegisterKey};

    use super::*;

    /// Somebody of a register that there is.
    fn ana() -> Known {
        let dir = tempfile::tempdir().unwrap();
        let key = RegisterKey::make(&dir.path().join("key")).unwrap();
        let now = ringtap_report::time::now();
        let passphrase = "correct horse battery";
        let mut register =
            Register::create(&dir.path().join("register"), &key, "ana", passphrase, now).unwrap();
        Known { session: register.identify("ana", passphrase, now).unwrap(), passphrase: 0 }
    }

    #[test]
    fn a_session_ends_without_use_and_after_its_longest_time() {
        let (mut sessions, start, known) = (Sessions::default(), Instant::now(), ana());
        let second = Duration::from_secs(1);
        sessions.begin("one", known.clone(), start);
        assert!(sessions.find("other", true, start).is_none());
        assert!(sessions.find("one", true, start + IDLE - second).is_some());
        // To ask whether it stands is no use of it.
        assert!(sessions.find("one", false, start + IDLE + IDLE - 2 * second).is_some());
        assert!(sessions.find("one", true, start + IDLE + IDLE - second).is_none());
        assert!(sessions.all.is_empty(), "nothing of it is left");
        sessions.begin("two", known, start);
        let mut now = start;
        while now + second < start + LONGEST {
            assert!(sessions.find("two", true, now).is_some());
            now += IDLE - second;
        }
        assert!(sessions.find("two", true, start + LONGEST - second).is_some());
        assert!(sessions.find("two", true, start + LONGEST).is_none());
    }

    #[test]
    fn a_person_has_some_sessions_and_the_one_that_was_not_used_for_longest_ends() {
        let (mut sessions, start, known) = (Sessions::default(), Instant::now(), ana());
        let at = |seconds| start + Duration::from_secs(seconds);
        for number in 0..MOST_OF_ONE as u64 {
            sessions.begin(&number.to_string(), known.clone(), at(number));
        }
        assert!(sessions.find("0", true, at(10)).is_some());
        sessions.begin("more", known, at(11));
        assert_eq!(sessions.all.len(), MOST_OF_ONE);
        assert!(sessions.find("1", true, at(12)).is_none() && sessions.find("0", true, at(12)).is_some());
        sessions.end("0");
        assert!(sessions.find("0", true, at(13)).is_none() && sessions.find("more", true, at(13)).is_some());
        sessions.end_all_of("ana");
        assert!(sessions.all.is_empty());
    }
}

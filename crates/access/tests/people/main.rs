//! People: named attacks on logging in, on sessions and on tokens.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::net::IpAddr;

use ringtap_access::{
    Action, Attempt, AuditLog, AuditQuery, LoggedIn, NewPerson, PasswordCost, People, Refusal, Role, Scope,
    Settings,
};
use ringtap_model::Nanos;

mod accounts;
mod codes;
mod login;
mod passkeys;
mod provider;
mod searches;
mod sessions;
mod tokens;

const NOW: Nanos = Nanos::from_secs(1_795_255_200);
const PASSWORD: &str = "correct horse battery staple";
const HOME: &str = "192.0.2.7";
const ELSEWHERE: &str = "203.0.113.66";

/// Cheap to hash: what is tried here is not the hash.
fn settings() -> Settings {
    let password = PasswordCost { memory: 64, passes: 1, ..PasswordCost::default() };
    Settings { password, ..Settings::default() }
}

struct Console {
    people: People,
    log: AuditLog,
    dir: tempfile::TempDir,
}

fn console_with(settings: Settings) -> Console {
    let dir = tempfile::tempdir().unwrap();
    let people = People::open(dir.path(), settings).unwrap();
    let log = AuditLog::open(dir.path()).unwrap();
    let console = Console { people, log, dir };
    console.add("root", Role::Administrator, Scope::everything());
    console.add("ana", Role::Engineer, Scope::everything());
    console
}

fn console() -> Console {
    console_with(settings())
}

fn seconds(seconds: u64) -> Nanos {
    NOW + Nanos::from_secs(seconds)
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn attempt<'a>(name: &'a str, password: &'a str, from: &str) -> Attempt<'a> {
    Attempt { name, password, code: None, from: address(from), agent: "Firefox" }
}

impl Console {
    fn add(&self, name: &str, role: Role, scope: Scope) {
        let new = NewPerson { name, role, scope, password: PASSWORD, must_change: false };
        self.people.add(&new, NOW).unwrap();
    }

    fn try_in(&self, attempt: &Attempt<'_>, now: Nanos) -> Result<LoggedIn, Refusal> {
        self.people.log_in(attempt, &self.log, now)
    }

    fn log_in(&self, name: &str, now: Nanos) -> LoggedIn {
        self.try_in(&attempt(name, PASSWORD, HOME), now).unwrap()
    }

    fn audited(&self) -> Vec<(String, Action, String)> {
        let query = AuditQuery { numbers: true, ..AuditQuery::default() };
        let entries = self.log.reader().read(&query).unwrap().entries;
        entries.into_iter().map(|entry| (entry.actor.who, entry.action, entry.what.to_string())).collect()
    }
}

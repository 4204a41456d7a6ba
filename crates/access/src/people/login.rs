//! Logs people in.

use std::net::IpAddr;

use ringtap_model::Nanos;
use rusqlite::params;
use zeroize::Zeroizing;

use crate::audit::{Action, Actor, AuditLog, NewEntry, What};
use crate::error::{Error, Refusal};
use crate::people::lockout::{Begun, Subject, network};
use crate::people::password::check_strength;
use crate::people::person::{Identity, json, micros, role, to_json};
use crate::people::recovery;
use crate::people::store::People;
use crate::people::totp::{self, Secret};
use crate::role::Role;

/// Somebody tries to log in.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The name.
    pub name: &'a str,
    /// The password.
    pub password: &'a str,
    /// The code of the authenticator app, or a recovery code, if it was asked for.
    pub code: Option<&'a str>,
    /// From which address: that of the browser, not that of a proxy before the console.
    pub from: IpAddr,
    /// The browser, as it says itself.
    pub agent: &'a str,
}

/// Somebody has logged in.
#[derive(Clone, Debug)]
pub struct LoggedIn {
    /// The id of the new session. It is stored nowhere else.
    pub session: Zeroizing<String>,
    /// Who it lets in.
    pub identity: Identity,
    /// When it ends in any case.
    pub expires: Nanos,
}

/// Where a session begins.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) from: IpAddr,
    pub(super) agent: &'a str,
    /// An identity provider vouches for the person.
    pub(super) by_provider: bool,
}

impl<'a> Place<'a> {
    pub(super) fn here(from: IpAddr, agent: &'a str) -> Self {
        Self { from, agent, by_provider: false }
    }
}

/// What is known of the name.
pub(super) struct Account {
    pub(super) name: String,
    pub(super) role: Role,
    password: String,
    pub(super) disabled: bool,
    familiar: Vec<IpAddr>,
    totp: Option<Secret>,
    totp_step: u64,
}

/// An attempt in which everything is right.
struct Checked {
    account: Account,
    begun: Begun,
    /// A recovery code was used up.
    is_recovered: bool,
}

impl People {
    /// Logs somebody in, under a new session id. Records it, or that it failed, before it returns. Takes as
    /// long for a name that nobody has. Blocks while the password is hashed.
    ///
    /// # Errors
    ///
    /// Something is wrong, too many attempts failed before, or it cannot be recorded.
    pub fn log_in(&self, attempt: &Attempt<'_>, log: &AuditLog, now: Nanos) -> Result<LoggedIn, Refusal> {
        let Checked { account, begun, is_recovered } = self.checked_here(attempt, log, now)?;
        let actor = actor(&account, attempt.from);
        let what = if is_recovered { What::from("with a recovery code") } else { What::default() };
        let entry = NewEntry { time: now, actor, action: Action::Login, what, reason: None };
        log.append(&entry)?;
        // At another cost than the present one. If nobody can hash now, the next login does it.
        let is_outdated = self.hasher.is_outdated(&account.password);
        let renewed = is_outdated.then(|| self.hasher.hash(attempt.password).ok()).flatten();
        let place = Place::here(attempt.from, attempt.agent);
        let logged_in = self.begin(&account, place, renewed.as_deref(), false, now)?;
        self.lockout.succeed(&begun);
        Ok(logged_in)
    }

    /// Has somebody choose another password, who gives the present one: everything as in
    /// [`log_in`](Self::log_in). All sessions of the person end, and a new one begins.
    ///
    /// # Errors
    ///
    /// As there, or the new password is weak or the present one.
    pub fn change_password(
        &self,
        attempt: &Attempt<'_>,
        new: &str,
        log: &AuditLog,
        now: Nanos,
    ) -> Result<LoggedIn, Refusal> {
        check_strength(attempt.name, new)?;
        if new == attempt.password {
            return Err(Error::Password("it is the present one").into());
        }
        let Checked { account, begun, .. } = self.checked_here(attempt, log, now)?;
        let (actor, what) = (actor(&account, attempt.from), What::from("own password"));
        log.append(&NewEntry { time: now, actor, action: Action::People, what, reason: None })?;
        let hash = self.hasher.hash(new).inspect_err(|_| self.lockout.take_back(&begun))?;
        let place = Place::here(attempt.from, attempt.agent);
        let logged_in = self.begin(&account, place, Some(&hash), true, now)?;
        self.lockout.succeed(&begun);
        Ok(logged_in)
    }

    /// Has somebody who is logged in give name, password and code again, before what only that person may
    /// do. Records it if something is wrong. No session begins or ends. Blocks while the password is hashed.
    ///
    /// # Errors
    ///
    /// As [`log_in`](Self::log_in).
    pub fn prove(&self, attempt: &Attempt<'_>, log: &AuditLog, now: Nanos) -> Result<(), Refusal> {
        let Checked { begun, .. } = self.checked(attempt, log, now)?;
        self.lockout.succeed(&begun);
        Ok(())
    }

    /// The same of somebody who may log in by a password.
    fn checked_here(&self, attempt: &Attempt<'_>, log: &AuditLog, now: Nanos) -> Result<Checked, Refusal> {
        let checked = self.checked(attempt, log, now)?;
        if self.settings.local_logins.allows(checked.account.role) {
            return Ok(checked);
        }
        // Nothing was guessed.
        self.lockout.take_back(&checked.begun);
        Err(recorded(attempt, Some(&checked.account), log, Refusal::ByProvider, now))
    }

    /// The account, if name, password and code are right.
    fn checked(&self, attempt: &Attempt<'_>, log: &AuditLog, now: Nanos) -> Result<Checked, Refusal> {
        let account = self.account(attempt.name)?;
        let home = network(attempt.from);
        let is_familiar = account.as_ref().is_some_and(|account| account.familiar.contains(&home));
        let name = attempt.name.chars().take(LONGEST_NAME).collect::<String>().to_ascii_lowercase();
        let subject = Subject { name, familiar: is_familiar.then_some(home) };
        let begun = self.lockout.begin(subject, account.is_some(), attempt.from, now);
        let begun = begun.map_err(Refusal::Wait)?;
        let hash = account.as_ref().map(|account| account.password.as_str());
        let is_right = match self.hasher.check(hash, attempt.password) {
            Ok(is_right) => is_right,
            Err(refusal) => {
                self.lockout.take_back(&begun);
                return Err(refusal);
            }
        };
        let account = match account {
            Some(account) if is_right => account,
            other => return Err(recorded(attempt, other.as_ref(), log, Refusal::Wrong, now)),
        };
        if account.disabled {
            return Err(recorded(attempt, Some(&account), log, Refusal::Disabled, now));
        }
        let mut is_recovered = false;
        match (&account.totp, attempt.code) {
            (None, _) => {}
            (Some(_), None) => {
                self.lockout.take_back(&begun);
                return Err(Refusal::CodeNeeded);
            }
            (Some(secret), Some(code)) => {
                let step = totp::accepted(secret, code, account.totp_step, now);
                is_recovered = step.is_none() && self.is_recovery_code(&account, code);
                if !is_recovered && !step.is_some_and(|step| self.is_first_use(&account, step)) {
                    return Err(recorded(attempt, Some(&account), log, Refusal::Wrong, now));
                }
            }
        }
        Ok(Checked { account, begun, is_recovered })
    }

    pub(super) fn account(&self, name: &str) -> Result<Option<Account>, Error> {
        let sql = "SELECT name, role, password, disabled, familiar, totp, totp_step FROM people \
                   WHERE name = ?1";
        self.database.row(sql, [name.to_ascii_lowercase()], |row| {
            Ok(Account {
                name: row.get(0)?,
                role: role(row, 1)?,
                password: row.get(2)?,
                disabled: row.get(3)?,
                familiar: json(row, 4)?,
                totp: row.get::<_, Option<[u8; 20]>>(5)?.map(Secret::new),
                totp_step: row.get(6)?,
            })
        })
    }

    /// Whether nobody else has used the code of that step, in whichever process.
    fn is_first_use(&self, account: &Account, step: u64) -> bool {
        let used = self.database.change("changed", |transaction| {
            let sql = "UPDATE people SET totp_step = ?2 WHERE name = ?1 AND totp_step < ?2";
            Ok(transaction.execute(sql, params![account.name, step])?)
        });
        used.is_ok_and(|changed| changed == 1)
    }

    /// Whether it was a recovery code of the person, which it is no longer.
    fn is_recovery_code(&self, account: &Account, code: &str) -> bool {
        let Some(hash) = recovery::hash(code) else { return false };
        let used = self.database.change("changed", |transaction| {
            let sql = "DELETE FROM recovery_codes WHERE person = ?1 AND hash = ?2";
            Ok(transaction.execute(sql, params![account.name, hash])?)
        });
        used.is_ok_and(|deleted| deleted == 1)
    }

    /// Begins a session, with another hash of the password if there is one. The password that the account
    /// had must still be the person's.
    pub(super) fn begin(
        &self,
        account: &Account,
        place: Place<'_>,
        hash: Option<&str>,
        is_changed: bool,
        now: Nanos,
    ) -> Result<LoggedIn, Refusal> {
        let home = network(place.from);
        let mut familiar: Vec<IpAddr> = account.familiar.clone();
        familiar.retain(|address| *address != home);
        familiar.push(home);
        let familiar = &familiar[familiar.len().saturating_sub(FAMILIAR)..];
        let begun = self.database.change("changed", |transaction| {
            let changed = transaction.execute(
                "UPDATE people SET last_login = ?3, familiar = ?4, password = ifnull(?5, password), \
                 must_change = must_change AND NOT ?6 \
                 WHERE name = ?1 AND password = ?2 AND NOT disabled",
                params![account.name, account.password, micros(now), to_json(&familiar), hash, is_changed],
            )?;
            if changed == 0 {
                return Ok(None);
            }
            if is_changed {
                transaction.execute("DELETE FROM sessions WHERE person = ?1", [&account.name])?;
            }
            self.begin_session(transaction, &account.name, place, now).map(Some)
        })?;
        let (session, _) = begun.ok_or(Refusal::Wrong)?;
        let identity = self.session(&session, now)?;
        Ok(LoggedIn { session, identity, expires: now + self.settings.session_life })
    }
}

pub(super) fn actor(account: &Account, from: IpAddr) -> Actor {
    Actor { who: account.name.clone(), role: Some(account.role), from: from.to_canonical().to_string() }
}

/// Records that somebody was refused. A name that nobody has may be a password in the wrong field, so it is
/// sealed.
fn recorded(
    attempt: &Attempt<'_>,
    account: Option<&Account>,
    log: &AuditLog,
    refusal: Refusal,
    now: Nanos,
) -> Refusal {
    let (actor, what) = match account {
        Some(account) => (actor(account, attempt.from), What::from(refusal.to_string())),
        None => {
            let from = attempt.from.to_canonical().to_string();
            let actor = Actor { who: String::new(), role: None, from };
            (actor, What::from("nobody is called ").number(attempt.name))
        }
    };
    let entry = NewEntry { time: now, actor, action: Action::LoginFailed, what, reason: None };
    match log.append(&entry) {
        Ok(_) => refusal,
        Err(error) => error.into(),
    }
}

/// Addresses of a person that are remembered.
const FAMILIAR: usize = 8;
/// Longer names are nobody's.
const LONGEST_NAME: usize = 64;

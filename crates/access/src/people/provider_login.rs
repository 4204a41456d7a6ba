//! Logs people in for whom an identity provider vouches.
//!
//! How the provider says so, and whether it is believed, is not known here (`ringtap-oidc`). What is known
//! here is whom it knows as whom: the first login of a person notes the provider's id of it, which no other
//! person ever gets, while a name may be given to somebody else.

use std::net::IpAddr;

use ringtap_model::Nanos;
use rusqlite::{OptionalExtension, Transaction, params};

use crate::audit::{Action, Actor, AuditLog, NewEntry, What};
use crate::error::{Error, Refusal};
use crate::people::database::Failure;
use crate::people::lockout::{Begun, Subject, network};
use crate::people::login::{Account, LoggedIn, Place, actor};
use crate::people::password;
use crate::people::person::{NewPerson, name, to_json};
use crate::people::store::People;
use crate::role::Role;
use crate::scope::Scope;

/// Somebody for whom an identity provider vouches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouched {
    /// The provider, by its URL.
    pub issuer: String,
    /// Whom the provider knows the person as, for ever.
    pub subject: String,
    /// The name that the person has at the provider at present.
    pub name: String,
    /// What the provider says the person may do; none where it says nothing of it.
    pub role: Option<Role>,
    /// With which calls; none where the provider says nothing of it.
    pub scope: Option<Scope>,
    /// Whether somebody who is not known here is added, if there is a role.
    pub may_be_added: bool,
}

/// An answer of a provider that is being looked at.
pub struct ProviderAttempt {
    begun: Begun,
    from: IpAddr,
    agent: String,
}

impl std::fmt::Debug for ProviderAttempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderAttempt").field("from", &self.from).finish_non_exhaustive()
    }
}

impl People {
    /// Somebody comes back from the provider, by that browser (`agent`). It counts as a failed attempt from
    /// that address until it turns out that the provider did vouch for somebody.
    ///
    /// # Errors
    ///
    /// Too many answers from that address were not believed before.
    pub fn begin_provider_login(
        &self,
        from: IpAddr,
        agent: &str,
        now: Nanos,
    ) -> Result<ProviderAttempt, Refusal> {
        // No person has a name with a space.
        let subject = Subject { name: format!("provider {}", network(from)), familiar: None };
        let begun = self.lockout.begin(subject, false, from, now).map_err(Refusal::Wait)?;
        Ok(ProviderAttempt { begun, from, agent: agent.to_owned() })
    }

    /// Records that an answer of the provider lets nobody in, and why. `counts` if whoever came with it may
    /// have made it up; it does not where the provider is at fault.
    ///
    /// # Errors
    ///
    /// It cannot be recorded.
    pub fn refuse_provider_login(
        &self,
        attempt: &ProviderAttempt,
        why: What,
        counts: bool,
        log: &AuditLog,
        now: Nanos,
    ) -> Result<(), Error> {
        if !counts {
            self.lockout.take_back(&attempt.begun);
        }
        let from = attempt.from.to_canonical().to_string();
        let actor = Actor { who: String::new(), role: None, from };
        record(log, actor, Action::LoginFailed, why, now)
    }

    /// Logs in whom the provider vouches for, with the role and the scope that it says. Records it, or that
    /// it failed and why, before it returns.
    ///
    /// # Errors
    ///
    /// The person is not known here, or is somebody else here, or is disabled; it would leave the console
    /// without an administrator; or it cannot be recorded.
    pub fn log_in_by_provider(
        &self,
        attempt: &ProviderAttempt,
        vouched: &Vouched,
        log: &AuditLog,
        now: Nanos,
    ) -> Result<LoggedIn, Refusal> {
        let ProviderAttempt { begun, from, agent } = attempt;
        let place = Place { from: *from, agent, by_provider: true };
        // The provider did vouch for somebody: nothing was guessed.
        self.lockout.succeed(begun);
        let known = match self.known(vouched)? {
            Ok(known) => known,
            Err(why) => {
                let what = What::from(format!("by {}: {why}: ", vouched.issuer)).number(&vouched.name);
                let from = place.from.to_canonical().to_string();
                record(log, Actor { who: String::new(), role: None, from }, Action::LoginFailed, what, now)?;
                return Err(Refusal::NotPermitted);
            }
        };
        if let Some(account) = known.as_ref().filter(|account| account.disabled) {
            let what = What::from(Refusal::Disabled.to_string());
            record(log, actor(account, place.from), Action::LoginFailed, what, now)?;
            return Err(Refusal::Disabled);
        }
        let (person, role) = match &known {
            Some(account) => (account.name.clone(), vouched.role.unwrap_or(account.role)),
            None => (name(&vouched.name)?, vouched.role.unwrap_or(Role::Viewer)),
        };
        let from = place.from.to_canonical().to_string();
        let who = Actor { who: person.clone(), role: Some(role), from };
        if known.is_none() {
            let what = What::from(format!("added as {role}, by {}", vouched.issuer));
            record(log, who.clone(), Action::People, what, now)?;
            self.add_vouched(&person, role, vouched, now)?;
        }
        let before = known.map(|account| account.role).filter(|before| *before != role);
        let before = before.map(|before| format!(", which changes the role from {before}"));
        let what = What::from(format!("by {}{}", vouched.issuer, before.unwrap_or_default()));
        record(log, who.clone(), Action::Login, what, now)?;
        if let Err(error) = self.take_over(&person, vouched) {
            record(log, who, Action::LoginFailed, What::from(error.to_string()), now)?;
            return Err(error);
        }
        let account = self.account(&person)?.ok_or(Error::Nobody { name: person })?;
        self.begin(&account, place, None, false, now)
    }

    /// Whose account it is; none if the person is to be added; an error is why nobody is let in.
    fn known(&self, vouched: &Vouched) -> Result<Result<Option<Account>, &'static str>, Error> {
        let Vouched { issuer, subject, role, .. } = vouched;
        let sql = "SELECT person FROM provider_subjects WHERE issuer = ?1 AND subject = ?2";
        let bound = self.database.row(sql, [issuer, subject], |row| row.get::<_, String>(0))?;
        if let Some(person) = bound {
            return Ok(Ok(self.account(&person)?));
        }
        let Ok(wanted) = name(&vouched.name) else {
            return Ok(Err("the name that the provider gives cannot be one here"));
        };
        let Some(account) = self.account(&wanted)? else {
            return Ok(match (vouched.may_be_added, role) {
                (true, Some(_)) => Ok(None),
                _ => Err("nobody has this name here"),
            });
        };
        let sql = "SELECT 1 FROM provider_subjects WHERE issuer = ?1 AND person = ?2";
        let is_of_another = self.database.row(sql, [issuer, &wanted], |_| Ok(()))?.is_some();
        Ok(if is_of_another {
            Err("who has this name here is somebody else at the provider")
        } else if account.role == Role::Administrator && *role != Some(Role::Administrator) {
            // Whoever can choose a name at the provider would otherwise become one.
            Err("who has this name here is an administrator, and the provider does not say so")
        } else {
            Ok(Some(account))
        })
    }

    /// Adds somebody, with a password that nobody knows.
    fn add_vouched(&self, person: &str, role: Role, vouched: &Vouched, now: Nanos) -> Result<(), Refusal> {
        let password = password::generate()?;
        let scope = vouched.scope.clone().unwrap_or_default();
        let new = NewPerson { name: person, role, scope, password: &password, must_change: false };
        self.add(&new, now).map(drop)
    }

    /// Notes whom the provider knows the person as, and takes over what it says of role and scope. A first
    /// password that was never changed is worth nothing from now on.
    fn take_over(&self, person: &str, vouched: &Vouched) -> Result<(), Refusal> {
        let must_change = self.find(person)?.is_some_and(|person| person.must_change);
        let unknown = must_change.then(|| self.hasher.hash(&password::generate()?)).transpose()?;
        self.change_person(person, |transaction, person| {
            bind(transaction, person, vouched)?;
            let (role, scope) = (vouched.role.map(Role::name), vouched.scope.as_ref().map(to_json));
            Ok(transaction.execute(
                "UPDATE people SET role = ifnull(?2, role), scope = ifnull(?3, scope), \
                 password = ifnull(?4, password), must_change = must_change AND ?4 IS NULL WHERE name = ?1",
                params![person, role, scope, unknown],
            )?)
        })?;
        Ok(())
    }
}

/// In one transaction with what was asked before, so that of two that come at once only one gets the name.
fn bind(transaction: &Transaction<'_>, person: &str, vouched: &Vouched) -> Result<(), Failure> {
    let Vouched { issuer, subject, .. } = vouched;
    transaction.execute(
        "INSERT OR IGNORE INTO provider_subjects (issuer, subject, person) VALUES (?1, ?2, ?3)",
        [issuer, subject, person],
    )?;
    let sql = "SELECT 1 FROM provider_subjects WHERE issuer = ?1 AND subject = ?2 AND person = ?3";
    let bound = transaction.query_row(sql, [issuer, subject, person], |_| Ok(())).optional()?;
    bound.ok_or_else(|| Error::Exists { name: person.to_owned() }.into())
}

fn record(log: &AuditLog, actor: Actor, action: Action, what: What, now: Nanos) -> Result<(), Error> {
    log.append(&NewEntry { time: now, actor, action, what, reason: None }).map(drop)
}

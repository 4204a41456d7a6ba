//! Logs people in by a passkey.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ringtap_model::Nanos;
use rusqlite::params;

use crate::audit::{Action, Actor, AuditLog, NewEntry, What};
use crate::error::{Error, Refusal};
use crate::people::lockout::{Subject, network};
use crate::people::login::{Account, LoggedIn, Place, actor};
use crate::people::person::micros;
use crate::people::store::People;
use crate::webauthn::{self, AuthenticatorData, CredentialKey, Doubt, Purpose, Site};

/// Somebody tries to log in by a passkey.
#[derive(Clone, Copy, Debug)]
pub struct PasskeyAttempt<'a> {
    /// The id of the credential.
    pub credential: &'a [u8],
    /// What the browser says it was asked: JSON, as it came.
    pub client_data: &'a [u8],
    /// What the authenticator says.
    pub authenticator_data: &'a [u8],
    /// Its signature of both.
    pub signature: &'a [u8],
    /// Whom the authenticator stands for.
    pub handle: &'a [u8],
    /// From which address: that of the browser, not that of a proxy before the console.
    pub from: IpAddr,
    /// The browser, as it says itself.
    pub agent: &'a str,
}

/// A passkey, as far as it logs somebody in.
struct Stored {
    number: i64,
    name: String,
    site: String,
    key: Vec<u8>,
    handle: Vec<u8>,
}

/// Somebody is not let in: who that would have been, and why not.
struct Rejected {
    account: Option<Account>,
    why: Doubt,
}

impl From<Doubt> for Rejected {
    fn from(why: Doubt) -> Self {
        Self { account: None, why }
    }
}

impl People {
    /// A challenge for somebody who is about to log in by a passkey, in base64url. Nothing is stored for it.
    ///
    /// # Errors
    ///
    /// The operating system gives no random bytes.
    pub fn begin_passkey_login(&self, now: Nanos) -> Result<String, Error> {
        Ok(URL_SAFE_NO_PAD.encode(self.challenges.make(Purpose::LogIn, now)?))
    }

    /// Logs somebody in by a passkey, without password and code: the authenticator makes sure who it is.
    /// Records it, or that it failed, before it returns.
    ///
    /// # Errors
    ///
    /// Something is wrong, too many attempts from that address failed before, or it cannot be recorded.
    pub fn log_in_by_passkey(
        &self,
        attempt: &PasskeyAttempt<'_>,
        site: Site<'_>,
        log: &AuditLog,
        now: Nanos,
    ) -> Result<LoggedIn, Refusal> {
        // A signature is not guessed; who tries it nevertheless is slowed down by address. No person has a
        // name with a space.
        let subject = Subject { name: format!("passkey {}", network(attempt.from)), familiar: None };
        let begun = self.lockout.begin(subject, false, attempt.from, now).map_err(Refusal::Wait)?;
        let record = |actor, action, what| {
            log.append(&NewEntry { time: now, actor, action, what, reason: None }).map(drop)
        };
        let checked = self.check_passkey(attempt, site, now);
        if matches!(&checked, Err(Failed::Error(_))) {
            self.lockout.take_back(&begun);
        }
        let (account, stored) = match checked {
            Ok(checked) => checked,
            Err(Failed::Error(error)) => return Err(error.into()),
            Err(Failed::Rejected(Rejected { account, why })) => {
                let from = attempt.from.to_canonical().to_string();
                let nobody = || Actor { who: String::new(), role: None, from };
                let actor = account.map_or_else(nobody, |account| actor(&account, attempt.from));
                record(actor, Action::LoginFailed, What::from(format!("by a passkey: {why}")))?;
                return Err(Refusal::Passkey);
            }
        };
        let who = actor(&account, attempt.from);
        let is_local = self.settings.local_logins.allows(account.role);
        let refused = if account.disabled { Some(Refusal::Disabled) } else { None };
        if let Some(refusal) = refused.or((!is_local).then_some(Refusal::ByProvider)) {
            record(who, Action::LoginFailed, What::from(refusal.to_string()))?;
            return Err(refusal);
        }
        record(who, Action::Login, What::from(format!("by the passkey {}", stored.name)))?;
        let place = Place::here(attempt.from, attempt.agent);
        let logged_in = self.begin(&account, place, None, false, now)?;
        self.lockout.succeed(&begun);
        Ok(logged_in)
    }

    /// Whose passkey it is, and which, if everything is right. The challenge is used up, and the counter
    /// goes on.
    fn check_passkey(
        &self,
        attempt: &PasskeyAttempt<'_>,
        site: Site<'_>,
        now: Nanos,
    ) -> Result<(Account, Stored), Failed> {
        let PasskeyAttempt { credential, client_data, authenticator_data, signature, handle, .. } = *attempt;
        let reject = |why: Doubt| Failed::Rejected(why.into());
        let data = AuthenticatorData::parse(authenticator_data);
        let data = data.ok_or_else(|| reject("what the authenticator says cannot be read"))?;
        let purpose = Purpose::LogIn;
        let challenge = webauthn::answered(site, purpose, client_data, &data).map_err(reject)?;
        if !self.challenges.is_of(&challenge, purpose, now) {
            return Err(reject("it was asked for too long ago, or not here"));
        }
        let (account, stored) =
            self.passkey_of(credential)?.ok_or_else(|| reject("nobody has this passkey"))?;
        let problem = if stored.site != site.name {
            Some("it was made for another name of the console")
        } else if stored.handle != handle {
            Some("it stands for somebody else")
        } else if !is_signed(&stored.key, &webauthn::signed(authenticator_data, client_data), signature) {
            Some("the signature is wrong")
        } else if !self.challenges.use_up(&challenge, now) {
            Some("the same answer came before")
        } else if !self.count_passkey(&stored, &data, now)? {
            Some("its counter went back: there may be a copy of the authenticator")
        } else {
            None
        };
        match problem {
            Some(why) => Err(Failed::Rejected(Rejected { account: Some(account), why })),
            None => Ok((account, stored)),
        }
    }

    fn passkey_of(&self, credential: &[u8]) -> Result<Option<(Account, Stored)>, Error> {
        let sql = "SELECT number, name, site, key, handle, person \
                   FROM passkeys JOIN passkey_handles USING (person) WHERE credential = ?1";
        let found = self.database.row(sql, [credential], |row| {
            let stored = Stored {
                number: row.get(0)?,
                name: row.get(1)?,
                site: row.get(2)?,
                key: row.get(3)?,
                handle: row.get(4)?,
            };
            Ok((stored, row.get::<_, String>(5)?))
        })?;
        let Some((stored, person)) = found else { return Ok(None) };
        Ok(self.account(&person)?.map(|account| (account, stored)))
    }

    /// Notes the use. False if the authenticator counts, and its counter is not above that of the last use
    /// (section 6.1.1), in whichever process that was.
    fn count_passkey(
        &self,
        stored: &Stored,
        data: &AuthenticatorData<'_>,
        now: Nanos,
    ) -> Result<bool, Error> {
        let counted = self.database.change("changed", |transaction| {
            let sql = "UPDATE passkeys SET counter = ?2, synchronised = ?3, used = ?4 \
                       WHERE number = ?1 AND (counter < ?2 OR counter = 0 AND ?2 = 0)";
            Ok(transaction
                .execute(sql, params![stored.number, data.counter, data.is_backed_up, micros(now)])?)
        })?;
        Ok(counted == 1)
    }
}

/// Why a passkey lets nobody in.
enum Failed {
    Rejected(Rejected),
    Error(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

fn is_signed(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    CredentialKey::parse(key).is_some_and(|(key, _)| key.has_signed(message, signature))
}

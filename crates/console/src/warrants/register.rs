//! The register of the configuration, and what is done with it, one act at a time.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ringtap_model::Nanos;
use ringtap_report::time;
use ringtap_warrant::{Error, Refused, Register, SecretText, Session, Standing, Verified};
use tokio::sync::{OwnedMutexGuard, Semaphore};

use super::problems::{problem_of, unusable};
use super::sessions::{Known, Sessions};
use super::waits::AddressWaits;
use crate::problem::Problem;
use crate::sources::Warrants;

/// The register, and who is logged in to it.
pub(crate) struct WarrantPages {
    source: Option<Warrants>,
    /// None before it is first used, and after it could not be used: it is opened again.
    register: Arc<tokio::sync::Mutex<Option<Register>>>,
    sessions: Mutex<Sessions>,
    waits: Mutex<AddressWaits>,
    /// Those who use the register, or wait for it.
    places: Semaphore,
    /// Verifications read the whole register.
    verifications: Semaphore,
}

/// The register, for one act of somebody at a time.
pub(crate) struct Acting<'a> {
    pub(crate) register: &'a mut Register,
    pub(crate) session: &'a Session,
    pub(crate) standing: Standing,
    pub(crate) clock: Nanos,
    pub(crate) source: &'a Warrants,
}

impl WarrantPages {
    pub(crate) fn new(source: Option<Warrants>) -> Self {
        Self {
            source,
            register: Arc::default(),
            sessions: Mutex::default(),
            waits: Mutex::default(),
            places: Semaphore::new(PLACES),
            verifications: Semaphore::new(1),
        }
    }

    /// Refuses everything where the configuration names no register.
    pub(crate) fn source(&self) -> Result<&Warrants, Problem> {
        self.source.as_ref().ok_or_else(Problem::no_register)
    }

    /// Lets somebody in: the secret of the session, who that is, and what the person may do.
    pub(crate) async fn log_in(
        &self,
        name: String,
        passphrase: SecretText,
        from: IpAddr,
    ) -> Result<(String, Session, Standing), Problem> {
        let source = self.source()?.clone();
        let waits = lock(&self.waits).begin(from, Instant::now());
        waits.map_err(|wait| Problem::busy(WAIT, wait.as_secs().max(1)))?;
        let identify = move |register: &mut Register, _: &Warrants| {
            let session = register.identify(&name, &passphrase, time::now())?;
            let standing = register.standing(&session)?;
            Ok((session, standing))
        };
        let known = self.in_register(source, identify).await?;
        // Who is not let in is not told how it is about the register.
        let (session, standing) = known.map_err(|error| match error {
            Error::Wrong | Error::Wait(_) => problem_of(&error),
            _ => unusable(),
        })?;
        lock(&self.waits).succeed(from);
        let secret = self.begin(&session, standing)?;
        Ok((secret, session, standing))
    }

    /// Gives somebody another passphrase, who gives the present one again: other sessions of the person end.
    /// The secret of the one that goes on.
    pub(crate) async fn change_passphrase(
        &self,
        known: &Known,
        present: SecretText,
        new: SecretText,
    ) -> Result<(String, Standing), Problem> {
        let session = known.session.clone();
        let changed = self.act(known, move |acting| {
            let Acting { register, session, clock, .. } = acting;
            register.identify(session.name(), &present, clock)?;
            register.change_passphrase(session, &new, clock)?;
            register.standing(session)
        });
        let standing = changed.await?;
        lock(&self.sessions).end_all_of(session.name());
        Ok((self.begin(&session, standing)?, standing))
    }

    fn begin(&self, session: &Session, standing: Standing) -> Result<String, Problem> {
        let mut bytes = [0; 32];
        let random = getrandom::fill(&mut bytes);
        random.map_err(|error| Problem::unavailable(format!("the system gives no random bytes: {error}")))?;
        let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let known = Known { session: session.clone(), passphrase: standing.passphrase };
        lock(&self.sessions).begin(&secret, known, Instant::now());
        Ok(secret)
    }

    /// Whose session a secret opens. `uses`: the person does something, and is idle no longer.
    pub(crate) fn find(&self, secret: &str, uses: bool) -> Result<Known, Problem> {
        self.source()?;
        lock(&self.sessions).find(secret, uses, Instant::now()).ok_or_else(Problem::officer_login)
    }

    /// Ends the session of a secret.
    pub(crate) fn end(&self, secret: &str) {
        lock(&self.sessions).end(secret);
    }

    /// Does something with the register as somebody who is logged in. Whose passphrase is another one since,
    /// or who was disabled, is logged in no longer.
    pub(crate) async fn act<T: Send + 'static>(
        &self,
        known: &Known,
        work: impl FnOnce(Acting<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Problem> {
        let source = self.source()?.clone();
        let Known { session, passphrase } = known.clone();
        let done = self.in_register(source, move |register, source| {
            let standing = register.standing(&session)?;
            if standing.passphrase != passphrase {
                return Err(Refused::Nobody.into());
            }
            work(Acting { register, session: &session, standing, clock: time::now(), source })
        });
        match done.await? {
            Err(Error::Refused(Refused::Nobody)) if !self.is_still(known).await => {
                lock(&self.sessions).end_all_of(known.session.name());
                Err(Problem::officer_login())
            }
            done => done.map_err(|error| problem_of(&error)),
        }
    }

    /// Whether somebody is still let in, by the passphrase that was given.
    async fn is_still(&self, known: &Known) -> bool {
        let Ok(source) = self.source() else { return false };
        let session = known.session.clone();
        let standing = self.in_register(source.clone(), move |register, _| register.standing(&session)).await;
        standing.is_ok_and(|now| now.is_ok_and(|now| now.passphrase == known.passphrase))
    }

    /// Runs what blocks outside of the threads that serve connections. What began goes on when its connection
    /// closes: an act is done whole.
    async fn in_register<T: Send + 'static>(
        &self,
        source: Warrants,
        work: impl FnOnce(&mut Register, &Warrants) -> Result<T, Error> + Send + 'static,
    ) -> Result<Result<T, Error>, Problem> {
        let _place = self.places.try_acquire().map_err(|_| Problem::busy(BUSY, 5))?;
        let register = Arc::clone(&self.register).lock_owned().await;
        let done = tokio::task::spawn_blocking(move || in_open(register, &source, work)).await;
        done.map_err(|_| unusable())
    }

    /// Proves the register; one at a time. The register is not held meanwhile.
    pub(crate) async fn verify(
        &self,
        work: impl FnOnce(&Warrants) -> Result<Verified, Error> + Send + 'static,
    ) -> Result<Verified, Problem> {
        let source = self.source()?.clone();
        let _place = self.verifications.try_acquire().map_err(|_| Problem::busy(VERIFYING, 10))?;
        let done = tokio::task::spawn_blocking(move || work(&source)).await;
        done.map_err(|_| unusable())?.map_err(|error| problem_of(&error))
    }
}

fn in_open<T>(
    mut register: OwnedMutexGuard<Option<Register>>,
    source: &Warrants,
    work: impl FnOnce(&mut Register, &Warrants) -> Result<T, Error>,
) -> Result<T, Error> {
    let open = match &mut *register {
        Some(open) => open,
        none => none.insert(Register::open(&source.register, &source.key)?),
    };
    let done = work(open, source);
    if let Err(Error::Io { .. } | Error::Log { .. } | Error::Failed) = &done {
        *register = None;
    }
    done
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Those who use the register, or wait for it: a passphrase takes some 50 ms.
const PLACES: usize = 64;
const WAIT: &str = "too many passphrases from this address were wrong";
const BUSY: &str = "too many use the register at once";
const VERIFYING: &str = "the register is being verified for somebody else";

//! What officers, auditors and the service do with a register.

use std::ops::Range;
use std::path::Path;

use ringtap_model::Nanos;

use super::acts::{self, ActQuery, ActView};
use super::ledger::Ledger;
use super::list::{ListQuery, WarrantPage};
use super::passphrase::{self, check_passphrase};
use super::session::Session;
use crate::error::{Error, Refused};
use crate::liid::Liid;
use crate::log::key::{ProductSigner, PublicKey, RegisterKey};
use crate::order::Order;
use crate::secret_text::SecretText;
use crate::state::{
    By, Extension, Look, NewWarrant, Person, PersonChange, PersonEntry, ProducedFile, Role, State, Status,
    StopProof, Warrant, What,
};

/// A register of warrants: a directory, mode 0700. Several processes may have it open at once.
///
/// Each method that does or shows something records an act first, which is on the disk when the method
/// returns; if it cannot be recorded, nothing was done. `clock` is the system's time; what counts is the
/// later of it and of the latest time at which the register has ever acted.
///
/// The service needs six methods: [`open`](Self::open), [`active`](Self::active), [`term`](Self::term),
/// [`has_changed`](Self::has_changed), [`begun`](Self::begun) and [`stopped`](Self::stopped).
pub struct Register {
    pub(super) ledger: Ledger,
    /// When the next order begins or ends, as of the last look of the service.
    next_change: Nanos,
}

/// Somebody of a register, or a change that waits for another officer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonView {
    /// The name.
    pub name: String,
    /// What the person may do; none for a change that disables somebody.
    pub role: Option<Role>,
    /// `active`, `disabled`, `has to choose a passphrase`, or what waits to be confirmed.
    pub state: &'static str,
    /// The number by which a change is confirmed, and who has proposed it.
    pub proposal: Option<(u64, String)>,
}

/// What somebody who was let in may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The role.
    pub role: Role,
    /// The passphrase was given by somebody else: nothing is done before another one is chosen.
    pub must_change: bool,
    /// Tells a passphrase from the ones before: another number, another passphrase.
    pub passphrase: u64,
}

impl Register {
    /// Makes a register with its first officer.
    ///
    /// # Errors
    ///
    /// There is one, the passphrase would be guessed, or the files cannot be written.
    pub fn create(
        dir: &Path,
        key: &RegisterKey,
        officer: &str,
        passphrase: &str,
        clock: Nanos,
    ) -> Result<Self, Error> {
        check_passphrase(officer, passphrase)?;
        let entry =
            PersonEntry { name: officer.into(), role: Role::Officer, hash: passphrase::hash(passphrase)? };
        // Before any file is made.
        State::default().people.set_up(&entry)?;
        let mut register = Self { ledger: Ledger::create(dir, key)?, next_change: Nanos::ZERO };
        register.ledger.locked(|ledger| ledger.record(By::Service, What::SetUp(entry), clock))?;
        Ok(register)
    }

    /// Opens a register and reads its acts.
    ///
    /// # Errors
    ///
    /// It cannot be read, the key is another one, or the acts are not as they were written.
    pub fn open(dir: &Path, key: &RegisterKey) -> Result<Self, Error> {
        Ok(Self { ledger: Ledger::open(dir, key)?, next_change: Nanos::ZERO })
    }

    /// The key that verifies its signatures.
    pub fn public_key(&self) -> PublicKey {
        self.ledger.keys.public()
    }

    /// What signs product with the same key.
    pub fn product_signer(&self) -> ProductSigner {
        ProductSigner::new(&self.ledger.keys)
    }

    // What the service does.

    /// The orders in force, in the order of their identifiers. Those whose end has passed are ended: that is
    /// an act, which says how late it was noticed. The time is remembered, so that a clock that is set back
    /// later extends nothing.
    ///
    /// # Errors
    ///
    /// The register cannot be read or written. The orders that were given out before hold until their ends,
    /// and none begins.
    pub fn active(&mut self, clock: Nanos) -> Result<Vec<Order>, Error> {
        let (orders, next_change) = self.ledger.locked(|ledger| {
            ledger.record_troubles(clock)?;
            end_due(ledger, clock)?;
            let time = ledger.time(clock);
            ledger.remember(time)?;
            Ok((ledger.state.orders(time), ledger.state.next_change(time)))
        })?;
        self.next_change = next_change;
        Ok(orders)
    }

    /// Since when and until when the newest approved warrant of that identifier may be acted on: not before
    /// its approval, and not after an officer has ended it. As of the last look of the service.
    pub fn term(&self, liid: &Liid) -> Option<Range<Nanos>> {
        let of = |warrant: &&Warrant| warrant.entered.liid == *liid;
        let warrant = self.ledger.state.warrants.values().rev().filter(of);
        let warrant =
            warrant.filter(|warrant| warrant.approved_at.is_some()).max_by_key(|warrant| warrant.id)?;
        let begins = warrant.approved_at?.max(warrant.entered.begins);
        let withdrawn = warrant.withdrawn.as_ref().map_or(Nanos::MAX, |(_, at, _)| *at);
        Some(begins..warrant.entered.ends.min(withdrawn))
    }

    /// Whether [`active`](Self::active) may give other orders than it did: an act was recorded since, by
    /// whichever process, or an order has begun or ended. It asks for the size of a file, no more; ask every
    /// second.
    pub fn has_changed(&self, clock: Nanos) -> bool {
        self.ledger.has_grown() || self.ledger.time(clock) >= self.next_change
    }

    /// The service has begun to intercept by an order.
    ///
    /// # Errors
    ///
    /// No order with that identifier is in force, or it cannot be recorded.
    pub fn begun(&mut self, liid: &Liid, clock: Nanos) -> Result<(), Error> {
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            let time = ledger.time(clock);
            let of =
                |warrant: &&Warrant| warrant.entered.liid == *liid && warrant.status(time) == Status::Active;
            let id = ledger.state.warrants.values().find(of).map(|warrant| warrant.id);
            let id = id.ok_or(Refused::NotInForce)?;
            ledger.record(By::Service, What::Begun { id }, clock).map(drop)
        })
    }

    /// The service has stopped: the proof is recorded with the newest warrant of that identifier that had
    /// begun.
    ///
    /// # Errors
    ///
    /// None with that identifier had begun, or it cannot be recorded.
    pub fn stopped(&mut self, liid: &Liid, proof: StopProof, clock: Nanos) -> Result<(), Error> {
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            let of = |warrant: &&Warrant| warrant.entered.liid == *liid && warrant.begun.is_some();
            let newest = ledger.state.warrants.values().rev().find(of).ok_or(Refused::NotInForce)?;
            // What was replaced stops when the one in its place has begun.
            let replaced = newest.task.as_ref().and_then(|task| task.replaces);
            let replaced = replaced.filter(|_| newest.status(ledger.time(clock)) == Status::Active);
            let replaced = replaced.and_then(|id| ledger.state.warrants.get(&id)).filter(of);
            let stopped = replaced.filter(|old| old.stopped.is_empty()).unwrap_or(newest);
            let id = stopped.id;
            ledger.record(By::Service, What::Stopped { id, proof }, clock).map(drop)
        })
    }

    // What people do.

    /// Lets somebody in. A wrong passphrase is an act; after three, each attempt has to wait.
    ///
    /// # Errors
    ///
    /// Name or passphrase is wrong, or too many were.
    pub fn identify(&mut self, name: &str, passphrase: &str, clock: Nanos) -> Result<Session, Error> {
        // The lock is held while the passphrase is hashed: guesses of several processes come one by one.
        self.ledger.locked(|ledger| {
            let name = SecretText::from(name);
            if let Some(left) = ledger.state.people.failures(&name).wait(clock) {
                return Err(Error::Wait(left));
            }
            let person = ledger.state.people.all.get(&name).filter(|person| !person.disabled);
            if passphrase::is_right(person.map(|person| &*person.hash), passphrase)? {
                return Ok(Session { name });
            }
            let told = SecretText::from(name.get(..name.floor_char_boundary(64)).unwrap_or_default());
            ledger.record(By::Service, What::PassphraseWrong(told), clock)?;
            Err(Error::Wrong)
        })
    }

    /// What somebody who was let in may do now. It shows nothing of the register, and is no act.
    ///
    /// # Errors
    ///
    /// The person is disabled, or the register cannot be read.
    pub fn standing(&mut self, session: &Session) -> Result<Standing, Error> {
        self.ledger.locked(|ledger| {
            let person = ledger.state.people.all.get(&session.name).filter(|person| !person.disabled);
            let person = person.ok_or(Refused::Nobody)?;
            let Person { role, must_change, chosen_by, .. } = person;
            Ok(Standing { role: *role, must_change: *must_change, passphrase: *chosen_by })
        })
    }

    /// Gives oneself another passphrase.
    ///
    /// # Errors
    ///
    /// It would be guessed, or is the same.
    pub fn change_passphrase(
        &mut self,
        session: &Session,
        passphrase: &str,
        clock: Nanos,
    ) -> Result<(), Error> {
        check_passphrase(&session.name, passphrase)?;
        let known = self.ledger.state.people.all.get(&session.name);
        if passphrase::is_right(known.map(|person| &*person.hash), passphrase)? {
            return Err(Refused::Passphrase("it is the one that you have").into());
        }
        self.act(session, What::PassphraseChanged(passphrase::hash(passphrase)?), clock).map(drop)
    }

    /// Proposes to add somebody, with a first passphrase. Returns the number by which another officer
    /// confirms it; the only officer adds the second one without that, and gets none.
    ///
    /// # Errors
    ///
    /// The name was used before, the passphrase would be guessed, or the session is no officer's.
    pub fn propose_person(
        &mut self,
        session: &Session,
        name: &str,
        role: Role,
        passphrase: &str,
        clock: Nanos,
    ) -> Result<Option<u64>, Error> {
        check_passphrase(name, passphrase)?;
        let entry = PersonEntry { name: name.into(), role, hash: passphrase::hash(passphrase)? };
        self.propose(session, PersonChange::Add(entry), clock)
    }

    /// Proposes that somebody may do nothing any more.
    ///
    /// # Errors
    ///
    /// There is nobody of that name, fewer than two officers would remain, or the session is no officer's.
    pub fn propose_to_disable(
        &mut self,
        session: &Session,
        name: &str,
        clock: Nanos,
    ) -> Result<Option<u64>, Error> {
        self.propose(session, PersonChange::Disable(name.into()), clock)
    }

    fn propose(
        &mut self,
        session: &Session,
        change: PersonChange,
        clock: Nanos,
    ) -> Result<Option<u64>, Error> {
        let number = self.act(session, What::PersonProposed(change), clock)?;
        Ok(Some(number).filter(|number| self.ledger.state.people.proposals.contains_key(number)))
    }

    /// Confirms a change of the people, as another officer than the one who proposed it or whom it is about.
    ///
    /// # Errors
    ///
    /// There is no such proposal, or it is of the same person.
    pub fn confirm_person(&mut self, session: &Session, proposal: u64, clock: Nanos) -> Result<(), Error> {
        self.act(session, What::PersonConfirmed(proposal), clock).map(drop)
    }

    /// Everybody, and the changes that wait.
    ///
    /// # Errors
    ///
    /// It cannot be recorded.
    pub fn people(&mut self, session: &Session, why: &str, clock: Nanos) -> Result<Vec<PersonView>, Error> {
        self.look(session, Look::People, why, clock)?;
        let people = &self.ledger.state.people;
        let present = people.all.iter().map(|(name, person)| PersonView {
            name: name.to_string(),
            role: Some(person.role),
            state: match (person.disabled, person.must_change) {
                (true, _) => "disabled",
                (false, true) => "has to choose a passphrase",
                (false, false) => "active",
            },
            proposal: None,
        });
        let waiting = people.proposals.iter().map(|(number, (by, change))| PersonView {
            name: change.name().to_owned(),
            role: match change {
                PersonChange::Add(entry) => Some(entry.role),
                PersonChange::Disable(_) => None,
            },
            state: if matches!(change, PersonChange::Add(_)) { "to be added" } else { "to be disabled" },
            proposal: Some((*number, by.to_string())),
        });
        Ok(present.chain(waiting).collect())
    }

    /// Enters a warrant: a draft until another officer approves it. Returns its number.
    ///
    /// # Errors
    ///
    /// It is not complete, its identifier is in use, or the session is no officer's.
    pub fn enter(&mut self, session: &Session, warrant: NewWarrant, clock: Nanos) -> Result<u32, Error> {
        let warrant = Box::new(warrant.normalised());
        let by = By::Person(session.name.clone());
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            let id = ledger.state.next_id();
            ledger.record(by, What::Entered { id, warrant }, clock)?;
            Ok(id)
        })
    }

    /// Approves a draft, or the extension that waits. `hash` is that of the record as [`show`](Self::show)
    /// gave it to the same person.
    ///
    /// # Errors
    ///
    /// The person has entered it or has not seen it as it is now, or nothing waits.
    pub fn approve(&mut self, session: &Session, id: u32, hash: &str, clock: Nanos) -> Result<(), Error> {
        let by = By::Person(session.name.clone());
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            let warrant = ledger.state.warrants.get(&id).ok_or(Refused::NoWarrant)?;
            let hash = hash.to_owned();
            let what = match warrant.approved_at {
                None => What::Approved { id, hash },
                Some(_) => What::ExtensionApproved { id, hash },
            };
            ledger.record(by, what, clock).map(drop)
        })
    }

    /// Enters an extension, which another officer has to approve before the warrant ends.
    ///
    /// # Errors
    ///
    /// The warrant is not approved or has ended, or the new end is not later.
    pub fn extend(
        &mut self,
        session: &Session,
        id: u32,
        extension: Extension,
        clock: Nanos,
    ) -> Result<(), Error> {
        let ends = Nanos::from_micros(extension.ends.micros());
        let extension = Extension { ends, ..extension };
        self.act(session, What::ExtensionEntered { id, extension }, clock).map(drop)
    }

    /// Ends a warrant at once.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub fn withdraw(&mut self, session: &Session, id: u32, reason: &str, clock: Nanos) -> Result<(), Error> {
        self.act(session, What::Withdrawn { id, reason: reason.into() }, clock).map(drop)
    }

    /// Adds a note to a warrant.
    ///
    /// # Errors
    ///
    /// There is no such warrant.
    pub fn note(&mut self, session: &Session, id: u32, text: &str, clock: Nanos) -> Result<(), Error> {
        self.act(session, What::Noted { id, text: text.into() }, clock).map(drop)
    }

    /// A warrant, whole; and the time by which its status counts.
    ///
    /// # Errors
    ///
    /// There is no such warrant, or no reason is given.
    pub fn show(
        &mut self,
        session: &Session,
        id: u32,
        why: &str,
        clock: Nanos,
    ) -> Result<(Warrant, Nanos), Error> {
        self.look(session, Look::Show(id), why, clock)?;
        let warrant = self.ledger.state.warrants.get(&id).cloned().ok_or(Refused::NoWarrant)?;
        Ok((warrant, self.ledger.latest))
    }

    /// All warrants, and the time by which their status counts.
    ///
    /// # Errors
    ///
    /// No reason is given.
    pub fn list(
        &mut self,
        session: &Session,
        why: &str,
        clock: Nanos,
    ) -> Result<(Vec<Warrant>, Nanos), Error> {
        self.look(session, Look::List, why, clock)?;
        Ok((self.ledger.state.warrants.values().cloned().collect(), self.ledger.latest))
    }

    /// Some of the warrants, the newest first.
    ///
    /// # Errors
    ///
    /// No reason is given.
    pub fn list_page(
        &mut self,
        session: &Session,
        query: &ListQuery,
        why: &str,
        clock: Nanos,
    ) -> Result<WarrantPage, Error> {
        self.look(session, Look::List, why, clock)?;
        Ok(query.page(&self.ledger.state, self.ledger.latest))
    }

    /// The acts that a query selects, oldest first.
    ///
    /// # Errors
    ///
    /// No reason is given.
    pub fn acts(
        &mut self,
        session: &Session,
        query: &ActQuery,
        why: &str,
        clock: Nanos,
    ) -> Result<Vec<ActView>, Error> {
        self.look(session, Look::Acts, why, clock)?;
        acts::read(&self.ledger.path_of_acts(), &self.ledger.keys, query)
    }

    /// Records that captures are read for the product of the warrant in force with that identifier, by an
    /// officer: before they are. Returns its number.
    ///
    /// # Errors
    ///
    /// No warrant with that identifier is in force, no reason is given, or the session is no officer's.
    pub fn captures_read(
        &mut self,
        session: &Session,
        liid: &Liid,
        why: &str,
        clock: Nanos,
    ) -> Result<u32, Error> {
        let by = By::Person(session.name.clone());
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            let time = ledger.time(clock);
            let of =
                |warrant: &&Warrant| warrant.entered.liid == *liid && warrant.status(time) == Status::Active;
            let id = ledger.state.warrants.values().find(of).map(|warrant| warrant.id);
            let id = id.ok_or(Refused::NotInForce)?;
            ledger.record(by, What::CapturesRead { id, why: why.into() }, clock)?;
            Ok(id)
        })
    }

    /// Records files of product that were made of captures.
    ///
    /// # Errors
    ///
    /// There is no such warrant, there are more than 16 files, or the session is no officer's.
    pub fn produced(
        &mut self,
        session: &Session,
        id: u32,
        files: Vec<ProducedFile>,
        clock: Nanos,
    ) -> Result<(), Error> {
        self.act(session, What::Produced { id, files }, clock).map(drop)
    }

    /// Records that somebody has looked at something: before it is shown.
    ///
    /// # Errors
    ///
    /// No reason is given, or it cannot be recorded.
    pub fn look(&mut self, session: &Session, at: Look, why: &str, clock: Nanos) -> Result<(), Error> {
        self.act(session, What::Looked { at, why: why.into() }, clock).map(drop)
    }

    /// Records an act of somebody. What has ended by itself before is recorded first.
    pub(super) fn act(&mut self, session: &Session, what: What, clock: Nanos) -> Result<u64, Error> {
        let by = By::Person(session.name.clone());
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            ledger.record(by, what, clock)
        })
    }
}

/// Records the end of those whose time is over.
pub(super) fn end_due(ledger: &mut Ledger, clock: Nanos) -> Result<(), Error> {
    for (id, late) in ledger.state.due(ledger.time(clock)) {
        ledger.record(By::Service, What::Ended { id, late }, clock)?;
    }
    Ok(())
}

impl std::fmt::Debug for Register {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Register({})", self.ledger.dir().display())
    }
}

//! Who may provision tasks over X1.

use ringtap_model::Nanos;

use super::register::Register;
use super::session::Session;
use crate::error::{Error, Refused};
use crate::state::{Admf, AdmfAct, By, Look, NewAdmf, What};

/// An administration function whose certificate is registered, and which acts from now on. What it may do is
/// asked with each act.
#[derive(Clone, Debug)]
pub struct AdmfSession {
    pub(super) identifier: String,
}

impl AdmfSession {
    /// Its `admfIdentifier`.
    pub fn identifier(&self) -> &str {
        &self.identifier
    }
}

/// An administration function, or what is proposed of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdmfView {
    /// It is registered.
    Registered(Admf),
    /// It waits for another officer.
    Proposed {
        /// The number by which it is confirmed.
        number: u64,
        /// Who has proposed it.
        by: String,
        /// What is proposed.
        entry: NewAdmf,
    },
}

impl Register {
    /// Proposes to register an administration function, or to replace what is registered of it. Returns the
    /// number by which another officer confirms it.
    ///
    /// # Errors
    ///
    /// It is not complete, a certificate is another one's, or the session is no officer's.
    pub fn propose_admf(&mut self, session: &Session, entry: NewAdmf, clock: Nanos) -> Result<u64, Error> {
        self.act(session, What::Admf(AdmfAct::Proposed(Box::new(entry.normalised()))), clock)
    }

    /// What is proposed under a number, so that whoever confirms it sees it first. That it was looked at is
    /// an act.
    ///
    /// # Errors
    ///
    /// There is no such proposal, or no reason is given.
    pub fn proposed_admf(
        &mut self,
        session: &Session,
        proposal: u64,
        why: &str,
        clock: Nanos,
    ) -> Result<NewAdmf, Error> {
        self.look(session, Look::Admfs, why, clock)?;
        let proposed = self.ledger.state.admfs.proposals.get(&proposal);
        Ok(proposed.ok_or(Refused::NoProposal)?.1.clone())
    }

    /// Confirms it, as another officer than the one who proposed it.
    ///
    /// # Errors
    ///
    /// There is no such proposal, or it is of the same person.
    pub fn confirm_admf(&mut self, session: &Session, proposal: u64, clock: Nanos) -> Result<(), Error> {
        self.act(session, What::Admf(AdmfAct::Confirmed(proposal)), clock).map(drop)
    }

    /// Ends what an administration function may do, at once. Its tasks stay as they are.
    ///
    /// # Errors
    ///
    /// There is none of that identifier, or the session is no officer's.
    pub fn disable_admf(&mut self, session: &Session, identifier: &str, clock: Nanos) -> Result<(), Error> {
        self.act(session, What::Admf(AdmfAct::Disabled(identifier.to_owned())), clock).map(drop)
    }

    /// All administration functions, and what waits of them.
    ///
    /// # Errors
    ///
    /// No reason is given.
    pub fn admfs(&mut self, session: &Session, why: &str, clock: Nanos) -> Result<Vec<AdmfView>, Error> {
        self.look(session, Look::Admfs, why, clock)?;
        let admfs = &self.ledger.state.admfs;
        let registered = admfs.all.values().cloned().map(AdmfView::Registered);
        let proposed = admfs.proposals.iter().map(|(number, (by, entry))| AdmfView::Proposed {
            number: *number,
            by: by.to_string(),
            entry: entry.clone(),
        });
        Ok(registered.chain(proposed).collect())
    }

    /// The administration function that is known by a certificate, of which `hash` is the SHA-256 as hex
    /// digits. It is no act.
    ///
    /// # Errors
    ///
    /// The register cannot be read.
    pub fn admf_of_certificate(&mut self, hash: &str) -> Result<Option<AdmfSession>, Error> {
        self.ledger.locked(|ledger| {
            let admf = ledger.state.admfs.of_certificate(hash);
            Ok(admf.map(|admf| AdmfSession { identifier: admf.entry.identifier.clone() }))
        })
    }

    /// Records that somebody with another certificate has used the identifier of an administration function.
    ///
    /// # Errors
    ///
    /// It cannot be recorded.
    pub fn admf_refused(&mut self, identifier: &str, clock: Nanos) -> Result<(), Error> {
        let told = identifier.get(..identifier.floor_char_boundary(64)).unwrap_or_default().to_owned();
        let done = |ledger: &mut super::ledger::Ledger| {
            ledger.record(By::Service, What::AdmfRefused(told), clock).map(drop)
        };
        self.ledger.locked(done)
    }
}

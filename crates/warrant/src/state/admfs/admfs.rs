//! The administration functions of a register: two officers register each, one ends it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::admf::{Admf, NewAdmf};
use crate::error::Refused;
use crate::secret_text::SecretText;
use crate::state::task::Destination;
use crate::uuid::Uuid;

/// What an officer did with administration functions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AdmfAct {
    /// To register it, or to replace what is registered of it.
    Proposed(Box<NewAdmf>),
    /// The number of the act that proposed it.
    Confirmed(u64),
    /// It may do nothing any more, at once.
    Disabled(String),
}

/// All administration functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admfs {
    pub(crate) all: BTreeMap<String, Admf>,
    /// What waits, by the number of the act that proposed it, with who did.
    pub(crate) proposals: BTreeMap<u64, (SecretText, NewAdmf)>,
    /// Destinations of each.
    pub(crate) destinations: BTreeMap<(String, Uuid), Destination>,
    /// Transactions of each that changed something: each does so once.
    transactions: HashSet<(String, Uuid)>,
}

impl Admfs {
    pub(crate) fn admit(&mut self, number: u64, by: &SecretText, act: &AdmfAct) -> Result<(), Refused> {
        match act {
            AdmfAct::Proposed(entry) => {
                self.check(entry)?;
                if self.proposals.len() >= MOST_PROPOSALS {
                    return Err(Refused::Full("proposals"));
                }
                self.proposals.insert(number, (by.clone(), NewAdmf::clone(entry)));
            }
            AdmfAct::Confirmed(proposal) => {
                let (proposed_by, entry) = self.proposals.get(proposal).ok_or(Refused::NoProposal)?;
                if proposed_by == by {
                    return Err(Refused::SamePersonForPeople);
                }
                self.check(entry)?;
                let (entry, proposed_by) = (entry.clone(), proposed_by.clone());
                self.proposals.remove(proposal);
                let admf = Admf { entry, proposed_by, confirmed_by: by.clone(), disabled: false };
                self.all.insert(admf.entry.identifier.clone(), admf);
            }
            AdmfAct::Disabled(identifier) => {
                let admf = self.all.get_mut(identifier).filter(|admf| !admf.disabled);
                admf.ok_or(Refused::NoAdmf)?.disabled = true;
            }
        }
        Ok(())
    }

    fn check(&self, entry: &NewAdmf) -> Result<(), Refused> {
        entry.check()?;
        let is_other = |admf: &&Admf| admf.entry.identifier != entry.identifier && !admf.disabled;
        let of_others: BTreeSet<&String> =
            self.all.values().filter(is_other).flat_map(|admf| &admf.entry.certificates).collect();
        if entry.certificates.iter().any(|hash| of_others.contains(hash)) {
            let problem = "another ADMF is known by this certificate";
            return Err(Refused::Field { field: "certificates", problem });
        }
        if self.all.len() >= MOST_ADMFS && !self.all.contains_key(&entry.identifier) {
            return Err(Refused::Full("ADMFs"));
        }
        Ok(())
    }

    /// One that may act.
    pub(crate) fn standing(&self, identifier: &str) -> Result<&Admf, Refused> {
        self.all.get(identifier).filter(|admf| !admf.disabled).ok_or(Refused::NoAdmf)
    }

    pub(crate) fn of_certificate(&self, hash: &str) -> Option<&Admf> {
        let is_known = |admf: &&Admf| admf.entry.certificates.iter().any(|known| known == hash);
        self.all.values().filter(|admf| !admf.disabled).find(is_known)
    }

    pub(crate) fn check_transaction(&self, identifier: &str, transaction: Uuid) -> Result<(), Refused> {
        let is_used = self.transactions.contains(&(identifier.to_owned(), transaction));
        if is_used { Err(Refused::TransactionUsed) } else { Ok(()) }
    }

    pub(crate) fn note_transaction(&mut self, identifier: &str, transaction: Uuid) {
        self.transactions.insert((identifier.to_owned(), transaction));
    }

    pub(crate) fn set_destination(
        &mut self,
        identifier: &str,
        did: Uuid,
        modifies: bool,
        destination: &Destination,
    ) -> Result<(), Refused> {
        let is_there = self.destinations.contains_key(&(identifier.to_owned(), did));
        match (is_there, modifies) {
            (true, false) => return Err(Refused::DestinationUsed),
            (false, true) => return Err(Refused::NoDestination),
            _ => {}
        }
        if !self.standing(identifier)?.entry.agencies.contains(&destination.agency) {
            return Err(Refused::NotItsAgency);
        }
        if self.destinations.len() >= MOST_DESTINATIONS && !is_there {
            return Err(Refused::Full("destinations"));
        }
        self.destinations.insert((identifier.to_owned(), did), destination.clone());
        Ok(())
    }

    pub(crate) fn destination(&self, identifier: &str, did: Uuid) -> Result<&Destination, Refused> {
        self.destinations.get(&(identifier.to_owned(), did)).ok_or(Refused::NoDestination)
    }

    /// The destinations of one.
    pub(crate) fn destinations_of(&self, identifier: &str) -> Vec<(Uuid, Destination)> {
        let own = self.destinations.iter().filter(|((of, _), _)| of == identifier);
        own.map(|((_, did), destination)| (*did, destination.clone())).collect()
    }
}

const MOST_ADMFS: usize = 64;
const MOST_PROPOSALS: usize = 100;
const MOST_DESTINATIONS: usize = 10_000;

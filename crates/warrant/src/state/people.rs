//! Officers and auditors.

use std::collections::BTreeMap;

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::Refused;
use crate::secret_text::SecretText;

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Enters, approves, extends, withdraws and sees warrants; changes people, with another officer.
    Officer,
    /// Sees warrants and acts, and enters nothing.
    Auditor,
}

impl Role {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Officer => "officer",
            Self::Auditor => "auditor",
        }
    }
}

impl std::str::FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Officer, Self::Auditor]
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| "a role is `officer` or `auditor`".to_owned())
    }
}

/// Somebody who is to be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PersonEntry {
    pub(crate) name: SecretText,
    pub(crate) role: Role,
    /// Of argon2id, in the PHC format.
    pub(crate) hash: SecretText,
}

/// A change of the people that waits for another officer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PersonChange {
    /// Adds somebody.
    Add(PersonEntry),
    /// Somebody may do nothing any more. The name stays, since acts have it.
    Disable(SecretText),
}

impl PersonChange {
    /// Whom it is about.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Add(entry) => &entry.name,
            Self::Disable(name) => name,
        }
    }

    /// What it does.
    pub(crate) fn action(&self) -> &'static str {
        match self {
            Self::Add(PersonEntry { role: Role::Officer, .. }) => "add as officer",
            Self::Add(PersonEntry { role: Role::Auditor, .. }) => "add as auditor",
            Self::Disable(_) => "disable",
        }
    }
}

/// Somebody who is in the register.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) role: Role,
    pub(crate) hash: SecretText,
    pub(crate) disabled: bool,
    /// The passphrase is known to whoever proposed the person.
    pub(crate) must_change: bool,
    /// The number of the act by which the person chose the passphrase; 0 for the one that was given at first.
    pub(crate) chosen_by: u64,
}

/// Wrong passphrases for a name, since its last act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failures {
    pub(crate) count: u32,
    /// The clock at the last of them.
    pub(crate) last: Nanos,
}

impl Failures {
    /// How long the next attempt has to wait: 1 s after the third wrong one, doubled with each, up to 15
    /// minutes.
    pub(crate) fn wait(&self, clock: Nanos) -> Option<Nanos> {
        let doublings = self.count.checked_sub(FREE)?;
        let wait = Nanos::from_secs(1_u64.checked_shl(doublings).unwrap_or(u64::MAX).min(LONGEST_WAIT));
        let left = wait.since(clock.since(self.last));
        (left > Nanos::ZERO).then_some(left)
    }
}

/// The people of a register.
#[derive(Clone, Debug, Default)]
pub(crate) struct People {
    pub(crate) all: BTreeMap<SecretText, Person>,
    /// Changes that wait, by the number of the act that proposed them, with who did.
    pub(crate) proposals: BTreeMap<u64, (SecretText, PersonChange)>,
    pub(crate) failures: BTreeMap<SecretText, Failures>,
}

impl People {
    pub(crate) fn officers(&self) -> usize {
        self.all.values().filter(|person| person.role == Role::Officer && !person.disabled).count()
    }

    /// Makes the first officer.
    pub(crate) fn set_up(&mut self, entry: &PersonEntry) -> Result<(), Refused> {
        if !self.all.is_empty() || entry.role != Role::Officer {
            return Err(Refused::Impossible);
        }
        check_name(&entry.name)?;
        self.add(entry, false);
        Ok(())
    }

    fn add(&mut self, entry: &PersonEntry, must_change: bool) {
        let PersonEntry { name, role, hash } = entry.clone();
        self.all.insert(name, Person { role, hash, disabled: false, must_change, chosen_by: 0 });
    }

    /// Whether it may be proposed, and confirmed later.
    fn check(&self, change: &PersonChange) -> Result<(), Refused> {
        match change {
            PersonChange::Add(entry) => {
                check_name(&entry.name)?;
                if self.all.contains_key(&*entry.name) {
                    return Err(Refused::NameUsed);
                }
                if self.all.len() >= MOST_PEOPLE {
                    return Err(Refused::Full("people"));
                }
            }
            PersonChange::Disable(name) => {
                let person =
                    self.all.get(&**name).filter(|person| !person.disabled).ok_or(Refused::Nobody)?;
                if person.role == Role::Officer && self.officers() <= 2 {
                    return Err(Refused::LastOfficers);
                }
            }
        }
        Ok(())
    }

    /// Takes a proposal down. The only officer there is adds the second one alone, as nobody could confirm
    /// it.
    pub(crate) fn propose(
        &mut self,
        number: u64,
        by: &SecretText,
        change: &PersonChange,
    ) -> Result<(), Refused> {
        self.check(change)?;
        match change {
            PersonChange::Add(entry) if entry.role == Role::Officer && self.officers() < 2 => {
                self.add(entry, true);
            }
            _ if self.proposals.len() >= MOST_PROPOSALS => return Err(Refused::Full("proposals")),
            _ => _ = self.proposals.insert(number, (by.clone(), change.clone())),
        }
        Ok(())
    }

    /// Does what was proposed, by another officer than the one who proposed it or whom it is about.
    pub(crate) fn confirm(&mut self, by: &str, proposal: u64) -> Result<(), Refused> {
        let (proposer, change) = self.proposals.get(&proposal).ok_or(Refused::NoProposal)?.clone();
        if &*proposer == by || change.name() == by {
            return Err(Refused::SamePersonForPeople);
        }
        self.check(&change)?;
        self.proposals.remove(&proposal);
        match &change {
            PersonChange::Add(entry) => self.add(entry, true),
            PersonChange::Disable(name) => {
                if let Some(person) = self.all.get_mut(&**name) {
                    person.disabled = true;
                }
            }
        }
        Ok(())
    }

    /// Counts a wrong passphrase; those for names that nobody has are counted together.
    pub(crate) fn count_wrong(&mut self, name: &SecretText, clock: Nanos) {
        let failures = self.failures.entry(self.known_or_none(name)).or_default();
        *failures = Failures { count: failures.count.saturating_add(1).min(MOST_FAILURES), last: clock };
    }

    pub(crate) fn failures(&self, name: &SecretText) -> Failures {
        self.failures.get(&self.known_or_none(name)).copied().unwrap_or_default()
    }

    fn known_or_none(&self, name: &SecretText) -> SecretText {
        if self.all.contains_key(name) { name.clone() } else { SecretText::default() }
    }
}

/// Whether it can be a name.
fn check_name(name: &str) -> Result<(), Refused> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric();
    let is_right = name.len() <= 64
        && name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || b".-_@".contains(&byte));
    if is_right { Ok(()) } else { Err(Refused::Name) }
}

/// So many are free.
const FREE: u32 = 3;
/// In seconds.
const LONGEST_WAIT: u64 = 900;
/// Counted no further.
const MOST_FAILURES: u32 = 1000;
const MOST_PEOPLE: usize = 1000;
const MOST_PROPOSALS: usize = 100;

//! The rules: which act may follow which, and what it changes.
//!
//! INVARIANT: `admit` changes nothing where it refuses. Replaying a log asks the same rules as writing it, so
//! a log that breaks one was not written by this program.

use std::collections::{BTreeMap, HashMap};

use ringtap_model::Nanos;

use super::act::{Act, By, Look, What};
use super::admfs::Admfs;
use super::people::{People, Role};
use super::produced::ProducedFile;
use super::requests::Requests;
use super::text::check_text;
use super::warrant::{EnteredExtension, Extension, NewWarrant, Status, Warrant};
use crate::error::Refused;
use crate::order::Order;
use crate::secret_text::SecretText;
use crate::uuid::Uuid;

/// What the acts of a register give.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) warrants: BTreeMap<u32, Warrant>,
    pub(crate) people: People,
    pub(crate) requests: Requests,
    pub(crate) admfs: Admfs,
    /// Warrants of each task of an administration function that is not deactivated, the oldest first.
    pub(super) tasks: BTreeMap<(String, Uuid), Vec<u32>>,
    /// The time of the newest act.
    pub(crate) latest: Nanos,
    /// It is recorded that the clock was set back, and it has not caught up since.
    pub(crate) is_clock_back: bool,
    /// The hash under which each person saw each warrant last.
    seen: HashMap<(u32, SecretText), String>,
}

impl State {
    /// Takes an act in.
    ///
    /// # Errors
    ///
    /// It is against the rules, and nothing is changed.
    pub(crate) fn admit(&mut self, number: u64, act: &Act) -> Result<(), Refused> {
        let time = act.time;
        if time < self.latest || act.clock.is_some_and(|clock| clock >= time) {
            return Err(Refused::Impossible);
        }
        match &act.by {
            By::Service => self.admit_service(number, act)?,
            By::Admf(identifier) => self.admit_admf(identifier, act)?,
            By::Person(name) => {
                self.check_person(name, &act.what)?;
                self.admit_person(number, name, act)?;
                self.people.failures.remove(&**name);
            }
        }
        self.latest = time;
        self.is_clock_back =
            act.clock.is_some() && (self.is_clock_back || matches!(act.what, What::ClockBack { .. }));
        Ok(())
    }

    fn admit_service(&mut self, number: u64, act: &Act) -> Result<(), Refused> {
        let time = act.time;
        match &act.what {
            What::SetUp(_) if number != 0 => Err(Refused::Impossible),
            What::SetUp(entry) => self.people.set_up(entry),
            What::PassphraseWrong(name) => {
                self.people.count_wrong(name, act.clock());
                Ok(())
            }
            What::Begun { id } => {
                let warrant = self.warrant(*id)?;
                if warrant.status(time) != Status::Active {
                    return Err(Refused::NotInForce);
                }
                warrant.begun = Some(time);
                Ok(())
            }
            What::Ended { id, .. } => {
                let warrant = self.warrant(*id)?;
                let is_due = time >= warrant.entered.ends && warrant.ended.is_none();
                if !is_due || warrant.approved_at.is_none() || warrant.withdrawn.is_some() {
                    return Err(Refused::Impossible);
                }
                warrant.ended = Some(time);
                Ok(())
            }
            What::Stopped { id, proof } => {
                check_text("origin of the stop", &proof.by, 256)?;
                let warrant = self.warrant(*id)?;
                if warrant.begun.is_none() {
                    return Err(Refused::NotInForce);
                }
                if warrant.stopped.len() >= MOST_NOTES {
                    return Err(Refused::Full("proofs of a stop"));
                }
                warrant.stopped.push(proof.clone());
                Ok(())
            }
            What::ClockBack { .. } | What::Recovered { .. } | What::AdmfRefused(_) => Ok(()),
            _ => Err(Refused::Impossible),
        }
    }

    /// Whether the person may do such things at all.
    fn check_person(&self, name: &SecretText, what: &What) -> Result<(), Refused> {
        let person = self.people.all.get(&**name).filter(|person| !person.disabled).ok_or(Refused::Nobody)?;
        match what {
            What::PassphraseChanged(_) => Ok(()),
            _ if person.must_change => Err(Refused::MustChange),
            What::Looked { .. } => Ok(()),
            _ if person.role != Role::Officer => Err(Refused::NotAnOfficer),
            _ => Ok(()),
        }
    }

    fn admit_person(&mut self, number: u64, name: &SecretText, act: &Act) -> Result<(), Refused> {
        let time = act.time;
        match &act.what {
            What::PersonProposed(change) => self.people.propose(number, name, change),
            What::PersonConfirmed(proposal) => self.people.confirm(name, *proposal),
            What::PassphraseChanged(hash) => {
                let person = self.people.all.get_mut(&**name).ok_or(Refused::Nobody)?;
                person.hash = hash.clone();
                (person.must_change, person.chosen_by) = (false, number);
                Ok(())
            }
            What::Entered { id, warrant } => self.enter(*id, name, warrant, time),
            What::Approved { id, hash } => {
                self.check_approval(*id, name, hash, time)?;
                let warrant = self.warrant(*id)?;
                if warrant.approved_at.is_some() {
                    return Err(Refused::NothingToApprove);
                }
                if warrant.entered_by == *name {
                    return Err(Refused::SamePerson);
                }
                (warrant.approved_by, warrant.approved_at) = (Some(name.clone()), Some(time));
                if let Some(old) = warrant.task.as_ref().and_then(|task| task.replaces) {
                    self.replace(old, *id, name, time);
                }
                Ok(())
            }
            What::ExtensionEntered { id, extension } => self.extend(*id, name, extension, time),
            What::ExtensionApproved { id, hash } => {
                self.check_approval(*id, name, hash, time)?;
                let warrant = self.warrant(*id)?;
                match warrant.pending_extension() {
                    None => Err(Refused::NothingToApprove),
                    Some((_, entered_by)) if entered_by == &**name => Err(Refused::SamePerson),
                    Some(_) => warrant.approve_extension(name, time),
                }
            }
            What::Withdrawn { id, reason } => {
                check_text("reason", reason, 2048)?;
                let warrant = self.warrant(*id)?;
                if warrant.is_over(time) {
                    return Err(Refused::Over);
                }
                warrant.withdrawn = Some((name.clone(), time, reason.clone()));
                Ok(())
            }
            What::Noted { id, text } => {
                check_text("note", text, 4096)?;
                let warrant = self.warrant(*id)?;
                if warrant.notes.len() >= MOST_NOTES {
                    return Err(Refused::Full("notes"));
                }
                warrant.notes.push((name.clone(), time, text.clone()));
                Ok(())
            }
            What::CapturesRead { id, why } => {
                check_text("reason", why, 1024)?;
                let is_active = self.warrant(*id)?.status(time) == Status::Active;
                if is_active { Ok(()) } else { Err(Refused::NotInForce) }
            }
            What::Produced { id, files } => self.produced(*id, files),
            What::Request(act) => self.requests.admit(name, act, time),
            What::Admf(act) => self.admfs.admit(number, name, act),
            What::Looked { at, why } => self.look(name, *at, why, time),
            _ => Err(Refused::Impossible),
        }
    }

    fn enter(&mut self, id: u32, by: &SecretText, entered: &NewWarrant, time: Nanos) -> Result<(), Refused> {
        self.check_new(id, entered, &[], time)?;
        self.warrants.insert(id, Warrant::new(id, entered.clone(), by.clone(), time));
        Ok(())
    }

    /// Whether a warrant may be entered, which is to replace those others.
    pub(super) fn check_new(
        &self,
        id: u32,
        entered: &NewWarrant,
        replaced: &[u32],
        time: Nanos,
    ) -> Result<(), Refused> {
        if id != self.next_id() {
            return Err(Refused::Impossible);
        }
        if self.warrants.len() >= MOST_WARRANTS {
            return Err(Refused::Full("warrants"));
        }
        entered.check(time)?;
        let mut same = self.warrants.values().filter(|other| other.entered.liid == entered.liid);
        if same.any(|other| !other.is_over(time) && !replaced.contains(&other.id)) {
            return Err(Refused::LiidUsed);
        }
        Ok(())
    }

    pub(super) fn extend(
        &mut self,
        id: u32,
        by: &SecretText,
        extension: &Extension,
        time: Nanos,
    ) -> Result<(), Refused> {
        check_text("reference of the order", &extension.reference, 128)?;
        check_text("authority", &extension.authority, 512)?;
        let warrant = self.warrant(id)?;
        if warrant.is_over(time) {
            return Err(Refused::Over);
        }
        if warrant.approved_at.is_none() {
            return Err(Refused::NotApproved);
        }
        if extension.ends <= warrant.entered.ends {
            return Err(Refused::NotLater);
        }
        if warrant.extensions.len() >= MOST_NOTES {
            return Err(Refused::Full("extensions"));
        }
        // One that waited is replaced: it is among the acts.
        warrant.extensions.retain(|entered| entered.approved.is_some());
        let (extension, entered_by) = (extension.clone(), by.clone());
        let entered =
            EnteredExtension { extension, entered_by, entered: time, approved_by: None, approved: None };
        warrant.extensions.push(entered);
        Ok(())
    }

    /// What every approval needs: another officer has seen the record as it is now.
    fn check_approval(&mut self, id: u32, by: &SecretText, hash: &str, time: Nanos) -> Result<(), Refused> {
        let warrant = self.warrant(id)?;
        if warrant.is_over(time) {
            return Err(Refused::Over);
        }
        let present = warrant.hash();
        if present != hash {
            return Err(Refused::OtherHash);
        }
        let has_seen = self.seen.get(&(id, by.clone())).is_some_and(|seen| *seen == present);
        if has_seen { Ok(()) } else { Err(Refused::NotSeen) }
    }

    fn produced(&mut self, id: u32, files: &[ProducedFile]) -> Result<(), Refused> {
        if files.len() > MOST_FILES {
            return Err(Refused::Full("files of product"));
        }
        files.iter().try_for_each(|file| check_text("name of a file", &file.name, 255))?;
        let is_approved = self.warrant(id)?.approved_at.is_some();
        if is_approved { Ok(()) } else { Err(Refused::NotApproved) }
    }

    fn look(&mut self, by: &SecretText, at: Look, why: &SecretText, time: Nanos) -> Result<(), Refused> {
        check_text("reason", why, 1024)?;
        match at {
            Look::Show(id) => {
                let warrant = self.warrant(id)?;
                warrant.looks += 1;
                warrant.last_look = Some((by.clone(), time));
                let hash = warrant.hash();
                self.seen.insert((id, by.clone()), hash);
                Ok(())
            }
            Look::Request(id) => self.requests.look(id, by, time),
            _ => Ok(()),
        }
    }

    fn warrant(&mut self, id: u32) -> Result<&mut Warrant, Refused> {
        self.warrants.get_mut(&id).ok_or(Refused::NoWarrant)
    }

    /// The number of the next warrant.
    pub(crate) fn next_id(&self) -> u32 {
        self.warrants.last_key_value().map_or(1, |(id, _)| id.saturating_add(1))
    }

    /// Those whose end has passed, and of which it is not recorded.
    pub(crate) fn due(&self, time: Nanos) -> Vec<(u32, Nanos)> {
        let is_due = |warrant: &&Warrant| {
            let is_open = warrant.ended.is_none() && warrant.withdrawn.is_none();
            is_open && warrant.approved_at.is_some() && time >= warrant.entered.ends
        };
        let due = self.warrants.values().filter(is_due);
        due.map(|warrant| (warrant.id, time.since(warrant.entered.ends))).collect()
    }

    /// The orders in force at a time, in the order of their identifiers.
    pub(crate) fn orders(&self, time: Nanos) -> Vec<Order> {
        let active = self.warrants.values().filter(|warrant| warrant.status(time) == Status::Active);
        let mut orders: Vec<Order> = active.map(Warrant::order).collect();
        orders.sort_unstable_by(|one, other| one.liid.cmp(&other.liid));
        orders
    }

    /// When the next warrant begins or ends after that time.
    pub(crate) fn next_change(&self, time: Nanos) -> Nanos {
        let open = self.warrants.values().filter(|w| w.approved_at.is_some() && !w.is_over(time));
        let times = open.flat_map(|warrant| [warrant.entered.begins, warrant.entered.ends]);
        times.filter(|at| *at > time).min().unwrap_or(Nanos::MAX)
    }
}

const MOST_WARRANTS: usize = 100_000;
/// Files of product that one act names.
const MOST_FILES: usize = 16;
/// Notes, extensions and proofs of one warrant.
const MOST_NOTES: usize = 10_000;

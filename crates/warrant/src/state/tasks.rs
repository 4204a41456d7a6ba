//! The rules of tasks: what an administration function may do with warrants of its own.
//!
//! INVARIANT: a task is in force by an officer's approval, by the delegation of two officers, or as a part of
//! what is in force.

use ringtap_model::Nanos;

use super::act::{Act, Look, What};
use super::admfs::TaskAct;
use super::state::State;
use super::task::{Destination, Task, TaskContent};
use super::text::check_text;
use super::warrant::{Extension, NewWarrant, Warrant};
use crate::error::Refused;
use crate::order::Delivers;
use crate::secret_text::SecretText;
use crate::uuid::Uuid;

/// What there is of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskWarrants<'a> {
    /// What is approved, if anything is, or else what waits.
    pub(crate) present: &'a Warrant,
    /// A modification that waits for an officer.
    pub(crate) pending: Option<&'a Warrant>,
}

impl State {
    pub(super) fn admit_admf(&mut self, identifier: &str, act: &Act) -> Result<(), Refused> {
        self.admfs.standing(identifier)?;
        match &act.what {
            What::Looked { at, why } => self.admf_looks(identifier, *at, why, act.time),
            What::Task { transaction, act: done } => {
                self.admfs.check_transaction(identifier, *transaction)?;
                self.admit_task(identifier, done, act.time)?;
                self.admfs.note_transaction(identifier, *transaction);
                Ok(())
            }
            _ => Err(Refused::Impossible),
        }
    }

    fn admf_looks(&mut self, identifier: &str, at: Look, why: &str, time: Nanos) -> Result<(), Refused> {
        check_text("reason", why, 1024)?;
        match at {
            Look::Show(id) => {
                let warrant = self.own(identifier, id)?;
                warrant.looks += 1;
                warrant.last_look = Some((by(identifier), time));
                Ok(())
            }
            Look::List => Ok(()),
            _ => Err(Refused::Impossible),
        }
    }

    fn admit_task(&mut self, identifier: &str, act: &TaskAct, time: Nanos) -> Result<(), Refused> {
        match act {
            TaskAct::Entered { id, xid, modifies, warrant, content } => {
                let task = Task {
                    xid: *xid,
                    admf: identifier.to_owned(),
                    replaces: None,
                    content: content.clone(),
                    is_removed: false,
                };
                self.enter_task(*id, task, *modifies, warrant, time)
            }
            TaskAct::Amended { id, extension, content } => {
                self.amend_task(identifier, *id, extension.as_ref(), content, time)
            }
            TaskAct::Ended { xid } => self.end_tasks(identifier, *xid, time),
            TaskAct::DestinationSet { did, modifies, destination } => {
                self.set_destination(identifier, *did, *modifies, destination)
            }
            TaskAct::DestinationRemoved { did } => self.remove_destinations(identifier, *did),
        }
    }

    fn enter_task(
        &mut self,
        id: u32,
        mut task: Task,
        modifies: bool,
        entered: &NewWarrant,
        time: Nanos,
    ) -> Result<(), Refused> {
        let admf = self.admfs.standing(&task.admf)?;
        admf.check(entered)?;
        self.check_content(&task.admf, &task.content, &entered.agency)?;
        let present = self.task(&task.admf, task.xid);
        match (&present, modifies) {
            (Some(_), false) => return Err(Refused::XidUsed),
            (None, true) => return Err(Refused::NoTask),
            (Some(present), true) if present.present.is_over(time) => return Err(Refused::Over),
            _ => {}
        }
        let in_force = present.map(|task| task.present).filter(|warrant| warrant.approved_at.is_some());
        let approval = match in_force {
            Some(old) if is_part(entered, &old.entered) => {
                Some(format!("{}, as a part of warrant {}", &*by(&task.admf), old.id).into())
            }
            _ => admf.delegation(),
        };
        let replaced = in_force.map(|warrant| warrant.id);
        task.replaces = replaced;
        let (identifier, xid) = (task.admf.clone(), task.xid);
        let own = self.ids(&identifier, Some(xid));
        self.check_new(id, entered, &own, time)?;
        let mut warrant = Warrant::new(id, entered.clone(), by(&identifier), time);
        warrant.task = Some(task);
        let is_approved = approval.is_some();
        if is_approved {
            (warrant.approved_by, warrant.approved_at) = (approval, Some(time));
        }
        // A modification that waited is replaced.
        for old in own.into_iter().filter(|old| is_approved || Some(*old) != replaced) {
            self.replace(old, id, &by(&identifier), time);
        }
        self.warrants.insert(id, warrant);
        self.tasks.entry((identifier, xid)).or_default().push(id);
        Ok(())
    }

    /// Ends a warrant whose place another one has.
    pub(super) fn replace(&mut self, old: u32, new: u32, by: &SecretText, time: Nanos) {
        self.remove(old, by, &format!("replaced by warrant {new}"), time);
    }

    /// Ends a warrant, which is the task no longer.
    fn remove(&mut self, id: u32, by: &SecretText, reason: &str, time: Nanos) {
        let Some(warrant) = self.warrants.get_mut(&id) else { return };
        if !warrant.is_over(time) {
            warrant.withdrawn = Some((by.clone(), time, reason.into()));
        }
        let Some(task) = &mut warrant.task else { return };
        task.is_removed = true;
        let of = (task.admf.clone(), task.xid);
        if let Some(ids) = self.tasks.get_mut(&of) {
            ids.retain(|known| *known != id);
            if ids.is_empty() {
                self.tasks.remove(&of);
            }
        }
    }

    fn amend_task(
        &mut self,
        identifier: &str,
        id: u32,
        extension: Option<&Extension>,
        content: &TaskContent,
        time: Nanos,
    ) -> Result<(), Refused> {
        let admf = self.admfs.standing(identifier)?.clone();
        let (agency, begins, is_over) = {
            let warrant = self.own(identifier, id)?;
            (warrant.entered.agency.clone(), warrant.entered.begins, warrant.is_over(time))
        };
        if is_over {
            return Err(Refused::Over);
        }
        self.check_content(identifier, content, &agency)?;
        if let Some(extension) = extension {
            admf.check_end(begins, extension.ends)?;
            self.extend(id, &by(identifier), extension, time)?;
        }
        let warrant = self.own(identifier, id)?;
        if let Some(task) = &mut warrant.task {
            task.content = content.clone();
        }
        if let (Some(approval), Some(_)) = (admf.delegation(), extension) {
            warrant.approve_extension(&approval, time)?;
        }
        Ok(())
    }

    fn end_tasks(&mut self, identifier: &str, xid: Option<Uuid>, time: Nanos) -> Result<(), Refused> {
        let ids = self.ids(identifier, xid);
        if xid.is_some() && ids.is_empty() {
            return Err(Refused::NoTask);
        }
        ids.into_iter().for_each(|id| self.remove(id, &by(identifier), "deactivated over X1", time));
        Ok(())
    }

    fn set_destination(
        &mut self,
        identifier: &str,
        did: Uuid,
        modifies: bool,
        destination: &Destination,
    ) -> Result<(), Refused> {
        check_text("details", &destination.details, 4_096)?;
        let known = self.admfs.destination(identifier, did);
        let is_moved = known.is_ok_and(|known| known.agency != destination.agency);
        if modifies && is_moved && self.is_in_use(identifier, did) {
            return Err(Refused::DestinationInUse);
        }
        self.admfs.set_destination(identifier, did, modifies, destination)
    }

    fn remove_destinations(&mut self, identifier: &str, did: Option<Uuid>) -> Result<(), Refused> {
        let dids: Vec<Uuid> = match did {
            Some(did) => self.admfs.destination(identifier, did).map(|_| vec![did])?,
            None => self.admfs.destinations_of(identifier).into_iter().map(|(did, _)| did).collect(),
        };
        if dids.iter().any(|did| self.is_in_use(identifier, *did)) {
            return Err(Refused::DestinationInUse);
        }
        for did in dids {
            self.admfs.destinations.remove(&(identifier.to_owned(), did));
        }
        Ok(())
    }

    fn is_in_use(&self, identifier: &str, did: Uuid) -> bool {
        let ids = self.ids(identifier, None);
        let mut tasks = ids.iter().filter_map(|id| self.warrants.get(id)?.task.as_ref());
        tasks.any(|task| task.content.destinations.contains(&did))
    }

    fn check_content(&self, identifier: &str, content: &TaskContent, agency: &str) -> Result<(), Refused> {
        content.check()?;
        for did in &content.destinations {
            if self.admfs.destination(identifier, *did)?.agency != agency {
                return Err(Refused::NotItsAgency);
            }
        }
        Ok(())
    }

    /// What there is of a task of an administration function.
    pub(crate) fn task(&self, identifier: &str, xid: Uuid) -> Option<TaskWarrants<'_>> {
        let of = self.ids(identifier, Some(xid));
        let of = of.iter().rev().filter_map(|id| self.warrants.get(id));
        let (approved, waiting): (Vec<&Warrant>, Vec<&Warrant>) =
            of.partition(|warrant| warrant.approved_at.is_some());
        let pending = waiting.first().copied();
        match approved.first() {
            Some(present) => Some(TaskWarrants { present, pending }),
            None => pending.map(|present| TaskWarrants { present, pending: None }),
        }
    }

    /// The tasks of an administration function, in the order of their XIDs.
    pub(crate) fn xids(&self, identifier: &str) -> Vec<Uuid> {
        self.tasks_of(identifier).map(|(xid, _)| xid).collect()
    }

    fn tasks_of(&self, identifier: &str) -> impl Iterator<Item = (Uuid, &[u32])> {
        let from = self.tasks.range((identifier.to_owned(), Uuid::FIRST)..);
        let own = from.take_while(move |((of, _), _)| of == identifier);
        own.map(|((_, xid), ids)| (*xid, &ids[..]))
    }

    /// Warrants of a task, or of all tasks, of an administration function.
    fn ids(&self, identifier: &str, xid: Option<Uuid>) -> Vec<u32> {
        match xid {
            Some(xid) => self.tasks.get(&(identifier.to_owned(), xid)).cloned().unwrap_or_default(),
            None => self.tasks_of(identifier).flat_map(|(_, ids)| ids).copied().collect(),
        }
    }

    fn own(&mut self, identifier: &str, id: u32) -> Result<&mut Warrant, Refused> {
        let warrant = self.warrants.get_mut(&id).ok_or(Refused::NoTask)?;
        let is_own = warrant.task.as_ref().is_some_and(|task| task.admf == identifier && !task.is_removed);
        if is_own { Ok(warrant) } else { Err(Refused::NoTask) }
    }
}

/// Whether a warrant gives nothing that another one does not.
pub(crate) fn is_part(of: &NewWarrant, whole: &NewWarrant) -> bool {
    let delivers = |warrant: &NewWarrant, which: fn(Delivers) -> bool| which(warrant.delivers);
    let is_within = |which| !delivers(of, which) || delivers(whole, which);
    of.liid == whole.liid
        && of.agency == whole.agency
        && of.mediation_function == whole.mediation_function
        && of.begins >= whole.begins
        && of.ends <= whole.ends
        && is_within(Delivers::iri)
        && is_within(Delivers::content)
        && of.targets.iter().all(|target| whole.targets.contains(target))
}

/// How acts and warrants name an administration function: no person's name has a colon.
fn by(identifier: &str) -> SecretText {
    format!("admf:{identifier}").into()
}

//! What administration functions do over X1.

use ringtap_model::Nanos;

use super::admfs::AdmfSession;
use super::ledger::Ledger;
use super::register::{Register, end_due};
use crate::error::{Error, Refused};
use crate::liid::Liid;
use crate::order::Delivers;
use crate::state::{
    By, Destination, Extension, Look, NewAdmf, NewWarrant, Status, TaskAct, TaskContent, Warrant, What,
    is_part,
};
use crate::target::Target;
use crate::uuid::Uuid;

/// What an administration function provisions: a warrant but for what is registered of it.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// Which task.
    pub xid: Uuid,
    /// Identifies the interception to the agency.
    pub liid: Liid,
    /// Whom it is about.
    pub targets: Vec<Target>,
    /// Which part is delivered.
    pub delivers: Delivers,
    /// From this time on: from now, or from when the task began that it modifies, if it is not said.
    pub begins: Option<Nanos>,
    /// Before this time: as long as tasks of the administration function may last, if it is not said.
    pub ends: Option<Nanos>,
    /// Destinations, which are all of one agency, and the text by which the task is known again.
    pub content: TaskContent,
}

/// What became of a task that was provisioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provisioned {
    /// It is approved.
    Approved,
    /// It waits for an officer.
    Waits,
}

/// A task as it is.
#[derive(Clone, Debug)]
pub struct TaskView {
    /// What is approved, or else what waits.
    pub warrant: Warrant,
    /// A modification waits for an officer: of the end, or of what it is.
    pub is_modification_pending: bool,
    /// The time by which its status counts.
    pub at: Nanos,
}

impl TaskView {
    /// Where it is in its life.
    pub fn status(&self) -> Status {
        self.warrant.status(self.at)
    }
}

impl Register {
    /// Enters a task: a draft until an officer approves it, unless the administration function activates.
    ///
    /// # Errors
    ///
    /// There is such a task, something is missing, or the transaction was used.
    pub fn activate_task(
        &mut self,
        admf: &AdmfSession,
        transaction: Uuid,
        task: NewTask,
        clock: Nanos,
    ) -> Result<Provisioned, Error> {
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            let entry = ledger.state.admfs.standing(&admf.identifier)?.entry.clone();
            let case = format!("X1 task {}", task.xid);
            let begins = ledger.time(clock);
            let warrant = warrant_of(ledger, &entry, &task, case, begins)?;
            enter(ledger, admf, transaction, task, false, warrant, clock)
        })
    }

    /// Changes a task. What it gives more than before waits for an officer, unless the administration
    /// function activates; a later end alone is an extension.
    ///
    /// # Errors
    ///
    /// There is no such task, it has ended, something is missing, or the transaction was used.
    pub fn modify_task(
        &mut self,
        admf: &AdmfSession,
        transaction: Uuid,
        task: NewTask,
        clock: Nanos,
    ) -> Result<Provisioned, Error> {
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            let entry = ledger.state.admfs.standing(&admf.identifier)?.entry.clone();
            let present = ledger.state.task(&admf.identifier, task.xid).ok_or(Refused::NoTask)?;
            let time = ledger.time(clock);
            let is_pending = present.pending.is_some_and(|pending| !pending.is_over(time));
            let present = present.present.clone();
            let place = match present.approved_at {
                Some(_) => format!(", in place of warrant {}", present.id),
                None => String::new(),
            };
            let case = format!("X1 task {}{place}", task.xid);
            let warrant = warrant_of(ledger, &entry, &task, case, present.entered.begins)?;
            let is_same = is_part(&warrant, &present.entered) && is_part(&present.entered, &warrant);
            let longer = NewWarrant { ends: present.entered.ends, ..warrant.clone() };
            let is_extension = !is_same
                && warrant.ends > present.entered.ends
                && is_part(&longer, &present.entered)
                && is_part(&present.entered, &longer);
            if present.approved_at.is_none() || is_pending || !(is_same || is_extension) {
                return enter(ledger, admf, transaction, task, true, warrant, clock);
            }
            let extension = is_extension.then(|| Extension {
                ends: warrant.ends,
                reference: format!("X1 transaction {transaction}").into(),
                authority: entry.authority.clone(),
            });
            let act = TaskAct::Amended { id: present.id, extension, content: task.content };
            record(ledger, admf, transaction, act, clock)?;
            let present = ledger.state.task(&admf.identifier, task.xid).ok_or(Refused::NoTask)?;
            let waits = present.present.pending_extension().is_some();
            Ok(if waits { Provisioned::Waits } else { Provisioned::Approved })
        })
    }

    /// Ends a task, or all tasks of the administration function, at once.
    ///
    /// # Errors
    ///
    /// There is no such task, or the transaction was used.
    pub fn deactivate_tasks(
        &mut self,
        admf: &AdmfSession,
        transaction: Uuid,
        xid: Option<Uuid>,
        clock: Nanos,
    ) -> Result<(), Error> {
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            record(ledger, admf, transaction, TaskAct::Ended { xid }, clock)
        })
    }

    /// A task, whole. That it was looked at is an act.
    ///
    /// # Errors
    ///
    /// There is no such task of the administration function.
    pub fn task(
        &mut self,
        admf: &AdmfSession,
        xid: Uuid,
        why: &str,
        clock: Nanos,
    ) -> Result<TaskView, Error> {
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            let id = ledger.state.task(&admf.identifier, xid).ok_or(Refused::NoTask)?.present.id;
            looked(ledger, admf, Look::Show(id), why, clock)?;
            view(ledger, admf, xid)
        })
    }

    /// The tasks of an administration function. That they were looked at is an act.
    ///
    /// # Errors
    ///
    /// It cannot be recorded.
    pub fn tasks(&mut self, admf: &AdmfSession, why: &str, clock: Nanos) -> Result<Vec<TaskView>, Error> {
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            looked(ledger, admf, Look::List, why, clock)?;
            let xids = ledger.state.xids(&admf.identifier);
            xids.into_iter().map(|xid| view(ledger, admf, xid)).collect()
        })
    }

    /// Makes a destination, or changes one.
    ///
    /// # Errors
    ///
    /// It is there, or is not; the administration function is not registered for the agency; or tasks name
    /// it, and it would be another agency's.
    pub fn set_destination(
        &mut self,
        admf: &AdmfSession,
        transaction: Uuid,
        did: Uuid,
        destination: Destination,
        modifies: bool,
        clock: Nanos,
    ) -> Result<(), Error> {
        let act = TaskAct::DestinationSet { did, modifies, destination };
        self.ledger.locked(|ledger| record(ledger, admf, transaction, act, clock))
    }

    /// Removes a destination, or all of them.
    ///
    /// # Errors
    ///
    /// It is not there, or a task names one.
    pub fn remove_destinations(
        &mut self,
        admf: &AdmfSession,
        transaction: Uuid,
        did: Option<Uuid>,
        clock: Nanos,
    ) -> Result<(), Error> {
        let act = TaskAct::DestinationRemoved { did };
        self.ledger.locked(|ledger| record(ledger, admf, transaction, act, clock))
    }

    /// The destinations of an administration function. That they were looked at is an act.
    ///
    /// # Errors
    ///
    /// It cannot be recorded.
    pub fn destinations(
        &mut self,
        admf: &AdmfSession,
        why: &str,
        clock: Nanos,
    ) -> Result<Vec<(Uuid, Destination)>, Error> {
        self.ledger.locked(|ledger| {
            looked(ledger, admf, Look::List, why, clock)?;
            Ok(ledger.state.admfs.destinations_of(&admf.identifier))
        })
    }

    /// One destination of an administration function, as it names it in a task. It is no act.
    ///
    /// # Errors
    ///
    /// It is not there.
    pub fn destination(&mut self, admf: &AdmfSession, did: Uuid) -> Result<Destination, Error> {
        self.ledger.locked(|ledger| Ok(ledger.state.admfs.destination(&admf.identifier, did)?.clone()))
    }
}

/// The warrant of a task.
fn warrant_of(
    ledger: &Ledger,
    admf: &NewAdmf,
    task: &NewTask,
    case: String,
    begins: Nanos,
) -> Result<NewWarrant, Error> {
    let did = task.content.destinations.first().ok_or(Refused::NoDestination)?;
    let agency = ledger.state.admfs.destination(&admf.identifier, *did)?.agency.clone();
    let begins = task.begins.unwrap_or(begins);
    let missing = Refused::Field { field: "end", problem: "it is missing, and the ADMF has no longest time" };
    let ends = task.ends.or_else(|| admf.longest().map(|longest| begins + longest)).ok_or(missing)?;
    let warrant = NewWarrant {
        liid: task.liid.clone(),
        case_number: case.into(),
        authority: admf.authority.clone(),
        legal_basis: admf.legal_basis.clone(),
        requester: admf.requester.clone(),
        authorisation_country: admf.authorisation_country,
        delivery_country: admf.delivery_country,
        agency,
        mediation_function: None,
        operator: admf.operator.clone(),
        begins,
        ends,
        delivers: task.delivers,
        payload_key: None,
        targets: task.targets.clone(),
    };
    Ok(warrant.normalised())
}

fn enter(
    ledger: &mut Ledger,
    admf: &AdmfSession,
    transaction: Uuid,
    task: NewTask,
    modifies: bool,
    warrant: NewWarrant,
    clock: Nanos,
) -> Result<Provisioned, Error> {
    let id = ledger.state.next_id();
    let (xid, warrant) = (task.xid, Box::new(warrant));
    let act = TaskAct::Entered { id, xid, modifies, warrant, content: task.content };
    record(ledger, admf, transaction, act, clock)?;
    let is_approved = ledger.state.warrants.get(&id).is_some_and(|warrant| warrant.approved_at.is_some());
    Ok(if is_approved { Provisioned::Approved } else { Provisioned::Waits })
}

fn record(
    ledger: &mut Ledger,
    admf: &AdmfSession,
    transaction: Uuid,
    act: TaskAct,
    clock: Nanos,
) -> Result<(), Error> {
    let by = By::Admf(admf.identifier.clone());
    ledger.record(by, What::Task { transaction, act }, clock).map(drop)
}

fn looked(ledger: &mut Ledger, admf: &AdmfSession, at: Look, why: &str, clock: Nanos) -> Result<(), Error> {
    let by = By::Admf(admf.identifier.clone());
    ledger.record(by, What::Looked { at, why: why.into() }, clock).map(drop)
}

fn view(ledger: &Ledger, admf: &AdmfSession, xid: Uuid) -> Result<TaskView, Error> {
    let task = ledger.state.task(&admf.identifier, xid).ok_or(Refused::NoTask)?;
    let warrant = task.present.clone();
    let is_open = |pending: &Warrant| !pending.is_over(ledger.latest);
    let is_modification_pending = task.pending.is_some_and(is_open) || warrant.pending_extension().is_some();
    Ok(TaskView { warrant, is_modification_pending, at: ledger.latest })
}

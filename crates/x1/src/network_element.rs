//! What requests do.

use std::sync::{Mutex, PoisonError};

use ringtap_model::Nanos;
use ringtap_warrant::{AdmfSession, Destination, Error, Provisioned, Refused, Register, TaskView, Uuid};

use crate::answer::{Content, DestinationView, ElementStatus, Response, document, top_level_error};
use crate::fault::{self, Fault};
use crate::figures::{Figures, Function, TaskFigures};
use crate::message::{
    Delivery, DestinationDetails, KnownDestination, Message, Request, TaskDetails, messages,
};
use crate::pace::Pace;
use crate::xml;

/// The network element that an administration function provisions.
pub struct NetworkElement {
    identifier: String,
    functions: Vec<Function>,
    figures: Box<dyn Figures>,
    pace: Pace,
    /// When it was recorded last that a certificate was refused.
    refused: Mutex<Option<Nanos>>,
}

/// What a request is answered.
pub struct Answer {
    /// A document.
    pub body: String,
    /// The register has failed: it has to be opened again.
    pub has_register_failed: bool,
}

/// Who asks, and in which transaction.
struct Asking<'a> {
    register: &'a mut Register,
    admf: &'a AdmfSession,
    transaction: Uuid,
    clock: Nanos,
    /// For the record.
    why: String,
}

impl NetworkElement {
    /// With that `neIdentifier`, which delivers to those functions.
    pub fn new(identifier: String, functions: Vec<Function>, figures: Box<dyn Figures>) -> Self {
        Self { identifier, functions, figures, pace: Pace::default(), refused: Mutex::default() }
    }

    /// Does what a request asks for, message by message, and answers it. `certificate` is the SHA-256 of the
    /// client's certificate, as hex digits.
    pub fn answer(&self, register: &mut Register, certificate: &str, body: &[u8], clock: Nanos) -> Answer {
        let admf = match register.admf_of_certificate(certificate) {
            Ok(admf) => admf,
            Err(_) => {
                return Answer {
                    body: top_level_error(NOBODY, &self.identifier, clock),
                    has_register_failed: true,
                };
            }
        };
        let name = admf.as_ref().map_or(NOBODY, AdmfSession::identifier);
        let refused = || top_level_error(name, &self.identifier, clock);
        let Ok(root) = xml::read(body) else {
            return Answer { body: refused(), has_register_failed: false };
        };
        let Ok(messages) = messages(&root) else {
            return Answer { body: refused(), has_register_failed: false };
        };
        let mut has_register_failed = false;
        let responses: Vec<Response> = messages
            .iter()
            .map(|message| {
                let done = self.message(register, admf.as_ref(), message, clock);
                let content = done.map_err(|refused| match refused {
                    Refusal::Fault(fault) => fault,
                    Refusal::Register => {
                        has_register_failed = true;
                        let text = "the register cannot be used now: nothing was done";
                        Fault::new(fault::GENERIC, text)
                    }
                });
                Response::new(&message.header, message.kind, content)
            })
            .collect();
        Answer { body: document(&responses, &self.identifier, clock), has_register_failed }
    }

    fn message(
        &self,
        register: &mut Register,
        admf: Option<&AdmfSession>,
        message: &Message<'_>,
        clock: Nanos,
    ) -> Result<Content, Refusal> {
        let header = &message.header;
        let Some(admf) = admf.filter(|admf| admf.identifier() == header.admf) else {
            self.record_refused(register, &header.admf, clock);
            let text = "the certificate is not one that is registered for this ADMF";
            return Err(Fault::new(fault::CERTIFICATE, text).into());
        };
        if header.ne != self.identifier {
            return Err(Fault::new(fault::NE, "this is another network element").into());
        }
        if !header.is_supported() {
            return Err(Fault::new(fault::VERSION, "version 1 is supported: v1.x.y").into());
        }
        let request = message.request()?;
        if !request.is_no_act() && !self.pace.allows(admf.identifier(), clock) {
            let text = "too many messages: five a second are done, and a thousand at once";
            return Err(Fault::new(fault::GENERIC, text).into());
        }
        let kind = message.kind.unwrap_or_default();
        let transaction = header.transaction;
        let why = format!("X1 {kind}, transaction {transaction}");
        let mut asking = Asking { register, admf, transaction, clock, why };
        self.request(&mut asking, request)
    }

    fn request(&self, asking: &mut Asking<'_>, request: Request) -> Result<Content, Refusal> {
        let done = Ok(Content::Ok { is_complete: true });
        let Asking { register, admf, transaction, clock, why } = asking;
        let (transaction, clock) = (*transaction, *clock);
        match request {
            Request::Ping | Request::Keepalive => done,
            Request::ActivateTask(task) => self.provision(asking, *task, false),
            Request::ModifyTask(task) => self.provision(asking, *task, true),
            Request::DeactivateTask(xid) => {
                let ended = register.deactivate_tasks(admf, transaction, Some(xid), clock);
                ended.map_err(|error| refusal(error, fault::DEACTIVATE)).and(done)
            }
            Request::DeactivateAllTasks => {
                let ended = register.deactivate_tasks(admf, transaction, None, clock);
                ended.map_err(|error| refusal(error, fault::DEACTIVATE_ALL)).and(done)
            }
            Request::GetTaskDetails(xid) => {
                let task = register.task(admf, xid, why, clock);
                let task = task.map_err(|error| refusal(error, fault::GENERIC))?;
                Ok(Content::Task(Box::new(self.with_figures(task))))
            }
            Request::GetAllTaskDetails => Ok(Content::Tasks(self.tasks(asking)?)),
            Request::CreateDestination(details) => self.set_destination(asking, details, false),
            Request::ModifyDestination(details) => self.set_destination(asking, details, true),
            Request::RemoveDestination(did) => {
                let removed = register.remove_destinations(admf, transaction, Some(did), clock);
                removed.map_err(|error| refusal(error, fault::REMOVE_DESTINATION)).and(done)
            }
            Request::RemoveAllDestinations => {
                let removed = register.remove_destinations(admf, transaction, None, clock);
                removed.map_err(|error| refusal(error, fault::REMOVE_ALL_DESTINATIONS)).and(done)
            }
            Request::GetDestinationDetails(did) => {
                let all = self.destinations(asking)?;
                let own = all.into_iter().find(|destination| destination.details.did == did);
                let none = || Fault::new(fault::NO_DID, Refused::NoDestination.to_string());
                Ok(Content::Destination(own.ok_or_else(none)?))
            }
            Request::GetAllDestinationDetails => Ok(Content::Destinations(self.destinations(asking)?)),
            Request::GetAllGenericObjectDetails => Ok(Content::NoObjects),
            Request::GetNeStatus => Ok(Content::Status(ElementStatus(self.figures.faults()))),
            Request::GetAllDetails => {
                let (tasks, destinations) = (self.tasks(asking)?, self.destinations(asking)?);
                Ok(Content::All(ElementStatus(self.figures.faults()), tasks, destinations))
            }
            Request::ListAllDetails => {
                let tasks = register.tasks(admf, why, clock);
                let tasks = tasks.map_err(|error| refusal(error, fault::GENERIC))?;
                let xid = |view: &TaskView| view.warrant.task.as_ref().map(|task| task.xid);
                let xids = tasks.iter().filter_map(xid).collect();
                let dids = self.destinations(asking)?;
                Ok(Content::List(xids, dids.iter().map(|destination| destination.details.did).collect()))
            }
        }
    }

    fn provision(
        &self,
        asking: &mut Asking<'_>,
        task: TaskDetails,
        modifies: bool,
    ) -> Result<Content, Refusal> {
        let generic = if modifies { fault::MODIFY } else { fault::ACTIVATE };
        self.check_destinations(asking, &task)?;
        let Asking { register, admf, transaction, clock, .. } = asking;
        let provisioned = match modifies {
            false => register.activate_task(admf, *transaction, task.task(), *clock),
            true => register.modify_task(admf, *transaction, task.task(), *clock),
        };
        let provisioned = provisioned.map_err(|error| refusal(error, generic))?;
        Ok(Content::Ok { is_complete: provisioned == Provisioned::Approved })
    }

    /// Its destinations are there, are of one agency, and take what it delivers.
    fn check_destinations(&self, asking: &mut Asking<'_>, task: &TaskDetails) -> Result<(), Refusal> {
        let (mut agency, mut iri, mut content) = (None, false, false);
        for did in &task.destinations {
            let destination = asking.register.destination(asking.admf, *did);
            let destination = destination.map_err(|error| refusal(error, fault::GENERIC))?;
            let known = known(&destination)?;
            if *agency.get_or_insert_with(|| destination.agency.clone()) != destination.agency {
                let text = "the destinations of a task have to be of one agency";
                return Err(Fault::new(fault::SEVERAL_DESTINATIONS, text).into());
            }
            if self.agency_at(&known).as_deref() != agency.as_deref() {
                let text = "the operator delivers to this destination no longer";
                return Err(Fault::new(fault::DELIVERY, text).into());
            }
            (iri, content) = (iri || known.delivery.iri(), content || known.delivery.content());
        }
        let delivery = task.delivery();
        if delivery.iri() && !iri || delivery.content() && !content {
            let text = "the destinations do not take what the task delivers";
            return Err(Fault::new(fault::DELIVERY, text).into());
        }
        Ok(())
    }

    fn set_destination(
        &self,
        asking: &mut Asking<'_>,
        details: DestinationDetails,
        modifies: bool,
    ) -> Result<Content, Refusal> {
        let generic = if modifies { fault::MODIFY_DESTINATION } else { fault::CREATE_DESTINATION };
        let agency = self.agency_at(&details.known).ok_or_else(|| {
            Fault::new(
                generic,
                "the operator does not deliver to this address: it has to be a mediation function's",
            )
        })?;
        // Serialising texts cannot fail.
        let text = serde_json::to_string(&details.known).unwrap_or_default();
        let destination = Destination { agency, details: text.into() };
        let Asking { register, admf, transaction, clock, .. } = asking;
        let set = register.set_destination(admf, *transaction, details.did, destination, modifies, *clock);
        set.map_err(|error| refusal(error, generic))?;
        Ok(Content::Ok { is_complete: true })
    }

    /// Whose mediation function takes that at an address.
    fn agency_at(&self, known: &KnownDestination) -> Option<String> {
        let is_at = |function: &&Function| {
            let (hi2, hi3) = (function.hi2 == Some(known.address), function.hi3 == Some(known.address));
            match known.delivery {
                Delivery::X2Only => hi2,
                Delivery::X3Only => hi3,
                Delivery::X2andX3 => hi2 && hi3,
            }
        };
        self.functions.iter().find(is_at).map(|function| function.agency.clone())
    }

    fn tasks(&self, asking: &mut Asking<'_>) -> Result<Vec<(TaskView, TaskFigures)>, Refusal> {
        let Asking { register, admf, clock, why, .. } = asking;
        let tasks = register.tasks(admf, why, *clock).map_err(|error| refusal(error, fault::GENERIC))?;
        if tasks.len() > MOST_TASKS {
            let text = "there are more than 2,000 tasks: use ListAllDetails and GetTaskDetails";
            return Err(Fault::new(fault::GENERIC, text).into());
        }
        Ok(tasks.into_iter().map(|task| self.with_figures(task)).collect())
    }

    fn with_figures(&self, task: TaskView) -> (TaskView, TaskFigures) {
        // Before it begins, figures with its LIID are another one's.
        let figures = match task.warrant.begun {
            Some(_) => self.figures.task(&task.warrant.entered.liid),
            None => TaskFigures::default(),
        };
        (task, figures)
    }

    fn destinations(&self, asking: &mut Asking<'_>) -> Result<Vec<DestinationView>, Refusal> {
        let Asking { register, admf, clock, why, .. } = asking;
        let all = register.destinations(admf, why, *clock).map_err(|error| refusal(error, fault::GENERIC))?;
        all.into_iter()
            .map(|(did, destination)| {
                let known = known(&destination)?;
                let figures = self.figures.delivery(&destination.agency);
                let fails = |connected: Option<bool>| connected == Some(false);
                let is_connected = !(known.delivery.iri() && fails(figures.hi2)
                    || known.delivery.content() && fails(figures.hi3));
                Ok(DestinationView { details: DestinationDetails { did, known }, is_connected })
            })
            .collect()
    }

    /// An act, but not more than one a minute: whoever has a certificate of the authorities could fill the
    /// register otherwise.
    fn record_refused(&self, register: &mut Register, identifier: &str, clock: Nanos) {
        let mut last = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| clock.since(last) >= BETWEEN) {
            *last = Some(clock);
            // What cannot be recorded is refused all the same.
            let _ = register.admf_refused(identifier, clock);
        }
    }
}

/// Why a message is not done.
enum Refusal {
    Fault(Fault),
    /// The register cannot be used.
    Register,
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

fn known(destination: &Destination) -> Result<KnownDestination, Fault> {
    let wrong = |_| Fault::new(fault::GENERIC, "a destination is of another version of this network element");
    serde_json::from_str(&destination.details).map_err(wrong)
}

/// What the register refuses; `generic` is the code for what has none of its own.
fn refusal(error: Error, generic: u16) -> Refusal {
    let Error::Refused(refused) = error else { return Refusal::Register };
    let code = match refused {
        Refused::XidUsed => fault::XID_EXISTS,
        Refused::NoTask => fault::NO_XID,
        Refused::DestinationUsed => fault::DID_EXISTS,
        Refused::NoDestination => fault::NO_DID,
        Refused::NoAdmf => fault::CERTIFICATE,
        Refused::DestinationInUse if generic == fault::REMOVE_ALL_DESTINATIONS => fault::DESTINATIONS_IN_USE,
        Refused::DestinationInUse if generic == fault::REMOVE_DESTINATION => fault::DESTINATION_IN_USE,
        _ => generic,
    };
    let text = match refused {
        Refused::Field { field: "end", .. } => "`EndTime` is missing: a task has to end".to_owned(),
        Refused::LiidUsed => "another task or warrant that has not ended has this LIID".to_owned(),
        Refused::Over => "the task has ended: deactivate it, and activate another one".to_owned(),
        Refused::Period => "a task has to end after it begins, and later than now".to_owned(),
        refused => refused.to_string(),
    };
    Refusal::Fault(Fault::new(code, text))
}

/// The ADMF of those that are not registered.
const NOBODY: &str = "unknown";
/// Tasks of one response.
const MOST_TASKS: usize = 2_000;
/// Between two acts about certificates that were refused.
const BETWEEN: Nanos = Nanos::from_secs(60);

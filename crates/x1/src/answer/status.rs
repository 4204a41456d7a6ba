//! How tasks, destinations and the network element are (clause 6.4).

use ringtap_warrant::{Status, TaskView};

use crate::fault::{Fault, GENERIC, NOT_TERMINATING, TERMINATING, WARNING};
use crate::figures::TaskFigures;
use crate::message::{DestinationDetails, KnownDetails};
use crate::time;
use crate::xml::Writer;

/// A destination, and whether product arrives there.
pub(crate) struct DestinationView {
    pub(crate) details: DestinationDetails,
    pub(crate) is_connected: bool,
}

/// What is wrong with the network element, in words.
pub(crate) struct ElementStatus(pub(crate) Vec<String>);

/// Writes `taskResponseDetails`.
pub(super) fn write_task(task: &TaskView, figures: &TaskFigures, writer: &mut Writer) {
    let warrant = &task.warrant;
    let Some((of, known)) = KnownDetails::of(warrant) else { return };
    writer.with("taskResponseDetails", |writer| {
        known.write(of, warrant, writer);
        writer.with("taskStatus", |writer| {
            writer.leaf("provisioningStatus", provisioning(task));
            list_of_faults(&faults(task, figures), writer);
            if let Some(octets) = figures.content_octets {
                writer.leaf("amountOfX3Data", &octets.to_string());
            }
            let modified = warrant.last_extended().unwrap_or(warrant.entered_at);
            writer.leaf("timeOfLastModification", &time::print(modified));
        });
    });
}

fn provisioning(task: &TaskView) -> &'static str {
    match task.status() {
        Status::Draft => "awaitingProvisioning",
        _ if task.is_modification_pending => "awaitingProvisioning",
        Status::Withdrawn => "failed",
        Status::Ended if task.warrant.approved_at.is_none() => "failed",
        _ => "complete",
    }
}

fn faults(task: &TaskView, figures: &TaskFigures) -> Vec<Fault> {
    let mut faults = Vec::new();
    let is_approved = task.warrant.approved_at.is_some();
    match task.status() {
        Status::Draft => {
            faults.push(Fault::new(WARNING, "an officer of the operator has not approved it yet"))
        }
        Status::Withdrawn => faults.push(Fault::new(TERMINATING, "an officer of the operator has ended it")),
        Status::Ended if !is_approved => {
            faults.push(Fault::new(TERMINATING, "it ended before it was approved"))
        }
        Status::Ended => faults.push(Fault::new(TERMINATING, "its time is over")),
        _ if task.is_modification_pending => {
            let text =
                "a modification waits for an officer of the operator; meanwhile the task goes on as it was";
            faults.push(Fault::new(WARNING, text));
        }
        _ => {}
    }
    faults.extend(figures.missing.iter().map(|missing| Fault::new(NOT_TERMINATING, missing.clone())));
    faults
}

fn list_of_faults(faults: &[Fault], writer: &mut Writer) {
    writer.with("listOfFaults", |writer| {
        faults.iter().for_each(|fault| error_information(writer, "unresolvedFault", fault));
    });
}

pub(super) fn error_information(writer: &mut Writer, name: &str, fault: &Fault) {
    writer.with(name, |writer| {
        writer.leaf("errorCode", &fault.code.to_string());
        writer.leaf("errorDescription", &fault.text);
    });
}

impl DestinationView {
    /// Writes `destinationResponseDetails`.
    pub(super) fn write(&self, writer: &mut Writer) {
        let (status, faults) = match self.is_connected {
            true => ("activeAndWorking", vec![]),
            false => ("deliveryFault", vec![Fault::new(NOT_TERMINATING, "there is no connection to it")]),
        };
        writer.with("destinationResponseDetails", |writer| {
            self.details.write(writer);
            writer.with("destinationStatus", |writer| {
                writer.leaf("destinationDeliveryStatus", status);
                list_of_faults(&faults, writer);
            });
        });
    }
}

impl ElementStatus {
    /// Writes `neStatusDetails`.
    pub(super) fn write(&self, writer: &mut Writer) {
        let faults: Vec<Fault> = self.0.iter().map(|text| Fault::new(GENERIC, text.clone())).collect();
        writer.with("neStatusDetails", |writer| {
            writer.leaf("neStatus", if faults.is_empty() { "OK" } else { "Faults" });
            list_of_faults(&faults, writer);
        });
    }
}

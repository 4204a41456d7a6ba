//! A response to each message (clause 6.1), or one to a request that is none.

use ringtap_model::Nanos;
use ringtap_warrant::{TaskView, Uuid};

use super::status::{DestinationView, ElementStatus, error_information, write_task};
use crate::fault::Fault;
use crate::figures::TaskFigures;
use crate::message::Header;
use crate::time;
use crate::xml::Writer;

/// What one message is answered.
pub(crate) struct Response {
    pub(crate) admf: String,
    pub(crate) transaction: Uuid,
    /// The type of the message without `Request`.
    pub(crate) kind: Option<&'static str>,
    pub(crate) content: Result<Content, Fault>,
}

/// What is answered of what was asked.
pub(crate) enum Content {
    /// Done, and whether it counts already.
    Ok {
        is_complete: bool,
    },
    Task(Box<(TaskView, TaskFigures)>),
    Tasks(Vec<(TaskView, TaskFigures)>),
    Destination(DestinationView),
    Destinations(Vec<DestinationView>),
    Status(ElementStatus),
    All(ElementStatus, Vec<(TaskView, TaskFigures)>, Vec<DestinationView>),
    List(Vec<Uuid>, Vec<Uuid>),
    /// There is no list of generic objects where they are not supported.
    NoObjects,
}

impl Response {
    pub(crate) fn new(header: &Header, kind: Option<&'static str>, content: Result<Content, Fault>) -> Self {
        Self { admf: header.admf.clone(), transaction: header.transaction, kind, content }
    }
}

/// The document with all responses.
pub(crate) fn document(responses: &[Response], ne: &str, now: Nanos) -> String {
    let mut writer = Writer::document();
    writer.root("X1Response");
    for response in responses {
        let kind = response.kind.unwrap_or(UNKNOWN);
        let of = match &response.content {
            Ok(_) => format!("{kind}Response"),
            Err(_) => "ErrorResponse".to_owned(),
        };
        writer.open_of("x1ResponseMessage", &of);
        header(&mut writer, &response.admf, ne, now);
        writer.leaf("x1TransactionId", &response.transaction.to_string());
        match &response.content {
            Ok(content) => content.write(&mut writer),
            Err(fault) => {
                writer.leaf("requestMessageType", kind);
                error_information(&mut writer, "errorInformation", fault);
            }
        }
        writer.close("x1ResponseMessage");
    }
    writer.close("X1Response");
    writer.finish()
}

/// The document for a request of which not even the headers are right.
pub(crate) fn top_level_error(admf: &str, ne: &str, now: Nanos) -> String {
    let mut writer = Writer::document();
    writer.root("X1TopLevelErrorResponse");
    header(&mut writer, admf, ne, now);
    writer.close("X1TopLevelErrorResponse");
    writer.finish()
}

fn header(writer: &mut Writer, admf: &str, ne: &str, now: Nanos) {
    writer.leaf("admfIdentifier", admf);
    writer.leaf("neIdentifier", ne);
    writer.leaf("messageTimestamp", &time::print(now));
    writer.leaf("version", VERSION);
}

impl Content {
    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Ok { is_complete: true } => writer.leaf("oK", "AcknowledgedAndCompleted"),
            Self::Ok { is_complete: false } => writer.leaf("oK", "Acknowledged"),
            Self::Task(task) => write_task(&task.0, &task.1, writer),
            Self::Tasks(tasks) => list_of_tasks(tasks, writer),
            Self::Destination(destination) => destination.write(writer),
            Self::Destinations(destinations) => list_of_destinations(destinations, writer),
            Self::Status(status) => status.write(writer),
            Self::All(status, tasks, destinations) => {
                status.write(writer);
                list_of_tasks(tasks, writer);
                list_of_destinations(destinations, writer);
            }
            Self::List(xids, dids) => {
                let each = |writer: &mut Writer, name: &str, ids: &[Uuid]| {
                    ids.iter().for_each(|id| writer.leaf(name, &id.to_string()));
                };
                writer.with("ListOfXIDs", |writer| each(writer, "xId", xids));
                writer.with("ListOfDIDs", |writer| each(writer, "dId", dids));
            }
            Self::NoObjects => {}
        }
    }
}

fn list_of_tasks(tasks: &[(TaskView, TaskFigures)], writer: &mut Writer) {
    writer.with("listOfTaskResponseDetails", |writer| {
        tasks.iter().for_each(|(task, figures)| write_task(task, figures, writer));
    });
}

fn list_of_destinations(destinations: &[DestinationView], writer: &mut Writer) {
    writer.with("listOfDestinationResponseDetails", |writer| {
        destinations.iter().for_each(|destination| destination.write(writer));
    });
}

/// The version of the standard that responses are written by.
const VERSION: &str = "v1.13.1";
/// How an error names the type of a message that the standard does not have.
const UNKNOWN: &str = "ExtendedRequestMessageType";

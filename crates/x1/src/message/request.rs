//! What a request asks for.

use ringtap_warrant::Uuid;

use super::destination::DestinationDetails;
use super::header::Header;
use super::task::TaskDetails;
use crate::fault::{ACTIVATE, Fault, MODIFY, UNSUPPORTED};
use crate::xml::{Element, Fields};

/// One message of a request.
pub(crate) struct Message<'a> {
    pub(crate) header: Header,
    /// The name of its type without `Request`, as far as the standard has it.
    pub(crate) kind: Option<&'static str>,
    element: &'a Element,
}

/// What a message asks for.
#[derive(Debug)]
pub(crate) enum Request {
    Ping,
    Keepalive,
    ActivateTask(Box<TaskDetails>),
    ModifyTask(Box<TaskDetails>),
    DeactivateTask(Uuid),
    DeactivateAllTasks,
    GetTaskDetails(Uuid),
    GetAllTaskDetails,
    CreateDestination(DestinationDetails),
    ModifyDestination(DestinationDetails),
    RemoveDestination(Uuid),
    RemoveAllDestinations,
    GetDestinationDetails(Uuid),
    GetAllDestinationDetails,
    GetAllGenericObjectDetails,
    GetNeStatus,
    GetAllDetails,
    ListAllDetails,
}

impl Request {
    /// Whether it neither changes nor looks at anything in the register.
    pub(crate) fn is_no_act(&self) -> bool {
        matches!(self, Self::Ping | Self::Keepalive | Self::GetNeStatus | Self::GetAllGenericObjectDetails)
    }
}

/// The messages of a document, whose headers are right.
pub(crate) fn messages(root: &Element) -> Result<Vec<Message<'_>>, Fault> {
    if !root.is("X1Request") {
        return Err(Fault::schema("it is no `X1Request`"));
    }
    let mut messages = Vec::new();
    for element in &root.children {
        if !element.is("x1RequestMessage") || messages.len() >= MOST_MESSAGES {
            return Err(Fault::schema("it has other elements than messages, or more than 64"));
        }
        let header = Header::read(&mut Fields::of(element))?;
        let name = element.kind.as_deref().and_then(|kind| kind.strip_suffix("Request"));
        let kind = name.and_then(|name| KINDS.into_iter().find(|kind| *kind == name));
        messages.push(Message { header, kind, element });
    }
    if messages.is_empty() { Err(Fault::schema("it has no message")) } else { Ok(messages) }
}

impl Message<'_> {
    /// What it asks for.
    pub(crate) fn request(&self) -> Result<Request, Fault> {
        let mut fields = Fields::of(self.element);
        // It was right before.
        Header::read(&mut fields)?;
        let request = match self.kind {
            Some("Ping") => Request::Ping,
            Some("Keepalive") => Request::Keepalive,
            Some("ActivateTask") => {
                let task = TaskDetails::read(fields.required("taskDetails")?, ACTIVATE)?;
                Request::ActivateTask(Box::new(task))
            }
            Some("ModifyTask") => {
                let task = TaskDetails::read(fields.required("taskDetails")?, MODIFY)?;
                Request::ModifyTask(Box::new(task))
            }
            Some("DeactivateTask") => Request::DeactivateTask(fields.uuid("xId")?),
            Some("DeactivateAllTasks") => Request::DeactivateAllTasks,
            Some("GetTaskDetails") => Request::GetTaskDetails(fields.uuid("xId")?),
            Some("GetAllTaskDetails") => Request::GetAllTaskDetails,
            Some("CreateDestination") => {
                Request::CreateDestination(DestinationDetails::read(fields.required("destinationDetails")?)?)
            }
            Some("ModifyDestination") => {
                Request::ModifyDestination(DestinationDetails::read(fields.required("destinationDetails")?)?)
            }
            Some("RemoveDestination") => Request::RemoveDestination(fields.uuid("dId")?),
            Some("RemoveAllDestinations") => Request::RemoveAllDestinations,
            Some("GetDestinationDetails") => Request::GetDestinationDetails(fields.uuid("dId")?),
            Some("GetAllDestinationDetails") => Request::GetAllDestinationDetails,
            Some("GetAllGenericObjectDetails") => {
                fields.optional("objectType");
                Request::GetAllGenericObjectDetails
            }
            Some("GetNEStatus") => Request::GetNeStatus,
            Some("GetAllDetails") => Request::GetAllDetails,
            Some("ListAllDetails") => Request::ListAllDetails,
            _ => return Err(Fault::new(UNSUPPORTED, "this network element does not support such requests")),
        };
        fields.end()?;
        Ok(request)
    }
}

/// `RequestMessageType` of the standard.
const KINDS: [&str; 27] = [
    "ActivateTask",
    "ModifyTask",
    "DeactivateTask",
    "DeactivateAllTasks",
    "GetTaskDetails",
    "CreateDestination",
    "ModifyDestination",
    "RemoveDestination",
    "RemoveAllDestinations",
    "GetDestinationDetails",
    "GetNEStatus",
    "GetAllDetails",
    "GetAllTaskDetails",
    "GetAllDestinationDetails",
    "GetAllGenericObjectDetails",
    "ListAllDetails",
    "ReportTaskIssue",
    "ReportDestinationIssue",
    "ReportNEIssue",
    "Ping",
    "Keepalive",
    "CreateObject",
    "ModifyObject",
    "GetObject",
    "DeleteObject",
    "ListObjectsOfType",
    "DeleteAllObjects",
];
const MOST_MESSAGES: usize = 64;

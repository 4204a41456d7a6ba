//! Responses.

mod response;
mod status;

pub(crate) use response::{Content, Response, document, top_level_error};
pub(crate) use status::{DestinationView, ElementStatus};

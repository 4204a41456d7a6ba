//! Requests.

mod destination;
mod header;
mod identifier;
mod request;
mod task;

pub(crate) use destination::{Delivery, DestinationDetails, KnownDestination};
pub(crate) use header::Header;
pub(crate) use request::{Message, Request, messages};
pub(crate) use task::{KnownDetails, TaskDetails};

//! Requests of authorities for data that is retained, and what became of them.

mod ages;
mod request;
#[expect(clippy::module_inception, reason = "the requests are what this folder is about")]
mod requests;
mod statistics;
mod subject;

pub use ages::{DataAges, MONTH, MONTHS};
pub use request::{
    Answer, Category, GivenAnswer, NewRequest, Refusal, RefusalReason, Request, RequestStatus,
};
pub(crate) use requests::{RequestAct, Requests};
pub use statistics::{RequestStatistics, Spread};
pub use subject::{NotASubject, Subject};

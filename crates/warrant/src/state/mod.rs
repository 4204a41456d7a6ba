//! What a register is: acts, and the state that they give, without any file.

mod act;
mod admfs;
mod people;
mod produced;
mod requests;
#[expect(clippy::module_inception, reason = "the state is what this folder is about")]
mod state;
mod task;
mod tasks;
mod text;
mod warrant;

pub use act::Look;
pub(crate) use act::{Act, By, What};
pub use admfs::{Admf, NewAdmf};
pub(crate) use admfs::{AdmfAct, TaskAct};
pub use people::Role;
pub(crate) use people::{Person, PersonChange, PersonEntry};
pub use produced::ProducedFile;
pub(crate) use requests::RequestAct;
pub use requests::{
    Answer, Category, DataAges, GivenAnswer, MONTH, MONTHS, NewRequest, NotASubject, Refusal, RefusalReason,
    Request, RequestStatistics, RequestStatus, Spread, Subject,
};
pub(crate) use state::State;
pub use task::{Destination, Task, TaskContent};
pub(crate) use tasks::is_part;
pub use warrant::{Extension, NewWarrant, Status, StopProof, Warrant};

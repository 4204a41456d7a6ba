//! What a register is: acts, and the state that they give, without any file.

mod act;
mod people;
#[expect(clippy::module_inception, reason = "the state is what this folder is about")]
mod state;
mod warrant;

pub(crate) use act::{Act, By, What};
pub use act::{Look, ProducedFile};
pub use people::Role;
pub(crate) use people::{Person, PersonChange, PersonEntry};
pub(crate) use state::State;
pub use warrant::{Extension, NewWarrant, Status, StopProof, Warrant};

//! The register: a directory that several processes use at once.

mod acts;
mod admfs;
mod ledger;
mod list;
mod passphrase;
#[expect(clippy::module_inception, reason = "the register is what this folder is about")]
mod register;
mod requests;
mod session;
mod tasks;
#[cfg(test)]
mod tests;
mod verify;

pub use acts::{ActQuery, ActView};
pub use admfs::{AdmfSession, AdmfView};
pub use list::{ListQuery, WarrantPage};
pub use passphrase::check_passphrase;
pub use register::{PersonView, Register, Standing};
pub use session::Session;
pub use tasks::{NewTask, Provisioned, TaskView};
pub use verify::{Fault, Head, Verified, verify};

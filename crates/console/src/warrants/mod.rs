//! The register of warrants in a browser: for officers and auditors, who are people of the register. The
//! console's own people, its administrators among them, have no part in it.
//!
//! INVARIANT: nothing here writes to the log, the audit log or the metrics of the console.

mod problems;
mod register;
mod sessions;
mod waits;

pub(crate) use register::{Acting, WarrantPages};
pub(crate) use sessions::{IDLE, Known};

//! Administration functions (ADMFs), which provision tasks over X1.

mod admf;
#[expect(clippy::module_inception, reason = "the ADMFs are what this folder is about")]
mod admfs;
mod task_act;

pub use admf::{Admf, NewAdmf};
pub(crate) use admfs::{AdmfAct, Admfs};
pub(crate) use task_act::TaskAct;

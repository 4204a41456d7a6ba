//! One module for each command: its arguments, and how it calls the crates below.

pub(crate) mod analyze;
pub(crate) mod anonymise;
pub(crate) mod bench;
mod bench_tables;
pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod clock;
pub(crate) mod compare;
mod control;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod extract;
pub(crate) mod forget;
pub(crate) mod generate;
pub(crate) mod hold;
pub(crate) mod holds;
pub(crate) mod keep;
pub(crate) mod key;
pub(crate) mod live;
pub(crate) mod mos;
pub(crate) mod pause;
pub(crate) mod release;
pub(crate) mod resume;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod verify;

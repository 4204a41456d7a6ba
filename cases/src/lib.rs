//! Runs captures through the engine, for the tests of this folder.
//!
//! Not here: a program. The one invariant: a test sees exactly what the sink of the engine saw, in its order.
//!
//! | module | holds |
//! |---|---|
//! | [`identities`] | runs a capture and collects its sessions of subscribers |
//! | [`run`] | runs a capture and collects its records |
//! | [`shared`] | the reference captures, if they are available |
//! | [`story`] | the golden cases: captures built here, with expected records worked out by hand |
#![forbid(unsafe_code)]

pub mod identities;
pub mod run;
pub mod shared;
pub mod story;

//! Runs captures through the engine, for the tests of this folder.
//!
//! Not here: a program. The one invariant: a test sees exactly what the sink of the engine saw, in its order.
//!
//! | module | holds |
//! |---|---|
//! | [`run`] | runs a capture and collects its records |
//! | [`shared`] | the reference captures, if they are available |
//! | [`story`] | the golden cases: captures built here, with expected records worked out by hand |
#![forbid(unsafe_code)]

pub mod run;
pub mod shared;
pub mod story;

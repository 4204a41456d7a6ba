//! Captures run through the engine, for the tests of this folder.
//!
//! Not here: a program. The one invariant: what a test sees is what the sink of the engine saw, in its order.
//!
//! | module | holds |
//! |---|---|
//! | [`run`] | a capture in, its records out |
//! | [`samples`] | records made up for tests, and comparison with golden files |
//! | [`shared`] | the reference captures, where they are at hand |
//! | [`story`] | the golden cases: captures made here, answers worked out by hand |
#![forbid(unsafe_code)]

pub mod run;
pub mod samples;
pub mod shared;
pub mod story;

//! Sessions of PPPoE from frames: cases, what a client alone cannot do, ceilings and a restart, and a model
//! that any order of frames agrees with.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod cases;
mod hostile;
mod model;
mod wire;

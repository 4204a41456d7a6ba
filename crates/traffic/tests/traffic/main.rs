//! The traffic as others see it: frames that make sense, and a truth that a recount confirms.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod made;
mod properties;
mod recount;

//! What orders get of traffic that the tests make.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod accesses;
mod calls;
mod files;
mod wire;

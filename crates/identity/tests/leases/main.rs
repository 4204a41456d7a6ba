//! Leases from messages: cases, ceilings and a restart, and a model that any order of messages agrees with.

mod cases;
mod messages;
mod model;

//! What orders get of traffic that the tests make.

mod accesses;
mod calls;
mod files;
mod wire;

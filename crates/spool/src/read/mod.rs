//! Reads packets back from segments.

pub(crate) mod catalogue;
pub(crate) mod follower;
pub(crate) mod known_chunks;
pub(crate) mod ordered;
pub(crate) mod owners;
pub(crate) mod reader;

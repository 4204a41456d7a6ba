//! Writes packets to segments: the ring, the packer and the disk thread.

pub(crate) mod chunk_writer;
pub(crate) mod disk;
pub(crate) mod growing;
pub(crate) mod job;
pub(crate) mod owner_keys;
pub(crate) mod packer;
pub(crate) mod ring;
pub(crate) mod series;
pub(crate) mod settings;
#[expect(unsafe_code, reason = "one thread writes where another will read")]
pub(crate) mod sys;
pub(crate) mod writer;

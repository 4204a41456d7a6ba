//! What a store writer is told when it is opened.

use std::path::PathBuf;

use ringtap_model::Nanos;

/// Where records go, and how many may wait.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// The day files.
    pub directory: PathBuf,
    /// Records that may wait in memory; a call and its streams count as one.
    pub queue: usize,
    /// Bytes of memory for pages of each open day file.
    pub cache: usize,
    /// The directory of the outbox: records that wait on disk.
    pub outbox: PathBuf,
    /// Bytes that the outbox may use.
    pub outbox_size: u64,
    /// The journal of calls in progress; `None` writes none.
    pub journal: Option<PathBuf>,
    /// How long what is kept.
    pub retain: Retain,
}

/// How long records are kept; for ever where it is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retain {
    /// Day files, from the end of their day.
    pub records: Nanos,
    /// Sessions of subscribers, from their end, or from when they were last heard of.
    pub sessions: Nanos,
}

impl Retain {
    /// Both for the same time.
    pub fn all(time: Nanos) -> Self {
        Self { records: time, sessions: time }
    }
}

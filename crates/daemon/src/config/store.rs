//! `[store]` and `[journal]`: where records go.

use std::path::PathBuf;

use ringtap_model::Nanos;
use ringtap_store::Retain;

use super::key::{Bounds, DAY, GIB, MIB, section};
use super::values::{Size, Span};

/// Where records go unless the configuration says otherwise.
pub fn default_records() -> PathBuf {
    "/var/lib/ringtap/records".into()
}

section! {
    /// Where records go.
    #[name = "store"]
    pub(crate) struct Store {
        /// Directory of the day files, which `ringtap calls --store` searches.
        #[accepts = "a path, such as \"/var/lib/ringtap/records\""]
        pub(crate) directory: PathBuf = default_records(),
        /// Records that may wait in memory for the disk; a call and its streams count as one. A record that
        /// finds no room is dropped and counted; workers never wait.
        #[bounds = Bounds::between(16, 4_000_000).unit("records")]
        pub(crate) queue: usize = 16_384,
        /// Memory for pages of each day file that is open, of which there are 8 at most: ids and numbers of
        /// the present two hours come in no order, so all of their part of the indexes is touched.
        #[bounds = Bounds::between(MIB, GIB)]
        pub(crate) cache: Size = Size(32 << 20),
        /// Directory of records that wait while the day files are slow, locked or unavailable. On another
        /// disk it also helps when that of the day files is full.
        #[accepts = "a path, such as \"/var/lib/ringtap/outbox\""]
        pub(crate) outbox: PathBuf = "/var/lib/ringtap/outbox".into(),
        /// Disk space that the outbox may use.
        #[bounds = Bounds::at_least(MIB)]
        pub(crate) outbox_size: Size = Size(1 << 30),
        /// Day files older than this are deleted, such as "90d". Zero keeps them for ever.
        #[live = true]
        #[bounds = Bounds::at_least(DAY).example("90d").zero("0s keeps records for ever")]
        pub(crate) retain: Span = Span(Nanos::ZERO),
        /// Sessions of subscribers are deleted so long after their end. Zero is as long as `retain`.
        #[live = true]
        #[bounds = Bounds::at_least(DAY).example("366d").zero("0s is as long as `retain`")]
        pub(crate) retain_sessions: Span = Span(Nanos::ZERO),
    }
}

impl Store {
    /// How long sessions are kept.
    pub(crate) fn sessions_retained(&self) -> Span {
        if self.retain_sessions.0 == Nanos::ZERO { self.retain } else { self.retain_sessions }
    }

    /// How long what is kept.
    pub(crate) fn retained(&self) -> Retain {
        Retain { records: self.retain.0, sessions: self.sessions_retained().0 }
    }
}

section! {
    /// The journal of calls in progress, from which calls are recorded that a kill or a power cut
    /// interrupted.
    #[name = "journal"]
    pub(crate) struct Journal {
        /// Write the journal.
        pub(crate) enabled: bool = true,
        /// File of the journal. Its size is bounded by the calls in progress, about 1 KiB each.
        #[accepts = "a path, such as \"/var/lib/ringtap/journal\""]
        pub(crate) path: PathBuf = "/var/lib/ringtap/journal".into(),
    }
}

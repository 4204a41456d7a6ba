//! Notes the heads of the spool's chains in the log.
//!
//! Whoever can write to the spool can put an older state of it back, with the heads of that time. The log is
//! elsewhere, or goes elsewhere: `ringtap verify --head` compares the spool with it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringtap_spool::{KnownHead, WriterStatus};

/// How often heads are noted that have changed.
const INTERVAL: Duration = Duration::from_secs(3600);

/// The heads of all workers' chains.
pub(crate) struct HeadLog {
    writers: Vec<Arc<WriterStatus>>,
    noted: Option<(Instant, Vec<KnownHead>)>,
}

impl HeadLog {
    pub(crate) fn new(writers: Vec<Arc<WriterStatus>>) -> Self {
        Self { writers, noted: None }
    }

    /// Notes the heads at the start, and once an hour.
    pub(crate) fn check(&mut self) {
        if self.noted.as_ref().is_none_or(|(at, _)| at.elapsed() >= INTERVAL) {
            self.note();
        }
    }

    /// Notes the heads unless they are as they were.
    pub(crate) fn note(&mut self) {
        let heads: Vec<KnownHead> = self.writers.iter().flat_map(|writer| writer.heads()).collect();
        let is_new = self.noted.as_ref().is_none_or(|(_, noted)| *noted != heads);
        if is_new && !heads.is_empty() {
            let heads: Vec<String> = heads.iter().map(ToString::to_string).collect();
            log::info!(target: "spool", "heads of the chains: {}", heads.join(", "));
        }
        self.noted = Some((Instant::now(), heads));
    }
}

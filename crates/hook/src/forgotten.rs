//! Calls whose packets were made unreadable by order.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ringtap_model::{Call, Recorded};
use ringtap_spool::{DELETION_LOG, LoggedDeletions, of_call};

/// Knows which calls were forgotten, from the spool's log of deletions.
#[derive(Debug, Default)]
pub(crate) struct Forgotten {
    /// None without a spool.
    spool: Option<PathBuf>,
    /// Bytes of the log when it was read last.
    length: u64,
    owners: HashSet<String>,
}

impl Forgotten {
    pub(crate) fn of(spool: Option<&Path>) -> Self {
        Self { spool: spool.map(Path::to_owned), ..Self::default() }
    }

    /// Whether the recording of a call was forgotten. Erased interception product is no reason: nothing that
    /// is delivered depends on it.
    ///
    /// # Errors
    ///
    /// The log cannot be read: nobody can say.
    pub(crate) fn has(&mut self, call: &Call) -> Result<bool, ringtap_spool::Error> {
        if call.recorded == Recorded::None {
            return Ok(false);
        }
        self.read()?;
        Ok(self.owners.contains(&format!("{:016x}", of_call(call.call_id.as_bytes()))))
    }

    fn read(&mut self) -> Result<(), ringtap_spool::Error> {
        let Some(spool) = &self.spool else { return Ok(()) };
        let length = std::fs::metadata(spool.join(DELETION_LOG)).map_or(0, |found| found.len());
        if length != self.length {
            let log = LoggedDeletions::read(spool, &[])?;
            let of_recordings = log.entries.into_iter().filter(|entry| entry.cases.is_empty());
            self.owners = of_recordings.flat_map(|entry| entry.owners).collect();
            self.length = length;
        }
        Ok(())
    }
}

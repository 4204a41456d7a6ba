//! Counts of what a worker recorded, lost and decided.

use ringtap_spool::WriterCounts;

/// Packets that a worker recorded and lost, and its decisions.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordingCounts {
    /// Counts of the spool writer.
    pub counts: WriterCounts,
    /// Packets that were not passed to the spool.
    pub left_out: u64,
    /// Packets that could not be written to disk.
    pub refused: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Write operations on disk.
    pub writes: u64,
    /// Segments begun.
    pub segments: u64,
    /// Disk operations that failed.
    pub failures: u64,
    /// Decisions about calls.
    pub decisions: Decisions,
}

impl RecordingCounts {
    /// Packets lost, by reason.
    pub fn lost(&self) -> [(&'static str, u64); 6] {
        let WriterCounts { lost_oversized, lost_disk, lost_stopped, .. } = self.counts;
        [
            ("oversized", lost_oversized),
            ("disk", lost_disk),
            ("refused", self.refused),
            ("stopped", lost_stopped),
            ("left_out", self.left_out),
            ("undecided", self.decisions.lost),
        ]
    }
}

/// Decisions of a worker about calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Calls by what is recorded of them, in the order of [`RecordingScope::ALL`].
    pub calls: [u64; 4],
    /// Packets dropped from memory before their call was decided.
    pub lost: u64,
    /// Calls that were on disk until their end and then erased.
    pub erased: u64,
    /// Calls whose recording lacks packets.
    pub incomplete: u64,
    /// Answered calls whose recording lacks one direction.
    pub one_way: u64,
}

//! Counts of what a worker recorded, lost and decided.

use ringtap_spool::WriterCounts;

/// Packets that a worker recorded and lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordingCounts {
    /// Counts of the spool's writer.
    pub counts: WriterCounts,
    /// Packets for which the spool had no slot.
    pub left_out: u64,
    /// Packets whose write failed.
    pub refused: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Write operations on disk.
    pub writes: u64,
    /// Segments started.
    pub segments: u64,
    /// Failed write operations.
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

/// Decisions of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Decided calls by scope, in the order of [`RecordingScope::ALL`].
    pub calls: [u64; 4],
    /// Packets dropped from memory while their decision was pending.
    pub lost: u64,
    /// Calls that were recorded until their end and erased.
    pub erased: u64,
    /// Calls with packets missing from their recording.
    pub incomplete: u64,
    /// Answered calls recorded without media in one direction or both.
    pub one_way: u64,
}

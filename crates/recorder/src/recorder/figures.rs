//! What a worker recorded, lost and decided.

use ringtap_spool::WriterCounts;

/// What a worker kept, and what it lost of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// What the spool's writer counted.
    pub counts: WriterCounts,
    /// Packets that were not given to the spool.
    pub left_out: u64,
    /// Packets that the disk refused.
    pub refused: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Write operations on disk.
    pub writes: u64,
    /// Segments begun.
    pub segments: u64,
    /// Operations that the disk refused.
    pub failures: u64,
    /// What was decided of calls.
    pub decisions: Decisions,
}

impl Figures {
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

/// What a worker decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Calls, by what is kept of them: in the order of [`RecordingScope::ALL`].
    pub calls: [u64; 4],
    /// Packets that went out of memory before it was known whether they may be kept.
    pub lost: u64,
    /// Calls that were on the disk until their end and are erased.
    pub erased: u64,
    /// Calls of whose recording packets are missing.
    pub incomplete: u64,
    /// Answered calls of which one direction is missing.
    pub one_way: u64,
}

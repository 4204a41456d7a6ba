//! Counts of what a worker recorded, lost and decided.

use ringtap_report::text::counted;
use ringtap_spool::{Error, WriterCounts};

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
    /// Chains that were not as they were left when the writer started.
    pub disagreements: u64,
    /// Calls in progress that somebody listens to: the same at all workers.
    pub listened: u64,
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

    /// The packets lost since `before`, by cause, for the log; None if none were. `failure` is why the disk
    /// failed last. That recording is stopped has a line of its own.
    pub(super) fn describe_losses(&self, before: &Losses, failure: Option<&Error>) -> Option<String> {
        let lost = self.lost();
        let causes: Vec<String> =
            lost.iter()
                .zip(before)
                .filter(|((cause, total), (_, earlier))| total > earlier && *cause != "stopped")
                .map(|((cause, total), (_, earlier))| {
                    let why = match *cause {
                        "refused" => failure.map_or("the disk refused them".to_owned(), Error::to_string),
                        "disk" => "the disk is too slow, or pauses for longer than [spool] memory bridges"
                            .to_owned(),
                        "oversized" => "longer than 68 KiB".to_owned(),
                        "left_out" => "more streams at once than the spool has slots".to_owned(),
                        _ => "their calls were decided too late: raise [spool] undecided".to_owned(),
                    };
                    format!("{}: {why}", counted(total - earlier, "packet"))
                })
                .collect();
        (!causes.is_empty()).then(|| causes.join("; "))
    }
}

/// Packets lost, by cause.
pub(super) type Losses = [(&'static str, u64); 6];

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets that a full disk refused are counted when their segment is closed, when the disk may work
    /// again: nobody is sent to look for another cause.
    #[test]
    fn losses_name_their_own_cause() {
        let before = RecordingCounts::default();
        let failure = ringtap_spool::Reader::open(std::path::Path::new("/no/spool")).unwrap_err();
        let describe = |counts: &RecordingCounts| counts.describe_losses(&before.lost(), Some(&failure));
        let refused = RecordingCounts { refused: 7, ..before };
        let told = describe(&refused).unwrap();
        assert!(told.starts_with("7 packets: ") && told.contains("/no/spool"), "{told}");
        assert!(!told.contains("undecided"), "{told}");
        let late = Decisions { lost: 1, ..Decisions::default() };
        let told = describe(&RecordingCounts { decisions: late, ..refused }).unwrap();
        assert!(
            told.ends_with("; 1 packet: their calls were decided too late: raise [spool] undecided"),
            "{told}"
        );
        let stopped = WriterCounts { lost_stopped: 5, ..WriterCounts::default() };
        assert_eq!(describe(&RecordingCounts { counts: stopped, ..before }), None);
        assert_eq!(refused.describe_losses(&refused.lost(), Some(&failure)), None);
    }
}

//! What of a warrant was not delivered, and why.

/// PDUs that were lost before they were written to the buffer. Each has used up its sequence number, so
/// that the mediation function sees a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The warrant's part of the buffer was full.
    pub full: u64,
    /// More came than was written to the disk.
    pub overrun: u64,
    /// The disk refused it.
    pub disk: u64,
    /// Too long for a PDU.
    pub too_long: u64,
}

impl Losses {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.full + self.overrun + self.disk + self.too_long
    }

    pub(crate) fn add(&mut self, cause: LossCause, count: u64) {
        *match cause {
            LossCause::Full => &mut self.full,
            LossCause::Overrun => &mut self.overrun,
            LossCause::Disk => &mut self.disk,
            LossCause::TooLong => &mut self.too_long,
        } += count;
    }

    /// What came since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            full: self.full - earlier.full,
            overrun: self.overrun - earlier.overrun,
            disk: self.disk - earlier.disk,
            too_long: self.too_long - earlier.too_long,
        }
    }

    /// As an alarm says it: `lost on HI3: 12 buffer full, 3 disk`.
    pub(crate) fn text(&self, handover: crate::Handover) -> String {
        let handover = match handover {
            crate::Handover::Hi2 => "HI2",
            crate::Handover::Hi3 => "HI3",
        };
        let causes = [
            (self.full, "buffer full"),
            (self.overrun, "overrun"),
            (self.disk, "disk"),
            (self.too_long, "too long"),
        ];
        let causes: Vec<String> = causes
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, cause)| format!("{count} {cause}"))
            .collect();
        format!("PDUs lost on {handover}: {}", causes.join(", "))
    }
}

/// Why a PDU was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// The warrant's part of the buffer is full.
    Full,
    /// More comes than is written to the disk.
    Overrun,
    /// The disk refused it.
    Disk,
    /// Too long for a PDU.
    TooLong,
}

//! What the engine counts. Every frame lands in exactly one of the kinds; every drop in one of the drops.

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames taken.
    pub frames: u64,
    /// Captured bytes of them.
    pub bytes: u64,
    /// SIP messages.
    pub sip: u64,
    /// RTP packets of reported streams and of streams not yet decided.
    pub rtp: u64,
    /// RTCP packets.
    pub rtcp: u64,
    /// Rows of (name, count) for packets by kind that are neither signalling nor media, see [`Counters::kinds`].
    pub other: u64,
    /// Calls refused at the ceiling.
    pub calls_refused: u64,
}

impl Counters {
    /// Packets by kind, for people: name and count, in a fixed order.
    pub fn kinds(&self) -> Vec<(&'static str, u64)> {
        vec![("sip", self.sip), ("rtp", self.rtp), ("rtcp", self.rtcp), ("other", self.other)]
    }

    /// What was dropped or damaged, by reason: name and count, zero counts included, in a fixed order.
    pub fn drops(&self) -> Vec<(&'static str, u64)> {
        vec![("calls_refused", self.calls_refused)]
    }
}

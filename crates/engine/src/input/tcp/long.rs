//! A message that is longer than [`MAX_MESSAGE`](ringtap_wire::sip::MAX_MESSAGE): of its bytes the front is
//! kept, and nothing is looked for in the rest.

/// Bytes that are kept: with them, a message still fits into one datagram.
pub(super) const MAX_FRONT: usize = 60 << 10;

/// What is still to come of such a message.
pub(super) struct LongMessage {
    missing: usize,
    /// Bytes of it were lost: those behind them do not follow its front.
    is_cut: bool,
}

impl LongMessage {
    /// Of `missing` more bytes.
    pub(super) fn new(missing: usize) -> Self {
        Self { missing, is_cut: false }
    }

    /// All of it was taken.
    pub(super) fn is_whole(&self) -> bool {
        self.missing == 0
    }

    /// Takes its share of bytes in order, and returns those behind it.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8], front: &mut Vec<u8>) -> &'a [u8] {
        let (own, rest) = bytes.split_at(self.missing.min(bytes.len()));
        self.missing -= own.len();
        if !self.is_cut {
            front.extend_from_slice(&own[..own.len().min(MAX_FRONT.saturating_sub(front.len()))]);
        }
        rest
    }

    /// That many bytes were lost; false where it ends in them.
    pub(super) fn lose(&mut self, count: usize) -> bool {
        let goes_on = count < self.missing;
        self.missing = self.missing.saturating_sub(count);
        self.is_cut = true;
        goes_on
    }
}

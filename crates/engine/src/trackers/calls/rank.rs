//! How far a call has come, for the choice of the one that leaves a full table.

/// How far a call has come that is not in conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallRank {
    /// Nobody has answered the INVITE.
    Unheard,
    /// Only 100 Trying or a challenge has come back.
    Trying,
    Ringing,
    /// Only late packets are expected.
    Over,
}

/// Number of [`CallRank`]s; and the first of them, those of calls without an answer.
pub(super) const CALL_RANKS: u16 = 4;
pub(super) const UNANSWERED: u16 = 3;

/// Sources of calls without an answer: addresses are taken together by their keyed hash.
pub(super) const SOURCES: u16 = 1 << 10;

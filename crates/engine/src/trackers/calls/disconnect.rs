//! How long the answer to a BYE took.

use ringtap_model::Nanos;

use super::message::CallMessage;

/// The BYE that ended a call: session disconnect delay, RFC 6076 section 4.4.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Disconnect {
    /// Hash of its transaction where it was first seen.
    transaction: Option<u64>,
    /// It was challenged: the one that answers the challenge is the same.
    is_challenged: bool,
    /// When its 2xx came.
    answered: Option<Nanos>,
}

impl Disconnect {
    /// The first BYE, or a later one of the same side.
    pub(super) fn request(&mut self, received: &CallMessage<'_>, is_first: bool) {
        if is_first || std::mem::take(&mut self.is_challenged) {
            self.transaction = received.transaction;
        }
    }

    /// An answer to a BYE.
    pub(super) fn answer(&mut self, received: &CallMessage<'_>, code: u16) {
        if self.answered.is_some() || received.transaction.is_none() {
            return;
        }
        if received.transaction == self.transaction {
            match code {
                200..=299 => self.answered = Some(received.hop.time),
                401 | 407 => self.is_challenged = true,
                _ => {}
            }
        }
    }

    /// When the 2xx to the BYE came.
    pub(super) fn answered(&self) -> Option<Nanos> {
        self.answered
    }
}

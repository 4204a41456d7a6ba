//! Requests of no call that say how to take the answers which follow.

use ringtap_model::Nanos;
use ringtap_wire::sip::Method;

use crate::context::SipMessage;

/// The newest of each kind; an older one is forgotten.
#[derive(Default)]
pub(super) struct Strays {
    /// Transactions of requests that are no INVITE, though their CSeq says so.
    misnamed: [u64; NEWEST],
    misnamed_count: usize,
    /// Calls by the hash of their Call-ID whose CANCEL came first: when it was seen.
    cancelled: [(u64, Nanos); NEWEST],
    cancelled_count: usize,
}

impl Strays {
    /// A request of no call.
    pub(super) fn see(&mut self, sip: &SipMessage<'_>, transaction: Option<u64>) {
        if sip.method == Method::Cancel {
            if self.cancelled(sip.hash).is_none() {
                self.cancelled[self.cancelled_count % NEWEST] = (sip.hash, sip.hop.time);
                self.cancelled_count += 1;
            }
        } else if let (Some((_, Method::Invite)), Some(transaction)) = (sip.cseq, transaction) {
            self.misnamed[self.misnamed_count % NEWEST] = transaction;
            self.misnamed_count += 1;
        }
    }

    /// Whether a transaction is not that of an INVITE, though its CSeq says so.
    pub(super) fn is_misnamed(&self, transaction: Option<u64>) -> bool {
        let known = &self.misnamed[..self.misnamed_count.min(NEWEST)];
        transaction.is_some_and(|transaction| known.contains(&transaction))
    }

    /// When a call was cancelled of which only answers follow.
    pub(super) fn cancelled(&self, hash: u64) -> Option<Nanos> {
        let known = &self.cancelled[..self.cancelled_count.min(NEWEST)];
        known.iter().find(|(call, _)| *call == hash).map(|(_, time)| *time)
    }
}

/// Most that are remembered.
const NEWEST: usize = 32;

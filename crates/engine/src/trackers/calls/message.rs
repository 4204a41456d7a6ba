//! A SIP message as a call handles it: values needed more than once, computed once.

use ringtap_wire::sip::{Header, Message, Method};

use crate::context::Hop;
use crate::table::hash::Hasher;

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct CallMessage<'a> {
    pub(crate) message: &'a Message<'a>,
    pub(crate) hop: &'a Hop,
    pub(crate) cseq: Option<(u32, Method)>,
    /// Hash of the whole message and its two endpoints: equal for a retransmission and for the mirror port's
    /// second copy.
    pub(super) whole: u64,
    /// Hash of its From header as written; None without one.
    pub(super) from: Option<u64>,
    /// Hash of its transaction: top Via branch and CSeq number; None without a branch.
    pub(super) transaction: Option<u64>,
}

impl<'a> CallMessage<'a> {
    /// Computes what does not depend on the call. `meanwhile` runs when the remaining work takes about as
    /// long as memory takes to answer a prefetch.
    // HOT: once a message.
    pub(crate) fn new(
        message: &'a Message<'a>,
        hop: &'a Hop,
        cseq: Option<(u32, Method)>,
        hasher: &Hasher,
        meanwhile: impl FnOnce(),
    ) -> Self {
        let whole = hasher.of((hop.src, hop.dst, message.raw()));
        meanwhile();
        let from = message.header(Header::From).map(|from| hasher.of(from));
        let transaction =
            message.top_branch().map(|branch| hasher.of((branch, cseq.map(|(number, _)| number))));
        Self { message, hop, cseq, whole, from, transaction }
    }
}

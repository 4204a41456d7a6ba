//! A message as a call takes it: what is asked of it more than once, worked out once.

use ringtap_wire::sip::{Header, Message, Method};

use super::Hop;
use crate::table::hash::Hasher;

/// A message on its hop.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) message: &'a Message<'a>,
    pub(crate) hop: &'a Hop,
    pub(crate) cseq: Option<(u32, Method)>,
    /// Hash of all of it between its two ends: that of what was sent again, and of the mirror's second copy, too.
    pub(super) whole: u64,
    /// Hash of its From as written; None without one.
    pub(super) from: Option<u64>,
    /// Hash of its transaction's name; None where its Via has none.
    pub(super) transaction: Option<u64>,
}

impl<'a> Told<'a> {
    /// What does not depend on the call. `meanwhile` is done when there is about as much left to do as memory takes to
    /// answer.
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

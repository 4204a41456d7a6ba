//! Calls that have ended and whose records another thread makes.

use ringtap_model::{Call, Nanos};

use crate::media::EndedStream;
use crate::update::EndedCall;

/// A call that has ended, with what was measured of its streams: a [`Completer`](crate::Completer) makes the
/// records. It refers to no table.
pub struct DeferredCall {
    pub(crate) ended: Box<EndedCall>,
    pub(crate) figures: Vec<EndedStream>,
    /// When it ended, in capture time.
    pub(crate) now: Nanos,
}

impl DeferredCall {
    /// Its record as far as signalling tells: without its streams, what they say of it, and its notes.
    pub fn call(&self) -> &Call {
        &self.ended.record
    }
}

//! Where and when a packet was seen.

use ringtap_model::{Endpoint, Nanos};

/// What carried a packet.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// Capture time.
    pub time: Nanos,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// Number of its last frame.
    pub frame: u64,
}

//! What receives product.

use ringtap_handover::{Cin, Content, Iri, Notification};
use ringtap_model::{Frame, Identity, Nanos};
use ringtap_warrant::Order;

/// Receives what each order is entitled to, in order of time but for the media of calls, which follow at the
/// end of their batch of frames.
pub trait Product {
    /// An event of a session or call, and the numbers of the frames that carried it: none for sessions.
    fn iri(&mut self, order: &Order, cin: Cin, iri: Iri, frames: &[u64]);

    /// A packet of a session or call, and the numbers of the frames that carried it.
    fn content(&mut self, order: &Order, cin: Cin, content: &Content<'_>, frames: &[u64]);

    /// The interception began or ended.
    fn notice(&mut self, order: &Order, notification: Notification);

    /// The session of a target, as it is from a time on, for others who have to know. `is_open`: it was open
    /// when an order began.
    fn session(&mut self, _record: &Identity, _is_open: bool, _at: Nanos) {}

    /// The frames of a batch, all of whose product has been given.
    fn frames(&mut self, _frames: &[Frame<'_>]) {}
}

/// What an order was given, and what could not be given to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Events.
    pub iri: u64,
    /// Packets of content.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
    /// Packets of a shared address that may be the target's: they have no ports, as ICMP and fragments after
    /// the first have none. Not given, since they may be somebody else's.
    pub unattributed: u64,
    /// Packets that the capture cut: what was captured of them was given.
    pub cut: u64,
    /// Calls and sessions that were not followed, since too many were.
    pub dropped: u64,
}

//! What the messages of a call told of its media, for its notes.

use std::net::IpAddr;

use ringtap_quality::notes::MediaFacts;
use ringtap_wire::sip::Header;

use super::super::message::CallMessage;
use super::CallEntry;
use crate::update::Side;

impl CallEntry {
    /// All of it.
    pub(crate) fn media_facts(&self) -> MediaFacts {
        // An offer of T.38 that was refused makes no fax.
        let fax = self.fax.filter(|_| self.fax_by == [true; 2]);
        MediaFacts { fax, ..self.facts }
    }

    /// Compares the address that a description names with the one it came from, if it comes from the side
    /// itself: with one Via, no proxy has passed it on.
    pub(crate) fn add_private(&mut self, received: &CallMessage<'_>, side: Side) {
        let announced = self.facts.announced[side as usize].filter(|ip| is_private(*ip));
        let sender = received.hop.src.ip;
        // Headers are looked at last: that costs far more.
        if let Some(private) = announced
            && !is_private(sender)
            && received.message.values(Header::Via).take(2).count() == 1
        {
            self.facts.private[side as usize] = Some((private, sender));
        }
    }
}

/// RFC 1918, RFC 6598, RFC 3927, RFC 4193.
fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            ip.is_private() || ip.is_link_local() || ip.is_loopback() || first == 100 && second & 0xc0 == 64
        }
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_loopback(),
    }
}

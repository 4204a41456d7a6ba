//! What the messages of a call told of its media, for its notes.

use std::net::IpAddr;

use ringtap_quality::notes::MediaFacts;
use ringtap_wire::sip::{Header, Method, NameAddr};

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

    /// Whether silence of its media means that it is over: they are announced, and neither on hold nor
    /// replaced by T.38.
    pub(crate) fn may_end_in_silence(&self) -> bool {
        self.answer.is_some() && self.announced && self.fax_by == [false; 2] && self.held == [false; 2]
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

    /// A message that was sent again: the answer is until its ACK comes (RFC 3261 section 13.3.1.4), and that
    /// goes to its Contact where no proxy has recorded a route.
    #[cold]
    pub(super) fn add_repeated(&mut self, received: &CallMessage<'_>) {
        let CallMessage { message, hop, cseq, .. } = *received;
        let is_answer = message.code().is_some_and(|code| (200..300).contains(&code));
        if !is_answer || cseq != Some((self.attempt, Method::Invite)) {
            return;
        }
        self.facts.answers_repeated = self.facts.answers_repeated.saturating_add(1);
        let contact = message.header(Header::Contact).and_then(NameAddr::parse);
        let host = contact.and_then(|contact| std::str::from_utf8(contact.uri.host).ok()?.parse().ok());
        if let Some(private) = host.filter(|host| is_private(*host))
            && !is_private(hop.src.ip)
            && message.header(Header::RecordRoute).is_none()
        {
            self.facts.private_contact = Some((private, hop.src.ip));
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

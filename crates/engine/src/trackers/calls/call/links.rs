//! What may join a call to other legs of its conversation: identifiers that pass a back-to-back user agent,
//! and where the call was sent on to.

use ringtap_model::{Endpoint, Nanos};
use ringtap_wire::sip::{Header, Message, Method, NameAddr, StartLine, params};

use super::super::links::LONGEST;
use super::super::message::CallMessage;
use super::CallEntry;
use crate::context::Hop;
use crate::spare::Spare;
use crate::update::Side;

/// A link that a call has once, as a bit.
const ICID: u8 = 4;
const REMOTE_SESSION: u8 = 8;
/// How many hops it has, in the bits above.
const HOP: u8 = 16;
const MOST_HOPS: u8 = 4 * HOP - HOP;

impl CallEntry {
    /// Reads the links of a new message but for its description.
    // HOT: once a message of a call. Few have any of these headers.
    #[inline]
    pub(super) fn add_links(&mut self, received: &CallMessage<'_>, side: Side) {
        let message = received.message;
        // Each side has said its half of the session by then.
        if self.linked & REMOTE_SESSION == 0
            && let Some(session) = message.header(Header::SessionId)
        {
            self.add_session(session);
        }
        if self.linked & ICID == 0
            && let Some(vector) = message.header(Header::PChargingVector)
        {
            self.add_icid(vector);
        }
        match message.start() {
            StartLine::Request { method: Method::Invite, .. } => {
                if received.hop.dst.ip != self.dst.ip && side == Side::Caller {
                    self.add_hop(received.hop);
                }
                if let Some(replaced) =
                    message.header(Header::Replaces).or_else(|| message.header(Header::Join))
                {
                    self.add_replaced(replaced);
                }
                if let Some(by) = message.header(Header::ReferredBy) {
                    self.add_party("referred_by", by);
                }
                self.add_conference(message);
            }
            StartLine::Request { method: Method::Refer, .. } => {
                self.add_target(message, side, received.hop.time)
            }
            StartLine::Response { code: 200..=299, .. } => self.add_conference(message),
            StartLine::Response { code: 300..=399, .. } => {
                for contact in message.values(Header::Contact).take(MAX_TARGETS) {
                    self.add_party("redirect_to", contact);
                }
            }
            _ => {}
        }
    }

    /// Reads the links of a description: the session that it names, and where it wants its first medium.
    // HOT: once an offer and once an answer.
    pub(crate) fn add_description(&mut self, body: &[u8], end: Option<Endpoint>, side: Side, spare: &Spare) {
        let bit = 1 << side as u8;
        if self.linked & bit != 0 {
            return;
        }
        self.linked |= bit;
        self.has_grown = true;
        self.parties.links.set_media(side, end);
        if let Some([user, session, address]) = origin(body) {
            let parts = [user, b" ", session, b" ", address];
            self.has_grown |= self.parties.links.add_in("origin", &parts, Some(spare));
        }
    }

    /// Where a proxy sent the INVITE on to, which may be a box with a leg of its own behind it.
    #[cold]
    fn add_hop(&mut self, hop: &Hop) {
        let has_room = self.linked & MOST_HOPS != MOST_HOPS;
        if has_room && self.answer.is_none() && hop.dst.ip != self.src.ip {
            let address = hop.dst.ip.to_string();
            if self.parties.links.add("hop", &[address.as_bytes()]) {
                self.linked += HOP;
                self.has_grown = true;
            }
        }
    }

    /// RFC 7989 section 5: the half of the sender, and what it knows of the other's. Zeros until then.
    #[cold]
    fn add_session(&mut self, value: &[u8]) {
        let is_known = |half: &[u8]| half.len() == 32 && half.iter().any(|digit| *digit != b'0');
        let own = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let remote = params(value).find(|(name, _)| name.eq_ignore_ascii_case(b"remote"));
        let remote = remote.and_then(|(_, half)| half).filter(|half| is_known(half));
        for half in [Some(own), remote].into_iter().flatten().filter(|half| is_known(half)) {
            self.add_link("session", &[&half.to_ascii_lowercase()]);
        }
        if remote.is_some() {
            self.linked |= REMOTE_SESSION;
        }
    }

    /// RFC 7315 section 4.6.
    #[cold]
    fn add_icid(&mut self, vector: &[u8]) {
        let icid = params(vector).find(|(name, _)| name.eq_ignore_ascii_case(b"icid-value"));
        if let Some(icid) = icid.and_then(|(_, value)| value).filter(|value| !value.is_empty()) {
            self.linked |= ICID;
            self.add_link("icid", &[icid]);
        }
    }

    /// The Call-ID that a Replaces (RFC 3891) or Join (RFC 3911) names.
    #[cold]
    fn add_replaced(&mut self, value: &[u8]) {
        let call_id = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        self.add_link("replaces", &[call_id]);
    }

    /// RFC 3515: where the other side is to call, and with which dialog that call is to be replaced.
    #[cold]
    fn add_target(&mut self, message: &Message<'_>, side: Side, time: Nanos) {
        let Some(target) = message.header(Header::ReferTo).and_then(NameAddr::parse) else { return };
        let headers = target.uri.headers.split(|byte| *byte == b'&');
        let mut replaced = headers.filter_map(|header| header.split_at_checked("Replaces=".len()));
        if let Some((_, value)) = replaced.find(|(name, _)| name.eq_ignore_ascii_case(b"Replaces=")) {
            return self.add_replaced(&unescaped(value));
        }
        let (Some(user), host) = (target.uri.user, target.uri.host) else { return };
        let by: &[u8] = if side == Side::Caller { b"caller" } else { b"callee" };
        let at = time.micros().to_string();
        self.add_link("refer_to", &[user_alone(user), b"@", host, b";at=", at.as_bytes(), b";by=", by]);
    }

    /// RFC 4579: the contact of a conference, which says so.
    fn add_conference(&mut self, message: &Message<'_>) {
        let Some(contact) = message.header(Header::Contact) else { return };
        let close = contact.iter().rposition(|byte| *byte == b'>');
        let params = close.and_then(|at| contact.get(at + 1..)).unwrap_or_default();
        if params.len() > 1 && params.windows(7).any(|word| word.eq_ignore_ascii_case(b"isfocus")) {
            self.add_party("conference", contact);
        }
    }

    #[cold]
    fn add_party(&mut self, kind: &str, value: &[u8]) {
        if let Some(party) = NameAddr::parse(value)
            && let Some(user) = party.uri.user
        {
            self.add_link(kind, &[user_alone(user), b"@", party.uri.host]);
        }
    }

    fn add_link(&mut self, kind: &str, parts: &[&[u8]]) {
        self.has_grown |= self.parties.links.add(kind, parts);
    }
}

/// User, session and address of the `o=` line (RFC 8866 section 5.2), which is the second.
fn origin(body: &[u8]) -> Option<[&[u8]; 3]> {
    let head = body.get(..body.len().min(HEAD))?;
    let at = head.windows(3).position(|start| start == b"\no=")? + 3;
    let line = body.get(at..)?;
    let line = &line[..line.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?];
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let (user, session) = (words.next()?, words.next()?);
    Some([user, session, words.nth(3)?])
}

/// A user part without its parameters.
fn user_alone(user: &[u8]) -> &[u8] {
    user.split(|byte| *byte == b';').next().unwrap_or_default()
}

/// RFC 3261 section 25.1: `%` and two hex digits are a byte.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len().min(LONGEST));
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| std::str::from_utf8(after.get(..2)?).ok()).flatten();
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// Targets of one answer.
const MAX_TARGETS: usize = 4;
/// Where the `o=` line begins at most.
const HEAD: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_found_in_the_second_line() {
        let body = b"v=0\r\no=alice 2890844526 2890844527 IN IP4 host.example\r\ns=-\r\n";
        assert_eq!(origin(body), Some([&b"alice"[..], b"2890844526", b"host.example"]));
        for short in [&b"v=0\r\no=alice 1 2 IN IP4\r\n"[..], b"v=0\r\no=x", b"", b"o=a b c d e f\r\n"] {
            assert_eq!(origin(short), None);
        }
    }

    #[test]
    fn escapes_are_read_and_what_is_none_stays() {
        assert_eq!(unescaped(b"a%40b%3Bto%2"), b"a@b;to%2");
        assert_eq!(unescaped(b"%zz%"), b"%zz%");
    }
}

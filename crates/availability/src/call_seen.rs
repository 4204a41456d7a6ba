//! What a SIP message of a call tells of its hops, its end and its media: owned, and without allocation.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::net::IpAddr;

use ringtap_engine::SipMessage;
use ringtap_model::Endpoint;
use ringtap_wire::sdp::{self, MediaType, Sdp};
use ringtap_wire::sip::{Header, Message, Method, NameAddr, Uri, params};

/// Hosts of Record-Route that are looked at: two proxies that name both of their sides.
const ROUTES: usize = 4;

/// What calls are judged by, beside what services are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallSeen {
    /// Its Call-ID: [`call_key`].
    pub(crate) call: u64,
    /// Its From tag.
    pub(crate) tag: u64,
    /// Number of its CSeq.
    pub(crate) number: u32,
    /// It has one Via: who sent it has made it, or hides where it is from.
    pub(crate) is_first_hop: bool,
    /// It describes media.
    pub(crate) is_description: bool,
    /// All sound of the description is on hold.
    pub(crate) is_held: Option<bool>,
    /// A BYE that names a reason of the network (RFC 3326).
    pub(crate) has_network_reason: bool,
    /// Contact of an INVITE, or of an answer to it.
    pub(crate) contact: Option<Endpoint>,
    /// The first hosts of their Record-Route.
    pub(crate) routes: [Option<Endpoint>; ROUTES],
    /// Record-Route has more of them.
    pub(crate) has_more_routes: bool,
}

/// The key of a Call-ID as records show it: its first 256 bytes, what is no UTF-8 replaced.
pub(crate) fn call_key(call_id: &[u8], hasher: &RandomState) -> u64 {
    let shown = call_id.get(..256).unwrap_or(call_id);
    hasher.hash_one(String::from_utf8_lossy(shown).as_bytes())
}

/// The key of who somebody is, so that two legs of one conversation name the same: the user part; with the
/// host where that is a name, since the same extension may exist in two domains.
pub(crate) fn user_key(user: Option<&[u8]>, host: Option<&[u8]>, hasher: &RandomState) -> Option<u64> {
    let user = user.filter(|user| !user.is_empty());
    let host = host.filter(|host| !host.is_empty());
    let host = if user.is_some() { host.filter(|host| !is_address(host)) } else { host };
    if user.is_none() && host.is_none() {
        return None;
    }
    let mut state = hasher.build_hasher();
    user.hash(&mut state);
    host.into_iter().flatten().for_each(|byte| state.write_u8(byte.to_ascii_lowercase()));
    Some(state.finish())
}

fn is_address(host: &[u8]) -> bool {
    let text = std::str::from_utf8(host).unwrap_or_default();
    text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
}

impl CallSeen {
    /// Of a message; None of one that tells nothing of a call.
    pub(crate) fn of(sip: &SipMessage<'_>, hasher: &RandomState) -> Option<Self> {
        let tells =
            matches!(sip.method, Method::Invite | Method::Bye | Method::Update | Method::Ack | Method::Prack);
        if !tells {
            return None;
        }
        let description = sip.message.sdp();
        let (mut contact, mut routes, mut has_more_routes) = (None, [None; ROUTES], false);
        if sip.method == Method::Invite {
            contact = sip.message.contacts().next().and_then(|contact| end(&contact.uri));
            let mut values = sip.message.values(Header::RecordRoute);
            for (place, route) in routes.iter_mut().zip(values.by_ref()) {
                *place = NameAddr::parse(route).and_then(|route| end(&route.uri));
            }
            has_more_routes = values.next().is_some();
        }
        Some(Self {
            call: call_key(sip.call_id, hasher),
            tag: hasher.hash_one(sip.message.from_tag().flatten().unwrap_or_default()),
            number: sip.cseq.map_or(0, |(number, _)| number),
            is_first_hop: sip.message.vias().take(2).count() == 1,
            is_description: description.is_some(),
            is_held: description.and_then(|body| is_held(&Sdp::parse(body).ok()?)),
            has_network_reason: sip.method == Method::Bye && has_network_reason(sip.message),
            contact,
            routes,
            has_more_routes,
        })
    }
}

/// Codes that say that the network did not get further. Other 5xx are about the request (501, 505, 513, 580).
pub(crate) fn is_of_network(code: u16) -> bool {
    matches!(code, 408 | 500 | 502 | 503 | 504)
}

fn end(uri: &Uri<'_>) -> Option<Endpoint> {
    Some(Endpoint::new(uri.ip()?, uri.port.unwrap_or(5060)))
}

/// Whether all sound of a description is on hold: RFC 3264 section 8.4, and the older way with an address of
/// zeros. None without sound.
fn is_held(description: &Sdp<'_>) -> Option<bool> {
    let is_sound = |media: &sdp::Media<'_>| media.media_type == MediaType::Audio && media.port != 0;
    let mut sounds = description.media().filter(is_sound).peekable();
    sounds.peek()?;
    Some(sounds.all(|media| {
        media.direction() != sdp::Direction::SendRecv
            || media.connection().is_some_and(|ip| ip.is_unspecified())
    }))
}

/// Whether a Reason header (RFC 3326) says that the network failed: destination or network out of order,
/// temporary failure (Q.850 27, 38, 41), or a code of SIP that says so.
fn has_network_reason(message: &Message<'_>) -> bool {
    message.values(Header::Reason).any(|value| {
        let (protocol, rest) =
            value.split_at(value.iter().position(|&byte| byte == b';').unwrap_or(value.len()));
        let cause = params(rest).find(|(name, _)| name.eq_ignore_ascii_case(b"cause"));
        let cause = cause.and_then(|(_, value)| std::str::from_utf8(value?).ok()?.trim().parse().ok());
        match cause {
            Some(cause) if protocol.trim_ascii().eq_ignore_ascii_case(b"Q.850") => {
                matches!(cause, 27 | 38 | 41)
            }
            Some(code) if protocol.trim_ascii().eq_ignore_ascii_case(b"SIP") => is_of_network(code),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_the_same_on_both_legs_and_another_in_another_domain() {
        let hasher = RandomState::new();
        let of = |name: &str, host: &str| user_key(Some(name.as_bytes()), Some(host.as_bytes()), &hasher);
        assert_eq!(of("1001", "192.0.2.1"), of("1001", "[2001:db8::1]"));
        assert_eq!(of("1001", "192.0.2.1"), user_key(Some(b"1001"), None, &hasher));
        assert_eq!(of("alice", "Example.ORG"), of("alice", "example.org"));
        assert_ne!(of("alice", "example.org"), of("alice", "example.com"));
        assert_ne!(of("alice", "example.org"), of("aliceexample", ".org"));
        assert_eq!(of("", "Gate.example"), user_key(None, Some(b"gate.example"), &hasher));
        assert_eq!((user_key(Some(b""), None, &hasher), user_key(None, Some(b""), &hasher)), (None, None));
    }
}

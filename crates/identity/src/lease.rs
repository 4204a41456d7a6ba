//! What one message of DHCP says, of either version.

use std::net::IpAddr;

use ringtap_model::{SessionEnd, SessionSource};
use ringtap_wire::dhcp::{v4, v6};

use crate::facts::{AddressKind, Assigned, Facts, MOST_ADDRESSES};
use crate::hold::hex;
use crate::prefix::Prefix;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The client asks for addresses, or for more time.
    Ask,
    /// The client asks for settings alone, or whether its addresses fit the link.
    AskOther,
    /// The client gives addresses back.
    GiveBack(SessionEnd),
    /// A server offers addresses.
    Offer,
    /// A server lends addresses, or takes them back.
    Grant,
    /// A server refuses.
    Refuse,
}

impl Purpose {
    /// Whether a client says it.
    pub(crate) fn is_client(self) -> bool {
        matches!(self, Self::Ask | Self::AskOther | Self::GiveBack(_))
    }
}

/// An address or a prefix, and for how many seconds it is lent: 0 takes it back, [`v6::FOREVER`] does not
/// end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lent {
    pub(crate) assigned: Assigned,
    pub(crate) seconds: u32,
}

/// A message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) source: SessionSource,
    pub(crate) purpose: Purpose,
    /// The message type.
    pub(crate) number: u8,
    /// The address that the client asks with: what it asks under one transaction with another is another
    /// message.
    pub(crate) asks_with: u32,
    /// Hardware address with its type, or DUID.
    pub(crate) client: Vec<u8>,
    pub(crate) transaction: u32,
    /// Relay agents that passed it on.
    pub(crate) hops: u8,
    pub(crate) facts: Facts,
    pub(crate) lent: Vec<Lent>,
}

impl Message {
    /// Of DHCPv4. `None` for messages that change no lease, and for those that their sender may not send.
    pub(crate) fn of_v4(view: &v4::View<'_>) -> Option<Self> {
        use v4::kind;
        let purpose = match view.kind() {
            kind::DISCOVER | kind::REQUEST => Purpose::Ask,
            kind::INFORM => Purpose::AskOther,
            kind::RELEASE => Purpose::GiveBack(SessionEnd::Released),
            kind::DECLINE => Purpose::GiveBack(SessionEnd::Declined),
            kind::OFFER => Purpose::Offer,
            kind::ACK => Purpose::Grant,
            kind::NAK => Purpose::Refuse,
            _ => return None,
        };
        if view.is_request() != purpose.is_client() {
            return None;
        }
        let address = match view.kind() {
            kind::RELEASE => Some(view.ciaddr()),
            kind::DECLINE => view.address(v4::code::REQUESTED_ADDRESS),
            kind::ACK => Some(view.yiaddr()),
            _ => None,
        };
        // Without a time, it is no lease but settings for an address that the client has.
        let seconds = match purpose {
            Purpose::Grant => view.number(v4::code::LEASE_TIME),
            _ => Some(0),
        };
        let lent = address.filter(|address| !address.is_unspecified()).zip(seconds);
        let lent = lent.map(|(address, seconds)| Lent {
            assigned: of_kind(AddressKind::Dhcpv4Lease, Prefix::host(address.into())),
            seconds,
        });
        Some(Self {
            source: SessionSource::Dhcpv4,
            purpose,
            number: view.kind(),
            asks_with: if purpose.is_client() { view.ciaddr().to_bits() } else { 0 },
            client: [&[view.hardware_type()], view.hardware_address()].concat(),
            transaction: view.transaction(),
            hops: view.hops(),
            facts: facts_of_v4(view),
            lent: lent.into_iter().collect(),
        })
    }

    /// Of DHCPv6, likewise, and without a client that names itself.
    pub(crate) fn of_v6(view: &v6::View<'_>) -> Option<Self> {
        use v6::kind;
        let (status, server) = (view.status(), view.server());
        let purpose = match view.kind() {
            kind::SOLICIT | kind::REQUEST | kind::RENEW | kind::REBIND => Purpose::Ask,
            kind::CONFIRM | kind::INFORMATION_REQUEST => Purpose::AskOther,
            kind::RELEASE => Purpose::GiveBack(SessionEnd::Released),
            kind::DECLINE => Purpose::GiveBack(SessionEnd::Declined),
            kind::ADVERTISE => Purpose::Offer,
            kind::REPLY if status == 0 => Purpose::Grant,
            kind::REPLY => Purpose::Refuse,
            _ => return None,
        };
        let client = view.client().map(|duid| duid.0).filter(|duid| duid.len() <= LONGEST_DUID)?;
        let mut facts = Facts { client_id: Some(client.to_vec()), ..Facts::default() };
        facts.stations.extend(view.mac().map(mac_text));
        facts.stations.push(hex(client));
        facts.nas_name = server.filter(|duid| duid.0.len() <= LONGEST_DUID).map(|duid| hex(duid.0));
        for relay in view.relays() {
            // What is nearer to the client says more of it.
            let of = |code| relay.options.value(code).and_then(text);
            facts.circuit = of(v6::code::INTERFACE).or(facts.circuit);
            facts.remote = relay.remote().and_then(|(_, id)| text(id)).or(facts.remote);
            facts.subscriber = of(v6::code::SUBSCRIBER).or(facts.subscriber);
            let link = (!relay.link.is_unspecified()).then_some(IpAddr::V6(relay.link));
            facts.nas_ipv6 = link.or(facts.nas_ipv6);
        }
        facts.stations.extend(facts.subscriber.clone());
        let mut lent = Vec::new();
        if matches!(purpose, Purpose::Grant | Purpose::GiveBack(_)) {
            for lease in view.associations().filter(|ia| ia.status() == 0).flat_map(|ia| ia.leases()) {
                let Some(lease) = lent_v6(&lease) else { continue };
                if lent.len() < MOST_ADDRESSES {
                    lent.push(lease);
                } else {
                    facts.addresses_dropped += 1;
                }
            }
        }
        Some(Self {
            source: SessionSource::Dhcpv6,
            purpose,
            number: view.kind(),
            asks_with: 0,
            client: client.to_vec(),
            transaction: view.transaction(),
            hops: view.relays().count() as u8,
            facts,
            lent,
        })
    }
}

fn facts_of_v4(view: &v4::View<'_>) -> Facts {
    let (mut facts, mut room) = (Facts::default(), [0; MOST_OCTETS]);
    let hardware = view.hardware_address();
    let station = view.mac().map(mac_text).or_else(|| (!hardware.is_empty()).then(|| hex(hardware)));
    facts.stations.extend(station);
    facts.client_id = view.joined(v4::code::CLIENT, &mut room).map(<[u8]>::to_vec);
    // Most clients are identified by their hardware address, which has been named.
    let own = [&[view.hardware_type()], hardware].concat();
    let client_id = facts.client_id.as_ref().filter(|id| **id != own && !id.is_empty());
    facts.stations.extend(client_id.map(|id| hex(id)));
    facts.hostname = view.joined(v4::code::HOST_NAME, &mut room).and_then(text);
    if let Some(agent) = view.joined(v4::code::RELAY_AGENT, &mut room) {
        let of = |code| v4::Suboptions::new(agent).value(code).and_then(text);
        facts.circuit = of(v4::relay::CIRCUIT);
        facts.remote = of(v4::relay::REMOTE);
        facts.subscriber = of(v4::relay::SUBSCRIBER);
        facts.stations.extend(facts.subscriber.clone());
    }
    facts.nas_ipv4 = Some(IpAddr::V4(view.giaddr())).filter(|address| !address.is_unspecified());
    facts.nas_name = view.address(v4::code::SERVER).map(|address| address.to_string());
    facts
}

fn lent_v6(lease: &v6::Lease) -> Option<Lent> {
    let kind = match lease.bits {
        128 => AddressKind::Dhcpv6Address,
        1..=127 => AddressKind::Dhcpv6Prefix,
        _ => return None,
    };
    let prefix = Prefix::new(lease.address.into(), lease.bits);
    let is_one = lease.status == 0 && !lease.address.is_unspecified();
    is_one.then(|| Lent { assigned: of_kind(kind, prefix), seconds: lease.valid })
}

fn of_kind(kind: AddressKind, prefix: Prefix) -> Assigned {
    Assigned { kind, prefix, ports: None, interface: None }
}

pub(crate) fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Text, or `0x` and hexadecimal digits of what is none; `None` where it is empty, or longer than is kept.
pub(crate) fn text(bytes: &[u8]) -> Option<String> {
    let is_kept = !bytes.is_empty() && bytes.len() <= MOST_OCTETS;
    let is_text = bytes.iter().all(|byte| (0x20..0x7f).contains(byte));
    is_kept.then(|| match std::str::from_utf8(bytes) {
        Ok(text) if is_text => text.to_owned(),
        _ => format!("0x{}", hex(bytes)),
    })
}

/// Bytes of an identifier that are kept; longer ones are passed over.
const MOST_OCTETS: usize = 255;
/// RFC 8415 section 11.1: the type and at most 128 bytes.
const LONGEST_DUID: usize = 130;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_written_in_digits() {
        assert_eq!(text(b"eth 0/7:101").as_deref(), Some("eth 0/7:101"));
        assert_eq!(text(&[0, 4, b'a']).as_deref(), Some("0x000461"));
        assert_eq!((text(b""), text(&[b'x'; 256])), (None, None));
        assert_eq!(mac_text([2, 0, 0x5e, 0x10, 0, 0xff]), "02:00:5e:10:00:ff");
    }
}

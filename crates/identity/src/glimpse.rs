//! What one packet says by itself of who gets an address.

use std::net::IpAddr;

use ringtap_wire::dhcp::{v4, v6};
use ringtap_wire::radius::{View, code};

use crate::facts::Facts;
use crate::lease::Message;
use crate::sessions::RADIUS_PORTS;

/// Names and networks of one packet of RADIUS or DHCP: for whoever cannot wait until its session is known.
/// Nothing in it is checked, and what it gives may be refused.
#[derive(Debug)]
pub struct Glimpse {
    /// User-Names, and the Subscriber-ID of a relay agent.
    pub users: Vec<String>,
    /// Calling-Station-Ids, or the MAC address of a client of DHCP.
    pub stations: Vec<String>,
    /// Called-Station-Id.
    pub called: Option<String>,
    /// 3GPP-IMSI.
    pub imsi: Option<String>,
    /// 3GPP-IMEISV.
    pub imei: Option<String>,
    /// Addresses and prefixes that it gives, by their first address and length.
    pub networks: Vec<(IpAddr, u8)>,
    /// Of RADIUS: the identifier, and whether it is an Access-Request or its answer.
    pub access: Option<(Access, u8)>,
}

/// Which side of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Access-Request.
    Asked,
    /// Access-Accept.
    Accepted,
}

impl Glimpse {
    /// Of a datagram between two ports; None if it is of neither.
    pub fn of(data: &[u8], ports: [u16; 2]) -> Option<Self> {
        let on = |known: &[u16]| ports.iter().any(|port| known.contains(port));
        if on(&v4::PORTS) && !on(&RADIUS_PORTS) {
            return Self::of_lease(Message::of_v4(&v4::View::parse(data).ok()?)?);
        }
        if on(&v6::PORTS) && !on(&RADIUS_PORTS) {
            return Self::of_lease(Message::of_v6(&v6::View::parse(data).ok()?)?);
        }
        let view = View::parse(data).ok()?;
        let access = match view.code() {
            code::ACCESS_REQUEST => Some(Access::Asked),
            code::ACCESS_ACCEPT => Some(Access::Accepted),
            _ => None,
        };
        let facts = Facts::read(&view);
        let networks = facts.addresses.iter().map(|assigned| assigned.prefix.network()).collect();
        let access = access.map(|access| (access, view.identifier()));
        Some(Self { networks, access, ..Self::named(facts) })
    }

    fn of_lease(message: Message) -> Option<Self> {
        let networks = message.lent.iter().map(|lent| lent.assigned.prefix.network()).collect();
        Some(Self { networks, ..Self::named(message.facts) })
    }

    fn named(facts: Facts) -> Self {
        let Facts { mut users, stations, called, imsi, imeisv, subscriber, .. } = facts;
        users.extend(subscriber);
        Self { users, stations, called, imsi, imei: imeisv, networks: Vec::new(), access: None }
    }
}

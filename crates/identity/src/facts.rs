//! What one packet says of a session.

use std::net::IpAddr;

use ringtap_model::Nanos;
use ringtap_wire::radius::number as n;
use ringtap_wire::radius::{Attribute, Number, View, av_pair};

use crate::ports;
use crate::prefix::Prefix;

/// User-Names and station ids that are kept of one packet, and of one session.
pub(crate) const MOST_NAMES: usize = 16;
/// Addresses that are read of one packet.
pub(crate) const MOST_ADDRESSES: usize = 64;

/// Which attribute gave an address. One packet lists all addresses of an attribute together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AddressKind {
    Ipv4,
    Ipv4Route,
    Ipv6Prefix,
    Ipv6Delegated,
    Ipv6Address,
    Ipv6Route,
    PortBlock,
    /// An address of DHCPv4.
    Dhcpv4Lease,
    /// An address of DHCPv6.
    Dhcpv6Address,
    /// A prefix of DHCPv6.
    Dhcpv6Prefix,
    /// An address of IPCP.
    PppAddress,
    /// The link-local address of IPv6CP's interface identifier, which others may have on their lines.
    PppInterface,
}

impl AddressKind {
    /// All of them.
    pub(crate) const ALL: [Self; 12] = [
        Self::Ipv4,
        Self::Ipv4Route,
        Self::Ipv6Prefix,
        Self::Ipv6Delegated,
        Self::Ipv6Address,
        Self::Ipv6Route,
        Self::PortBlock,
        Self::Dhcpv4Lease,
        Self::Dhcpv6Address,
        Self::Dhcpv6Prefix,
        Self::PppAddress,
        Self::PppInterface,
    ];

    /// The name of the attribute.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "Framed-IP-Address",
            Self::Ipv4Route => "Framed-Route",
            Self::Ipv6Prefix => "Framed-IPv6-Prefix",
            Self::Ipv6Delegated => "Delegated-IPv6-Prefix",
            Self::Ipv6Address => "Framed-IPv6-Address",
            Self::Ipv6Route => "Framed-IPv6-Route",
            Self::PortBlock => "port block",
            Self::Dhcpv4Lease => "yiaddr",
            Self::Dhcpv6Address => "IA Address",
            Self::Dhcpv6Prefix => "IA Prefix",
            Self::PppAddress => "IP-Address",
            Self::PppInterface => "Interface-Identifier",
        }
    }

    /// The kind of that name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether two users may have the same one at once: two lines of a customer may be routes to one network.
    pub(crate) fn is_shared(self) -> bool {
        matches!(self, Self::Ipv4Route | Self::Ipv6Route | Self::PppInterface)
    }
}

/// An address that a packet gives to a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assigned {
    pub(crate) kind: AddressKind,
    pub(crate) prefix: Prefix,
    pub(crate) ports: Option<(u16, u16)>,
    /// Framed-Interface-Id: users of one shared link differ in it (RFC 3162 section 2.2).
    pub(crate) interface: Option<[u8; 8]>,
}

/// What two users cannot have at once, but for blocks of its ports.
pub(crate) type AddressKey = (Prefix, Option<[u8; 8]>);

impl Assigned {
    /// `None` for what several users may have. On a shared link each interface is somebody else's.
    pub(crate) fn key(&self) -> Option<AddressKey> {
        (!self.kind.is_shared()).then_some((self.prefix, self.interface))
    }

    /// Whether two users cannot have both at once.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        let overlap = match (self.ports, other.ports) {
            (Some((first, last)), Some((from, to))) => first <= to && from <= last,
            (None, None) => true,
            // A shared address and blocks of it are not each other's.
            _ => false,
        };
        overlap && self.key().is_some() && self.key() == other.key()
    }
}

/// What a packet says, without what only its transport needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) users: Vec<String>,
    pub(crate) stations: Vec<String>,
    pub(crate) payer: Option<String>,
    pub(crate) called: Option<String>,
    pub(crate) nas_ipv4: Option<IpAddr>,
    pub(crate) nas_ipv6: Option<IpAddr>,
    pub(crate) nas_name: Option<String>,
    pub(crate) nas_port: Option<u32>,
    pub(crate) nas_port_id: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) multi_session: Option<String>,
    pub(crate) class: Option<Vec<u8>>,
    pub(crate) circuit: Option<String>,
    pub(crate) remote: Option<String>,
    pub(crate) imsi: Option<String>,
    pub(crate) imeisv: Option<String>,
    pub(crate) addresses: Vec<Assigned>,
    /// Kinds that the packet takes back.
    pub(crate) released: Vec<AddressKind>,
    pub(crate) status: Option<u32>,
    pub(crate) delay: u32,
    pub(crate) session_time: Option<u32>,
    pub(crate) terminate_cause: Option<u32>,
    pub(crate) octets_in: Option<u64>,
    pub(crate) octets_out: Option<u64>,
    pub(crate) event_time: Option<u32>,
    pub(crate) interim: Option<u32>,
    /// Client identifier or DUID.
    pub(crate) client_id: Option<Vec<u8>>,
    pub(crate) subscriber: Option<String>,
    pub(crate) hostname: Option<String>,
    /// When the lease ends.
    pub(crate) expires: Option<Nanos>,
    /// Names and addresses that were not read, because there were too many.
    pub(crate) names_dropped: u64,
    pub(crate) addresses_dropped: u64,
}

impl Facts {
    /// Everything that is known to the attributes of a packet, in whatever order they are.
    pub(crate) fn read(view: &View<'_>) -> Self {
        let mut facts = Self::default();
        let (mut octets, mut words) = ([None; 2], [0; 2]);
        let mut interface = None;
        for attribute in view.attributes() {
            match attribute.number {
                n::ACCT_INPUT_OCTETS => octets[0] = attribute.integer(),
                n::ACCT_OUTPUT_OCTETS => octets[1] = attribute.integer(),
                n::ACCT_INPUT_GIGAWORDS => words[0] = attribute.integer().unwrap_or(0),
                n::ACCT_OUTPUT_GIGAWORDS => words[1] = attribute.integer().unwrap_or(0),
                n::FRAMED_INTERFACE_ID => interface = attribute.interface_id(),
                _ => facts.read_one(attribute),
            }
        }
        let bytes = |side: usize| octets[side].map(|low| u64::from(words[side]) << 32 | u64::from(low));
        (facts.octets_in, facts.octets_out) = (bytes(0), bytes(1));
        let on_link = |assigned: &&mut Assigned| assigned.kind == AddressKind::Ipv6Prefix;
        facts.addresses.iter_mut().filter(on_link).for_each(|assigned| assigned.interface = interface);
        let blocks = ports::read(view);
        facts.released.extend(blocks.is_released.then_some(AddressKind::PortBlock));
        for (address, first, last) in blocks.blocks {
            facts.assign(AddressKind::PortBlock, Prefix::host(address), Some((first, last)));
        }
        facts
    }

    fn read_one(&mut self, attribute: Attribute<'_>) {
        match attribute.number {
            n::USER_NAME => self.name(attribute, |facts| &mut facts.users),
            n::CALLING_STATION_ID => self.name(attribute, |facts| &mut facts.stations),
            n::ACCT_STATUS_TYPE => self.status = attribute.integer(),
            n::ACCT_DELAY_TIME => self.delay = attribute.integer().unwrap_or(0),
            n::ACCT_SESSION_TIME => self.session_time = attribute.integer(),
            n::ACCT_TERMINATE_CAUSE => self.terminate_cause = attribute.integer(),
            n::EVENT_TIMESTAMP => self.event_time = attribute.time(),
            n::ACCT_INTERIM_INTERVAL => self.interim = attribute.integer(),
            n::NAS_PORT => self.nas_port = attribute.integer(),
            n::NAS_IP_ADDRESS => self.nas_ipv4 = attribute.ipv4().map(IpAddr::V4).filter(is_given),
            n::NAS_IPV6_ADDRESS => self.nas_ipv6 = attribute.ipv6().map(IpAddr::V6).filter(is_given),
            // The first alone is what the NAS wants back; several are rare.
            n::CLASS => _ = self.class.get_or_insert_with(|| attribute.value.to_vec()),
            n::FRAMED_IP_ADDRESS => self.ipv4(attribute),
            n::FRAMED_IPV6_ADDRESS | n::NOKIA_IPV6_ADDRESS => {
                let prefix = attribute.ipv6().filter(|address| !address.is_unspecified());
                self.assigned(AddressKind::Ipv6Address, prefix.map(|address| (address.into(), 128)));
            }
            n::FRAMED_IPV6_PREFIX => self.ipv6_prefix(AddressKind::Ipv6Prefix, attribute),
            n::DELEGATED_IPV6_PREFIX => self.ipv6_prefix(AddressKind::Ipv6Delegated, attribute),
            n::FRAMED_ROUTE => self.assigned(AddressKind::Ipv4Route, attribute.route()),
            n::FRAMED_IPV6_ROUTE => self.assigned(AddressKind::Ipv6Route, attribute.route()),
            n::CISCO_AV_PAIR => self.av_pair(attribute),
            number => {
                if let Some(field) = self.text_field(number) {
                    *field = text(attribute);
                }
            }
        }
    }

    /// Attributes whose text is kept as it is.
    fn text_field(&mut self, number: Number) -> Option<&mut Option<String>> {
        Some(match number {
            n::CHARGEABLE_USER_IDENTITY => &mut self.payer,
            n::CALLED_STATION_ID => &mut self.called,
            n::NAS_IDENTIFIER => &mut self.nas_name,
            n::NAS_PORT_ID => &mut self.nas_port_id,
            n::ACCT_SESSION_ID => &mut self.session,
            n::ACCT_MULTI_SESSION_ID => &mut self.multi_session,
            n::AGENT_CIRCUIT_ID => &mut self.circuit,
            n::AGENT_REMOTE_ID => &mut self.remote,
            n::TGPP_IMSI => &mut self.imsi,
            n::TGPP_IMEISV => &mut self.imeisv,
            _ => return None,
        })
    }

    /// Pairs of Cisco that say what others have attributes for.
    fn av_pair(&mut self, attribute: Attribute<'_>) {
        let Some((name, value)) = attribute.text().and_then(av_pair) else { return };
        let field = match name {
            "circuit-id-tag" => &mut self.circuit,
            "remote-id-tag" => &mut self.remote,
            _ => return,
        };
        _ = field.get_or_insert_with(|| value.to_owned());
    }

    fn name(&mut self, attribute: Attribute<'_>, list: fn(&mut Self) -> &mut Vec<String>) {
        let Some(name) = text(attribute) else { return };
        let names = list(self);
        if names.contains(&name) {
            return;
        }
        if names.len() < MOST_NAMES {
            names.push(name);
        } else {
            self.names_dropped += 1;
        }
    }

    /// RFC 2865 section 5.8: all ones, and all ones but the last, leave the choice to user and NAS.
    fn ipv4(&mut self, attribute: Attribute<'_>) {
        match attribute.ipv4().map(|address| (address, address.to_bits())) {
            Some((_, 0)) => self.released.push(AddressKind::Ipv4),
            Some((address, bits)) if bits < 0xffff_fffe => {
                self.assign(AddressKind::Ipv4, Prefix::host(address.into()), None);
            }
            _ => {}
        }
    }

    fn ipv6_prefix(&mut self, kind: AddressKind, attribute: Attribute<'_>) {
        let prefix = attribute.ipv6_prefix().filter(|(_, bits)| *bits > 0);
        self.assigned(kind, prefix.map(|(address, bits)| (address.into(), bits)));
    }

    fn assigned(&mut self, kind: AddressKind, network: Option<(IpAddr, u8)>) {
        if let Some((address, bits)) = network {
            self.assign(kind, Prefix::new(address, bits), None);
        }
    }

    fn assign(&mut self, kind: AddressKind, prefix: Prefix, ports: Option<(u16, u16)>) {
        let assigned = Assigned { kind, prefix, ports, interface: None };
        if self.addresses.contains(&assigned) {
            return;
        }
        if self.addresses.len() < MOST_ADDRESSES {
            self.addresses.push(assigned);
        } else {
            self.addresses_dropped += 1;
        }
    }

    /// Adds what another packet of the same exchange says of what this one does not: names, and where the
    /// client is attached.
    pub(crate) fn complete(&mut self, other: &Self) {
        let new = other.stations.iter().filter(|name| !self.stations.contains(name)).cloned();
        let new: Vec<String> = new.take(MOST_NAMES.saturating_sub(self.stations.len())).collect();
        self.stations.extend(new);
        let texts = [
            (&mut self.circuit, &other.circuit),
            (&mut self.remote, &other.remote),
            (&mut self.subscriber, &other.subscriber),
            (&mut self.hostname, &other.hostname),
            (&mut self.nas_name, &other.nas_name),
        ];
        for (own, other) in texts {
            if own.is_none() {
                own.clone_from(other);
            }
        }
        self.client_id = self.client_id.take().or_else(|| other.client_id.clone());
        self.nas_ipv4 = self.nas_ipv4.or(other.nas_ipv4);
        self.nas_ipv6 = self.nas_ipv6.or(other.nas_ipv6);
    }

    /// The name of the NAS in records and keys. `sender` is where its requests come from.
    pub(crate) fn nas(&self, sender: IpAddr) -> String {
        let address = self.nas_ipv4.or(self.nas_ipv6).map(|address| address.to_string());
        address.or_else(|| self.nas_name.clone()).unwrap_or_else(|| sender.to_string())
    }

    /// Whether the packet names a user or an address in any way.
    pub(crate) fn is_about_somebody(&self) -> bool {
        !(self.users.is_empty() && self.stations.is_empty() && self.addresses.is_empty())
            || self.session.is_some()
    }
}

fn is_given(address: &IpAddr) -> bool {
    !address.is_unspecified()
}

/// Text, or what can be read of it; `None` where it is empty.
fn text(attribute: Attribute<'_>) -> Option<String> {
    let text = String::from_utf8_lossy(attribute.value);
    let text = text.trim_end_matches('\0');
    (!text.is_empty()).then(|| text.to_owned())
}

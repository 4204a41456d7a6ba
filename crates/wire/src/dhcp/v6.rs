//! Messages of DHCPv6, and the relay agents around them (RFC 8415).

use std::net::Ipv6Addr;

use super::ParseError;

/// Type, hops, link-address, peer-address (RFC 8415 section 9).
const RELAY_HEADER: usize = 34;
/// Type and transaction (RFC 8415 section 8).
const HEADER: usize = 4;
/// IAID, T1, T2 (RFC 8415 sections 21.4 and 21.21); of temporary addresses only the IAID (section 21.5).
const IA_HEADER: usize = 12;
const IA_TA_HEADER: usize = 4;
/// Address and two lifetimes (section 21.6); two lifetimes, length and prefix (section 21.22).
const ADDRESS_HEADER: usize = 24;
const PREFIX_HEADER: usize = 25;

/// UDP ports of clients, and of servers and relay agents.
pub const PORTS: [u16; 2] = [546, 547];

/// Relays around one message. RFC 8415 section 7.6 has at most 8, RFC 3315 had 32.
pub const MOST_RELAYS: usize = 32;

/// Which message it is (RFC 8415 section 7.3).
pub mod kind {
    /// The client looks for servers.
    pub const SOLICIT: u8 = 1;
    /// A server offers.
    pub const ADVERTISE: u8 = 2;
    /// The client asks for addresses and prefixes.
    pub const REQUEST: u8 = 3;
    /// Are the addresses right for this link?
    pub const CONFIRM: u8 = 4;
    /// The client asks its server for more time.
    pub const RENEW: u8 = 5;
    /// The client asks any server for more time.
    pub const REBIND: u8 = 6;
    /// A server answers.
    pub const REPLY: u8 = 7;
    /// The client gives back what it has.
    pub const RELEASE: u8 = 8;
    /// The addresses are another's.
    pub const DECLINE: u8 = 9;
    /// The server wants to be asked.
    pub const RECONFIGURE: u8 = 10;
    /// The client asks for settings alone.
    pub const INFORMATION_REQUEST: u8 = 11;
    /// From a relay to the server.
    pub const RELAY_FORWARD: u8 = 12;
    /// To a relay.
    pub const RELAY_REPLY: u8 = 13;
}

/// Options, by RFC 8415 where no other is named.
pub mod code {
    /// Client Identifier, section 21.2: a DUID.
    pub const CLIENT: u16 = 1;
    /// Server Identifier, section 21.3: a DUID.
    pub const SERVER: u16 = 2;
    /// Identity Association for Non-temporary Addresses, section 21.4.
    pub const IA_NA: u16 = 3;
    /// Identity Association for Temporary Addresses, section 21.5.
    pub const IA_TA: u16 = 4;
    /// IA Address, section 21.6.
    pub const IA_ADDRESS: u16 = 5;
    /// Relay Message, section 21.10.
    pub const RELAY_MESSAGE: u16 = 9;
    /// Status Code, section 21.13.
    pub const STATUS: u16 = 13;
    /// Interface-Id, section 21.18.
    pub const INTERFACE: u16 = 18;
    /// Identity Association for Prefix Delegation, section 21.21.
    pub const IA_PD: u16 = 25;
    /// IA Prefix, section 21.22.
    pub const IA_PREFIX: u16 = 26;
    /// Relay Agent Remote-ID (RFC 4649).
    pub const REMOTE: u16 = 37;
    /// Relay Agent Subscriber-ID (RFC 4580).
    pub const SUBSCRIBER: u16 = 38;
    /// Client FQDN (RFC 4704).
    pub const CLIENT_NAME: u16 = 39;
    /// Client Link-Layer Address (RFC 6939).
    pub const CLIENT_LINK_LAYER: u16 = 79;
}

/// A message whose options fit it, and those of the relays around it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The datagram.
    data: &'a [u8],
    /// The client's or server's message, without relays.
    ///
    /// INVARIANT: at least [`HEADER`] bytes.
    message: &'a [u8],
    relays: usize,
}

impl<'a> View<'a> {
    /// Checks the fixed fields and the lengths of all options, of relays too. Options within options are
    /// checked when they are read.
    ///
    /// # Errors
    ///
    /// Why the bytes are no message of DHCPv6.
    pub fn parse(data: &'a [u8]) -> Result<Self, ParseError> {
        let (mut message, mut relays) = (data, 0);
        loop {
            let kind = *message.first().ok_or(ParseError::Truncated)?;
            let is_relay = matches!(kind, kind::RELAY_FORWARD | kind::RELAY_REPLY);
            if !(kind::SOLICIT..=kind::RELAY_REPLY).contains(&kind) {
                return Err(ParseError::UnknownType);
            }
            let header = if is_relay { RELAY_HEADER } else { HEADER };
            let options = Options(message.get(header..).ok_or(ParseError::Truncated)?);
            if !options.are_whole() {
                return Err(ParseError::BadOption);
            }
            if !is_relay {
                return Ok(Self { data, message, relays });
            }
            relays += 1;
            if relays > MOST_RELAYS {
                return Err(ParseError::TooDeep);
            }
            message = options.value(code::RELAY_MESSAGE).ok_or(ParseError::NoMessage)?;
        }
    }

    /// Which message it is, without relays: see [`kind`].
    pub fn kind(&self) -> u8 {
        self.message[0]
    }

    /// Transaction: chosen by the client, and returned by the server; 24 bits.
    pub fn transaction(&self) -> u32 {
        let [_, a, b, c] = self.message.first_chunk().copied().unwrap_or_default();
        u32::from_be_bytes([0, a, b, c])
    }

    /// Options of the message.
    pub fn options(&self) -> Options<'a> {
        Options(self.message.get(HEADER..).unwrap_or_default())
    }

    /// The relays around it, the outermost first: the innermost is that of the client.
    pub fn relays(&self) -> Relays<'a> {
        Relays { data: self.data, left: self.relays }
    }

    /// The client.
    pub fn client(&self) -> Option<Duid<'a>> {
        self.options().value(code::CLIENT).map(Duid)
    }

    /// The server.
    pub fn server(&self) -> Option<Duid<'a>> {
        self.options().value(code::SERVER).map(Duid)
    }

    /// The client's address on Ethernet: of the relay that saw it, or else of its DUID, which may be that of
    /// another interface.
    pub fn mac(&self) -> Option<[u8; 6]> {
        let seen = self.relays().filter_map(|relay| relay.options.value(code::CLIENT_LINK_LAYER)).last();
        let seen = seen.and_then(|value| {
            let (kind, address) = value.split_first_chunk()?;
            super::mac(u16::from_be_bytes(*kind), address)
        });
        seen.or_else(|| self.client()?.mac())
    }

    /// Its identity associations in order.
    pub fn associations(&self) -> impl Iterator<Item = Association<'a>> + use<'a> {
        self.options().filter_map(Association::parse)
    }

    /// What it says of how the request went; without, it went well.
    pub fn status(&self) -> u16 {
        self.options().status()
    }
}

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DhcpOption<'a> {
    /// Which it is.
    pub code: u16,
    /// Its value.
    pub value: &'a [u8],
}

/// Walks options; ends at one that is not whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options<'a>(&'a [u8]);

impl<'a> Options<'a> {
    /// The value of the first of that code.
    pub fn value(&self, code: u16) -> Option<&'a [u8]> {
        self.clone().find(|option| option.code == code).map(|option| option.value)
    }

    /// The status that they say; 0 is success (RFC 8415 section 21.13).
    pub fn status(&self) -> u16 {
        let status = self.value(code::STATUS).and_then(<[u8]>::first_chunk);
        status.copied().map_or(0, u16::from_be_bytes)
    }

    fn are_whole(&self) -> bool {
        let mut rest = self.clone();
        rest.by_ref().for_each(drop);
        rest.0.is_empty()
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = DhcpOption<'a>;

    fn next(&mut self) -> Option<DhcpOption<'a>> {
        let (&[a, b, c, d], rest) = self.0.split_first_chunk()?;
        let (value, rest) = rest.split_at_checked(u16::from_be_bytes([c, d]).into())?;
        self.0 = rest;
        Some(DhcpOption { code: u16::from_be_bytes([a, b]), value })
    }
}

/// What a relay agent says around a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay<'a> {
    /// To the server, or from it: [`kind::RELAY_FORWARD`] or [`kind::RELAY_REPLY`].
    pub kind: u8,
    /// Relays before it, as it counts them.
    pub hops: u8,
    /// An address of the link that the client is on.
    pub link: Ipv6Addr,
    /// The client, or the relay before this one.
    pub peer: Ipv6Addr,
    /// Its options.
    pub options: Options<'a>,
}

impl<'a> Relay<'a> {
    /// Relay Agent Remote-ID: enterprise number, and what it calls the subscriber (RFC 4649 section 3).
    pub fn remote(&self) -> Option<(u32, &'a [u8])> {
        let (enterprise, id) = self.options.value(code::REMOTE)?.split_first_chunk()?;
        Some((u32::from_be_bytes(*enterprise), id))
    }
}

/// Walks the relays around a message, the outermost first.
#[derive(Clone, Debug)]
pub struct Relays<'a> {
    data: &'a [u8],
    left: usize,
}

impl<'a> Iterator for Relays<'a> {
    type Item = Relay<'a>;

    fn next(&mut self) -> Option<Relay<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (header, rest) = self.data.split_first_chunk::<RELAY_HEADER>()?;
        let address = |at: usize| {
            let octets: [u8; 16] = header.get(at..)?.first_chunk().copied()?;
            Some(Ipv6Addr::from(octets))
        };
        let options = Options(rest);
        self.data = options.value(code::RELAY_MESSAGE).unwrap_or_default();
        let (link, peer) = (address(2)?, address(18)?);
        Some(Relay { kind: header[0], hops: header[1], link, peer, options })
    }
}

/// What an identity association is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssociationKind {
    /// Addresses.
    Addresses,
    /// Temporary addresses.
    Temporary,
    /// Prefixes that the client passes on.
    Prefixes,
}

/// An identity association: what one client has on one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Association<'a> {
    /// What it is of.
    pub kind: AssociationKind,
    /// Its number at the client (IAID).
    pub id: u32,
    /// Options within.
    pub options: Options<'a>,
}

impl<'a> Association<'a> {
    /// `None` where the option is none, or shorter than its fixed fields.
    fn parse(option: DhcpOption<'a>) -> Option<Self> {
        let (kind, header) = match option.code {
            code::IA_NA => (AssociationKind::Addresses, IA_HEADER),
            code::IA_TA => (AssociationKind::Temporary, IA_TA_HEADER),
            code::IA_PD => (AssociationKind::Prefixes, IA_HEADER),
            _ => return None,
        };
        let options = Options(option.value.get(header..)?);
        let id = option.value.first_chunk().copied().map(u32::from_be_bytes)?;
        Some(Self { kind, id, options })
    }

    /// What it says of how the request went; 0 is success.
    pub fn status(&self) -> u16 {
        self.options.status()
    }

    /// Its addresses or prefixes in order.
    pub fn leases(&self) -> impl Iterator<Item = Lease> + use<'a> {
        let wanted = match self.kind {
            AssociationKind::Prefixes => code::IA_PREFIX,
            _ => code::IA_ADDRESS,
        };
        self.options.clone().filter(move |option| option.code == wanted).filter_map(Lease::parse)
    }
}

/// An address or a prefix that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The address, or the prefix as it was sent.
    pub address: Ipv6Addr,
    /// Bits of the prefix, 128 of an address; more than 128 is a fault of the sender.
    pub bits: u8,
    /// Seconds for which it is preferred.
    pub preferred: u32,
    /// Seconds for which it is valid: 0 takes it back, [`FOREVER`] does not end.
    pub valid: u32,
    /// Its own status; 0 is success.
    pub status: u16,
}

/// A lifetime without end (RFC 8415 section 7.7; of DHCPv4, RFC 2131 section 3.3).
pub const FOREVER: u32 = u32::MAX;

impl Lease {
    fn parse(option: DhcpOption<'_>) -> Option<Self> {
        let number = |at: usize| {
            let bytes: [u8; 4] = option.value.get(at..)?.first_chunk().copied()?;
            Some(u32::from_be_bytes(bytes))
        };
        let address = |at: usize| {
            let octets: [u8; 16] = option.value.get(at..)?.first_chunk().copied()?;
            Some(Ipv6Addr::from(octets))
        };
        let status = |header: usize| Some(Options(option.value.get(header..)?).status());
        Some(match option.code {
            code::IA_ADDRESS => Self {
                address: address(0)?,
                bits: 128,
                preferred: number(16)?,
                valid: number(20)?,
                status: status(ADDRESS_HEADER)?,
            },
            code::IA_PREFIX => Self {
                preferred: number(0)?,
                valid: number(4)?,
                bits: *option.value.get(8)?,
                address: address(9)?,
                status: status(PREFIX_HEADER)?,
            },
            _ => return None,
        })
    }
}

/// What a client or a server calls itself (RFC 8415 section 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duid<'a>(pub &'a [u8]);

impl Duid<'_> {
    /// The address on Ethernet that it was made of: DUID-LLT (section 11.2) and DUID-LL (section 11.4).
    pub fn mac(&self) -> Option<[u8; 6]> {
        let (&[a, b, c, d], rest) = self.0.split_first_chunk()?;
        let address = match u16::from_be_bytes([a, b]) {
            1 => rest.get(4..)?,
            3 => rest,
            _ => return None,
        };
        super::mac(u16::from_be_bytes([c, d]), address)
    }
}

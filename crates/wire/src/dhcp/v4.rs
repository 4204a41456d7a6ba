//! Messages of DHCPv4 (RFC 2131) and their options (RFC 2132).

use std::net::Ipv4Addr;
use std::ops::Range;

use super::ParseError;

/// The fixed fields, then the cookie (RFC 2131 section 2 and 3).
const SNAME: Range<usize> = 44..108;
const FILE: Range<usize> = 108..236;
const COOKIE: Range<usize> = 236..240;
const OPTIONS: usize = 240;
const MAGIC: [u8; 4] = [99, 130, 83, 99];
/// Options of one byte (RFC 2132 section 3.1, 3.2).
const PAD: u8 = 0;
const END: u8 = 255;
/// Of the option that says that `file`, `sname` or both have options, too (RFC 2132 section 9.3).
const IN_FILE: u8 = 1;
const IN_SNAME: u8 = 2;

/// UDP ports of servers and relay agents, and of clients.
pub const PORTS: [u16; 2] = [67, 68];

/// Which message it is (RFC 2132 section 9.6).
pub mod kind {
    /// The client looks for servers.
    pub const DISCOVER: u8 = 1;
    /// A server offers an address.
    pub const OFFER: u8 = 2;
    /// The client asks for an address, or for more time.
    pub const REQUEST: u8 = 3;
    /// The address is another's.
    pub const DECLINE: u8 = 4;
    /// The client has the address.
    pub const ACK: u8 = 5;
    /// It does not get it.
    pub const NAK: u8 = 6;
    /// The client gives the address back.
    pub const RELEASE: u8 = 7;
    /// The client has an address, and asks for settings alone.
    pub const INFORM: u8 = 8;
}

/// Options, by RFC 2132 where no other is named.
pub mod code {
    /// Host Name, section 3.14.
    pub const HOST_NAME: u8 = 12;
    /// Requested IP Address, section 9.1.
    pub const REQUESTED_ADDRESS: u8 = 50;
    /// IP Address Lease Time in seconds, section 9.2.
    pub const LEASE_TIME: u8 = 51;
    /// Option Overload, section 9.3.
    pub const OVERLOAD: u8 = 52;
    /// DHCP Message Type, section 9.6.
    pub const MESSAGE_TYPE: u8 = 53;
    /// Server Identifier, section 9.7.
    pub const SERVER: u8 = 54;
    /// Client-identifier, section 9.14.
    pub const CLIENT: u8 = 61;
    /// Relay Agent Information (RFC 3046).
    pub const RELAY_AGENT: u8 = 82;
}

/// Parts of [`code::RELAY_AGENT`].
pub mod relay {
    /// Agent Circuit ID (RFC 3046 section 3.1).
    pub const CIRCUIT: u8 = 1;
    /// Agent Remote ID (RFC 3046 section 3.2).
    pub const REMOTE: u8 = 2;
    /// Subscriber-ID (RFC 3993).
    pub const SUBSCRIBER: u8 = 6;
}

/// A message whose options fit it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// INVARIANT: at least [`OPTIONS`] bytes; options end within their fields.
    data: &'a [u8],
    /// Which of [`FILE`] and [`SNAME`] have options.
    overload: u8,
    kind: u8,
}

impl<'a> View<'a> {
    /// Checks the fixed fields and the lengths of all options. What follows the last option is padding.
    ///
    /// # Errors
    ///
    /// Why the bytes are no message of DHCPv4.
    pub fn parse(data: &'a [u8]) -> Result<Self, ParseError> {
        if data.len() < OPTIONS {
            return Err(ParseError::Truncated);
        }
        if !matches!(data[0], 1 | 2) {
            return Err(ParseError::UnknownType);
        }
        if data[COOKIE] != MAGIC {
            return Err(ParseError::NotDhcp);
        }
        let mut view = Self { data, overload: 0, kind: 0 };
        // Only the field `options` may say that others have some.
        view.overload = match view.find(code::OVERLOAD) {
            Some(&[overload]) => overload & (IN_FILE | IN_SNAME),
            _ => 0,
        };
        let mut options = view.options();
        options.by_ref().for_each(drop);
        if options.is_broken {
            return Err(ParseError::BadOption);
        }
        view.kind = match view.find(code::MESSAGE_TYPE) {
            Some(&[kind]) => kind,
            _ => return Err(ParseError::NotDhcp),
        };
        Ok(view)
    }

    /// Which message it is: see [`kind`].
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// Whether a client sent it, and no server.
    pub fn is_request(&self) -> bool {
        self.data[0] == 1
    }

    /// Hardware type of the client.
    pub fn hardware_type(&self) -> u8 {
        self.data[1]
    }

    /// Hardware address of the client, at most 16 bytes.
    pub fn hardware_address(&self) -> &'a [u8] {
        &self.data[28..28 + usize::from(self.data[2]).min(16)]
    }

    /// The client's address on Ethernet.
    pub fn mac(&self) -> Option<[u8; 6]> {
        super::mac(self.hardware_type().into(), self.hardware_address())
    }

    /// How many relay agents passed it on, as far as they count.
    pub fn hops(&self) -> u8 {
        self.data[3]
    }

    /// Transaction: chosen by the client, and returned by the server.
    pub fn transaction(&self) -> u32 {
        u32::from_be_bytes(self.four(4))
    }

    /// Seconds since the client began to ask.
    pub fn seconds(&self) -> u16 {
        u16::from_be_bytes([self.data[8], self.data[9]])
    }

    /// The address that the client has, and asks more time for.
    pub fn ciaddr(&self) -> Ipv4Addr {
        self.four(12).into()
    }

    /// The address that it gets.
    pub fn yiaddr(&self) -> Ipv4Addr {
        self.four(16).into()
    }

    /// The first relay agent.
    pub fn giaddr(&self) -> Ipv4Addr {
        self.four(24).into()
    }

    fn four(&self, at: usize) -> [u8; 4] {
        self.data.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default()
    }

    /// All options: those of the field `options`, then those of `file`, then those of `sname` (RFC 2131
    /// section 4.1), which is the order in which one that was split is joined (RFC 3396 section 5).
    pub fn options(&self) -> Options<'a> {
        let field = |range: Range<usize>, bit| {
            if self.overload & bit == 0 { &[][..] } else { &self.data[range] }
        };
        Options {
            fields: [&self.data[OPTIONS..], field(FILE, IN_FILE), field(SNAME, IN_SNAME)],
            number: 0,
            is_broken: false,
        }
    }

    /// The first option of that code, or its first part.
    pub fn find(&self, code: u8) -> Option<&'a [u8]> {
        self.options().find(|option| option.code == code).map(|option| option.value)
    }

    /// The option of that code, the parts of one that was split behind each other (RFC 3396): in the message
    /// where it has one part, otherwise in `room`. `None` where there is none, or not room enough.
    pub fn joined<'b>(&self, code: u8, room: &'b mut [u8]) -> Option<&'b [u8]>
    where
        'a: 'b,
    {
        let mut parts = self.options().filter(|option| option.code == code).map(|option| option.value);
        let first = parts.next()?;
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return Some(first);
        }
        let mut len = 0;
        for part in std::iter::once(first).chain(parts) {
            room.get_mut(len..len + part.len())?.copy_from_slice(part);
            len += part.len();
        }
        room.get(..len)
    }

    /// An option of four bytes.
    pub fn number(&self, code: u8) -> Option<u32> {
        self.find(code)?.try_into().ok().map(u32::from_be_bytes)
    }

    /// An option that is an address.
    pub fn address(&self, code: u8) -> Option<Ipv4Addr> {
        self.number(code).map(Ipv4Addr::from_bits)
    }
}

/// An option, or a part of one that was split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DhcpOption<'a> {
    /// Which it is.
    pub code: u8,
    /// Its value.
    pub value: &'a [u8],
}

/// Walks the options of a message.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// What is left of each field.
    fields: [&'a [u8]; 3],
    /// The field that is walked.
    number: usize,
    /// An option ends behind its field.
    is_broken: bool,
}

impl<'a> Iterator for Options<'a> {
    type Item = DhcpOption<'a>;

    fn next(&mut self) -> Option<DhcpOption<'a>> {
        loop {
            let field = self.fields.get_mut(self.number)?;
            match **field {
                [] | [END, ..] => self.number += 1,
                [PAD, ..] => *field = &field[1..],
                [code, len, ..] if field.len() - 2 >= usize::from(len) => {
                    let (value, rest) = field[2..].split_at(len.into());
                    *field = rest;
                    return Some(DhcpOption { code, value });
                }
                _ => {
                    self.is_broken = true;
                    self.number += 1;
                }
            }
        }
    }
}

/// Walks the parts of an option that has a code and a length for each (RFC 3046 section 2.0). Ends at one
/// that is not whole.
#[derive(Clone, Debug)]
pub struct Suboptions<'a>(&'a [u8]);

impl<'a> Suboptions<'a> {
    /// Those of the value of an option.
    pub fn new(value: &'a [u8]) -> Self {
        Self(value)
    }

    /// The first of that code.
    pub fn value(&self, code: u8) -> Option<&'a [u8]> {
        self.clone().find(|option| option.code == code).map(|option| option.value)
    }
}

impl<'a> Iterator for Suboptions<'a> {
    type Item = DhcpOption<'a>;

    fn next(&mut self) -> Option<DhcpOption<'a>> {
        let (&[code, len], rest) = self.0.split_first_chunk()?;
        let (value, rest) = rest.split_at_checked(len.into())?;
        self.0 = rest;
        Some(DhcpOption { code, value })
    }
}

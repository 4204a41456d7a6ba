//! A packet of a control protocol of PPP.

use super::{packet, protocol};

/// A packet of a control protocol: code, identifier, length, data (RFC 1661 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control<'a> {
    /// Of PPP, such as [`protocol::IPCP`].
    pub protocol: u16,
    /// What it is for, such as [`packet::CONFIGURE_ACK`].
    pub code: u8,
    /// Joins a request and its answer.
    pub identifier: u8,
    data: &'a [u8],
}

impl<'a> Control<'a> {
    /// The packet in the payload of a session's frame: the protocol field and what follows it. `None` where
    /// it is none, or is cut.
    pub(super) fn parse(payload: &'a [u8]) -> Option<Self> {
        let (&[high, low, code, identifier, long, short], rest) = payload.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes([long, short]));
        let data = rest.get(..length.checked_sub(HEADER)?)?;
        Some(Self { protocol: u16::from_be_bytes([high, low]), code, identifier, data })
    }

    /// Options of the Configure packets (RFC 1661 section 6); none of other packets.
    pub fn options(&self) -> Options<'a> {
        let has_options = matches!(self.protocol, protocol::LCP | protocol::IPCP | protocol::IPV6CP)
            && matches!(self.code, 1..=4);
        Options { rest: if has_options { self.data } else { &[] } }
    }

    /// The value of the first option of a type.
    pub fn option(&self, kind: u8) -> Option<&'a [u8]> {
        self.options().find(|(own, _)| *own == kind).map(|(_, value)| value)
    }

    /// Who asks to be let in: the Peer-ID of PAP's Authenticate-Request (RFC 1334 section 2.2.1), the Name of
    /// CHAP's Response (RFC 1994 section 4.1).
    pub fn peer_name(&self) -> Option<&'a [u8]> {
        let (&size, rest) = self.data.split_first()?;
        match (self.protocol, self.code) {
            (protocol::PAP, packet::PAP_REQUEST) => rest.get(..usize::from(size)),
            (protocol::CHAP, packet::CHAP_RESPONSE) => rest.get(usize::from(size)..),
            _ => None,
        }
    }
}

/// Options: type and value.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let &[kind, length] = self.rest.first_chunk()?;
        let value = self.rest.get(2..usize::from(length))?;
        self.rest = &self.rest[usize::from(length)..];
        Some((kind, value))
    }
}

/// Bytes of code, identifier and length, which the length counts.
const HEADER: usize = 4;

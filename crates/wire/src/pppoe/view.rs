//! A frame of PPPoE.

use super::{Control, code};
use crate::frame::link;

/// Why a frame is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParseError {
    /// No PPPoE on Ethernet.
    NotPppoe,
    /// The frame ends before what its headers declare.
    Truncated,
    /// Another version or type than 1 (RFC 2516 section 4).
    BadVersion,
    /// A tag ends behind the payload.
    BadTag,
}

/// Identifiers of the VLANs that a frame is in, the outermost first. Tags that only have a priority are left
/// out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Vlans([u16; MOST_TAGS]);

impl Vlans {
    /// Of these, as many as are read of a frame.
    pub fn of(ids: impl IntoIterator<Item = u16>) -> Self {
        let mut vlans = Self::default();
        let ids = ids.into_iter().filter(|id| *id != 0);
        vlans.0.iter_mut().zip(ids).for_each(|(place, id)| *place = id);
        vlans
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        self.0.into_iter().take_while(|id| *id != 0)
    }
}

/// A frame of discovery, or of a session that carries a control protocol of PPP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    src: [u8; 6],
    dst: [u8; 6],
    vlans: Vlans,
    code: u8,
    session: u16,
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Reads a captured frame.
    ///
    /// # Errors
    ///
    /// It is no whole frame of PPPoE.
    pub fn parse(link: u16, data: &'a [u8]) -> Result<Self, ParseError> {
        let Headers { src, dst, vlans, is_discovery, rest } =
            Headers::parse(link, data).ok_or(ParseError::NotPppoe)?;
        let (head, rest) = rest.split_first_chunk::<6>().ok_or(ParseError::Truncated)?;
        let [version_and_type, code, session @ .., long, short] = *head;
        if version_and_type != 0x11 || is_discovery == (code == code::SESSION) {
            return Err(ParseError::BadVersion);
        }
        let payload = rest.get(..usize::from(u16::from_be_bytes([long, short])));
        let payload = payload.ok_or(ParseError::Truncated)?;
        let view = Self { src, dst, vlans, code, session: u16::from_be_bytes(session), payload };
        let mut tags = view.tags();
        tags.by_ref().for_each(drop);
        // What follows an end of the list is not looked at.
        if tags.is_broken { Err(ParseError::BadTag) } else { Ok(view) }
    }

    /// Ethernet address of the sender.
    pub fn src(&self) -> [u8; 6] {
        self.src
    }

    /// Of the receiver.
    pub fn dst(&self) -> [u8; 6] {
        self.dst
    }

    /// VLANs that it is in.
    pub fn vlans(&self) -> Vlans {
        self.vlans
    }

    /// What of discovery it is; 0 in a session.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// Session id; 0 before there is one.
    pub fn session(&self) -> u16 {
        self.session
    }

    /// Tags of discovery: type and value (RFC 2516 appendix A).
    pub fn tags(&self) -> Tags<'a> {
        let rest = if self.code == code::SESSION { &[] } else { self.payload };
        Tags { rest, is_broken: false }
    }

    /// The name of the access concentrator.
    pub fn concentrator(&self) -> Option<&'a [u8]> {
        self.tags().find(|(kind, _)| *kind == AC_NAME).map(|(_, value)| value)
    }

    /// The line, as the access node adds it: Agent Circuit ID (TR-101 section 3.9.2).
    pub fn circuit(&self) -> Option<&'a [u8]> {
        self.broadband_forum(1)
    }

    /// The subscriber, likewise: Agent Remote ID.
    pub fn remote(&self) -> Option<&'a [u8]> {
        self.broadband_forum(2)
    }

    /// A sub-option of the Vendor-Specific tag of the Broadband Forum.
    fn broadband_forum(&self, wanted: u8) -> Option<&'a [u8]> {
        let of_vendor = |(kind, value): (u16, &'a [u8])| match value.split_first_chunk()? {
            (vendor, rest) if kind == VENDOR_SPECIFIC && *vendor == BROADBAND_FORUM => Some(rest),
            _ => None,
        };
        let mut rest = self.tags().find_map(of_vendor)?;
        loop {
            let &[kind, length] = rest.first_chunk()?;
            let value = rest.get(2..2 + usize::from(length))?;
            if kind == wanted {
                return Some(value);
            }
            rest = &rest[2 + value.len()..];
        }
    }

    /// The packet of a control protocol that a session's frame carries; `None` of discovery, and where it is
    /// cut.
    pub fn control(&self) -> Option<Control<'a>> {
        (self.code == code::SESSION).then(|| Control::parse(self.payload)).flatten()
    }
}

/// Whether a frame is one of discovery, or one of a session that carries a control protocol: neither is an IP
/// packet. Tells from a few bytes.
pub fn is_control(link: u16, data: &[u8]) -> bool {
    let Some(Headers { is_discovery, rest, .. }) = Headers::parse(link, data) else { return false };
    // Behind the header of six bytes. Protocols of the network layer are below (RFC 1661 section 2).
    is_discovery || rest.get(6).is_some_and(|high| *high >= 0x80)
}

/// What is in front of PPPoE.
struct Headers<'a> {
    src: [u8; 6],
    dst: [u8; 6],
    vlans: Vlans,
    is_discovery: bool,
    rest: &'a [u8],
}

impl<'a> Headers<'a> {
    fn parse(link: u16, data: &'a [u8]) -> Option<Self> {
        if link != link::ETHERNET {
            return None;
        }
        let (dst, rest) = data.split_first_chunk()?;
        let (src, mut rest) = rest.split_first_chunk()?;
        let mut ids = [0; MOST_TAGS];
        for place in 0..=MOST_TAGS {
            let (kind, after) = rest.split_first_chunk()?;
            rest = after;
            match u16::from_be_bytes(*kind) {
                // The last three are service tags from before IEEE 802.1ad.
                0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => {
                    let (tag, after) = rest.split_first_chunk()?;
                    *ids.get_mut(place)? = u16::from_be_bytes(*tag) & 0x0fff;
                    rest = after;
                }
                kind @ (DISCOVERY | SESSION) => {
                    let (vlans, is_discovery) = (Vlans::of(ids), kind == DISCOVERY);
                    return Some(Self { src: *src, dst: *dst, vlans, is_discovery, rest });
                }
                _ => return None,
            }
        }
        None
    }
}

/// Tags of discovery: type and value.
#[derive(Clone, Debug)]
pub struct Tags<'a> {
    rest: &'a [u8],
    is_broken: bool,
}

impl<'a> Iterator for Tags<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = self.rest.split_first_chunk().and_then(|(&[k0, k1, l0, l1], rest)| {
            let (kind, length) = (u16::from_be_bytes([k0, k1]), u16::from_be_bytes([l0, l1]));
            Some((kind, rest.split_at_checked(usize::from(length))?))
        });
        self.is_broken |= tag.is_none() && !self.rest.is_empty();
        let (kind, (value, rest)) = tag?;
        self.rest = if kind == END_OF_LIST { &[] } else { rest };
        (kind != END_OF_LIST).then_some((kind, value))
    }
}

/// EtherTypes (RFC 2516 section 4).
const DISCOVERY: u16 = 0x8863;
const SESSION: u16 = 0x8864;
/// VLAN tags in a row.
const MOST_TAGS: usize = 4;
/// Tags of discovery.
const END_OF_LIST: u16 = 0;
const AC_NAME: u16 = 0x0102;
const VENDOR_SPECIFIC: u16 = 0x0105;
/// Enterprise number 3561.
const BROADBAND_FORUM: [u8; 4] = [0, 0, 0x0d, 0xe9];

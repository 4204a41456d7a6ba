//! Blocks of ports at a shared address (CGN), in the forms that NAS send them.

use std::net::IpAddr;

use ringtap_wire::radius::number as n;
use ringtap_wire::radius::{Attribute, View};

/// Port blocks of one packet.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// Address, first and last port.
    pub(crate) blocks: Vec<(IpAddr, u16, u16)>,
    /// The packet takes the user's blocks back.
    pub(crate) is_released: bool,
}

/// IP-Port-Range (RFC 8045 section 3.1.2), Nokia's Alc-NAT-Port-Range, Huawei's three attributes.
pub(crate) fn read(view: &View<'_>) -> Blocks {
    let mut found = Blocks::default();
    let (mut address, mut first, mut last) = (None, None, None);
    for attribute in view.attributes() {
        match attribute.number {
            n::IP_PORT_RANGE => found.port_range(attribute),
            n::NOKIA_NAT_PORT_RANGE => {
                found.blocks.extend(attribute.text().and_then(nokia));
            }
            n::HUAWEI_NAT_PUBLIC_ADDRESS => {
                address = attribute.text().and_then(|text| text.parse().ok()).or(attribute.address());
            }
            n::HUAWEI_NAT_START_PORT => first = port(attribute),
            n::HUAWEI_NAT_END_PORT => last = port(attribute),
            _ => {}
        }
    }
    if let (Some(address), Some(first), Some(last)) = (address, first, last) {
        found.add(address, first, last);
    }
    found
}

impl Blocks {
    fn add(&mut self, address: IpAddr, first: u16, last: u16) {
        if first <= last {
            self.blocks.push((address, first, last));
        }
    }

    /// TLVs of RFC 8045 section 3.2: 3 external IPv4 address, 8 allocation, 9 and 10 first and last port.
    fn port_range(&mut self, attribute: Attribute<'_>) {
        let (mut address, mut first, mut last, mut is_released) = (None, None, None, false);
        for (kind, value) in attribute.tlvs() {
            match kind {
                3 => address = <[u8; 4]>::try_from(value).ok().map(IpAddr::from),
                8 => is_released = number(value) == Some(2),
                9 => first = number(value),
                10 => last = number(value),
                _ => {}
            }
        }
        let (Some(address), Some(first), Some(last)) = (address, first, last) else { return };
        if is_released {
            self.is_released = true;
        } else {
            self.add(address, first, last);
        }
    }
}

/// `198.51.100.1 1024-1055 router base`, with `..` in some versions.
fn nokia(text: &str) -> Option<(IpAddr, u16, u16)> {
    let mut words = text.split_ascii_whitespace();
    let address = words.next()?.parse().ok()?;
    let range = words.next()?;
    let (first, last) = range.split_once("..").or_else(|| range.split_once('-'))?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((address, first, last))
}

/// A port as text, or as a number.
fn port(attribute: Attribute<'_>) -> Option<u16> {
    let text = attribute.text().and_then(|text| text.parse().ok());
    text.or_else(|| number(attribute.value))
}

/// A port in two or four bytes.
fn number(value: &[u8]) -> Option<u16> {
    match *value {
        [high, low] | [0, 0, high, low] => Some(u16::from_be_bytes([high, low])),
        _ => None,
    }
}

//! What a session is found by: its addresses and its names.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ringtap_cpu::crc32c;
use ringtap_model::subscriber::{bare_user_name, station_characters};
use ringtap_model::{HeldAddress, Identity};

use crate::record::integer;

/// The rows of a session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) addresses: BTreeSet<AddressRow>,
    pub(super) names: BTreeSet<Vec<u8>>,
    /// Of the prefixes, as the table `lengths` has them.
    pub(super) lengths: BTreeSet<u8>,
}

/// An address with the time and the ports that it was the session's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AddressRow {
    pub(super) network: Vec<u8>,
    pub(super) from: i64,
    pub(super) ports: (u16, u16),
    pub(super) until: i64,
}

impl Rows {
    pub(super) fn of(identity: &Identity) -> Self {
        let mut rows = Self::default();
        for held in &identity.addresses {
            let Some((row, bits)) = address_row(held) else { continue };
            rows.addresses.insert(row);
            rows.lengths.insert(bits);
        }
        rows.names.extend(identity.names.iter().flat_map(|name| names_of(name)));
        rows
    }
}

fn address_row(held: &HeldAddress) -> Option<(AddressRow, u8)> {
    let (address, bits) = match held.network.split_once('/') {
        Some((address, bits)) => (address.parse().ok()?, Some(bits.parse().ok()?)),
        None => (held.network.parse().ok()?, None),
    };
    let bits = match address {
        IpAddr::V4(_) => bits.unwrap_or(32).min(32) + MAPPED,
        IpAddr::V6(_) => bits.unwrap_or(128).min(128),
    };
    let row = AddressRow {
        network: network(address, bits)?,
        from: integer(held.from.micros()),
        ports: (held.first_port.unwrap_or(0), held.last_port.unwrap_or(u16::MAX)),
        until: held.until.map_or(i64::MAX, |until| integer(until.micros())),
    };
    Some((row, bits))
}

/// The network of an address with its first `bits`, those of the mapping included, as rows have it: the bits,
/// then as many bytes as have some of them. `None` where an IPv4 address has no such network.
pub(super) fn network(address: IpAddr, bits: u8) -> Option<Vec<u8>> {
    let (bytes, own) = match address {
        IpAddr::V4(address) => (address.octets().to_vec(), bits.checked_sub(MAPPED)?),
        IpAddr::V6(address) => (address.octets().to_vec(), bits),
    };
    let mut network = vec![bits];
    // Of IPv4 always four bytes, of which IPv6 never has as many with so many bits.
    let length = if address.is_ipv4() { bytes.len() } else { usize::from(own).div_ceil(8) };
    for (place, byte) in bytes.into_iter().enumerate().take(length) {
        let left = usize::from(own).saturating_sub(8 * place).min(8);
        network.push(byte & !(0xff_u16 >> left) as u8);
    }
    Some(network)
}

/// What a name is found by: as a user's without realm and case, as a station's without separators.
pub(super) fn names_of(name: &str) -> BTreeSet<Vec<u8>> {
    let user = bare_user_name(name).chars().flat_map(char::to_lowercase).collect();
    let station: String = station_characters(name).collect();
    [(USER, user), (STATION, station)].into_iter().filter(|(_, text)| !text.is_empty()).map(key).collect()
}

/// A letter and a text, which is cut.
fn key((letter, text): (u8, String)) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut key = vec![letter];
    key.extend(&bytes[..bytes.len().min(NAME_HEAD)]);
    if bytes.len() > NAME_HEAD {
        key.extend(crc32c(0, bytes).to_be_bytes());
    }
    key
}

/// Bits in front of a mapped IPv4 address (RFC 4291 section 2.5.5.2).
const MAPPED: u8 = 96;
const USER: u8 = b'u';
const STATION: u8 = b's';
/// Bytes of a name.
const NAME_HEAD: usize = 20;

#[cfg(test)]
mod tests {
    use ringtap_model::{Nanos, SessionEnd};
    use ringtap_testing::samples;

    use super::*;

    #[test]
    fn a_network_is_the_same_of_every_address_in_it() {
        let of = |address: &str, bits| network(address.parse().unwrap(), bits);
        assert_eq!(of("203.0.113.7", 128).unwrap(), [128, 203, 0, 113, 7]);
        assert_eq!(of("203.0.113.7", 120), of("203.0.113.99", 120));
        assert_eq!(of("203.0.113.7", 125).unwrap(), [125, 203, 0, 113, 0]);
        assert_ne!(of("203.0.113.7", 120), of("203.0.114.7", 120));
        assert_eq!(of("203.0.113.7", 56), None, "that is no network of IPv4");
        assert_eq!(of("2001:db8:7:ff::1", 56), of("2001:db8:7:1::2", 56));
        assert_eq!(of("2001:db8:7:1ff::1", 57).unwrap().len(), 9);
        assert_ne!(of("2001:db8:7:1ff::1", 57), of("2001:db8:7:100::1", 57));
        assert_eq!(of("::", 0).unwrap(), [0]);
    }

    #[test]
    fn rows_have_blocks_of_ports_and_what_is_open() {
        let mut identity = samples::identity();
        let mut block = identity.addresses[0].clone();
        (block.first_port, block.last_port) = (Some(40_000), Some(40_999));
        (block.until, block.end_cause) = (Some(Nanos::from_secs(1_795_226_999)), Some(SessionEnd::Stopped));
        identity.addresses.push(block);
        let rows = Rows::of(&identity);
        let ends: Vec<_> = rows.addresses.iter().map(|row| (row.ports, row.until)).collect();
        assert_eq!(ends, [((0, u16::MAX), i64::MAX), ((40_000, 40_999), 1_795_226_999_000_000)]);
        assert_eq!(rows.lengths.iter().copied().collect::<Vec<_>>(), [128]);
        let has = |name: &str| names_of(name).iter().any(|key| rows.names.contains(key));
        assert!(has("BOB@example.org") && has("0200.5e10.0001") && !has("alice"));
        let long = "a".repeat(40);
        assert!(names_of(&long) != names_of(&"a".repeat(41)) && names_of("").is_empty());
    }
}

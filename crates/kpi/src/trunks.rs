//! Trunks: groups of addresses with a name.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use ringtap_model::{Call, Network};

/// A group of addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Trunk {
    /// Its name.
    pub name: String,
    /// Addresses and networks.
    pub networks: Vec<Network>,
}

/// Finds the trunk of an address: of several networks that hold it, the longest prefix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trunks {
    names: Vec<Arc<str>>,
    /// First address of each network, its prefix length, and the number of its trunk; of each length one
    /// list, sorted, the longest prefix first.
    lengths: Vec<(u8, Vec<(u128, u16)>)>,
}

/// Why trunks cannot be used: the places of the trunks in the list, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrunkError {
    /// The name is empty, an address, as learned trunks have it, or `other`, as these have in metrics.
    Name(usize),
    /// Two trunks have the same name.
    SameName(usize, usize),
    /// Two trunks have the same network.
    SameNetwork(usize, usize, String),
    /// A trunk has no addresses.
    Empty(usize),
    /// There are more than [`MOST`].
    TooMany,
}

impl fmt::Display for TrunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(_) => {
                f.write_str("must be a name, not an address and not `other`, for example \"carrier-a\"")
            }
            Self::SameName(..) => f.write_str("is the name of two trunks: list all addresses in one"),
            Self::SameNetwork(_, _, network) => write!(f, "{network} is in two trunks: remove it from one"),
            Self::Empty(_) => {
                f.write_str("is empty: name the trunk's addresses, such as [\"198.51.100.0/24\"]")
            }
            Self::TooMany => write!(f, "there are more than {MOST} trunks: group their addresses"),
        }
    }
}

impl std::error::Error for TrunkError {}

impl Trunks {
    /// The table of these trunks.
    ///
    /// # Errors
    ///
    /// A name or a network is there twice, a name is empty or an address, or a trunk has no network.
    pub fn new(trunks: &[Trunk]) -> Result<Self, TrunkError> {
        if trunks.len() > MOST {
            return Err(TrunkError::TooMany);
        }
        let mut all: Vec<(u8, u128, u16)> = Vec::new();
        for (place, trunk) in trunks.iter().enumerate() {
            let is_taken = trunk.name == "other" || trunk.name.parse::<IpAddr>().is_ok();
            if trunk.name.trim().is_empty() || is_taken {
                return Err(TrunkError::Name(place));
            }
            if let Some(other) = trunks[..place].iter().position(|other| other.name == trunk.name) {
                return Err(TrunkError::SameName(other, place));
            }
            if trunk.networks.is_empty() {
                return Err(TrunkError::Empty(place));
            }
            for network in &trunk.networks {
                let (first, last) = network.ends();
                let (first, last) = (bits(first), bits(last));
                let length = (first ^ last).leading_zeros() as u8;
                let same = all.iter().find(|(bits, other, _)| (*bits, *other) == (length, first));
                match same {
                    Some((_, _, other)) if usize::from(*other) != place => {
                        let network = network.to_string();
                        return Err(TrunkError::SameNetwork(usize::from(*other), place, network));
                    }
                    Some(_) => {}
                    None => all.push((length, first, place as u16)),
                }
            }
        }
        all.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        let mut lengths: Vec<(u8, Vec<(u128, u16)>)> = Vec::new();
        for (length, first, place) in all {
            match lengths.last_mut().filter(|(last, _)| *last == length) {
                Some((_, networks)) => networks.push((first, place)),
                None => lengths.push((length, vec![(first, place)])),
            }
        }
        Ok(Self { names: trunks.iter().map(|trunk| trunk.name.as_str().into()).collect(), lengths })
    }

    /// The number of the trunk that an address is in, in the order of the list.
    pub fn number(&self, address: IpAddr) -> Option<usize> {
        let address = bits(address);
        self.lengths.iter().find_map(|(length, networks)| {
            let mask = u128::MAX.checked_shl(128 - u32::from(*length)).unwrap_or(0);
            let place = networks.binary_search_by_key(&(address & mask), |(first, _)| *first).ok()?;
            Some(usize::from(networks[place].1))
        })
    }

    /// The trunk of an address: its name, or the address where it is in none.
    pub fn name(&self, address: IpAddr) -> String {
        match self.number(address).and_then(|number| self.names.get(number)) {
            Some(name) => name.to_string(),
            None => address.to_canonical().to_string(),
        }
    }

    /// The names, in the order of the list.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// Fills in the trunks of a call.
    pub fn annotate(&self, call: &mut Call) {
        call.trunk_from = Some(self.name(call.src.ip));
        call.trunk_to = Some(self.name(call.dst.ip));
    }
}

/// An address as 128 bits: IPv4 as mapped into IPv6, so that both are in one table.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Trunks at most.
pub const MOST: usize = 10_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn trunk(name: &str, networks: &[&str]) -> Trunk {
        Trunk { name: name.into(), networks: networks.iter().map(|text| text.parse().unwrap()).collect() }
    }

    #[test]
    fn the_longest_prefix_wins() {
        let trunks = Trunks::new(&[
            trunk("wide", &["198.51.0.0/16", "2001:db8::/32"]),
            trunk("narrow", &["198.51.100.0/24", "198.51.100.7", "2001:db8:1::/48"]),
            trunk("rest", &["0.0.0.0/0"]),
        ])
        .unwrap();
        for (address, name) in [
            ("198.51.1.1", "wide"),
            ("198.51.100.7", "narrow"),
            ("198.51.100.8", "narrow"),
            ("::ffff:198.51.100.8", "narrow"),
            ("2001:db8::1", "wide"),
            ("2001:db8:1::1", "narrow"),
            ("192.0.2.1", "rest"),
            ("2001:db9::1", "2001:db9::1"),
        ] {
            assert_eq!(trunks.name(address.parse().unwrap()), name, "{address}");
        }
        assert_eq!(Trunks::default().name([192, 0, 2, 1].into()), "192.0.2.1");
    }

    #[test]
    fn mistakes_name_both_trunks() {
        let twice = [trunk("a", &["192.0.2.0/24"]), trunk("b", &["192.0.2.0/24"])];
        let error = Trunks::new(&twice).unwrap_err();
        assert_eq!(error, TrunkError::SameNetwork(0, 1, "192.0.2.0/24".into()));
        assert!(error.to_string().contains("192.0.2.0/24 is in two trunks"));
        let names = [trunk("a", &["192.0.2.1"]), trunk("a", &["192.0.2.2"])];
        assert_eq!(Trunks::new(&names), Err(TrunkError::SameName(0, 1)));
        assert_eq!(Trunks::new(&[trunk("192.0.2.1", &["192.0.2.1"])]), Err(TrunkError::Name(0)));
        assert_eq!(Trunks::new(&[trunk("a", &[])]), Err(TrunkError::Empty(0)));
        // The same network twice in one trunk does no harm.
        assert!(Trunks::new(&[trunk("a", &["192.0.2.1", "192.0.2.1/32"])]).is_ok());
    }

    proptest! {
        /// As found by trying every network.
        #[test]
        fn as_a_search_through_all(
            networks in prop::collection::vec((any::<u32>(), 0_u8..=32), 1..30), address: u32, pick: usize
        ) {
            let mut trunks: Vec<Trunk> = Vec::new();
            for (bits, length) in &networks {
                let network: Network = format!("{}/{length}", std::net::Ipv4Addr::from_bits(*bits)).parse()
                    .unwrap_or_else(|_| std::net::Ipv4Addr::from_bits(*bits).to_string().parse().unwrap());
                let is_new = trunks.iter().all(|trunk| trunk.networks[0].ends() != network.ends());
                if is_new {
                    trunks.push(Trunk { name: format!("t{}", trunks.len()), networks: vec![network] });
                }
            }
            let table = Trunks::new(&trunks).unwrap();
            // Half of the addresses are in a network for certain.
            let address = if pick % 2 == 0 { address } else { networks[pick % networks.len()].0 };
            let address = IpAddr::from(std::net::Ipv4Addr::from_bits(address));
            let size = |trunk: &&Trunk| {
                let (first, last) = trunk.networks[0].ends();
                bits(last) - bits(first)
            };
            let expected = trunks.iter().filter(|trunk| trunk.networks[0].holds(address)).min_by_key(size);
            let expected = expected.map_or_else(|| address.to_string(), |trunk| trunk.name.clone());
            prop_assert_eq!(table.name(address), expected);
        }
    }
}

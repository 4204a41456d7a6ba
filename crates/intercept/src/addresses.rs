//! Whose an address is.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use ringtap_engine::Targets;
use ringtap_model::Network;

/// Part of a network that belongs to one communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) network: Network,
    /// First and last port, where an address is shared by blocks of its ports.
    pub(crate) ports: Option<(u16, u16)>,
}

/// Networks of targets, each with the numbers of the communications that have it. What is in here is also
/// among the engine's targets.
#[derive(Debug)]
pub(crate) struct Addresses {
    networks: HashMap<(IpAddr, u8), Vec<Holder>>,
    /// How many networks there are of each length: IPv4, IPv6.
    lengths: [Vec<u32>; 2],
    targets: Arc<Targets>,
}

/// Who has a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Number of the communication.
    pub(crate) number: u32,
    pub(crate) ports: Option<(u16, u16)>,
}

impl Addresses {
    pub(crate) fn new(targets: Arc<Targets>) -> Self {
        Self { networks: HashMap::new(), lengths: [vec![0; 33], vec![0; 129]], targets }
    }

    /// A communication got part of a network.
    pub(crate) fn add(&mut self, holding: &Holding, number: u32) {
        let Holding { network, ports } = *holding;
        let (first, bits) = (network.ends().0, network.bits());
        let holders = self.networks.entry((first, bits)).or_default();
        holders.push(Holder { number, ports });
        if holders.len() == 1 {
            if let Some(count) = self.lengths[usize::from(first.is_ipv6())].get_mut(usize::from(bits)) {
                *count += 1;
            }
            self.targets.add(first, bits);
        }
    }

    /// A communication no longer has it.
    pub(crate) fn remove(&mut self, holding: &Holding, number: u32) {
        let Holding { network, ports } = *holding;
        let (first, bits) = (network.ends().0, network.bits());
        let Some(holders) = self.networks.get_mut(&(first, bits)) else { return };
        let Some(place) = holders.iter().position(|holder| *holder == Holder { number, ports }) else {
            return;
        };
        holders.remove(place);
        if holders.is_empty() {
            self.networks.remove(&(first, bits));
            if let Some(count) = self.lengths[usize::from(first.is_ipv6())].get_mut(usize::from(bits)) {
                *count = count.saturating_sub(1);
            }
            self.targets.remove(first, bits);
        }
    }

    /// Who has an address, those with the smallest network first.
    pub(crate) fn find(&self, address: IpAddr) -> impl Iterator<Item = Holder> {
        let lengths = self.lengths[usize::from(address.is_ipv6())].iter().enumerate().rev();
        lengths.filter(|(_, count)| **count > 0).flat_map(move |(bits, _)| {
            let key = (first_of(address, bits as u8), bits as u8);
            self.networks.get(&key).into_iter().flatten().copied()
        })
    }
}

/// The first address of the network of that length around an address.
fn first_of(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let hosts = u32::MAX.checked_shr(bits.into()).unwrap_or(0);
            IpAddr::V4((address.to_bits() & !hosts).into())
        }
        IpAddr::V6(address) => {
            let hosts = u128::MAX.checked_shr(bits.into()).unwrap_or(0);
            IpAddr::V6((address.to_bits() & !hosts).into())
        }
    }
}

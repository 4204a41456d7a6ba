//! Whose an address is.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use ringtap_engine::Targets;
use ringtap_model::{Nanos, Network};

/// Part of a network that belongs to one communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) network: Network,
    /// First and last port, where an address is shared by blocks of its ports.
    pub(crate) ports: Option<(u16, u16)>,
}

/// Networks of targets, each with the numbers of the communications that have it, or had it a moment ago:
/// packets may be looked at a little later than what ended it. What is in here is also among the engine's
/// targets.
#[derive(Debug)]
pub(crate) struct Addresses {
    networks: HashMap<(IpAddr, u8), Vec<Holder>>,
    /// How many networks there are of each length: IPv4, IPv6.
    lengths: [Vec<u32>; 2],
    /// Who no longer has a network, in the order in which that was known.
    past: VecDeque<Past>,
    /// The latest time that was told.
    now: Nanos,
    targets: Arc<Targets>,
}

/// Who has a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    /// Number of the communication.
    pub(crate) number: u32,
    pub(crate) ports: Option<(u16, u16)>,
    time: Held,
    /// It is among [`Addresses::past`].
    is_past: bool,
}

/// From when until before when somebody has a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
}

impl Holder {
    /// Whether what was sent then was its own.
    pub(crate) fn had_it_at(&self, time: Nanos) -> bool {
        (self.time.from..self.time.until).contains(&time)
    }
}

/// Somebody who no longer has a network.
#[derive(Debug)]
struct Past {
    holding: Holding,
    number: u32,
    /// When it was known.
    known: Nanos,
}

impl Addresses {
    pub(crate) fn new(targets: Arc<Targets>) -> Self {
        Self {
            networks: HashMap::new(),
            lengths: [vec![0; 33], vec![0; 129]],
            past: VecDeque::new(),
            now: Nanos::ZERO,
            targets,
        }
    }

    /// A communication got part of a network.
    pub(crate) fn add(&mut self, holding: &Holding, time: Held, number: u32) {
        let Holding { network, ports } = *holding;
        let (first, bits) = (network.ends().0, network.bits());
        let holders = self.networks.entry((first, bits)).or_default();
        holders.push(Holder { number, ports, time, is_past: false });
        if holders.len() == 1 {
            if let Some(count) = self.lengths[usize::from(first.is_ipv6())].get_mut(usize::from(bits)) {
                *count += 1;
            }
            self.targets.add(first, bits);
        }
    }

    /// A communication has it longer, or shorter, than was said.
    pub(crate) fn extend(&mut self, holding: &Holding, until: Nanos, number: u32) {
        if let Some(holder) = self.present(holding, number) {
            holder.time.until = until;
        }
    }

    /// A communication has it until then, and no longer than was said.
    pub(crate) fn end(&mut self, holding: &Holding, until: Nanos, number: u32) {
        if let Some(holder) = self.present(holding, number) {
            holder.time.until = holder.time.until.min(until);
            holder.is_past = true;
            self.past.push_back(Past { holding: *holding, number, known: self.now });
        }
    }

    fn present(&mut self, holding: &Holding, number: u32) -> Option<&mut Holder> {
        let (first, bits) = (holding.network.ends().0, holding.network.bits());
        let holders = self.networks.get_mut(&(first, bits))?;
        holders
            .iter_mut()
            .find(|holder| holder.number == number && holder.ports == holding.ports && !holder.is_past)
    }

    /// Nothing from before `now` less [`KEPT`] comes any more. Those are forgotten whose time was over then:
    /// returns their numbers, once for each network.
    pub(crate) fn advance(&mut self, now: Nanos) -> Vec<u32> {
        self.now = self.now.max(now);
        let mut forgotten = Vec::new();
        while let Some(past) = self.past.pop_front_if(|past| past.known + KEPT <= self.now) {
            self.forget(&past.holding, past.number);
            forgotten.push(past.number);
        }
        forgotten
    }

    fn forget(&mut self, holding: &Holding, number: u32) {
        let (first, bits) = (holding.network.ends().0, holding.network.bits());
        let Some(holders) = self.networks.get_mut(&(first, bits)) else { return };
        let is_it =
            |holder: &Holder| holder.number == number && holder.ports == holding.ports && holder.is_past;
        let Some(place) = holders.iter().position(is_it) else { return };
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

/// How long somebody who no longer has a network is remembered: longer than packets are looked at late.
const KEPT: Nanos = Nanos::from_secs(1);

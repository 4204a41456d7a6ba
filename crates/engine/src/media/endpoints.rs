//! Which calls announced an endpoint, and which streams run over it.

use ringtap_model::Endpoint;

use crate::table::hash::Hasher;
use crate::table::index::Index;
use crate::table::slots::Slots;
use crate::update::Side;

const NONE: u32 = u32::MAX;
/// Lists of an endpoint.
const LISTS: usize = 3;

/// How many of the newest entries of an endpoint are looked at: a media port that hundreds of calls share is
/// told apart by the other end.
const NEWEST: usize = 64;

/// Which of the two lists of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerList {
    /// Calls whose SDP names it.
    Calls,
    /// Streams from or to it.
    Flows,
    /// Calls that may have it behind NAT, see [`super::natted`].
    Natted,
}

struct EndpointEntry {
    endpoint: Endpoint,
    hash: u64,
    heads: [u32; LISTS],
}

struct Node {
    entry: u32,
    owner: u32,
    list: OwnerList,
    /// Of a call, whose the endpoint is.
    side: Side,
    previous: u32,
    next: u32,
}

/// The table of endpoints. Its size follows from the ceilings of calls and streams.
pub(crate) struct Endpoints {
    entries: Slots<EndpointEntry>,
    nodes: Slots<Node>,
    index: Index,
    hasher: Hasher,
}

impl Endpoints {
    pub(crate) fn new(ceiling: usize, hasher: Hasher, live: bool) -> Self {
        let index = if live { Index::new(ceiling) } else { Index::growing(ceiling) };
        Self { entries: Slots::new(ceiling), nodes: Slots::new(ceiling), index, hasher }
    }

    /// Enters an owner under an endpoint; gives the number to take it out with, None at the ceiling.
    pub(crate) fn add(&mut self, endpoint: Endpoint, list: OwnerList, owner: u32) -> Option<u32> {
        self.enter(endpoint, list, owner, Side::Caller)
    }

    /// Enters a call under an endpoint that one of its sides may have behind NAT.
    pub(crate) fn add_natted(&mut self, endpoint: Endpoint, call: u32, side: Side) -> Option<u32> {
        self.enter(endpoint, OwnerList::Natted, call, side)
    }

    /// Enters a call under an endpoint of one of its sides.
    pub(crate) fn add_call(&mut self, endpoint: Endpoint, call: u32, side: Side) -> Option<u32> {
        self.enter(endpoint, OwnerList::Calls, call, side)
    }

    fn enter(&mut self, endpoint: Endpoint, list: OwnerList, owner: u32, side: Side) -> Option<u32> {
        if self.nodes.is_full() {
            return None;
        }
        let entry = self.find(endpoint).or_else(|| self.create(endpoint))?;
        let head = self.entries[entry].heads[list as usize];
        let node = self.nodes.insert(Node { entry, owner, list, side, previous: NONE, next: head })?;
        if head != NONE {
            self.nodes[head].previous = node;
        }
        self.entries[entry].heads[list as usize] = node;
        Some(node)
    }

    /// Asks for the place of an endpoint in the index.
    pub(crate) fn prefetch_index(&self, endpoint: Endpoint) {
        self.index.prefetch(self.hasher.of(endpoint));
    }

    /// Asks for the endpoint of an entry.
    pub(crate) fn prefetch_entry(&self, node: u32) {
        if let Some(entry) = self.nodes.get(node).and_then(|node| self.entries.get(node.entry)) {
            ringtap_cpu::prefetch(entry);
        }
    }

    /// Asks for an entry.
    pub(crate) fn prefetch(&self, node: u32) {
        if let Some(node) = self.nodes.get(node) {
            ringtap_cpu::prefetch(node);
        }
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, node: u32) {
        let Some(node) = self.nodes.remove(node) else { return };
        match node.previous {
            NONE => self.entries[node.entry].heads[node.list as usize] = node.next,
            previous => self.nodes[previous].next = node.next,
        }
        if node.next != NONE {
            self.nodes[node.next].previous = node.previous;
        }
        if self.entries[node.entry].heads == [NONE; LISTS]
            && let Some(entry) = self.entries.remove(node.entry)
        {
            self.index.remove(entry.hash, node.entry);
        }
    }

    /// The number of the endpoint of an owner's entry, for as long as that stands.
    pub(crate) fn number(&self, node: u32) -> Option<u32> {
        self.nodes.get(node).map(|node| node.entry)
    }

    /// The number of an endpoint, for as long as it has an owner.
    pub(crate) fn find(&self, endpoint: Endpoint) -> Option<u32> {
        let hash = self.hasher.of(endpoint);
        self.index.find(hash, |entry| self.entries[entry].endpoint == endpoint)
    }

    /// The newest owners under an endpoint, newest first.
    pub(crate) fn owners(&self, endpoint: Endpoint, list: OwnerList) -> impl Iterator<Item = u32> {
        self.newest(self.find(endpoint), list).map(|node| node.owner)
    }

    /// The newest calls under the endpoint of that number, newest first, each with the side whose it is.
    pub(crate) fn calls(&self, number: Option<u32>) -> impl Iterator<Item = (u32, Side)> {
        self.newest(number, OwnerList::Calls).map(|node| (node.owner, node.side))
    }

    /// The newest calls that may have the endpoint of that number behind NAT.
    pub(crate) fn natted(&self, number: Option<u32>) -> impl Iterator<Item = u32> {
        self.newest(number, OwnerList::Natted).map(|node| node.owner)
    }

    fn newest(&self, number: Option<u32>, list: OwnerList) -> impl Iterator<Item = &Node> {
        let mut next = number.map_or(NONE, |entry| self.entries[entry].heads[list as usize]);
        std::iter::from_fn(move || {
            let node = self.nodes.get(next)?;
            next = node.next;
            Some(node)
        })
        .take(NEWEST)
    }

    fn create(&mut self, endpoint: Endpoint) -> Option<u32> {
        let hash = self.hasher.of(endpoint);
        let entry = self.entries.insert(EndpointEntry { endpoint, hash, heads: [NONE; LISTS] })?;
        self.index.insert(hash, entry);
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_come_newest_first_and_leave() {
        let end = Endpoint::new([192, 0, 2, 1].into(), 4000);
        let mut table = Endpoints::new(10, Hasher::new(1), true);
        let nodes: Vec<u32> = (0..3).filter_map(|owner| table.add(end, OwnerList::Calls, owner)).collect();
        assert_eq!(table.owners(end, OwnerList::Calls).collect::<Vec<_>>(), [2, 1, 0]);
        assert_eq!(table.owners(end, OwnerList::Flows).count(), 0);
        table.remove(nodes[1]);
        assert_eq!(table.owners(end, OwnerList::Calls).collect::<Vec<_>>(), [2, 0]);
        table.remove(nodes[0]);
        table.remove(nodes[2]);
        assert_eq!(table.entries.len(), 0);
        assert_eq!(table.index.len(), 0);
    }

    #[test]
    fn the_ceiling_holds() {
        let mut table = Endpoints::new(2, Hasher::new(1), false);
        let end = |port| Endpoint::new([192, 0, 2, 1].into(), port);
        assert!(table.add(end(1), OwnerList::Flows, 1).is_some());
        assert!(table.add(end(1), OwnerList::Flows, 2).is_some());
        assert!(table.add(end(2), OwnerList::Flows, 3).is_none());
    }
}

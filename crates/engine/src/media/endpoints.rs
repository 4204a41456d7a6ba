//! Which calls announced an endpoint, and which streams run over it.

use ringtap_model::Endpoint;

use crate::table::hash::Hasher;
use crate::table::index::Index;
use crate::table::slots::Slots;

const NONE: u32 = u32::MAX;

/// How many of the newest entries of an endpoint are looked at: a media port that hundreds of calls share is told
/// apart by the other end.
const NEWEST: usize = 64;

/// Which of the two lists of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    /// Calls whose SDP names it.
    Calls,
    /// Streams from or to it.
    Flows,
}

struct Place {
    endpoint: Endpoint,
    hash: u64,
    heads: [u32; 2],
}

struct Node {
    place: u32,
    owner: u32,
    list: List,
    previous: u32,
    next: u32,
}

/// The table of endpoints. Its size follows from the ceilings of calls and streams.
pub(crate) struct Endpoints {
    places: Slots<Place>,
    nodes: Slots<Node>,
    index: Index,
    hasher: Hasher,
}

impl Endpoints {
    pub(crate) fn new(ceiling: usize, hasher: Hasher) -> Self {
        Self { places: Slots::new(ceiling), nodes: Slots::new(ceiling), index: Index::new(ceiling), hasher }
    }

    /// Enters an owner under an endpoint; gives the number to take it out with, None at the ceiling.
    pub(crate) fn enter(&mut self, endpoint: Endpoint, list: List, owner: u32) -> Option<u32> {
        if self.nodes.is_full() {
            return None;
        }
        let place = self.find(endpoint).or_else(|| self.create(endpoint))?;
        let head = self.places[place].heads[list as usize];
        let node = self.nodes.insert(Node { place, owner, list, previous: NONE, next: head })?;
        if head != NONE {
            self.nodes[head].previous = node;
        }
        self.places[place].heads[list as usize] = node;
        Some(node)
    }

    /// Asks for the place of an endpoint in the index.
    pub(crate) fn prefetch_index(&self, endpoint: Endpoint) {
        self.index.prefetch(self.hasher.of(endpoint));
    }

    /// Asks for the endpoint of an entry.
    pub(crate) fn prefetch_place(&self, node: u32) {
        if let Some(place) = self.nodes.get(node).and_then(|node| self.places.get(node.place)) {
            ringtap_cpu::prefetch(place);
        }
    }

    /// Asks for an entry.
    pub(crate) fn prefetch(&self, node: u32) {
        if let Some(node) = self.nodes.get(node) {
            ringtap_cpu::prefetch(node);
        }
    }

    /// Takes an entry out.
    pub(crate) fn leave(&mut self, node: u32) {
        let Some(node) = self.nodes.remove(node) else { return };
        match node.previous {
            NONE => self.places[node.place].heads[node.list as usize] = node.next,
            previous => self.nodes[previous].next = node.next,
        }
        if node.next != NONE {
            self.nodes[node.next].previous = node.previous;
        }
        if self.places[node.place].heads == [NONE; 2]
            && let Some(place) = self.places.remove(node.place)
        {
            self.index.remove(place.hash, node.place);
        }
    }

    /// The newest owners under an endpoint, newest first.
    pub(crate) fn owners(&self, endpoint: Endpoint, list: List) -> impl Iterator<Item = u32> {
        let mut next = self.find(endpoint).map_or(NONE, |place| self.places[place].heads[list as usize]);
        std::iter::from_fn(move || {
            let node = self.nodes.get(next)?;
            next = node.next;
            Some(node.owner)
        })
        .take(NEWEST)
    }

    fn find(&self, endpoint: Endpoint) -> Option<u32> {
        let hash = self.hasher.of(endpoint);
        self.index.find(hash, |place| self.places[place].endpoint == endpoint)
    }

    fn create(&mut self, endpoint: Endpoint) -> Option<u32> {
        let hash = self.hasher.of(endpoint);
        let place = self.places.insert(Place { endpoint, hash, heads: [NONE; 2] })?;
        self.index.insert(hash, place);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_come_newest_first_and_leave() {
        let end = Endpoint::new([192, 0, 2, 1].into(), 4000);
        let mut table = Endpoints::new(10, Hasher::new(1));
        let nodes: Vec<u32> = (0..3).filter_map(|owner| table.enter(end, List::Calls, owner)).collect();
        assert_eq!(table.owners(end, List::Calls).collect::<Vec<_>>(), [2, 1, 0]);
        assert_eq!(table.owners(end, List::Flows).count(), 0);
        table.leave(nodes[1]);
        assert_eq!(table.owners(end, List::Calls).collect::<Vec<_>>(), [2, 0]);
        table.leave(nodes[0]);
        table.leave(nodes[2]);
        assert_eq!(table.places.len(), 0);
        assert_eq!(table.index.len(), 0);
    }

    #[test]
    fn the_ceiling_holds() {
        let mut table = Endpoints::new(2, Hasher::new(1));
        let end = |port| Endpoint::new([192, 0, 2, 1].into(), port);
        assert!(table.enter(end(1), List::Flows, 1).is_some());
        assert!(table.enter(end(1), List::Flows, 2).is_some());
        assert!(table.enter(end(2), List::Flows, 3).is_none());
    }
}

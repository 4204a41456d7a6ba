//! What signalling tells media of a call: the messages that both halves of the engine speak by.

use std::sync::Arc;

use ringtap_model::Endpoint;

use crate::table::slots::{GENERATIONS, Ticket};
use crate::trackers::calls::{Side, Standing};
use crate::trackers::media::CodecId;

/// Names one call over all workers: its owner, its place in the owner's table, which life of that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CallRef(u64);

impl CallRef {
    /// INVARIANT: generations of calls count up to [`GENERATIONS`].
    pub(crate) fn new(worker: usize, ticket: Ticket) -> Self {
        let generation = u64::from(ticket.generation & GENERATIONS);
        Self((worker as u64) << 56 | generation << 32 | u64::from(ticket.slot))
    }

    /// The worker that owns it.
    pub(crate) fn worker(self) -> usize {
        (self.0 >> 56) as usize
    }

    /// Its place in the owner's table and which life of it.
    pub(crate) fn ticket(self) -> Ticket {
        Ticket { slot: self.0 as u32, generation: (self.0 >> 32) as u32 & GENERATIONS }
    }
}

/// Where something stands in the order of the input: the frame that it came with, and which part of that frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order {
    pub(crate) number: u64,
    pub(crate) part: u32,
}

/// Payload types as one media description announced them, shared by its endpoints.
pub(crate) type Types = Arc<[(u8, CodecId)]>;

/// What a SIP message changed of what media must know of its call. Only calls that announced media are told of.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) order: Order,
    pub(crate) call: CallRef,
    pub(crate) standing: Standing,
    /// Side that announces the endpoints that follow, in order.
    pub(crate) side: Side,
    pub(crate) ends: Vec<(Endpoint, Types)>,
}

/// A media endpoint that a stream turned out to use (RFC 4961). It takes effect at the next turn of the clock, for every
/// worker at once: so the order in which workers see packets changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Learned {
    /// What it was learned from.
    pub(crate) order: Order,
    /// When its call first announced media.
    pub(crate) born: Order,
    pub(crate) call: CallRef,
    pub(crate) endpoint: Endpoint,
    pub(crate) side: Side,
}

impl Learned {
    /// The order in which all workers take what was learned: it names no worker.
    pub(crate) fn rank(&self) -> (Order, Order, Endpoint, Side) {
        (self.order, self.born, self.endpoint, self.side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::slots::Slots;

    #[test]
    fn a_reference_names_worker_place_and_life() {
        let mut slots = Slots::new(9);
        slots.insert(());
        let slot = slots.insert(()).unwrap();
        let first = CallRef::new(3, slots.ticket(slot));
        assert_eq!((first.worker(), first.ticket()), (3, slots.ticket(slot)));
        slots.remove(slot);
        slots.insert(());
        let second = CallRef::new(3, slots.ticket(slot));
        assert_ne!(first, second);
        assert_ne!(second, CallRef::new(2, slots.ticket(slot)));
        assert_eq!((second.worker(), second.ticket()), (3, slots.ticket(slot)));
    }
}

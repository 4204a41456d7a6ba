//! Where sessions are: places that are used again.

use crate::session::Session;

/// A session in its place, as long as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Serial {
    place: u32,
    /// How many had the place before.
    turn: u32,
}

impl Serial {
    pub(crate) fn place(self) -> u32 {
        self.place
    }
}

/// Sessions in blocks, which are never moved: a table that doubles takes up to twice the memory, and thrice
/// while it grows.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    blocks: Vec<Box<[Slot]>>,
    free: Vec<u32>,
    len: usize,
}

#[derive(Debug, Default)]
struct Slot {
    session: Option<Session>,
    turn: u32,
    neighbours: Neighbours,
}

/// The places before and after one in the list that it is in, [`NOWHERE`] at its ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbours {
    pub(crate) before: u32,
    pub(crate) after: u32,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self { before: NOWHERE, after: NOWHERE }
    }
}

/// No place.
pub(crate) const NOWHERE: u32 = u32::MAX;

impl Slots {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, session: Session) -> Serial {
        if self.free.is_empty() {
            let from = (self.blocks.len() * BLOCK) as u32;
            self.blocks.push((0..BLOCK).map(|_| Slot::default()).collect());
            self.free.extend((from..from + BLOCK as u32).rev());
        }
        let place = self.free.pop().unwrap_or_default();
        let slot = &mut self.blocks[place as usize / BLOCK][place as usize % BLOCK];
        slot.session = Some(session);
        self.len += 1;
        Serial { place, turn: slot.turn }
    }

    pub(crate) fn remove(&mut self, serial: Serial) -> Option<Session> {
        let slot = self.slot_mut(serial)?;
        let session = slot.session.take()?;
        slot.turn = slot.turn.wrapping_add(1);
        slot.neighbours = Neighbours::default();
        self.len -= 1;
        self.free.push(serial.place);
        Some(session)
    }

    pub(crate) fn get(&self, serial: Serial) -> Option<&Session> {
        self.at(serial.place).filter(|(found, _)| *found == serial).map(|(_, session)| session)
    }

    pub(crate) fn get_mut(&mut self, serial: Serial) -> Option<&mut Session> {
        self.slot_mut(serial)?.session.as_mut()
    }

    /// The session in a place.
    pub(crate) fn at(&self, place: u32) -> Option<(Serial, &Session)> {
        let slot = self.blocks.get(place as usize / BLOCK)?.get(place as usize % BLOCK)?;
        Some((Serial { place, turn: slot.turn }, slot.session.as_ref()?))
    }

    /// Those beside a place in its list.
    pub(crate) fn neighbours(&mut self, place: u32) -> Option<&mut Neighbours> {
        let slot = self.blocks.get_mut(place as usize / BLOCK)?.get_mut(place as usize % BLOCK)?;
        Some(&mut slot.neighbours)
    }

    /// All of them, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Serial, &Session)> {
        (0..(self.blocks.len() * BLOCK) as u32).filter_map(|place| self.at(place))
    }

    /// Takes all out, in no order.
    pub(crate) fn into_sessions(self) -> impl Iterator<Item = Session> {
        self.blocks.into_iter().flatten().filter_map(|slot| slot.session)
    }

    fn slot_mut(&mut self, Serial { place, turn }: Serial) -> Option<&mut Slot> {
        let slot = self.blocks.get_mut(place as usize / BLOCK)?.get_mut(place as usize % BLOCK)?;
        (slot.turn == turn).then_some(slot)
    }
}

/// Sessions of a block.
const BLOCK: usize = 1_024;

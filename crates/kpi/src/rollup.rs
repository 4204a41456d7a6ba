//! The figures of the calls that began in a minute, by group.

use std::collections::BTreeMap;

use ringtap_model::{Call, Nanos, Registration, Stream};

use crate::Settings;
use crate::bytes::{Bytes, put, put_text};
use crate::cell::{CallFacts, Cell};
use crate::key::{self, Dimension, Key};

/// A cell for conversations, and one for their further legs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    /// Conversations: the first leg of each, and what was joined to nothing.
    pub conversations: Cell,
    /// Legs that are joined to an earlier one.
    pub further: Cell,
}

impl Cells {
    pub(crate) fn cell(&mut self, counts: bool) -> &mut Cell {
        if counts { &mut self.conversations } else { &mut self.further }
    }

    /// What is shown: conversations, or all legs.
    pub fn of(&self, legs: bool) -> Cell {
        let mut cell = self.conversations.clone();
        if legs {
            cell.merge(&self.further);
        }
        cell
    }

    fn merge(&mut self, other: &Self) {
        self.conversations.merge(&other.conversations);
        self.further.merge(&other.further);
    }
}

/// Figures by group: a pure fold over call and registration records.
///
/// Records may be added in any order, and rollups merged in any order and grouping: the result is the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rollup {
    groups: BTreeMap<Key, Cells>,
    /// Records that were counted in the group of all others because there were too many groups.
    pub folded: u64,
}

impl Rollup {
    /// The groups with their figures, in order.
    pub fn groups(&self) -> impl Iterator<Item = (&Key, &Cells)> {
        self.groups.iter()
    }

    /// Whether it has nothing.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Leaves out groups that are not to be kept.
    pub fn retain(&mut self, keep: impl Fn(&Key) -> bool) {
        self.groups.retain(|key, _| keep(key));
    }

    /// Adds a call and its streams, and passes the groups that it is in.
    pub(crate) fn call(
        &mut self,
        call: &Call,
        streams: &[Stream],
        settings: &Settings,
        mut each: impl FnMut(&Key, bool),
    ) {
        let further = is_further_leg(call);
        let facts = CallFacts::of(call, streams, settings.short_call);
        key::of_call(call, streams, further, settings, |dimension, name, counts| {
            let key = self.key(dimension, name);
            let cell = self.groups.entry(key.clone()).or_default().cell(counts);
            cell.call(&facts, dimension.has_occupancy());
            let of_codec = |stream: &&Stream| dimension != Dimension::Codec || key::codec(stream) == name;
            streams.iter().filter(of_codec).for_each(|stream| cell.stream(stream));
            each(&key, counts);
        });
    }

    /// Adds a registration.
    pub(crate) fn registration(&mut self, registration: &Registration) {
        let device = key::device(registration.user_agent.as_deref());
        for (dimension, name) in [(Dimension::Total, ""), (Dimension::Device, device)] {
            let key = self.key(dimension, name);
            self.groups.entry(key).or_default().conversations.registration(registration);
        }
    }

    /// Counts a call of this group as repeated.
    pub(crate) fn repeated(&mut self, key: &Key, counts: bool) {
        // The group may have been folded meanwhile.
        let there = self.groups.contains_key(key);
        let key = if there { key.clone() } else { Key::new(key.dimension, "") };
        self.groups.entry(key).or_default().cell(counts).repeated += 1;
    }

    /// The key of a group; of all others where there are too many.
    fn key(&mut self, dimension: Dimension, name: &str) -> Key {
        let key = Key::new(dimension, name);
        if self.groups.contains_key(&key) || self.of(dimension).count() < WHILE_ADDING {
            return key;
        }
        self.folded += 1;
        Key::new(dimension, "")
    }

    fn of(&self, dimension: Dimension) -> impl Iterator<Item = (&Key, &Cells)> {
        self.groups.range(Key::new(dimension, "")..).take_while(move |(key, _)| key.dimension == dimension)
    }

    /// Leaves of each dimension the groups with the most attempts, at most so many, and counts the rest
    /// together.
    pub(crate) fn limit(&mut self, most: usize) {
        for dimension in Dimension::ALL {
            let mut sizes: Vec<(u64, Key)> = self
                .of(dimension)
                .filter(|(key, _)| !key.name.is_empty())
                .map(|(key, cells)| (cells.conversations.attempts() + cells.further.attempts(), key.clone()))
                .collect();
            if sizes.len() <= most {
                continue;
            }
            // Most attempts first, by name where they are the same: whatever order the records came in.
            sizes.sort_by(|(one, key), (other, other_key)| other.cmp(one).then_with(|| key.cmp(other_key)));
            for (attempts, key) in sizes.drain(most..) {
                let Some(cells) = self.groups.remove(&key) else { continue };
                self.folded = self.folded.saturating_add(attempts);
                self.groups.entry(Key::new(dimension, "")).or_default().merge(&cells);
            }
        }
    }

    /// Adds the figures of another.
    pub fn merge(&mut self, other: &Self) {
        self.folded = self.folded.saturating_add(other.folded);
        for (key, cells) in &other.groups {
            match self.groups.get_mut(key) {
                Some(own) => own.merge(cells),
                None => _ = self.groups.insert(key.clone(), cells.clone()),
            }
        }
    }

    /// As bytes, for [`from_bytes`](Self::from_bytes).
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.folded);
        let mut part = Vec::new();
        for (key, cells) in &self.groups {
            out.push(key.dimension as u8);
            put_text(&mut out, &key.name);
            for cell in [&cells.conversations, &cells.further] {
                part.clear();
                if *cell != Cell::default() {
                    cell.write(&mut part);
                }
                put(&mut out, part.len() as u64);
                out.extend_from_slice(&part);
            }
        }
        out
    }

    /// Reads the groups of these dimensions; `None` where the bytes are not those of a rollup.
    pub fn from_bytes(bytes: &[u8], wanted: &[Dimension]) -> Option<Self> {
        let mut bytes = Bytes::new(bytes);
        let mut rollup = Self { folded: bytes.number()?, ..Self::default() };
        while !bytes.is_empty() {
            let dimension = *Dimension::ALL.get(usize::from(bytes.byte()?))?;
            let key = Key::new(dimension, bytes.text()?);
            let (conversations, further) = (bytes.part()?, bytes.part()?);
            if wanted.contains(&dimension) {
                let cells = Cells { conversations: cell(conversations)?, further: cell(further)? };
                rollup.groups.insert(key, cells);
            }
        }
        Some(rollup)
    }
}

fn cell(bytes: &[u8]) -> Option<Cell> {
    if bytes.is_empty() { Some(Cell::default()) } else { Cell::read(&mut Bytes::new(bytes)) }
}

/// Whether a call is a leg of a conversation that began with another call.
pub fn is_further_leg(call: &Call) -> bool {
    call.conversation.is_some_and(|conversation| conversation != call.id)
}

/// The beginning of the minute of a moment.
pub fn minute_of(time: Nanos) -> Nanos {
    Nanos(time.0 - time.0 % MINUTE)
}

/// A minute in nanoseconds.
pub const MINUTE: u64 = 60_000_000_000;
/// Groups of a dimension while records are added: more than are kept, so that those with the most attempts
/// are known.
const WHILE_ADDING: usize = 4096;

//! What the log of deletions says of each segment.

use std::collections::{BTreeMap, BTreeSet};

use crate::hex::unhex;
use crate::trust::deletion_entry::{Deletion, DeletionKind};

/// The orders of a log, by segment.
#[derive(Default)]
pub(crate) struct Orders<'a>(BTreeMap<&'a str, SegmentOrders>);

#[derive(Default)]
struct SegmentOrders {
    is_deleted: bool,
    chunks: Erasures,
    keys: Erasures,
}

/// Places that were erased, and the owners of what was there.
#[derive(Default)]
pub(crate) struct Erasures(BTreeMap<u64, BTreeSet<u64>>);

impl Erasures {
    /// Whether what was there was erased by order, whoever it belonged to.
    pub(crate) fn has(&self, place: u64) -> bool {
        self.0.contains_key(&place)
    }

    /// Whether what is there should have been erased. The owner counts: a held copy has places of its own,
    /// and the log has orders about both.
    pub(crate) fn has_of(&self, place: u64, owner: u64) -> bool {
        self.0.get(&place).is_some_and(|owners| owners.contains(&owner))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, entry: &Deletion) {
        let owners = entry.owners.iter().filter_map(|owner| unhex(owner).map(u64::from_be_bytes));
        let owners: BTreeSet<u64> = owners.collect();
        for place in &entry.places {
            self.0.entry(*place).or_default().extend(&owners);
        }
    }
}

const NONE: &SegmentOrders =
    &SegmentOrders { is_deleted: false, chunks: Erasures(BTreeMap::new()), keys: Erasures(BTreeMap::new()) };

impl<'a> Orders<'a> {
    pub(crate) fn of(entries: &'a [Deletion]) -> Self {
        let mut orders = Self::default();
        for entry in entries {
            let of = orders.0.entry(&entry.segment).or_default();
            match entry.deleted {
                DeletionKind::Segment => of.is_deleted = true,
                DeletionKind::Chunks => of.chunks.add(entry),
                DeletionKind::Keys => of.keys.add(entry),
                DeletionKind::Summary => {}
            }
        }
        orders
    }

    /// Whether the whole segment was deleted.
    pub(crate) fn is_deleted(&self, segment: &str) -> bool {
        self.segment(segment).is_deleted
    }

    /// Chunks, by their offsets.
    pub(crate) fn chunks(&self, segment: &str) -> &Erasures {
        &self.segment(segment).chunks
    }

    /// Keys, by their rows.
    pub(crate) fn keys(&self, segment: &str) -> &Erasures {
        &self.segment(segment).keys
    }

    fn segment(&self, segment: &str) -> &SegmentOrders {
        self.0.get(segment).unwrap_or(NONE)
    }
}

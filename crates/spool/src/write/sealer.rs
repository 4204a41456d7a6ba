//! The keys of a writer's owners, from their first chunk to their end.

use ringtap_model::Nanos;
use zeroize::Zeroize;

use crate::error::Error;
use crate::trust::keys::{Bytes, OwnerKey, ROW, Wrapper};
use crate::trust::master_key::MasterKey;

/// Keys by the owners' places.
pub(crate) struct Sealer {
    wrapper: Wrapper,
    owners: Box<[Held]>,
}

/// What is held of an owner.
#[derive(Clone)]
struct Held {
    key: OwnerKey,
    /// As key files have it; zeros while there is no key.
    row: Bytes,
    /// The segment that lists it, and where; segments are counted from 0.
    listed: Option<(u64, u32)>,
}

impl Sealer {
    /// All memory is taken now.
    pub(crate) fn new(master: &MasterKey, owners: usize) -> Result<Self, Error> {
        let none = Held { key: OwnerKey::default(), row: [0; ROW], listed: None };
        Ok(Self { wrapper: Wrapper::new(master)?, owners: vec![none; owners].into_boxed_slice() })
    }

    /// The first row of every key file.
    pub(crate) fn header(&self) -> &Bytes {
        self.wrapper.header()
    }

    /// The row of the owner at that place, made now where it has none; and its number where the segment lists it already. None
    /// where the operating system has no randomness.
    pub(crate) fn row(
        &mut self,
        slot: u32,
        owner: u64,
        at: Nanos,
        segment: u64,
    ) -> Option<(Bytes, Option<u32>)> {
        let held = self.owners.get_mut(slot as usize)?;
        if held.row == [0; ROW] {
            (held.key, held.row) = self.wrapper.make(owner, at)?;
        }
        let listed = held.listed.filter(|(listed, _)| *listed == segment).map(|(_, number)| number);
        Some((held.row, listed))
    }

    /// The segment lists it there.
    pub(crate) fn listed(&mut self, slot: u32, segment: u64, number: u32) {
        if let Some(held) = self.owners.get_mut(slot as usize) {
            held.listed = Some((segment, number));
        }
    }

    /// Of an owner that has a row.
    pub(crate) fn key(&self, slot: u32) -> Option<&OwnerKey> {
        self.owners.get(slot as usize).filter(|held| held.row != [0; ROW]).map(|held| &held.key)
    }

    /// The owner is over.
    pub(crate) fn forget(&mut self, slot: u32) {
        if let Some(held) = self.owners.get_mut(slot as usize) {
            held.key.zeroize();
            held.row = [0; ROW];
            held.listed = None;
        }
    }
}

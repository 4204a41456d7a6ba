//! The keys of a writer's owners, from their first chunk to their last.

use ringtap_model::Nanos;
use zeroize::Zeroize;

use crate::error::Error;
use crate::trust::keys::{Bytes, OwnerKey, ROW, Wrapper};
use crate::trust::master_key::MasterKey;

/// Keys by owner slot.
pub(crate) struct OwnerKeys {
    wrapper: Wrapper,
    owners: Box<[OwnerKeyRow]>,
}

/// The key of an owner.
#[derive(Clone)]
struct OwnerKeyRow {
    key: OwnerKey,
    /// As it stands in key files; zeros while there is no key.
    row: Bytes,
    /// The segment that lists the row, and the row's number; segments are counted from 0.
    listed: Option<(u64, u32)>,
}

impl OwnerKeys {
    /// Allocates all memory now.
    pub(crate) fn new(master: &MasterKey, owners: usize) -> Result<Self, Error> {
        let none = OwnerKeyRow { key: OwnerKey::default(), row: [0; ROW], listed: None };
        Ok(Self { wrapper: Wrapper::new(master)?, owners: vec![none; owners].into_boxed_slice() })
    }

    /// The first row of every key file.
    pub(crate) fn header(&self) -> &Bytes {
        self.wrapper.header()
    }

    /// The row of the owner in that slot, and the row's number if the segment lists it already. Makes a key
    /// if there is none. None if the operating system has no randomness.
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

    /// Records that the segment lists the owner's row.
    pub(crate) fn listed(&mut self, slot: u32, segment: u64, number: u32) {
        if let Some(held) = self.owners.get_mut(slot as usize) {
            held.listed = Some((segment, number));
        }
    }

    /// The key of an owner that has a row.
    pub(crate) fn key(&self, slot: u32) -> Option<&OwnerKey> {
        self.owners.get(slot as usize).filter(|held| held.row != [0; ROW]).map(|held| &held.key)
    }

    /// Erases the key of an owner that has ended.
    pub(crate) fn forget(&mut self, slot: u32) {
        if let Some(held) = self.owners.get_mut(slot as usize) {
            held.key.zeroize();
            held.row = [0; ROW];
            held.listed = None;
        }
    }
}

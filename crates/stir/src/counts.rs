//! What became of the Identity headers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ringtap_model::IdentityStatus;

/// Calls by what became of their Identity header; any thread may read them.
#[derive(Debug, Default)]
pub struct Counts {
    by_status: [AtomicU64; IdentityStatus::ALL.len()],
    missing: AtomicU64,
    too_many: AtomicU64,
}

impl Counts {
    /// Headers of that status.
    pub fn of(&self, status: IdentityStatus) -> u64 {
        self.by_status[place(status)].load(Relaxed)
    }

    /// Calls without a header.
    pub fn missing(&self) -> u64 {
        self.missing.load(Relaxed)
    }

    /// Of those not checked: more came in a second than [`Settings`](crate::Settings) allow.
    pub fn too_many(&self) -> u64 {
        self.too_many.load(Relaxed)
    }

    pub(crate) fn count(&self, status: IdentityStatus) {
        self.by_status[place(status)].fetch_add(1, Relaxed);
    }

    pub(crate) fn count_missing(&self) {
        self.missing.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_too_many(&self) {
        self.too_many.fetch_add(1, Relaxed);
    }
}

fn place(status: IdentityStatus) -> usize {
    IdentityStatus::ALL.iter().position(|other| *other == status).unwrap_or_default()
}

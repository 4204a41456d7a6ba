//! What is kept, for how long: limits, holds, erasure.

pub(crate) mod deleter;
pub(crate) mod deletion_lock;
pub(crate) mod forget;
pub(crate) mod hold;
pub(crate) mod holds;
pub(crate) mod inventory;
pub(crate) mod janitor;
pub(crate) mod outlook;
pub(crate) mod pending_journal;
pub(crate) mod policy;
pub(crate) mod product_log;
pub(crate) mod recording_switch;
pub(crate) mod release;
pub(crate) mod rescue;
pub(crate) mod reserve;
pub(crate) mod selection;
pub(crate) mod space_watch;
pub(crate) mod status;
pub(crate) mod tier;

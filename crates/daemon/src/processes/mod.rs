//! The processes of the daemon, and what each may do; see `docs/decisions/`.

pub(crate) mod channel;
pub(crate) mod child;
pub(crate) mod confinement;
pub(crate) mod key_role;
pub(crate) mod keys;
pub(crate) mod system_calls;

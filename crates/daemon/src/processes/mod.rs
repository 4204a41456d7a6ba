//! The processes of the daemon, and what each may do; see `docs/decisions/`.

pub(crate) mod channel;
pub(crate) mod child;
pub(crate) mod confinement;
pub(crate) mod environment;
pub(crate) mod hook_command;
pub(crate) mod hook_exchange;
pub(crate) mod hook_role;
pub(crate) mod hook_source;
pub(crate) mod key_role;
pub(crate) mod keys;
pub(crate) mod network_role;
pub(crate) mod notice_exchange;
pub(crate) mod notify_role;
pub(crate) mod notify_source;
pub(crate) mod role;
pub(crate) mod serving;
pub(crate) mod starter;
pub(crate) mod system_calls;

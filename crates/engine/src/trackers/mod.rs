//! The trackers: each follows one kind of thing and owns its table.

pub(crate) mod calls;
pub(crate) mod media;
pub(crate) mod messages;
pub(crate) mod registrations;
pub(crate) mod update;
pub(crate) mod written;

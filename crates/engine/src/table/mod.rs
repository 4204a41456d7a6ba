//! Tables of fixed size, the hash that they share, and the timer wheel.

pub(crate) mod aged;
pub(crate) mod due;
pub(crate) mod hash;
pub(crate) mod index;
pub(crate) mod lists;
pub(crate) mod queues;
pub(crate) mod rows;
pub(crate) mod slots;
pub(crate) mod timers;

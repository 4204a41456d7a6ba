//! The format of segments and of the files beside them.

pub(crate) mod bytes;
pub(crate) mod index;
pub(crate) mod key;
pub(crate) mod listed;
pub(crate) mod listing;
pub(crate) mod lookup;
pub(crate) mod marker;
pub(crate) mod name;
pub(crate) mod scan;

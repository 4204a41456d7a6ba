pub(crate) mod index;
pub(crate) mod key;
pub(crate) mod mark;
pub(crate) mod name;
pub(crate) mod scan;

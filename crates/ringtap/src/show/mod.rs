//! Records as people and programs read them. Nothing here knows where a record came from.

pub(crate) mod bench;
pub(crate) mod calls;
pub(crate) mod csv;
pub(crate) mod detail;
pub(crate) mod fields;
pub(crate) mod json;
pub(crate) mod ladder;
pub(crate) mod rating;
#[cfg(test)]
pub(crate) mod samples;
pub(crate) mod streams;
pub(crate) mod style;
pub(crate) mod summary;
pub(crate) mod svg;
pub(crate) mod table;

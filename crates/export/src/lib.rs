//! One call of the past: found among all, its packets and its sound, and the pages made of them.
//!
//! Not here: which files are written, and their names. Functions write into any `Write`; packets come from
//! the spool or from frames in memory.
//!
//! The one invariant: packets of one call are read as a stream. However long the call, only a few hundred of
//! its packets are in memory at once, and what is missing of it is counted.
//!
//! | module | holds |
//! |---|---|
//! | [`find`] | the one call that somebody named |
//! | [`take`] | its packets and its sound, out of everything that passes |
//! | [`steps`] | its messages, as steps of a ladder |
//! | [`kept`] | what the spool has of it, and what is missing |
//! | [`source`] | its packets in order, as often as one likes |
//! | [`joined`] | messages over TCP as connections again |
//! | [`replay`] | its packets through an engine again: messages, streams, sound |
//! | [`page`] | its record as JSON, its ladder as text and as a drawing |
#![forbid(unsafe_code)]

pub mod find;
pub mod joined;
pub mod kept;
pub mod page;
pub mod replay;
pub mod source;
pub mod steps;
pub mod take;

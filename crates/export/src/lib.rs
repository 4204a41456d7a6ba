//! Finds one recorded call and exports it: packets, sound, ladder and record.
//!
//! This crate does not choose which files are written, nor their names. Its functions write to any `Write`;
//! packets come from the spool or from frames in memory.
//!
//! The one invariant: the packets of a call are read as a stream. However long the call is, only a few
//! hundred packets are in memory at once, and missing packets are counted.
//!
//! | module | holds |
//! |---|---|
//! | [`find`] | search for the call that the user named |
//! | [`collect`] | selection of its packets and its sound from a capture |
//! | [`chosen`] | the calls of a capture that a report shows |
//! | [`steps`] | its messages as steps of a ladder |
//! | [`call_part`], [`call_packets`] | its packets in the spool, and how many are missing |
//! | [`source`] | its packets in order of time, for one or more passes |
//! | [`connections`] | TCP, WebSocket and SCTP connections rebuilt around its messages |
//! | [`batch`], [`engine`] | batches of packets, and an engine for those of one call |
//! | [`replay`] | a second run of its packets through an engine |
//! | [`anonymous`] | its packets without what names anybody |
//! | [`page`] | its record as JSON, its ladder as text and SVG |
#![forbid(unsafe_code)]

pub mod anonymous;
pub mod batch;
pub mod call_packets;
pub mod call_part;
pub mod chosen;
pub mod collect;
pub mod connections;
pub mod engine;
pub mod find;
pub mod page;
pub mod replay;
pub mod source;
pub mod steps;

//! Records as people and programs read them: tables, ladders, CSV, JSON lines, SVG, summaries.
//!
//! Not here: where a record comes from, or where its text goes. Functions take records and write into any
//! `Write`.
//!
//! The one invariant: text from the network is escaped before anybody sees it. No name, phrase or Call-ID can
//! move the cursor, change the direction of writing or end a line.
//!
//! ```
//! use ringtap_model::Nanos;
//! use ringtap_report::{text, time};
//!
//! assert_eq!(text::shown("Bob\x1b[2J"), "Bob\\x1b[2J");
//! assert_eq!(time::full(Nanos::from_millis(1_795_226_400_123)), "2026-11-21 02:00:00.123");
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`calls`], [`streams`] | tables of records, and the figures in them |
//! | [`detail`] | one call in full |
//! | [`ladder`], [`svg`] | messages, streams and digits over time: as text, as a drawing |
//! | [`message`] | a SIP message in a few words |
//! | [`summary`] | a whole capture in a dozen lines |
//! | [`rating`] | how a MOS came about |
//! | [`csv`], [`json`] | records for programs |
//! | [`table`], [`fields`], [`style`] | columns, named values, colours |
//! | [`text`], [`time`] | text that is safe to show; times as people read and write them |
//! | [`file`](mod@file) | a file that appears whole or not at all |
#![forbid(unsafe_code)]

pub mod calls;
pub mod csv;
pub mod detail;
pub mod fields;
pub mod file;
pub mod json;
pub mod ladder;
pub mod message;
pub mod rating;
pub mod streams;
pub mod style;
pub mod summary;
pub mod svg;
pub mod table;
pub mod text;
pub mod time;

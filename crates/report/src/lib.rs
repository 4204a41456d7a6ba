//! Formats records: tables, ladders, CSV, JSON lines, SVG, HTML, summaries.
//!
//! This crate does not read records, and does not choose where its text goes. Its functions accept records
//! and write to any `Write`.
//!
//! The one invariant: text from the network is escaped before it is shown. No name, phrase or Call-ID can
//! move the cursor, change the direction of text or end a line.
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
//! | [`calls`], [`streams`], [`registrations`], [`messages`], [`alarms`], [`users`] | tables of records |
//! | [`identities`] | tables of subscribers' sessions |
//! | [`detail`] | one call in full |
//! | [`ladder`], [`svg`] | messages, streams and digits over time: as text, as a drawing |
//! | [`html`] | a capture as one page for a browser |
//! | [`message`] | a SIP message in a few words |
//! | [`sentence`] | what happened to a call, in words |
//! | [`summary`] | the summary of a capture |
//! | [`rating`] | the terms of a MOS |
//! | [`csv`], [`json`], [`parquet`] | records in machine-readable formats |
//! | [`table`], [`fields`], [`style`] | columns, named values, colours |
//! | [`text`], [`time`] | text that is safe to show; formats of times |
//! | [`file`](mod@file) | a file that appears only when it is complete |
#![forbid(unsafe_code)]

mod absence;
pub mod alarms;
pub mod calls;
pub mod csv;
pub mod detail;
pub mod fields;
pub mod file;
pub mod html;
pub mod identities;
pub mod json;
pub mod ladder;
pub mod message;
pub mod messages;
pub mod parquet;
pub mod rating;
pub mod registrations;
mod reported;
pub mod sentence;
pub mod streams;
pub mod style;
pub mod summary;
pub mod svg;
pub mod table;
pub mod text;
pub mod time;
pub mod users;

//! Records remembered: a directory of SQLite files, one per day, written durably and searched in order of time.
//!
//! Not here: what a record means, how it is shown, and how long it is kept (a day is forgotten by deleting its file).
//!
//! The one invariant: what [`Writer::flush`] or [`Keeper::flush`] has acknowledged survives a kill and a power cut, and a search that failed
//! or was cut short says so: it never looks like "no calls".
//!
//! ```
//! use ringtap_store::{Query, Reader, Writer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let writer = Writer::open(dir.path())?;
//! // writer.call(&call, &streams)?; ...
//! writer.flush()?;
//! let written = writer.close()?;
//! assert_eq!(written.calls, 0);
//!
//! let query = Query { number: Some("+4930*".into()), mos_below: Some(3.5), ..Query::default() };
//! // Nothing was written, so there is no day to search: an error, not an empty answer.
//! assert!(Reader::open(dir.path()).and_then(|reader| reader.calls(&query)).is_err());
//! # Ok(())
//! # }
//! ```
//!
//! # The files
//!
//! `2026-11-21.sqlite` holds the records that began on that day, UTC: calls, streams, registrations, messages, each with
//! its scalar fields as columns under the names of the records and the whole record as JSON beside them. The day of a
//! record follows from the record alone, so the same record always meets itself: written twice it changes nothing. `held/` has
//! such files with the records of calls on hold, which are read where the day itself is gone.
//!
//! | module | holds |
//! |---|---|
//! | [`day`] | [`Day`], which names a file |
//! | [`error`] | [`Error`] |
//! | `schema` | tables and migrations |
//! | `record`, `files` | a record with its table, its columns and its day; the day files that are written to |
//! | [`writer`] | [`Writer`], for a run that ends and may fail |
//! | [`keeper`] | [`Keeper`], for a program that runs for months, its [`Inlet`]s and [`Notice`]s |
//! | `held` | [`hold`], [`release`]: records that outlive their day |
//! | [`journal`] | [`Journal`] of calls under way |
//! | `outbox`, `framed` | records that wait on disk; files that a kill can tear |
//! | `shared` | [`Counts`] |
//! | [`query`] | [`Query`] |
//! | [`reader`] | [`Reader`], [`FoundCalls`] |
#![forbid(unsafe_code)]

pub mod day;
pub mod error;
mod files;
mod framed;
mod held;
pub mod journal;
pub mod keeper;
mod outbox;
pub mod query;
pub mod reader;
mod record;
mod schema;
mod shared;
pub mod writer;

pub use day::Day;
pub use error::Error;
pub use held::{hold, release};
pub use journal::{Journal, Recovered};
pub use keeper::{Gauge, Inlet, Keeper, Notice, Settings};
pub use query::Query;
pub use reader::{FoundCalls, Reader};
pub use shared::Counts;
pub use writer::{Writer, Written};

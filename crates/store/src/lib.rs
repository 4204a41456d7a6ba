//! The database of records: a directory of SQLite files, one per day, written durably and searched in order
//! of time.
//!
//! Not here: what a record means, how it is shown, and how long records are kept (a day is deleted with its
//! file).
//!
//! The one invariant: what [`ImportWriter::flush`] or [`StoreWriter::flush`] has acknowledged survives a kill
//! and a power cut, and a search that failed or was cut short says so: it never looks like "no calls".
//!
//! ```
//! use ringtap_model::{Condition, Filter};
//! use ringtap_store::{ImportWriter, Reader};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let writer = ImportWriter::open(dir.path())?;
//! // writer.call(&call, &streams)?; ...
//! writer.flush()?;
//! let written = writer.close()?;
//! assert_eq!(written.calls, 0);
//!
//! let filter = Filter(vec![Condition::Number("+4930*".parse()?), Condition::MosBelow(3.5)]);
//! // Nothing was written, so there is no day to search: an error, not an empty answer.
//! assert!(Reader::open(dir.path()).and_then(|reader| reader.calls(&filter.into())).is_err());
//! # Ok(())
//! # }
//! ```
//!
//! # The files
//!
//! `2026-11-21.sqlite` holds the records that began on that day, UTC: calls, streams, registrations,
//! messages, transactions, alarms, outages, failovers, what these did to calls, and hours of services, each
//! whole in a compact form, and beside it columns for what is searched by. The day of a record follows from
//! the record alone, so the same record always goes to the same row: written twice it changes nothing.
//! `held/` has such files with the records of calls on hold, which are read when the day itself has been
//! deleted. `identity/` has files of subscribers' sessions, which only their owner may read.
//!
//! | module | holds |
//! |---|---|
//! | [`day`] | [`Day`], which names a file |
//! | [`error`] | [`Error`] |
//! | [`format`] | [`Encoder`](format::Encoder), [`Decoder`](format::Decoder): the compact form of a record |
//! | `schema`, [`migration`] | the tables; files of older versions |
//! | `record`, `formats` | a record with its table and day; the formats that a file describes |
//! | `keys`, `texts` | keys for numbers and Call-IDs; texts that many records have |
//! | `database` | a file of SQLite: opened to write, deleted |
//! | `tables`, `day_files` | one file that is written to; all of them |
//! | `day_reader` | one file that is read |
//! | [`import_writer`] | [`ImportWriter`], for a run that ends and may fail |
//! | [`store_writer`] | [`StoreWriter`], for a program that runs for months |
//! | [`annotate`] | [`Annotate`], which completes records before they are stored |
//! | [`settings`] | [`StoreSettings`]: where it writes, and how much may wait |
//! | [`rollups`] | what is computed of each minute, and stored |
//! | `columns`, `blocks`, `candidates` | columns of many calls together, for searches that no key helps |
//! | `changed_minutes` | minutes of which a record changed |
//! | [`identities`] | [`IdentityReader`]: sessions of subscribers, and who had an address |
//! | `holds` | [`hold`], [`release`]: records that outlive their day |
//! | [`journal`] | [`Journal`] of calls in progress |
//! | `outbox`, `entry_file` | records that wait on disk; files of which a kill can tear the end |
//! | `directory` | names that survive a power cut |
//! | `state` | [`Counts`], and what the threads of a writer share |
//! | [`query`] | [`Query`] |
//! | [`reader`] | [`Reader`], [`Found`] |
//! | `outages` | how outages, failovers, what these did, and hours of services are stored |
//! | `open_files` | [`OpenFiles`]: files that stay open between questions |
//! | `follower` | [`Follower`] of calls as they are stored, by another process |
//! | `search`, `search_sql`, `running` | [`Search`] of an expression by pages, and how it is stopped |
#![forbid(unsafe_code)]

pub mod annotate;
mod blocks;
mod candidates;
mod changed_minutes;
mod columns;
mod database;
pub mod day;
mod day_files;
mod day_reader;
mod directory;
mod entry_file;
pub mod error;
mod follower;
pub mod format;
mod formats;
mod holds;
pub mod identities;
pub mod import_writer;
pub mod journal;
mod keys;
pub mod migration;
mod open_files;
mod outages;
mod outbox;
pub mod query;
pub mod reader;
mod record;
pub mod rollups;
mod running;
mod schema;
mod search;
mod search_sql;
pub mod settings;
mod state;
pub mod store_writer;
mod tables;
mod texts;

pub use annotate::Annotate;
pub use day::Day;
pub use error::Error;
pub use follower::{Follower, Places};
pub use holds::{hold, release};
pub use identities::{IdentityReader, write_ranges};
pub use import_writer::{ImportWriter, RecordCounts};
pub use journal::{CallNote, Journal, NotedStream, Recovered, RecoveredCall};
pub use migration::{Migration, OnMigration};
pub use open_files::OpenFiles;
pub use query::Query;
pub use reader::{Found, Reader};
pub use rollups::{FoldMinute, FoldedMinute, MakeRollup, RollupCounts};
pub use running::RunningSearch;
pub use search::{Coverage, Cursor, NotACursor, Page, Search, SearchEnd, SearchOrder};
pub use settings::{Retain, StoreSettings};
pub use state::Counts;
pub use store_writer::{AvailabilityRecord, CountsHandle, RecordSender, StoreEvent, StoreWriter};

// The tests of searches once more, with the name that they have for this crate: here a block has few rows, so
// that most of their calls are in blocks.
#[cfg(test)]
extern crate self as ringtap_store;
#[cfg(test)]
#[allow(unfulfilled_lint_expectations, reason = "what is expected of a program of its own")]
#[path = "../tests/search.rs"]
mod search_in_blocks;

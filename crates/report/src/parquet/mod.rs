//! Records as Parquet: the columns of the CSV, with types.
//!
//! | values of a field | column |
//! |---|---|
//! | moments | `TIMESTAMP`, UTC, microseconds |
//! | other whole numbers | `INT64` |
//! | numbers with a fraction | `DOUBLE` |
//! | everything else | `STRING`: the text that a CSV has in its cell, without quotes and apostrophe |
//!
//! What is not known is null, and so is an empty list. The metadata of the file has JSON objects from the
//! names of columns to their units (`ringtap.units`) and meanings (`ringtap.descriptions`).
//!
//! Rows are gathered into row groups of at most [`MOST_ROWS`] rows or [`MOST_TEXT`] bytes of text, each
//! written as soon as it is full: memory is bounded by one group, but for some hundred bytes per column and
//! group, since the footer lists them all. The footer comes last and nothing is written twice, so a file can
//! be sent while it is made.
//!
//! Without the feature `parquet` a file cannot be begun.

#[cfg(feature = "parquet")]
mod column;
#[cfg(feature = "parquet")]
mod file;
#[cfg(not(feature = "parquet"))]
#[path = "lacking.rs"]
mod file;

pub use file::Parquet;

/// Whether this program can write Parquet.
pub const IS_AVAILABLE: bool = cfg!(feature = "parquet");
/// What whoever wants Parquet of a program without it is told.
pub const LACKING: &str = "this ringtap was built without Parquet (feature `parquet`)";
/// Its media type, as registered with IANA.
pub const MEDIA_TYPE: &str = "application/vnd.apache.parquet";
/// Most rows of a row group.
pub const MOST_ROWS: usize = 16_384;
/// Most bytes of text of a row group, by about a row.
pub const MOST_TEXT: usize = 8 << 20;

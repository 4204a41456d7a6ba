//! Disclosure: what a request of an authority for retained data finds in the database, as the fields that
//! Article 5 of Directive 2006/24/EC lists.
//!
//! [`search`] reads the calls and the sessions of the request's subjects in its period, and joins to each end
//! of a call the subscriber who had its address at that time. [`Files`] writes them where they appear whole
//! or not at all.
//!
//! Not here: who may ask (`warrant`), content of any kind, the name and the postal address of a subscriber,
//! which no packet carries.
//!
//! The one invariant: an answer is whole. What cannot be read, exceeds a limit or is stopped is an error, and
//! never looks like less data.
//!
//! | module | holds |
//! |---|---|
//! | `search` | the passes over the database |
//! | `subjects` | whom the request is about, and how calls and sessions are found by it |
//! | `call_row`, `access_row`, `holder` | what is given of a call, of a session, of who had an address |
//! | `cells` | the same as cells of CSV |
//! | `files` | the files, with their hashes |
//! | `error` | [`Error`] |
#![forbid(unsafe_code)]

mod access_row;
mod call_row;
mod cells;
mod error;
mod files;
mod holder;
mod search;
mod subjects;

pub use access_row::{AccessRow, HeldNetwork};
pub use call_row::{CallRow, End};
pub use error::Error;
pub use files::{Files, WrittenFile};
pub use holder::AddressHolder;
pub use search::{Found, Store, search};

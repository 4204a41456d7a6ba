//! The search language: a text that a person writes becomes a tree of conditions that calls satisfy or not.
//!
//! Not here: where calls are stored and how they are found quickly (`ringtap-store`), and who may search for
//! what. There is no clock either: the time and the zone come with the [`Context`].
//!
//! The one invariant: an [`Expression`] means the same wherever it is evaluated, and its [`Display`] reads
//! back as the same expression. Whatever the text, reading it ends in an expression or in a [`ParseError`]
//! that names the place of the mistake and what would be right.
//!
//! ```
//! use ringtap_model::Nanos;
//! use ringtap_search::{Context, parse};
//!
//! let context = Context::utc(Nanos::from_secs(1_795_226_400));
//! let expression = parse("0138 -state:completed mos<3", &context)?;
//! assert_eq!(
//!     expression.in_words(&context),
//!     "calls from or to a number that begins or ends with 0138, not completed, with MOS below 3"
//! );
//! let mistake = parse("state:failled", &context).unwrap_err();
//! assert_eq!((mistake.column, mistake.length), (7, 7));
//! # Ok::<(), ringtap_search::ParseError>(())
//! ```
//!
//! [`Display`]: std::fmt::Display
//!
//! | module | holds |
//! |---|---|
//! | [`context`] | [`Context`], [`Site`]: time, zone, named lists and networks |
//! | [`error`] | [`ParseError`]: place, mistake, remedy |
//! | [`field`] | [`Field`]: what can be searched, and what records do not have yet |
//! | [`value`] | [`Value`], [`Range`], [`Host`], [`TimeSpan`]: what fields are compared with |
//! | [`expression`] | [`Expression`], [`Condition`], [`Test`] |
//! | `lexer`, `parser` | a text into terms, and terms into an expression |
//! | `read` | the values of each kind; the fields of bare words |
//! | `fact`, `evaluate` | what a call and its streams have in a field; whether they satisfy an expression |
//! | `prefilter` | what follows for a [`Filter`](ringtap_model::Filter), and for the time |
//! | `print`, `words` | an expression as text that reads back, and in words |
//! | [`complete`] | what can be written next |
#![forbid(unsafe_code)]

pub mod complete;
pub mod context;
pub mod error;
mod evaluate;
pub mod expression;
mod fact;
pub mod field;
mod lexer;
mod parser;
mod prefilter;
mod print;
mod read;
pub mod value;
mod words;

pub use complete::{Completion, complete};
pub use context::{Context, Site};
pub use error::ParseError;
pub use expression::{Condition, Expression, Test};
pub use fact::Fact;
pub use field::{FIELDS, Field, FieldName, Kind, Measure, Subject};
pub use parser::{MOST_BYTES, MOST_LEVELS, MOST_TERMS, parse};
pub use value::{Host, Range, TimeSpan, Value};

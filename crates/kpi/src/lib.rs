//! Key performance indicators of telephony, by trunk, direction, codec, device, destination and code, for
//! minutes, hours and days.
//!
//! Not here: where records come from, where rollups are stored, and how figures are printed.
//!
//! The one invariant: a [`Rollup`] depends on the records alone, in whatever order they are added and however
//! rollups are merged. What is stored of it may be thrown away and made again at any time.
//!
//! ```
//! use ringtap_kpi::{Dimension, FIGURES, Fold, Settings, Table, View};
//!
//! let fold = Fold::new(Settings::default());
//! // fold.call(&call, &streams); fold.registration(&registration); ...
//! let mut table = Table::new(vec![Dimension::TrunkIn, Dimension::TrunkOut], None, false);
//! for (minute, rollup) in fold.finish() {
//!     table.add(minute, &rollup);
//! }
//! for row in table.rows() {
//!     for figure in FIGURES {
//!         let (value, count) = (figure.value)(&View { cell: &row.cell, concurrent: row.concurrent });
//!         println!("{}: {value:?} of {count}: {}", figure.name, figure.definition);
//!     }
//! }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`sketch`] | [`Sketch`], a distribution that merges |
//! | [`occupancy`] | [`Occupancy`], calls in progress |
//! | [`cell`] | [`Cell`], what is counted of a group of calls |
//! | [`key`] | [`Key`], a group, and its [`Dimension`] |
//! | [`rollup`] | [`Rollup`], the cells of a minute |
//! | [`fold`] | [`Fold`], from records to rollups |
//! | [`period`] | [`Per`], minutes, hours and days of a time zone |
//! | [`table`] | [`Table`], from rollups to rows |
//! | [`figure`] | [`FIGURES`], each with its definition |
//! | [`trunks`] | [`Trunks`], names of groups of addresses |
//! | `bytes` | numbers and texts as bytes |
#![forbid(unsafe_code)]

mod bytes;
pub mod cell;
pub mod figure;
pub mod fold;
pub mod key;
pub mod occupancy;
pub mod period;
pub mod rollup;
mod settings;
pub mod sketch;
pub mod table;
pub mod trunks;

pub use cell::{CallFacts, CallTimes, Cell, Measure};
pub use figure::{FIGURES, Figure, FigureUnit, View};
pub use fold::{Fold, PairTime};
pub use key::{Dimension, Key};
pub use occupancy::{Concurrent, Occupancy};
pub use period::{Per, Zone};
pub use rollup::{Cells, Rollup};
pub use settings::Settings;
pub use sketch::Sketch;
pub use table::{Row, Table};
pub use trunks::{Trunk, Trunks};

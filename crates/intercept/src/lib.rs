//! Interception: which packets and events of the traffic a warrant is entitled to.
//!
//! An [`Interception`] takes frames: its engine follows sessions and calls, and an [`Interceptor`] is told of
//! them and of the orders, and gives a [`Product`] exactly what each order is entitled to: events (IRI),
//! content, and notices of its beginning and end. Packets by address come from the engine's
//! [`Targets`](ringtap_engine::Targets), which it keeps up to date, so that a target's first packet after the
//! packet that gave it an address is seen.
//!
//! Not here: who may order what (crate `warrant`), how product is encoded and delivered (crate `handover`),
//! threads, clocks.
//!
//! The one invariant: nothing reaches a product outside of its order's time, its targets, and what it
//! delivers.
//!
//! | module | holds |
//! |---|---|
//! | `interception` | an engine with an interceptor behind it |
//! | `interceptor` | what is told, and which orders are in force |
//! | `orders` | the orders, and when one of them begins or ends |
//! | `accesses`, `addresses` | sessions of targets, and the addresses that they have |
//! | `calls`, `parties` | calls of targets; whom a SIP message names |
//! | `names` | by what an attempt to log in is named |
//! | `scout` | addresses that may become a target's, as soon as a packet gives them |
//! | `product` | what receives it, and how much it was |
//! | `files`, `hashed_file`, `delivered` | product as files, and on its way to mediation functions |
//! | `manifest`, `checked` | what finished files are, signed in a chain, and whether they still are |
//! | `words`, `ring`, `history` | frames on their way from a worker, and the latest ones that passed it |
//! | `identifiers` | what PDUs say of their order |
#![forbid(unsafe_code)]

mod accesses;
mod addresses;
mod calls;
mod checked;
mod delivered;
mod files;
mod hashed_file;
mod history;
mod identifiers;
mod interception;
mod interceptor;
mod manifest;
mod names;
mod orders;
mod parties;
mod product;
mod ring;
mod scout;
mod words;

pub use checked::{CheckedOrder, CheckedProduct, check_product};
pub use delivered::{Delivered, DeliveredError};
pub use files::{FilesError, ProductFiles, WrittenOrder};
pub use hashed_file::WrittenFile;
pub use history::FrameHistory;
pub use interception::{Closed, Interception};
pub use interceptor::{Interceptor, Limits, WantsSessions};
pub use manifest::ManifestHead;
pub use product::{Figures, Product};
pub use ring::{FrameRing, PassedFrame};
pub use scout::Scout;

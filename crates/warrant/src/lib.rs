//! Warrants: whom the law lets be watched, who ordered it, and every act of it, in a sealed register.
//!
//! An [`Order`] is what a warrant in force asks of the service: a [`Liid`], what it [`Delivers`], its
//! [`Target`]s. A [`TargetIndex`] finds the orders that a session or a call belongs to.
//!
//! ```
//! use ringtap_warrant::{Name, Target, TargetIndex};
//!
//! let liid = "LI-2026-017".parse()?;
//! let targets = ["user~:alice".parse::<Target>()?, "number:+44160*".parse()?];
//! let index = TargetIndex::new(targets.iter().map(|target| (target, &liid)));
//! assert_eq!(index.find([Name::User("Alice@example.org")]), [&liid]);
//! assert_eq!(index.find([Name::Sip("sip:0044160123@192.0.2.1;user=phone")]), [&liid]);
//! assert!(index.find([Name::User("bob")]).is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `liid`, `order` | the names and the content of an order |
//! | `target` | targets, their normal form, and how they are found |
//! | `secret_text` | texts that no log line shows, and that are wiped |
#![forbid(unsafe_code)]

mod liid;
mod order;
mod secret_text;
mod target;

pub use liid::{Liid, NotALiid};
pub use order::{CountryCode, Delivers, NotACountry, NotAKey, NotDelivered, Order, PayloadKey};
pub use secret_text::SecretText;
pub use target::{Name, NotATarget, Target, TargetIndex, TargetKind};

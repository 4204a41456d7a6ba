//! Warrants: whom the law lets be watched, who ordered it, and every act of it, in a sealed register.
//!
//! An [`Order`] is what a warrant in force asks of the service: a [`Liid`], what it [`Delivers`], its
//! [`Target`]s. A [`TargetIndex`] finds the orders that a session or a call belongs to. A [`Request`] is what
//! an authority asks of retained data, with what became of it; [`RequestStatistics`] count them.
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
//! The one invariant: an act is on the disk, sealed, chained and signed, before what it records is done.
//!
//! Not here: the packets (the daemon's crates), the hand-over to the agency.
//!
//! | module | holds |
//! |---|---|
//! | `liid`, `order` | the names and the content of an order |
//! | `target` | targets, their normal form, and how they are found |
//! | `secret_text` | texts that no log line shows, and that are wiped |
//! | `uuid` | identifiers of tasks, destinations and transactions |
//! | `state` | acts, the rules by which they follow each other, and the state that they give |
//! | `log`, `flaw` | keys, lines, the head; what can be wrong with them |
//! | `register` | the files of a register, and what people and the service do with it |
#![forbid(unsafe_code)]

mod error;
mod flaw;
mod hex;
mod liid;
mod log;
mod order;
mod register;
mod secret_text;
mod state;
mod target;
mod uuid;

pub use error::{Error, Refused};
pub use flaw::Flaw;
pub use liid::{Liid, NotALiid};
pub use log::key::{ProductSigner, PublicKey, RegisterKey};
pub use log::line::{ActLine, LineFlaw};
pub use order::{CountryCode, Delivers, NotACountry, NotAKey, NotDelivered, Order, PayloadKey};
pub use register::{
    ActQuery, ActView, AdmfSession, AdmfView, Fault, Head, ListQuery, NewTask, PersonView, Provisioned,
    Register, Session, Standing, TaskView, Verified, WarrantPage, check_passphrase, verify,
};
pub use secret_text::SecretText;
pub use state::{Admf, Destination, NewAdmf, Task, TaskContent};
pub use state::{
    Answer, Category, DataAges, GivenAnswer, MONTH, MONTHS, NewRequest, NotASubject, Refusal, RefusalReason,
    Request, RequestStatistics, RequestStatus, Spread, Subject,
};
pub use state::{Extension, Look, NewWarrant, ProducedFile, Role, Status, StopProof, Warrant};
pub use target::{Name, NotATarget, Target, TargetIndex, TargetKind};
pub use uuid::{NotAUuid, Uuid};

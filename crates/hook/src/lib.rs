//! Hooks: gives calls that have ended, or were recorded, to commands and servers of others.
//!
//! It starts no program and opens no connection itself: a [`Transport`] does. It knows nothing of
//! interception: the records and recordings that it reads are the same whether a call is intercepted or not.
//!
//! The one invariant: a call that a hook is to get waits on the disk until it is delivered, refused for good,
//! forgotten, or gives way to newer ones, and each of these is counted. It may be delivered twice, never
//! silently not at all.
//!
//! ```
//! use ringtap_hook::figures;
//!
//! // What became of calls is saved beside what waits; where no hook has run, there is nothing.
//! for hook in figures("/var/lib/ringtap/hooks".as_ref()) {
//!     println!("{}: {} delivered, {} wait", hook.hook, hook.counts.delivered, hook.waiting);
//! }
//! assert!(figures("/nowhere".as_ref()).is_empty());
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `settings` | [`Hook`]: which calls, who gets them, and the limits |
//! | `service` | [`Service`]: follows the store and delivers |
//! | `delivery` | one attempt to deliver a call; [`Transport`] |
//! | `document` | what is delivered |
//! | `queue` | calls that wait, and [`HookCounts`] of what became of them |
//! | `state` | what a restart must know; [`figures`] for whoever shows them |
//! | `forgotten` | calls that were made unreadable by order |
//! | `error` | [`HookError`] |
#![forbid(unsafe_code)]

mod delivery;
mod document;
mod error;
mod forgotten;
mod queue;
mod service;
mod settings;
mod state;

pub use delivery::{Sound, Transport};
pub use error::HookError;
pub use queue::HookCounts;
pub use service::Service;
pub use settings::{Hook, HookCommand, HookEvent, HookSound, HookTarget, KnownSites, ServiceSettings};
pub use state::{HookFigures, figures};

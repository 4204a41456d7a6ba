//! Remote sniffers: what one `ringtap run` knows of warrants and of targets' sessions, the probe, is told to
//! others that capture elsewhere, the sniffers.
//!
//! A [`Probe`] numbers each [`Change`], sends it to every [`Sniffer`] over mutual TLS, and then up to which
//! time it has told everything. A sniffer confirms what it has applied. After a connection was lost it goes
//! on behind the last change that it has, or, where the probe does not remember so far back, with all that
//! holds now.
//!
//! Not here: what a sniffer does with a change (crate `intercept`), when it looks at packets (crate
//! `daemon`).
//!
//! The one invariant: when a sniffer is told that everything up to a time was told, it has every change up to
//! that time, in order, once.
//!
//! | module | holds |
//! |---|---|
//! | `change` | what may change |
//! | `wire` | what goes over the connection |
//! | `credentials` | who each end is, by its certificate |
//! | `log` | the latest changes, and all that holds now |
//! | `probe`, `sniffer` | the two ends |
#![forbid(unsafe_code)]

mod change;
mod credentials;
mod log;
mod probe;
mod sniffer;
mod wire;

pub use change::{Change, What};
pub use credentials::{Credentials, CredentialsError};
pub use probe::{Probe, ProbeSettings, SnifferStatus};
pub use sniffer::{Heard, Sniffer};
pub use wire::{Confirmation, Stop};

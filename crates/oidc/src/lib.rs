//! Asks an identity provider who somebody is: OpenID Connect Core 1.0 with Discovery 1.0, by the
//! authorization code flow of OAuth 2.0 (RFC 6749) with PKCE (RFC 7636) and what RFC 9700 demands beside.
//!
//! Not here: accounts, sessions, the audit log (`ringtap-access`), the routes of the console.
//!
//! The one invariant: nobody is vouched for but by an ID token that this provider has signed for this
//! console, for the browser that asked, in the last minutes.
//!
//! | module | holds |
//! |---|---|
//! | `settings`, `address` | [`Settings`]: what the operator writes |
//! | [`Provider`] | the flow: where a browser is sent, and what it brings back |
//! | `pending` | what binds an answer to the browser that asked |
//! | `discovery` | the provider's description of itself |
//! | `token`, `keys` | ID tokens, and the keys that sign them |
//! | `claims` | who that is, in which role, with which calls |
//! | `http` | bounded requests; `absent` in a program that was built without the network |
#![forbid(unsafe_code)]

#[cfg(not(feature = "network"))]
mod absent;
#[cfg(not(feature = "network"))]
use absent as http;

mod address;
mod cached;
mod claims;
mod discovery;
mod error;
#[cfg(feature = "network")]
mod http;
mod keys;
mod pending;
mod provider;
mod settings;
mod token;

pub use error::{Error, Failure, FailureKind};
pub use provider::{Answer, Begun, CALLBACK, Provider};
pub use settings::{ScopeOfGroup, Settings};

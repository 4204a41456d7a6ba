//! Certificates from an ACME server (RFC 8555), which a browser believes without a question.
//!
//! The server proves that a name is this console's by a handshake on the port of the page (TLS-ALPN-01, RFC
//! 8737): no other port, and no page that could be asked without TLS.
//!
//! INVARIANT: whatever the ACME server does, connections are served by the last certificate that there is. It
//! is replaced by one that was issued for all names, and is on the disk.

mod client;
mod files;
mod issue;
mod renewal;
mod served;
mod settings;

pub(crate) use renewal::Renewal;
pub(crate) use served::CHALLENGE_PROTOCOL;
pub use settings::AcmeSettings;

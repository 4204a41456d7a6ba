//! SIP, RFC 3261.

/// A parsed message.
pub struct Message<'a> { _raw: &'a [u8] }

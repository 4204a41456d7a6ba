//! The record of a SIP MESSAGE.

use serde::Serialize;

use crate::call::micros;
use crate::{Endpoint, Id, Nanos};

/// One SIP MESSAGE (RFC 3428): sizes and parties, never the text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "message")]
pub struct Message {
    /// Derived from Call-ID, CSeq, the first request's time and hosts.
    pub id: Id,
    /// Call-ID as on the wire.
    pub call_id: String,
    /// Where it came from.
    pub src: Endpoint,
    /// Where it went.
    pub dst: Endpoint,
    /// `user@host` of From.
    pub from: Option<String>,
    /// `user@host` of To.
    pub to: Option<String>,
    /// Content-Type.
    pub content_type: Option<String>,
    /// Bytes of its body.
    pub size: u32,
    /// When it was first sent.
    #[serde(rename = "time_us", serialize_with = "micros::serialize")]
    pub time: Nanos,
    /// Final answer, 0 when none.
    pub code: u16,
}

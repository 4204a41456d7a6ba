//! The record of a SIP MESSAGE.

use crate::definition::record;
use crate::{Endpoint, Id, Nanos};

record! {
    /// One SIP MESSAGE (RFC 3428): sizes and parties, never the text.
    #[name = "message"]
    pub struct Message {
        /// Derived from the Call-ID, the CSeq, and the first request's time and hosts.
        pub id: Id,
        /// Call-ID as on the wire.
        pub call_id: String,
        /// Source of the request.
        pub src: Endpoint,
        /// Destination of the request.
        pub dst: Endpoint,
        /// `user@host` of From.
        pub from: Option<String>,
        /// `user@host` of To.
        pub to: Option<String>,
        /// Content-Type.
        pub content_type: Option<String>,
        /// Size of its body.
        #[unit = Bytes]
        pub size: u32,
        /// When it was first sent.
        #[name = "time_us"]
        pub time: Nanos,
        /// Status code of the final answer, 0 when there is none.
        pub code: u16,
    }
}

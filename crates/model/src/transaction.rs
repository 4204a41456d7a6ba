//! The record of a SIP transaction outside of calls.

use crate::definition::record;
use crate::{Endpoint, Id, Nanos};

record! {
    /// One SUBSCRIBE, NOTIFY, OPTIONS or PUBLISH transaction.
    #[name = "transaction"]
    pub struct Transaction {
        /// Derived from the method, the Call-ID, the CSeq, and the first request's time and hosts.
        pub id: Id,
        /// Method, in capitals.
        pub method: String,
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
        /// User-Agent of the request.
        pub user_agent: Option<String>,
        /// Event package (RFC 6665), of SUBSCRIBE, NOTIFY and PUBLISH.
        pub event: Option<String>,
        /// When it was first sent.
        #[name = "time_us"]
        pub time: Nanos,
        /// Request to final answer; null where there was none.
        #[unit = Milliseconds]
        pub delay_ms: Option<f64>,
        /// Status code of the final answer, 0 when there is none. A 401 or 407 that is then answered with
        /// credentials is not final.
        pub code: u16,
    }
}

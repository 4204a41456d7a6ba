//! The registration record.

use crate::definition::{names, record};
use crate::{Endpoint, Id, Nanos};

names! {
    /// How far a registration has come.
    pub enum RegistrationState {
        /// Accepted, not expired when the input ended or a week after the last refresh.
        Active = "active",
        /// Accepted once, then expired, or never answered.
        Expired = "expired",
        /// Removed by the user agent (expires 0).
        Removed = "removed",
        /// Answered with a final failure.
        Refused = "refused",
    }
}

record! {
    /// One address of record at one registrar: its REGISTERs from first to last.
    #[name = "registration"]
    pub struct Registration {
        /// Derived from the address of record, the Call-ID, and the first REGISTER's time and hosts.
        pub id: Id,
        /// Address of record, `user@host` of To (RFC 3261 section 10.2).
        pub aor: String,
        /// Contact URI of the last REGISTER.
        pub contact: Option<String>,
        /// Source of the first REGISTER.
        pub src: Endpoint,
        /// Destination of the first REGISTER.
        pub dst: Endpoint,
        /// User-Agent.
        pub user_agent: Option<String>,
        /// How far the registration has come.
        pub state: RegistrationState,
        /// Status code of the last final answer, 0 when there is none.
        pub code: u16,
        /// Time of the first REGISTER.
        #[name = "first_us"]
        pub first: Nanos,
        /// Time of the last message.
        #[name = "last_us"]
        pub last: Nanos,
        /// When the binding expires.
        #[name = "expires_us"]
        pub expires: Option<Nanos>,
        /// REGISTER requests seen, repeats included.
        pub requests: u32,
        /// Attempts to register that ended: each with its challenges and repeats is one.
        pub attempts: Option<u32>,
        /// Those of them that failed, or were never answered (RFC 6076 section 4.2).
        pub failed: Option<u32>,
        /// Registration request delay (RFC 6076 section 4.1), mean over the attempts that succeeded.
        #[unit = Milliseconds]
        pub rrd_ms_mean: Option<f64>,
        /// The longest of these delays.
        #[unit = Milliseconds]
        pub rrd_ms_max: Option<f64>,
    }
}

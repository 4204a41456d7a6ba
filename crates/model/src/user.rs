//! The record of a user: what one address of record did.

use crate::definition::record;
use crate::{Endpoint, Nanos};

record! {
    /// How many transactions of a method a user began.
    #[part]
    #[name = "method_count"]
    pub struct MethodCount {
        /// Method, in capitals.
        pub method: String,
        /// How many; one that was challenged and tried again is one.
        pub count: u32,
    }
}

record! {
    /// How often a user failed with one final code.
    #[part]
    #[name = "failure"]
    pub struct Failure {
        /// The final code; 0 where there was no answer, or the code is not known.
        pub code: u16,
        /// How often.
        pub count: u32,
    }
}

record! {
    /// What one address of record did in the time that was looked at: counted from the records of
    /// registrations, calls, messages and other transactions.
    #[name = "user"]
    pub struct User {
        /// Address of record, `user@host`; the host in lower case.
        pub aor: String,
        /// Display name that it last had in From.
        pub display_name: Option<String>,
        /// Contact URI of its last REGISTER.
        pub contact: Option<String>,
        /// User-Agent last seen of it.
        pub user_agent: Option<String>,
        /// Where its last request came from.
        pub address: Option<Endpoint>,
        /// When its binding expires, or expired; null where it has none, or removed it.
        #[name = "registered_until_us"]
        pub registered_until: Option<Nanos>,
        /// Attempts to register.
        pub registrations: u32,
        /// Those of them that failed.
        pub registrations_failed: u32,
        /// Calls that it made.
        pub calls_made: u32,
        /// Those of them that were answered.
        pub calls_made_answered: u32,
        /// Those of them that ended with a final 4xx, 5xx or 6xx.
        pub calls_made_rejected: u32,
        /// Calls to it.
        pub calls_received: u32,
        /// Those of them that were answered.
        pub calls_received_answered: u32,
        /// Those of them that ended with a final 4xx, 5xx or 6xx.
        pub calls_received_rejected: u32,
        /// MESSAGEs to it. Those that it sent are among `methods`.
        pub messages_received: u32,
        /// What it sent, by method: attempts to register (REGISTER), calls that it made (INVITE), MESSAGEs,
        /// and the other transactions outside of calls that were recorded. The most frequent first.
        pub methods: Vec<MethodCount>,
        /// Final failures of all these, by code: the most frequent first.
        pub failures: Vec<Failure>,
        /// When it was first seen.
        #[name = "first_us"]
        pub first: Nanos,
        /// When it was last seen.
        #[name = "last_us"]
        pub last: Nanos,
    }
}

//! Which way media flows in a call.

use crate::definition::names;

names! {
    /// Which way a stream of a call flows.
    pub enum Direction {
        /// Sent by the side that sent the INVITE.
        CallerToCallee = "caller_to_callee",
        /// Sent by the side that answered it.
        CalleeToCaller = "callee_to_caller",
    }
}

//! What a later record changes of earlier ones.

use crate::definition::record;
use crate::{Id, JoinReason, Nanos};

record! {
    /// A call that has another conversation than its record says: the record of a later leg joined two
    /// conversations, or showed that what had joined them is repeated by unrelated calls.
    #[name = "amendment"]
    pub struct Amendment {
        /// Id of the call.
        pub call: Id,
        /// The first moment known of the call. The day on which it lies has its record.
        #[name = "start_us"]
        pub start: Nanos,
        /// The conversation that it is a leg of now.
        pub conversation: Id,
        /// Id of the call whose record joined the two; null where joins are taken back.
        pub joined_by: Option<Id>,
        /// What joins that call to the conversation which this one was a leg of; or for what reason it was
        /// joined to others, which no longer counts.
        pub reason: JoinReason,
    }
}

//! What a probe tells.

use ringtap_model::{Identity, Nanos};
use ringtap_warrant::Order;
use serde::{Deserialize, Serialize};

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// One more than that of the change before; those between a [`What::Restart`] and its [`What::Whole`]
    /// have the number of the last change that is in them.
    pub number: u64,
    /// When, by the time of packets: what was sent before knows nothing of it.
    #[serde(with = "nanoseconds")]
    pub at: Nanos,
    /// What it is.
    pub what: What,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// What was told before may not hold any more: all that holds follows.
    Restart,
    /// All that holds has been told.
    Whole,
    /// From now on these are the orders.
    Orders(Vec<Order>),
    /// The session of a target as it is now.
    Session {
        /// All that is known of it.
        record: Box<Identity>,
        /// It was open when an order about it began.
        is_open: bool,
    },
}

/// Times of packets, which are told to the nanosecond.
mod nanoseconds {
    use ringtap_model::Nanos;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
        u64::deserialize(deserializer).map(Nanos)
    }
}

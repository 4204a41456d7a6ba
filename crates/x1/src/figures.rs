//! What the network element is told of delivery and of how interception goes.

use std::net::SocketAddr;

use ringtap_warrant::Liid;

/// A mediation function that the operator delivers to.
#[derive(Clone, Debug)]
pub struct Function {
    /// Whose it is.
    pub agency: String,
    /// Where it takes events.
    pub hi2: Option<SocketAddr>,
    /// Where it takes content.
    pub hi3: Option<SocketAddr>,
}

/// What whoever intercepts has left of one task.
#[derive(Clone, Debug, Default)]
pub struct TaskFigures {
    /// Octets of content given, if it is known.
    pub content_octets: Option<u64>,
    /// What is missing of it, in words without names.
    pub missing: Vec<String>,
}

/// Whether a mediation function can be reached.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryFigures {
    /// Whether there is a connection for events.
    pub hi2: Option<bool>,
    /// Whether there is one for content.
    pub hi3: Option<bool>,
}

/// What whoever intercepts leaves of how it goes.
pub trait Figures: Send + Sync {
    /// Of one task.
    fn task(&self, liid: &Liid) -> TaskFigures;

    /// Of the mediation function of an agency.
    fn delivery(&self, agency: &str) -> DeliveryFigures;

    /// What is wrong with interception as a whole, in words without names.
    fn faults(&self) -> Vec<String>;
}

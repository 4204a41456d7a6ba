//! What is reported: outages, services, figures.

use std::fmt;

use ringtap_model::{Endpoint, Nanos, Transport};
pub use ringtap_model::{OutageKind, ServiceRole as Role};
use serde::{Serialize, Serializer};

use crate::evidence::Evidence;

/// Where requests are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ServiceAddress {
    /// Address and port.
    pub endpoint: Endpoint,
    /// Transport protocol.
    pub transport: Transport,
}

impl fmt::Display for ServiceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.endpoint, self.transport.name())
    }
}

/// A time in which a service served nobody.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outage {
    /// Address and port of the service.
    pub service: Endpoint,
    /// Its transport protocol.
    pub transport: Transport,
    /// What the service is.
    pub role: Role,
    /// What it did not do.
    pub kind: OutageKind,
    /// The last answer before; of refusals, the last other answer. None where the input has none.
    #[serde(rename = "last_answer_us")]
    pub last_answer: Option<Nanos>,
    /// The last message of any kind before, a request too.
    #[serde(skip)]
    pub(crate) last_sign: Option<Nanos>,
    /// When it began, as it was handed out while it lasted.
    #[serde(skip)]
    pub(crate) begun: Option<Nanos>,
    /// When the first request was sent that was not answered by then, or was refused.
    #[serde(rename = "first_unanswered_us")]
    pub first_unanswered: Nanos,
    /// The first answer after; None where it was not back when the input ended.
    #[serde(rename = "first_answer_us")]
    pub first_answer: Option<Nanos>,
    /// How long it is known to have served nobody: from the first such request, but not before the last
    /// answer, to the first answer, without times in which nobody asked.
    #[serde(rename = "down_ms", serialize_with = "millis")]
    pub down: Nanos,
    /// Time between these two in which no request waited.
    #[serde(rename = "unobserved_ms", serialize_with = "millis")]
    pub unobserved: Nanos,
    /// Requests without an answer, or refused; repeats are the same request.
    pub requests: u64,
    /// Times that they were sent.
    pub sent: u64,
    /// Addresses that sent them.
    pub clients: u64,
    /// Kind of requests that were refused; None where nothing was answered.
    pub refused: Option<&'static str>,
}

impl Outage {
    /// When it began as far as is known: at the first request that waited, not before the service sent
    /// something last.
    pub fn from(&self) -> Nanos {
        self.begun.unwrap_or_else(|| self.first_unanswered.max(self.last_sign.unwrap_or_default()))
    }

    /// Until when it is known to have lasted.
    pub fn until(&self) -> Nanos {
        self.first_answer.unwrap_or(self.from() + self.down + self.unobserved)
    }
}

/// A service over the whole input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceSummary {
    /// Address and port.
    pub service: Endpoint,
    /// Transport protocol.
    pub transport: Transport,
    /// What it is.
    pub role: Role,
    /// The first request.
    #[serde(rename = "first_us")]
    pub first: Nanos,
    /// The last request or answer.
    #[serde(rename = "last_us")]
    pub last: Nanos,
    /// Requests, without repeats and ACK.
    pub requests: u64,
    /// Of these, answered in any way.
    pub answered: u64,
    /// Of those, after the client had repeated the request.
    pub answered_late: u64,
    /// Never answered, whether or not the service was out of service.
    pub unanswered: u64,
    /// Sent too shortly before the end of the input, or of what was captured without loss, to tell.
    pub undecided: u64,
    /// Outages.
    pub outages: u64,
    /// Time in which it is known whether it served.
    #[serde(rename = "observed_ms", serialize_with = "millis")]
    pub observed: Nanos,
    /// Time between its first and its last packet of which nothing is known.
    #[serde(rename = "unobserved_ms", serialize_with = "millis")]
    pub unobserved: Nanos,
    /// Time in which it served nobody.
    #[serde(rename = "down_ms", serialize_with = "millis")]
    pub down: Nanos,
    /// Share of the observed time in which it served, in per cent; None where nothing was observed, or
    /// nothing ever came from there.
    pub availability_pct: Option<f64>,
}

/// Figures of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Services that requests were sent to, telephones included.
    pub services: u64,
    /// Of these, such as never answered anything: no outage can be told of them.
    pub never_answered: u64,
    /// Services that were forgotten, since nobody used them any more.
    pub services_forgotten: u64,
    /// Requests to addresses that the ceiling turned away.
    pub services_refused: u64,
    /// Transactions that were forgotten before their time.
    pub transactions_evicted: u64,
    /// Outages that the ceiling turned away.
    pub outages_refused: u64,
    /// Signs of failovers, calls and addresses that ceilings turned away.
    pub evidence_refused: u64,
    /// Times that packets were lost by the capture, after which nothing before counts.
    pub losses: u64,
}

/// What is known when the input has ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Outages in order of time.
    pub outages: Vec<Outage>,
    /// Services in order of their first request.
    pub services: Vec<ServiceSummary>,
    /// Signs of failovers in signalling, in order of time.
    pub evidence: Vec<Evidence>,
    /// Figures.
    pub counts: Counts,
}

/// A span as records carry it.
pub(crate) fn millis<S: Serializer>(span: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(span.millis_f64())
}

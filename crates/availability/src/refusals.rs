//! Runs of answers 500 and 503 with no other final answer between them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ringtap_model::Nanos;
use ringtap_wire::sip::Method;

/// Refusals in a row from which on they are an outage.
const LEAST: u64 = 3;
/// Addresses that are counted.
const CLIENTS: usize = 256;

/// Requests that are judged together: a proxy that has no PBX left still answers OPTIONS and REGISTER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Invite,
    Register,
    Options,
    Other,
}

impl RequestKind {
    pub(crate) const ALL: [Self; 4] = [Self::Invite, Self::Register, Self::Options, Self::Other];

    pub(crate) fn of(method: Method) -> Self {
        match method {
            Method::Invite => Self::Invite,
            Method::Register => Self::Register,
            Method::Options => Self::Options,
            _ => Self::Other,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Invite => "INVITE",
            Self::Register => "REGISTER",
            Self::Options => "OPTIONS",
            Self::Other => "other",
        }
    }
}

/// Refusals of one kind of request since the last other final answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals {
    pub(crate) last_good: Option<Nanos>,
    pub(crate) first: Option<Nanos>,
    pub(crate) last: Nanos,
    pub(crate) count: u64,
    pub(crate) sent: u64,
    pub(crate) clients: BTreeSet<IpAddr>,
    /// Time that was down and unobserved when they began.
    pub(crate) accounted: Nanos,
}

impl Refusals {
    pub(crate) fn add(&mut self, answered: Nanos, first_sent: Nanos, sent: u64, client: IpAddr) {
        self.first = Some(self.first.map_or(first_sent, |first| first.min(first_sent)));
        self.last = answered;
        self.count += 1;
        self.sent += sent;
        if self.clients.len() < CLIENTS {
            self.clients.insert(client);
        }
    }

    /// Whether they are an outage: several over some time.
    pub(crate) fn is_outage(&self, after: Nanos) -> bool {
        self.count >= LEAST && self.first.is_some_and(|first| self.last.since(first) >= after)
    }
}

/// Whether a final answer says that the service itself cannot: 500 and 503 of RFC 3261 section 21.5.
pub(crate) fn is_refusal(code: u16) -> bool {
    matches!(code, 500 | 503)
}

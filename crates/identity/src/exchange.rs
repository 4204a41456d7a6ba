//! Exchanges of DHCP: what a client asks, and what a server answers, under one transaction.

use ringtap_model::{Endpoint, Nanos, SessionSource};

use crate::facts::Facts;
use crate::key::Key;
use crate::pending::Waiting;
use crate::slots::Serial;

/// Whose exchange it is. Relay agents are not in it: a message and what a relay agent makes of it are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExchangeKey {
    pub(crate) source: SessionSource,
    /// Of its hardware address, or of its DUID.
    pub(crate) client: Key,
    pub(crate) transaction: u32,
}

/// Where a message was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    /// Relay agents that passed it on.
    pub(crate) hops: u8,
}

/// Whether a message of an exchange was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sighting {
    New,
    /// Once more on the same path: somebody sent it again.
    Repeat,
    /// On another path: a relay agent passed it on.
    Relayed,
}

/// What the client wants of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Addresses, or more time for them.
    Lease,
    /// Nothing that changes a lease.
    Other,
}

/// An exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// When it was last asked or answered, but for some seconds.
    pub(crate) time: Nanos,
    pub(crate) is_answered: bool,
    /// What the client asked last; `None` where only a server was heard.
    pub(crate) wish: Option<Wish>,
    /// What client and relay agents said of themselves.
    pub(crate) facts: Facts,
    /// What was granted to what was asked last.
    pub(crate) granted: Option<Key>,
    /// The sessions that it was about.
    pub(crate) sessions: Vec<Serial>,
    /// Messages that are counted in no session yet, and those of them that were repeated.
    pub(crate) messages: u32,
    pub(crate) repeats: u32,
    /// Message type, the address that the client asks with, and where the first such message was seen.
    seen: Vec<(u8, u32, Path)>,
}

impl Exchange {
    pub(crate) fn new(time: Nanos) -> Self {
        Self {
            time,
            is_answered: false,
            wish: None,
            facts: Facts::default(),
            granted: None,
            sessions: Vec::new(),
            messages: 0,
            repeats: 0,
            seen: Vec::new(),
        }
    }

    /// Notes a message.
    pub(crate) fn see(&mut self, number: u8, asks_with: u32, path: Path) -> Sighting {
        let known = self.seen.iter().find(|(kind, address, _)| (*kind, *address) == (number, asks_with));
        let sighting = match known {
            Some((.., first)) if *first == path => Sighting::Repeat,
            Some(_) => Sighting::Relayed,
            None => {
                // Whoever sends more kinds than there are has each counted as new.
                if self.seen.len() < MOST_SEEN {
                    self.seen.push((number, asks_with, path));
                }
                Sighting::New
            }
        };
        if sighting != Sighting::Relayed {
            self.messages += 1;
            self.repeats += u32::from(sighting == Sighting::Repeat);
        }
        sighting
    }
}

impl Waiting for Exchange {
    fn time(&self) -> Nanos {
        self.time
    }

    fn is_answered(&self) -> bool {
        self.is_answered
    }
}

/// Kinds of messages that are remembered of one exchange: there are eleven, and an address may change.
const MOST_SEEN: usize = 16;

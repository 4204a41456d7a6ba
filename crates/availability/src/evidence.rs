//! What else packets tell of a failover: addresses that move, requests that go elsewhere.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

pub use ringtap_model::EvidenceKind;
use ringtap_model::Nanos;
use serde::{Serialize, Serializer};

/// Signs of one kind with the same addresses are one, where they come within this time.
const TOGETHER: Nanos = Nanos::from_secs(5);
/// How many of the latest are looked through for one that a sign adds to.
const RECENT: usize = 32;
/// Signs that are kept.
const MOST: usize = 20_000;

/// A MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Whether it is of a group (IEEE 802 section 8.2.2): no host sends from one.
    pub(crate) fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Whether it says that an address has another owner.
pub(crate) fn is_move(kind: EvidenceKind) -> bool {
    matches!(kind, EvidenceKind::ArpMoved | EvidenceKind::NeighbourMoved | EvidenceKind::SourceMoved)
}

/// A sign of a failover.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// What was seen.
    pub kind: EvidenceKind,
    /// When first.
    #[serde(rename = "first_us")]
    pub first: Nanos,
    /// When last.
    #[serde(rename = "last_us")]
    pub last: Nanos,
    /// How often: packets; of INVITEs and REGISTER, requests.
    pub count: u64,
    /// The address that it is about.
    pub address: IpAddr,
    /// Owner, or service, before.
    #[serde(serialize_with = "text")]
    pub from: Option<Place>,
    /// Owner, or service, after.
    #[serde(serialize_with = "text")]
    pub to: Option<Place>,
}

/// Who has an address, or where a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A host on the link.
    Host(Mac),
    /// A service.
    Service(ringtap_model::Endpoint),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(mac) => mac.fmt(f),
            Self::Service(endpoint) => endpoint.fmt(f),
        }
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if let Ok(endpoint) = text.parse() {
            return Ok(Self::Service(endpoint));
        }
        let mut mac = [0; 6];
        let mut octets = text.split(':');
        for octet in &mut mac {
            *octet = u8::from_str_radix(octets.next().ok_or(())?, 16).map_err(drop)?;
        }
        octets.next().is_none().then_some(Self::Host(Mac(mac))).ok_or(())
    }
}

fn text<S: Serializer>(place: &Option<Place>, serializer: S) -> Result<S::Ok, S::Error> {
    place.map(|place| place.to_string()).serialize(serializer)
}

/// Signs in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct EvidenceLog {
    list: Vec<Evidence>,
    refused: u64,
}

impl EvidenceLog {
    pub(crate) fn add(&mut self, sign: Evidence) {
        let is_same = |known: &&mut Evidence| {
            (known.kind, known.address, known.from, known.to) == (sign.kind, sign.address, sign.from, sign.to)
                && sign.first.since(known.last) <= TOGETHER
        };
        if let Some(known) = self.list.iter_mut().rev().take(RECENT).find(is_same) {
            known.count += sign.count;
            known.last = known.last.max(sign.last);
        } else if self.list.len() < MOST {
            self.list.push(sign);
        } else {
            self.refused += 1;
        }
    }

    pub(crate) fn retain(&mut self, wanted: impl Fn(&Evidence) -> bool) {
        self.list.retain(wanted);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Evidence> {
        self.list.iter()
    }

    pub(crate) fn take(&mut self) -> Vec<Evidence> {
        std::mem::take(&mut self.list)
    }

    /// How many the ceiling turned away.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// The signs, and how many the ceiling turned away.
    pub(crate) fn into_parts(self) -> (Vec<Evidence>, u64) {
        (self.list, self.refused)
    }
}

//! Targets: whom a warrant is about.

mod index;
mod normal;
mod parse;
mod session;
#[cfg(test)]
mod tests;

pub use index::{Name, TargetIndex};
pub use parse::NotATarget;

use std::fmt;
use std::net::IpAddr;

use ringtap_model::Network;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use crate::secret_text::SecretText;

/// One name by which somebody is watched, in its normal form. Read from a text as below, and [`text`] gives
/// it back. There is no `Display`, so that it gets into no log line by accident.
///
/// | text | matches |
/// |---|---|
/// | `user:alice@example.org` | this User-Name, to the letter |
/// | `user~:alice` | the user, whatever the realm and the case: `ALICE`, `alice@a.example`, `A\Alice` |
/// | `user~:alice@example.org` | the user of that realm, in any notation and case |
/// | `calling:`, `called:` | a Calling-Station-Id or Called-Station-Id, without separators and case |
/// | `mac:02:00:5e:10:00:01` | a MAC address in any notation |
/// | `imsi:`, `imei:` | 6 to 15 digits; the first 14 digits of an IMEI or IMEISV |
/// | `msisdn:+441601234567` | a number with its country code, with or without `+`, `00` and separators |
/// | `address:203.0.113.0/24` | addresses of a network |
/// | `sip:alice@example.org` | a user at a host; `*` at one end stands for anything, as in `sip:alice@*` |
/// | `number:+44160*` | the user of a SIP identity as a number; `*` as above |
///
/// [`text`]: Self::text
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    kind: TargetKind,
    /// In its normal form, without the star.
    value: SecretText,
    shape: Shape,
}

/// Where a target has a star.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Shape {
    /// Nowhere.
    Whole,
    /// At its end.
    Beginning,
    /// In front.
    Ending,
}

/// Which name a target is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TargetKind {
    /// A User-Name, to the letter.
    User,
    /// A User-Name without realm and case.
    UserAnyCase,
    /// A Calling-Station-Id.
    Calling,
    /// A Called-Station-Id.
    Called,
    /// A MAC address.
    Mac,
    /// An IMSI.
    Imsi,
    /// An MSISDN.
    Msisdn,
    /// An IMEI.
    Imei,
    /// Addresses.
    Address,
    /// A user at a host.
    Sip,
    /// A telephone number.
    Number,
}

impl TargetKind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::User,
        Self::UserAnyCase,
        Self::Calling,
        Self::Called,
        Self::Mac,
        Self::Imsi,
        Self::Msisdn,
        Self::Imei,
        Self::Address,
        Self::Sip,
        Self::Number,
    ];

    /// As it is written before the colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::UserAnyCase => "user~",
            Self::Calling => "calling",
            Self::Called => "called",
            Self::Mac => "mac",
            Self::Imsi => "imsi",
            Self::Msisdn => "msisdn",
            Self::Imei => "imei",
            Self::Address => "address",
            Self::Sip => "sip",
            Self::Number => "number",
        }
    }

    /// Whether a session of a subscriber has such a name, or addresses; otherwise a call has it.
    pub fn is_of_a_session(self) -> bool {
        !matches!(self, Self::Sip | Self::Number)
    }
}

impl Target {
    /// Which name it is about.
    pub fn kind(&self) -> TargetKind {
        self.kind
    }

    /// As it is written, in its normal form.
    pub fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(self.value.len() * 2 + 16));
        text.push_str(self.kind.name());
        text.push(':');
        if self.shape == Shape::Ending {
            text.push('*');
        }
        for (at, c) in self.value.char_indices() {
            if self.kind == TargetKind::Mac && at > 0 && at % 2 == 0 {
                text.push(':');
            }
            text.push(c);
        }
        if self.shape == Shape::Beginning {
            text.push('*');
        }
        text
    }

    /// The addresses, of a target that is about addresses.
    pub fn network(&self) -> Option<Network> {
        if self.kind == TargetKind::Address { self.value.parse().ok() } else { None }
    }

    /// The first address and the length of the prefix, of a target that is about addresses.
    pub fn prefix(&self) -> Option<(IpAddr, u8)> {
        let (address, bits) = self.value.split_once('/').filter(|_| self.kind == TargetKind::Address)?;
        Some((address.parse().ok()?, bits.parse().ok()?))
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({}:hidden)", self.kind.name())
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Zeroizing::new(String::deserialize(deserializer)?);
        text.parse().map_err(serde::de::Error::custom)
    }
}

//! What a warrant in force asks of the service.

use std::fmt;
use std::str::FromStr;

use ringtap_model::Nanos;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use crate::liid::Liid;
use crate::target::{Target, TargetIndex};

/// What is to be intercepted and delivered, for whom and until when. The same whoever asks: nothing in it
/// depends on who reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Identifies the interception to the agency.
    pub liid: Liid,
    /// Whose law it is by (`authorizationCountryCode` of ETSI TS 102 232-1).
    pub authorisation_country: CountryCode,
    /// Where it is delivered (`deliveryCountryCode`).
    pub delivery_country: CountryCode,
    /// Which part of it.
    pub delivers: Delivers,
    /// Whom it is about: at least one.
    pub targets: Vec<Target>,
    /// Name of the agency that it is delivered to: 1 to 64 letters, digits, `.`, `-` and `_`.
    pub agency: String,
    /// Number of the mediation function that delivers it, where there are several.
    pub mediation_function: Option<u32>,
    /// Identifies the operator to the agency: 1 to 16 octets of ASCII (`operatorIdentifier`).
    pub operator: String,
    /// From this time on.
    #[serde(rename = "begins_us")]
    pub begins: Nanos,
    /// Before this time. The register ends it by itself: what comes later is no part of it.
    #[serde(rename = "ends_us")]
    pub ends: Nanos,
    /// Encrypts payloads, where the agency asks for it.
    pub payload_key: Option<PayloadKey>,
}

impl TargetIndex {
    /// Of all targets of the orders.
    pub fn of_orders(orders: &[Order]) -> Self {
        Self::new(orders.iter().flat_map(|order| order.targets.iter().map(|target| (target, &order.liid))))
    }
}

/// Which part of an interception is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Delivers {
    /// Intercept related information alone: who, when, with whom.
    Iri,
    /// Content of communication alone.
    Content,
    /// Both.
    Both,
}

impl Delivers {
    /// Whether intercept related information is a part of it.
    pub fn iri(self) -> bool {
        self != Self::Content
    }

    /// Whether content is a part of it.
    pub fn content(self) -> bool {
        self != Self::Iri
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iri => "iri",
            Self::Content => "content",
            Self::Both => "both",
        }
    }
}

impl fmt::Display for Delivers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text does not say what is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what is delivered is `iri`, `content` or `both`")]
pub struct NotDelivered;

impl FromStr for Delivers {
    type Err = NotDelivered;

    fn from_str(text: &str) -> Result<Self, NotDelivered> {
        let all = [Self::Iri, Self::Content, Self::Both];
        all.into_iter().find(|one| one.name() == text).ok_or(NotDelivered)
    }
}

/// A country by its two letters (ISO 3166-1 alpha-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CountryCode([u8; 2]);

/// The text is no country code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a country is two letters, such as `GB`")]
pub struct NotACountry;

impl CountryCode {
    /// Two upper-case letters.
    pub fn as_str(&self) -> &str {
        // They are ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for CountryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CountryCode {
    type Err = NotACountry;

    fn from_str(text: &str) -> Result<Self, NotACountry> {
        let letters: [u8; 2] = text.as_bytes().try_into().map_err(|_| NotACountry)?;
        let is_right = letters.iter().all(u8::is_ascii_alphabetic);
        if is_right { Ok(Self(letters.map(|letter| letter.to_ascii_uppercase()))) } else { Err(NotACountry) }
    }
}

impl Serialize for CountryCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CountryCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A key that encrypts payloads on their way to the agency (ETSI TS 102 232-1, `EncryptionType`).
/// Written as 48 or 64 hex digits.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadKey {
    /// `aES-192-CBC`.
    Aes192Cbc(Zeroizing<[u8; 24]>),
    /// `aES-256-CBC`.
    Aes256Cbc(Zeroizing<[u8; 32]>),
}

/// The text is no payload key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a payload key is 48 hex digits (AES-192-CBC) or 64 (AES-256-CBC)")]
pub struct NotAKey;

impl PayloadKey {
    /// As hex digits.
    pub fn text(&self) -> Zeroizing<String> {
        let bytes: &[u8] = match self {
            Self::Aes192Cbc(key) => &key[..],
            Self::Aes256Cbc(key) => &key[..],
        };
        let mut text = Zeroizing::new(String::with_capacity(2 * bytes.len()));
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        text.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
        text
    }
}

impl FromStr for PayloadKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        match text.trim_ascii().as_bytes() {
            digits if digits.len() == 48 => Ok(Self::Aes192Cbc(unhex(digits)?)),
            digits => Ok(Self::Aes256Cbc(unhex(digits)?)),
        }
    }
}

fn unhex<const N: usize>(digits: &[u8]) -> Result<Zeroizing<[u8; N]>, NotAKey> {
    let (pairs, []) = digits.as_chunks::<2>() else { return Err(NotAKey) };
    let mut bytes = Zeroizing::new([0; N]);
    if pairs.len() != N {
        return Err(NotAKey);
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).ok_or(NotAKey);
        *byte = (digit(high)? << 4 | digit(low)?) as u8;
    }
    Ok(bytes)
}

impl fmt::Debug for PayloadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PayloadKey(hidden)")
    }
}

impl Serialize for PayloadKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for PayloadKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Zeroizing::new(String::deserialize(deserializer)?);
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for delivers in [Delivers::Iri, Delivers::Content, Delivers::Both] {
            assert_eq!(delivers.to_string().parse(), Ok(delivers));
        }
        assert_eq!("all".parse::<Delivers>(), Err(NotDelivered));
        assert_eq!("gb".parse::<CountryCode>().unwrap().to_string(), "GB");
        for wrong in ["", "G", "GBR", "G1", "\u{e9}"] {
            assert_eq!(wrong.parse::<CountryCode>(), Err(NotACountry), "{wrong}");
        }
    }

    #[test]
    fn payload_keys_by_their_length() {
        let key: PayloadKey = "0F".repeat(24).parse().unwrap();
        assert_eq!(key, PayloadKey::Aes192Cbc(Zeroizing::new([15; 24])));
        assert_eq!(key.text().as_str(), "0f".repeat(24));
        let key: PayloadKey = "a0".repeat(32).parse().unwrap();
        assert_eq!(key, PayloadKey::Aes256Cbc(Zeroizing::new([0xa0; 32])));
        assert_eq!(format!("{key:?}"), "PayloadKey(hidden)");
        for wrong in [String::new(), "0f".repeat(23), "0f".repeat(33), "xy".repeat(24)] {
            assert_eq!(wrong.parse::<PayloadKey>(), Err(NotAKey), "{wrong}");
        }
    }
}

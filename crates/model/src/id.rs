//! The name of a record.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// 128 bits derived from what a record describes, written as 32 hex digits: the same call seen twice has the
/// same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub [u8; 16]);

impl Id {
    /// Its 32 digits, without the machinery of formatting: each record has several.
    fn digits(self) -> [u8; 32] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        digits
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ascii(&self.digits()))
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(ascii(&self.digits()))
    }
}

/// Text that this crate has written itself, in ASCII.
pub(crate) fn ascii(text: &[u8]) -> &str {
    std::str::from_utf8(text).unwrap_or_default()
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        text.parse().map_err(|NotAnId| D::Error::custom("an id is 32 hex digits"))
    }
}

/// The text is not 32 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnId;

impl FromStr for Id {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let digits = text.as_bytes();
        if digits.len() != 32 {
            return Err(NotAnId);
        }
        let mut id = [0; 16];
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            let nibble = |digit: u8| char::from(digit).to_digit(16).ok_or(NotAnId);
            *byte = (nibble(pair[0])? << 4 | nibble(pair[1])?) as u8;
        }
        Ok(Self(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let id = Id(*b"0123456789abcdef");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!("xyz".parse::<Id>(), Err(NotAnId));
        assert_eq!("z".repeat(32).parse::<Id>(), Err(NotAnId));
    }
}

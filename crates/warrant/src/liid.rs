//! Lawful interception identifiers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::{Zeroize, Zeroizing};

/// A lawful interception identifier: 1 to 25 octets (ETSI TS 102 232-1,
/// `LawfulInterceptionIdentifier`).
///
/// Written as printable ASCII, or as `0x` and two hex digits an octet; the same octets are the same
/// identifier, however they are written. There is no `Display`: it gets into no log line by accident.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Liid {
    /// Zeros after `length`.
    octets: [u8; MOST],
    length: u8,
}

/// The text is no identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an LIID is 1 to 25 printable ASCII characters without spaces, or `0x` and 2 to 50 hex digits")]
pub struct NotALiid;

impl Liid {
    /// The identifier with these octets, if there are 1 to 25.
    pub fn of(octets: &[u8]) -> Result<Self, NotALiid> {
        if octets.is_empty() || octets.len() > MOST {
            return Err(NotALiid);
        }
        let mut liid = Self { octets: [0; MOST], length: octets.len() as u8 };
        liid.octets[..octets.len()].copy_from_slice(octets);
        Ok(liid)
    }

    /// As it is handed over.
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }

    /// As people write it: ASCII where it is printable, hex digits otherwise.
    pub fn text(&self) -> Zeroizing<String> {
        let octets = self.octets();
        let is_plain = octets.iter().all(u8::is_ascii_graphic) && !is_hex(octets);
        let mut text = Zeroizing::new(String::with_capacity(2 + 2 * MOST));
        if is_plain {
            text.extend(octets.iter().map(|octet| char::from(*octet)));
            return text;
        }
        text.push_str("0x");
        let digits = octets.iter().flat_map(|octet| [octet >> 4, octet & 15]);
        text.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
        text
    }
}

/// Whether a text would be read as hex digits.
fn is_hex(text: &[u8]) -> bool {
    text.starts_with(b"0x") || text.starts_with(b"0X")
}

impl FromStr for Liid {
    type Err = NotALiid;

    fn from_str(text: &str) -> Result<Self, NotALiid> {
        let bytes = text.trim_ascii().as_bytes();
        if !is_hex(bytes) {
            return if bytes.iter().all(u8::is_ascii_graphic) { Self::of(bytes) } else { Err(NotALiid) };
        }
        let (pairs, []) = bytes[2..].as_chunks::<2>() else { return Err(NotALiid) };
        if pairs.len() > MOST {
            return Err(NotALiid);
        }
        let mut octets = Zeroizing::new([0; MOST]);
        for (octet, [high, low]) in octets.iter_mut().zip(pairs) {
            let digit = |byte: &u8| char::from(*byte).to_digit(16).ok_or(NotALiid);
            *octet = (digit(high)? << 4 | digit(low)?) as u8;
        }
        Self::of(&octets[..pairs.len()])
    }
}

impl Drop for Liid {
    fn drop(&mut self) {
        self.octets.zeroize();
    }
}

impl fmt::Debug for Liid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Liid(hidden)")
    }
}

impl Serialize for Liid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Liid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Zeroizing::new(String::deserialize(deserializer)?);
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Octets of the longest.
const MOST: usize = 25;

#[cfg(test)]
mod tests {
    use super::*;

    fn liid(text: &str) -> Liid {
        text.parse().unwrap()
    }

    #[test]
    fn ascii_and_hex_of_the_same_octets_are_the_same() {
        assert_eq!(liid("LI-17"), liid("0x4c492d3137"));
        assert_eq!(liid("0X4C492D3137").text().as_str(), "LI-17");
        assert_eq!(liid("0x00ff").text().as_str(), "0x00ff");
        assert_eq!(liid("0x00ff").octets(), [0, 255]);
        assert_ne!(liid("0x00"), liid("0x0000"), "trailing zeros count");
        let looks_like_hex = Liid::of(b"0x17").unwrap();
        assert_eq!(liid(&looks_like_hex.text()), looks_like_hex);
        assert_eq!(liid(&"a".repeat(25)).octets().len(), 25);
    }

    #[test]
    fn what_is_no_identifier() {
        let long = ["a".repeat(26), format!("0x{}", "ab".repeat(26))];
        let wrong = ["", " ", "0x", "0x1", "0x1g", "a b", "\u{e4}", "a\n b", "0x\u{e4}\u{e4}"];
        for text in wrong.into_iter().chain(long.iter().map(String::as_str)) {
            assert_eq!(text.parse::<Liid>(), Err(NotALiid), "{text:?}");
        }
        assert_eq!(format!("{:?}", liid("LI-17")), "Liid(hidden)");
    }
}

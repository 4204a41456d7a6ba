//! Identifiers of tasks, destinations and transactions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A UUID as ETSI TS 103 280 writes it: 32 lower-case hex digits with hyphens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(u128);

/// The text is no UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a UUID is 8-4-4-4-12 lower-case hex digits")]
pub struct NotAUuid;

impl Uuid {
    /// The first of them in their order.
    pub(crate) const FIRST: Self = Self(0);
}

impl FromStr for Uuid {
    type Err = NotAUuid;

    fn from_str(text: &str) -> Result<Self, NotAUuid> {
        let groups: Vec<&str> = text.split('-').collect();
        let is_right = groups.iter().map(|group| group.len()).eq(LENGTHS)
            && groups.iter().all(|group| group.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
        if !is_right {
            return Err(NotAUuid);
        }
        u128::from_str_radix(&groups.concat(), 16).map(Self).map_err(|_| NotAUuid)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.0);
        let (one, two, three, four, five) =
            (&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]);
        write!(f, "{one}-{two}-{three}-{four}-{five}")
    }
}

impl Serialize for Uuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Uuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_one_notation() {
        let text = "29f28e1c-f230-486a-a860-f5a784ab9172";
        assert_eq!(text.parse::<Uuid>().map(|uuid| uuid.to_string()), Ok(text.to_owned()));
        let small = "00000000-0000-0000-0000-00000000000a";
        assert_eq!(small.parse::<Uuid>().map(|uuid| uuid.to_string()), Ok(small.to_owned()));
        for wrong in [
            "",
            "29F28E1C-F230-486A-A860-F5A784AB9172",
            "29f28e1cf230486aa860f5a784ab9172",
            "29f28e1c-f230-486a-a860-f5a784ab917",
            "29f28e1c-f230-486a-a860-f5a784ab9172-",
            "{29f28e1c-f230-486a-a860-f5a784ab9172}",
            "+9f28e1c-f230-486a-a860-f5a784ab9172",
        ] {
            assert_eq!(wrong.parse::<Uuid>(), Err(NotAUuid), "{wrong}");
        }
    }
}

//! The names that every PDU carries, each no longer than its field.

use std::fmt;

/// Why a name was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Nothing, or more octets than the field has room for.
    #[error("{field} has {length} octets: it takes 1 to {most}")]
    Length {
        /// Which name.
        field: &'static str,
        /// Octets that were given.
        length: usize,
        /// Most that it takes.
        most: usize,
    },
    /// An octet that the field's character set lacks.
    #[error("{field} has the octet {octet:#04x}: it takes {takes}")]
    Octet {
        /// Which name.
        field: &'static str,
        /// The octet.
        octet: u8,
        /// What it takes.
        takes: &'static str,
    },
    /// A LIID that starts with `0x` and is not whole octets of hexadecimal digits.
    #[error(
        "the LIID starts with 0x, but is not pairs of hexadecimal digits: write each octet as two digits"
    )]
    Hexadecimal,
}

/// Up to `N` octets in place: names are copied and compared once a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Octets<const N: usize> {
    length: u8,
    octets: [u8; N],
}

impl<const N: usize> Octets<N> {
    fn new(field: &'static str, octets: &[u8]) -> Result<Self, NameError> {
        if octets.is_empty() || octets.len() > N {
            return Err(NameError::Length { field, length: octets.len(), most: N });
        }
        let mut copy = [0; N];
        copy[..octets.len()].copy_from_slice(octets);
        Ok(Self { length: octets.len() as u8, octets: copy })
    }

    fn as_bytes(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $field:literal, $most:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Octets<$most>);

        impl $name {
            /// Most octets.
            pub const MOST: usize = $most;

            /// From its octets.
            ///
            /// # Errors
            /// If there is none or there are too many.
            pub fn new(octets: &[u8]) -> Result<Self, NameError> {
                Octets::new($field, octets).map(Self)
            }

            /// Its octets.
            pub fn as_bytes(&self) -> &[u8] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.as_bytes().escape_ascii())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

name! {
    /// Lawful interception identifier: what the authority calls the warrant (TS 102 232-1 clause 5.2.2;
    /// TS 103 280).
    Liid, "the LIID", 25
}

name! {
    /// Operator or service provider (TS 102 232-1 clause 5.2.4; TS 101 671 table A.1.2).
    OperatorId, "the operator identifier", 16
}

name! {
    /// Network element that hands over (TS 102 232-1 clause 5.2.4).
    ElementId, "the network element identifier", 16
}

impl Liid {
    /// From the text of a warrant: its characters, or after `0x` its octets as pairs of hexadecimal digits.
    ///
    /// # Errors
    /// If it is empty, too long, not ASCII, or not whole octets after `0x`.
    pub fn from_text(text: &str) -> Result<Self, NameError> {
        let Some(digits) = text.strip_prefix("0x") else {
            return match text.bytes().find(|octet| !(0x20..0x7f).contains(octet)) {
                Some(octet) => Err(NameError::Octet { field: "the LIID", octet, takes: "printable ASCII" }),
                None => Self::new(text.as_bytes()),
            };
        };
        let digits: Vec<u32> = digits
            .chars()
            .map(|digit| digit.to_digit(16).ok_or(NameError::Hexadecimal))
            .collect::<Result<_, _>>()?;
        if !digits.len().is_multiple_of(2) {
            return Err(NameError::Hexadecimal);
        }
        let octets: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect();
        Self::new(&octets)
    }
}

/// Where in the network the interception took place (TS 102 232-1 clause 5.2.11): 1 to 8 characters of
/// PrintableString.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterceptionPoint(Octets<8>);

impl InterceptionPoint {
    /// From its text.
    ///
    /// # Errors
    /// If it is empty, too long, or has a character that PrintableString lacks.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let field = "the interception point";
        match text.bytes().find(|octet| !is_printable_string(*octet)) {
            Some(octet) => {
                Err(NameError::Octet { field, octet, takes: "letters, digits, space and '()+,-./:=?" })
            }
            None => Octets::new(field, text.as_bytes()).map(Self),
        }
    }

    /// Its octets.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for InterceptionPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InterceptionPoint({})", self.as_bytes().escape_ascii())
    }
}

/// X.680 clause 41.4, table 10.
fn is_printable_string(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&octet)
}

/// A country, in the two letters of ISO 3166-1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CountryCode([u8; 2]);

impl CountryCode {
    /// From two capital letters.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let field = "the country code";
        let letters: [u8; 2] = text.as_bytes().try_into().map_err(|_| NameError::Length {
            field,
            length: text.len(),
            most: 2,
        })?;
        match letters.into_iter().find(|letter| !letter.is_ascii_uppercase()) {
            Some(octet) => Err(NameError::Octet { field, octet, takes: "two capital letters" }),
            None => Ok(Self(letters)),
        }
    }

    /// Its letters.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for CountryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CountryCode({})", self.0.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_liid_is_text_or_octets() {
        assert_eq!(Liid::from_text("LI-2026-17").unwrap().as_bytes(), b"LI-2026-17");
        assert_eq!(Liid::from_text("0x00ffA5").unwrap().as_bytes(), [0, 0xff, 0xa5]);
        for refused in ["", "0x", "0x1", "0x0g", "tab\t", "über", "12345678901234567890123456"] {
            assert!(Liid::from_text(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn names_are_refused_with_their_reason() {
        assert_eq!(
            OperatorId::new(&[0; 17]).unwrap_err().to_string(),
            "the operator identifier has 17 octets: it takes 1 to 16"
        );
        assert!(InterceptionPoint::new("cell*7").is_err());
        assert!(InterceptionPoint::new("BNG-0001").is_ok());
        assert!(CountryCode::new("de").is_err());
        assert!(CountryCode::new("DEU").is_err());
        assert!(CountryCode::new("DE").is_ok());
    }
}

//! Whom a request is about.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use crate::target::{NotATarget, Target};

/// Whom a request is about: a name as a warrant has it, and of one address also a port of it, behind which
/// one of several subscribers was. As text: a target, or `address:203.0.113.7:40001`,
/// `address:[2001:db8::1]:443`. There is no `Display`, so that it gets into no log line by accident.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    target: Target,
    port: Option<u16>,
}

/// Why a text names no subject. It does not have the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotASubject {
    /// It is no target.
    #[error(transparent)]
    Target(#[from] NotATarget),
    /// Nobody uses that port.
    #[error("a port is 1 to 65535: leave it out where it is not known")]
    Port,
}

impl Subject {
    /// The name.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The port, where it is one address with a port.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// As it is written, in its normal form.
    pub fn text(&self) -> Zeroizing<String> {
        let mut text = self.target.text();
        if let Some((port, (address, _))) = self.port.zip(self.target.prefix()) {
            *text = format!("address:{}", SocketAddr::new(address, port));
        }
        text
    }
}

impl FromStr for Subject {
    type Err = NotASubject;

    fn from_str(text: &str) -> Result<Self, NotASubject> {
        let end = text.trim().strip_prefix("address:");
        let Some(end) = end.and_then(|text| text.trim().parse::<SocketAddr>().ok()) else {
            return Ok(Self { target: text.parse()?, port: None });
        };
        if end.port() == 0 {
            return Err(NotASubject::Port);
        }
        Ok(Self { target: format!("address:{}", end.ip()).parse()?, port: Some(end.port()) })
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subject({}:hidden)", self.target.kind().name())
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Zeroizing::new(String::deserialize(deserializer)?);
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(text: &str) -> Result<Subject, NotASubject> {
        text.parse()
    }

    #[test]
    fn a_port_belongs_to_one_address_and_the_text_is_read_again() {
        for (text, normal, port) in [
            ("address:203.0.113.7:40001", "address:203.0.113.7:40001", Some(40_001)),
            ("address: [2001:DB8::1]:443", "address:[2001:db8::1]:443", Some(443)),
            ("address:203.0.113.7", "address:203.0.113.7/32", None),
            ("address:2001:db8::1", "address:2001:db8::1/128", None),
            ("address:2001:db8::/56", "address:2001:db8::/56", None),
            ("user~:Alice", "user~:alice", None),
            ("number:+44160*", "number:44160*", None),
        ] {
            let read = subject(text).unwrap();
            assert_eq!((read.text().as_str(), read.port()), (normal, port), "{text}");
            assert_eq!(subject(&read.text()), Ok(read));
        }
    }

    #[test]
    fn what_is_no_subject_is_not_repeated() {
        for text in ["zebra", "address:203.0.113.0/24:80", "address:203.0.113.7:99999", "sip:zebra", ""] {
            let error = subject(text).unwrap_err();
            assert!(matches!(error, NotASubject::Target(_)), "{text}: {error}");
            assert!(!error.to_string().contains("zebra"));
        }
        assert_eq!(subject("address:203.0.113.7:0"), Err(NotASubject::Port));
        assert_eq!(format!("{:?}", subject("user:zebra").unwrap()), "Subject(user:hidden)");
    }
}

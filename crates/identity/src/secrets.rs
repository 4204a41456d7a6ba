//! The secrets that clients share with their server.

use std::cmp::Reverse;
use std::fmt;
use std::net::IpAddr;

use ringtap_model::Network;
use zeroize::Zeroizing;

/// Secrets by the network that a client is in.
#[derive(Default)]
pub struct Secrets(Vec<(Network, Zeroizing<Vec<u8>>)>);

/// A line that is no client and its secret. It never says what the secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it, and what would be right.
    pub problem: &'static str,
}

impl fmt::Display for WrongLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for WrongLine {}

impl Secrets {
    /// Reads lines of a client's address or network and its secret, with spaces between; `#` begins a
    /// comment.
    ///
    /// # Errors
    ///
    /// The first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, WrongLine> {
        let mut secrets = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |problem| WrongLine { line: index + 1, problem };
            let (client, secret) = line.split_once([' ', '\t']).ok_or(wrong(NO_SECRET))?;
            let client = client.parse().map_err(|_| wrong(NO_CLIENT))?;
            secrets.0.push((client, Zeroizing::new(secret.trim_start().as_bytes().to_vec())));
        }
        Ok(secrets)
    }

    /// The secret of a client: of the smallest network that it is in.
    pub(crate) fn of(&self, client: IpAddr) -> Option<&[u8]> {
        let holding = self.0.iter().filter(|(network, _)| network.holds(client));
        // Of two networks that hold one address, the smaller begins later or ends earlier.
        let found = holding.max_by_key(|(network, _)| {
            let (first, last) = network.ends();
            (first, Reverse(last))
        });
        found.map(|(_, secret)| secret.as_slice())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets of {} clients", self.0.len())
    }
}

const NO_SECRET: &str = "it has no secret: write a client's address or network, a space, and its secret";
const NO_CLIENT: &str = "its first word is neither an address nor a network like 192.0.2.0/24";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_network_has_the_secret() {
        let secrets =
            Secrets::parse("# ours\n192.0.2.0/24  wide one\n\n192.0.2.0\tnarrow\n2001:db8::/32 six\n");
        let secrets = secrets.unwrap();
        let of = |address: &str| secrets.of(address.parse().unwrap());
        assert_eq!(of("192.0.2.9"), Some(&b"wide one"[..]));
        assert_eq!(of("192.0.2.0"), Some(&b"narrow"[..]));
        assert_eq!(of("2001:db8::9"), Some(&b"six"[..]));
        assert_eq!(of("198.51.100.9"), None);
        assert!(!format!("{secrets:?}").contains("narrow"));
    }

    #[test]
    fn a_wrong_line_is_named_without_its_secret() {
        let wrong = |text| Secrets::parse(text).unwrap_err().to_string();
        assert!(wrong("192.0.2.1 a\n192.0.2.2").starts_with("line 2: it has no secret"));
        let text = wrong("here hunter2");
        assert!(text.starts_with("line 1:") && !text.contains("hunter2"), "{text}");
    }
}

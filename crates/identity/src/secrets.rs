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
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct WrongLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it, and what would be right.
    pub problem: &'static str,
}

/// Why the bytes of a file are no secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongSecrets {
    /// More bytes than are read of such a file.
    #[error("the file is longer than 1 MiB; name networks, not hosts")]
    TooLong,
    /// Text in another encoding, or no text.
    #[error("the file is not UTF-8: save it as UTF-8 text")]
    NotUtf8,
    /// A line of it.
    #[error(transparent)]
    Line(#[from] WrongLine),
}

impl Secrets {
    /// Reads the bytes of a file, see [`parse`](Self::parse).
    ///
    /// # Errors
    ///
    /// It is too long, not UTF-8, or has a line that is wrong.
    pub fn of_file(bytes: &[u8]) -> Result<Self, WrongSecrets> {
        if bytes.len() >= LONGEST {
            return Err(WrongSecrets::TooLong);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| WrongSecrets::NotUtf8)?;
        Ok(Self::parse(text)?)
    }

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

/// What is read of a file.
const LONGEST: usize = 1 << 20;
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
    fn a_file_that_is_no_list_of_secrets_is_refused() {
        assert!(Secrets::of_file(b"192.0.2.1 one").is_ok());
        assert_eq!(Secrets::of_file(&[b'#'; LONGEST]).err(), Some(WrongSecrets::TooLong));
        assert_eq!(Secrets::of_file(b"192.0.2.1 \xff").err(), Some(WrongSecrets::NotUtf8));
        let text = Secrets::of_file(b"\n192.0.2.1").unwrap_err().to_string();
        assert!(text.starts_with("line 2: "), "{text}");
    }

    #[test]
    fn a_wrong_line_is_named_without_its_secret() {
        let wrong = |text| Secrets::parse(text).unwrap_err().to_string();
        assert!(wrong("192.0.2.1 a\n192.0.2.2").starts_with("line 2: it has no secret"));
        let text = wrong("here hunter2");
        assert!(text.starts_with("line 1:") && !text.contains("hunter2"), "{text}");
    }
}

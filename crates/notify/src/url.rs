//! URLs of targets.

use std::net::IpAddr;

/// Where a URL leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) tls: bool,
    /// Without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    /// Scheme, host and port of `http://host:port/path`; the path may hold a secret, so no error quotes it.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let example = "write it as https://example.org:8443/path";
        let (tls, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ if url.is_empty() => return Err(format!("is missing: {example}")),
            _ => return Err(format!("must begin with https:// or http://: {example}")),
        };
        if url.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
            return Err(format!("has a space in it: {example}"));
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            let remedy = "write `Authorization: Basic ...` into a file and name it in header_file";
            return Err(format!("holds a user or password, which this file shows: {remedy}"));
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, after)) => (host, Some(after.strip_prefix(':').unwrap_or("none"))),
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = match port {
            Some(text) => {
                text.parse().ok().filter(|port| *port > 0).ok_or(format!("has no right port: {example}"))?
            }
            None if tls => 443,
            None => 80,
        };
        match is_host(host) {
            true => Ok(Self { tls, host: host.to_owned(), port }),
            false => Err(format!("has no right host: {example}")),
        }
    }

    /// Whether nothing leaves this machine.
    pub(crate) fn is_this_machine(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// Whether this is an address, or could be a name.
pub(crate) fn is_host(text: &str) -> bool {
    let is_name = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) && text.len() <= 253
    };
    !text.is_empty() && (is_name(text) || text.parse::<IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports() {
        for (url, tls, host, port) in [
            ("https://example.org", true, "example.org", 443),
            ("http://example.org/x?y:1@z", false, "example.org", 80),
            ("https://[2001:db8::1]:8443/x", true, "2001:db8::1", 8443),
            ("http://[::1]", false, "::1", 80),
        ] {
            assert_eq!(Address::parse(url), Ok(Address { tls, host: host.into(), port }), "{url}");
        }
        for wrong in [
            "",
            "example.org",
            "https://",
            "https://u:p@h/",
            "http://h:0",
            "http://h:x",
            "http://a b",
            "http://h:1:2",
        ] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Address::parse("http://[::1]:1").unwrap().is_this_machine());
        assert!(!Address::parse("http://localhost.example.org").unwrap().is_this_machine());
    }

    #[test]
    fn an_error_shows_nothing_of_the_url() {
        let error = Address::parse("https://user:secret@example.org/token").unwrap_err();
        assert!(!error.contains("secret") && !error.contains("token"), "{error}");
    }
}

//! Names under which the page is served.

use std::net::{IpAddr, SocketAddr};

/// Names under which the page is served: a request with another `Host` was lured here by somebody else's
/// name (DNS rebinding).
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    names: Vec<String>,
    any_address: bool,
}

impl Hosts {
    /// The address that is listened at, and names that the operator gave. Who listens at a wildcard address
    /// is asked for by any address, but only by names that were given.
    pub(crate) fn new(listen: SocketAddr, given: &[String]) -> Self {
        let mut names: Vec<String> = given.iter().map(|name| name.to_ascii_lowercase()).collect();
        if listen.ip().is_loopback() || listen.ip().is_unspecified() {
            names.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        }
        names.push(match listen.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        });
        Self { names, any_address: listen.ip().is_unspecified() }
    }

    /// Whether a `Host` is one of them.
    pub(crate) fn allows(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let is_address = || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        self.names.contains(&name) || self.any_address && is_address()
    }
}

/// A host without its port.
pub(crate) fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(listen: &str, given: &[&str]) -> Hosts {
        let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
        Hosts::new(listen.parse().unwrap(), &given)
    }

    #[test]
    fn only_own_names_are_served() {
        let local = hosts("127.0.0.1:8443", &["tap.example.org"]);
        for host in ["127.0.0.1:8443", "localhost", "LOCALHOST:8443", "[::1]:8443", "tap.example.org:443"] {
            assert!(local.allows(host), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "192.0.2.1:8443", "", "localhost.evil:8443"] {
            assert!(!local.allows(host), "{host}");
        }
        let everywhere = hosts("0.0.0.0:8443", &[]);
        assert!(everywhere.allows("192.0.2.1:8443") && everywhere.allows("[2001:db8::1]:8443"));
        assert!(!everywhere.allows("evil.example:8443"), "a name that nobody gave");
    }
}

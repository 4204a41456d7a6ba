//! Addresses, networks, and the beginnings of addresses.

use std::net::{IpAddr, SocketAddr};

use ringtap_model::Network;

use crate::value::Host;

/// The addresses that a text names: `192.0.2.7`, `192.0.2.0/24`, `2001:db8::/32`, `192.0.2.7:5060`,
/// `[2001:db8::1]:5060`, or a beginning such as `192.0.2` or `10.1.*`.
pub(crate) fn host(text: &str) -> Option<Host> {
    let text = text.trim();
    if let Ok(network) = text.parse::<Network>() {
        return Some(Host { network, port: None });
    }
    if let Ok(endpoint) = text.parse::<SocketAddr>() {
        let network = endpoint.ip().to_string().parse().ok()?;
        return Some(Host { network, port: Some(endpoint.port()) });
    }
    beginning(text).map(|network| Host { network, port: None })
}

/// `192.0.2`, `192.0.2.`, `192.0.2.*`: two or three numbers, as an address has them.
fn beginning(text: &str) -> Option<Network> {
    let text = text.strip_suffix('*').unwrap_or(text);
    let text = text.strip_suffix('.').unwrap_or(text);
    let octets: Vec<&str> = text.split('.').collect();
    let is_octet = |octet: &&str| {
        let is_short = *octet == "0" || !octet.starts_with('0');
        is_short && octet.bytes().all(|byte| byte.is_ascii_digit()) && octet.parse::<u8>().is_ok()
    };
    if !(2..=3).contains(&octets.len()) || !octets.iter().all(is_octet) {
        return None;
    }
    let rest = [".0"; 2].concat();
    let address = format!("{text}{}", if octets.len() == 2 { &rest } else { ".0" });
    address.parse::<IpAddr>().ok()?;
    format!("{address}/{}", octets.len() * 8).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let Host { network, port } = host(text)?;
        Some(port.map_or_else(|| network.to_string(), |port| format!("{network} {port}")))
    }

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("192.0.2.7", "192.0.2.7/32"),
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("192.0.2.7:5060", "192.0.2.7/32 5060"),
            ("[2001:db8::1]:5060", "2001:db8::1/128 5060"),
            ("192.0.2", "192.0.2.0/24"),
            ("192.0.2.", "192.0.2.0/24"),
            ("192.0.2.*", "192.0.2.0/24"),
            ("10.1", "10.1.0.0/16"),
            ("10.1.*", "10.1.0.0/16"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "10", "10.", "192.0.2.256", "020.7946", "1.2.3.4.5", "10..1", "a.b", "192.0.2.0/33"]
        {
            assert_eq!(host(text), None, "{text}");
        }
    }
}

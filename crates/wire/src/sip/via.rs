//! Via, RFC 3261 section 20.42, with `rport` of RFC 3581.

use std::net::IpAddr;

use super::params::{param, params as each};
use super::text::{first_of, is_space, number, split_once};
use super::uri::{address, host_port};

/// One hop that a request took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Via<'a> {
    /// `UDP`, `TCP`, `TLS`, `WSS`, ..., as written.
    pub transport: &'a [u8],
    /// Host name or address that the hop gave itself, an IPv6 address without its brackets.
    pub host: &'a [u8],
    /// Port, if there is a valid one.
    pub port: Option<u16>,
    /// Branch, which identifies the transaction, RFC 3261 section 8.1.1.7.
    pub branch: Option<&'a [u8]>,
    /// `received`: the source address that the next hop saw.
    pub received: Option<&'a [u8]>,
    /// `rport`: the source port that the next hop saw; None if only requested.
    pub rport: Option<u16>,
    /// All parameters; may begin with `;`.
    pub params: &'a [u8],
}

impl<'a> Via<'a> {
    /// Reads one value (`SIP/2.0/UDP host:port;branch=...`, spaces and folds anywhere between). None without
    /// a transport.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        let (transport, place, params) = Self::cut(value)?;
        let (host, port) = host_port(place);
        let mut via = Self { transport, host, port, branch: None, received: None, rport: None, params };
        let (mut branch, mut received, mut rport) = (None, None, None);
        // The first of each name counts, even without a value.
        for (name, value) in each(params) {
            let slot = match name.len() {
                6 if name.eq_ignore_ascii_case(b"branch") => &mut branch,
                8 if name.eq_ignore_ascii_case(b"received") => &mut received,
                5 if name.eq_ignore_ascii_case(b"rport") => &mut rport,
                _ => continue,
            };
            slot.get_or_insert(value.unwrap_or_default());
        }
        let filled = |value: Option<&'a [u8]>| value.filter(|value| !value.is_empty());
        (via.branch, via.received) = (filled(branch), filled(received));
        via.rport = filled(rport).and_then(number);
        Some(via)
    }

    /// The branch of a value, without parsing its host. The outer None means that [`Via::parse`] fails.
    pub(super) fn branch_of(value: &'a [u8]) -> Option<Option<&'a [u8]>> {
        let (_, _, params) = Self::cut(value)?;
        Some(param(params, b"branch").filter(|branch| !branch.is_empty()))
    }

    /// Fast path of [`Via::branch_of`] for the first value of a list in its usual form. None means that the
    /// slow path has to parse it.
    pub(super) fn plain_branch(list: &'a [u8]) -> Option<&'a [u8]> {
        let rest = list.strip_prefix(b"SIP/2.0/")?;
        let is_plain = !matches!(rest.first()?, b';' | b' ' | b'\t' | b'\r' | b'\n');
        let mut params = if is_plain { &rest[end_of_part(rest)..] } else { return None };
        loop {
            // What ends the part before is none of a parameter of this value.
            let param = params.strip_prefix(b";")?;
            let end = end_of_part(param);
            if let Some(branch) = param[..end].strip_prefix(b"branch=") {
                let is_whole = matches!(param.get(end), None | Some(b';' | b','));
                let is_trimmed = *branch.first()? > b' ' && *branch.last()? > b' ';
                return (is_whole && is_trimmed).then_some(branch);
            }
            // Leave other spellings of the name to the slow path.
            if matches!(param.first()?, b'b' | b'B' | b';' | ..=b' ') {
                return None;
            }
            params = &param[end..];
        }
    }

    /// Transport, host and port, parameters.
    fn cut(value: &'a [u8]) -> Option<(&'a [u8], &'a [u8], &'a [u8])> {
        let (_name, rest) = split_once(value, b'/')?;
        let (_version, rest) = split_once(rest, b'/')?;
        let rest = rest.trim_ascii();
        let end = rest.iter().position(|&b| is_space(b) || b == b';').unwrap_or(rest.len());
        let (transport, rest) = rest.split_at(end);
        if transport.is_empty() {
            return None;
        }
        let (place, params) = rest.split_at(memchr::memchr(b';', rest).unwrap_or(rest.len()));
        Some((transport, place, params))
    }

    /// The host as an address.
    pub fn ip(&self) -> Option<IpAddr> {
        address(self.host)
    }

    /// `received` as an address, with or without brackets (RFC 5118 section 4.5).
    pub fn received_ip(&self) -> Option<IpAddr> {
        self.received.and_then(address)
    }

    /// Value of a parameter; empty for one without value.
    pub fn param(&self, name: &[u8]) -> Option<&'a [u8]> {
        param(self.params, name)
    }
}

/// Where host and port, or a parameter, ends: at what begins the next, the next value of a list, or something
/// that may hold either.
#[inline]
fn end_of_part(text: &[u8]) -> usize {
    first_of(text, [b';', b',', b'"', b'<']).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_one() {
        let via =
            Via::parse(b"SIP/2.0/UDP 192.0.2.1:5061;rport=4242;branch=z9hG4bK77;received=10.0.0.1").unwrap();
        assert_eq!(
            (via.transport, via.host, via.port, via.branch, via.rport),
            (&b"UDP"[..], &b"192.0.2.1"[..], Some(5061), Some(&b"z9hG4bK77"[..]), Some(4242))
        );
        assert_eq!(via.received_ip(), "10.0.0.1".parse().ok());
    }

    #[test]
    fn spaces_and_folds_anywhere() {
        let via =
            Via::parse(b"SIP  /    2.0\r\n  / UDP  192.168.255.111   ; branch=\r\n z9hG4bK30239").unwrap();
        assert_eq!(
            (via.transport, via.host, via.branch),
            (&b"UDP"[..], &b"192.168.255.111"[..], Some(&b"z9hG4bK30239"[..]))
        );
    }

    #[test]
    fn version_6_and_received_with_and_without_brackets() {
        for received in ["[2001:db8::9:255]", "2001:db8::9:255"] {
            let text = format!("SIP/2.0/UDP [2001:db8::9:1];received={received};rport;branch=z9hG4bKas3");
            let via = Via::parse(text.as_bytes()).unwrap();
            assert_eq!((via.host, via.port, via.rport), (&b"2001:db8::9:1"[..], None, None));
            assert_eq!(via.received_ip(), "2001:db8::9:255".parse().ok());
            assert_eq!(via.param(b"rport"), Some(&b""[..]));
        }
    }

    #[test]
    fn a_plain_branch_is_the_branch() {
        let plain = "SIP/2.0/UDP h;rport;branch=z9;x";
        assert_eq!(Via::plain_branch(plain.as_bytes()), Some(&b"z9"[..]));
        for place in ["UDP h", " UDP h", "UDP h:5060 ", ";x", "", "UDP \"h"] {
            for params in [
                ";branch=z9;x",
                ";rport;branch=z9",
                ";x=y ; branch=z9",
                ";Branch=a;branch=b",
                ";branch;branch=z9",
                ";branch=",
                ";branch = z9",
                ";b=1;branch=z9",
                ";branch=\"z9\"",
                ";branch=z9 ",
                ";branch=z9, SIP/2.0/UDP i;branch=a",
                ";;branch=z9",
                ";x=\";branch=a\";branch=z9",
                "",
                ";",
                ";branch=;branch=a",
                ";x=<;branch=a>;branch=b",
                ";branch=a b",
            ] {
                let list = format!("SIP/2.0/{place}{params}");
                let first =
                    super::super::text::Split::new(list.as_bytes(), b',').find_map(Via::branch_of).flatten();
                let found = Via::plain_branch(list.as_bytes());
                assert!(found.is_none() || found == first, "{list}");
            }
        }
    }

    #[test]
    fn damaged() {
        assert_eq!(Via::parse(b"SIP/2.0/UDP 192.0.2.15;;").map(|v| v.host), Some(&b"192.0.2.15"[..]));
        assert_eq!(Via::parse(b"SIP/2.0/UDP;branch=x").and_then(|v| v.branch), Some(&b"x"[..]));
        assert_eq!(Via::parse(b"UDP 192.0.2.15"), None);
        assert_eq!(Via::parse(b"SIP/2.0/ "), None);
    }
}

//! URIs, RFC 3261 section 19.1 and RFC 3966.

use std::net::IpAddr;

use super::params::param;
use super::text::number;

/// A URI with its parts as written: escapes stay, and case is not changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uri<'a> {
    /// `sip`, `sips`, `tel`, `urn`, ...; empty if there is none.
    pub scheme: &'a [u8],
    /// The user without password, its own parameters included (`+1201;phone-context=x`); the number of a
    /// `tel` URI.
    pub user: Option<&'a [u8]>,
    /// Host name or address, an IPv6 address without its brackets. Empty if the scheme has none.
    pub host: &'a [u8],
    /// Port, if there is a valid one.
    pub port: Option<u16>,
    /// Parameters after host and port, without the first `;`.
    pub params: &'a [u8],
    /// Headers after the `?`.
    pub headers: &'a [u8],
    /// All of it.
    pub raw: &'a [u8],
}

impl<'a> Uri<'a> {
    /// Parses a URI, without angle brackets around it. None if it is empty.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        let mut raw = text.trim_ascii();
        if let [b'<', inner @ ..] = raw {
            raw = inner.strip_suffix(b">").unwrap_or(inner).trim_ascii();
        }
        if raw.is_empty() {
            return None;
        }
        if let Some(uri) = Self::plain(raw) {
            return Some(uri);
        }
        let (scheme, rest) = scheme(raw);
        let uri = Self { scheme, raw, ..Self::default() };
        Some(match Kind::of(scheme, rest) {
            Kind::Sip => uri.sip(rest),
            Kind::Tel => uri.tel(rest),
            Kind::Opaque => uri,
        })
    }

    /// Fast path for `sip:user@host:port;params` (port and parameters optional) in one pass. None means that
    /// the slow path has to parse it.
    fn plain(raw: &'a [u8]) -> Option<Self> {
        let rest = raw.strip_prefix(b"sip:")?;
        let at = rest.iter().position(|&b| matches!(b, b'@' | b':' | b';' | b'?'))?;
        let (user, place) = rest.split_at(at);
        let place = place.strip_prefix(b"@")?;
        let end = place.iter().position(|&b| matches!(b, b'@' | b':' | b';' | b'?' | b'[') || b <= b' ');
        let (host, mut tail) = place.split_at(end.unwrap_or(place.len()));
        let mut port = None;
        if let [b':', digits @ ..] = tail {
            let len = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
            let (digits, behind) = digits.split_at(len);
            // Leave an invalid one to the slow path.
            port = Some(number(digits)?);
            tail = behind;
        }
        let params = match tail {
            [] => tail,
            [b';', params @ ..] if memchr::memchr2(b'@', b'?', params).is_none() => params,
            _ => return None,
        };
        Some(Self { scheme: &raw[..3], user: Some(user), host, port, params, headers: &[], raw })
    }

    /// The value of a URI parameter; empty for one without value.
    pub fn param(&self, name: &[u8]) -> Option<&'a [u8]> {
        param(self.params, name)
    }

    /// The host as an address.
    pub fn ip(&self) -> Option<IpAddr> {
        address(self.host)
    }

    /// `userinfo@host:port;params?headers`. The user part may hold `;` `?` and `/` (RFC 4475 sections 3.1.1.2
    /// and 3.1.1.9), so the `@` is found first.
    fn sip(mut self, rest: &'a [u8]) -> Self {
        let mut place = rest;
        if let Some(first) = memchr::memchr(b'@', rest) {
            // An unescaped second `@` (`user@domain@host`) belongs to the user, unless it is in a parameter.
            let tail = &rest[first..];
            let stop = tail.iter().position(|&b| matches!(b, b';' | b'?')).unwrap_or(tail.len());
            let at = first + memchr::memrchr(b'@', &tail[..stop]).unwrap_or(0);
            let info = &rest[..at];
            self.user = Some(&info[..memchr::memchr(b':', info).unwrap_or(at)]);
            place = &rest[at + 1..];
        }
        let place = self.split_tail(place);
        (self.host, self.port) = host_port(place);
        self
    }

    /// `number;params`.
    fn tel(mut self, rest: &'a [u8]) -> Self {
        self.user = Some(self.split_tail(rest).trim_ascii());
        self
    }

    /// Splits parameters and headers off the end of `rest`.
    fn split_tail(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let mut rest = rest;
        if let Some(at) = memchr::memchr(b'?', rest) {
            (rest, self.headers) = (&rest[..at], &rest[at + 1..]);
        }
        if let Some(at) = memchr::memchr(b';', rest) {
            (rest, self.params) = (&rest[..at], &rest[at + 1..]);
        }
        rest
    }
}

/// Syntax of the part after the scheme.
enum Kind {
    Sip,
    Tel,
    Opaque,
}

impl Kind {
    fn of(scheme: &[u8], rest: &[u8]) -> Self {
        let is = |name: &[u8]| scheme.eq_ignore_ascii_case(name);
        if scheme.is_empty() || is(b"sip") || is(b"sips") {
            return Kind::Sip;
        }
        if is(b"tel") {
            return Kind::Tel;
        }
        // im:, pres:, mailto: and xmpp: also name a user at a host; //authority and urn: do not.
        let user_at_host = !rest.starts_with(b"//") && memchr::memchr(b'@', rest).is_some();
        if user_at_host { Kind::Sip } else { Kind::Opaque }
    }
}

/// The scheme and what follows its colon; an empty scheme for `user@host`.
fn scheme(raw: &[u8]) -> (&[u8], &[u8]) {
    let end = raw.iter().position(|&b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')));
    match end {
        Some(end) if raw[end] == b':' && raw[0].is_ascii_alphabetic() => (&raw[..end], &raw[end + 1..]),
        _ => (&[], raw),
    }
}

/// Splits `host:port`, `[v6]:port` and, though RFC 5118 section 4.2 forbids it, an IPv6 address without
/// brackets.
pub(super) fn host_port(place: &[u8]) -> (&[u8], Option<u16>) {
    let place = place.trim_ascii();
    if let [b'[', rest @ ..] = place {
        return match memchr::memchr(b']', rest) {
            Some(end) => {
                let port = rest[end + 1..].trim_ascii_start().strip_prefix(b":").and_then(number);
                (rest[..end].trim_ascii(), port)
            }
            None => (rest, None),
        };
    }
    let Some(last) = memchr::memrchr(b':', place) else { return (place, None) };
    let (host, port) = (place[..last].trim_ascii(), &place[last + 1..]);
    // Without brackets the last group may be the port: it is if the rest is an address and the whole is not.
    let split = memchr::memchr(b':', host).is_none() || address(place).is_none() && address(host).is_some();
    if split { (host, number(port)) } else { (place, None) }
}

/// Parses an address, with or without brackets, without its zone (`%eth0`).
pub(crate) fn address(text: &[u8]) -> Option<IpAddr> {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]")).unwrap_or(text);
    let text = &text[..memchr::memchr(b'%', text).unwrap_or(text.len())];
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts<'a> = (&'a str, Option<&'a str>, &'a str, Option<u16>, &'a str);

    fn parts(text: &str) -> Parts<'_> {
        let uri = Uri::parse(text.as_bytes()).unwrap();
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        (text(uri.scheme), uri.user.map(text), text(uri.host), uri.port, text(uri.params))
    }

    #[test]
    fn sip_uris() {
        let sip = "sip";
        assert_eq!(parts("sip:alice@example.com"), (sip, Some("alice"), "example.com", None, ""));
        assert_eq!(
            parts("SIPS:alice:secret@[2001:db8::10]:5070;lr;x=1?Route=a"),
            ("SIPS", Some("alice"), "2001:db8::10", Some(5070), "lr;x=1")
        );
        assert_eq!(parts("sip:;transport=UDP"), (sip, None, "", None, "transport=UDP"));
        assert_eq!(
            parts("sip:user;par=u%40example.net@example.com"),
            (sip, Some("user;par=u%40example.net"), "example.com", None, "")
        );
        assert_eq!(parts("sip:u@d@h:5060;x=a@"), (sip, Some("u@d"), "h", Some(5060), "x=a@"));
        assert_eq!(parts("< sip:t.watson@example.org >"), (sip, Some("t.watson"), "example.org", None, ""));
        assert_eq!(parts("sip:h:99999"), (sip, None, "h", None, ""));
        assert_eq!(
            Uri::parse(b"sip:a@b;lr?Route=%3Csip:c%3E").map(|u| u.headers),
            Some(&b"Route=%3Csip:c%3E"[..])
        );
        assert_eq!(Uri::parse(b"sip:a@b;lr;x=1").and_then(|u| u.param(b"X")), Some(&b"1"[..]));
        assert_eq!(Uri::parse(b"sip:a@b;lr;x=1").and_then(|u| u.param(b"lr")), Some(&b""[..]));
    }

    #[test]
    fn what_is_plain_is_the_same_either_way() {
        let general = |raw: &'static str| {
            let (scheme, rest) = scheme(raw.as_bytes());
            Uri { scheme, raw: raw.as_bytes(), ..Uri::default() }.sip(rest)
        };
        for raw in
            ["sip:a@b", "sip:+44@192.0.2.1:5060;user=phone;lr", "sip:@h", "sip:a@h;", "sip:a@", "sip:a@h:0"]
        {
            assert_eq!(Uri::plain(raw.as_bytes()), Some(general(raw)), "{raw}");
        }
        for raw in [
            "sip:h",
            "sips:a@b",
            "sip:a:p@h",
            "sip:a@b@c",
            "sip:a@h:",
            "sip:a@h:99999",
            "sip:a@h:5x",
            "sip:a@h?x=y",
            "sip:a@h;x?y=z",
            "sip:a@h;x=b@c",
            "sip:a@[::1]:5060",
            "sip:a;b@h",
            "sip:a@ h",
            "sip:a@h ;x",
            "SIP:a@b",
            "tel:a@b",
            "sip:a@fe80::1",
        ] {
            assert_eq!(Uri::plain(raw.as_bytes()), None, "{raw}");
        }
    }

    #[test]
    fn addresses_of_version_6() {
        let sip = "sip";
        assert_eq!(parts("sip:[2001:db8::10:5070]"), (sip, None, "2001:db8::10:5070", None, ""));
        assert_eq!(parts("sip:2001:db8::10"), (sip, None, "2001:db8::10", None, ""));
        let whole = (sip, None, "fec0:0:0:0:216:d3ff:fe0d:22c", Some(5060), "");
        assert_eq!(parts("sip:fec0:0:0:0:216:d3ff:fe0d:22c:5060"), whole);
        assert_eq!(parts("sip:[2001:db8::1"), (sip, None, "2001:db8::1", None, ""));
        let ip = |text| Uri::parse(text).and_then(|u| u.ip());
        assert_eq!(ip(b"sip:[fe80::1%eth0]:5060"), "fe80::1".parse().ok());
        assert_eq!(ip(b"sip:[2001:db8:::192.0.2.1]"), None);
        assert_eq!(ip(b"sip:a@192.0.2.1"), "192.0.2.1".parse().ok());
    }

    #[test]
    fn other_schemes() {
        assert_eq!(
            parts("tel:+1-201-555-0123;phone-context=example.com"),
            ("tel", Some("+1-201-555-0123"), "", None, "phone-context=example.com")
        );
        assert_eq!(parts("urn:service:sos"), ("urn", None, "", None, ""));
        assert_eq!(parts("isbn:2983792873"), ("isbn", None, "", None, ""));
        assert_eq!(parts("soap.beep://192.0.2.103:3002"), ("soap.beep", None, "", None, ""));
        assert_eq!(parts("im:a@b.c"), ("im", Some("a"), "b.c", None, ""));
        assert_eq!(parts("alan@jasomi.com:5060"), ("", Some("alan"), "jasomi.com", Some(5060), ""));
        assert_eq!(Uri::parse(b" "), None);
        assert_eq!(Uri::parse(b"<>"), None);
    }
}

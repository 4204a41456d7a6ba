//! Lines and attributes, RFC 8866 section 5.

use std::net::IpAddr;

use crate::sip::text::{first_of, split_once, word};
use crate::sip::uri::address;

/// One line: its type and value.
pub(super) type Line<'a> = (u8, &'a [u8]);

/// The lines of a description. CR, LF, CR LF and LF CR all end a line; lines that are not `x=value` are
/// skipped.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    raw_lines(bytes).filter_map(|(_, line)| typed(line))
}

/// Each non-empty line with its offset.
pub(super) fn raw_lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at;
            let end = first_of(&bytes[start..], [b'\n', b'\r']).map_or(bytes.len(), |n| start + n);
            // The second byte of a line end is skipped with the first.
            at = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'\r' | b'\n')));
            if end > start {
                return Some((start, &bytes[start..end]));
            }
        }
        None
    })
}

/// Type and value of a line.
#[inline]
pub(super) fn typed(line: &[u8]) -> Option<Line<'_>> {
    // Fast path: nothing to trim.
    if let [kind, b'=', value @ ..] = line
        && kind.is_ascii_alphabetic()
        && let (Some(first), Some(last)) = (value.first(), value.last())
        && *first > b' '
        && *last > b' '
    {
        return Some((*kind, value));
    }
    match line.trim_ascii() {
        [kind, b'=', value @ ..] if kind.is_ascii_alphabetic() => Some((*kind, value.trim_ascii())),
        _ => None,
    }
}

/// The values of each `a=name:value` line; empty for `a=name`. Names are compared in any case.
pub(super) fn attributes<'a>(bytes: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let first = name.first().map(u8::to_ascii_lowercase);
    lines(bytes)
        .filter(move |(kind, text)| *kind == b'a' && text.first().map(u8::to_ascii_lowercase) == first)
        .filter_map(move |(_, text)| attribute_named(text, name))
}

/// The value in the text of an attribute line, if the attribute has that name.
#[inline]
pub(super) fn attribute_named<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(name.len())?;
    if !head.eq_ignore_ascii_case(name) {
        return None;
    }
    match rest {
        [] => Some(rest),
        [b':', value @ ..] => Some(value.trim_ascii()),
        _ => None,
    }
}

/// `nettype addrtype address[/ttl[/count]]`. None for a host name. An IPv4-mapped address is given as the
/// IPv4 address, as in the packets.
pub(super) fn connection(value: &[u8]) -> Option<IpAddr> {
    if let Some(ip) = value.strip_prefix(b"IN IP4 ").and_then(plain_v4) {
        return Some(ip);
    }
    let (_, rest) = word(value);
    let (_, rest) = word(rest);
    let (text, _) = word(rest);
    ip(split_once(text, b'/').map_or(text, |(address, _)| address))
}

/// Fast path of [`ip`] for a plain IPv4 address. None means that the slow path has to parse it.
fn plain_v4(text: &[u8]) -> Option<IpAddr> {
    let (mut octets, mut octet, mut digits, mut dots) = ([0; 4], 0u16, 0, 0);
    for &byte in text {
        match byte {
            // An octet has no leading zero.
            b'0'..=b'9' if digits == 0 || octet != 0 => {
                octet = octet * 10 + u16::from(byte - b'0');
                digits += 1;
                if octet > 255 {
                    return None;
                }
            }
            b'.' if digits > 0 && dots < 3 => {
                octets[dots] = octet as u8;
                (octet, digits, dots) = (0, 0, dots + 1);
            }
            _ => return None,
        }
    }
    octets[3] = octet as u8;
    (dots == 3 && digits > 0).then(|| IpAddr::from(octets))
}

/// Parses an address.
pub(super) fn ip(text: &[u8]) -> Option<IpAddr> {
    address(text).map(|ip| ip.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end() {
        let found: Vec<_> = lines(b"v=0\r\no=x\n\rs= -\n\nt=0 0\rjunk\r\n=\r\n a=b \r\n1=2\r\nm=").collect();
        let expected: [Line<'_>; 6] =
            [(b'v', b"0"), (b'o', b"x"), (b's', b"-"), (b't', b"0 0"), (b'a', b"b"), (b'm', b"")];
        assert_eq!(found, expected);
    }

    #[test]
    fn attributes_by_name() {
        let bytes = b"a=rtcp:1\r\na=rtcp-mux\r\nb=rtcp:2\r\na=RTCP: 3 \r\n";
        assert_eq!(attributes(bytes, b"rtcp").collect::<Vec<_>>(), [b"1", b"3"]);
        assert_eq!(attributes(bytes, b"rtcp-mux").collect::<Vec<_>>(), [b""]);
        assert_eq!(attributes(bytes, b"rtcp-mu").count(), 0);
    }

    #[test]
    fn connections() {
        assert_eq!(connection(b"IN IP4 224.2.1.1/127/3"), "224.2.1.1".parse().ok());
        assert_eq!(connection(b"IN  IP6 [FF15::101]/3"), "ff15::101".parse().ok());
        assert_eq!(connection(b"IN IP6 ::ffff:192.0.2.1"), "192.0.2.1".parse().ok());
        assert_eq!(connection(b"IN IP4 host.example.com"), None);
        assert_eq!(connection(b"IN IP4"), None);
    }

    #[test]
    fn a_plain_address_is_the_address() {
        for text in ["192.0.2.1", "0.0.0.0", "255.255.255.255", "10.20.30.40"] {
            assert_eq!(plain_v4(text.as_bytes()), text.parse().ok(), "{text}");
        }
        for text in [
            "",
            "1",
            "1.2.3",
            "1.2.3.",
            "1.2.3.4.",
            "1.2.3.4.5",
            ".1.2.3",
            "1..2.3",
            "01.2.3.4",
            "1.2.3.00",
            "1.2.3.256",
            "1.2.3.4/127",
            "1.2.3.4 ",
            " 1.2.3.4",
            "1.2.3.x",
            "1.2.3.999999999999",
            "::1",
            "1.2.3.-4",
        ] {
            assert_eq!(plain_v4(text.as_bytes()), None, "{text}");
        }
        for value in ["IN IP4 192.0.2.1", "IN IP4 192.0.2.1/127", "IN  IP4\t192.0.2.1 x", "in ip4 192.0.2.1"]
        {
            assert_eq!(connection(value.as_bytes()), "192.0.2.1".parse().ok(), "{value}");
        }
    }
}

//! The Identity header, RFC 8224 section 4.

use super::header::Header;
use super::message::Message;
use super::params::params;
use super::text::Split;

/// An Identity header: a token (RFC 8225) and where the certificate of its signer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// Header of the token in base64url; empty in the compact form.
    pub header: &'a [u8],
    /// Its claims in base64url; empty in the compact form.
    pub claims: &'a [u8],
    /// Its signature in base64url.
    pub signature: &'a [u8],
    /// `info`: the URI of the certificate, without its angle brackets.
    pub info: Option<&'a [u8]>,
    /// `alg`.
    pub algorithm: Option<&'a [u8]>,
    /// `ppt`: what the claims are about beside the numbers.
    pub extension: Option<&'a [u8]>,
}

impl<'a> Identity<'a> {
    /// Parses the value of the header. None where it does not have three parts, or where only one of the
    /// first two is empty: the compact form lacks both (RFC 8225 section 7).
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        let token = Split::new(value, b';').next()?;
        let mut parts = token.split(|&byte| byte == b'.');
        let (header, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || signature.is_empty() || header.is_empty() != claims.is_empty() {
            return None;
        }
        let mut identity = Self { header, claims, signature, info: None, algorithm: None, extension: None };
        // The token is no parameter, though it stands where one could.
        for (name, value) in params(value).skip(1) {
            let field = match name {
                name if name.eq_ignore_ascii_case(b"info") => &mut identity.info,
                name if name.eq_ignore_ascii_case(b"alg") => &mut identity.algorithm,
                name if name.eq_ignore_ascii_case(b"ppt") => &mut identity.extension,
                _ => continue,
            };
            let value = value.unwrap_or_default();
            let inner = value.strip_prefix(b"<").and_then(|value| value.strip_suffix(b">"));
            field.get_or_insert(inner.unwrap_or(value));
        }
        Some(identity)
    }

    /// Whether the token is in its compact form: what it says stands in other headers.
    pub fn is_compact(&self) -> bool {
        self.header.is_empty()
    }
}

impl<'a> Message<'a> {
    /// The value of the Identity header that is about the caller: the first whose `ppt` is `shaken` (RFC
    /// 8588), or that has none. Others are about a diversion (`div`, RFC 8946) or a priority (`rph`).
    pub fn identity(&self) -> Option<&'a [u8]> {
        self.header(Header::Identity)?;
        self.headers(Header::Identity).find(|value| {
            let extension = params(value).skip(1).find(|(name, _)| name.eq_ignore_ascii_case(b"ppt"));
            extension
                .is_none_or(|(_, value)| value.is_some_and(|value| value.eq_ignore_ascii_case(b"shaken")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_and_compact_form() {
        let full = b"aa.bb.cc;info=<https://cert.example.org/a;b.cer>;alg=ES256;ppt=\"shaken\"";
        let identity = Identity::parse(full).unwrap();
        assert_eq!(
            (identity.header, identity.claims, identity.signature),
            (&b"aa"[..], &b"bb"[..], &b"cc"[..])
        );
        assert_eq!(identity.info, Some(&b"https://cert.example.org/a;b.cer"[..]));
        assert_eq!((identity.algorithm, identity.extension), (Some(&b"ES256"[..]), Some(&b"shaken"[..])));
        assert!(!identity.is_compact());
        let compact = Identity::parse(b"..cc \r\n ; Info = <u>").unwrap();
        assert_eq!(
            (compact.signature, compact.info, compact.is_compact()),
            (&b"cc"[..], Some(&b"u"[..]), true)
        );
    }

    #[test]
    fn what_has_not_three_parts_is_none() {
        for value in ["", ";info=<a>", "aa.bb", "aa.bb.", "aa..cc", ".bb.cc", "a.b.c.d", "..", "\"cc\";alg=x"]
        {
            assert_eq!(Identity::parse(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn the_header_that_is_about_the_caller_is_chosen() {
        let chosen = |lines: &str| {
            let bytes = format!("INVITE sip:a@example.com SIP/2.0\r\n{lines}\r\n\r\n");
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            Message::parse_with(bytes.as_bytes(), |message| message.identity().map(text)).unwrap()
        };
        assert_eq!(chosen("To: <sip:a@example.com>"), None);
        assert_eq!(
            chosen("y: a.b.c;ppt=div\r\nIdentity: d.e.f;ppt=Shaken").as_deref(),
            Some("d.e.f;ppt=Shaken")
        );
        assert_eq!(
            chosen("Identity: a.b.c;ppt=rph\r\nIdentity: ..g;info=<x>").as_deref(),
            Some("..g;info=<x>")
        );
        assert_eq!(chosen("Identity: a.b.c;ppt=div"), None);
    }
}

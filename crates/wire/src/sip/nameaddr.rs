//! `name-addr` and `addr-spec`: From, To, Contact, Route, Diversion and the like, RFC 3261 section 20.10.

use super::params::param;
use super::text::{closing_quote, unquoted};
use super::uri::Uri;

/// A party: an optional display name, a URI, parameters of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameAddr<'a> {
    /// Without the quotes around it, with escapes; None if absent or empty.
    pub display: Option<&'a [u8]>,
    /// The URI.
    pub uri: Uri<'a>,
    /// Parameters of the header, not of the URI; may begin with their `;`.
    pub params: &'a [u8],
}

impl<'a> NameAddr<'a> {
    /// Parses one value (one element of a list). None if it is empty; between brackets the URI may be empty,
    /// since the tag after them still counts.
    ///
    /// A display name may hold anything (RFC 4475 section 3.1.2.15), its quotes need not close (3.1.2.6), and
    /// without angle brackets what follows a `;` belongs to the header.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        let value = value.trim_ascii();
        let (before, uri, params) = Self::cut(value);
        let Some(before) = before else {
            return Some(Self { display: None, uri: Uri::parse(uri)?, params });
        };
        let uri = Uri::parse(uri).unwrap_or_default();
        Some(Self { display: display(before), uri, params: params.trim_ascii_start() })
    }

    /// The tag of a header value, without parsing its URI. The outer None means that [`NameAddr::parse`]
    /// fails.
    pub(super) fn tag_of(value: &'a [u8]) -> Option<Option<&'a [u8]>> {
        let (before, uri, params) = Self::cut(value.trim_ascii());
        let is_there = before.is_some() || !uri.trim_ascii().is_empty();
        is_there.then(|| param(params, b"tag").filter(|tag| !tag.is_empty()))
    }

    /// The text before the bracket, None without a bracket; the URI; the parameters.
    fn cut(value: &'a [u8]) -> (Option<&'a [u8]>, &'a [u8], &'a [u8]) {
        let Some(open) = open_bracket(value) else {
            let (uri, params) = value.split_at(memchr::memchr(b';', value).unwrap_or(value.len()));
            return (None, uri, params);
        };
        let inner = &value[open + 1..];
        let (uri, params) = match memchr::memchr(b'>', inner) {
            Some(close) => (&inner[..close], &inner[close + 1..]),
            // Never closed: assume that what follows are parameters of the header, since the tag matters
            // most.
            None => inner.split_at(memchr::memchr(b';', inner).unwrap_or(inner.len())),
        };
        (Some(&value[..open]), uri, params)
    }

    /// The tag, RFC 3261 section 19.3.
    pub fn tag(&self) -> Option<&'a [u8]> {
        self.param(b"tag").filter(|tag| !tag.is_empty())
    }

    /// Value of a parameter of the header; empty if it has none.
    pub fn param(&self, name: &[u8]) -> Option<&'a [u8]> {
        param(self.params, name)
    }
}

/// Offset of the bracket before the URI: the first one outside a quoted string.
fn open_bracket(value: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'<', b'"', value.get(at..)?) {
        let found = at + found;
        if value[found] == b'<' {
            return Some(found);
        }
        match closing_quote(value, found) {
            Some(close) => at = close + 1,
            None => return memchr::memchr(b'<', &value[found..]).map(|n| found + n),
        }
    }
    None
}

/// The display name in the text before the bracket.
fn display(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii();
    let name = match text {
        [b'"', rest @ ..] if closing_quote(text, 0).is_none() => rest,
        _ => unquoted(text),
    };
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts<'a> = (Option<&'a str>, &'a str, Option<&'a str>);

    fn parts(value: &str) -> Parts<'_> {
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        let party = NameAddr::parse(value.as_bytes()).unwrap();
        (party.display.map(text), text(party.uri.raw), party.tag().map(text))
    }

    #[test]
    fn display_names() {
        assert_eq!(
            parts("\"J Rosenberg \\\\\\\"\"       <sip:jdrosen@example.com>\r\n  ;\r\n  tag = 98asjd8"),
            (Some("J Rosenberg \\\\\\\""), "sip:jdrosen@example.com", Some("98asjd8"))
        );
        assert_eq!(parts("caller<sip:c@d>;tag=323"), (Some("caller"), "sip:c@d", Some("323")));
        assert_eq!(
            parts("Bell, Alexander <sip:a@b>;tag=43"),
            (Some("Bell, Alexander"), "sip:a@b", Some("43"))
        );
        assert_eq!(parts("\"Mr. J. User <sip:j@e>;tag=1"), (Some("Mr. J. User"), "sip:j@e", Some("1")));
        assert_eq!(parts("\"<sip:x>;tag=0\" <sip:j@e>;tag=1"), (Some("<sip:x>;tag=0"), "sip:j@e", Some("1")));
        assert_eq!(parts("Örn \"ö\" <sip:j@e>"), (Some("Örn \"ö\""), "sip:j@e", None));
        assert_eq!(parts("\"\" <sip:j@e>"), (None, "sip:j@e", None));
        assert_eq!(parts("\"J\" <sip:j@e>;x=\"y\";tag=1"), (Some("J"), "sip:j@e", Some("1")));
    }

    #[test]
    fn without_brackets_parameters_belong_to_the_header() {
        assert_eq!(parts("sip:a@b;tag=1"), (None, "sip:a@b", Some("1")));
        assert_eq!(parts("sip:a@b?Route=%3Csip:c%3E"), (None, "sip:a@b?Route=%3Csip:c%3E", None));
        assert_eq!(parts("tel:+123;x=\"<y>\";tag=2"), (None, "tel:+123", Some("2")));
        assert_eq!(parts("isbn:2983792873"), (None, "isbn:2983792873", None));
    }

    #[test]
    fn damaged() {
        assert_eq!(parts("<sip:a@b;tag=1"), (None, "sip:a@b", Some("1")));
        assert_eq!(parts("<sip:a@b>tag=1"), (None, "sip:a@b", Some("1")));
        assert_eq!(parts("\"Joe\" <sip:joe@example.org>;;;;"), (Some("Joe"), "sip:joe@example.org", None));
        assert_eq!(parts("<sip:a@b>;tag="), (None, "sip:a@b", None));
        assert_eq!(NameAddr::parse(b""), None);
        assert_eq!(parts("\"x\" <>;tag=1"), (Some("x"), "", Some("1")));
        assert_eq!(NameAddr::parse(b";tag=1"), None);
    }
}

//! Parameters after a `;`, RFC 3261 section 7.3.1.

use super::text::{Split, split_once, unquoted};

/// A parameter: its name, and its value, if any, without the quotes around it.
pub type Param<'a> = (&'a [u8], Option<&'a [u8]>);

/// The parameters of `text`, which begins with or after the first `;`. Folds and spaces around `;` and `=`
/// are ignored.
pub fn params(text: &[u8]) -> impl Iterator<Item = Param<'_>> {
    Split::new(text, b';').map(|part| match split_once(part, b'=') {
        Some((name, value)) => (name.trim_ascii_end(), Some(unquoted(value.trim_ascii_start()))),
        None => (part, None),
    })
}

/// Value of the first parameter of that name, in any case; empty if it has none.
pub(crate) fn param<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    params(text).find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_spacing_quotes_and_empty_parts() {
        let text = b";;tag =\r\n 98asjd8 ; x=\"a;b\";lr;; ;Q = 0.33";
        let found: Vec<_> = params(text).collect();
        assert_eq!(
            found,
            [
                (&b"tag"[..], Some(&b"98asjd8"[..])),
                (b"x", Some(b"a;b")),
                (b"lr", None),
                (b"Q", Some(b"0.33")),
            ]
        );
        assert_eq!(param(text, b"q"), Some(&b"0.33"[..]));
        assert_eq!(param(text, b"lr"), Some(&b""[..]));
        assert_eq!(param(text, b"l"), None);
    }
}

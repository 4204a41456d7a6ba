//! SRTP keys in the description, RFC 4568.

use crate::sip::text::{leading_number, word};

/// One `a=crypto` line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Crypto<'a> {
    /// Identifies the line in offer and answer.
    pub tag: u32,
    /// `AES_CM_128_HMAC_SHA1_80` and the like.
    pub suite: &'a [u8],
    /// `inline:` keys, as written.
    pub keys: &'a [u8],
    /// Session parameters: `UNENCRYPTED_SRTP`, `KDR=1`, ...
    pub session: &'a [u8],
}

impl<'a> Crypto<'a> {
    /// Parses the text after `a=crypto:`.
    pub(super) fn parse(value: &'a [u8]) -> Option<Self> {
        let (tag, rest) = leading_number(value)?;
        let (suite, rest) = word(rest);
        let (keys, session) = word(rest);
        let tag = u32::try_from(tag).ok()?;
        (!suite.is_empty()).then_some(Self { tag, suite, keys, session })
    }

    /// Key and salt in base64: the first `inline:` key without lifetime and index.
    pub fn inline(&self) -> Option<&'a [u8]> {
        let (method, rest) = self.keys.split_at_checked(b"inline:".len())?;
        let end = rest.iter().position(|&b| matches!(b, b'|' | b';')).unwrap_or(rest.len());
        method.eq_ignore_ascii_case(b"inline:").then_some(&rest[..end])
    }
}

/// Keys are secrets: they are not printed.
impl std::fmt::Debug for Crypto<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crypto").field("tag", &self.tag).field("suite", &self.suite).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_with_lifetime_and_index() {
        let line = b"1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz|2^20|1:4 \
            FEC_ORDER=FEC_SRTP";
        let crypto = Crypto::parse(line).unwrap();
        assert_eq!((crypto.tag, crypto.suite), (1, &b"AES_CM_128_HMAC_SHA1_80"[..]));
        assert_eq!(crypto.inline(), Some(&b"WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz"[..]));
        assert_eq!(crypto.session, b"FEC_ORDER=FEC_SRTP");
        assert!(!format!("{crypto:?}").contains("WVNf"));
    }

    #[test]
    fn damaged() {
        assert_eq!(Crypto::parse(b"AES_CM_128_HMAC_SHA1_80"), None);
        assert_eq!(Crypto::parse(b"1"), None);
        assert_eq!(Crypto::parse(b"1 F8").and_then(|crypto| crypto.inline()), None);
    }
}

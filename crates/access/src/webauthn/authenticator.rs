//! What an authenticator says of itself and of what it did (section 6.1).

use crate::webauthn::key::CredentialKey;

/// Authenticator data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthenticatorData<'a> {
    /// SHA-256 of the name of the site that asked.
    pub(crate) site: [u8; 32],
    /// Somebody was there.
    pub(crate) is_present: bool,
    /// It made sure who that was: by a PIN, a fingerprint, a face.
    pub(crate) is_verified: bool,
    /// The credential may have copies, as one that a password manager synchronises.
    pub(crate) can_be_backed_up: bool,
    /// It has copies.
    pub(crate) is_backed_up: bool,
    /// How often it signed; 0 where it does not count.
    pub(crate) counter: u32,
    /// A new credential.
    pub(crate) credential: Option<NewCredential<'a>>,
}

/// A credential that was just made (section 6.5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewCredential<'a> {
    pub(crate) id: &'a [u8],
    /// Its public key as it came, a COSE key.
    pub(crate) key: &'a [u8],
}

impl<'a> AuthenticatorData<'a> {
    /// None for what is not laid out so, and for keys that are not known.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (site, rest) = bytes.split_first_chunk::<32>()?;
        let (flags, rest) = rest.split_first()?;
        let (counter, rest) = rest.split_first_chunk::<4>()?;
        let has = |bit: u8| flags >> bit & 1 == 1;
        let (credential, rest) = if has(ATTESTED) {
            let (_model, rest) = rest.split_first_chunk::<16>()?;
            let (length, rest) = rest.split_first_chunk::<2>()?;
            let (id, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
            let (_, length) = CredentialKey::parse(rest)?;
            let (key, rest) = rest.split_at_checked(length)?;
            (Some(NewCredential { id, key }), rest)
        } else {
            (None, rest)
        };
        // Extensions follow, of which none was asked for.
        if rest.is_empty() == has(EXTENSIONS) {
            return None;
        }
        Some(Self {
            site: *site,
            is_present: has(PRESENT),
            is_verified: has(VERIFIED),
            can_be_backed_up: has(BACKUP_ELIGIBLE),
            is_backed_up: has(BACKED_UP),
            counter: u32::from_be_bytes(*counter),
            credential,
        })
    }
}

/// Bits of the flags.
const PRESENT: u8 = 0;
const VERIFIED: u8 = 2;
const BACKUP_ELIGIBLE: u8 = 3;
const BACKED_UP: u8 = 4;
const ATTESTED: u8 = 6;
const EXTENSIONS: u8 = 7;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn data(flags: u8, rest: &[u8]) -> Vec<u8> {
        [&[9; 32][..], &[flags], &[0, 0, 1, 2], rest].concat()
    }

    #[test]
    fn flags_counter_and_credential_are_where_they_are() {
        let bytes = data(0x05, &[]);
        let parsed = AuthenticatorData::parse(&bytes).unwrap();
        assert_eq!((parsed.site, parsed.counter, parsed.credential), ([9; 32], 258, None));
        assert!(parsed.is_present && parsed.is_verified && !parsed.is_backed_up);
        let key = [&[0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32][..], &[5; 32]].concat();
        let credential = [&[0; 16][..], &[0, 3], b"abc", &key].concat();
        let bytes = data(0x5d, &credential);
        let parsed = AuthenticatorData::parse(&bytes).unwrap();
        assert!(parsed.can_be_backed_up && parsed.is_backed_up);
        assert_eq!(parsed.credential, Some(NewCredential { id: b"abc", key: &key }));
        // Cut off anywhere, or with something behind it that no flag tells of.
        for end in 0..bytes.len() {
            assert_eq!(AuthenticatorData::parse(&bytes[..end]), None, "{end}");
        }
        assert_eq!(AuthenticatorData::parse(&[&bytes[..], &[0xa0]].concat()), None);
        assert!(AuthenticatorData::parse(&data(0x85, &[0xa0])).is_some());
        assert_eq!(AuthenticatorData::parse(&data(0x85, &[])), None);
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(bytes: Vec<u8>, flags: u8) {
            let _ = AuthenticatorData::parse(&bytes);
            let _ = AuthenticatorData::parse(&data(flags, &bytes));
        }
    }
}

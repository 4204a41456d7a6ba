//! Public keys of credentials: COSE keys (RFC 9053), as WebAuthn section 6.5.1 restricts them.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};

use crate::webauthn::cbor::{self, Value};

/// A public key, in one of the three ways that authenticators have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CredentialKey {
    /// ECDSA over P-256 with SHA-256 (-7): the point, uncompressed.
    Es256([u8; 65]),
    /// Ed25519 (-8).
    Ed25519([u8; 32]),
    /// RSASSA-PKCS1-v1_5 with SHA-256 (-257): modulus and exponent.
    Rs256(Vec<u8>, Vec<u8>),
}

/// Keys that passkeys may have, as a browser is told of them: the preferred one first (IANA, COSE
/// algorithms).
pub const PASSKEY_ALGORITHMS: [i64; 3] = [ES256, EDDSA, RS256];

impl CredentialKey {
    /// The key at the beginning, and how many bytes it has. None if it is none of these.
    pub(crate) fn parse(cose: &[u8]) -> Option<(Self, usize)> {
        let (map, length) = cbor::map(cose)?;
        let entry = |label| map.iter().find(|(key, _)| *key == label).map(|(_, value)| *value);
        let number = |label| match entry(label) {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        };
        let bytes = |label| match entry(label) {
            Some(Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        let key = match (number(KEY_TYPE)?, number(ALGORITHM)?) {
            (2, ES256) if number(-1) == Some(1) => {
                let (x, y): ([u8; 32], [u8; 32]) = (bytes(-2)?.try_into().ok()?, bytes(-3)?.try_into().ok()?);
                let mut point = [4; 65];
                point[1..33].copy_from_slice(&x);
                point[33..].copy_from_slice(&y);
                Self::Es256(point)
            }
            (1, EDDSA) if number(-1) == Some(6) => Self::Ed25519(bytes(-2)?.try_into().ok()?),
            (3, RS256) => Self::Rs256(bytes(-1)?.to_vec(), bytes(-2)?.to_vec()),
            _ => return None,
        };
        Some((key, length))
    }

    /// Whether it signed that message.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Es256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature).is_ok()
            }
            Self::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature).is_ok()
            }
            Self::Rs256(n, e) => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
        }
    }
}

/// Labels that all keys have (RFC 9052 section 7.1).
const KEY_TYPE: i64 = 1;
const ALGORITHM: i64 = 3;
const ES256: i64 = -7;
const EDDSA: i64 = -8;
const RS256: i64 = -257;

#[cfg(test)]
mod tests {
    use super::*;

    fn cose(entries: &[(i8, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0xa0 | entries.len() as u8];
        for (label, value) in entries {
            bytes.push(if *label < 0 { 0x20 | (-1 - label) as u8 } else { *label as u8 });
            bytes.extend_from_slice(value);
        }
        bytes
    }

    fn string(bytes: &[u8]) -> Vec<u8> {
        [&[0x59, (bytes.len() >> 8) as u8, bytes.len() as u8], bytes].concat()
    }

    #[test]
    fn each_kind_of_key_is_read_and_others_are_not() {
        let (x, y) = (string(&[1; 32]), string(&[2; 32]));
        let es256 = cose(&[(1, &[2]), (3, &[0x26]), (-1, &[1]), (-2, &x), (-3, &y)]);
        let point = [&[4][..], &[1; 32], &[2; 32]].concat();
        let (key, length) = CredentialKey::parse(&[&es256[..], &[0xa0]].concat()).unwrap();
        assert_eq!((key, length), (CredentialKey::Es256(point.try_into().unwrap()), es256.len()));
        let ed25519 = cose(&[(1, &[1]), (3, &[0x27]), (-1, &[6]), (-2, &x)]);
        assert_eq!(CredentialKey::parse(&ed25519).unwrap().0, CredentialKey::Ed25519([1; 32]));
        let rs256 = cose(&[(1, &[3]), (3, &[0x39, 1, 0]), (-1, &string(&[7; 256])), (-2, &[0x43, 1, 0, 1])]);
        let expected = CredentialKey::Rs256(vec![7; 256], vec![1, 0, 1]);
        assert_eq!(CredentialKey::parse(&rs256).unwrap().0, expected);
        let short = string(&[1; 31]);
        for wrong in [
            cose(&[(1, &[2]), (3, &[0x26]), (-1, &[2]), (-2, &x), (-3, &y)]),
            cose(&[(1, &[2]), (3, &[0x27]), (-1, &[1]), (-2, &x), (-3, &y)]),
            cose(&[(1, &[2]), (3, &[0x26]), (-1, &[1]), (-2, &short), (-3, &y)]),
            cose(&[(1, &[2]), (3, &[0x26]), (-1, &[1]), (-2, &x)]),
            cose(&[(1, &[1]), (3, &[0x27]), (-1, &[4]), (-2, &x)]),
            cose(&[(3, &[0x26])]),
            Vec::new(),
        ] {
            assert_eq!(CredentialKey::parse(&wrong), None, "{wrong:02x?}");
        }
    }

    /// RFC 8032 section 7.1, test 2.
    #[test]
    fn a_signature_of_the_rfc_holds_for_its_message_alone() {
        let unhex = |text: &str| crate::hex::unhex(text).unwrap();
        let key = unhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
        let signature = unhex(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
             085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        );
        let key = CredentialKey::Ed25519(key.try_into().unwrap());
        assert!(key.has_signed(&[0x72], &signature));
        assert!(!key.has_signed(&[0x73], &signature) && !key.has_signed(&[0x72], &signature[1..]));
    }
}

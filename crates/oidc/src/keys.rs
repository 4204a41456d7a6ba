//! The keys of a provider (RFC 7517), as far as they sign ID tokens, and their signatures, which `ring`
//! verifies.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;

use crate::error::Failure;

/// What signs ID tokens (RFC 7518 section 3.1). There is no other: neither `none`, nor HMAC, whose key would
/// be a public one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Rs256,
    Ps256,
    Es256,
}

impl Algorithm {
    /// By its name in a header.
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            _ => None,
        }
    }
}

/// The keys of a provider.
#[derive(Debug, Default)]
pub(crate) struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: Option<String>,
    /// The one algorithm that it is for; none: any that fits.
    of: Option<Algorithm>,
    key: PublicKey,
}

#[derive(Debug, PartialEq)]
enum PublicKey {
    /// Modulus and exponent.
    Rsa(Vec<u8>, Vec<u8>),
    /// A point of P-256, uncompressed.
    P256(Vec<u8>),
}

/// As RFC 7517 and RFC 7518 write it.
#[derive(Deserialize)]
struct Written {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
}

#[derive(Deserialize)]
struct WrittenSet {
    keys: Vec<serde_json::Value>,
}

impl Keys {
    /// Reads a set of keys. Those that sign no ID tokens are left out (RFC 7517 section 5).
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Failure> {
        let set: WrittenSet = serde_json::from_slice(bytes).map_err(|error| {
            Failure::unavailable(format!("the keys of the provider cannot be read: {error}"))
        })?;
        Ok(Self(set.keys.into_iter().filter_map(|key| Key::of(serde_json::from_value(key).ok()?)).collect()))
    }

    /// Whether there is a key for a token that names this one, or none.
    pub(crate) fn has(&self, id: Option<&str>, algorithm: Algorithm) -> bool {
        self.find(id, algorithm).is_some()
    }

    /// Whether a key that the token names has signed the message.
    pub(crate) fn have_signed(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        self.find(id, algorithm).is_some_and(|key| key.key.has_signed(algorithm, message, signature))
    }

    /// The key of that name. A token that names none is signed by the only one that fits (OpenID Connect
    /// Core 1.0, section 10.1).
    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&Key> {
        let mut fitting = self
            .0
            .iter()
            .filter(|key| key.fits(algorithm) && id.is_none_or(|id| key.id.as_deref() == Some(id)));
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }
}

impl Key {
    fn of(written: Written) -> Option<Self> {
        if written.purpose.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let of = match written.alg {
            None => None,
            Some(name) => Some(Algorithm::of(&name)?),
        };
        let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let key = match (&*written.kty, written.crv.as_deref()) {
            ("RSA", _) => PublicKey::Rsa(bytes(written.n)?, bytes(written.e)?),
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(written.x)?, bytes(written.y)?);
                (x.len() == 32 && y.len() == 32).then(|| PublicKey::P256([&[4][..], &x, &y].concat()))?
            }
            _ => return None,
        };
        Some(Self { id: written.kid, of, key })
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        let is_rsa = matches!(self.key, PublicKey::Rsa(..));
        is_rsa == (algorithm != Algorithm::Es256) && self.of.is_none_or(|of| of == algorithm)
    }
}

impl PublicKey {
    fn has_signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let verified = match (self, algorithm) {
            (Self::Rsa(n, e), Algorithm::Rs256) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Self::Rsa(n, e), Algorithm::Ps256) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PSS_2048_8192_SHA256, message, signature)
            }
            (Self::P256(point), Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_that_of_its_name_for_its_purpose_and_its_algorithm() {
        let number = URL_SAFE_NO_PAD.encode([7; 32]);
        let ec = |id: &str, (name, value): (&str, &str)| {
            let mut key = json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": number, "y": number });
            key[name] = json!(value);
            key
        };
        let set = json!({ "keys": [
            ec("a", ("use", "sig")),
            ec("b", ("use", "enc")),
            ec("c", ("alg", "ES384")),
            ec("d", ("crv", "P-521")),
            json!({ "kty": "RSA", "kid": "e", "n": number, "e": "AQAB", "alg": "RS256" }),
            json!({ "kty": "oct", "kid": "f", "k": number }),
            json!("nonsense"),
            json!({ "kty": "EC", "crv": "P-256", "kid": "g", "x": "AA", "y": "AA" }),
        ] });
        let keys = Keys::parse(set.to_string().as_bytes()).unwrap();
        assert_eq!(keys.0.len(), 2);
        assert!(keys.has(Some("a"), Algorithm::Es256) && keys.has(None, Algorithm::Es256));
        assert!(keys.has(Some("e"), Algorithm::Rs256) && !keys.has(Some("e"), Algorithm::Ps256));
        for id in ["b", "c", "d", "e", "f", "g", ""] {
            assert!(!keys.has(Some(id), Algorithm::Es256), "{id}");
        }
        let twice = json!({ "keys": [ec("a", ("use", "sig")), ec("b", ("use", "sig"))] });
        let twice = Keys::parse(twice.to_string().as_bytes()).unwrap();
        assert!(!twice.has(None, Algorithm::Es256), "which of them?");
        assert!(Keys::parse(b"[]").is_err() && Keys::parse(b"").is_err());
    }
}

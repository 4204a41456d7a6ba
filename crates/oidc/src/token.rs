//! ID tokens (OpenID Connect Core 1.0, sections 2 and 3.1.3.7; RFC 7515, 7519).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ringtap_model::Nanos;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::keys::{Algorithm, Keys};

/// What a token says, by the names of the claims.
pub(crate) type Claims = Map<String, Value>;

/// An ID token that is not verified yet.
pub(crate) struct Token<'a> {
    pub(crate) algorithm: Algorithm,
    /// Which key has signed it, by its own word.
    pub(crate) key: Option<String>,
    /// Header and claims, as they are signed.
    signed: &'a str,
    claims: &'a str,
    signature: Vec<u8>,
}

/// What a token has to be about.
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client: &'a str,
    pub(crate) nonce: &'a str,
    /// The access token that came with it.
    pub(crate) access_token: Option<&'a str>,
    pub(crate) now: Nanos,
}

/// Why a token is not believed.
type Doubt = &'static str;

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// What must be understood (RFC 7515 section 4.1.11), of which nothing is.
    crit: Option<Value>,
}

impl<'a> Token<'a> {
    /// Reads the header of a signed token (RFC 7515 section 3.1).
    pub(crate) fn parse(text: &'a str) -> Result<Self, Doubt> {
        let (signed, signature) = text.rsplit_once('.').ok_or(NO_TOKEN)?;
        let (header, claims) =
            signed.split_once('.').filter(|(_, claims)| !claims.contains('.')).ok_or(NO_TOKEN)?;
        let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| NO_TOKEN);
        let header: Header = serde_json::from_slice(&decoded(header)?).map_err(|_| NO_TOKEN)?;
        if header.crit.is_some() {
            return Err("the ID token demands what is not known here (`crit`)");
        }
        let algorithm = Algorithm::of(&header.alg)
            .ok_or("the ID token is signed by none of RS256, PS256 and ES256, which alone are believed")?;
        Ok(Self { algorithm, key: header.kid, signed, claims, signature: decoded(signature)? })
    }

    /// What it says, if one of the keys has signed it and it is about what is expected.
    pub(crate) fn claims(&self, keys: &Keys, expected: &Expected<'_>) -> Result<Claims, Doubt> {
        let (id, message) = (self.key.as_deref(), self.signed.as_bytes());
        if !keys.have_signed(id, self.algorithm, message, &self.signature) {
            return Err("the signature of the ID token is wrong");
        }
        let bytes = URL_SAFE_NO_PAD.decode(self.claims).map_err(|_| NO_TOKEN)?;
        let claims: Claims = serde_json::from_slice(&bytes).map_err(|_| NO_TOKEN)?;
        check(&claims, expected)?;
        Ok(claims)
    }
}

/// Section 3.1.3.7, in its order.
fn check(claims: &Claims, expected: &Expected<'_>) -> Result<(), Doubt> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("iss") != Some(expected.issuer) {
        return Err("the ID token is of another issuer");
    }
    let audiences: Vec<Option<&str>> = match claims.get("aud") {
        Some(Value::Array(all)) => all.iter().map(Value::as_str).collect(),
        one => vec![one.and_then(Value::as_str)],
    };
    if !audiences.contains(&Some(expected.client)) {
        return Err("the ID token is for another client");
    }
    let is_for_us = claims.get("azp").map(|azp| azp.as_str() == Some(expected.client));
    if is_for_us == Some(false) || audiences.len() > 1 && is_for_us.is_none() {
        return Err("the ID token was given to another client");
    }
    times(claims, expected.now)?;
    if text("nonce") != Some(expected.nonce) {
        return Err("the ID token is not an answer to this login");
    }
    if let Some(hash) = claims.get("at_hash") {
        // Section 3.1.3.6: the left half of the hash of the algorithm, which is SHA-256 for all of ours.
        let digest = Sha256::digest(expected.access_token.unwrap_or_default());
        if hash.as_str() != Some(&*URL_SAFE_NO_PAD.encode(&digest[..16])) {
            return Err("the ID token belongs to another access token");
        }
    }
    match text("sub") {
        Some(subject) if !subject.is_empty() && subject.len() <= LONGEST_SUBJECT => Ok(()),
        _ => Err("the ID token does not say whom it is about"),
    }
}

/// Whether a token is valid now. Numbers may have decimals (RFC 7519 section 2).
fn times(claims: &Claims, now: Nanos) -> Result<(), Doubt> {
    let now = now.micros() as f64 / 1e6;
    let seconds = |name: &str| claims.get(name).and_then(Value::as_f64);
    if seconds("exp").is_none_or(|exp| now >= exp + LEEWAY) {
        return Err("the ID token has expired");
    }
    if seconds("iat").is_none_or(|iat| iat > now + LEEWAY) {
        return Err("the ID token was made later than now: compare the clocks of provider and console");
    }
    if claims.contains_key("nbf") && seconds("nbf").is_none_or(|nbf| nbf > now + LEEWAY) {
        return Err("the ID token is not valid yet");
    }
    Ok(())
}

const NO_TOKEN: Doubt = "the ID token cannot be read";
/// Seconds by which clocks may differ.
const LEEWAY: f64 = 60.0;
/// Section 2.
const LONGEST_SUBJECT: usize = 255;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Nanos = Nanos::from_secs(1_795_255_200);

    fn expected(access_token: Option<&str>) -> Expected<'_> {
        Expected { issuer: "https://id", client: "ringtap", nonce: "n", access_token, now: NOW }
    }

    fn good() -> Value {
        let now = 1_795_255_200;
        json!({
            "iss": "https://id", "aud": "ringtap", "sub": "7", "nonce": "n", "iat": now, "exp": now + 300,
        })
    }

    fn checked(changes: Value) -> Result<(), Doubt> {
        let mut claims = good();
        let changes = changes.as_object().unwrap().clone();
        claims.as_object_mut().unwrap().extend(changes);
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        check(claims.as_object().unwrap(), &expected(Some("access")))
    }

    #[test]
    fn each_claim_has_to_be_right() {
        let now = 1_795_255_200;
        let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest("access")[..16]);
        for right in [
            json!({}),
            json!({ "aud": ["ringtap"] }),
            json!({ "aud": ["account", "ringtap"], "azp": "ringtap" }),
            json!({ "exp": now - 59, "iat": now + 60, "nbf": now + 59 }),
            json!({ "exp": now as f64 + 0.5 }),
            json!({ "at_hash": hash }),
        ] {
            assert_eq!(checked(right.clone()), Ok(()), "{right}");
        }
        for wrong in [
            json!({ "iss": "https://id/" }),
            json!({ "iss": ["https://id"] }),
            json!({ "iss": null }),
            json!({ "aud": "other" }),
            json!({ "aud": [] }),
            json!({ "aud": null }),
            json!({ "aud": ["ringtap", "account"] }),
            json!({ "azp": "other" }),
            json!({ "azp": ["ringtap"] }),
            json!({ "exp": now - 60 }),
            json!({ "exp": "never" }),
            json!({ "exp": null }),
            json!({ "iat": now + 61 }),
            json!({ "iat": null }),
            json!({ "nbf": now + 61 }),
            json!({ "nbf": "x" }),
            json!({ "nonce": "m" }),
            json!({ "nonce": null }),
            json!({ "at_hash": "AAAA" }),
            json!({ "at_hash": 7 }),
            json!({ "sub": "" }),
            json!({ "sub": 7 }),
            json!({ "sub": null }),
            json!({ "sub": "x".repeat(256) }),
        ] {
            assert!(checked(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_signed_token_is_not_read() {
        let token = |header: &Value| format!("{}.e30.AAAA", URL_SAFE_NO_PAD.encode(header.to_string()));
        assert!(Token::parse(&token(&json!({ "alg": "ES256", "kid": "a" }))).is_ok());
        for header in [
            json!({ "alg": "none" }),
            json!({ "alg": "None" }),
            json!({ "alg": "HS256" }),
            json!({ "alg": "RS512" }),
            json!({ "alg": ["ES256"] }),
            json!({ "alg": "ES256", "crit": ["b64"], "b64": false }),
            json!({}),
        ] {
            assert!(Token::parse(&token(&header)).is_err(), "{header}");
        }
        for text in ["", ".", "..", "a.b", "e30.e30.e30.e30", "eyJhbGciOiJFUzI1NiJ9.e30.AAAA.AAAA"] {
            assert!(Token::parse(text).is_err(), "{text}");
        }
    }
}

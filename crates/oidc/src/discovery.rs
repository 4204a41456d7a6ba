//! What a provider says of itself (OpenID Connect Discovery 1.0, section 3).

use serde::Deserialize;

use crate::address;
use crate::error::{Failure, shown};

/// The provider's endpoints.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Metadata {
    issuer: String,
    pub(crate) authorization_endpoint: String,
    pub(crate) token_endpoint: String,
    pub(crate) jwks_uri: String,
    /// OpenID Connect RP-Initiated Logout 1.0, section 2.1.
    pub(crate) end_session_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    /// RFC 9207 section 3: answers name the issuer.
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

/// Where the description of an issuer is (section 4).
pub(crate) fn url(issuer: &str) -> String {
    format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'))
}

impl Metadata {
    /// Reads the description that a provider gives, which must be of that issuer.
    pub(crate) fn parse(bytes: &[u8], issuer: &str) -> Result<Self, Failure> {
        let read: Self = serde_json::from_slice(bytes).map_err(|error| {
            Failure::unavailable(format!("what the provider says of itself cannot be read: {error}"))
        })?;
        // Section 4.3: exactly the same, or one provider could speak for another.
        if read.issuer != issuer {
            return Err(Failure::unavailable(format!(
                "the provider at {issuer} says that it is `{}`: write that in `issuer`, if it is right",
                shown(&read.issuer)
            )));
        }
        let endpoints = [&read.authorization_endpoint, &read.token_endpoint, &read.jwks_uri];
        for endpoint in endpoints.into_iter().chain(&read.end_session_endpoint) {
            address::check(endpoint).map_err(|_| {
                Failure::unavailable(format!(
                    "the provider names an address that is not used: `{}`",
                    shown(endpoint)
                ))
            })?;
        }
        Ok(read)
    }

    /// Whether the secret is sent in the form, and not in the header (RFC 6749 section 2.3.1), which is what
    /// is used unless the provider knows the form alone.
    pub(crate) fn wants_secret_in_form(&self) -> bool {
        let knows = |name: &str| self.token_endpoint_auth_methods_supported.iter().any(|one| one == name);
        knows("client_secret_post") && !knows("client_secret_basic")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ISSUER: &str = "https://id.example.org/realms/voice";

    fn described() -> Value {
        json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://id.example.org/auth",
            "token_endpoint": "https://id.example.org/token",
            "jwks_uri": "https://keys.example.org/jwks",
        })
    }

    #[test]
    fn a_provider_speaks_for_itself_over_connections_that_nobody_reads() {
        let parse = |value: &Value| Metadata::parse(value.to_string().as_bytes(), ISSUER);
        assert!(parse(&described()).is_ok());
        for (key, value) in [
            ("issuer", "https://id.example.org/realms/other"),
            ("issuer", "https://id.example.org/realms/voice/"),
            ("token_endpoint", "http://id.example.org/token"),
            ("jwks_uri", "http://169.254.169.254/latest"),
            ("authorization_endpoint", "javascript:alert(1)"),
            ("end_session_endpoint", "https://id.example.org/#a"),
        ] {
            let mut changed = described();
            changed[key] = json!(value);
            assert!(parse(&changed).is_err(), "{key}: {value}");
        }
        let mut cut = described();
        cut.as_object_mut().unwrap().remove("jwks_uri");
        assert!(parse(&cut).is_err());
        assert!(Metadata::parse(b"<html>", ISSUER).is_err());
    }

    #[test]
    fn the_secret_is_in_the_header_unless_the_provider_knows_the_form_alone() {
        for (methods, in_form) in [
            (json!([]), false),
            (json!(["client_secret_post", "client_secret_basic"]), false),
            (json!(["client_secret_post", "private_key_jwt"]), true),
        ] {
            let mut described = described();
            described["token_endpoint_auth_methods_supported"] = methods;
            let read = Metadata::parse(described.to_string().as_bytes(), ISSUER).unwrap();
            assert_eq!(read.wants_secret_in_form(), in_form);
        }
    }
}

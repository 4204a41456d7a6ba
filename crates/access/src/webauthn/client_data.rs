//! What a browser says it was asked (section 5.8.1).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

/// Client data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientData {
    /// `webauthn.create` or `webauthn.get`.
    pub(crate) kind: String,
    pub(crate) challenge: Vec<u8>,
    /// Of the page that asked.
    pub(crate) origin: String,
    /// That page was within a page of another origin.
    pub(crate) cross_origin: bool,
}

#[derive(Deserialize)]
struct Written {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
}

impl ClientData {
    /// Reads it from JSON; keys that are not known may come in later versions. None where one is missing.
    pub(crate) fn parse(json: &[u8]) -> Option<Self> {
        let Written { kind, challenge, origin, cross_origin } = serde_json::from_slice(json).ok()?;
        let challenge = URL_SAFE_NO_PAD.decode(challenge).ok()?;
        Some(Self { kind, challenge, origin, cross_origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_browsers_write_is_read() {
        let written = br#"{"type":"webauthn.get","challenge":"AQID","origin":"https://tap.example.org",
            "crossOrigin":false,"other_keys_can_be_added_here":"do not compare"}"#;
        let read = ClientData::parse(written).unwrap();
        assert_eq!((&*read.kind, &*read.origin), ("webauthn.get", "https://tap.example.org"));
        assert_eq!((read.challenge, read.cross_origin), (vec![1, 2, 3], false));
        for wrong in [
            &b""[..],
            b"[]",
            br#"{"type":"webauthn.get","challenge":"AQID"}"#,
            br#"{"type":"webauthn.get","challenge":"A Q","origin":"x"}"#,
            br#"{"type":1,"challenge":"AQID","origin":"x"}"#,
            b"\xff",
        ] {
            assert_eq!(ClientData::parse(wrong), None, "{wrong:?}");
        }
    }
}

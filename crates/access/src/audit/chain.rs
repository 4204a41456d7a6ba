//! Lines of the log, and how they follow each other.
//!
//! A line is a JSON object that ends in `"previous"`, `"hash"` and `"signature"`. The hash is the SHA-256 of
//! the line up to the comma before `"hash"`, and so covers the hash of the entry before. The signature is
//! that of the 64 hex digits of the hash. Both can be checked without this program:
//!
//! ```text
//! sed -n 3p FILE | sed 's/,"hash":.*//' | tr -d '\n' | sha256sum
//! sed -n 3p FILE | jq -rj .hash > text; sed -n 3p FILE | jq -r .signature | xxd -r -p > signature
//! openssl pkeyutl -verify -pubin -inkey sign.pub -rawin -in text -sigfile signature
//! ```

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::audit::entry::Action;
use crate::audit::key::{LogKey, PublicKey};
use crate::audit::what::StoredPiece;
use crate::hex::sha256_hex;
use crate::role::Role;

/// The hash before the first entry.
pub(crate) const FIRST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What a line says, but for hash and signature.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Body {
    pub(crate) number: u64,
    #[serde(rename = "time_us")]
    pub(crate) time: Nanos,
    pub(crate) who: String,
    pub(crate) role: Option<Role>,
    pub(crate) from: String,
    pub(crate) action: Action,
    pub(crate) what: Vec<StoredPiece>,
    pub(crate) reason: Option<String>,
    pub(crate) previous: String,
}

impl Body {
    /// The line with its line feed, and its hash.
    pub(crate) fn line(&self, key: &LogKey) -> (String, String) {
        // Serialising numbers and texts cannot fail.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.pop();
        let hash = sha256_hex(text.as_bytes());
        let signature = key.sign(&hash);
        (format!("{text}{BEFORE_HASH}{hash}{BEFORE_SIGNATURE}{signature}{END}"), hash)
    }
}

const BEFORE_HASH: &str = ",\"hash\":\"";
const BEFORE_SIGNATURE: &str = "\",\"signature\":\"";
const END: &str = "\"}\n";
const HASH: usize = 64;
const SIGNATURE: usize = 128;

/// A line as read back.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) body: Body,
    pub(crate) hash: String,
    pub(crate) signature: String,
}

impl Line {
    /// Parses a line with its line feed. Its hash matches; where it belongs and its signature are not
    /// checked.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, LineFlaw> {
        let split = || {
            let text = std::str::from_utf8(bytes).ok()?.strip_suffix(END)?;
            let (text, signature) = text.split_at_checked(text.len().checked_sub(SIGNATURE)?)?;
            let text = text.strip_suffix(BEFORE_SIGNATURE)?;
            let (text, hash) = text.split_at_checked(text.len().checked_sub(HASH)?)?;
            Some((text.strip_suffix(BEFORE_HASH)?, hash, signature))
        };
        let (text, hash, signature) = split().ok_or(LineFlaw::NotAnEntry)?;
        if sha256_hex(text.as_bytes()) != hash {
            return Err(LineFlaw::Changed);
        }
        let body = serde_json::from_str(&format!("{text}}}")).map_err(|_| LineFlaw::NotAnEntry)?;
        Ok(Self { body, hash: hash.to_owned(), signature: signature.to_owned() })
    }

    pub(crate) fn is_by(&self, key: &PublicKey) -> bool {
        key.has_signed(&self.hash, &self.signature)
    }
}

/// What is wrong with a line by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFlaw {
    NotAnEntry,
    Changed,
}

/// Where the next line belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) number: u64,
    pub(crate) previous: String,
}

impl Position {
    pub(crate) fn first() -> Self {
        Self { number: 0, previous: FIRST.to_owned() }
    }

    /// Whether the line belongs here.
    pub(crate) fn is_of(&self, line: &Line) -> bool {
        line.body.number == self.number && line.body.previous == self.previous
    }

    /// Where the one after it belongs.
    pub(crate) fn after(line: &Line) -> Self {
        Self { number: line.body.number.saturating_add(1), previous: line.hash.clone() }
    }
}

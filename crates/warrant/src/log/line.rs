//! Lines of the log, and how they follow each other.
//!
//! A line is a JSON object that ends in `"previous"`, `"hash"` and `"signature"`. The hash is the SHA-256 of
//! the line up to the comma before `"hash"`, and so covers the hash of the line before. The signature is that
//! of the 64 hex digits of the hash. Both can be checked without this program and without reading an act:
//!
//! ```text
//! sed -n 3p acts | sed 's/,"hash":.*//' | tr -d '\n' | sha256sum
//! sed -n 3p acts | jq -rj .hash > text; sed -n 3p acts | jq -r .signature | xxd -r -p > signature
//! openssl pkeyutl -verify -pubin -inkey sign.pub -rawin -in text -sigfile signature
//! ```

use serde::{Deserialize, Serialize};

use crate::flaw::Flaw;
use crate::hex::sha256_hex;
use crate::log::key::{Keys, PublicKey};

/// The hash before the first act.
pub(crate) const FIRST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A line of the log of a register, as anybody can read it: what it says is sealed.
#[derive(Clone, Debug)]
pub struct ActLine {
    pub(crate) body: Body,
    pub(crate) hash: String,
    signature: String,
}

/// What a line holds, but for hash and signature.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Body {
    pub(crate) number: u64,
    pub(crate) sealed: String,
    pub(crate) previous: String,
}

impl Body {
    /// The line with its line feed, and its hash.
    pub(crate) fn line(&self, keys: &Keys) -> (String, String) {
        // Serialising numbers and texts cannot fail.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.pop();
        let hash = sha256_hex(text.as_bytes());
        let signature = keys.sign(&hash);
        (format!("{text}{BEFORE_HASH}{hash}{BEFORE_SIGNATURE}{signature}{END}"), hash)
    }
}

/// What is wrong with a line by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFlaw {
    /// It cannot be read.
    NotAnAct,
    /// Its hash is that of another text.
    Changed,
}

impl ActLine {
    /// Parses a line with its line feed. Its hash matches; where it belongs and its signature are not
    /// checked.
    ///
    /// # Errors
    ///
    /// It is no such line.
    pub fn parse(bytes: &[u8]) -> Result<Self, LineFlaw> {
        let split = || {
            let text = std::str::from_utf8(bytes).ok()?.strip_suffix(END)?;
            let (text, signature) = text.split_at_checked(text.len().checked_sub(SIGNATURE)?)?;
            let text = text.strip_suffix(BEFORE_SIGNATURE)?;
            let (text, hash) = text.split_at_checked(text.len().checked_sub(HASH)?)?;
            Some((text.strip_suffix(BEFORE_HASH)?, hash, signature))
        };
        let (text, hash, signature) = split().ok_or(LineFlaw::NotAnAct)?;
        if sha256_hex(text.as_bytes()) != hash {
            return Err(LineFlaw::Changed);
        }
        let body = serde_json::from_str(&format!("{text}}}")).map_err(|_| LineFlaw::NotAnAct)?;
        Ok(Self { body, hash: hash.to_owned(), signature: signature.to_owned() })
    }

    /// The number of the act, from 0.
    pub fn number(&self) -> u64 {
        self.body.number
    }

    /// Whether the key signed it.
    pub fn is_by(&self, key: &PublicKey) -> bool {
        key.has_signed(&self.hash, &self.signature)
    }
}

/// Where the next line belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The number of the act, and so how many there are before it.
    pub(crate) number: u64,
    pub(crate) previous: String,
}

impl Position {
    pub(crate) fn first() -> Self {
        Self { number: 0, previous: FIRST.to_owned() }
    }

    /// What is wrong with a line, if it should be the next one.
    pub(crate) fn flaw_of(&self, line: &ActLine) -> Option<Flaw> {
        match line.body.number {
            number if number == self.number => (line.body.previous != self.previous).then_some(Flaw::Chain),
            number if number < self.number => Some(Flaw::Repeated),
            _ => Some(Flaw::Removed),
        }
    }

    /// Where the one after it belongs.
    pub(crate) fn after(line: &ActLine) -> Self {
        Self { number: line.body.number.saturating_add(1), previous: line.hash.clone() }
    }
}

/// A line is not longer: the text of an act is bounded.
pub(crate) const LONGEST: u64 = 1 << 20;

const BEFORE_HASH: &str = ",\"hash\":\"";
const BEFORE_SIGNATURE: &str = "\",\"signature\":\"";
const END: &str = "\"}\n";
const HASH: usize = 64;
const SIGNATURE: usize = 128;

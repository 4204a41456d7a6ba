//! Entries of the log of deletions.

use std::path::Path;

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::if_present;
use crate::hex::sha256_hex;
use crate::segment::name::Segment;
use crate::time::utc;
use crate::trust::seal::Seal;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Deleted {
    /// A segment is gone, with all that was beside it.
    Segment,
    /// Chunks of a segment were overwritten.
    Chunks,
    /// Keys of a segment were overwritten: its sealed chunks cannot be read any more.
    Keys,
    /// The log itself was shortened: this stands for what it said before of segments of which nothing is left.
    Earlier,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deletion {
    /// Counts the entries, from 0.
    #[serde(rename = "entry")]
    pub number: u64,
    /// When, UTC.
    pub at: String,
    /// What was done.
    pub deleted: Deleted,
    /// With which segment.
    pub segment: String,
    /// By which rule, or whose order.
    pub why: String,
    /// Of chunks and keys: their owners, as 16 hex digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// Of keys: their rows. Of chunks: their bytes' place in the segment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<u64>,
    /// Of a segment of interception product: the cases that its packets were kept for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// In the first line: what it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    /// The segment's seal, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<SealOf>,
    /// SHA-256 of the line before; 64 zeros in the first.
    pub previous: String,
    /// Who signs: the public key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What is left of the seal of a segment that was deleted: the chain goes through it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealOf {
    /// Its SHA-256.
    pub sha256: String,
    /// Its number in the chain; None where it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The SHA-256 of the seal before it, as it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

impl SealOf {
    fn of(bytes: &[u8]) -> Self {
        let seal = Seal::parse(bytes).map(|(seal, _)| seal);
        Self {
            sha256: sha256_hex(bytes),
            number: seal.as_ref().map(|seal| seal.number),
            previous: seal.map(|seal| seal.previous),
        }
    }
}

impl Deletion {
    /// A segment that is about to be deleted out of that directory, with the reason: `older than 90d`.
    ///
    /// # Errors
    ///
    /// Its seal cannot be read.
    pub fn segment(dir: &Path, segment: &Segment, at: Nanos, why: &str) -> Result<Self, Error> {
        Self::new(Deleted::Segment, dir, segment, at, why)
    }

    pub(crate) fn new(
        deleted: Deleted,
        dir: &Path,
        segment: &Segment,
        at: Nanos,
        why: &str,
    ) -> Result<Self, Error> {
        let path = segment.seal_path(dir);
        let seal = if_present(std::fs::read(&path)).map_err(|error| Error::io(&path, "read", error))?;
        let seal = seal.map(|bytes| SealOf::of(&bytes));
        Ok(Self { segment: segment.to_string(), seal, ..Self::blank(deleted, utc(at), why) })
    }

    /// The first line of a log that was shortened.
    pub(crate) fn earlier(earlier: Earlier) -> Self {
        let at = earlier.totals.iter().map(|total| total.until.clone()).max().unwrap_or_default();
        let blank =
            Self::blank(Deleted::Earlier, at, "what the log said of segments of which nothing is left");
        Self { earlier: Some(earlier), ..blank }
    }

    pub(crate) fn blank(deleted: Deleted, at: String, why: &str) -> Self {
        Self {
            number: 0,
            at,
            deleted,
            segment: String::new(),
            why: why.to_owned(),
            owners: Vec::new(),
            places: Vec::new(),
            cases: Vec::new(),
            earlier: None,
            seal: None,
            previous: String::new(),
            key: None,
        }
    }
}

/// What the log said of segments that are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earlier {
    /// Seals that follow each other.
    pub runs: Vec<Run>,
    /// What was done, and why.
    pub totals: Vec<Total>,
}

/// Seals of segments that were deleted, one after the other in their chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The SHA-256 of the last, and what the first says of itself: its number, and the SHA-256 of the seal before it.
    pub seal: SealOf,
    /// The number of the last.
    pub last: u64,
}

impl Run {
    /// How many.
    pub fn segments(&self) -> u64 {
        self.seal.number.map_or(0, |first| self.last.saturating_sub(first).saturating_add(1))
    }
}

/// Deletions of one kind for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Total {
    /// What was done.
    pub deleted: Deleted,
    /// By which rule, or whose order.
    pub why: String,
    /// Of interception product: of which cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// Entries.
    pub entries: u64,
    /// The first and the last segment, by name.
    pub first: String,
    /// See `first`.
    pub last: String,
    /// When it was done last, UTC.
    pub until: String,
}

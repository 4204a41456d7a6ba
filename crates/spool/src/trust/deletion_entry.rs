//! Entries of the log of deletions.

use std::path::Path;

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::{if_present, read_regular};
use crate::hex::sha256_hex;
use crate::segment::name::Segment;
use crate::time::utc;
use crate::trust::seal::Seal;

/// What was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DeletionKind {
    /// A segment, with all files beside it.
    Segment,
    /// Chunks of a segment: they were overwritten.
    Chunks,
    /// Keys of a segment: they were overwritten, and its sealed chunks cannot be read any more.
    Keys,
    /// Not a deletion: a summary of earlier entries about segments of which nothing is left.
    #[serde(rename = "earlier")]
    Summary,
}

/// An entry of the log of deletions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deletion {
    /// Number of the entry, from 0.
    #[serde(rename = "entry")]
    pub number: u64,
    /// When, UTC.
    pub at: String,
    /// What was deleted.
    pub deleted: DeletionKind,
    /// The segment.
    pub segment: String,
    /// The rule, or whoever gave the order.
    pub why: String,
    /// Of chunks and keys: their owners, as 16 hex digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// Of keys: their rows. Of chunks: their offsets in the segment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<u64>,
    /// Of a segment of interception product: the cases of its packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// Of a summary: the entries that it replaces.
    #[serde(rename = "earlier", default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<DeletionSummary>,
    /// The segment's seal, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<SealSummary>,
    /// SHA-256 of the line before; 64 zeros in the first.
    pub previous: String,
    /// The public key of the signer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What remains of the seal of a deleted segment, so that the chain can be followed through it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealSummary {
    /// Its SHA-256.
    pub sha256: String,
    /// Its number in the chain; None if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The SHA-256 of the seal before it, as it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

impl SealSummary {
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
    /// A segment that is about to be deleted from that directory, with the reason: `older than 90d`.
    ///
    /// # Errors
    ///
    /// Its seal cannot be read.
    pub fn segment(dir: &Path, segment: &Segment, at: Nanos, why: &str) -> Result<Self, Error> {
        Self::new(DeletionKind::Segment, dir, segment, at, why)
    }

    pub(crate) fn new(
        deleted: DeletionKind,
        dir: &Path,
        segment: &Segment,
        at: Nanos,
        why: &str,
    ) -> Result<Self, Error> {
        let path = segment.seal_path(dir);
        let seal = if_present(read_regular(&path)).map_err(|error| Error::io(&path, "read", error))?;
        let seal = seal.map(|bytes| SealSummary::of(&bytes));
        Ok(Self { segment: segment.to_string(), seal, ..Self::blank(deleted, utc(at), why) })
    }

    /// The summary at the beginning of a log that was shortened.
    pub(crate) fn summary(summary: DeletionSummary) -> Self {
        let at = summary.totals.iter().map(|total| total.until.clone()).max().unwrap_or_default();
        let blank =
            Self::blank(DeletionKind::Summary, at, "what the log said of segments of which nothing is left");
        Self { summary: Some(summary), ..blank }
    }

    pub(crate) fn blank(deleted: DeletionKind, at: String, why: &str) -> Self {
        Self {
            number: 0,
            at,
            deleted,
            segment: String::new(),
            why: why.to_owned(),
            owners: Vec::new(),
            places: Vec::new(),
            cases: Vec::new(),
            summary: None,
            seal: None,
            previous: String::new(),
            key: None,
        }
    }
}

/// What the log said of segments that are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeletionSummary {
    /// Seals that follow each other.
    pub runs: Vec<SealRun>,
    /// What was deleted, and why.
    pub totals: Vec<DeletionTotal>,
}

/// Consecutive seals of deleted segments in one chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealRun {
    /// The SHA-256 of the last seal; number and predecessor of the first.
    pub seal: SealSummary,
    /// The number of the last seal.
    pub last: u64,
    /// Their chain: `w0-m`. None in a log that an earlier version has shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
}

impl SealRun {
    /// Number of seals.
    pub fn segments(&self) -> u64 {
        self.seal.number.map_or(0, |first| self.last.saturating_sub(first).saturating_add(1))
    }
}

/// Deletions of one kind for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeletionTotal {
    /// What was deleted.
    pub deleted: DeletionKind,
    /// The rule, or whoever gave the order.
    pub why: String,
    /// Of interception product: the cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// Number of entries.
    pub entries: u64,
    /// Names of the first and the last segment.
    pub first: String,
    /// See `first`.
    pub last: String,
    /// When the last of them was deleted, UTC.
    pub until: String,
}

//! The segments of a chain that have no seal yet, in a signed line beside its head: `w0-m.open`.
//!
//! It is written before a segment is created, and says whether the chunks of open segments are sealed. A
//! segment without a seal that the list does not name was put into the spool by somebody else. The list has
//! the number of the next seal, so that an older list proves nothing.

use std::path::Path;

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::replace;
use crate::segment::name::{Category, Segment};
use crate::time::utc;
use crate::trust::head::{chain_name, chain_of};
use crate::trust::sign::{self, PublicKey, Signer};
use crate::trust::signed_file::{SignedFile, SignedList};

/// A list as it is on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenList {
    chain: String,
    /// Number of the next seal of the chain when the list was written.
    pub(crate) next: u64,
    pub(crate) open: Vec<String>,
    /// Whether the writer of the open segments seals their chunks: all of them, or none. None in a list of an
    /// earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<bool>,
    /// Public keys that signed seals of the spool before this one: whoever trusts this key trusts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    at: String,
    key: String,
}

impl OpenList {
    /// Whether the chain had gone on when the newest seal was written: that seal is not of a segment that the
    /// list names.
    pub(crate) fn is_before(&self, newest: u64) -> bool {
        newest >= self.next.saturating_add(self.open.len() as u64)
    }
}

impl SignedList for OpenList {
    fn key(&self) -> &str {
        &self.key
    }
}

/// A list as it lies in a spool.
pub(crate) type OpenListFile = SignedFile<OpenList>;

impl OpenListFile {
    /// Bad if it is the list of another chain, too.
    pub(crate) fn read(
        dir: &Path,
        worker: u16,
        category: Category,
        keys: &[PublicKey],
    ) -> Result<Self, Error> {
        match Self::read_signed(&dir.join(open_list_name(worker, category)), keys)? {
            Self::List(list) if list.chain != chain_name(worker, category) => Ok(Self::Bad(None)),
            read => Ok(read),
        }
    }

    /// The segments that were open when the list was written.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Segment> {
        let names: &[String] = if let Self::List(list) = self { &list.open } else { &[] };
        names.iter().filter_map(|name| name.parse().ok())
    }

    /// Keys that signed seals of the spool before.
    pub(crate) fn before(&self) -> Vec<PublicKey> {
        let Self::List(list) = self else { return Vec::new() };
        list.before.iter().filter_map(|key| key.parse().ok()).collect()
    }

    /// Whether the chunks of the open segments are sealed; None if the list does not say it.
    pub(crate) fn sealed(&self) -> Option<bool> {
        if let Self::List(list) = self { list.sealed } else { None }
    }

    /// Whether the list names the segment, and no seal of its chain was written before the list.
    pub(crate) fn names(&self, segment: &Segment, next: u64) -> bool {
        let Self::List(list) = self else { return false };
        list.next >= next && list.open.iter().any(|open| open == segment.as_str())
    }
}

/// Writes the list of a chain: it is on the disk once this has returned.
#[expect(clippy::too_many_arguments, reason = "the fields of the list, and where it lies")]
pub(crate) fn write(
    dir: &Path,
    worker: u16,
    category: Category,
    open: &[Segment],
    sealed: bool,
    next: u64,
    before: &[PublicKey],
    now: Nanos,
    signer: &Signer,
) -> Result<(), Error> {
    let list = OpenList {
        chain: chain_name(worker, category),
        next,
        open: open.iter().map(ToString::to_string).collect(),
        sealed: Some(sealed),
        before: before.iter().map(ToString::to_string).collect(),
        at: utc(now),
        key: signer.public().to_string(),
    };
    // Serialising numbers and texts cannot fail.
    let json = serde_json::to_string(&list).unwrap_or_default();
    let path = dir.join(open_list_name(worker, category));
    let line = sign::line(Some(signer), &json)?;
    replace(&path, line.as_bytes()).map_err(|error| Error::io(&path, "written", error))
}

/// Whether a file of the spool's directory has the name of such a list.
pub(crate) fn is_open_list(name: &str) -> bool {
    name.strip_suffix(".open").is_some_and(|chain| chain_of(chain).is_some())
}

/// The file with the list of a chain.
pub(crate) fn open_list_name(worker: u16, category: Category) -> String {
    format!("{}.open", chain_name(worker, category))
}

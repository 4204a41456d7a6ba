//! The segments that were there before segments were signed, in a signed line: `unsigned.list`.
//!
//! It is written once, when signing starts. Nothing proves these segments; the list tells them from segments
//! that somebody put into the signed spool later.

use std::collections::BTreeSet;
use std::path::Path;

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::{entry_names, replace};
use crate::layout::{FAR, HELD, TIER};
use crate::segment::listing::segments;
use crate::time::utc;
use crate::trust::head::chain_of_head;
use crate::trust::open_list::is_open_list;
use crate::trust::sign::{self, PublicKey, Signer};
use crate::trust::signed_file::{SignedFile, SignedList};

/// The file in the spool's directory.
pub(crate) const UNSIGNED_LIST: &str = "unsigned.list";

/// The list as it is on the disk.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnsignedList {
    /// Names of segments; those of held copies begin with `held/`.
    unsigned: BTreeSet<String>,
    at: String,
    key: String,
}

impl SignedList for UnsignedList {
    fn key(&self) -> &str {
        &self.key
    }
}

/// The list as it lies in a spool.
pub(crate) type UnsignedListFile = SignedFile<UnsignedList>;

impl UnsignedListFile {
    pub(crate) fn read(dir: &Path, keys: &[PublicKey]) -> Result<Self, Error> {
        Self::read_signed(&dir.join(UNSIGNED_LIST), keys)
    }

    /// The names in it; none if it is missing or bad.
    pub(crate) fn into_names(self) -> BTreeSet<String> {
        match self {
            Self::List(list) => list.unsigned,
            Self::Missing | Self::Bad(_) => BTreeSet::new(),
        }
    }
}

/// Lists what is in the spool, if signing starts now: no segment has a seal, and no chain has begun.
pub(crate) fn begin(dir: &Path, signer: &Signer, now: Nanos) -> Result<(), Error> {
    let names = entry_names(dir).map_err(|error| Error::io(dir, "read", error))?;
    let is_signed =
        |name: &String| name == UNSIGNED_LIST || chain_of_head(name).is_some() || is_open_list(name);
    if names.iter().any(is_signed) {
        return Ok(());
    }
    let dirs = [dir.to_owned(), dir.join(TIER), dir.join(FAR)];
    let found = segments(&dirs)?;
    if found.iter().any(|segment| dirs.iter().any(|dir| segment.seal_path(dir).exists())) {
        return Ok(());
    }
    let held = dir.join(HELD);
    let copies = if held.exists() { segments(&[held])? } else { Vec::new() };
    let copies = copies.iter().map(|copy| format!("{HELD}/{copy}"));
    let unsigned: BTreeSet<String> = found.iter().map(ToString::to_string).chain(copies).collect();
    if unsigned.is_empty() {
        return Ok(());
    }
    let list = UnsignedList { unsigned, at: utc(now), key: signer.public().to_string() };
    // Serialising texts cannot fail.
    let json = serde_json::to_string(&list).unwrap_or_default();
    let path = dir.join(UNSIGNED_LIST);
    let line = sign::line(Some(signer), &json)?;
    replace(&path, line.as_bytes()).map_err(|error| Error::io(&path, "written", error))
}

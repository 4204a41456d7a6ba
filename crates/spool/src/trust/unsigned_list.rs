//! The segments that were there before segments were signed, in a signed line: `unsigned.list`.
//!
//! It is written once, when signing starts. Nothing proves these segments; the list tells them from segments
//! that somebody put into the signed spool later.

use std::collections::BTreeSet;
use std::path::Path;

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::{entry_names, if_present, is_irregular, read_regular, replace};
use crate::layout::{FAR, HELD, TIER};
use crate::segment::listing::segments;
use crate::time::utc;
use crate::trust::head::chain_of_head;
use crate::trust::open_list::is_open_list;
use crate::trust::sign::{self, Line, PublicKey, Signer};

/// The file in the spool's directory.
pub(crate) const UNSIGNED_LIST: &str = "unsigned.list";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnsignedList {
    unsigned: BTreeSet<String>,
    at: String,
    key: String,
}

/// What lies where the list should.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UnsignedListFile {
    Missing,
    /// It is no such list, or none of the keys signed it; the key that did.
    Bad(Option<PublicKey>),
    /// Names of segments; those of held copies begin with `held/`.
    Names(BTreeSet<String>),
}

impl UnsignedListFile {
    pub(crate) fn read(dir: &Path, keys: &[PublicKey]) -> Result<Self, Error> {
        let path = dir.join(UNSIGNED_LIST);
        let bytes = match if_present(read_regular(&path)) {
            Ok(None) => return Ok(Self::Missing),
            Ok(Some(bytes)) => bytes,
            Err(error) if is_irregular(&error) => return Ok(Self::Bad(None)),
            Err(error) => return Err(Error::io(&path, "read", error)),
        };
        let read = || {
            let line = Line::parse(&bytes)?;
            let list: UnsignedList = serde_json::from_str(line.json).ok()?;
            if keys.iter().any(|key| line.is_by(key)) {
                return Some(Self::Names(list.unsigned));
            }
            Some(Self::Bad(list.key.parse().ok().filter(|key| line.is_by(key))))
        };
        Ok(read().unwrap_or(Self::Bad(None)))
    }

    /// The names in it; none if it is missing or bad.
    pub(crate) fn into_names(self) -> BTreeSet<String> {
        match self {
            Self::Names(names) => names,
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

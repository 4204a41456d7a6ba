//! Files that hold one signed line: lists that the writer makes.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::files::{if_present, is_irregular, read_regular};
use crate::trust::sign::{Line, PublicKey};

/// What such a line holds.
pub(crate) trait SignedList: DeserializeOwned {
    /// The public key that it names as its signer's.
    fn key(&self) -> &str;
}

/// What lies where a signed line should.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SignedFile<L> {
    Missing,
    /// It is something else, or none of the keys signed it; the key that did.
    Bad(Option<PublicKey>),
    List(L),
}

impl<L: SignedList> SignedFile<L> {
    /// Reads what one of the keys signed.
    ///
    /// # Errors
    ///
    /// The file is there and cannot be read.
    pub(crate) fn read_signed(path: &Path, keys: &[PublicKey]) -> Result<Self, Error> {
        let bytes = match if_present(read_regular(path)) {
            Ok(None) => return Ok(Self::Missing),
            Ok(Some(bytes)) => bytes,
            Err(error) if is_irregular(&error) => return Ok(Self::Bad(None)),
            Err(error) => return Err(Error::io(path, "read", error)),
        };
        let read = || {
            let line = Line::parse(&bytes)?;
            let list: L = serde_json::from_str(line.json).ok()?;
            if keys.iter().any(|key| line.is_by(key)) {
                return Some(Self::List(list));
            }
            Some(Self::Bad(list.key().parse().ok().filter(|key| line.is_by(key))))
        };
        Ok(read().unwrap_or(Self::Bad(None)))
    }
}

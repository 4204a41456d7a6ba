//! Which segments the writers of a spool vouch for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files::{entry_names, if_present, is_irregular, read_regular};
use crate::layout::HELD;
use crate::segment::name::{Category, Segment};
use crate::trust::head::chain_of_head;
use crate::trust::open_list::OpenListFile;
use crate::trust::seal::Seal;
use crate::trust::sign::PublicKey;

/// The keys that signed the heads of a spool's chains, and how far these are. In a spool without chains every
/// segment counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provenance {
    dir: PathBuf,
    signers: Vec<PublicKey>,
    /// Numbers of the next seals.
    next: BTreeMap<(u16, Category), u64>,
}

impl Provenance {
    /// Of the spool in that directory.
    pub(crate) fn of(dir: &Path) -> Result<Self, Error> {
        let names = entry_names(dir).map_err(|error| Error::io(dir, "read", error))?;
        let mut provenance = Self { dir: dir.to_owned(), ..Self::default() };
        for name in &names {
            let Some(chain) = chain_of_head(name) else { continue };
            // A head that cannot be read proves nothing; `verify` names it.
            let bytes = read_regular(&dir.join(name)).unwrap_or_default();
            let Some((seal, line)) = Seal::parse(&bytes) else { continue };
            let Some(key) = seal.public().filter(|key| line.is_by(key)) else { continue };
            provenance.signers.push(key);
            provenance.next.insert(chain, seal.number.saturating_add(1));
        }
        provenance.signers.sort_unstable();
        provenance.signers.dedup();
        Ok(provenance)
    }

    /// Whether the segment in that directory has a seal, or is being written. Not whether it is as it was
    /// sealed.
    pub(crate) fn vouches_for(&self, dir: &Path, segment: &Segment) -> Result<bool, Error> {
        if self.signers.is_empty() || self.has_seal(dir, segment)? {
            return Ok(true);
        }
        let Some((worker, _)) = segment.origin().filter(|_| dir == self.dir) else { return Ok(false) };
        let chain = (worker, segment.category());
        let list = OpenListFile::read(&self.dir, chain.0, chain.1, &self.signers)?;
        // It may have been sealed, and the list written anew, between the two looks.
        Ok(list.names(segment, self.next.get(&chain).copied().unwrap_or(0)) || self.has_seal(dir, segment)?)
    }

    fn has_seal(&self, dir: &Path, segment: &Segment) -> Result<bool, Error> {
        Ok(self.seal_of(dir, segment)?.is_some())
    }

    /// The seal of the segment in that directory, if a key signed it; None in a spool without chains.
    pub(crate) fn seal_of(&self, dir: &Path, segment: &Segment) -> Result<Option<Seal>, Error> {
        if self.signers.is_empty() {
            return Ok(None);
        }
        let path = segment.seal_path(dir);
        let bytes = match if_present(read_regular(&path)) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) if is_irregular(&error) => return Ok(None),
            Err(error) => return Err(Error::io(&path, "read", error)),
        };
        let Some((seal, line)) = Seal::parse(&bytes) else { return Ok(None) };
        let name =
            seal.segment.strip_prefix(HELD).map_or(&*seal.segment, |rest| rest.trim_start_matches('/'));
        // Any key: the signing key may have been changed since. Only `verify --key` tells whose it is.
        let is_signed = name == segment.as_str() && seal.public().is_some_and(|key| line.is_by(&key));
        Ok(is_signed.then_some(seal))
    }
}

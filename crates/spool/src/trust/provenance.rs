//! Which segments the writers of a spool vouch for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files::{entry_names, if_present, is_irregular, read_regular};
use crate::layout::{FAR, HELD, TIER};
use crate::segment::index::IndexRow;
use crate::segment::listing::segments;
use crate::segment::name::{Category, Segment};
use crate::trust::head::chain_of_head;
use crate::trust::open_list::OpenListFile;
use crate::trust::open_segment::must_be_sealed;
use crate::trust::seal::Seal;
use crate::trust::sign::PublicKey;
use crate::trust::unsigned_list::UnsignedListFile;

/// Who signed the segments of a spool, and how far its chains are. In a spool without seals every segment
/// counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provenance {
    dir: PathBuf,
    /// The keys that count: those that were given; else those that signed heads, and keys that these name as
    /// earlier ones.
    signers: Vec<PublicKey>,
    /// The keys that signed heads.
    pub(crate) of_heads: Vec<PublicKey>,
    /// Numbers of the next seals.
    next: BTreeMap<(u16, Category), u64>,
    /// Segments that were there before segments were signed.
    unsigned: BTreeSet<String>,
}

/// What is known of a segment's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A writer of the spool wrote it, or is writing it; or nothing in the spool is signed.
    Own,
    /// It was there before segments were signed.
    Unproven,
    /// Somebody put it there.
    Foreign,
}

impl Provenance {
    /// Of the spool in that directory. If no key is given, those count that the spool itself names.
    pub(crate) fn of(dir: &Path, given: &[PublicKey]) -> Result<Self, Error> {
        let names = entry_names(dir).map_err(|error| Error::io(dir, "read", error))?;
        let mut provenance = Self { dir: dir.to_owned(), ..Self::default() };
        let mut heads = Vec::new();
        for name in &names {
            let Some(chain) = chain_of_head(name) else { continue };
            // A head that cannot be read proves nothing; `verify` names it.
            let bytes = read_regular(&dir.join(name)).unwrap_or_default();
            if let Some((key, seal)) = self_signed(&bytes) {
                heads.push((chain, key, seal.number));
                provenance.of_heads.push(key);
            }
        }
        provenance.of_heads.sort_unstable();
        provenance.of_heads.dedup();
        provenance.signers = match (given, &*provenance.of_heads) {
            ([], []) => a_signer(dir)?.into_iter().collect(),
            ([], of_heads) => of_heads.to_vec(),
            (given, _) => given.to_vec(),
        };
        for (chain, key, number) in &heads {
            if provenance.signers.contains(key) {
                provenance.next.insert(*chain, number.saturating_add(1));
            }
            if given.is_empty() {
                let list = OpenListFile::read(dir, chain.0, chain.1, &[*key])?;
                provenance.signers.extend(list.before());
            }
        }
        provenance.unsigned = UnsignedListFile::read(dir, &provenance.signers)?.into_names();
        Ok(provenance)
    }

    /// Whether a key signs the segments of the spool.
    pub(crate) fn is_signed(&self) -> bool {
        !self.signers.is_empty()
    }

    /// Whether the segment in that directory has a seal, or is being written. Not whether it is as it was
    /// sealed.
    pub(crate) fn origin(&self, dir: &Path, segment: &Segment) -> Result<Origin, Error> {
        if self.signers.is_empty() || self.has_seal(dir, segment)? {
            return Ok(Origin::Own);
        }
        let name = match dir == self.dir.join(HELD) {
            true => format!("{HELD}/{segment}"),
            false => segment.to_string(),
        };
        if self.unsigned.contains(&name) {
            return Ok(Origin::Unproven);
        }
        let Some((worker, _)) = segment.origin().filter(|_| dir == self.dir) else {
            return Ok(Origin::Foreign);
        };
        let chain = (worker, segment.category());
        let list = OpenListFile::read(&self.dir, chain.0, chain.1, &self.signers)?;
        // It may have been sealed, and the list written anew, between the two looks.
        let is_own = list.names(segment, self.next.get(&chain).copied().unwrap_or(0))
            || self.has_seal(dir, segment)?;
        Ok(if is_own { Origin::Own } else { Origin::Foreign })
    }

    /// Leaves out chunks of an open segment that are not sealed, though they must be. Whether there were any.
    pub(crate) fn leave_out_plain(
        &self,
        dir: &Path,
        segment: &Segment,
        rows: &mut Vec<IndexRow>,
    ) -> Result<bool, Error> {
        let all = rows.len();
        if must_be_sealed(self.seals_chunks_of(dir, segment)?, dir, segment, rows) {
            rows.retain(|row| row.chunk.is_sealed());
        }
        Ok(rows.len() < all)
    }

    /// What the list of open segments says of the chunks of this one: whether they are sealed. None if the
    /// list does not name it.
    fn seals_chunks_of(&self, dir: &Path, segment: &Segment) -> Result<Option<bool>, Error> {
        let Some((worker, _)) = segment.origin().filter(|_| dir == self.dir) else { return Ok(None) };
        let list = OpenListFile::read(dir, worker, segment.category(), &self.signers)?;
        let next = self.next.get(&(worker, segment.category())).copied().unwrap_or(0);
        Ok(list.sealed().filter(|_| list.names(segment, next)))
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
        let is_signed = name == segment.as_str() && self.signers.iter().any(|key| line.is_by(key));
        Ok(is_signed.then_some(seal))
    }
}

/// A seal, and the key that it names, if that key signed it.
fn self_signed(bytes: &[u8]) -> Option<(PublicKey, Seal)> {
    let (seal, line) = Seal::parse(bytes)?;
    let key = seal.public().filter(|key| line.is_by(key))?;
    Some((key, seal))
}

/// The key that signed most of the first segments, if there are no heads: whoever removes the heads does not
/// make a signed spool an unsigned one.
fn a_signer(dir: &Path) -> Result<Option<PublicKey>, Error> {
    let dirs = [dir.to_owned(), dir.join(TIER), dir.join(FAR)];
    let mut signers: BTreeMap<PublicKey, usize> = BTreeMap::new();
    let found = segments(&dirs)?;
    let paths = found.iter().flat_map(|segment| dirs.iter().map(|dir| segment.seal_path(dir)));
    let keys = paths.filter_map(|path| Some(self_signed(&read_regular(&path).ok()?)?.0));
    for key in keys.take(FEW) {
        *signers.entry(key).or_default() += 1;
    }
    Ok(signers.into_iter().max_by_key(|(_, seals)| *seals).map(|(key, _)| key))
}

/// So many seals show who signs.
const FEW: usize = 50;

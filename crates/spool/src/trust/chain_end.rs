//! Where a chain ends: its newest seal by a key that counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files::{if_present, is_irregular, read_regular};
use crate::hex::{hex, sha256_hex};
use crate::trust::head::KnownHead;
use crate::trust::seal::Seal;
use crate::trust::sign::PublicKey;
use crate::trust::verify::report::Fault;

/// Which seals count.
pub(crate) struct TrustedSeals<'a> {
    pub(crate) keys: &'a [PublicKey],
    /// What another place remembers of the chain: its seal counts, whoever signed it.
    pub(crate) known: Option<&'a KnownHead>,
    /// Every seal counts that the key signed which it names.
    pub(crate) all: bool,
}

/// The end of a chain, as far as seals show it.
pub(crate) struct ChainEnd {
    /// Number of the next seal.
    pub(crate) next: u64,
    /// SHA-256 of the newest one; 64 zeros before the first.
    pub(crate) hash: String,
    /// Who signed it; None before the first.
    pub(crate) signer: Option<PublicKey>,
    /// The newest seal itself.
    pub(crate) bytes: Vec<u8>,
    /// Hashes by number.
    seals: BTreeMap<u64, String>,
}

impl ChainEnd {
    /// Reads these seals; one that does not exist, or does not count, is passed over.
    pub(crate) fn of(paths: &[PathBuf], trusted: &TrustedSeals<'_>) -> Result<Self, Error> {
        let mut end =
            Self { next: 0, hash: hex(&[0; 32]), signer: None, bytes: Vec::new(), seals: BTreeMap::new() };
        paths.iter().try_for_each(|path| end.look(path, trusted))?;
        Ok(end)
    }

    fn look(&mut self, path: &Path, trusted: &TrustedSeals<'_>) -> Result<(), Error> {
        let bytes = match if_present(read_regular(path)) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) if is_irregular(&error) => return Ok(()),
            Err(error) => return Err(Error::io(path, "read", error)),
        };
        let Some((seal, line)) = Seal::parse(&bytes) else { return Ok(()) };
        let hash = sha256_hex(&bytes);
        let own = trusted.keys.iter().find(|key| line.is_by(key)).copied();
        let named = || seal.public().filter(|key| line.is_by(key));
        let remembered = trusted.all || trusted.known.is_some_and(|known| hex(&known.sha256) == hash);
        let Some(signer) = own.or_else(|| named().filter(|_| remembered)) else { return Ok(()) };
        self.seals.insert(seal.number, hash.clone());
        if seal.number >= self.next {
            (self.next, self.hash, self.signer) = (seal.number.saturating_add(1), hash, Some(signer));
            self.bytes = bytes;
        }
        Ok(())
    }

    /// Whether that file is one of the seals that were counted.
    pub(crate) fn is_among(&self, path: &Path) -> bool {
        read_regular(path).is_ok_and(|bytes| self.seals.values().any(|hash| *hash == sha256_hex(&bytes)))
    }

    /// How the chain differs from what another place remembers of it. After a loss it goes on behind the seal
    /// that was lost: no number is given twice, and `verify` finds the gap.
    pub(crate) fn compare(&mut self, known: &KnownHead) -> Option<Fault> {
        let hash = hex(&known.sha256);
        if known.number >= self.next {
            let newest = self.next.checked_sub(1);
            (self.next, self.hash) = (known.number.saturating_add(1), hash);
            return Some(Fault::CutBack { newest, number: known.number });
        }
        let other = self.seals.get(&known.number).is_some_and(|found| *found != hash);
        other.then_some(Fault::OtherSeal(known.number))
    }
}

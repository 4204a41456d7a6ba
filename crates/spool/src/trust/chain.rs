//! The chain of seals that a writer goes on with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;
use crate::files::{read_regular, remove_if_present, replace};
use crate::hex::{hex, sha256_hex, unhex};
use crate::segment::listing::segments;
use crate::segment::name::{Category, Segment};
use crate::time::utc;
use crate::trust::chain_end::{ChainEnd, TrustedSeals};
use crate::trust::head::{KnownHead, head_name};
use crate::trust::master_key::MasterKey;
use crate::trust::open_list::{self, OpenListFile};
use crate::trust::recovery::{foreign_chunks, quarantine, recovered, set_aside};
use crate::trust::seal::{Content, Seal, now};
use crate::trust::sign::{self, PublicKey, Signer};
use crate::trust::unsigned_list::UnsignedListFile;
use crate::trust::verify::report::{Fault, Finding};

/// What other places remember of a spool's chains.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Remembered<'a> {
    /// The newest seals.
    pub(crate) heads: &'a [KnownHead],
    /// The keys that signed.
    pub(crate) signers: &'a [PublicKey],
}

/// The end of the chain of a worker and a category.
pub(crate) struct Chain {
    dir: PathBuf,
    head: PathBuf,
    signer: Arc<Signer>,
    worker: u16,
    category: Category,
    /// Chunks are sealed.
    sealed: bool,
    /// Number of the next seal.
    number: u64,
    previous: String,
    /// Keys that signed seals before.
    before: Vec<PublicKey>,
    /// Segments without a seal that are being written, or could not be sealed.
    open: Vec<Segment>,
    /// Segments that the next writer found, of which not all was written by a writer of this spool.
    pub(crate) quarantined: Vec<Segment>,
    /// How the chain on the disk differed from what is remembered of it.
    pub(crate) findings: Vec<Finding>,
}

impl Chain {
    /// Resumes the chain on the disk, and seals the segments that its last writer left open: their authentic
    /// chunks. Any other segment without a seal is moved to quarantine: a seal would make it evidence.
    pub(crate) fn resume(
        dir: &Path,
        worker: u16,
        category: Category,
        signer: Arc<Signer>,
        master: Option<&MasterKey>,
        remembered: Remembered<'_>,
    ) -> Result<Self, Error> {
        let mut chain = Self {
            dir: dir.to_owned(),
            head: dir.join(head_name(worker, category)),
            signer,
            worker,
            category,
            sealed: master.is_some(),
            number: 0,
            previous: hex(&[0; 32]),
            before: Vec::new(),
            open: Vec::new(),
            quarantined: Vec::new(),
            findings: Vec::new(),
        };
        let mut segments = segments(std::slice::from_ref(&chain.dir))?;
        segments.retain(|segment| {
            segment.category() == category && segment.origin().is_some_and(|(by, _)| by == worker)
        });
        let (mut closed, mut unsealed, mut sealed) = (Vec::new(), Vec::new(), Vec::new());
        for segment in segments {
            match segment.seal_path(dir).exists() {
                true => sealed.push(segment),
                // Older than every seal: perhaps written before signing was turned on. Then it stays as it
                // is, and nothing proves it.
                false if sealed.is_empty() && segment.index_path(dir).exists() => closed.push(segment),
                false => unsealed.push(segment),
            }
        }
        let seals: Vec<PathBuf> = sealed.iter().map(|segment| segment.seal_path(dir)).collect();
        let list = chain.find_end(seals, remembered)?;
        if chain.number == 0 && list == OpenListFile::Missing {
            // Segments written before signing was turned on stay as they are: nothing proves them.
            return Ok(chain);
        }
        // A seal that was put beside a segment which is open does not keep it from being sealed.
        let next = chain.number;
        // A power cut may have come between the index of the first segment and its seal.
        unsealed.extend(closed.into_iter().filter(|segment| list.names(segment, next)));
        let is_open = |segment: &Segment| list.names(segment, next) && !chain.is_sealed(segment);
        let badly_sealed: Vec<Segment> = sealed.into_iter().filter(is_open).collect();
        // It is replaced: after that, `verify` cannot name it any more.
        let bad = |segment: &Segment| Finding { place: segment.to_string(), fault: Fault::Seal };
        chain.findings.extend(badly_sealed.iter().map(bad));
        unsealed.extend(badly_sealed);
        let unsigned = UnsignedListFile::read(dir, &[&[chain.signer.public()], &*chain.before].concat())?;
        let unsigned = unsigned.into_names();
        for segment in unsealed.into_iter().filter(|segment| !unsigned.contains(segment.as_str())) {
            match list.names(&segment, next) {
                true => chain.recover(&segment, list.sealed(), master)?,
                false => {
                    quarantine(dir, &segment)?;
                    chain.quarantined.push(segment);
                }
            }
        }
        // A power cut may leave the keys of a segment that is not there itself.
        let is_gone = |segment: &Segment| {
            list.names(segment, next) && !segment.path(dir).exists() && !segment.seal_path(dir).exists()
        };
        for segment in list.segments().filter(is_gone) {
            for path in [segment.keys_path(dir), segment.index_path(dir)] {
                remove_if_present(&path).map_err(|error| Error::io(&path, "deleted", error))?;
            }
        }
        Ok(chain)
    }

    /// Finds the newest seal by a key of this spool, and compares it with what is remembered. Returns the
    /// list of open segments.
    fn find_end(
        &mut self,
        mut seals: Vec<PathBuf>,
        remembered: Remembered<'_>,
    ) -> Result<OpenListFile, Error> {
        let own = self.signer.public();
        let mut keys = vec![own];
        keys.extend(remembered.signers);
        let list = |keys: &[PublicKey]| OpenListFile::read(&self.dir, self.worker, self.category, keys);
        keys.extend(list(&keys)?.before());
        let chain = (self.worker, self.category);
        let known = remembered.heads.iter().find(|head| (head.worker, head.category) == chain);
        seals.push(self.head.clone());
        // The newest seal is among the last ones: names are in order of the first packet, which is nearly the
        // order of closing.
        let last = seals.len().saturating_sub(NEWEST);
        let look = |keys: &[PublicKey], all| {
            let trusted = TrustedSeals { keys, known, all };
            match ChainEnd::of(&seals[last..], &trusted)? {
                end if end.signer.is_none() => ChainEnd::of(&seals, &trusted),
                end => Ok(end),
            }
        };
        let name = head_name(self.worker, self.category);
        let mut end = look(&keys, false)?;
        if end.signer.is_none() && known.is_none() {
            // Nothing here is by a known key, and nobody remembers the chain: perhaps the first start with
            // another key.
            end = look(&keys, true)?;
            self.findings
                .extend(end.signer.map(|key| Finding { place: name.clone(), fault: Fault::Key(key) }));
        }
        if let Some(key) = end.signer.filter(|key| !keys.contains(key)) {
            keys.push(key);
            end = look(&keys, false)?;
        }
        let list = list(&keys)?;
        if end.next == 1 && !self.head.exists() {
            // A power cut came between the first seal and the head. Later there is at least an older head.
            replace(&self.head, &end.bytes).map_err(|error| Error::io(&self.head, "written", error))?;
        }
        if self.head.symlink_metadata().is_ok() && !end.is_among(&self.head) {
            // It is replaced with the next seal. No kill leaves half of one.
            self.findings.push(Finding { place: name.clone(), fault: Fault::Seal });
        }
        let fault = known.and_then(|known| end.compare(known));
        self.findings.extend(fault.map(|fault| Finding { place: name, fault }));
        (self.number, self.previous) = (end.next, end.hash);
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| *key != own);
        self.before = keys;
        Ok(list)
    }

    /// Whether a segment has a seal by a key of this spool.
    fn is_sealed(&self, segment: &Segment) -> bool {
        let bytes = read_regular(&segment.seal_path(&self.dir)).unwrap_or_default();
        let keys = std::iter::once(self.signer.public()).chain(self.before.iter().copied());
        Seal::parse(&bytes).is_some_and(|(seal, line)| {
            seal.segment == segment.as_str() && keys.into_iter().any(|key| line.is_by(&key))
        })
    }

    /// Seals a segment that a writer of this spool left open. Chunks that it did not write go to quarantine.
    fn recover(
        &mut self,
        segment: &Segment,
        sealed: Option<bool>,
        master: Option<&MasterKey>,
    ) -> Result<(), Error> {
        let foreign = foreign_chunks(&self.dir, segment, sealed, master)?;
        if !foreign.is_empty() {
            set_aside(&self.dir, segment, &foreign)?;
            self.quarantined.push(segment.clone());
        }
        let mut content = recovered(&self.dir, segment)?;
        if !foreign.is_empty() {
            let chunks = foreign.len();
            content.damages.insert(0, format!("{chunks} chunks that were not sealed here are in quarantine"));
        }
        self.seal(segment, content)
    }

    /// Puts a segment on the signed list of open ones, before it is created.
    pub(crate) fn open(&mut self, segment: &Segment) -> Result<(), Error> {
        self.open.push(segment.clone());
        let Self { dir, worker, category, open, sealed, number, before, signer, .. } = self;
        open_list::write(dir, *worker, *category, open, *sealed, *number, before, now(), signer)
    }

    /// The newest seal; None before the first.
    pub(crate) fn head(&self) -> Option<KnownHead> {
        let number = self.number.checked_sub(1)?;
        let sha256 = unhex(&self.previous)?;
        Some(KnownHead { worker: self.worker, category: self.category, number, sha256 })
    }

    /// Writes the seal of a segment whose files are on the disk.
    pub(crate) fn seal(&mut self, segment: &Segment, content: Content) -> Result<(), Error> {
        let Content { state, bytes, blake3, chunks, index, keys, damages } = content;
        let seal = Seal {
            segment: segment.to_string(),
            number: self.number,
            state,
            bytes,
            chunks,
            blake3: Some(hex(&blake3)),
            sha256: None,
            index,
            keys,
            damages,
            previous: self.previous.clone(),
            at: utc(now()),
            key: self.signer.public().to_string(),
        };
        // Serialising numbers and texts cannot fail.
        let json = serde_json::to_string(&seal).unwrap_or_default();
        let line = sign::line(Some(&self.signer), &json)?;
        let path = segment.seal_path(&self.dir);
        replace(&path, line.as_bytes()).map_err(|error| Error::io(&path, "written", error))?;
        // The list on the disk names it until the next one is opened; with its seal that does no harm.
        self.open.retain(|open| open != segment);
        (self.number, self.previous) = (self.number.saturating_add(1), sha256_hex(line.as_bytes()));
        replace(&self.head, line.as_bytes()).map_err(|error| Error::io(&self.head, "written", error))
    }
}

/// The newest seal is among so many.
const NEWEST: usize = 50;

//! The chain of seals that a writer goes on with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;
use crate::files::{if_present, read_regular, remove_if_present, replace};
use crate::hex::{hex, sha256_hex, unhex};
use crate::segment::listing::segments;
use crate::segment::name::{Category, Segment};
use crate::time::utc;
use crate::trust::head::{KnownHead, head_name};
use crate::trust::master_key::MasterKey;
use crate::trust::open_list::{self, OpenListFile};
use crate::trust::recovery::{is_authentic, quarantine, recovered};
use crate::trust::seal::{Content, Seal, now};
use crate::trust::sign::{self, Signer};

/// The end of the chain of a worker and a category.
pub(crate) struct Chain {
    dir: PathBuf,
    head: PathBuf,
    signer: Arc<Signer>,
    worker: u16,
    category: Category,
    /// Number of the next seal.
    number: u64,
    previous: String,
    /// Segments without a seal that are being written, or could not be sealed.
    open: Vec<Segment>,
    /// Segments that the next writer found, and that no writer of this spool has begun.
    pub(crate) quarantined: Vec<Segment>,
}

impl Chain {
    /// Resumes the chain on the disk, and seals the segments that its last writer left open. Any other
    /// segment without a seal is moved to quarantine: a seal would make it evidence.
    pub(crate) fn resume(
        dir: &Path,
        worker: u16,
        category: Category,
        signer: Arc<Signer>,
        master: Option<&MasterKey>,
    ) -> Result<Self, Error> {
        let head = dir.join(head_name(worker, category));
        let mut chain = Self {
            dir: dir.to_owned(),
            head,
            signer,
            worker,
            category,
            number: 0,
            previous: hex(&[0; 32]),
            open: Vec::new(),
            quarantined: Vec::new(),
        };
        let mut segments = segments(std::slice::from_ref(&chain.dir))?;
        segments.retain(|segment| {
            segment.category() == category && segment.origin().is_some_and(|(by, _)| by == worker)
        });
        let (mut closed, mut unsealed, mut sealed) = (Vec::new(), Vec::new(), Vec::new());
        for segment in segments {
            let path = segment.seal_path(dir);
            match path.exists() {
                true => sealed.push(path),
                // Older than every seal: perhaps written before signing was turned on. Then it stays as it
                // is, and nothing proves it.
                false if sealed.is_empty() && segment.index_path(dir).exists() => closed.push(segment),
                false => unsealed.push(segment),
            }
        }
        // The newest seal is among the last ones: names are in order of the first packet, which is nearly the
        // order of closing.
        sealed.push(chain.head.clone());
        let last = sealed.len().saturating_sub(NEWEST);
        for path in &sealed[last..] {
            chain.look(path)?;
        }
        if chain.number == 0 {
            sealed.iter().try_for_each(|path| chain.look(path))?;
        }
        chain.restore_head(&sealed)?;
        let list = OpenListFile::read(dir, worker, category, &[chain.signer.public()])?;
        if chain.number == 0 && list == OpenListFile::Missing {
            // Segments written before signing was turned on stay as they are: nothing proves them.
            return Ok(chain);
        }
        let next = chain.number;
        // A power cut may have come between the index of the first segment and its seal.
        unsealed.extend(closed.into_iter().filter(|segment| list.names(segment, next)));
        for segment in unsealed {
            if list.names(&segment, next) && is_authentic(dir, &segment, master)? {
                let content = recovered(dir, &segment)?;
                chain.seal(&segment, content)?;
            } else {
                quarantine(dir, &segment)?;
                chain.quarantined.push(segment);
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

    /// Puts a segment on the signed list of open ones, before it is created.
    pub(crate) fn open(&mut self, segment: &Segment) -> Result<(), Error> {
        self.open.push(segment.clone());
        let Self { dir, worker, category, open, number, signer, .. } = self;
        open_list::write(dir, *worker, *category, open, *number, now(), signer)
    }

    /// The newest seal; None before the first.
    pub(crate) fn head(&self) -> Option<KnownHead> {
        let number = self.number.checked_sub(1)?;
        let sha256 = unhex(&self.previous)?;
        Some(KnownHead { worker: self.worker, category: self.category, number, sha256 })
    }

    /// Writes the head if it is missing after the first seal: a power cut may have come between the two.
    /// Later there is at least an older head.
    fn restore_head(&self, sealed: &[PathBuf]) -> Result<(), Error> {
        if self.number != 1 || self.head.exists() {
            return Ok(());
        }
        for path in sealed {
            let bytes = if_present(read_regular(path)).map_err(|error| Error::io(path, "read", error))?;
            if let Some(bytes) = bytes.filter(|bytes| sha256_hex(bytes) == self.previous) {
                return replace(&self.head, &bytes).map_err(|error| Error::io(&self.head, "written", error));
            }
        }
        Ok(())
    }

    /// The chain goes on from the newest seal.
    fn look(&mut self, path: &Path) -> Result<(), Error> {
        let bytes = if_present(read_regular(path)).map_err(|error| Error::io(path, "read", error))?;
        let bytes = bytes.unwrap_or_default();
        if let Some((seal, _)) = Seal::parse(&bytes).filter(|(seal, _)| seal.number >= self.number) {
            (self.number, self.previous) = (seal.number.saturating_add(1), sha256_hex(&bytes));
        }
        Ok(())
    }

    /// Writes the seal of a segment whose files are on the disk.
    pub(crate) fn seal(&mut self, segment: &Segment, content: Content) -> Result<(), Error> {
        let Content { state, bytes, sha256, chunks, index, keys, damages } = content;
        let seal = Seal {
            segment: segment.to_string(),
            number: self.number,
            state,
            bytes,
            chunks,
            sha256: hex(&sha256),
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

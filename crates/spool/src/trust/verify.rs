//! Whether a spool is as it was written: nothing changed, cut out, put in, reordered.
//!
//! What signatures prove: every segment that the chain of seals holds is there, byte for byte, under its own name, or was deleted by
//! an order that is in the log. What they cannot prove: the newest segments, which no seal follows yet (the head of the chain
//! beside them shows that they are missing, but whoever removes them can put an older head back); what whoever has the signing key
//! wrote anew. Note the heads that [`Verified`] tells elsewhere, and a later run proves that nothing before them has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Refusal};
use crate::far::storage::{self as far, Far, FarSegment, Stub};
use crate::files::if_present;
use crate::hex::{hex, sha256_hex};
use crate::layout::{FAR, HELD, TIER};
use crate::segment::bytes::SegmentBytes;
use crate::segment::index::Index;
use crate::segment::mark;
use crate::segment::name::{Category, Segment};
use crate::segment::scan::{Damage, Flaw, Scan, scan_bytes, scan_file};
use crate::trust::deletion_entry::{Deleted, SealOf};
use crate::trust::deletion_log::{Log, LogFlaw};
use crate::trust::keys::{KeyRow, ROW, proof};
use crate::trust::seal::{self, Seal, State, head_name};
use crate::trust::sign::PublicKey;

/// What is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The seal cannot be read, or its signature is not of its text.
    #[error("its seal was changed")]
    Seal,
    /// A held copy where segments are signed.
    #[error(
        "the copy has no seal: the seal was removed, or the copy was put in; a running ringtap seals what it copies"
    )]
    UnsealedCopy,
    /// Somebody else signed.
    #[error("its seal is signed by another key, {0}")]
    Key(PublicKey),
    /// Two segments were swapped, or one was renamed or copied.
    #[error("its seal is that of `{0}`: it was renamed, or put in another's place")]
    Misplaced(String),
    /// Between others that have one.
    #[error("it has no seal, though older segments have: the seal was removed, or the segment was put in")]
    Unsealed,
    /// The seal alone is there.
    #[error("the segment is gone, and no order to delete it is in the log; its seal is there")]
    Gone,
    /// The chain has a gap before this segment.
    #[error("{} missing before it (seals {from} to {to} of the chain), and no order to delete them is in the log", count((*.to - *.from).saturating_add(1)))]
    CutOut {
        /// Number of the first seal that is missing.
        from: u64,
        /// Number of the last.
        to: u64,
    },
    /// The chain has other seals than it had.
    #[error("its seal does not follow the one before it: seals were written anew")]
    Chain,
    /// The far place has no such segment.
    #[error("it should lie far, and is not there")]
    NotFar,
    /// Too short or too long.
    #[error("it has {found} bytes, and was sealed with {sealed}")]
    Length {
        /// As sealed.
        sealed: u64,
        /// As found.
        found: u64,
    },
    /// At a place.
    #[error("{0}")]
    Changed(Damage),
    /// Not in a chunk, or with a new checksum.
    #[error(
        "it is not what was sealed, though every chunk has its checksum: headers or padding were changed, or whole chunks replaced"
    )]
    Rewritten,
    /// A chunk was erased, and nobody ordered it.
    #[error("the chunk at byte {0} was erased, and no order to is in the log")]
    Erased(u64),
    /// The index is not there.
    #[error("its index is gone")]
    NoIndex,
    /// The index is another.
    #[error("its index was changed{}", .0.map(|page| format!(", in the 4 KiB from byte {}", page * 4096)).unwrap_or_default())]
    Index(Option<u64>),
    /// The index names chunks that are not there, or not those that are.
    #[error("its index names other chunks than it has")]
    OtherIndex,
    /// The keys are not there.
    #[error("its keys are gone")]
    NoKeys,
    /// A row of the key file.
    #[error("its keys were changed, in the 96 bytes from byte {}", .0 * 96)]
    KeyRow(u64),
    /// The keys are others.
    #[error("its keys are not those that were sealed")]
    OtherKeys,
    /// A key was forgotten, and nobody ordered it.
    #[error("key {0} was forgotten, and no order to is in the log")]
    Forgotten(u64),
    /// The log of deletions.
    #[error("line {0} {1}")]
    Log(usize, LogFlaw),
}

fn count(segments: u64) -> String {
    if segments == 1 { "a segment is".to_owned() } else { format!("{segments} segments are") }
}

/// A fault and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The segment, or another file of the spool.
    pub place: String,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.fault)
    }
}

/// Where a chain ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whose.
    pub worker: u16,
    /// See `worker`.
    pub category: Category,
    /// The newest segment that is sealed, the number of its seal and the seal's SHA-256.
    pub segment: String,
    /// See `segment`.
    pub number: u64,
    /// See `segment`.
    pub sha256: String,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// What is not as it was written: segments in order of time, then the log.
    pub findings: Vec<Finding>,
    /// Segments that are there.
    pub segments: u64,
    /// Bytes of them that were read.
    pub bytes: u64,
    /// Of the segments: those that lie far.
    pub far: u64,
    /// Of the segments that lie far: those that were left out.
    pub left_out: u64,
    /// Of the segments: those that a seal proves.
    pub proven: u64,
    /// Of the segments: those that have a seal, and of which chunks were erased by order: of the rest, checksums alone tell.
    pub altered: u64,
    /// Of the segments: those without a seal. Checksums alone tell that they are whole.
    pub unsigned: u64,
    /// Of the segments: those that are still written, or whose writer was stopped.
    pub open: Vec<(Segment, u64)>,
    /// Of the segments: those sealed by a later writer, since their own was stopped.
    pub recovered: u64,
    /// Held copies, and those of them that a seal proves.
    pub held: u64,
    /// See `held`.
    pub held_proven: u64,
    /// Segments that were deleted by order.
    pub deleted: u64,
    /// Chunks erased, and keys forgotten, by order.
    pub erased: u64,
    /// See `erased`.
    pub forgotten: u64,
    /// Who signed most seals.
    pub key: Option<PublicKey>,
    /// Where the chains end.
    pub heads: Vec<Head>,
}

/// How to look.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Who may have signed. Empty: whoever signed most seals, and nobody else.
    pub keys: Vec<PublicKey>,
    /// Leaves the segments unread: their seals, indexes, keys and lengths alone.
    pub quick: bool,
    /// Leaves segments that lie far out: of those, what is here is looked at alone.
    pub near: bool,
    /// Where segments lie that are far.
    pub far: Option<Arc<dyn Far>>,
}

/// A segment's name, and what there is of it.
struct Known {
    segment: Segment,
    /// None where the seal alone is there.
    dir: Option<PathBuf>,
    /// As it lies on the disk.
    seal: Option<Vec<u8>>,
    length: u64,
    indexed: bool,
    /// It lies far: `dir` has what is known of it here.
    far: bool,
}

/// Looks at a spool: its directory, its tier, what is held in it, and further directories of its segments. Tells of bytes done
/// and in all. Segments that lie far are read there. What is held is copies of chunks: each has a seal of its own where segments are signed, in no chain, so that a copy which is gone
/// is not missed.
///
/// # Errors
///
/// A file that cannot be read. What is not as it should be is no error, but in the [`Verified`].
pub fn verify(dirs: &[&Path], look: &Look, told: &mut dyn FnMut(u64, u64)) -> Result<Verified, Error> {
    let Some(root) = dirs.first() else { return Ok(Verified::default()) };
    let (tier, far) = (root.join(TIER), root.join(FAR));
    let dirs: Vec<&Path> = [*root, &tier, &far].into_iter().chain(dirs[1..].iter().copied()).collect();
    let known = known(&dirs)?;
    let held = root.join(HELD);
    let copies = if held.exists() { self::known(&[&held])? } else { Vec::new() };
    let read = known.iter().chain(&copies).filter(|known| !(look.quick || known.far && look.near));
    let total = read.map(|known| known.length).sum();
    let mut signers: BTreeMap<PublicKey, u64> = BTreeMap::new();
    for key in known.iter().filter_map(|known| signer(known.seal.as_deref()?)) {
        *signers.entry(key).or_default() += 1;
    }
    let key = signers.into_iter().max_by_key(|(_, seals)| *seals).map(|(key, _)| key);
    let keys = match (&look.keys[..], key) {
        ([], Some(key)) => vec![key],
        (keys, _) => keys.to_vec(),
    };
    // Where nothing is signed, nothing is expected of the log either.
    let signed = key.is_some() || !look.keys.is_empty();
    let log = Log::read(root, if signed { &keys } else { &[] })?;
    let mut verifier = Verifier {
        look,
        keys,
        log: &log,
        signed,
        copies: false,
        verdict: Verified { key, ..Verified::default() },
        done: 0,
        total,
        told,
    };
    let (chains, faults) = verifier.chains(root, &known)?;
    for known in &known {
        let before = verifier.verdict.findings.len();
        for (_, fault) in faults.iter().filter(|(segment, _)| *segment == known.segment.as_str()) {
            verifier.find(known.segment.as_str(), fault.clone());
        }
        verifier.segment(known, &chains, before)?;
    }
    verifier.copies = true;
    copies.iter().try_for_each(|copy| verifier.held(copy))?;
    verifier.copies = false;
    let missing =
        faults.iter().filter(|(segment, _)| known.iter().all(|known| known.segment.as_str() != segment));
    for (segment, fault) in missing {
        verifier.find(segment, fault.clone());
    }
    for (line, flaw) in &log.flaws {
        // What was cut off was never acted upon.
        if *flaw != LogFlaw::Cut {
            verifier.find("deletions.log", Fault::Log(*line, *flaw));
        }
    }
    Ok(verifier.verdict)
}

/// Everything that has a segment's name, in order.
fn known(dirs: &[&Path]) -> Result<Vec<Known>, Error> {
    let mut found: BTreeMap<Segment, Known> = BTreeMap::new();
    for (place, dir) in dirs.iter().enumerate() {
        let read = |path: &Path| match if_present(fs::read_dir(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
            other => other.map_err(|error| Error::io(path, "read", error)),
        };
        let Some(days) = read(dir)? else {
            if place == 0 {
                return Err(Error::io(dir, "read", io::ErrorKind::NotFound.into()));
            }
            continue;
        };
        for day in days.flatten() {
            for file in read(&day.path())?.into_iter().flatten().flatten() {
                let (day, file) = (day.file_name(), file.file_name());
                let (Some(day), Some(file)) = (day.to_str(), file.to_str()) else { continue };
                let Some((stem, kind @ ("pcap" | "seal" | "far"))) = file.rsplit_once('.') else { continue };
                let Ok(segment) = format!("{day}/{stem}.pcap").parse::<Segment>() else { continue };
                let known = found.entry(segment.clone()).or_insert_with(|| Known {
                    segment: segment.clone(),
                    dir: None,
                    seal: None,
                    length: 0,
                    indexed: false,
                    far: false,
                });
                if kind == "pcap" && known.dir.is_none() {
                    let path = segment.path(dir);
                    let told = path.metadata().map_err(|error| Error::io(&path, "read", error))?;
                    known.dir = Some(dir.to_path_buf());
                    known.length = told.len();
                    known.indexed = segment.index_path(dir).exists();
                }
                if kind == "far" && known.dir.is_none() {
                    let stub = Stub::read(dir, &segment)
                        .map_err(|error| Error::io(&Stub::path(dir, &segment), "read", error))?;
                    known.dir = Some(dir.to_path_buf());
                    known.length = stub.map_or(0, |stub| stub.bytes);
                    known.indexed = segment.index_path(dir).exists();
                    known.far = true;
                }
                if kind == "seal" && known.seal.is_none() {
                    let path = segment.seal_path(dir);
                    known.seal = Some(fs::read(&path).map_err(|error| Error::io(&path, "read", error))?);
                }
            }
        }
    }
    Ok(found.into_values().collect())
}

impl Known {
    /// Its bytes, here or far.
    fn with<T>(
        &self,
        dir: &Path,
        far: Option<&dyn Far>,
        read: impl FnOnce(&dyn SegmentBytes) -> io::Result<T>,
    ) -> Result<T, Error> {
        let path = self.segment.path(dir);
        let result = match (self.far, far) {
            (false, _) => File::open(&path).and_then(|file| read(&file)),
            (true, None) => Err(far::nowhere().into()),
            (true, Some(far)) => read(&FarSegment { far, segment: &self.segment, length: self.length }),
        };
        result.map_err(|error| Error::io(&path, "read", error))
    }
}

fn scanned(path: &Path) -> Result<Scan, Error> {
    let scan = File::open(path).and_then(|file| scan_file(&file));
    scan.map_err(|error| Error::io(path, "read", error))
}

/// Who signed it, where that is who it says.
fn signer(bytes: &[u8]) -> Option<PublicKey> {
    let (seal, line) = Seal::parse(bytes)?;
    seal.public().filter(|key| line.is_by(key))
}

/// A chain: of a worker and a category.
type Name = (u16, Category);

/// The first and the last segment of a chain that have seals.
type Chains = BTreeMap<Name, (Segment, Segment)>;

struct Verifier<'a> {
    look: &'a Look,
    keys: Vec<PublicKey>,
    log: &'a Log,
    /// Somebody signs.
    signed: bool,
    /// It is held copies that are looked at.
    copies: bool,
    verdict: Verified,
    done: u64,
    total: u64,
    told: &'a mut dyn FnMut(u64, u64),
}

impl Verifier<'_> {
    fn find(&mut self, place: &str, fault: Fault) {
        let place = if self.copies { format!("{HELD}/{place}") } else { place.to_owned() };
        self.verdict.findings.push(Finding { place, fault });
    }

    /// Follows every chain through its seals and through what the log has of those that were deleted.
    fn chains(&mut self, root: &Path, known: &[Known]) -> Result<(Chains, Vec<(String, Fault)>), Error> {
        let deletions = self.log.entries.iter().filter(|entry| entry.deleted == Deleted::Segment);
        let mut gone: BTreeMap<&str, &SealOf> = deletions
            .filter_map(|entry| entry.seal.as_ref())
            .map(|seal| (seal.sha256.as_str(), seal))
            .collect();
        self.verdict.deleted = gone.len() as u64;
        // A run of them is passed over at once, from its last to its first.
        for run in
            self.log.entries.iter().filter_map(|entry| entry.earlier.as_ref()).flat_map(|told| &told.runs)
        {
            gone.insert(&run.seal.sha256, &run.seal);
            self.verdict.deleted += run.segments();
        }
        let mut chains: BTreeMap<Name, Vec<&Known>> = BTreeMap::new();
        for known in known.iter().filter(|known| known.seal.is_some()) {
            if let Some((worker, _)) = known.segment.origin() {
                chains.entry((worker, known.segment.category())).or_default().push(known);
            }
        }
        let (mut ends, mut faults) = (Chains::new(), Vec::new());
        for ((worker, category), sealed) in chains {
            let mut links = Vec::new();
            let mut broken = 0;
            for known in &sealed {
                let bytes = known.seal.as_deref().unwrap_or_default();
                match Seal::parse(bytes) {
                    Some((seal, line)) if self.keys.iter().any(|key| line.is_by(key)) => {
                        links.push(Link {
                            segment: seal.segment,
                            number: seal.number,
                            previous: seal.previous,
                            hash: sha256_hex(bytes),
                        });
                    }
                    _ => broken += 1,
                }
            }
            links.sort_by_key(|link| link.number);
            let path = root.join(head_name(worker, category));
            let head = if_present(fs::read(&path)).map_err(|error| Error::io(&path, "read", error))?;
            let head = head.as_deref().and_then(|bytes| Some((Seal::parse(bytes)?, sha256_hex(bytes))));
            if let Some(((seal, line), hash)) = head
                && self.keys.iter().any(|key| line.is_by(key))
                && links.last().is_none_or(|last| last.number < seal.number)
            {
                if !gone.contains_key(hash.as_str()) && broken == 0 {
                    let there = known
                        .iter()
                        .any(|known| known.segment.as_str() == seal.segment && known.dir.is_some());
                    faults.push((seal.segment.clone(), if there { Fault::Unsealed } else { Fault::Gone }));
                }
                links.push(Link {
                    segment: seal.segment,
                    number: seal.number,
                    previous: seal.previous,
                    hash,
                });
            }
            follow(&links, &gone, broken, &mut faults);
            if let Some(last) = links.pop() {
                let Link { segment, number, hash: sha256, .. } = last;
                self.verdict.heads.push(Head { worker, category, segment, number, sha256 });
            }
            if let (Some(first), Some(last)) = (sealed.first(), sealed.last()) {
                ends.insert((worker, category), (first.segment.clone(), last.segment.clone()));
            }
        }
        Ok((ends, faults))
    }

    /// A copy of chunks, by its seal, or by the checksum of each.
    fn held(&mut self, known: &Known) -> Result<(), Error> {
        let (name, proven) = (known.segment.as_str(), self.verdict.proven);
        let Some(dir) = &known.dir else {
            self.find(name, Fault::Gone);
            return Ok(());
        };
        self.verdict.held += 1;
        let seal = known.seal.as_deref().map(Seal::parse);
        let fault = match seal {
            None if self.signed => Fault::UnsealedCopy,
            None => return self.copied(known, dir),
            Some(None) => Fault::Seal,
            Some(Some((seal, line))) if !self.keys.iter().any(|key| line.is_by(key)) => {
                seal.public().filter(|key| line.is_by(key)).map_or(Fault::Seal, Fault::Key)
            }
            Some(Some((seal, _))) if seal.segment != format!("{HELD}/{name}") => {
                Fault::Misplaced(seal.segment)
            }
            Some(Some((seal, _))) => {
                self.sealed(known, dir, &seal)?;
                self.verdict.recovered += u64::from(seal.state == State::Recovered);
                self.verdict.held_proven += self.verdict.proven - proven;
                self.verdict.proven = proven;
                return Ok(());
            }
        };
        self.find(name, fault);
        self.copied(known, dir)
    }

    /// A copy that no seal proves.
    fn copied(&mut self, known: &Known, dir: &Path) -> Result<(), Error> {
        if self.look.quick {
            return Ok(());
        }
        for damage in scanned(&known.segment.path(dir))?.damages {
            self.find(known.segment.as_str(), Fault::Changed(damage));
        }
        self.done += known.length;
        (self.told)(self.done, self.total);
        Ok(())
    }

    fn segment(&mut self, known: &Known, chains: &Chains, before: usize) -> Result<(), Error> {
        let name = known.segment.as_str();
        let Some(dir) = &known.dir else {
            let orders = self
                .log
                .entries
                .iter()
                .any(|entry| entry.deleted == Deleted::Segment && entry.segment == name);
            if !orders && self.verdict.findings.len() == before {
                self.find(name, Fault::Gone);
            }
            return Ok(());
        };
        self.verdict.segments += 1;
        if known.far {
            self.verdict.far += 1;
            self.verdict.left_out += u64::from(self.look.near);
            if !self.look.near && !self.is_there(known)? {
                return Ok(());
            }
        }
        let Some(bytes) = &known.seal else { return self.unsealed(known, dir, chains) };
        let Some((seal, line)) = Seal::parse(bytes) else {
            self.find(name, Fault::Seal);
            return self.checksums(known, dir, true);
        };
        if !self.keys.iter().any(|key| line.is_by(key)) {
            let other = seal.public().filter(|key| line.is_by(key));
            self.find(name, other.map_or(Fault::Seal, Fault::Key));
            return self.checksums(known, dir, true);
        }
        if seal.segment != name {
            self.find(name, Fault::Misplaced(seal.segment));
            return self.checksums(known, dir, true);
        }
        self.sealed(known, dir, &seal)?;
        self.verdict.recovered += u64::from(seal.state == State::Recovered);
        Ok(())
    }

    /// Whether a segment that should lie far does, with all its bytes.
    fn is_there(&mut self, known: &Known) -> Result<bool, Error> {
        let (name, path) = (known.segment.as_str(), known.segment.path(Path::new(FAR)));
        let refused = |refusal| Error::far(&path, "looked at", &refusal);
        let far = self.look.far.as_ref().ok_or_else(far::nowhere).map_err(refused)?;
        match far.length(name) {
            Ok(length) if length == known.length => return Ok(true),
            Ok(found) => self.find(name, Fault::Length { sealed: known.length, found }),
            Err(Refusal::Gone(_)) => self.find(name, Fault::NotFar),
            Err(refusal) => return Err(refused(refusal)),
        }
        Ok(false)
    }

    /// Whether the bytes of a segment are looked at.
    fn is_read(&self, known: &Known) -> bool {
        !(self.look.quick || known.far && self.look.near)
    }

    /// A segment against its seal.
    fn sealed(&mut self, known: &Known, dir: &Path, seal: &Seal) -> Result<(), Error> {
        let (name, before) = (known.segment.as_str(), self.verdict.findings.len());
        let mut altered = false;
        if known.length != seal.bytes {
            self.find(name, Fault::Length { sealed: seal.bytes, found: known.length });
            self.damages(known, dir, seal.state == State::Recovered)?;
        } else if self.is_read(known) {
            let Self { done, total, told, look, .. } = self;
            let (length, sha256) = known.with(dir, look.far.as_deref(), |bytes| {
                seal::hash_bytes(bytes, &mut |some| {
                    *done += some;
                    told(*done, *total);
                })
            })?;
            self.verdict.bytes += length;
            if hex(&sha256) != seal.sha256 {
                let scan = self.damages(known, dir, seal.state == State::Recovered)?;
                altered = !scan.erased.is_empty() && self.verdict.findings.len() == before;
                if !altered && self.verdict.findings.len() == before {
                    self.find(name, Fault::Rewritten);
                }
            }
        }
        self.index(known, dir, seal)?;
        self.keys(known, dir, Some(seal))?;
        match (self.verdict.findings.len() == before, altered) {
            _ if known.far && self.look.near => {}
            (true, false) => self.verdict.proven += 1,
            (true, true) => self.verdict.altered += 1,
            _ => {}
        }
        Ok(())
    }

    /// What a scan finds.
    fn damages(&mut self, known: &Known, dir: &Path, recovered: bool) -> Result<Scan, Error> {
        let name = known.segment.as_str();
        let scan = known.with(dir, self.look.far.as_deref(), scan_bytes)?;
        for damage in &scan.damages {
            // A segment that was recovered was never closed, and its seal says what else there was.
            if !(recovered && damage.what == Flaw::Open) {
                self.find(name, Fault::Changed(*damage));
            }
        }
        let ordered = self.places(Deleted::Chunks, name);
        for row in &scan.erased {
            match ordered.contains(&row.offset) {
                true => self.verdict.erased += 1,
                false => self.find(name, Fault::Erased(row.offset)),
            }
        }
        Ok(scan)
    }

    fn places(&self, deleted: Deleted, name: &str) -> BTreeSet<u64> {
        let entries =
            self.log.entries.iter().filter(|entry| entry.deleted == deleted && entry.segment == name);
        entries.flat_map(|entry| entry.places.iter().copied()).collect()
    }

    fn index(&mut self, known: &Known, dir: &Path, seal: &Seal) -> Result<(), Error> {
        let (name, path) = (known.segment.as_str(), known.segment.index_path(dir));
        let Some(stated) = &seal.index else { return Ok(()) };
        match if_present(fs::read(&path)).map_err(|error| Error::io(&path, "read", error))? {
            None => self.find(name, Fault::NoIndex),
            Some(bytes) if sha256_hex(&bytes) != *stated => {
                let page = |page: &&[u8]| {
                    mark::u32_at(page, 4092) != Some(ringtap_cpu::crc32c(0, &page[..page.len().min(4092)]))
                };
                let pages = bytes.chunks_exact(4096).collect::<Vec<_>>();
                let whole = bytes.len() as u64 / 4096 * 4096;
                let first = pages.iter().position(page).filter(|_| whole > 0);
                self.find(name, Fault::Index(first.map(|page| page as u64)));
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn keys(&mut self, known: &Known, dir: &Path, seal: Option<&Seal>) -> Result<(), Error> {
        let (name, path) = (known.segment.as_str(), known.segment.keys_path(dir));
        let bytes = if_present(fs::read(&path)).map_err(|error| Error::io(&path, "read", error))?;
        let stated = seal.map(|seal| seal.keys.as_deref());
        let Some(bytes) = bytes else {
            if let Some(Some(_)) = stated {
                self.find(name, Fault::NoKeys);
            }
            return Ok(());
        };
        let (rows, _) = bytes.as_chunks::<ROW>();
        let rows: Vec<KeyRow> = rows.iter().skip(1).map(KeyRow::of).collect();
        let proven = stated.map(|stated| stated == Some(&*hex(&proof(&bytes))));
        if proven != Some(true) {
            // The header is row 0 of the file.
            let header = bytes.get(..ROW).is_none_or(|header| !crate::trust::keys::is_header(header));
            let changed = rows.iter().position(|row| *row == KeyRow::Damaged).map(|row| row as u64 + 1);
            match (header.then_some(0).or(changed), proven) {
                (Some(row), _) => self.find(name, Fault::KeyRow(row)),
                (None, Some(false)) => self.find(name, Fault::OtherKeys),
                (None, _) => {}
            }
        }
        // A copy has the keys of its own chunks alone; the proof is that of all.
        if self.copies {
            return Ok(());
        }
        let ordered = self.places(Deleted::Keys, name);
        for (number, row) in (0..).zip(&rows) {
            if matches!(row, KeyRow::Forgotten(_)) {
                match ordered.contains(&number) {
                    true => self.verdict.forgotten += 1,
                    false => self.find(name, Fault::Forgotten(number)),
                }
            }
        }
        Ok(())
    }

    fn unsealed(&mut self, known: &Known, dir: &Path, chains: &Chains) -> Result<(), Error> {
        let segment = &known.segment;
        let Some((worker, at)) = segment.origin() else { return Ok(()) };
        if let Some((first, last)) = chains.get(&(worker, segment.category())) {
            // A segment that is still written may have begun with an older packet than the last one that was closed.
            let late = last.origin().is_some_and(|(_, newest)| at + LATE >= newest);
            if segment > first && !(segment > last || late && !known.indexed) {
                self.find(segment.as_str(), Fault::Unsealed);
            } else if segment > last || late && !known.indexed {
                return self.checksums(known, dir, false);
            }
        }
        self.verdict.unsigned += 1;
        self.checksums(known, dir, known.indexed)
    }

    /// A segment that no seal proves. One that was not closed may end anywhere.
    fn checksums(&mut self, known: &Known, dir: &Path, closed: bool) -> Result<(), Error> {
        let name = known.segment.as_str();
        let file =
            |path: &Path| if_present(File::open(path)).map_err(|error| Error::io(path, "opened", error));
        let index_path = known.segment.index_path(dir);
        let index = match file(&index_path)? {
            None => None,
            Some(file) => {
                let read = |error| Error::io(&index_path, "read", error);
                let rows = match Index::open(file).map_err(read)? {
                    Some(mut index) => index.all().map_err(read)?,
                    None => None,
                };
                if rows.is_none() {
                    self.find(name, Fault::Index(None));
                }
                rows
            }
        };
        self.keys(known, dir, None)?;
        if !closed && known.length == 0 {
            // Its name is there before its first block.
            self.verdict.open.push((known.segment.clone(), 0));
            return Ok(());
        }
        if !self.is_read(known) {
            let end = |row: &crate::segment::index::Row| row.offset + u64::from(row.chunk.length);
            let needed = index.iter().flatten().map(end).max().unwrap_or(0);
            if needed > known.length {
                self.find(name, Fault::Changed(Damage { offset: known.length, what: Flaw::Cut }));
            }
            return Ok(());
        }
        let Scan { rows, erased, spoiled, damages, .. } =
            known.with(dir, self.look.far.as_deref(), scan_bytes)?;
        self.done += known.length;
        (self.told)(self.done, self.total);
        self.verdict.bytes += known.length;
        let chunks = rows.len() as u64;
        let unclosed = !closed && damages.iter().any(|damage| damage.what == Flaw::Open);
        if unclosed {
            self.verdict.open.push((known.segment.clone(), chunks));
        }
        // Behind the last place where a cut may be, nothing is.
        let last = damages.iter().rev().find(|damage| damage.what != Flaw::Open).map(|damage| damage.offset);
        for damage in damages {
            let ends = damage.what == Flaw::Open || damage.what == Flaw::Cut && last == Some(damage.offset);
            if !(unclosed && ends) {
                self.find(name, Fault::Changed(damage));
            }
        }
        let ordered = self.places(Deleted::Chunks, name);
        for row in &erased {
            match ordered.contains(&row.offset) {
                true => self.verdict.erased += 1,
                false => self.find(name, Fault::Erased(row.offset)),
            }
        }
        if let Some(index) = index {
            let key = |row: &crate::segment::index::Row| {
                (row.offset, row.chunk.owner, row.chunk.number, row.chunk.length)
            };
            let there: BTreeSet<_> = rows.iter().chain(&erased).chain(&spoiled).map(key).collect();
            let named: BTreeSet<_> = index.iter().map(key).collect();
            if there != named && spoiled.is_empty() {
                self.find(name, Fault::OtherIndex);
            }
        }
        Ok(())
    }
}

/// A seal in its chain.
struct Link {
    segment: String,
    number: u64,
    previous: String,
    hash: String,
}

/// Follows the links; each gap has to be filled by seals of segments that were deleted by order, or by seals that are broken,
/// which are told of already.
fn follow(
    links: &[Link],
    gone: &BTreeMap<&str, &SealOf>,
    mut broken: u64,
    faults: &mut Vec<(String, Fault)>,
) {
    let start = hex(&[0; 32]);
    let (mut hash, mut next) = (start.as_str(), 0);
    for link in links {
        if link.number < next {
            faults.push((link.segment.clone(), Fault::Chain));
            continue;
        }
        // Backwards from this link, as far as the log goes.
        let (mut wanted, mut number) = (link.previous.as_str(), link.number);
        while wanted != hash
            && number > next
            && let Some(seal) = gone.get(wanted)
            && let (Some(of), Some(previous)) = (seal.number, &seal.previous)
            && of < number
        {
            (wanted, number) = (previous, of);
        }
        if wanted != hash {
            let missing = number - next;
            if missing == 0 {
                faults.push((link.segment.clone(), Fault::Chain));
            } else if missing > broken {
                faults.push((link.segment.clone(), Fault::CutOut { from: next, to: number - 1 }));
            }
            broken = broken.saturating_sub(missing);
        }
        (hash, next) = (&link.hash, link.number.saturating_add(1));
    }
}

/// How much older than the newest sealed segment one may be that is still written.
const LATE: ringtap_model::Nanos = ringtap_model::Nanos::from_secs(120);

//! Follows the chains of seals.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::Error;
use crate::files::{entry_names, if_present, is_irregular, read_regular};
use crate::hex::{hex, sha256_hex};
use crate::segment::name::{Category, Segment};
use crate::trust::deletion_entry::{DeletionKind, SealSummary};
use crate::trust::deletion_log::LoggedDeletions;
use crate::trust::head::{KnownHead, chain_of, chain_of_head, head_name};
use crate::trust::open_list::{OpenListFile, open_list_name};
use crate::trust::seal::Seal;
use crate::trust::sign::PublicKey;
use crate::trust::verify::inventory::{KnownSegment, signer};
use crate::trust::verify::report::{ChainHead, Fault};

/// What the chains show.
#[derive(Default)]
pub(crate) struct ChainCheck {
    /// The signed lists of open segments, and the number of the next seal, by worker and category.
    pub(crate) open: BTreeMap<(u16, Category), (OpenListFile, u64)>,
    /// Faults by segment.
    pub(crate) faults: Vec<(String, Fault)>,
    pub(crate) heads: Vec<ChainHead>,
    /// Segments that were deleted by order.
    pub(crate) deleted: u64,
}

/// Follows every chain through its seals, and through the log's entries about deleted ones.
pub(crate) fn check_chains(
    root: &Path,
    known: &[KnownSegment],
    keys: &[PublicKey],
    log: &LoggedDeletions,
    heads: &[KnownHead],
) -> Result<ChainCheck, Error> {
    let gone = DeletedSeals::of(log);
    let mut check = ChainCheck { deleted: gone.segments, ..ChainCheck::default() };
    // A chain is known by its seals, by its head, or by what was noted of it.
    let mut chains: BTreeMap<(u16, Category), Vec<&KnownSegment>> = BTreeMap::new();
    let names = entry_names(root).map_err(|error| Error::io(root, "read", error))?;
    let known_chains = heads.iter().map(|head| (head.worker, head.category));
    for chain in names.iter().filter_map(|name| chain_of_head(name)).chain(known_chains) {
        chains.entry(chain).or_default();
    }
    for known in known.iter().filter(|known| known.seal.is_some()) {
        if let Some((worker, _)) = known.segment.origin() {
            chains.entry((worker, known.segment.category())).or_default().push(known);
        }
    }
    for ((worker, category), sealed) in chains {
        let (mut links, mut broken) = links_of(&sealed, keys);
        // The log has their numbers already: a seal that is put back beside one stands for no other.
        broken.retain(|name| !gone.names.contains(name));
        let name = head_name(worker, category);
        let head = match HeadFile::read(&root.join(&name), (worker, category), keys)? {
            HeadFile::Link(head) => Some(head),
            HeadFile::Missing if links.is_empty() => None,
            HeadFile::Missing => {
                check.faults.push((name.clone(), Fault::NoHead));
                None
            }
            HeadFile::Bad(fault) => {
                check.faults.push((name.clone(), fault));
                None
            }
        };
        if let (Some(head), Some(last)) = (&head, links.last()) {
            // A kill may have come between the seal and the head.
            if head.number.saturating_add(1) < last.number {
                let fault = Fault::OldHead { head: head.number, newest: last.number };
                check.faults.push((name.clone(), fault));
            } else if links.iter().any(|link| link.number == head.number && link.hash != head.hash) {
                check.faults.push((name.clone(), Fault::BadHead));
            }
        }
        if let Some(head) = head
            && links.last().is_none_or(|last| last.number < head.number)
        {
            let found = known.iter().find(|known| known.segment.as_str() == head.segment);
            // A seal that is there and is not this one is a finding of its own.
            if !gone.by_hash.contains_key(head.hash.as_str())
                && found.is_none_or(|known| known.seal.is_none())
            {
                let is_there = found.is_some_and(|known| known.dir.is_some());
                let fault = if is_there { Fault::Unsealed } else { Fault::Gone };
                check.faults.push((head.segment.clone(), fault));
            }
            links.push(head);
        }
        follow((worker, category), &links, &gone, &broken, &mut check.faults);
        let noted = heads.iter().filter(|head| (head.worker, head.category) == (worker, category));
        for fault in noted.filter_map(|head| compare(head, &links, &gone.by_hash)) {
            check.faults.push((name.clone(), fault));
        }
        if let Some(ChainLink { segment, number, hash: sha256, .. }) = links.pop() {
            check.heads.push(ChainHead { worker, category, segment, number, sha256 });
        }
        check.read_open_list(root, (worker, category), keys)?;
    }
    Ok(check)
}

impl ChainCheck {
    /// Reads the list of open segments of the chain whose head was found last.
    fn read_open_list(
        &mut self,
        root: &Path,
        (worker, category): (u16, Category),
        keys: &[PublicKey],
    ) -> Result<(), Error> {
        let open = OpenListFile::read(root, worker, category, keys)?;
        let newest = self.heads.last().filter(|head| (head.worker, head.category) == (worker, category));
        let fault = match (&open, newest) {
            (OpenListFile::Bad(signer), _) => Some(signer.map_or(Fault::BadOpenList, Fault::Key)),
            (OpenListFile::Missing, Some(_)) => Some(Fault::NoOpenList),
            (OpenListFile::List(list), Some(newest)) if list.is_before(newest.number) => {
                Some(Fault::OldOpenList)
            }
            _ => None,
        };
        self.faults.extend(fault.map(|fault| (open_list_name(worker, category), fault)));
        let next = newest.map_or(0, |head| head.number.saturating_add(1));
        self.open.insert((worker, category), (open, next));
        Ok(())
    }
}

/// The seals of deleted segments, as the log has them.
#[derive(Default)]
struct DeletedSeals<'a> {
    /// The last seal of each run, by its hash.
    by_hash: BTreeMap<&'a str, &'a SealSummary>,
    /// The runs, by the number of their first seal and the hash of the seal before it.
    by_previous: BTreeMap<(u64, &'a str), Vec<DeletedRun<'a>>>,
    /// Of the segments, unless the log was shortened.
    names: BTreeSet<&'a str>,
    segments: u64,
}

/// Consecutive seals of deleted segments.
struct DeletedRun<'a> {
    /// None in a log that an earlier version has shortened.
    chain: Option<(u16, Category)>,
    last: u64,
    hash: &'a str,
}

impl<'a> DeletedSeals<'a> {
    fn of(log: &'a LoggedDeletions) -> Self {
        let mut deleted = Self::default();
        for entry in log.entries.iter().filter(|entry| entry.deleted == DeletionKind::Segment) {
            let Some(seal) = &entry.seal else { continue };
            let segment = entry.segment.parse::<Segment>().ok();
            let chain = segment.and_then(|segment| Some((segment.origin()?.0, segment.category())));
            // Twice, if a kill came between the log and the disk.
            deleted.segments += u64::from(deleted.by_hash.insert(&seal.sha256, seal).is_none());
            deleted.add(seal, chain, seal.number);
            deleted.names.insert(&entry.segment);
        }
        let summaries = log.entries.iter().filter_map(|entry| entry.summary.as_ref());
        for run in summaries.flat_map(|summary| &summary.runs) {
            deleted.by_hash.insert(&run.seal.sha256, &run.seal);
            deleted.segments += run.segments();
            deleted.add(&run.seal, run.chain.as_deref().and_then(chain_of), Some(run.last));
        }
        deleted
    }

    fn add(&mut self, seal: &'a SealSummary, chain: Option<(u16, Category)>, last: Option<u64>) {
        let (Some(first), Some(last), Some(previous)) = (seal.number, last, &seal.previous) else { return };
        let run = DeletedRun { chain, last, hash: &seal.sha256 };
        self.by_previous.entry((first, previous)).or_default().push(run);
    }

    /// From a seal forwards, as far as the log goes: the last seal that was deleted, and the number after it.
    fn forwards(&self, chain: (u16, Category), from: (&'a str, u64)) -> (&'a str, u64) {
        let (mut hash, mut next) = from;
        while let Some(runs) = self.by_previous.get(&(next, hash))
            // All chains begin alike: only a run that names its chain proves that this one did.
            && let Some(run) = runs.iter().find(|run| match run.chain {
                Some(of) => of == chain,
                None => next > 0,
            })
            && run.last >= next
        {
            (hash, next) = (run.hash, run.last.saturating_add(1));
        }
        (hash, next)
    }
}

/// The seals of a chain that one of the keys signed, in order, and the segments whose seals are no such.
fn links_of<'a>(sealed: &[&'a KnownSegment], keys: &[PublicKey]) -> (Vec<ChainLink>, Vec<&'a str>) {
    let mut links = Vec::new();
    let mut broken = Vec::new();
    for known in sealed {
        let name = known.segment.as_str();
        match ChainLink::of(known.seal.as_deref().unwrap_or_default(), keys) {
            Some(link) if link.segment == name => links.push(link),
            _ => broken.push(name),
        }
    }
    links.sort_by_key(|link| link.number);
    (links, broken)
}

/// What is wrong with a chain that once had this head.
fn compare(head: &KnownHead, links: &[ChainLink], gone: &BTreeMap<&str, &SealSummary>) -> Option<Fault> {
    let sha256 = hex(&head.sha256);
    let newest = links.last().map(|last| last.number);
    let is_there = links.iter().any(|link| link.number == head.number && link.hash == sha256);
    match newest {
        _ if is_there || gone.contains_key(sha256.as_str()) || is_in_run(head.number, links, gone) => None,
        Some(newest) if newest >= head.number => Some(Fault::OtherSeal(head.number)),
        newest => Some(Fault::CutBack { newest, number: head.number }),
    }
}

/// Whether the seal is in a run of deleted ones that the chain goes back through. Of a run the log has the
/// hash of its last seal alone; the chain proves the others.
fn is_in_run(number: u64, links: &[ChainLink], gone: &BTreeMap<&str, &SealSummary>) -> bool {
    links.iter().any(|link| {
        let (mut wanted, mut end) = (link.previous.as_str(), link.number);
        while let Some(seal) = gone.get(wanted)
            && let (Some(first), Some(previous)) = (seal.number, &seal.previous)
            && first < end
        {
            if (first..end - 1).contains(&number) {
                return true;
            }
            (wanted, end) = (previous, first);
        }
        false
    })
}

/// The file with a chain's newest seal, in the spool's directory.
enum HeadFile {
    Missing,
    /// It is no seal, or none of the keys signed it.
    Bad(Fault),
    Link(ChainLink),
}

impl HeadFile {
    fn read(path: &Path, chain: (u16, Category), keys: &[PublicKey]) -> Result<Self, Error> {
        match if_present(read_regular(path)) {
            Ok(None) => Ok(Self::Missing),
            Ok(Some(bytes)) => match ChainLink::of(&bytes, keys) {
                Some(link) if link.chain() == Some(chain) => Ok(Self::Link(link)),
                // The head of another chain.
                Some(_) => Ok(Self::Bad(Fault::BadHead)),
                None => Ok(Self::Bad(signer(&bytes).map_or(Fault::BadHead, Fault::Key))),
            },
            Err(error) if is_irregular(&error) => Ok(Self::Bad(Fault::BadHead)),
            Err(error) => Err(Error::io(path, "read", error)),
        }
    }
}

/// A seal in its chain.
struct ChainLink {
    segment: String,
    number: u64,
    previous: String,
    hash: String,
}

impl ChainLink {
    fn chain(&self) -> Option<(u16, Category)> {
        let segment = self.segment.parse::<Segment>().ok()?;
        Some((segment.origin()?.0, segment.category()))
    }

    /// None if the bytes are no seal, or none of the keys signed it.
    fn of(bytes: &[u8], keys: &[PublicKey]) -> Option<Self> {
        let (seal, line) = Seal::parse(bytes)?;
        keys.iter().any(|key| line.is_by(key)).then(|| Self {
            segment: seal.segment,
            number: seal.number,
            previous: seal.previous,
            hash: sha256_hex(bytes),
        })
    }
}

/// Follows the links; each gap has to be filled by seals of segments that were deleted by order, or by broken
/// seals of segments between, which are reported already. A broken seal accuses itself alone, and excuses
/// nothing that is missing elsewhere.
fn follow<'a>(
    chain: (u16, Category),
    links: &'a [ChainLink],
    gone: &DeletedSeals<'a>,
    broken: &[&str],
    faults: &mut Vec<(String, Fault)>,
) {
    let (mut hash, mut next, mut behind) = (START, 0, "");
    for link in links {
        if link.number < next {
            faults.push((link.segment.clone(), Fault::Chain));
            continue;
        }
        // Backwards from this link, as far as the log goes.
        let (mut wanted, mut number) = (link.previous.as_str(), link.number);
        while wanted != hash
            && number > next
            && let Some(seal) = gone.by_hash.get(wanted)
            && let (Some(of), Some(previous)) = (seal.number, &seal.previous)
            && of < number
        {
            (wanted, number) = (previous, of);
        }
        if wanted != hash {
            let (_, from) = gone.forwards(chain, (hash, next));
            let missing = number.saturating_sub(from);
            let between = |name: &&&str| ***name > *behind && ***name < *link.segment;
            if missing == 0 {
                faults.push((link.segment.clone(), Fault::Chain));
            } else if missing > broken.iter().filter(between).count() as u64 {
                faults.push((link.segment.clone(), Fault::CutOut { from, to: number - 1 }));
            }
        }
        (hash, next, behind) = (&link.hash, link.number.saturating_add(1), &link.segment);
    }
}

/// What the first seal of a chain says of the one before.
const START: &str = "0000000000000000000000000000000000000000000000000000000000000000";

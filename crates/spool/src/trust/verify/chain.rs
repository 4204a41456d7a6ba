//! Follows the chains of seals.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Error;
use crate::files::{entry_names, if_present, is_irregular, read_regular};
use crate::hex::{hex, sha256_hex};
use crate::segment::name::Category;
use crate::trust::deletion_entry::{DeletionKind, SealSummary};
use crate::trust::deletion_log::LoggedDeletions;
use crate::trust::head::{KnownHead, chain_of_head, head_name};
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
    let (gone, deleted) = deleted_seals(log);
    let mut check = ChainCheck { deleted, ..ChainCheck::default() };
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
        let (mut links, broken) = links_of(&sealed, keys);
        let name = head_name(worker, category);
        let head = match HeadFile::read(&root.join(&name), keys)? {
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
            } else if head.number == last.number && head.hash != last.hash {
                check.faults.push((name.clone(), Fault::BadHead));
            }
        }
        if let Some(head) = head
            && links.last().is_none_or(|last| last.number < head.number)
        {
            if !gone.contains_key(head.hash.as_str()) && broken == 0 {
                let is_there =
                    known.iter().any(|known| known.segment.as_str() == head.segment && known.dir.is_some());
                let fault = if is_there { Fault::Unsealed } else { Fault::Gone };
                check.faults.push((head.segment.clone(), fault));
            }
            links.push(head);
        }
        follow(&links, &gone, broken, &mut check.faults);
        let noted = heads.iter().filter(|head| (head.worker, head.category) == (worker, category));
        for fault in noted.filter_map(|head| compare(head, &links, &gone)) {
            check.faults.push((name.clone(), fault));
        }
        if let Some(ChainLink { segment, number, hash: sha256, .. }) = links.pop() {
            check.heads.push(ChainHead { worker, category, segment, number, sha256 });
        }
        let open = OpenListFile::read(root, worker, category, keys)?;
        if let OpenListFile::Bad(signer) = open {
            let fault = signer.map_or(Fault::BadOpenList, Fault::Key);
            check.faults.push((open_list_name(worker, category), fault));
        }
        let next = check.heads.last().filter(|head| (head.worker, head.category) == (worker, category));
        let next = next.map_or(0, |head| head.number.saturating_add(1));
        check.open.insert((worker, category), (open, next));
    }
    Ok(check)
}

/// The seals of deleted segments in the log by their hashes, and the number of these segments.
fn deleted_seals(log: &LoggedDeletions) -> (BTreeMap<&str, &SealSummary>, u64) {
    let deletions = log.entries.iter().filter(|entry| entry.deleted == DeletionKind::Segment);
    let mut gone: BTreeMap<&str, &SealSummary> =
        deletions.filter_map(|entry| entry.seal.as_ref()).map(|seal| (seal.sha256.as_str(), seal)).collect();
    let mut deleted = gone.len() as u64;
    // A run is skipped at once, from its last seal to its first.
    let summaries = log.entries.iter().filter_map(|entry| entry.summary.as_ref());
    for run in summaries.flat_map(|summary| &summary.runs) {
        gone.insert(&run.seal.sha256, &run.seal);
        deleted += run.segments();
    }
    (gone, deleted)
}

/// The seals of a chain that one of the keys signed, in order, and the number of all others.
fn links_of(sealed: &[&KnownSegment], keys: &[PublicKey]) -> (Vec<ChainLink>, u64) {
    let mut links = Vec::new();
    let mut broken = 0;
    for known in sealed {
        match ChainLink::of(known.seal.as_deref().unwrap_or_default(), keys) {
            Some(link) => links.push(link),
            None => broken += 1,
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
    fn read(path: &Path, keys: &[PublicKey]) -> Result<Self, Error> {
        match if_present(read_regular(path)) {
            Ok(None) => Ok(Self::Missing),
            Ok(Some(bytes)) => {
                let bad = || Self::Bad(signer(&bytes).map_or(Fault::BadHead, Fault::Key));
                Ok(ChainLink::of(&bytes, keys).map_or_else(bad, Self::Link))
            }
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

/// Follows the links; each gap has to be filled by seals of segments that were deleted by order, or by seals
/// that are broken, which are reported already.
fn follow(
    links: &[ChainLink],
    gone: &BTreeMap<&str, &SealSummary>,
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

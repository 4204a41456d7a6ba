//! Follows the chains of seals.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Error;
use crate::files::{if_present, read_regular};
use crate::hex::{hex, sha256_hex};
use crate::segment::name::{Category, Segment};
use crate::trust::deletion_entry::{DeletionKind, SealSummary};
use crate::trust::deletion_log::LoggedDeletions;
use crate::trust::seal::{Seal, head_name};
use crate::trust::sign::PublicKey;
use crate::trust::verify::inventory::KnownSegment;
use crate::trust::verify::report::{ChainHead, Fault};

/// The first and the last segment with a seal, by worker and category.
pub(crate) type ChainEnds = BTreeMap<(u16, Category), (Segment, Segment)>;

/// What the chains show.
#[derive(Default)]
pub(crate) struct ChainCheck {
    pub(crate) ends: ChainEnds,
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
) -> Result<ChainCheck, Error> {
    let (gone, deleted) = deleted_seals(log);
    let mut check = ChainCheck { deleted, ..ChainCheck::default() };
    let mut chains: BTreeMap<(u16, Category), Vec<&KnownSegment>> = BTreeMap::new();
    for known in known.iter().filter(|known| known.seal.is_some()) {
        if let Some((worker, _)) = known.segment.origin() {
            chains.entry((worker, known.segment.category())).or_default().push(known);
        }
    }
    for ((worker, category), sealed) in chains {
        let (mut links, broken) = links_of(&sealed, keys);
        if let Some(head) = head_link(root, worker, category, keys)?
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
        if let Some(ChainLink { segment, number, hash: sha256, .. }) = links.pop() {
            check.heads.push(ChainHead { worker, category, segment, number, sha256 });
        }
        if let (Some(first), Some(last)) = (sealed.first(), sealed.last()) {
            check.ends.insert((worker, category), (first.segment.clone(), last.segment.clone()));
        }
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

/// The newest seal of a chain, which is also in the spool's directory.
fn head_link(
    root: &Path,
    worker: u16,
    category: Category,
    keys: &[PublicKey],
) -> Result<Option<ChainLink>, Error> {
    let path = root.join(head_name(worker, category));
    let bytes = if_present(read_regular(&path)).map_err(|error| Error::io(&path, "read", error))?;
    Ok(bytes.and_then(|bytes| ChainLink::of(&bytes, keys)))
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

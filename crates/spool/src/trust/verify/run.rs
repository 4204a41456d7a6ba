//! Verifies a whole spool.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Error;
use crate::files::is_irregular;
use crate::layout::{FAR, HELD, TIER};
use crate::trust::deletion_log::{LogFlaw, LoggedDeletions};
use crate::trust::sign::PublicKey;
use crate::trust::unsigned_list::{UNSIGNED_LIST, UnsignedListFile};
use crate::trust::verify::chain::check_chains;
use crate::trust::verify::inventory::{KnownSegment, known, signer};
use crate::trust::verify::orders::Orders;
use crate::trust::verify::report::{Fault, VerifyOptions, VerifyReport};
use crate::trust::verify::segment_check::Verifier;

/// Verifies a spool: its directory, its tier, far storage, its held copies, and further directories with its
/// segments. Calls `progress` with the bytes that have been read and the bytes in all.
///
/// Held copies have seals of their own if segments are signed, in no chain: a copy that was removed is not
/// noticed.
///
/// # Errors
///
/// A file cannot be read. Faults of the spool are no errors: they are in the [`VerifyReport`].
pub fn verify(
    dirs: &[&Path],
    options: &VerifyOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<VerifyReport, Error> {
    let Some(root) = dirs.first() else { return Ok(VerifyReport::default()) };
    let (tier, far) = (root.join(TIER), root.join(FAR));
    let dirs: Vec<&Path> = [*root, &tier, &far].into_iter().chain(dirs[1..].iter().copied()).collect();
    let segments = known(&dirs)?;
    let held = root.join(HELD);
    let copies = if held.exists() { known(&[&held])? } else { Vec::new() };
    let read = segments.iter().chain(&copies).filter(|known| options.reads(known.far));
    let total = read.map(|known| known.length).sum();
    let key = usual_signer(&segments);
    let keys = match (&options.keys[..], key) {
        ([], Some(key)) => vec![key],
        (keys, _) => keys.to_vec(),
    };
    // If no segment is signed, the log need not be either.
    let signed = key.is_some() || !options.keys.is_empty();
    let (log, no_log) = match LoggedDeletions::read(root, if signed { &keys } else { &[] }) {
        Err(Error::Io { source, .. }) if is_irregular(&source) => (LoggedDeletions::default(), true),
        other => (other?, false),
    };
    let orders = Orders::of(&log.entries);
    let chains = check_chains(root, &segments, &keys, &log, &options.heads)?;
    let report =
        VerifyReport { key, heads: chains.heads, deleted: chains.deleted, ..VerifyReport::default() };
    let unsigned = UnsignedListFile::read(root, &keys)?;
    let bad_list = match &unsigned {
        UnsignedListFile::Bad(signer) => Some(signer.map_or(Fault::BadUnsignedList, Fault::Key)),
        UnsignedListFile::Missing | UnsignedListFile::List(_) => None,
    };
    let mut verifier = Verifier {
        options,
        keys,
        unsigned: unsigned.into_names(),
        orders: &orders,
        open: &chains.open,
        signed,
        copies: false,
        report,
        done: 0,
        total,
        progress,
    };
    for known in &segments {
        let before = verifier.report.findings.len();
        for (_, fault) in chains.faults.iter().filter(|(segment, _)| *segment == known.segment.as_str()) {
            verifier.find(known.segment.as_str(), fault.clone());
        }
        verifier.segment(known, before)?;
    }
    verifier.copies = true;
    copies.iter().try_for_each(|copy| verifier.held(copy))?;
    verifier.copies = false;
    for (segment, fault) in &chains.faults {
        if segments.iter().all(|known| known.segment.as_str() != segment) {
            verifier.find(segment, fault.clone());
        }
    }
    if no_log {
        verifier.find("deletions.log", Fault::Irregular("log".to_owned()));
    }
    bad_list.into_iter().for_each(|fault| verifier.find(UNSIGNED_LIST, fault));
    for (line, flaw) in &log.flaws {
        // A line that was cut off was never carried out.
        if *flaw != LogFlaw::Cut {
            verifier.find("deletions.log", Fault::Log(*line, *flaw));
        }
    }
    Ok(verifier.report)
}

/// The key that signed most seals.
fn usual_signer(segments: &[KnownSegment]) -> Option<PublicKey> {
    let mut signers: BTreeMap<PublicKey, u64> = BTreeMap::new();
    for key in segments.iter().filter_map(|known| signer(known.seal.as_deref()?)) {
        *signers.entry(key).or_default() += 1;
    }
    signers.into_iter().max_by_key(|(_, seals)| *seals).map(|(key, _)| key)
}

//! Summarises the beginning of the log of deletions.
//!
//! Of a segment of which nothing is left anywhere, two facts are still needed: its seal's position in the
//! chain, and that it was deleted by order. As the log grows, its entries about such segments become one
//! signed entry at its beginning: the runs of deleted seals in each chain, and totals by rule, order and
//! case. All other entries stay. The chain of lines goes on: the summary has the number and the hash that
//! follow the last line.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::files::{open_regular_to_change, read_regular, replace};
use crate::hex::sha256_hex;
use crate::segment::name::Segment;
use crate::trust::deletion_entry::{Deletion, DeletionKind, DeletionSummary, DeletionTotal, SealRun};
use crate::trust::deletion_log::{DeletionLog, LogFlaw, LoggedDeletions};
use crate::trust::head::chain_name;

/// A log shorter than this is not shortened.
pub(crate) const SHORT: u64 = 1 << 20;
/// Totals; beyond this, the oldest ones become one.
const MOST: usize = 1_000;

impl DeletionTotal {
    fn of(entry: &Deletion) -> Self {
        Self {
            deleted: entry.deleted,
            why: entry.why.clone(),
            cases: entry.cases.clone(),
            entries: 1,
            first: entry.segment.clone(),
            last: entry.segment.clone(),
            until: entry.at.clone(),
        }
    }

    fn add(&mut self, other: Self) {
        self.entries = self.entries.saturating_add(other.entries);
        self.first = std::mem::take(&mut self.first).min(other.first);
        self.last = std::mem::take(&mut self.last).max(other.last);
        self.until = std::mem::take(&mut self.until).max(other.until);
    }
}

impl DeletionSummary {
    /// Adds an entry that the summary replaces.
    fn add(&mut self, entry: &Deletion) {
        if let Some(DeletionSummary { runs, totals }) = &entry.summary {
            self.runs.extend(runs.iter().cloned());
            self.totals.extend(totals.iter().cloned());
            return;
        }
        if let (DeletionKind::Segment, Some(seal)) = (entry.deleted, &entry.seal)
            && let (Some(last), Some(_)) = (seal.number, &seal.previous)
        {
            let segment = entry.segment.parse::<Segment>().ok();
            let chain = segment.and_then(|segment| Some(chain_name(segment.origin()?.0, segment.category())));
            self.runs.push(SealRun { seal: seal.clone(), last, chain });
        }
        self.totals.push(DeletionTotal::of(entry));
    }

    /// Joins runs and totals.
    fn merge(&mut self) {
        // A run continues another one if its first seal follows the other's last.
        let mut runs: BTreeMap<String, SealRun> = BTreeMap::new();
        let mut all = std::mem::take(&mut self.runs);
        all.sort_by_key(|run| run.seal.number);
        all.dedup();
        for mut run in all {
            let before = run.seal.previous.as_ref().and_then(|previous| runs.get(previous));
            if let Some(before) =
                before.filter(|before| Some(before.last.saturating_add(1)) == run.seal.number)
            {
                let (number, previous) = (before.seal.number, before.seal.previous.clone());
                runs.remove(&run.seal.previous.take().unwrap_or_default());
                (run.seal.number, run.seal.previous) = (number, previous);
            }
            runs.insert(run.seal.sha256.clone(), run);
        }
        self.runs = runs.into_values().collect();
        self.runs.sort_by(|a, b| (a.seal.number, &a.seal.sha256).cmp(&(b.seal.number, &b.seal.sha256)));

        let mut totals: BTreeMap<(DeletionKind, String, Vec<String>), DeletionTotal> = BTreeMap::new();
        for total in std::mem::take(&mut self.totals) {
            let name = (total.deleted, total.why.clone(), total.cases.clone());
            match totals.get_mut(&name) {
                Some(known) => known.add(total),
                None => _ = totals.insert(name, total),
            }
        }
        self.totals = totals.into_values().collect();
        self.totals.sort_by(|a, b| b.until.cmp(&a.until));
        let rest = self.totals.split_off(MOST.min(self.totals.len()));
        for total in rest {
            let others = DeletionTotal { why: OTHERS.to_owned(), cases: Vec::new(), ..total };
            let alike = |known: &&mut DeletionTotal| known.why == OTHERS && known.deleted == others.deleted;
            match self.totals.iter_mut().find(alike) {
                Some(known) => known.add(others),
                None => self.totals.push(others),
            }
        }
    }
}

impl DeletionLog {
    /// Summarises the entries about segments of which nothing is left, as `is_present` says. Returns the new
    /// length of the log. The caller holds the deletion lock.
    ///
    /// # Errors
    ///
    /// The log was changed, or has lines of another key: a new signature would hide that. The file cannot be
    /// written.
    pub(crate) fn shorten(&self, is_present: &dyn Fn(&Segment) -> bool) -> Result<u64, Error> {
        let path = self.path();
        let wrong = |action| move |error| Error::io(path, action, error);
        let file = open_regular_to_change(path).map_err(wrong("opened"))?;
        file.lock().map_err(wrong("locked"))?;
        let bytes = read_regular(path).map_err(wrong("read"))?;
        let keys: Vec<_> = self.signer().iter().map(|signer| signer.public()).collect();
        let mut log = LoggedDeletions::parse(&bytes, &keys);
        log.flaws.retain(|(_, flaw)| *flaw != LogFlaw::Cut);
        let signed_by_others = keys.is_empty() && log.entries.iter().any(|entry| entry.key.is_some());
        if !log.flaws.is_empty() || signed_by_others {
            let problem =
                "it has lines that were changed or are signed by another key, and cannot be shortened";
            return Err(Error::Log { path: path.to_owned(), problem });
        }
        let Some(last) = bytes.split_inclusive(|byte| *byte == b'\n').rfind(|line| line.ends_with(b"\n"))
        else {
            return Ok(bytes.len() as u64);
        };
        let Some(number) = log.entries.last().map(|entry| entry.number.saturating_add(1)) else {
            return Ok(bytes.len() as u64);
        };
        let previous = sha256_hex(last);
        let (mut summary, remaining) = split(log.entries, is_present);
        summary.merge();
        let all: Vec<Deletion> = std::iter::once(Deletion::summary(summary)).chain(remaining).collect();
        let text = self.lines(&all, number, previous)?;
        replace(path, text.as_bytes()).map_err(wrong("written"))?;
        Ok(text.len() as u64)
    }
}

/// The summary, and the entries that stay.
fn split(entries: Vec<Deletion>, is_present: &dyn Fn(&Segment) -> bool) -> (DeletionSummary, Vec<Deletion>) {
    let deleted = entries.iter().filter(|entry| entry.deleted == DeletionKind::Segment);
    let names: BTreeSet<&str> = deleted.map(|entry| &*entry.segment).collect();
    // A segment that is not here and was not deleted has been moved elsewhere: its entries are needed there.
    let is_gone = |name: &&str| name.parse::<Segment>().is_ok_and(|segment| !is_present(&segment));
    let gone: BTreeSet<String> = names.into_iter().filter(is_gone).map(ToOwned::to_owned).collect();
    let mut summary = DeletionSummary::default();
    let mut remaining = Vec::new();
    for entry in entries {
        match entry.deleted == DeletionKind::Summary || gone.contains(&entry.segment) {
            true => summary.add(&entry),
            false => remaining.push(entry),
        }
    }
    (summary, remaining)
}

const OTHERS: &str = "others, longer ago";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use ringtap_model::Nanos;

    use super::*;
    use crate::trust::deletion_entry::SealSummary;
    use crate::trust::sign::Signer;

    const NOW: Nanos = Nanos(1_795_219_261_250_999_999);

    fn name(number: u64) -> Segment {
        format!("2026-11-21/000101.250-w3-m-{number}.pcap").parse().unwrap()
    }

    fn hash(number: u64) -> String {
        sha256_hex(&number.to_le_bytes())
    }

    /// The deletion of a segment whose seal has that number.
    fn gone(number: u64) -> Deletion {
        let entry = Deletion::segment(Path::new("/nowhere"), &name(number), NOW, "older than 90d").unwrap();
        let seal =
            SealSummary { sha256: hash(number + 1), number: Some(number), previous: Some(hash(number)) };
        Deletion { seal: Some(seal), ..entry }
    }

    fn forgotten(number: u64, why: &str) -> Deletion {
        Deletion { deleted: DeletionKind::Keys, why: why.into(), seal: None, places: vec![7], ..gone(number) }
    }

    #[test]
    fn what_is_gone_becomes_one_entry_and_the_chain_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let signer = Arc::new(Signer::of(&[7; 32]));
        let keys = [signer.public()];
        let deletions = DeletionLog::of(dir.path(), Some(signer));
        let mut entries: Vec<Deletion> = (0..50).map(gone).collect();
        entries.insert(3, forgotten(20, "request 1"));
        // Held, moved elsewhere, and not in one run with the others.
        entries.extend([forgotten(30, "request 2"), forgotten(77, "request 3"), gone(60)]);
        deletions.append(&entries).unwrap();
        let held = |segment: &Segment| *segment == name(30);
        let before = fs::metadata(dir.path().join("deletions.log")).unwrap().len();
        let after = deletions.shorten(&held).unwrap();
        assert!(after * 4 < before, "{before} {after}");
        let log = LoggedDeletions::read(dir.path(), &keys).unwrap();
        assert_eq!(log.flaws, []);
        let entries: Vec<_> =
            log.entries.iter().map(|entry| (entry.number, entry.deleted, &*entry.why)).collect();
        let clock = "older than 90d";
        assert_eq!(
            entries[1..],
            [
                (55, DeletionKind::Segment, clock),
                (56, DeletionKind::Keys, "request 2"),
                (57, DeletionKind::Keys, "request 3")
            ]
        );
        let summary = log.entries[0].summary.as_ref().unwrap();
        let run = |first, last| {
            let seal =
                SealSummary { sha256: hash(last + 1), number: Some(first), previous: Some(hash(first)) };
            SealRun { seal, last, chain: Some("w3-m".into()) }
        };
        assert_eq!((entries[0].0, &summary.runs), (54, &vec![run(0, 29), run(31, 49), run(60, 60)]));
        let totals: Vec<_> =
            summary.totals.iter().map(|total| (&*total.why, total.entries, &*total.first)).collect();
        let first = name(0).to_string();
        assert!(
            totals.contains(&(clock, 50, &first)) && totals.iter().any(|total| total.0 == "request 1"),
            "{totals:?}"
        );
        // The log goes on, and the next time the held segment joins the runs beside it.
        deletions.append(&[gone(50)]).unwrap();
        deletions.shorten(&|_| false).unwrap();
        let log = LoggedDeletions::read(dir.path(), &keys).unwrap();
        assert_eq!(log.flaws, []);
        assert_eq!(log.entries[0].summary.as_ref().unwrap().runs, [run(0, 50), run(60, 60)]);
        assert_eq!((log.entries.len(), &*log.entries[1].why), (2, "request 3"));
        // The summary may only be the first line, and without it the rest does not verify.
        let whole = fs::read(dir.path().join("deletions.log")).unwrap();
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(LoggedDeletions::parse(lines[1], &keys).flaws, [(1, LogFlaw::Chain)]);
        let twice = [lines[0], lines[1], lines[0]].concat();
        assert_eq!(LoggedDeletions::parse(&twice, &keys).flaws, [(3, LogFlaw::Chain)]);
    }

    #[test]
    fn a_log_that_was_changed_is_not_signed_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deletions.log");
        let deletions = DeletionLog::of(dir.path(), Some(Arc::new(Signer::of(&[7; 32]))));
        deletions.append(&[gone(0), gone(1), gone(2)]).unwrap();
        let whole = fs::read(&path).unwrap();
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        let nobody = |_: &Segment| false;
        for bad in
            [[lines[0], lines[2]].concat(), whole.iter().map(|byte| byte ^ u8::from(*byte == b'9')).collect()]
        {
            fs::write(&path, &bad).unwrap();
            assert!(deletions.shorten(&nobody).is_err());
            assert_eq!(fs::read(&path).unwrap(), bad);
        }
        // Nor a log that is signed by another key, or by none.
        fs::write(&path, &whole).unwrap();
        assert!(DeletionLog::of(dir.path(), Some(Arc::new(Signer::of(&[8; 32])))).shorten(&nobody).is_err());
        assert!(DeletionLog::of(dir.path(), None).shorten(&nobody).is_err());
        assert_eq!(fs::read(&path).unwrap(), whole);
        deletions.shorten(&nobody).unwrap();
        assert_ne!(fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn reasons_without_end_become_one() {
        let mut summary = DeletionSummary::default();
        for number in 0..MOST as u64 + 300 {
            summary.add(&forgotten(number, &format!("request {number}")));
        }
        summary.merge();
        summary.merge();
        let others = summary.totals.iter().find(|total| total.why == OTHERS).map(|total| total.entries);
        assert!(summary.totals.len() <= MOST + 1 && others >= Some(300), "{others:?}");
        assert_eq!(summary.totals.iter().map(|total| total.entries).sum::<u64>(), MOST as u64 + 300);
    }

    #[test]
    fn a_summary_has_its_old_name_on_the_disk() {
        let json = serde_json::to_string(&Deletion::summary(DeletionSummary::default())).unwrap();
        assert!(json.contains(r#""deleted":"earlier""#), "{json}");
        assert!(json.contains(r#""earlier":{"runs":[],"totals":[]}"#), "{json}");
    }
}

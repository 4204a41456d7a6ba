//! The beginning of the log of deletions, taken together.
//!
//! Of a segment of which nothing is left, in the spool, in its tier, far or held, only two things are still needed: that its seal stood between two
//! others in their chain, and that it went by order. So as the log grows, what it says of such segments becomes one signed
//! entry at its beginning: for each chain the runs of seals that are gone, and totals by rule, order and case. What it says of all others stays, line by
//! line. The chain of lines goes on through it: it has the number and the hash that come after the last line before.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;

use crate::error::Error;
use crate::hex::sha256_hex;
use crate::segment::name::Segment;
use crate::trust::deletion_entry::{Deleted, Deletion, Earlier, Run, Total};
use crate::trust::deletion_log::{Deletions, Log, LogFlaw};

/// A log that is shorter is left as it is.
pub(crate) const SHORT: u64 = 1 << 20;
/// Totals; what was ordered longest ago becomes one beyond that.
const MOST: usize = 1_000;

impl Total {
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

impl Earlier {
    /// Takes in an entry that stands for itself no longer.
    fn add(&mut self, entry: &Deletion) {
        if let Some(Earlier { runs, totals }) = &entry.earlier {
            self.runs.extend(runs.iter().cloned());
            self.totals.extend(totals.iter().cloned());
            return;
        }
        if let (Deleted::Segment, Some(seal)) = (entry.deleted, &entry.seal)
            && let (Some(last), Some(_)) = (seal.number, &seal.previous)
        {
            self.runs.push(Run { seal: seal.clone(), last });
        }
        self.totals.push(Total::of(entry));
    }

    /// Makes as little of it as there can be.
    fn settle(&mut self) {
        // A run goes on where another says that it comes after its last.
        let mut runs: BTreeMap<String, Run> = BTreeMap::new();
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

        let mut totals: BTreeMap<(Deleted, String, Vec<String>), Total> = BTreeMap::new();
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
            let others = Total { why: OTHERS.to_owned(), cases: Vec::new(), ..total };
            let alike = |known: &&mut Total| known.why == OTHERS && known.deleted == others.deleted;
            match self.totals.iter_mut().find(alike) {
                Some(known) => known.add(others),
                None => self.totals.push(others),
            }
        }
    }
}

impl Deletions {
    /// Takes together what the log says of segments of which nothing is left: `is_there` knows. Tells the length of the log after it. In the turn
    /// of whoever deletes.
    ///
    /// # Errors
    ///
    /// A log that is not as it was written, or has lines of another key: signed anew, a change would look like the truth. A file
    /// that cannot be written.
    pub(crate) fn shorten(&self, is_there: &dyn Fn(&Segment) -> bool) -> Result<u64, Error> {
        let path = self.path();
        let wrong = |action| move |error| Error::io(path, action, error);
        let file = File::options().read(true).write(true).open(path).map_err(wrong("opened"))?;
        file.lock().map_err(wrong("locked"))?;
        let bytes = fs::read(path).map_err(wrong("read"))?;
        let keys: Vec<_> = self.signer().iter().map(|signer| signer.public()).collect();
        let mut log = Log::parse(&bytes, &keys);
        log.flaws.retain(|(_, flaw)| *flaw != LogFlaw::Cut);
        let signed_by_others = keys.is_empty() && log.entries.iter().any(|entry| entry.key.is_some());
        if !log.flaws.is_empty() || signed_by_others {
            let problem = "it has lines that are not as they were written, or are signed by another key, and cannot be shortened";
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
        let (mut earlier, kept) = part(log.entries, is_there);
        earlier.settle();
        let all: Vec<Deletion> = std::iter::once(Deletion::earlier(earlier)).chain(kept).collect();
        let text = self.lines(&all, number, previous);
        let fresh = path.with_extension("part");
        let write = || {
            let mut to = File::create(&fresh)?;
            to.write_all(text.as_bytes())?;
            to.sync_all()?;
            fs::rename(&fresh, path)?;
            path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
        };
        let written = write();
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        written.map_err(wrong("written"))?;
        Ok(text.len() as u64)
    }
}

/// What is taken together, and what stays.
fn part(entries: Vec<Deletion>, is_there: &dyn Fn(&Segment) -> bool) -> (Earlier, Vec<Deletion>) {
    let deleted = entries.iter().filter(|entry| entry.deleted == Deleted::Segment);
    let names: BTreeSet<&str> = deleted.map(|entry| &*entry.segment).collect();
    // What is not there and was not deleted either has been taken to another place: its entries are still asked for there.
    let is_gone = |name: &&str| name.parse::<Segment>().is_ok_and(|segment| !is_there(&segment));
    let gone: BTreeSet<String> = names.into_iter().filter(is_gone).map(ToOwned::to_owned).collect();
    let mut earlier = Earlier::default();
    let mut kept = Vec::new();
    for entry in entries {
        match entry.deleted == Deleted::Earlier || gone.contains(&entry.segment) {
            true => earlier.add(&entry),
            false => kept.push(entry),
        }
    }
    (earlier, kept)
}

const OTHERS: &str = "others, longer ago";

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use ringtap_model::Nanos;

    use super::*;
    use crate::trust::deletion_entry::SealOf;
    use crate::trust::sign::Signer;

    const NOW: Nanos = Nanos(1_795_219_261_250_999_999);

    fn name(number: u64) -> Segment {
        format!("2026-11-21/000101.250-w3-m-{number}.pcap").parse().unwrap()
    }

    fn hash(number: u64) -> String {
        sha256_hex(&number.to_le_bytes())
    }

    /// Of a segment whose seal has that number.
    fn gone(number: u64) -> Deletion {
        let entry = Deletion::segment(Path::new("/nowhere"), &name(number), NOW, "older than 90d").unwrap();
        let seal = SealOf { sha256: hash(number + 1), number: Some(number), previous: Some(hash(number)) };
        Deletion { seal: Some(seal), ..entry }
    }

    fn forgotten(number: u64, why: &str) -> Deletion {
        Deletion { deleted: Deleted::Keys, why: why.into(), seal: None, places: vec![7], ..gone(number) }
    }

    #[test]
    fn what_is_gone_becomes_one_entry_and_the_chain_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let signer = Arc::new(Signer::of(&[7; 32]));
        let keys = [signer.public()];
        let deletions = Deletions::of(dir.path(), Some(signer));
        let mut entries: Vec<Deletion> = (0..50).map(gone).collect();
        entries.insert(3, forgotten(20, "request 1"));
        // Held, moved away, and not in one run with the others.
        entries.extend([forgotten(30, "request 2"), forgotten(77, "request 3"), gone(60)]);
        deletions.append(&entries).unwrap();
        let held = |segment: &Segment| *segment == name(30);
        let before = fs::metadata(dir.path().join("deletions.log")).unwrap().len();
        let after = deletions.shorten(&held).unwrap();
        assert!(after * 4 < before, "{before} {after}");
        let log = Log::read(dir.path(), &keys).unwrap();
        assert_eq!(log.flaws, []);
        let told: Vec<_> =
            log.entries.iter().map(|entry| (entry.number, entry.deleted, &*entry.why)).collect();
        let clock = "older than 90d";
        assert_eq!(
            told[1..],
            [
                (55, Deleted::Segment, clock),
                (56, Deleted::Keys, "request 2"),
                (57, Deleted::Keys, "request 3")
            ]
        );
        let earlier = log.entries[0].earlier.as_ref().unwrap();
        let run = |first, last| {
            let seal = SealOf { sha256: hash(last + 1), number: Some(first), previous: Some(hash(first)) };
            Run { seal, last }
        };
        assert_eq!((told[0].0, &earlier.runs), (54, &vec![run(0, 29), run(31, 49), run(60, 60)]));
        let totals: Vec<_> =
            earlier.totals.iter().map(|total| (&*total.why, total.entries, &*total.first)).collect();
        let first = name(0).to_string();
        assert!(
            totals.contains(&(clock, 50, &first)) && totals.iter().any(|total| total.0 == "request 1"),
            "{totals:?}"
        );
        // It goes on, and the next time what was held joins the runs beside it.
        deletions.append(&[gone(50)]).unwrap();
        deletions.shorten(&|_| false).unwrap();
        let log = Log::read(dir.path(), &keys).unwrap();
        assert_eq!(log.flaws, []);
        assert_eq!(log.entries[0].earlier.as_ref().unwrap().runs, [run(0, 50), run(60, 60)]);
        assert_eq!((log.entries.len(), &*log.entries[1].why), (2, "request 3"));
        // It stands at the beginning alone, and nothing else does where the beginning is missing.
        let whole = fs::read(dir.path().join("deletions.log")).unwrap();
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(Log::parse(lines[1], &keys).flaws, [(1, LogFlaw::Chain)]);
        let twice = [lines[0], lines[1], lines[0]].concat();
        assert_eq!(Log::parse(&twice, &keys).flaws, [(3, LogFlaw::Chain)]);
    }

    #[test]
    fn a_log_that_was_changed_is_not_signed_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deletions.log");
        let deletions = Deletions::of(dir.path(), Some(Arc::new(Signer::of(&[7; 32]))));
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
        // Nor one by another key, or by none.
        fs::write(&path, &whole).unwrap();
        assert!(Deletions::of(dir.path(), Some(Arc::new(Signer::of(&[8; 32])))).shorten(&nobody).is_err());
        assert!(Deletions::of(dir.path(), None).shorten(&nobody).is_err());
        assert_eq!(fs::read(&path).unwrap(), whole);
        deletions.shorten(&nobody).unwrap();
        assert_ne!(fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn reasons_without_end_become_one() {
        let mut earlier = Earlier::default();
        for number in 0..MOST as u64 + 300 {
            earlier.add(&forgotten(number, &format!("request {number}")));
        }
        earlier.settle();
        earlier.settle();
        let others = earlier.totals.iter().find(|total| total.why == OTHERS).map(|total| total.entries);
        assert!(earlier.totals.len() <= MOST + 1 && others >= Some(300), "{others:?}");
        assert_eq!(earlier.totals.iter().map(|total| total.entries).sum::<u64>(), MOST as u64 + 300);
    }
}

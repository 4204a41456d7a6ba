//! A broken seal accuses itself alone, and excuses nothing that is missing beside it.

use super::*;

fn faults(report: &VerifyReport) -> Vec<(&str, &Fault)> {
    report.findings.iter().map(|finding| (finding.place.as_str(), &finding.fault)).collect()
}

fn break_seal(dir: &Path, segment: &Segment) {
    let path = segment.seal_path(dir);
    let mut bytes = fs::read(&path).expect("a seal");
    let last = bytes.len() - 2;
    bytes[last] ^= 1;
    fs::write(path, bytes).expect("a seal");
}

fn remove(dir: &Path, segment: &Segment) {
    segment.files(dir).iter().for_each(|path| fs::remove_file(path).expect("a file"));
}

fn expire(dir: &Path, segment: &Segment) {
    let deletions = DeletionLog::of(dir, Some(signer()));
    let entry = Deletion::segment(dir, segment, START, "older than 90d").expect("a seal");
    deletions.append(&[entry]).expect("a log");
    remove(dir, segment);
}

#[test]
fn a_broken_seal_beside_expired_segments_accuses_itself_alone() {
    let case = Case::new();
    let all = of(&case.dir, Category::Media);
    assert!(all.len() >= 4);
    for broken in 0..all.len() {
        for first in 0..all.len() {
            for last in (first..all.len()).filter(|last| !(first..=*last).contains(&broken)) {
                let dir = case.copied();
                all[first..=last].iter().for_each(|segment| expire(dir, segment));
                break_seal(dir, &all[broken]);
                let report = look(dir);
                assert_eq!(faults(&report), [(all[broken].as_str(), &Fault::Seal)], "{first}..={last}");
            }
        }
    }
}

#[test]
fn a_broken_seal_excuses_no_missing_segment() {
    let case = Case::new();
    let all = of(&case.dir, Category::Media);
    for broken in 0..all.len() {
        for gone in (0..all.len()).filter(|gone| *gone != broken) {
            let dir = case.copied();
            break_seal(dir, &all[broken]);
            remove(dir, &all[gone]);
            let report = look(dir);
            let found = faults(&report);
            assert!(found.contains(&(all[broken].as_str(), &Fault::Seal)), "{found:?}");
            // It is named itself if the head names it, or the next segment whose seal can be followed.
            let is_told = found.iter().any(|(place, fault)| match fault {
                Fault::Gone => *place == all[gone].as_str(),
                Fault::CutOut { from, to } => (*from..=*to).contains(&(gone as u64)),
                _ => false,
            });
            assert!(is_told, "{broken} broken, {gone} gone: {found:?}");
        }
    }
}

/// Its number is in the log already.
#[test]
fn a_seal_put_back_beside_a_deleted_segment_excuses_no_missing_one() {
    let case = Case::new();
    let all = of(&case.dir, Category::Media);
    let dir = case.copied();
    expire(dir, &all[0]);
    fs::copy(all[0].seal_path(&case.dir), all[0].seal_path(dir)).unwrap();
    break_seal(dir, &all[0]);
    assert_eq!(look(dir).findings, []);
    remove(dir, &all[1]);
    assert_eq!(faults(&look(dir)), [(all[2].as_str(), &Fault::CutOut { from: 1, to: 1 })]);
}

#[test]
fn the_head_of_another_chain_is_no_head() {
    let case = Case::new();
    for (from, to) in [("w0-m.head", "w0-s.head"), ("w0-s.head", "w0-m.head"), ("w0-p.head", "w0-m.head")] {
        let dir = case.copied();
        fs::copy(case.dir.join(from), dir.join(to)).unwrap();
        assert_eq!(faults(&look(dir)), [(to, &Fault::BadHead)]);
    }
}

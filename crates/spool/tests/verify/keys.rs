//! Key files that are cut, deleted or those of other owners: the chunks that nobody can read any more are
//! named.

use super::*;

type Spoil = fn(&mut Vec<u8>);

fn keyless(report: &VerifyReport) -> Vec<(&str, u64, u64)> {
    let faults = report.findings.iter().filter_map(|finding| match finding.fault {
        Fault::Keyless { offset, chunks } => Some((finding.place.as_str(), offset, chunks)),
        _ => None,
    });
    faults.collect()
}

/// The chunks of a segment whose key has this row or a later one.
fn from_row(segment: &Segment, dir: &Path, first: u32) -> (u64, u64) {
    let rows = scan(&fs::read(segment.path(dir)).expect("a segment")).rows;
    let mut without = rows.iter().filter(|row| row.chunk.key >= first);
    let offset = without.next().map_or(0, |row| row.offset);
    (offset, 1 + without.count() as u64)
}

#[test]
fn chunks_whose_keys_are_cut_off_or_gone_are_named_in_every_spool() {
    let spoils: [(Spoil, u32); 4] = [
        (|keys| keys.truncate(keys.len() - 96), 1),
        (|keys| keys.truncate(keys.len() - 1), 1),
        (|keys| keys.truncate(96), 0),
        (Vec::clear, 0),
    ];
    for sign in [Some(signer()), None] {
        let case = Case::with(|settings| WriterSettings { sign, ..settings });
        let segment = of(&case.dir, Category::Signalling)[1].clone();
        let options = |quick| VerifyOptions { quick, ..VerifyOptions::default() };
        let look = |dir, quick| verify(&[dir], &options(quick), &mut |_, _| ()).unwrap();
        assert_eq!(look(&case.dir, false).findings, []);
        let path = segment.keys_path(&case.dir);
        let whole = fs::read(&path).unwrap();
        let rows = (whole.len() / 96) as u32 - 1;
        assert!(rows >= 2);
        for (spoil, left) in spoils {
            let dir = case.copied();
            let mut bytes = whole.clone();
            spoil(&mut bytes);
            fs::write(segment.keys_path(dir), bytes).unwrap();
            let (offset, chunks) = from_row(&segment, dir, left * (rows - 1));
            for quick in [false, true] {
                let report = look(dir, quick);
                assert_eq!(keyless(&report), [(segment.as_str(), offset, chunks)], "{:?}", report.findings);
            }
        }
        let dir = case.copied();
        fs::remove_file(segment.keys_path(dir)).unwrap();
        let (offset, chunks) = from_row(&segment, dir, 0);
        assert_eq!(keyless(&look(dir, false)), [(segment.as_str(), offset, chunks)]);
        // Those of another segment, with as many rows: the owners are others.
        let other = &of(dir, Category::Media)[1];
        fs::copy(other.keys_path(dir), segment.keys_path(dir)).unwrap();
        assert_eq!(keyless(&look(dir, false)).len(), 1);
    }
}

/// The seal of a recovered segment says what was there, not that it can be read.
#[test]
fn a_recovered_segment_without_its_keys_is_named() {
    let case = Case::new();
    let dir = case.copied();
    let all = of(dir, Category::Media);
    let last = all.last().unwrap();
    fs::copy(all[all.len() - 2].seal_path(dir), dir.join("w0-m.head")).unwrap();
    for path in [last.index_path(dir), last.seal_path(dir), last.keys_path(dir)] {
        fs::remove_file(path).unwrap();
    }
    let (offset, chunks) = from_row(last, dir, 0);
    assert_eq!(keyless(&look(dir)), [(last.as_str(), offset, chunks)]);
    write(settings(dir), START + Nanos::from_secs(100), 3);
    let report = look(dir);
    assert_eq!((report.recovered, keyless(&report)), (1, vec![(last.as_str(), offset, chunks)]));
}

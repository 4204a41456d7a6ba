//! Segments that are being written, or whose writer was killed: no seal proves them, the signed list of open
//! ones names them.

use ed25519_dalek::{Signer as _, SigningKey};
use ringtap_spool::Finding;

use super::*;

/// As a kill leaves a spool while its newest segment of media is written.
fn killed(case: &Case) -> (&Path, Segment) {
    let dir = case.copied();
    let mut all = of(dir, Category::Media);
    let last = all.pop().expect("segments");
    fs::copy(all[all.len() - 1].seal_path(dir), dir.join("w0-m.head")).expect("a head");
    fs::remove_file(last.index_path(dir)).expect("removed");
    fs::remove_file(last.seal_path(dir)).expect("removed");
    (dir, last)
}

fn plain() -> Case {
    Case::with(|settings| WriterSettings { sign: None, seal: None, ..settings })
}

/// Puts a segment of an unsealed spool in the place of one that is open, without keys.
fn replace(plain: &Case, dir: &Path, open: &Segment) {
    fs::copy(of(&plain.dir, Category::Media)[1].path(&plain.dir), open.path(dir)).expect("a copy");
    fs::remove_file(open.keys_path(dir)).expect("removed");
}

fn packets(dir: &Path) -> (usize, Vec<Segment>) {
    let mut reader = Reader::open(dir).expect("a directory");
    reader.add_key(MasterKey::of([7; 32]));
    let segments = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
    let found = reader.read(&[1, 4, 7], &segments).expect("readable");
    (found.len(), reader.foreign().cloned().collect())
}

/// Whoever has no key can take all sealed chunks of an open segment away, with their keys, and put others in.
#[test]
fn an_open_segment_of_a_sealed_spool_has_sealed_chunks_alone() {
    let (case, plain) = (Case::new(), plain());
    let (dir, open) = killed(&case);
    assert_eq!((look(dir).findings, packets(dir).1), (vec![], vec![]));
    let all = packets(dir).0;
    fs::remove_file(open.path(dir)).unwrap();
    let others = packets(dir).0;
    assert!(others < all);
    replace(&plain, dir, &open);
    let report = look(dir);
    let chunks = scan(&fs::read(open.path(dir)).unwrap()).rows;
    let fault = Fault::Plain { offset: chunks[0].offset, chunks: chunks.len() as u64 };
    assert_eq!(report.findings, [Finding { place: open.to_string(), fault }]);
    assert_eq!(packets(dir), (others, vec![open.clone()]));
    // One is enough, beside sealed ones and their keys.
    let (dir, open) = killed(&case);
    let mut bytes = fs::read(open.path(dir)).unwrap();
    let rows = scan(&bytes).rows;
    let at = rows[rows.len() - 1].offset;
    bytes.truncate(at as usize);
    let foreign = fs::read(of(&plain.dir, Category::Media)[1].path(&plain.dir)).unwrap();
    let rows = scan(&foreign).rows;
    bytes.extend_from_slice(&foreign[rows[0].offset as usize..rows[1].offset as usize]);
    fs::write(open.path(dir), bytes).unwrap();
    let fault = Fault::Plain { offset: at, chunks: 1 };
    assert_eq!(look(dir).findings, [Finding { place: open.to_string(), fault }]);
}

/// Nor does a start seal them as what was recovered, with the master key or without it.
#[test]
fn a_start_without_the_master_key_recovers_no_chunk_that_had_to_be_sealed() {
    let (case, plain) = (Case::new(), plain());
    for seal in [settings(&case.dir).seal, None] {
        let (dir, open) = killed(&case);
        replace(&plain, dir, &open);
        let put_in = fs::read(open.path(dir)).unwrap();
        write(WriterSettings { seal, ..settings(dir) }, START + Nanos::from_secs(100), 3);
        assert_eq!(fs::read(dir.join("quarantine").join(open.as_str())).unwrap(), put_in);
        assert_eq!(scan(&fs::read(open.path(dir)).unwrap()).rows, []);
        assert_eq!(look(dir).findings, []);
    }
}

/// The chunks of a writer that did not seal them are evidence though the next one seals.
#[test]
fn a_segment_left_open_before_chunks_were_sealed_is_recovered_whole() {
    let case = Case::with(|settings| WriterSettings { seal: None, ..settings });
    let (dir, open) = killed(&case);
    let (written, chunks) = (packets(dir), scan(&fs::read(open.path(dir)).unwrap()).rows);
    assert_eq!((written.1.len(), chunks.is_empty(), look(dir).findings), (0, false, vec![]));
    SpoolWriter::open(settings(dir)).unwrap().close(START + Nanos::from_secs(100));
    assert_eq!(scan(&fs::read(open.path(dir)).unwrap()).rows, chunks);
    assert!(!dir.join("quarantine").exists());
    let report = look(dir);
    assert_eq!((report.recovered, report.findings, packets(dir)), (1, vec![], written));
}

/// A list that an earlier version wrote says nothing of it.
#[test]
fn a_list_of_an_earlier_version_is_read_as_before() {
    let case = Case::new();
    let (dir, open) = killed(&case);
    let list = fs::read_to_string(dir.join("w0-m.open")).unwrap();
    let said = list.split_once(",\"sealed\":true").expect("the list says it");
    assert_eq!(said.1.matches("sealed").count(), 0);
    let older = [said.0, said.1].concat();
    let json = older.split_once('\t').expect("signed").0;
    let signature = SigningKey::from_bytes(&[3; 32]).sign(json.as_bytes());
    let hex: String = signature.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(dir.join("w0-m.open"), format!("{json}\t{hex}\n")).unwrap();
    assert_eq!((look(dir).findings, packets(dir).1), (vec![], vec![]));
    write(settings(dir), START + Nanos::from_secs(100), 3);
    let report = look(dir);
    assert_eq!((report.recovered, report.findings), (1, vec![]));
    assert!(scan(&fs::read(open.path(dir)).unwrap()).rows.len() > 1);
}

//! Changes, cuts, additions and reordering are found and named; what was done by order is not.

mod attacks;
mod broken;
mod bytes;
mod keys;
mod open;
mod provenance;
mod reading;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{
    Category, Damage, Deletion, DeletionLog, Fault, Flaw, ForgetOrder, KnownHead, MasterKey, PublicKey,
    Reader, Segment, Signer, SpoolWriter, VerifyOptions, VerifyReport, WriterSettings, forget, scan, verify,
};

const START: Nanos = Nanos::from_secs(1_795_219_200);
const ORDER: ForgetOrder<'_> = ForgetOrder { why: "asked for", at: START, product: false };

fn signer() -> Arc<Signer> {
    Arc::new(Signer::of(&[3; 32]))
}

fn settings(dir: &Path) -> WriterSettings {
    WriterSettings {
        memory: 70 * 4096,
        owners: 20,
        span: Nanos::from_secs(2),
        wait: true,
        seal: Some(MasterKey::of([7; 32])),
        sign: Some(signer()),
        ..WriterSettings::new(dir.to_owned())
    }
}

/// Four owners of each category for so many seconds.
fn write(settings: WriterSettings, start: Nanos, seconds: u64) -> Nanos {
    let mut writer = SpoolWriter::open(settings).expect("a spool");
    let written = writer.written();
    let owners: Vec<_> = (0..8u64)
        .map(|owner| {
            writer.begin(Category::ALL[owner as usize % Category::ALL.len()], owner).expect("a place")
        })
        .collect();
    let mut now = start;
    for number in 0..seconds * 50 {
        for owner in &owners {
            let mut data = [0x55; 120];
            data[100..108].copy_from_slice(&number.to_be_bytes());
            now += Nanos(2_500_000);
            writer
                .put(*owner, &Frame { time: now, number: 1, link: LinkType(1), wire_len: 120, data: &data });
        }
        writer.tick(now);
    }
    writer.close(now);
    assert_eq!((written.failure().map(|error| error.to_string()), written.lost_packets()), (None, 0));
    now
}

fn segments(dir: &Path) -> Vec<Segment> {
    Reader::open(dir).expect("a directory").between(Nanos::ZERO, Nanos::MAX).expect("segments")
}

fn of(dir: &Path, category: Category) -> Vec<Segment> {
    segments(dir).into_iter().filter(|segment| segment.category() == category).collect()
}

fn look(dir: &Path) -> VerifyReport {
    let keys = vec![signer().public()];
    verify(&[dir], &VerifyOptions { keys, quick: false, ..VerifyOptions::default() }, &mut |_, _| ())
        .expect("readable")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy")),
        }
    }
}

/// A signed spool, and a directory for copies of it.
struct Case {
    _dir: tempfile::TempDir,
    dir: PathBuf,
    scratch: PathBuf,
}

impl Case {
    fn new() -> Self {
        Self::with(|settings| settings)
    }

    fn with(change: impl FnOnce(WriterSettings) -> WriterSettings) -> Self {
        let temporary = tempfile::tempdir().expect("a directory");
        let (dir, scratch) = (temporary.path().join("spool"), temporary.path().join("copy"));
        write(change(settings(&dir)), START, 12);
        Self { _dir: temporary, dir, scratch }
    }

    fn copied(&self) -> &Path {
        let _ = fs::remove_dir_all(&self.scratch);
        copy(&self.dir, &self.scratch);
        &self.scratch
    }
}

/// A generator with the same numbers every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
}

#[test]
fn a_spool_as_it_was_written_is_proven() {
    let case = Case::new();
    let verdict = look(&case.dir);
    assert_eq!(verdict.findings, []);
    let all = segments(&case.dir).len() as u64;
    assert!(all >= 6);
    assert_eq!((verdict.segments, verdict.proven, verdict.unsigned, verdict.recovered), (all, all, 0, 0));
    assert_eq!((verdict.key, verdict.heads.len(), verdict.open.len()), (Some(signer().public()), 3, 0));
    // Without a key, the key of the seals is used; with another key nothing is proven.
    let told = verify(&[&case.dir], &VerifyOptions::default(), &mut |_, _| ()).unwrap();
    assert_eq!(told, verdict);
    let other = PublicKey([9; 32]);
    let told = verify(
        &[&case.dir],
        &VerifyOptions { keys: vec![other], quick: false, ..VerifyOptions::default() },
        &mut |_, _| (),
    )
    .unwrap();
    assert_eq!(told.proven, 0);
    assert!(told.findings.iter().all(|finding| finding.fault == Fault::Key(signer().public())));
    // One for each segment, and for the head and the list of open segments of each chain.
    assert_eq!(told.findings.len() as u64, all + 6);
}

#[test]
fn a_byte_flipped_anywhere_is_found_and_named() {
    let case = Case::new();
    let mut files: Vec<(Segment, PathBuf)> = Vec::new();
    for segment in segments(&case.dir) {
        let there: Vec<PathBuf> = segment.files(&case.dir).into_iter().filter(|path| path.exists()).collect();
        assert_eq!(there.len(), 4);
        files.extend(there.into_iter().map(|path| (segment.clone(), path)));
    }
    let mut dice = Dice(1);
    for round in 0..1_000 {
        let (segment, path) = &files[dice.below(files.len())];
        let whole = fs::read(path).unwrap();
        let (at, bit) = (dice.below(whole.len()), dice.below(8));
        let mut bad = whole.clone();
        bad[at] ^= 1 << bit;
        fs::write(path, &bad).unwrap();
        let verdict = look(&case.dir);
        let shown = format!("round {round}: byte {at} bit {bit} of {}", path.display());
        assert!(!verdict.findings.is_empty(), "{shown}");
        assert!(
            verdict.findings.iter().all(|finding| finding.place == segment.as_str()),
            "{shown}: {:?}",
            verdict.findings
        );
        fs::write(path, &whole).unwrap();
        let near = |offset: u64| (offset..offset + 80_000).contains(&(at as u64));
        match path.extension().unwrap().to_str().unwrap() {
            "pcap" => assert!(
                verdict.findings.iter().all(|finding| match finding.fault {
                    Fault::Changed(damage) =>
                        near(damage.offset)
                            || matches!(damage.what, Flaw::Missing { .. } | Flaw::NotASegment | Flaw::Open),
                    Fault::Rewritten => true,
                    _ => false,
                }),
                "{shown}: {:?}",
                verdict.findings
            ),
            "keys" => assert_eq!(verdict.findings[0].fault, Fault::KeyRow(at as u64 / 96), "{shown}"),
            "idx" => assert!(matches!(verdict.findings[0].fault, Fault::Index(_)), "{shown}"),
            _ => assert_eq!(verdict.findings[0].fault, Fault::Seal, "{shown}"),
        }
    }
    assert_eq!(look(&case.dir).findings, []);
}

#[test]
fn a_segment_cut_anywhere_is_named_and_gives_every_chunk_before_the_cut() {
    let case = Case::new();
    let all = segments(&case.dir);
    let mut dice = Dice(2);
    for round in 0..1_000 {
        let segment = &all[dice.below(all.len())];
        let path = segment.path(&case.dir);
        let whole = fs::read(&path).unwrap();
        let cut = dice.below(whole.len());
        fs::write(&path, &whole[..cut]).unwrap();
        let rows = scan(&whole).rows;
        // The length of a marker in an Ethernet segment.
        let end = |row: &ringtap_spool::IndexRow| row.offset + 98 + u64::from(row.chunk.length);
        let before = rows.iter().filter(|row| end(row) <= cut as u64).count();
        assert_eq!(scan(&whole[..cut]).rows, rows[..before], "round {round}: {segment} cut at {cut}");
        let verdict = look(&case.dir);
        let first = &verdict.findings[0];
        assert_eq!(first.place, segment.as_str());
        assert_eq!(first.fault, Fault::Length { sealed: whole.len() as u64, found: cut as u64 });
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn a_segment_that_was_cut_out_is_missed() {
    let case = Case::new();
    for category in Category::ALL {
        let all = of(&case.dir, category);
        for (place, segment) in all.iter().enumerate() {
            // The segment alone; then with all files beside it.
            let dir = case.copied();
            fs::remove_file(segment.path(dir)).unwrap();
            let verdict = look(dir);
            assert_eq!(verdict.findings.len(), 1, "{:?}", verdict.findings);
            assert_eq!(
                (verdict.findings[0].place.as_str(), &verdict.findings[0].fault),
                (segment.as_str(), &Fault::Gone)
            );
            for path in segment.files(dir) {
                let _ = fs::remove_file(path);
            }
            let verdict = look(dir);
            assert_eq!(verdict.findings.len(), 1, "{:?}", verdict.findings);
            let number = place as u64;
            match all.get(place + 1) {
                Some(next) => {
                    assert_eq!(verdict.findings[0].place, next.as_str());
                    assert_eq!(verdict.findings[0].fault, Fault::CutOut { from: number, to: number });
                }
                // The head of the chain names it.
                None => {
                    assert_eq!(
                        (verdict.findings[0].place.as_str(), &verdict.findings[0].fault),
                        (segment.as_str(), &Fault::Gone)
                    );
                }
            }
        }
    }
}

#[test]
fn what_was_deleted_by_order_is_no_gap() {
    let case = Case::new();
    let all = of(&case.dir, Category::Media);
    assert!(all.len() >= 3);
    let pairs = (0..all.len()).flat_map(|from| (from..all.len()).map(move |to| from..=to));
    for gone in pairs {
        let dir = case.copied();
        let deletions = DeletionLog::of(dir, Some(signer()));
        for segment in &all[gone.clone()] {
            deletions.append(&[Deletion::segment(dir, segment, START, "older than 90d").unwrap()]).unwrap();
            for path in segment.files(dir) {
                fs::remove_file(path).unwrap();
            }
        }
        let verdict = look(dir);
        assert_eq!(verdict.findings, [], "{gone:?}");
        assert_eq!(verdict.deleted, gone.clone().count() as u64);
        // The chain goes on, and is still complete.
        write(settings(dir), START + Nanos::from_secs(100), 3);
        let verdict = look(dir);
        assert_eq!(verdict.findings, [], "{gone:?}");
        // Without the log there is a gap; with a log of another signer as well.
        let path = dir.join("deletions.log");
        let log = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let verdict = look(dir);
        assert!(
            matches!(verdict.findings[..], [ref finding] if matches!(finding.fault, Fault::CutOut { .. })),
            "{:?}",
            verdict.findings
        );
        let forged = DeletionLog::of(dir, Some(Arc::new(Signer::of(&[9; 32]))));
        forged.append(&[Deletion::segment(dir, &all[0], START, "forged").unwrap()]).unwrap();
        assert_eq!(look(dir).findings.len(), 2);
        fs::write(&path, &log[..log.len() / 2]).unwrap();
        assert!(!look(dir).findings.is_empty());
    }
}

#[test]
fn swapped_segments_are_named() {
    let case = Case::new();
    for category in Category::ALL {
        let all = of(&case.dir, category);
        for kinds in [&["pcap"][..], &["pcap", "idx", "keys", "seal"]] {
            let dir = case.copied();
            for kind in kinds {
                let (a, b) = (all[0].path(dir).with_extension(kind), all[1].path(dir).with_extension(kind));
                let (a_bytes, b_bytes) = (fs::read(&a).unwrap(), fs::read(&b).unwrap());
                fs::write(a, b_bytes).unwrap();
                fs::write(b, a_bytes).unwrap();
            }
            let verdict = look(dir);
            assert_eq!(verdict.findings[0].place, all[0].as_str());
            assert!(verdict.findings.iter().any(|finding| finding.place == all[1].as_str()));
            let two = [all[0].as_str(), all[1].as_str()];
            assert!(verdict.findings.iter().all(|finding| two.contains(&finding.place.as_str())));
            if kinds.len() > 1 {
                assert_eq!(verdict.findings[0].fault, Fault::Misplaced(all[1].to_string()));
            }
        }
    }
}

#[test]
fn what_is_signed_anew_by_another_key_is_named() {
    // The same traffic under another key: its segments, seals included, replace one.
    let (case, other) = (
        Case::new(),
        Case::with(|settings| WriterSettings { sign: Some(Arc::new(Signer::of(&[4; 32]))), ..settings }),
    );
    let all = segments(&case.dir);
    assert_eq!(segments(&other.dir), all);
    for segment in &all {
        let dir = case.copied();
        for (from, to) in segment.files(&other.dir).iter().zip(segment.files(dir)) {
            fs::copy(from, to).unwrap();
        }
        for keys in [vec![signer().public()], Vec::new()] {
            let verdict = verify(
                &[dir],
                &VerifyOptions { keys, quick: true, ..VerifyOptions::default() },
                &mut |_, _| (),
            )
            .unwrap();
            assert_eq!(verdict.findings.len(), 1, "{:?}", verdict.findings);
            assert_eq!(verdict.findings[0].place, segment.as_str());
            assert_eq!(verdict.findings[0].fault, Fault::Key(Signer::of(&[4; 32]).public()));
        }
    }
    // A segment that was added, without a seal.
    let dir = case.copied();
    let within = &of(dir, Category::Media)[1];
    fs::remove_file(within.seal_path(dir)).unwrap();
    let verdict = look(dir);
    assert_eq!(
        (verdict.findings[0].place.as_str(), &verdict.findings[0].fault),
        (within.as_str(), &Fault::Unsealed)
    );
}

#[test]
fn a_chunk_with_a_new_checksum_is_not_what_was_sealed() {
    let case = Case::with(|settings| WriterSettings { seal: None, ..settings });
    let segment = &segments(&case.dir)[1];
    // Another segment's first chunk, with its marker, has every checksum.
    let (path, other) = (segment.path(&case.dir), segments(&case.dir)[3].path(&case.dir));
    let (mut bytes, other) = (fs::read(&path).unwrap(), fs::read(other).unwrap());
    let (to, from) = (scan(&bytes).rows[0], scan(&other).rows[0]);
    assert_eq!(to.chunk.length, from.chunk.length);
    let length = 98 + to.chunk.length as usize;
    bytes[to.offset as usize..][..length].copy_from_slice(&other[from.offset as usize..][..length]);
    assert_eq!(scan(&bytes).damages, []);
    fs::write(&path, bytes).unwrap();
    let verdict = look(&case.dir);
    assert_eq!(
        (verdict.findings[0].place.as_str(), &verdict.findings[0].fault),
        (segment.as_str(), &Fault::Rewritten)
    );
}

#[test]
fn what_a_writer_left_when_it_was_stopped_is_sealed_by_the_next() {
    let case = Case::new();
    for category in Category::ALL {
        for cut in ["the end", "half", "everything"] {
            let dir = case.copied();
            let all = of(dir, category);
            let last = &all[all.len() - 1];
            // As after a kill: no index, no seal, an older head, the last block perhaps incomplete.
            let before = fs::read(all[all.len() - 2].seal_path(dir)).unwrap();
            let head = dir.join(format!("w0-{}.head", &category.name()[..1]));
            assert!(head.exists());
            fs::write(head, before).unwrap();
            fs::remove_file(last.index_path(dir)).unwrap();
            fs::remove_file(last.seal_path(dir)).unwrap();
            let bytes = fs::read(last.path(dir)).unwrap();
            let end = match cut {
                "the end" => scan(&bytes).rows.last().unwrap().offset as usize,
                "half" => bytes.len() / 2,
                _ => 0,
            };
            fs::write(last.path(dir), &bytes[..end]).unwrap();
            let verdict = look(dir);
            assert_eq!(verdict.findings, []);
            assert_eq!(verdict.open, [(last.clone(), scan(&bytes[..end]).rows.len() as u64)]);
            write(settings(dir), START + Nanos::from_secs(100), 3);
            let verdict = look(dir);
            assert_eq!(verdict.findings, []);
            assert_eq!((verdict.recovered, verdict.open.len(), verdict.proven), (1, 0, verdict.segments));
            assert!(last.index_path(dir).exists());
            let seal = fs::read_to_string(last.seal_path(dir)).unwrap();
            let said = if end == 0 { "not a segment" } else { "the segment was never closed" };
            assert!(seal.contains("\"recovered\"") && seal.contains(said), "{seal}");
        }
    }
}

#[test]
fn what_was_forgotten_by_order_is_still_proven() {
    let case = Case::new();
    let dir = case.copied();
    let end = START + Nanos::from_secs(60);
    let deletions = DeletionLog::of(dir, Some(signer()));
    let done = forget(&[dir], None, &[4], START..end, &deletions, ORDER).unwrap();
    let verdict = look(dir);
    assert_eq!(verdict.findings, []);
    assert_eq!((verdict.forgotten, verdict.proven), (done.keys, verdict.segments));
    // Without an order there is one fault for each key.
    fs::remove_file(dir.join("deletions.log")).unwrap();
    let verdict = look(dir);
    assert_eq!(verdict.findings.len() as u64, done.keys);
    assert!(verdict.findings.iter().all(|finding| matches!(finding.fault, Fault::Forgotten(_))));
}

#[test]
fn plain_chunks_erased_by_order_are_told_apart_from_changes() {
    let case = Case::with(|settings| WriterSettings { seal: None, ..settings });
    let dir = case.copied();
    let end = START + Nanos::from_secs(60);
    let deletions = DeletionLog::of(dir, Some(signer()));
    let done = forget(&[dir], None, &[4], START..end, &deletions, ORDER).unwrap();
    let verdict = look(dir);
    assert_eq!(verdict.findings, []);
    assert_eq!((verdict.erased, verdict.altered), (done.chunks, of(dir, Category::Media).len() as u64));
    fs::remove_file(dir.join("deletions.log")).unwrap();
    let verdict = look(dir);
    assert!(
        verdict.findings.iter().all(|finding| matches!(finding.fault, Fault::Erased(_) | Fault::Rewritten))
    );
    assert!(verdict.findings.len() as u64 >= done.chunks);
}

#[test]
fn without_signatures_checksums_tell() {
    let case = Case::with(|settings| WriterSettings { sign: None, ..settings });
    let all = segments(&case.dir);
    let none = VerifyOptions::default();
    let verdict = verify(&[&case.dir], &none, &mut |_, _| ()).unwrap();
    assert_eq!((verdict.findings.len(), verdict.proven, verdict.unsigned), (0, 0, all.len() as u64));
    assert_eq!((verdict.key, verdict.heads.len()), (None, 0));
    let mut dice = Dice(3);
    for _ in 0..50 {
        let segment = &all[dice.below(all.len())];
        let path = segment.path(&case.dir);
        let whole = fs::read(&path).unwrap();
        let rows = scan(&whole).rows;
        let row = rows[dice.below(rows.len())];
        let mut bad = whole.clone();
        bad[row.offset as usize + 98 + dice.below(row.chunk.length as usize)] ^= 1;
        fs::write(&path, bad).unwrap();
        let verdict = verify(&[&case.dir], &none, &mut |_, _| ()).unwrap();
        assert_eq!(verdict.findings.len(), 1);
        assert_eq!(verdict.findings[0].place, segment.as_str());
        assert!(
            verdict.findings[0].fault == Fault::Changed(Damage { offset: row.offset, what: Flaw::Changed })
        );
        // A cut segment is named by its index, also if it is not read.
        fs::write(&path, &whole[..row.offset as usize + 50]).unwrap();
        for quick in [false, true] {
            let verdict =
                verify(&[&case.dir], &VerifyOptions { quick, ..VerifyOptions::default() }, &mut |_, _| ())
                    .unwrap();
            assert_eq!(verdict.findings[0].place, segment.as_str());
        }
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn noise_in_any_file_is_found_and_stops_nobody() {
    let case = Case::new();
    let mut dice = Dice(4);
    for round in 0..200 {
        let dir = case.copied();
        let all = segments(dir);
        let segment = &all[dice.below(all.len())];
        let path = match round % 6 {
            0..4 => segment.files(dir)[round % 4].clone(),
            4 => dir.join("deletions.log"),
            _ => dir.join("w0-m.head"),
        };
        let mut bytes = fs::read(&path).unwrap_or_default();
        bytes.truncate(dice.below(bytes.len() + 1));
        let noise = dice.below(300);
        bytes.extend((0..noise).map(|_| dice.below(256) as u8));
        fs::write(&path, bytes).unwrap();
        let verdict = look(dir);
        // A log that ends within a line, and an invalid head, are ignored.
        assert!(round % 6 >= 4 || !verdict.findings.is_empty(), "round {round}: {}", path.display());
        // A writer goes on all the same, and the faults are still found.
        if round % 20 == 0 && round % 6 < 4 {
            write(settings(dir), START + Nanos::from_secs(100), 1);
            assert!(!look(dir).findings.is_empty());
        }
    }
}

#[test]
fn progress_is_told_to_the_end() {
    let case = Case::new();
    let mut seen = Vec::new();
    verify(&[&case.dir], &VerifyOptions::default(), &mut |done, total| seen.push((done, total))).unwrap();
    let total: u64 =
        segments(&case.dir).iter().map(|segment| segment.path(&case.dir).metadata().unwrap().len()).sum();
    assert_eq!(seen.last(), Some(&(total, total)));
    assert!(verify(&[&case.dir.join("nothing")], &VerifyOptions::default(), &mut |_, _| ()).is_err());
}

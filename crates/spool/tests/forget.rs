//! Erased packets are gone, other packets are as they were, and the log says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{
    Category, DeletionKind, DeletionLog, ForgetOrder, LoggedDeletions, Reader, Segment, SpoolWriter,
    WriterSettings, forget, scan,
};

const START: Nanos = Nanos::from_secs(1_795_219_200);
const ORDER: ForgetOrder<'_> = ForgetOrder { why: "asked for", at: START, product: false };

/// Packets of two calls with the same owners, an hour apart: 32 bytes of the owner's letter and of the
/// call's.
fn spool(dir: &Path, link: u16) -> Nanos {
    let settings = WriterSettings {
        memory: 70 * 4096,
        owners: 10,
        link: LinkType(link),
        wait: true,
        ..WriterSettings::new(dir.to_owned())
    };
    let mut writer = SpoolWriter::open(settings).expect("a spool");
    let mut now = START;
    for call in b'0'..=b'1' {
        let owners: Vec<_> =
            (1..=4).map(|owner| writer.begin(Category::Media, owner).expect("a place")).collect();
        for _ in 0..2_000 {
            for (owner, letter) in owners.iter().zip(b'a'..) {
                let data = [&[0x45, 0, 0, 52, 0, 0, 0, 0, 64, 17][..], &[letter; 31], &[call]].concat();
                now += Nanos::from_millis(5);
                let wire_len = data.len() as u32;
                writer.put(
                    *owner,
                    &Frame { time: now, number: 1, link: LinkType(link), wire_len, data: &data },
                );
            }
            writer.tick(now);
        }
        owners.into_iter().for_each(|owner| assert_eq!(writer.finish(owner, now).expect("an owner").lost, 0));
        now += Nanos::from_secs(3_600);
        writer.tick(now);
    }
    writer.close(now);
    now
}

fn paths(dir: &Path) -> Vec<PathBuf> {
    let reader = Reader::open(dir).expect("a directory");
    let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
    all.iter().map(|segment| segment.path(dir)).collect()
}

/// How often packets of an owner in a call are in the files.
fn said(dir: &Path, owner: u8, call: u8) -> usize {
    let needle = [&[b'a' + owner - 1; 31][..], &[call]].concat();
    let count = |bytes: &[u8]| bytes.windows(32).filter(|window| *window == needle).count();
    paths(dir).iter().map(|path| count(&fs::read(path).expect("a segment"))).sum()
}

#[test]
fn a_call_is_forgotten_and_no_other() {
    for link in [1, 101] {
        for indexed in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let dir = dir.path();
            let end = spool(dir, link);
            if !indexed {
                paths(dir).iter().for_each(|path| fs::remove_file(path.with_extension("idx")).unwrap());
            }
            assert_eq!((said(dir, 2, b'0'), said(dir, 2, b'1')), (2_000, 2_000));
            let deletions = DeletionLog::of(dir, None);
            let first = START..START + Nanos::from_secs(1_800);
            let done = forget(&[dir], None, &[2, 3], first.clone(), &deletions, ORDER).unwrap();
            assert_eq!((done.packets, done.already, done.missed), (4_000, 0, 0), "{done:?}");
            assert!(done.chunks >= 8, "{done:?}");
            let mut reader = Reader::open(dir).unwrap();
            for owner in 1..=4u8 {
                let gone = [2, 3].contains(&owner);
                assert_eq!(said(dir, owner, b'0'), if gone { 0 } else { 2_000 });
                assert_eq!(said(dir, owner, b'1'), 2_000);
                let segments = reader.between(START, end).unwrap();
                let found = reader.read(&[owner.into()], &segments).unwrap();
                assert_eq!(found.len(), if gone { 2_000 } else { 4_000 });
                assert_eq!((found.damaged, found.erased > 0), (0, gone));
            }
            // Nothing is damaged by it.
            for path in paths(dir) {
                let scan = scan(&fs::read(path).unwrap());
                assert_eq!(scan.damages, []);
            }
            let log = LoggedDeletions::read(dir, &[]).unwrap();
            assert_eq!(log.flaws, []);
            assert!(
                log.entries
                    .iter()
                    .all(|entry| entry.deleted == DeletionKind::Chunks && entry.why == "asked for")
            );
            let places: usize = log.entries.iter().map(|entry| entry.places.len()).sum();
            assert_eq!(places as u64, done.chunks);
            assert_eq!(log.entries[0].owners, ["0000000000000002", "0000000000000003"]);
            // The second time there is nothing to do, and nothing to log.
            let again = forget(&[dir], None, &[2, 3], first, &deletions, ORDER).unwrap();
            assert_eq!((again.chunks, again.already), (0, done.chunks));
            assert_eq!(LoggedDeletions::read(dir, &[]).unwrap(), log);
        }
    }
}

#[test]
fn other_programs_go_on_behind_what_was_forgotten() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let end = spool(dir, 101);
    forget(&[dir], None, &[2], START..end, &DeletionLog::of(dir, None), ORDER).unwrap();
    for path in paths(dir) {
        let whole = scan(&fs::read(&path).unwrap());
        let packets: u32 = whole.rows.iter().map(|row| row.chunk.packets).sum();
        let tshark = Command::new("tshark").args(["-Y", "ip.proto == 17", "-r"]).arg(&path).output().unwrap();
        assert!(tshark.status.success());
        assert_eq!(String::from_utf8_lossy(&tshark.stdout).lines().count() as u32, packets);
    }
}

#[test]
fn a_damaged_mark_hides_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let end = spool(dir, 1);
    let path = paths(dir).remove(0);
    let mut bytes = fs::read(&path).unwrap();
    let row = scan(&bytes).rows.into_iter().find(|row| row.chunk.owner == 2).unwrap();
    bytes[row.offset as usize + 40] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let done = forget(&[dir], None, &[2], START..end, &DeletionLog::of(dir, None), ORDER).unwrap();
    assert_eq!(done.missed, 0);
    assert_eq!(said(dir, 2, b'0') + said(dir, 2, b'1'), 0);
}

#[test]
fn a_segment_elsewhere_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (spooled, held) = (dir.path().join("spool"), dir.path().join("held"));
    let end = spool(&spooled, 1);
    let mut reader = Reader::open(&spooled).unwrap();
    reader.add_dir(&held);
    let before = reader.between(START, end).unwrap();
    let moved: &Segment = &before[0];
    fs::create_dir_all(moved.path(&held).parent().unwrap()).unwrap();
    for (from, to) in moved.files(&spooled).iter().zip(moved.files(&held)) {
        if from.exists() {
            fs::rename(from, to).unwrap();
        }
    }
    assert_eq!(reader.between(START, end).unwrap(), before);
    let found = reader.read(&[1], &before).unwrap();
    assert_eq!((found.len(), found.gone.len(), found.damaged), (4_000, 0, 0));
    let done =
        forget(&[&spooled, &held], None, &[1], START..end, &DeletionLog::of(&spooled, None), ORDER).unwrap();
    assert_eq!(done.packets, 4_000);
    assert_eq!(reader.read(&[1], &before).unwrap().len(), 0);
}

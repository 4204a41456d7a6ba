use std::os::unix::fs::MetadataExt;

use super::*;

fn key() -> BufferKey {
    BufferKey::new([3; 32])
}

fn batch(number: u32, length: usize) -> Arc<Batch> {
    let entry =
        Entry { liid: Liid::from_text("A").unwrap(), cin: Cin(1), sequence: number, length: length as u32 };
    Arc::new(Batch { pdus: vec![number as u8; length], entries: vec![entry] })
}

fn nothing() -> Batch {
    Batch::default()
}

fn rest(buffer: &mut Buffer) -> Vec<u32> {
    let mut found = Vec::new();
    while let Ok(Some((_, batch))) = buffer.next() {
        found.push(batch.entries[0].sequence);
    }
    found
}

fn newest(directory: &Path) -> PathBuf {
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|end| end == "product")).max().unwrap()
}

#[test]
fn what_is_not_confirmed_is_read_again_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let (mut buffer, _) = Buffer::open(directory.path(), &key()).unwrap();
    for number in 0..10 {
        buffer.append(&batch(number, 50), nothing).unwrap();
    }
    assert_eq!(rest(&mut buffer), Vec::from_iter(0..10));
    buffer.confirm(4).unwrap();
    buffer.rewind();
    assert_eq!(rest(&mut buffer), Vec::from_iter(4..10));
    drop(buffer);
    let (mut buffer, recovered) = Buffer::open(directory.path(), &key()).unwrap();
    assert_eq!((recovered.pdus, recovered.damaged), (6, 0));
    let liid = Liid::from_text("A").unwrap();
    assert_eq!(recovered.waiting, HashMap::from([(liid, 300)]));
    assert_eq!(recovered.counters, HashMap::from([((liid, Cin(1)), 10)]));
    buffer.append(&batch(10, 50), nothing).unwrap();
    assert_eq!(rest(&mut buffer), Vec::from_iter(4..11));
    buffer.confirm(11).unwrap();
    assert_eq!(buffer.files.len(), 1);
}

#[test]
fn counters_outlive_the_files_that_they_come_from() {
    let directory = tempfile::tempdir().unwrap();
    let liid = Liid::from_text("A").unwrap();
    for start in 0..3_u32 {
        let (mut buffer, recovered) = Buffer::open(directory.path(), &key()).unwrap();
        let counters = recovered.counters.clone();
        let next = *counters.get(&(liid, Cin(1))).unwrap_or(&0);
        assert_eq!(next, start);
        let list = || counters_batch(counters.iter().map(|((liid, cin), next)| (*liid, *cin, *next)));
        buffer.append(&batch(next, 50), list).unwrap();
        buffer.confirm(buffer.end).unwrap();
    }
}

#[test]
fn a_file_cut_anywhere_loses_only_what_is_cut() {
    let directory = tempfile::tempdir().unwrap();
    let (mut buffer, _) = Buffer::open(directory.path(), &key()).unwrap();
    for number in 0..3 {
        buffer.append(&batch(number, 20), nothing).unwrap();
    }
    drop(buffer);
    let path = newest(directory.path());
    let whole = fs::read(&path).unwrap();
    let mut counts = Vec::new();
    for length in 0..=whole.len() {
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join(path.file_name().unwrap()), &whole[..length]).unwrap();
        let (mut buffer, recovered) = Buffer::open(other.path(), &key()).unwrap();
        assert_eq!(recovered.damaged, 0, "{length}");
        let found = rest(&mut buffer);
        assert_eq!(found, Vec::from_iter(0..recovered.pdus as u32));
        counts.push(found.len());
        // What comes now is read behind it.
        buffer.append(&batch(9, 20), nothing).unwrap();
        assert_eq!(rest(&mut buffer), [9]);
    }
    assert!(counts.is_sorted() && counts.last() == Some(&3));
}

#[test]
fn a_changed_octet_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let (mut buffer, _) = Buffer::open(directory.path(), &key()).unwrap();
    for number in 0..3 {
        buffer.append(&batch(number, 20), nothing).unwrap();
    }
    drop(buffer);
    let path = newest(directory.path());
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let other = tempfile::tempdir().unwrap();
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(other.path().join(path.file_name().unwrap()), changed).unwrap();
        let (mut buffer, recovered) = Buffer::open(other.path(), &key()).unwrap();
        assert!(recovered.pdus < 3, "{at}");
        let found = rest(&mut buffer);
        assert_eq!(found, Vec::from_iter(0..found.len() as u32));
    }
}

#[test]
fn a_file_that_is_gone_is_skipped_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..3 {
        let (mut buffer, _) = Buffer::open(directory.path(), &key()).unwrap();
        buffer.append(&batch(number, 20), nothing).unwrap();
    }
    fs::remove_file(directory.path().join("00000000000000000001.product")).unwrap();
    let (mut buffer, _) = Buffer::open(directory.path(), &key()).unwrap();
    assert_eq!(buffer.next().unwrap().unwrap().1.entries[0].sequence, 0);
    assert_eq!(buffer.next().unwrap_err(), 1);
    assert_eq!(buffer.next().unwrap().unwrap().1.entries[0].sequence, 2);
    assert!(buffer.next().unwrap().is_none());
}

#[test]
fn a_damaged_mark_repeats_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (mut buffer, _) = Buffer::open(directory.path(), &key()).unwrap();
    for number in 0..3 {
        buffer.append(&batch(number, 20), nothing).unwrap();
    }
    buffer.confirm(2).unwrap();
    drop(buffer);
    fs::write(directory.path().join("confirmed"), [0xff; 16]).unwrap();
    let (mut buffer, _) = Buffer::open(directory.path(), &key()).unwrap();
    assert_eq!(rest(&mut buffer), [0, 1, 2]);
}

#[test]
fn files_are_private_and_old_ones_go() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("agency/hi3");
    let (mut buffer, _) = Buffer::open(&place, &key()).unwrap();
    for number in 0..40 {
        buffer.append(&batch(number, 1 << 20), nothing).unwrap();
    }
    assert_eq!(buffer.files.len(), 3);
    assert!(buffer.recent_bytes <= RECENT_BYTES);
    assert_eq!(fs::metadata(&place).unwrap().mode() & 0o777, 0o700);
    for file in fs::read_dir(&place).unwrap() {
        assert_eq!(file.unwrap().metadata().unwrap().mode() & 0o777, 0o600);
    }
    assert_eq!(rest(&mut buffer), Vec::from_iter(0..40));
    buffer.confirm(40).unwrap();
    assert_eq!(buffer.files.len(), 1);
}

//! Sealed and packed chunks: complete with their key, unreadable without, gone when the key is erased.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{
    Category, DeletionKind, DeletionLog, ForgetOrder, FoundPackets, LoggedDeletions, MasterKey, Reader,
    SpoolWriter, WriterSettings, forget, scan,
};

const START: Nanos = Nanos::from_secs(1_795_219_200);
const ORDER: ForgetOrder<'_> = ForgetOrder { why: "asked for", at: START, product: false };
const OWNERS: u64 = 20;

fn master() -> MasterKey {
    MasterKey::of([0x17; 32])
}

fn settings(dir: &Path) -> WriterSettings {
    WriterSettings {
        memory: 70 * 4096,
        owners: 50,
        span: Nanos::from_secs(7),
        wait: true,
        seal: Some(master()),
        ..WriterSettings::new(dir.to_owned())
    }
}

/// Names its owner and its number; half of it can be compressed.
fn packet(owner: u64, number: u32) -> Vec<u8> {
    let head = [0x45, 0, 0, 220, 0, 0, 0, 0, 64, 17];
    let mut seed = number.wrapping_mul(2_654_435_761) ^ owner as u32;
    let noise = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    });
    let text = format!("owner {owner:3} packet {number:6} ");
    head.into_iter().chain(text.bytes().cycle().take(110)).chain(noise.take(100)).collect()
}

/// 20 owners, half of them signalling, 1,000 packets each in 20 s.
fn write(settings: WriterSettings) -> Nanos {
    let (link, mut now) = (settings.link, START);
    let mut writer = SpoolWriter::open(settings).expect("a spool");
    let written = writer.written();
    let owners: Vec<_> = (0..OWNERS)
        .map(|owner| writer.begin(Category::ALL[owner as usize % 2], owner).expect("a place"))
        .collect();
    for number in 0..1_000 {
        for (owner, place) in (0..).zip(&owners) {
            let data = packet(owner, number);
            now += Nanos::from_millis(1);
            writer
                .put(*place, &Frame { time: now, number: 1, link, wire_len: data.len() as u32, data: &data });
        }
        writer.tick(now);
    }
    owners.into_iter().for_each(|owner| assert_eq!(writer.finish(owner, now).expect("an owner").lost, 0));
    writer.close(now);
    // One write a megabyte, one a second, each behind its keys; and for each segment its last blocks and its
    // index.
    let most = 2 * (written.bytes() / (1 << 20) + 20) + 3 * written.segments();
    assert!(written.writes() <= most, "{} writes, {} segments", written.writes(), written.segments());
    now
}

fn read(dir: &Path, owner: u64, keys: &[MasterKey]) -> FoundPackets {
    let mut reader = Reader::open(dir).expect("a directory");
    keys.iter().for_each(|key| reader.add_key(key.clone()));
    let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
    reader.read(&[owner], &all).expect("readable")
}

fn check(dir: &Path, owner: u64, keys: &[MasterKey]) {
    let found = read(dir, owner, keys);
    assert_eq!((found.damaged, found.sealed, found.erased, found.len()), (0, 0, 0, 1_000), "owner {owner}");
    for (number, read) in (0..).zip(found.packets()) {
        assert_eq!(read.data, packet(owner, number));
    }
}

/// Packets of all owners together, in order of time, and the chunks without a key.
fn ordered(dir: &Path, keys: &[MasterKey]) -> (usize, u64) {
    let mut reader = Reader::open(dir).expect("a directory");
    keys.iter().for_each(|key| reader.add_key(key.clone()));
    let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
    let owners: Vec<u64> = (0..OWNERS).collect();
    let chunks = reader.locate(&[(&owners, &all)]).expect("readable");
    let mut ordered = reader.in_order(&chunks);
    let (mut packets, mut now) = (0, Nanos::ZERO);
    while let Some((_, _, packet)) = ordered.next_packet().expect("readable") {
        assert!(now < packet.time, "one each millisecond");
        now = packet.time;
        packets += 1;
    }
    (packets, ordered.lacks().values().map(|lacks| lacks.sealed).sum())
}

fn paths(dir: &Path) -> Vec<PathBuf> {
    let reader = Reader::open(dir).expect("a directory");
    let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
    all.iter().map(|segment| segment.path(dir)).collect()
}

#[test]
fn sealed_packed_both() {
    for link in [1, 101] {
        for (seal, compress) in [(true, None), (false, Some(1)), (true, Some(3))] {
            let dir = tempfile::tempdir().unwrap();
            let dir = dir.path();
            let seal = seal.then(master);
            write(WriterSettings { seal: seal.clone(), compress, link: LinkType(link), ..settings(dir) });
            let wrong = MasterKey::of([1; 32]);
            (0..OWNERS).for_each(|owner| check(dir, owner, &[wrong.clone(), master()]));
            assert_eq!(ordered(dir, &[master()]), (20_000, 0));
            let (mut bytes, mut content) = (0, 0);
            for path in paths(dir) {
                let whole = fs::read(&path).unwrap();
                let scan = scan(&whole);
                assert_eq!(scan.damages, []);
                assert_eq!(path.with_extension("keys").exists(), seal.is_some());
                bytes += scan.rows.iter().map(|row| u64::from(row.chunk.length)).sum::<u64>();
                content += scan.rows.iter().map(|row| u64::from(row.chunk.plain)).sum::<u64>();
                // No byte of a packet is readable.
                if seal.is_some() {
                    assert_eq!(whole.windows(6).position(|window| window == b"packet"), None);
                }
            }
            assert_eq!(content, 20_000 * 236);
            match compress {
                Some(_) => assert!(bytes * 10 < content * 7, "{bytes} of {content}"),
                None => assert!(bytes > content),
            }
            if seal.is_some() {
                for keys in [&[][..], &[wrong]] {
                    let found = read(dir, 3, keys);
                    assert_eq!((found.len(), found.damaged, found.erased), (0, 0, 0));
                    assert!(found.sealed > 2);
                    let (packets, sealed) = ordered(dir, keys);
                    assert!(packets == 0 && sealed > 40, "{packets}, {sealed}");
                }
            }
        }
    }
}

#[test]
fn without_an_index_it_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    write(settings(dir.path()));
    paths(dir.path()).iter().for_each(|path| fs::remove_file(path.with_extension("idx")).unwrap());
    check(dir.path(), 7, &[master()]);
}

#[test]
fn a_forgotten_key_is_forgotten_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let end = write(settings(dir));
    let files = |kind: &str| -> Vec<Vec<u8>> {
        paths(dir).iter().map(|path| fs::read(path.with_extension(kind)).unwrap()).collect()
    };
    let (before, keys) = (files("pcap"), files("keys"));
    let deletions = DeletionLog::of(dir, None);
    let done = forget(&[dir], None, &[2, 5], START..end, &deletions, ORDER).unwrap();
    // Each owner's key is in each segment of its category.
    assert_eq!((done.keys, done.chunks, done.already, done.missed), (paths(dir).len() as u64, 0, 0, 0));
    assert_eq!(files("pcap"), before);
    for owner in 0..OWNERS {
        if [2, 5].contains(&owner) {
            for keys in [&[][..], &[master()]] {
                let found = read(dir, owner, keys);
                assert_eq!((found.len(), found.damaged, found.sealed), (0, 0, 0));
                assert!(found.erased > 2);
            }
        } else {
            check(dir, owner, &[master()]);
        }
    }
    // Nothing of the keys is left.
    for (before, after) in keys.iter().zip(files("keys")) {
        assert_eq!(before.len(), after.len());
        let changed: Vec<&[u8]> = before
            .chunks(96)
            .zip(after.chunks(96))
            .filter(|(old, new)| old != new)
            .map(|(old, _)| old)
            .collect();
        assert_eq!(changed.len(), 1);
        assert!(changed[0][32..80].windows(8).all(|part| !after.windows(8).any(|window| window == part)));
    }
    let log = LoggedDeletions::read(dir, &[]).unwrap();
    assert!(log.entries.iter().all(|entry| entry.deleted == DeletionKind::Keys && entry.places.len() == 1));
    assert_eq!(log.entries.len() as u64, done.keys);
    let again = forget(&[dir], None, &[2, 5], START..end, &deletions, ORDER).unwrap();
    assert_eq!((again.keys, again.already), (0, done.keys));
    assert_eq!(LoggedDeletions::read(dir, &[]).unwrap(), log);
}

#[test]
fn keys_that_are_lost_or_changed_spoil_their_chunks_alone() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write(settings(dir));
    // The second segment of each category.
    for path in &paths(dir)[2..4] {
        let path = path.with_extension("keys");
        let mut keys = fs::read(&path).unwrap();
        assert_eq!(keys.len(), 96 * 11);
        // The last row of ten is cut off, the first is changed.
        keys.truncate(96 * 10 + 50);
        keys[96 + 40] ^= 1;
        fs::write(&path, keys).unwrap();
    }
    let found: Vec<FoundPackets> = (0..OWNERS).map(|owner| read(dir, owner, &[master()])).collect();
    let damaged = found.iter().filter(|found| found.damaged > 0);
    assert_eq!(damaged.count(), 4);
    assert!(found.iter().all(|found| (found.damaged > 0) == (found.len() < 1_000)));
}

/// The spool as a kill would leave it: between two packets, while segments are open.
#[test]
fn no_chunk_is_on_the_disk_before_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = SpoolWriter::open(settings(dir)).expect("a spool");
    let written = writer.written();
    let owners: Vec<_> = (0..OWNERS).filter_map(|owner| writer.begin(Category::Media, owner)).collect();
    let mut now = START;
    // Several blocks, in a time in which no block is written for its age.
    for number in 0..2_000 {
        for (owner, place) in (0..).zip(&owners) {
            let data = packet(owner, number);
            now += Nanos::from_micros(20);
            let wire_len = data.len() as u32;
            writer.put(*place, &Frame { time: now, number: 1, link: LinkType(1), wire_len, data: &data });
        }
        writer.tick(now);
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while written.bytes() < 4 << 20 && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let (mut chunks, mut without) = (0, 0);
    for path in paths(dir) {
        let rows = scan(&fs::read(&path).unwrap()).rows;
        let keys = fs::read(path.with_extension("keys")).unwrap_or_default();
        let listed = (keys.len() / 96).saturating_sub(1);
        chunks += rows.len();
        without += rows.iter().filter(|row| row.chunk.key as usize >= listed).count();
    }
    assert!(chunks > 30 && without == 0, "{without} of {chunks} chunks have no key");
    writer.close(now);
    (0..OWNERS).for_each(|owner| assert_eq!(read(dir, owner, &[master()]).len(), 2_000));
}

#[test]
fn other_programs_pass_over_what_is_sealed() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    for link in [1, 101] {
        let dir = tempfile::tempdir().unwrap();
        write(WriterSettings { link: LinkType(link), ..settings(dir.path()) });
        for path in paths(dir.path()) {
            let chunks = scan(&fs::read(&path).unwrap()).rows.len();
            let tshark =
                Command::new("tshark").args(["-T", "fields", "-e", "frame.len", "-r"]).arg(&path).output();
            let tshark = tshark.unwrap();
            assert!(tshark.status.success(), "{}", String::from_utf8_lossy(&tshark.stderr));
            let frames = String::from_utf8_lossy(&tshark.stdout).lines().count();
            assert!(frames >= 2 * chunks + 2, "{frames} frames, {chunks} chunks");
        }
    }
}

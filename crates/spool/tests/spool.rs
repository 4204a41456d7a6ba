//! Packets come back as they were: many owners at once, little memory, cut and changed files, other programs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{
    Category, Flaw, OwnerHandle, OwnerTotals, Reader, Segment, SpoolWriter, WriterSettings, scan,
};

const START: Nanos = Nanos::from_secs(1_795_219_200);

fn settings(dir: &Path) -> WriterSettings {
    WriterSettings {
        memory: 1 << 20,
        owners: 1000,
        blocks: 4,
        wait: true,
        ..WriterSettings::new(dir.to_owned())
    }
}

fn frame(time: Nanos, data: &[u8]) -> Frame<'_> {
    Frame { time, number: 1, link: LinkType(1), wire_len: data.len() as u32, data }
}

/// The bytes name the owner and the number: an Ethernet frame of an unused type.
fn bytes(owner: u32, number: u32, len: usize) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb6];
    bytes.extend(owner.to_be_bytes());
    bytes.extend(number.to_be_bytes());
    bytes.resize(len.max(bytes.len()), owner as u8);
    bytes
}

struct Spool {
    writer: SpoolWriter,
    owners: Vec<(OwnerHandle, u32)>,
    now: Nanos,
    pace: Nanos,
}

impl Spool {
    fn new(settings: WriterSettings, owners: u32) -> Self {
        let mut writer = SpoolWriter::open(settings).expect("a spool");
        let owners = (0..owners)
            .map(|owner| (writer.begin(Category::ALL[owner as usize % 2], owner.into()).expect("a place"), 0))
            .collect();
        Self { writer, owners, now: START, pace: Nanos::from_millis(1) }
    }

    fn put(&mut self, owner: usize, len: usize) {
        let (name, number) = &mut self.owners[owner];
        let data = bytes(owner as u32, *number, len);
        self.writer.put(*name, &frame(self.now, &data));
        *number += 1;
        self.now += self.pace;
        self.writer.tick(self.now);
    }

    fn end(mut self) -> Vec<OwnerTotals> {
        let kept = self
            .owners
            .iter()
            .map(|(owner, _)| self.writer.finish(*owner, self.now).expect("an owner"))
            .collect();
        self.writer.close(self.now);
        kept
    }
}

fn all(reader: &Reader) -> Vec<Segment> {
    reader.between(Nanos::ZERO, Nanos::MAX).expect("a directory")
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .expect("the spool")
        .flatten()
        .flat_map(|day| fs::read_dir(day.path()).expect("a day").flatten())
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "pcap"))
        .collect();
    found.sort();
    found
}

/// Packets of all owners in order of time equal those of each owner, and so do the missing ones.
fn ordered_is_the_same(reader: &mut Reader, owners: &[u64]) {
    let segments = all(reader);
    let chunks = reader.locate(&[(owners, &segments)]).expect("readable");
    let mut ordered = reader.in_order(&chunks);
    let (mut now, mut given) = (Nanos::ZERO, BTreeMap::<u64, Vec<(Nanos, Vec<u8>)>>::new());
    while let Some((owner, link, packet)) = ordered.next_packet().expect("readable") {
        assert!(now <= packet.time && link == LinkType(1));
        now = packet.time;
        given.entry(owner).or_default().push((packet.time, packet.data.to_vec()));
    }
    let lacks = ordered.lacks().clone();
    for owner in owners {
        let found = reader.read(&[*owner], &segments).expect("readable");
        let packets: Vec<_> = found.packets().map(|packet| (packet.time, packet.data.to_vec())).collect();
        assert!(given.remove(owner).unwrap_or_default() == packets, "owner {owner}");
        assert_eq!(lacks.get(owner).map_or(0, |lacks| lacks.damaged), found.damaged);
    }
    assert!(given.is_empty());
}

/// Every packet of every owner comes back once, in order; lost packets are counted.
fn check(dir: &Path, kept: &[OwnerTotals], put: &[u32]) {
    let mut reader = Reader::open(dir).expect("the spool");
    ordered_is_the_same(&mut reader, &kept.iter().map(|kept| kept.owner).collect::<Vec<_>>());
    for (owner, kept) in kept.iter().enumerate() {
        let found = reader.read(&[kept.owner], &all(&reader)).expect("readable");
        assert_eq!((found.gone.len(), found.damaged), (0, 0));
        assert_eq!(found.len() as u64, kept.packets, "owner {owner}");
        assert_eq!(kept.packets + kept.lost, u64::from(put[owner]));
        let numbers: Vec<u32> = found
            .packets()
            .map(|packet| {
                let number = u32::from_be_bytes(packet.data[18..22].try_into().expect("4 bytes"));
                assert_eq!(packet.data, bytes(owner as u32, number, packet.data.len()));
                assert_eq!(packet.wire_len as usize, packet.data.len());
                number
            })
            .collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        let total: u64 = found.packets().map(|packet| packet.data.len() as u64).sum();
        assert_eq!(total, kept.bytes);
    }
}

#[test]
fn many_owners_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let short = WriterSettings { span: Nanos::from_secs(7), ..settings(dir.path()) };
    let mut spool = Spool::new(short, 50);
    for round in 0..40_000usize {
        spool.put(round * 7 % 50, 60 + round % 150);
    }
    let put: Vec<u32> = spool.owners.iter().map(|(_, number)| *number).collect();
    let written = spool.writer.written();
    let kept = spool.end();
    assert!(kept.iter().all(|kept| kept.lost == 0));
    check(dir.path(), &kept, &put);
    let files = segments(dir.path());
    assert_eq!(written.segments() as usize, files.len());
    // Of each category.
    assert!((10..=16).contains(&files.len()), "{} segments in 40 s", files.len());
    for file in &files {
        let scan = scan(&fs::read(file).unwrap());
        assert_eq!(scan.damages, []);
        assert!(file.with_extension("idx").is_file());
    }
    // By time alone they are found as well.
    let reader = Reader::open(dir.path()).unwrap();
    assert_eq!(reader.between(START, START + Nanos::from_secs(40)).unwrap().len(), files.len());
    let day = Nanos::from_secs(86_400);
    assert_eq!(reader.between(START - day, START - Nanos::from_secs(400)).unwrap(), []);
    // One write a megabyte, one a second, the last of a segment, its index.
    let most = written.bytes() / (1 << 20) + 40 + 2 * written.segments();
    assert!(written.writes() <= most, "{} writes", written.writes());
}

#[test]
fn without_an_index_a_scan_finds_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(settings(dir.path()), 5);
    (0..5_000).for_each(|round| spool.put(round % 5, 200));
    let kept = spool.end();
    for file in segments(dir.path()) {
        fs::remove_file(file.with_extension("idx")).unwrap();
    }
    check(dir.path(), &kept, &[1_000; 5]);
}

#[test]
fn little_memory_makes_small_chunks_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let tight = WriterSettings { memory: 70 * 4096, ..settings(dir.path()) };
    let mut spool = Spool::new(tight, 100);
    (0..20_000).for_each(|round| spool.put(round * 13 % 100, 300));
    let kept = spool.end();
    assert_eq!(kept.iter().map(|kept| kept.lost).sum::<u64>(), 0);
    check(dir.path(), &kept, &[200; 100]);
}

#[test]
fn the_longest_frames_fit_and_longer_ones_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(settings(dir.path()), 2);
    for len in [65_535, 100, 65_549, 69_000, 100, 69_700] {
        spool.put(0, len);
        spool.put(1, 60);
    }
    let kept = spool.end();
    assert_eq!((kept[0].packets, kept[0].lost), (5, 1));
    check(dir.path(), &kept, &[6, 6]);
}

#[test]
fn places_are_used_again_and_the_ceiling_holds() {
    let dir = tempfile::tempdir().unwrap();
    let few = WriterSettings { owners: 2, ..settings(dir.path()) };
    let mut writer = SpoolWriter::open(few).unwrap();
    let (a, b) = (writer.begin(Category::Media, 1).unwrap(), writer.begin(Category::Media, 2).unwrap());
    assert!(writer.begin(Category::Media, 3).is_none());
    assert_eq!(writer.counts().refused, 1);
    writer.put(a, &frame(START, &bytes(1, 0, 60)));
    writer.put(b, &frame(START, &bytes(2, 0, 60)));
    let a_kept = writer.finish(a, START).unwrap();
    let c = writer.begin(Category::Media, 3).unwrap();
    writer.put(c, &frame(START, &bytes(3, 0, 60)));
    // The old handle of the slot is not valid any more.
    writer.put(a, &frame(START, &bytes(1, 1, 60)));
    assert!(writer.finish(a, START).is_none());
    let (b, c) = (writer.finish(b, START).unwrap(), writer.finish(c, START).unwrap());
    writer.close(START);
    let mut reader = Reader::open(dir.path()).unwrap();
    for (kept, owner) in [(a_kept, 1), (b, 2), (c, 3)] {
        let found = reader.read(&[kept.owner], &all(&reader)).unwrap();
        assert_eq!(found.packets().map(|packet| packet.data[17]).collect::<Vec<_>>(), [owner]);
    }
}

/// Space is had ahead of the writes, and what was not needed is given back.
#[test]
fn a_closed_segment_holds_no_space_behind_its_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut spool = Spool::new(settings(dir.path()), 2);
    (0..2 * 9_000).for_each(|number| spool.put(number % 2, 1_400));
    spool.end();
    let sizes = segments(dir.path()).into_iter().map(|path| fs::metadata(path).expect("a segment"));
    let (held, written) = sizes.fold((0, 0), |(held, written), told| {
        assert!(told.len() > 8 << 20, "too short to have had space ahead: {} bytes", told.len());
        (held + told.blocks() * 512, written + told.len())
    });
    assert!(held <= written + (1 << 20), "{held} bytes on the disk for {written}");
}

#[test]
fn packets_are_on_disk_a_second_after_their_age() {
    let dir = tempfile::tempdir().unwrap();
    let quick = WriterSettings { age: Nanos::from_secs(2), direct: false, ..settings(dir.path()) };
    let mut spool = Spool::new(quick, 1);
    spool.put(0, 100);
    let written = spool.writer.written();
    spool.writer.tick(START + Nanos::from_secs(1));
    assert_eq!(written.bytes(), 0);
    spool.writer.tick(START + Nanos::from_millis(2_001));
    spool.writer.tick(START + Nanos::from_millis(3_002));
    // Another thread writes: it has written everything once the index is there.
    let kept = spool.end();
    assert_eq!(kept[0].packets, 1);
    let file = fs::read(&segments(dir.path())[0]).unwrap();
    let scan = scan(&file);
    assert_eq!((scan.rows.len(), scan.damages.len()), (1, 0));
    // Two blocks of 4 KiB: the chunk, padded after a second, and the end.
    assert_eq!(file.len(), 8192);
}

#[test]
fn another_program_opens_a_segment() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    for link in [1, 101] {
        let dir = tempfile::tempdir().unwrap();
        let settings = WriterSettings { link: LinkType(link), ..settings(dir.path()) };
        let mut writer = SpoolWriter::open(settings).unwrap();
        let owner = writer.begin(Category::Media, 1).unwrap();
        let udp = [
            0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x13, 0xc4, 0x13, 0xc5, 0,
            10, 0, 0, 1, 2,
        ];
        let data = if link == 1 { [&bytes(0, 0, 12)[..12], &[8, 0], &udp].concat() } else { udp.to_vec() };
        for number in 0..100 {
            let time = START + Nanos(number);
            writer.put(owner, &Frame { link: LinkType(link), ..frame(time, &data) });
        }
        writer.close(START);
        let tshark = Command::new("tshark")
            .args(["-T", "fields", "-e", "frame.time_epoch", "-Y", "udp.port == 5061", "-r"])
            .arg(&segments(dir.path())[0])
            .output()
            .unwrap();
        let lines = String::from_utf8(tshark.stdout).unwrap();
        assert_eq!(lines.lines().count(), 100, "{}", String::from_utf8_lossy(&tshark.stderr));
        assert_eq!(lines.lines().nth(7), Some("1795219200.000000007"));
        assert!(tshark.status.success());
    }
}

/// A complete segment with chunks of several owners.
fn sample() -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a directory");
    let mut spool = Spool::new(WriterSettings { memory: 70 * 4096, ..settings(dir.path()) }, 20);
    (0..6_000).for_each(|round| spool.put(round * 3 % 20, 60 + round % 40));
    spool.end();
    fs::read(&segments(dir.path())[0]).expect("a segment")
}

#[test]
fn a_cut_segment_gives_every_chunk_before_the_cut() {
    let whole = sample();
    let rows = scan(&whole).rows;
    assert!(rows.len() > 50);
    let cuts = (0..whole.len()).filter(|at| at % 211 == 0).chain([1, 23, 24, 25, whole.len() - 1]);
    let mut tried = 0;
    for cut in cuts {
        let scan = scan(&whole[..cut]);
        let head = (rows[0].chunk.length, rows[1].offset - rows[0].offset);
        let mark = head.1 - u64::from(head.0);
        let before =
            rows.iter().filter(|row| row.offset + mark + u64::from(row.chunk.length) <= cut as u64).count();
        assert_eq!(scan.rows, rows[..before], "cut at {cut}");
        assert!(!scan.damages.is_empty());
        tried += 1;
    }
    assert!(tried > 1_000, "{tried} cuts");
}

#[test]
fn every_changed_byte_is_found_and_spoils_one_chunk() {
    let whole = sample();
    let rows = scan(&whole).rows;
    for at in (24..whole.len()).step_by(409) {
        let mut bad = whole.clone();
        bad[at] ^= 0x20;
        let scan = scan(&bad);
        assert!(scan.rows.len() + 1 >= rows.len(), "byte {at}: {} of {}", scan.rows.len(), rows.len());
        let lost: Vec<_> = rows.iter().filter(|row| !scan.rows.contains(row)).collect();
        // Headers of markers, and padding, hold nothing that a reader needs.
        assert!(lost.is_empty() || !scan.is_sound(), "byte {at}");
        for row in lost {
            let end = row.offset + u64::from(row.chunk.length) + 200;
            assert!((row.offset..end).contains(&(at as u64)), "byte {at} spoils {row:?}");
        }
    }
}

#[test]
fn what_is_gone_or_damaged_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let short = WriterSettings { span: Nanos::from_secs(1), ..settings(dir.path()) };
    let mut spool = Spool::new(short, 1);
    (0..4_000).for_each(|_| spool.put(0, 1_000));
    let kept = spool.end().remove(0);
    let mut reader = Reader::open(dir.path()).unwrap();
    let segments = all(&reader);
    assert!(segments.len() >= 4);
    fs::remove_file(segments[1].path(dir.path())).unwrap();
    let path = segments[2].path(dir.path());
    let mut bad = fs::read(&path).unwrap();
    let at = bad.len() / 2;
    bad[at] ^= 1;
    fs::write(&path, &bad).unwrap();
    let found = reader.read(&[kept.owner], &segments).unwrap();
    assert_eq!(found.gone, [segments[1].clone()]);
    // One is damaged; those of the missing segment are missing from the count.
    assert!(found.damaged > 1);
    assert!((found.len() as u64) < kept.packets);
    ordered_is_the_same(&mut reader, &[kept.owner]);
    assert!(scan(&bad).damages.iter().any(|damage| damage.what == Flaw::Changed));
}

#[test]
fn what_cannot_be_opened_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let text =
        |result: Result<SpoolWriter, _>| result.err().map(|error: ringtap_spool::Error| error.to_string());
    let error =
        text(SpoolWriter::open(WriterSettings { link: LinkType(113), ..settings(dir.path()) })).unwrap();
    assert!(error.contains("link type 113") && error.contains("editcap"), "{error}");
    let error = text(SpoolWriter::open(WriterSettings { memory: 4096, ..settings(dir.path()) })).unwrap();
    assert!(error.contains("4096 bytes") && error.contains("at least"), "{error}");
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = text(SpoolWriter::open(settings(&file.join("below")))).unwrap();
    assert!(error.contains("below") && error.contains("cannot be created"), "{error}");
    assert!(Reader::open(&dir.path().join("nothing")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    /// Any order of owners, lengths, pauses, ends.
    #[test]
    fn what_goes_in_comes_out(
        steps in proptest::collection::vec((0usize..8, 0usize..3000, 0u64..3, any::<bool>()), 1..600),
        pages in 69usize..200,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let settings = WriterSettings {
            memory: pages * 4096,
            owners: 8,
            span: Nanos::from_secs(60),
            age: Nanos::from_secs(5),
            ..settings(dir.path())
        };
        let mut writer = SpoolWriter::open(settings).unwrap();
        let mut now = START;
        let mut live: BTreeMap<usize, (OwnerHandle, Vec<Vec<u8>>)> = BTreeMap::new();
        let mut ended: Vec<(OwnerTotals, Vec<Vec<u8>>)> = Vec::new();
        for (number, (owner, len, pause, ends)) in steps.into_iter().enumerate() {
            let mut begin = || writer.begin(Category::ALL[number % 2], number as u64).unwrap();
            let entry = live.entry(owner).or_insert_with(|| (begin(), Vec::new()));
            let data = bytes(owner as u32, number as u32, len);
            writer.put(entry.0, &frame(now, &data));
            entry.1.push(data);
            now += Nanos(pause * pause * 1_700_000_000 + 1);
            writer.tick(now);
            if ends && len % 3 == 0 {
                let (owner, put) = live.remove(&owner).unwrap();
                ended.push((writer.finish(owner, now).unwrap(), put));
            }
        }
        for (owner, put) in live.into_values() {
            ended.push((writer.finish(owner, now).unwrap(), put));
        }
        let counts = writer.close(now);
        prop_assert_eq!(counts.lost_oversized + counts.lost_disk, 0);
        let mut reader = Reader::open(dir.path()).unwrap();
        ordered_is_the_same(&mut reader, &ended.iter().map(|(kept, _)| kept.owner).collect::<Vec<_>>());
        for (kept, put) in ended {
            let found = reader.read(&[kept.owner], &all(&reader)).unwrap();
            prop_assert_eq!(found.damaged, 0);
            let data: Vec<Vec<u8>> = found.packets().map(|packet| packet.data.to_vec()).collect();
            prop_assert_eq!(data, put);
        }
    }

    #[test]
    fn any_bytes_are_no_panic(
        mut noise in proptest::collection::vec(any::<u8>(), 0..400),
        at in 0usize..5000,
    ) {
        let _ = scan(&noise);
        let mut file = sample();
        let at = at.min(file.len());
        file.truncate(at);
        file.append(&mut noise);
        let _ = scan(&file);
    }
}

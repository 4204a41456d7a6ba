//! What is read, and exported, of a spool that somebody has changed.

use super::*;

fn packets(dir: &Path) -> (Vec<(u64, Vec<u8>)>, Vec<Segment>) {
    let mut reader = Reader::open(dir).expect("a directory");
    reader.add_key(MasterKey::of([7; 32]));
    let segments = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
    let found = reader.read(&[1, 4, 7], &segments).expect("readable");
    let mut packets: Vec<_> = found.packets().map(|packet| (packet.time.0, packet.data.to_vec())).collect();
    packets.sort_unstable();
    (packets, reader.foreign().cloned().collect())
}

/// Bytes of a marker, and where it has the chunk's checksum, flags, key and length, and its own checksum.
const MARKER: usize = 98;
const CHUNK: usize = 74;
const CRC: usize = 94;

/// Whoever has no master key can still make a chunk that is not sealed, with all its checksums.
#[test]
fn a_plain_chunk_in_a_sealed_segment_is_not_read() {
    let case = Case::new();
    let (before, _) = packets(&case.dir);
    let segment = &of(&case.dir, Category::Media)[1];
    let dir = case.copied();
    let mut bytes = fs::read(segment.path(dir)).unwrap();
    let row = scan(&bytes).rows[0];
    let chunk = &mut bytes[row.offset as usize..][..MARKER + row.chunk.length as usize];
    let length = row.chunk.length - 16;
    chunk[MARKER..].fill(0x41);
    chunk[MARKER + 8..MARKER + 12].copy_from_slice(&length.to_le_bytes());
    let crc = ringtap_cpu::crc32c(0, &chunk[MARKER..]);
    for (at, word) in [(0, crc), (4, 0), (8, 0), (12, row.chunk.length)] {
        chunk[CHUNK + at..CHUNK + at + 4].copy_from_slice(&word.to_le_bytes());
    }
    let crc = ringtap_cpu::crc32c(0, &chunk[30..CRC]);
    chunk[CRC..MARKER].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(scan(&bytes).damages, []);
    fs::write(segment.path(dir), &bytes).unwrap();
    let (read, unproven) = packets(dir);
    assert!(read.len() < before.len() && read.iter().all(|packet| before.contains(packet)));
    assert_eq!(unproven, []);
    // With an index that fits, or none, the segment is not what was sealed.
    fs::remove_file(segment.index_path(dir)).unwrap();
    let (read, unproven) = packets(dir);
    assert!(read.iter().all(|packet| before.contains(packet)));
    assert_eq!(unproven, std::slice::from_ref(segment));
}

/// A segment in another's place would be read twice, though its chunks are sealed.
#[test]
fn a_segment_in_anothers_place_is_not_read() {
    let case = Case::new();
    let (before, _) = packets(&case.dir);
    let all = of(&case.dir, Category::Media);
    let dir = case.copied();
    for extension in ["pcap", "idx", "keys"] {
        let path = |segment: &Segment| segment.path(dir).with_extension(extension);
        fs::copy(path(&all[1]), path(&all[2])).unwrap();
    }
    let (mut read, unproven) = packets(dir);
    assert!(read.len() < before.len());
    assert_eq!(unproven, std::slice::from_ref(&all[2]));
    let count = read.len();
    read.dedup();
    assert_eq!(read.len(), count);
    // An index that is damaged costs nothing: the seal proves the segment.
    let dir = case.copied();
    fs::write(all[1].index_path(dir), b"damaged").unwrap();
    assert_eq!(packets(dir), (before, vec![]));
}

/// Nor if the seal that tells the difference is gone, with the head of the chain.
#[test]
fn chunks_are_read_once_in_whichever_segment() {
    let case = Case::new();
    let (before, _) = packets(&case.dir);
    let all = of(&case.dir, Category::Media);
    let (first, last) = (&all[1], &all[all.len() - 1]);
    let dir = case.copied();
    for (from, to) in first.files(dir).into_iter().zip(last.files(dir)) {
        fs::copy(from, to).unwrap();
    }
    fs::remove_file(last.seal_path(dir)).unwrap();
    fs::remove_file(dir.join("w0-m.head")).unwrap();
    let (mut read, unproven) = packets(dir);
    let count = read.len();
    read.dedup();
    assert_eq!((read.len(), unproven), (count, vec![last.clone()]));
    assert!(count < before.len());
}

/// A directory in the place of an index or of keys hides one segment at most.
#[test]
fn what_is_no_file_stops_no_reading() {
    let case = Case::new();
    let (before, _) = packets(&case.dir);
    let segment = &of(&case.dir, Category::Media)[1];
    for (extension, is_whole) in [("idx", true), ("keys", false)] {
        let dir = case.copied();
        let path = segment.path(dir).with_extension(extension);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let (read, _) = packets(dir);
        assert_eq!(read.len() == before.len(), is_whole);
        assert!(!read.is_empty());
    }
}

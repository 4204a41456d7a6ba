//! Follows the packets of some owners while their segments are being written.
//!
//! It reads markers, and the chunks that are asked for: what others record costs a read of a marker for each
//! chunk, whoever listens.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::error::Error;
use crate::files::{is_irregular, open_regular};
use crate::read::reader::{FoundPackets, KeyRing, Reader};
use crate::segment::index::IndexRow;
use crate::segment::listing::latest_segments;
use crate::segment::marker::{self, Chunk, GLOBAL, Link, Marker};
use crate::segment::name::{Category, Segment};

/// Reads what is added to the open segments of media, in the order in which each worker wrote it.
#[derive(Debug)]
pub struct Follower {
    reader: Reader,
    dir: PathBuf,
    /// None before the first reading.
    known: Option<BTreeSet<Segment>>,
    open: BTreeMap<Segment, Followed>,
}

/// A chunk that was added.
#[derive(Debug)]
pub struct FollowedChunk {
    /// The owner's [`key`](crate::key()).
    pub owner: u64,
    /// Its packets; none if it is sealed under a key that the reader lacks, erased or damaged: it says which.
    pub packets: FoundPackets,
}

/// A segment that is being written.
#[derive(Debug)]
struct Followed {
    file: File,
    link: Option<Link>,
    /// What has been read.
    at: u64,
    is_over: bool,
}

impl Follower {
    /// Follows the first directory of a reader, with its keys.
    pub fn new(reader: Reader) -> Self {
        let dir = reader.dirs().first().cloned().unwrap_or_default();
        Self { reader, dir, known: None, open: BTreeMap::new() }
    }

    /// Passes the chunks of these owners that were added since the last reading. The first one passes those
    /// of the segment that each worker is writing.
    ///
    /// # Errors
    ///
    /// The directory or a segment cannot be read.
    pub fn read(&mut self, owners: &BTreeSet<u64>, each: &mut dyn FnMut(FollowedChunk)) -> Result<(), Error> {
        self.find_segments()?;
        let names: Vec<Segment> = self.open.keys().cloned().collect();
        for name in names {
            let Some(mut followed) = self.open.remove(&name) else { continue };
            let path = name.path(&self.dir);
            self.read_segment(&name, &mut followed, owners, each)
                .map_err(|error| Error::io(&path, "read", error))?;
            if !followed.is_over {
                self.open.insert(name, followed);
            }
        }
        Ok(())
    }

    /// Opens the segments that were begun since the last reading.
    fn find_segments(&mut self) -> Result<(), Error> {
        let listed = latest_segments(&self.dir, DAYS).map_err(|error| Error::io(&self.dir, "read", error))?;
        let media: BTreeSet<Segment> =
            listed.into_iter().filter(|segment| segment.category() == Category::Media).collect();
        let new: Vec<Segment> = match &self.known {
            Some(known) => media.difference(known).cloned().collect(),
            None => newest_of_each_worker(&media),
        };
        self.known = Some(media);
        for segment in new {
            let path = segment.path(&self.dir);
            let file = match open_regular(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound || is_irregular(&error) => continue,
                Err(error) => return Err(Error::io(&path, "opened", error)),
            };
            let dir = self.dir.clone();
            if self.reader.admits(&dir, &segment)? {
                self.open.insert(segment, Followed { file, link: None, at: 0, is_over: false });
            }
        }
        // The disk has few workers, and each writes one at a time.
        while self.open.len() > MOST_OPEN {
            self.open.pop_first();
        }
        Ok(())
    }

    fn read_segment(
        &mut self,
        segment: &Segment,
        followed: &mut Followed,
        owners: &BTreeSet<u64>,
        each: &mut dyn FnMut(FollowedChunk),
    ) -> io::Result<()> {
        let size = followed.file.metadata()?.len();
        let Some(link) = followed.link(size)? else { return Ok(()) };
        // Not longer than one reading: a key may be erased.
        let mut keys = KeyRing::default();
        while let Some((at, chunk)) = followed.next_chunk(link, size)? {
            if !owners.contains(&chunk.owner) {
                continue;
            }
            let mut rows = vec![IndexRow { offset: at, chunk }];
            // Chunks that are not as its writer writes them.
            if self.reader.provenance.is_signed() {
                let provenance = &self.reader.provenance;
                provenance.leave_out_plain(&self.dir, segment, &mut rows).map_err(io::Error::other)?;
            }
            let mut packets = FoundPackets::of(link);
            for row in rows {
                let mut bytes = vec![0; marker::len(link) + row.chunk.length as usize];
                followed.file.read_exact_at(&mut bytes, row.offset)?;
                self.reader.chunk(&self.dir, bytes, segment, link, &row, &mut keys, &mut packets)?;
            }
            packets.sort();
            each(FollowedChunk { owner: chunk.owner, packets });
        }
        Ok(())
    }
}

impl Followed {
    /// The link type, once the file begins; a file that begins otherwise is no segment.
    fn link(&mut self, size: u64) -> io::Result<Option<Link>> {
        if self.link.is_none() && size >= GLOBAL as u64 {
            let mut header = [0; GLOBAL];
            self.file.read_exact_at(&mut header, 0)?;
            self.link = marker::link_of(&header);
            self.is_over = self.link.is_none();
            self.at = GLOBAL as u64;
        }
        Ok(self.link)
    }

    /// The next chunk that is wholly within `size` bytes, and where it begins.
    fn next_chunk(&mut self, link: Link, size: u64) -> io::Result<Option<(u64, Chunk)>> {
        let mut head = [0; MARKER];
        let head = &mut head[..marker::len(link)];
        while !self.is_over && self.at + head.len() as u64 <= size {
            self.file.read_exact_at(head, self.at)?;
            let Some((marker, length)) = Marker::read(link, head) else {
                // Damaged. What follows is left to those who read the whole segment.
                self.is_over = true;
                break;
            };
            let begins = self.at;
            let content = match marker {
                Marker::Chunk(chunk) => u64::from(chunk.length),
                _ => 0,
            };
            if begins + length as u64 + content > size {
                break;
            }
            self.at = begins + length as u64 + content;
            match marker {
                Marker::Chunk(chunk) => return Ok(Some((begins, chunk))),
                Marker::End { .. } => self.is_over = true,
                _ => {}
            }
        }
        Ok(None)
    }
}

/// The segment that each worker wrote last.
fn newest_of_each_worker(segments: &BTreeSet<Segment>) -> Vec<Segment> {
    let mut newest: BTreeMap<u16, Segment> = BTreeMap::new();
    for segment in segments {
        if let Some((worker, _)) = segment.origin() {
            newest.insert(worker, segment.clone());
        }
    }
    newest.into_values().collect()
}

/// The latest days whose segments are listed: one may end while another begins.
const DAYS: usize = 2;
/// Segments that are followed at once: those of 128 workers, and the next ones.
const MOST_OPEN: usize = 256;
/// No marker without what it covers is longer.
const MARKER: usize = 128;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ringtap_model::{Frame, LinkType, Nanos};

    use super::*;
    use crate::write::settings::WriterSettings;
    use crate::write::writer::SpoolWriter;

    const START: Nanos = Nanos(1_795_219_200_000_000_000);

    fn settings(dir: &Path) -> WriterSettings {
        WriterSettings { memory: 1 << 20, owners: 8, direct: false, ..WriterSettings::new(dir.to_owned()) }
    }

    fn put(writer: &mut SpoolWriter, owner: crate::OwnerHandle, millis: u64) {
        let time = START + Nanos::from_millis(millis);
        let data = [millis as u8; 60];
        let link = LinkType(1);
        writer.put(owner, &Frame { time, number: 0, link, wire_len: 60, data: &data });
        writer.tick(time);
    }

    /// Reads until a chunk of the owner comes, which another thread writes.
    fn next(follower: &mut Follower, owner: u64) -> FoundPackets {
        let (mut found, begun) = (None, std::time::Instant::now());
        while found.is_none() {
            assert!(begun.elapsed().as_secs() < 120, "nothing was written");
            follower
                .read(&BTreeSet::from([owner]), &mut |chunk| {
                    assert_eq!(chunk.owner, owner, "nobody asked for others");
                    found = Some(chunk.packets);
                })
                .expect("the spool is there");
            std::thread::yield_now();
        }
        found.unwrap_or_default()
    }

    #[test]
    fn who_is_listened_to_is_written_soon_and_others_as_before() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut writer = SpoolWriter::open(settings(dir.path())).expect("a spool");
        let [heard, other] = [11, 12].map(|key| writer.begin(Category::Media, key).expect("a slot"));
        writer.hurry(heard, true);
        for millis in (0..500).step_by(20) {
            put(&mut writer, heard, millis);
            put(&mut writer, other, millis);
        }
        let mut follower = Follower::new(Reader::open(dir.path()).expect("a spool"));
        let first = next(&mut follower, 11);
        // How many depends on when the packer looked.
        assert!(!first.is_empty() && first.packets().all(|packet| packet.data.len() == 60));
        let mut others = 0;
        follower.read(&BTreeSet::from([12]), &mut |_| others += 1).expect("the spool is there");
        assert_eq!(others, 0, "it waits for its age");

        // A segment ends, the next one begins; nothing is passed twice.
        let mut from = first.packets().map(|packet| packet.time).max().expect("packets");
        for millis in (500..62_000).step_by(20) {
            put(&mut writer, heard, millis);
        }
        writer.hurry(heard, false);
        let last = START + Nanos::from_millis(61_980);
        writer.close(last);
        while from < last {
            for packet in next(&mut follower, 11).packets() {
                assert!(packet.time > from, "each once, in order");
                from = packet.time;
            }
        }
        assert!(latest_segments(dir.path(), 2).expect("names").len() >= 2);
    }

    #[test]
    fn a_file_that_grows_is_read_to_its_last_whole_chunk() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut writer = SpoolWriter::open(settings(dir.path())).expect("a spool");
        let owner = writer.begin(Category::Media, 11).expect("a slot");
        for millis in (0..30_000).step_by(20) {
            put(&mut writer, owner, millis);
        }
        writer.close(START + Nanos::from_secs(30));
        let name = latest_segments(dir.path(), 2).expect("names").remove(0);
        let whole = std::fs::read(name.path(dir.path())).expect("a segment");
        let grown = tempfile::tempdir().expect("a directory");
        let path = name.path(grown.path());
        std::fs::create_dir_all(path.parent().expect("a day")).expect("a directory");
        let mut follower = Follower::new(Reader::open(grown.path()).expect("a spool"));
        let (mut packets, mut steps) = (0, 0);
        let ends = (0..whole.len()).step_by(1_013).chain([whole.len()]);
        for end in ends {
            std::fs::write(&path, &whole[..end]).expect("a file");
            let each = &mut |chunk: FollowedChunk| {
                assert_eq!(chunk.packets.damaged, 0);
                packets += chunk.packets.len();
                steps += 1;
            };
            follower.read(&BTreeSet::from([11]), each).expect("the spool is there");
        }
        assert!(steps > 1);
        assert_eq!(packets, 1_500);
    }
}

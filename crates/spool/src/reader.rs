//! What was kept of a call, out of its segments.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ringtap_model::{LinkType, Nanos};

use crate::error::Error;
use crate::index::{Index, Row};
use crate::mark::{self, GLOBAL, Link};
use crate::name::{Category, Segment};
use crate::scan::{self, Packet, scan};

/// The longest that a packet may have waited in memory.
const MARGIN: Nanos = Nanos::from_secs(120);

/// Reads a spool's directory. It may be written to at the same time.
#[derive(Debug)]
pub struct Reader {
    dir: PathBuf,
    reads: u64,
}

/// Packets of some owners, in order of time, and what is missing of them.
#[derive(Debug, Default)]
pub struct Found {
    /// Content of the chunks.
    contents: Vec<Vec<u8>>,
    /// Time, which content, which byte: in order.
    order: Vec<(u64, u32, u32)>,
    link: Option<LinkType>,
    /// Segments that are gone, by their names.
    pub gone: Vec<Segment>,
    /// Chunks that are not as they were written, or not there.
    pub damaged: u64,
}

impl Found {
    /// The link type of the packets; None where there is none.
    pub fn link(&self) -> Option<LinkType> {
        self.link
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// In order of time.
    pub fn packets(&self) -> impl Iterator<Item = Packet<'_>> {
        self.order.iter().filter_map(|&(_, content, at)| {
            scan::packets(self.contents.get(content as usize)?.get(at as usize..)?).next()
        })
    }

    fn add(&mut self, bytes: Vec<u8>, range: std::ops::Range<usize>) {
        let content = self.contents.len() as u32;
        let start = bytes.as_ptr() as usize;
        for packet in scan::packets(&bytes[range]) {
            let record = packet.data.as_ptr() as usize - start - mark::RECORD;
            self.order.push((packet.time.0, content, record as u32));
        }
        self.contents.push(bytes);
    }
}

impl Reader {
    /// Of that directory.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        std::fs::read_dir(dir).map_err(|error| Error::io(dir, "read", error))?;
        Ok(Self { dir: dir.to_owned(), reads: 0 })
    }

    /// Read operations so far.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// The segments that may hold packets from `from` to `to`, in order: all workers'.
    ///
    /// # Errors
    ///
    /// A directory that cannot be read.
    pub fn between(&self, from: Nanos, to: Nanos) -> Result<Vec<Segment>, Error> {
        let mut found: Vec<((u16, Category), Nanos, Segment)> = Vec::new();
        for day in self.entries(&self.dir)? {
            for file in self.entries(&self.dir.join(&day)).unwrap_or_default() {
                let Ok(segment) = format!("{day}/{file}").parse::<Segment>() else { continue };
                let Some((worker, at)) = segment.origin() else { continue };
                found.push(((worker, segment.category()), at, segment));
            }
        }
        found.sort_unstable();
        // A segment goes on until the next of its worker and category begins; what waited in memory is older than it.
        let next: Vec<Option<Nanos>> = (0..found.len())
            .map(|at| found.get(at + 1).filter(|next| next.0 == found[at].0).map(|next| next.1))
            .collect();
        let mut within: Vec<Segment> = found
            .into_iter()
            .zip(next)
            .filter(|((_, at, _), next)| *at <= to + MARGIN && next.is_none_or(|next| next + MARGIN >= from))
            .map(|((_, _, segment), _)| segment)
            .collect();
        within.sort_unstable();
        Ok(within)
    }

    fn entries(&self, dir: &Path) -> Result<Vec<String>, Error> {
        let entries = std::fs::read_dir(dir).map_err(|error| Error::io(dir, "read", error))?;
        Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    /// All packets of the owners in these segments.
    ///
    /// # Errors
    ///
    /// A file that the operating system does not let read. A segment that is gone and a chunk that is damaged are no errors:
    /// [`Found`] says so.
    pub fn read(&mut self, owners: &[u64], segments: &[Segment]) -> Result<Found, Error> {
        let mut found = Found::default();
        let mut next: BTreeMap<u64, u32> = owners.iter().map(|owner| (*owner, 0)).collect();
        for segment in segments {
            let path = segment.path(&self.dir);
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    found.gone.push(segment.clone());
                    continue;
                }
                Err(error) => return Err(Error::io(&path, "opened", error)),
            };
            self.segment(&file, segment, owners, &mut found, &mut next)
                .map_err(|error| Error::io(&path, "read", error))?;
        }
        found.order.sort_unstable();
        Ok(found)
    }

    fn segment(
        &mut self,
        file: &File,
        segment: &Segment,
        owners: &[u64],
        found: &mut Found,
        next: &mut BTreeMap<u64, u32>,
    ) -> io::Result<()> {
        let mut header = [0; GLOBAL];
        self.reads += 1;
        let link = match file.read_exact_at(&mut header, 0) {
            Ok(()) => mark::link_of(&header),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(error),
        };
        let Some(link) = link else {
            found.damaged += 1;
            return Ok(());
        };
        found.link = Some(link.number());
        for row in self.rows(file, segment, owners)? {
            // Chunks are counted from 0: what is left out is missing, wherever it has gone.
            if let Some(expected) = next.get_mut(&row.chunk.owner) {
                found.damaged += u64::from(row.chunk.number.saturating_sub(*expected));
                *expected = (*expected).max(row.chunk.number + 1);
            }
            self.chunk(file, link, &row, found)?;
        }
        Ok(())
    }

    /// The chunks of the owners, in order of the file: one way over the disk.
    fn rows(&mut self, file: &File, segment: &Segment, owners: &[u64]) -> io::Result<Vec<Row>> {
        let mut rows = match self.indexed(segment, owners)? {
            Some(rows) => rows,
            // Still open, or its writer was killed, or the index is damaged: the segment tells itself.
            None => {
                let mut bytes = Vec::new();
                io::Read::read_to_end(&mut &*file, &mut bytes)?;
                self.reads += 1;
                let mut rows = scan(&bytes).rows;
                rows.retain(|row| owners.contains(&row.chunk.owner));
                rows
            }
        };
        rows.sort_unstable_by_key(|row| row.offset);
        Ok(rows)
    }

    fn indexed(&mut self, segment: &Segment, owners: &[u64]) -> io::Result<Option<Vec<Row>>> {
        let file = match File::open(segment.index_path(&self.dir)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(mut index) = Index::open(file)? else { return Ok(None) };
        let mut rows = Vec::new();
        for owner in owners {
            match index.find(*owner)? {
                Some(found) => rows.extend(found),
                None => return Ok(None),
            }
        }
        self.reads += index.reads;
        Ok(Some(rows))
    }

    fn chunk(&mut self, file: &File, link: Link, row: &Row, found: &mut Found) -> io::Result<()> {
        let mut bytes = vec![0; mark::len(link) + row.chunk.length as usize];
        self.reads += 1;
        match file.read_exact_at(&mut bytes, row.offset) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                found.damaged += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        match scan::content(link, &bytes, &row.chunk) {
            Some(range) => found.add(bytes, range),
            None => found.damaged += 1,
        }
        Ok(())
    }
}

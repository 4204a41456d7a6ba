//! The index beside a segment: where the chunks of each owner are.
//!
//! Rows are sorted by owner and number, in pages of 4 KiB with a checksum each. Behind them are the first
//! owner of every page and a footer. Finding an owner usually takes one read at the end of the file and one
//! of a page.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use ringtap_model::Nanos;

use crate::segment::marker::{self, Chunk, Link, u32_at, u64_at};

/// Where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexRow {
    /// Offset of its marker in the segment.
    pub offset: u64,
    /// As in the marker.
    pub chunk: Chunk,
}

impl IndexRow {
    /// The bytes of the chunk with its marker.
    pub(crate) fn range(&self, link: Link) -> Range<u64> {
        self.offset..self.offset + marker::len(link) as u64 + u64::from(self.chunk.length)
    }
}

const PAGE: usize = 4096;
const ROW: usize = 56;
const ROWS: usize = (PAGE - CRC) / ROW;
const CRC: usize = 4;
const FOOTER: usize = 24;
const MAGIC: [u8; 4] = *b"RTSX";
/// Bytes read at the end: the directory of 8,000 pages, 580,000 chunks.
const TAIL: usize = 64 << 10;

/// The bytes of an index file. Sorts the rows.
pub(crate) fn encode(rows: &mut [IndexRow]) -> Vec<u8> {
    rows.sort_unstable_by_key(|row| (row.chunk.owner, row.chunk.number));
    let pages = rows.chunks(ROWS);
    let mut bytes = Vec::with_capacity(pages.len() * (PAGE + 8) + CRC + FOOTER);
    let mut directory = Vec::with_capacity(pages.len() * 8);
    for page in pages {
        let start = bytes.len();
        directory.extend(page[0].chunk.owner.to_le_bytes());
        page.iter().for_each(|row| put(row, &mut bytes));
        bytes.resize(start + PAGE - CRC, 0);
        let crc = ringtap_cpu::crc32c(0, &bytes[start..]);
        bytes.extend(crc.to_le_bytes());
    }
    let crc = ringtap_cpu::crc32c(0, &directory);
    bytes.extend(directory);
    let mut footer = [0; FOOTER];
    footer[0..8].copy_from_slice(&(rows.len() as u64).to_le_bytes());
    footer[8..12].copy_from_slice(&crc.to_le_bytes());
    footer[12..16].copy_from_slice(&MAGIC);
    let crc = ringtap_cpu::crc32c(0, &footer[..20]);
    footer[20..24].copy_from_slice(&crc.to_le_bytes());
    bytes.extend(footer);
    bytes
}

fn put(row: &IndexRow, to: &mut Vec<u8>) {
    let Chunk { owner, number, packets, length, crc, flags, key, plain, first, last } = row.chunk;
    // A chunk spans seconds and its packets fit into 64 KiB: the span in microseconds, rounded up, fits into
    // 32 bits.
    let span = u32::try_from(last.since(first).0.div_ceil(1000)).unwrap_or(u32::MAX);
    to.extend(owner.to_le_bytes());
    to.extend(row.offset.to_le_bytes());
    to.extend(first.0.to_le_bytes());
    for word in [span, number, packets, length, crc, flags, key, plain] {
        to.extend(word.to_le_bytes());
    }
}

fn row(bytes: &[u8]) -> Option<IndexRow> {
    let first = Nanos(u64_at(bytes, 16)?);
    let chunk = Chunk {
        owner: u64_at(bytes, 0)?,
        first,
        last: first + Nanos::from_micros(u64::from(u32_at(bytes, 24)?)),
        number: u32_at(bytes, 28)?,
        packets: u32_at(bytes, 32)?,
        length: u32_at(bytes, 36)?,
        crc: u32_at(bytes, 40)?,
        flags: u32_at(bytes, 44)?,
        key: u32_at(bytes, 48)?,
        plain: u32_at(bytes, 52)?,
    };
    Some(IndexRow { offset: u64_at(bytes, 8)?, chunk })
}

/// An open index.
pub(crate) struct Index {
    file: File,
    rows: u64,
    /// The first owner of each page.
    directory: Vec<u64>,
    /// Read operations so far.
    pub(crate) reads: u64,
}

impl Index {
    /// None if the file is not a complete index: read the segment itself then.
    pub(crate) fn open(file: File) -> io::Result<Option<Self>> {
        let size = file.metadata()?.len();
        let from = size.saturating_sub(TAIL as u64);
        let mut tail = vec![0; (size - from) as usize];
        file.read_exact_at(&mut tail, from)?;
        let mut reads = 1;
        let Some(footer) = tail.last_chunk::<FOOTER>() else { return Ok(None) };
        let (Some(rows), Some(crc)) = (u64_at(footer, 0), u32_at(footer, 20)) else { return Ok(None) };
        let pages = rows.div_ceil(ROWS as u64);
        let directory_at = pages.saturating_mul(PAGE as u64);
        let sound = footer[12..16] == MAGIC
            && ringtap_cpu::crc32c(0, &footer[..20]) == crc
            && directory_at.saturating_add(pages.saturating_mul(8)).saturating_add(FOOTER as u64) == size;
        if !sound {
            return Ok(None);
        }
        let mut bytes = vec![0; (pages * 8) as usize];
        if directory_at >= from {
            bytes.copy_from_slice(&tail[(directory_at - from) as usize..][..(pages * 8) as usize]);
        } else {
            file.read_exact_at(&mut bytes, directory_at)?;
            reads += 1;
        }
        if Some(ringtap_cpu::crc32c(0, &bytes)) != u32_at(footer, 8) {
            return Ok(None);
        }
        let directory = bytes.chunks_exact(8).filter_map(|owner| u64_at(owner, 0)).collect();
        Ok(Some(Self { file, rows, directory, reads }))
    }

    /// The chunks of an owner, in order. None if a page is damaged.
    pub(crate) fn find(&mut self, owner: u64) -> io::Result<Option<Vec<IndexRow>>> {
        let mut found = Vec::new();
        // The owner's rows may begin on the page before the first page that begins with the owner.
        let first = self.directory.partition_point(|start| *start < owner).saturating_sub(1);
        for number in first..self.directory.len() {
            if self.directory[number] > owner {
                break;
            }
            let Some(rows) = self.page(number)? else { return Ok(None) };
            found.extend(rows.into_iter().filter(|row| row.chunk.owner == owner));
        }
        Ok(Some(found))
    }

    /// All rows. None if a page is damaged.
    pub(crate) fn all(&mut self) -> io::Result<Option<Vec<IndexRow>>> {
        let mut rows = Vec::new();
        for number in 0..self.directory.len() {
            let Some(page) = self.page(number)? else { return Ok(None) };
            rows.extend(page);
        }
        Ok(Some(rows))
    }

    fn page(&mut self, number: usize) -> io::Result<Option<Vec<IndexRow>>> {
        let mut page = [0; PAGE];
        self.file.read_exact_at(&mut page, (number * PAGE) as u64)?;
        self.reads += 1;
        if u32_at(&page, PAGE - CRC) != Some(ringtap_cpu::crc32c(0, &page[..PAGE - CRC])) {
            return Ok(None);
        }
        let rows = (self.rows - (number * ROWS) as u64).min(ROWS as u64) as usize;
        Ok(Some(page.chunks_exact(ROW).take(rows).filter_map(row).collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn sample(owner: u64, number: u32) -> IndexRow {
        let first = Nanos(1_795_219_200_000_000_000 + u64::from(number) * 1_000_000_000);
        let chunk = Chunk {
            owner,
            number,
            packets: 5,
            length: 900,
            crc: owner as u32,
            flags: number & 3,
            key: number,
            plain: 880,
            first,
            last: first + Nanos::from_millis(3),
        };
        IndexRow { offset: owner * 1_000_000 + u64::from(number), chunk }
    }

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn every_owner_is_found() {
        for owners in [0u64, 1, 50, 700] {
            let mut rows: Vec<IndexRow> = (0..3)
                .flat_map(|number| (0..owners).map(move |owner| sample(owner * 2, number)))
                .chain((0..300).map(|number| sample(1_001, number)))
                .collect();
            let mut index = Index::open(file(&encode(&mut rows))).unwrap().unwrap();
            for owner in 0..owners {
                let wanted: Vec<IndexRow> = (0..3).map(|number| sample(owner * 2, number)).collect();
                assert_eq!(index.find(owner * 2).unwrap().unwrap(), wanted);
                let odd = owner * 2 + 1;
                assert_eq!(index.find(odd).unwrap().unwrap().len(), if odd == 1_001 { 300 } else { 0 });
            }
            assert_eq!(index.find(1_001).unwrap().unwrap().len(), 300);
            assert_eq!(index.find(u64::MAX).unwrap().unwrap(), []);
        }
    }

    #[test]
    fn a_damaged_index_says_so() {
        let mut rows: Vec<IndexRow> = (0..200).map(|owner| sample(owner, 0)).collect();
        let good = encode(&mut rows);
        for cut in [0, 1, FOOTER, good.len() / 2, good.len() - 1] {
            assert!(Index::open(file(&good[..cut])).unwrap().is_none(), "cut at {cut}");
        }
        for at in 0..good.len() {
            if at % 97 != 0 && at < good.len() - 100 {
                continue;
            }
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            let whole = Index::open(file(&bad)).unwrap().is_some_and(|mut index| {
                (0..200).all(|owner| index.find(owner).unwrap() == Some(vec![sample(owner, 0)]))
            });
            // Four bytes of the footer are unused.
            assert!(!whole, "byte {at} of {}", good.len());
        }
    }
}

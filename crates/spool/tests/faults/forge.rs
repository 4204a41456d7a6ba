//! New content for files: bytes that a failing disk, or somebody with care, leaves.

use ringtap_spool::{IndexRow, scan};

use crate::dice::Dice;

/// Bytes of a marker in an Ethernet segment, where its checksum lies, and where it has that of the chunk.
const MARKER: usize = 98;
const MAGIC: usize = 30;
const CHUNK_CRC: usize = 74;
const MARKER_CRC: usize = 94;
const ROW: usize = 96;
const PAGE: usize = 4096;

/// A file's new content, and what is different: bytes of the old content.
pub(crate) struct Edit {
    pub(crate) kind: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// Changes a file; None if that is not possible, or changes nothing.
pub(crate) fn edit(dice: &mut Dice, name: &str, old: &[u8]) -> Option<Edit> {
    if old.is_empty() {
        return None;
    }
    let mut new = old.to_vec();
    let from = dice.below(old.len());
    let most = [4, 64, 4096][dice.below(3)];
    let length = (1 + dice.below(most)).min(old.len() - from);
    let to = from + length;
    let end = old.len();
    let (kind, from, to) = match dice.below(12) {
        0..3 => {
            new[from] ^= 1 << dice.below(8);
            ("flip a bit", from, from)
        }
        3 => {
            new[from..to].copy_from_slice(&dice.bytes(length));
            ("overwrite bytes", from, to)
        }
        4 => {
            new[from..to].fill(0);
            ("overwrite bytes with zeros", from, to)
        }
        5 => {
            new.truncate(from);
            ("truncate", from, end)
        }
        6 => {
            let more = if dice.one_in(2) { vec![0; length] } else { dice.bytes(length) };
            new.extend(more);
            ("append bytes", end, end + length)
        }
        7 => {
            new.drain(from..to);
            ("cut bytes out", from, end)
        }
        8 => {
            let more = if dice.one_in(2) { old[from..to].to_vec() } else { dice.bytes(length) };
            new.splice(from..from, more);
            ("insert bytes", from, end + length)
        }
        9 => {
            let other = dice.below(old.len() - length + 1);
            new.copy_within(other..other + length, from);
            ("copy bytes over others", from, to)
        }
        _ => {
            let (from, to) = with_checksum(dice, name, &mut new)?;
            ("change with a new checksum", from, to)
        }
    };
    (new != old).then_some(Edit { kind, bytes: new, from, to })
}

/// Changes a byte, and writes the checksum that covers it anew. Returns the bytes that changed.
fn with_checksum(dice: &mut Dice, name: &str, bytes: &mut [u8]) -> Option<(usize, usize)> {
    let flip = |bytes: &mut [u8], dice: &mut Dice| {
        let at = dice.below(bytes.len());
        bytes[at] ^= 1 << dice.below(8);
    };
    match name.rsplit_once('.')?.1 {
        "keys" => {
            let row = dice.below((bytes.len() / ROW).max(1)) * ROW;
            let row_bytes = bytes.get_mut(row..row + ROW)?;
            flip(&mut row_bytes[..ROW - 4], dice);
            put_crc(row_bytes);
            Some((row, row + ROW))
        }
        "idx" => {
            let page = dice.below((bytes.len() / PAGE).max(1)) * PAGE;
            let page_bytes = bytes.get_mut(page..page + PAGE)?;
            flip(&mut page_bytes[..PAGE - 4], dice);
            put_crc(page_bytes);
            Some((page, page + PAGE))
        }
        "pcap" => {
            let rows = scan(bytes).rows;
            let IndexRow { offset, chunk } = *dice.choose(&rows)?;
            let (start, end) = (offset as usize, offset as usize + MARKER + chunk.length as usize);
            if dice.one_in(3) {
                put_plain(&mut bytes[start..end]);
            } else if dice.one_in(2) {
                flip(&mut bytes[start + MARKER..end], dice);
                let crc = ringtap_cpu::crc32c(0, &bytes[start + MARKER..end]);
                bytes[start + CHUNK_CRC..start + CHUNK_CRC + 4].copy_from_slice(&crc.to_le_bytes());
            } else {
                flip(&mut bytes[start + MAGIC..start + MARKER_CRC], dice);
            }
            let crc = ringtap_cpu::crc32c(0, &bytes[start + MAGIC..start + MARKER_CRC]);
            bytes[start + MARKER_CRC..start + MARKER].copy_from_slice(&crc.to_le_bytes());
            Some((start, end))
        }
        _ => None,
    }
}

fn put_crc(bytes: &mut [u8]) {
    let (content, crc) = bytes.split_at_mut(bytes.len() - 4);
    crc.copy_from_slice(&ringtap_cpu::crc32c(0, content).to_le_bytes());
}

/// Puts a packet of another content in a chunk, not sealed.
fn put_plain(chunk: &mut [u8]) {
    let length = (chunk.len() - MARKER) as u32;
    let record = &mut chunk[MARKER..];
    record.fill(0x41);
    record[8..12].copy_from_slice(&(length - 16).to_le_bytes());
    record[12..16].copy_from_slice(&(length - 16).to_le_bytes());
    let crc = ringtap_cpu::crc32c(0, record);
    let mut put = |at: usize, word: u32| chunk[at..at + 4].copy_from_slice(&word.to_le_bytes());
    put(CHUNK_CRC, crc);
    put(CHUNK_CRC + 4, 0);
    put(CHUNK_CRC + 8, 0);
    put(CHUNK_CRC + 12, length);
}

/// Another name for a segment: of another worker, category, number or time, or in another directory.
pub(crate) fn other_name(dice: &mut Dice, stem: &str) -> String {
    let number = dice.below(100);
    match dice.below(7) {
        0 => stem.replace("-w0-", &format!("-w{}-", 1 + number)),
        1 if stem.contains("-m-") => stem.replace("-m-", "-s-"),
        1 => stem.replace("-s-", "-m-"),
        2 => stem.replace("-m-", "-p-").replace("-s-", "-p-"),
        3 => format!("{stem}{number}"),
        4 => stem.replace("2026-11-21/", &format!("2026-12-{:02}/", 1 + number % 31)),
        5 => match stem.strip_prefix("held/") {
            Some(rest) => rest.to_owned(),
            None => format!("held/{stem}"),
        },
        _ => {
            let (day, file) = stem.rsplit_once('/').unwrap_or(("", stem));
            let rest = file.get(6..).unwrap_or(file);
            format!("{day}/12{:02}{:02}{rest}", number % 60, dice.below(60))
        }
    }
}

/// Lines of a log: new bytes, the lines concerned from 1, and what was done.
pub(crate) fn lines(dice: &mut Dice, old: &[u8]) -> Option<(Vec<u8>, (usize, usize), &'static str)> {
    let mut lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() {
        return None;
    }
    let (a, b) = (dice.below(lines.len()), dice.below(lines.len()));
    let last = lines.len();
    let (what, concerned) = match dice.below(5) {
        0 => {
            lines.remove(a);
            ("one is cut out", (a + 1, last))
        }
        1 => {
            lines.swap(a, b);
            ("two are swapped", (a.min(b) + 1, a.max(b) + 1))
        }
        2 => {
            lines.insert(b, lines[a]);
            ("one is repeated", (b + 1, last + 1))
        }
        3 => {
            lines[a] = lines[b];
            ("one is replaced", (a + 1, a + 1))
        }
        _ => {
            lines.truncate(a);
            ("the last are cut off", (a, last))
        }
    };
    let new = lines.concat();
    (new != old).then_some((new, concerned, what))
}

/// Swaps a chunk or a row of one file with one of another, or of the same.
#[expect(clippy::type_complexity, reason = "two files, and where the first was changed")]
pub(crate) fn swap_parts(
    dice: &mut Dice,
    extension: &str,
    a: &str,
    old_a: &[u8],
    b: &str,
    old_b: &[u8],
) -> Option<(Vec<u8>, Vec<u8>, (usize, usize))> {
    let parts = |bytes: &[u8]| -> Vec<(usize, usize)> {
        match extension {
            "keys" => (1..bytes.len() / ROW).map(|row| (row * ROW, row * ROW + ROW)).collect(),
            _ => {
                let end = |row: &IndexRow| row.offset as usize + MARKER + row.chunk.length as usize;
                scan(bytes).rows.iter().map(|row| (row.offset as usize, end(row))).collect()
            }
        }
    };
    let (&from, &to) = (dice.choose(&parts(old_a))?, dice.choose(&parts(old_b))?);
    let (part_a, part_b) = (old_a[from.0..from.1].to_vec(), old_b[to.0..to.1].to_vec());
    if part_a == part_b {
        return None;
    }
    let (mut new_a, mut new_b) = (old_a.to_vec(), old_b.to_vec());
    if a == b {
        let ((first, first_part), (second, second_part)) =
            if from < to { ((from, part_b), (to, part_a)) } else { ((to, part_a), (from, part_b)) };
        new_a.splice(second.0..second.1, second_part);
        new_a.splice(first.0..first.1, first_part);
        new_b.clone_from(&new_a);
        return Some((new_a, new_b, (first.0, second.1)));
    }
    new_a.splice(from.0..from.1, part_b);
    new_b.splice(to.0..to.1, part_a);
    Some((new_a, new_b, from))
}

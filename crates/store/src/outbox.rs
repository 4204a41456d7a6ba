//! Records that wait on disk until the day files take them.
//!
//! Numbered files in a directory, each of bounded size: the last is appended to, the first is read from and
//! deleted once its records are stored. The position of the reader is not saved: after a kill the first file
//! is stored again from its beginning, which changes nothing, since a record's id is derived from what it
//! describes.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::entry_file::{EntryFile, LONGEST, Magic, OVERHEAD};
use crate::record::PendingRecord;
use crate::{Error, directory};

const MAGIC: Magic = *b"RTOUTBX1";

/// Files that a full outbox has: space is freed one file at a time.
const FILES: u64 = 16;

/// Bytes of records read at once.
const READ: usize = 8 << 20;

#[derive(Debug)]
pub(crate) struct Outbox {
    dir: PathBuf,
    limit: u64,
    files: VecDeque<OutboxFile>,
    /// Where the first file is read from.
    head: u64,
    /// What was read and is not stored yet.
    read: Option<ReadBatch>,
    records: u64,
    bytes: u64,
    next: u64,
}

#[derive(Debug)]
struct OutboxFile {
    file: EntryFile,
    records: u64,
}

#[derive(Clone, Copy, Debug)]
struct ReadBatch {
    end: u64,
    records: u64,
}

impl Outbox {
    /// What waits in that directory, which is created where it does not exist, and how many damaged bytes
    /// were cut off. It never uses more than `limit` bytes.
    pub(crate) fn open(dir: &Path, limit: u64) -> Result<(Self, u64), Error> {
        directory::create(dir).map_err(|error| Error::file(dir, error))?;
        let mut numbers = Vec::new();
        for entry in fs::read_dir(dir).map_err(|error| Error::file(dir, error))?.flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("part-")?.parse::<u64>().ok());
            numbers.extend(number.filter(|number| name.to_str() == Some(file_name(*number).as_str())));
        }
        numbers.sort_unstable();
        let mut outbox = Self {
            dir: dir.to_owned(),
            limit,
            files: VecDeque::new(),
            head: MAGIC.len() as u64,
            read: None,
            records: 0,
            bytes: 0,
            next: numbers.last().map_or(1, |last| last + 1),
        };
        let mut cut = 0;
        for number in numbers {
            let mut records = 0;
            let (file, torn) = EntryFile::open(&dir.join(file_name(number)), MAGIC, |_, _| records += 1)?;
            cut += torn;
            outbox.records += records;
            outbox.bytes += file.len();
            outbox.files.push_back(OutboxFile { file, records });
        }
        outbox.drop_finished();
        Ok((outbox, cut))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Records that wait.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Bytes that it uses.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends as many of the records as there is room for, in order, and returns how many: they are durable
    /// then.
    pub(crate) fn push<'a>(
        &mut self,
        records: impl Iterator<Item = &'a PendingRecord>,
    ) -> Result<usize, Error> {
        let mut room = self.limit.saturating_sub(self.bytes);
        let part = (self.limit / FILES).max(1);
        let is_full = self.files.back().is_none_or(|last| last.file.len() >= part || last.file.is_removed());
        if is_full {
            let Some(rest) = room.checked_sub(MAGIC.len() as u64) else { return Ok(0) };
            room = rest;
        }
        let fits = |packed: &Vec<u8>| {
            let size = OVERHEAD + packed.len() as u64;
            let fits = size <= room && packed.len() <= LONGEST;
            room -= if fits { size } else { 0 };
            fits
        };
        let entries: Vec<Vec<u8>> = records.map(PendingRecord::packed).take_while(fits).collect();
        if entries.is_empty() {
            return Ok(0);
        }
        if is_full {
            // It may have been removed since.
            directory::create(&self.dir).map_err(|error| Error::file(&self.dir, error))?;
            let file = EntryFile::create(&self.dir.join(file_name(self.next)), MAGIC)?;
            self.next += 1;
            self.bytes += file.len();
            self.files.push_back(OutboxFile { file, records: 0 });
        }
        // Just made sure of.
        let Some(last) = self.files.back_mut() else { return Ok(0) };
        let before = last.file.len();
        last.file.append(entries.iter().map(Vec::as_slice))?;
        self.bytes += last.file.len() - before;
        last.records += entries.len() as u64;
        self.records += entries.len() as u64;
        last.file.sync()?;
        Ok(entries.len())
    }

    /// The oldest records, at most `most`; they stay until [`Outbox::stored`]. Records that cannot
    /// be read are left out.
    pub(crate) fn read(&mut self, most: usize) -> Result<Vec<PendingRecord>, Error> {
        let mut found = Vec::new();
        let Some(first) = self.files.front() else { return Ok(found) };
        let (mut records, mut size) = (0, 0);
        let mut entries = first.file.entries(self.head);
        while records < most && size < READ {
            let entry = entries.next().map_err(|error| Error::file(first.file.path(), error))?;
            let Some((_, payload)) = entry else { break };
            records += 1;
            size += payload.len();
            found.extend(PendingRecord::unpacked(payload));
        }
        // A file that is shorter than it was: what is missing waits no longer.
        let records = if records == 0 { first.records } else { records as u64 };
        self.read = Some(ReadBatch { end: entries.end(), records });
        Ok(found)
    }

    /// What was last read is stored.
    pub(crate) fn stored(&mut self) {
        let (Some(read), Some(first)) = (self.read.take(), self.files.front_mut()) else { return };
        self.head = read.end;
        first.records = first.records.saturating_sub(read.records);
        self.records = self.records.saturating_sub(read.records);
        self.drop_finished();
    }

    fn drop_finished(&mut self) {
        while let Some(part) = self.files.pop_front_if(|part| part.records == 0) {
            self.bytes -= part.file.len();
            self.head = MAGIC.len() as u64;
            // A file that cannot be deleted is stored once more at the next start: then the record of a call
            // in progress would take the place of its last one.
            let _ = fs::remove_file(part.file.path()).and_then(|()| directory::sync_parent(part.file.path()));
        }
    }
}

fn file_name(number: u64) -> String {
    format!("part-{number:08}")
}

#[cfg(test)]
mod tests {
    use ringtap_model::{Endpoint, Id, Message, Nanos};

    use super::*;
    use crate::record::AnyRecord;

    fn record(number: u64) -> PendingRecord {
        let host = Endpoint::new([192, 0, 2, 1].into(), 5060);
        let message = Message {
            id: Id(u128::from(number).to_be_bytes()),
            call_id: "m".repeat(100),
            src: host,
            dst: host,
            from: None,
            to: None,
            content_type: None,
            size: 1,
            // Of the same length in every record.
            time: Nanos::from_secs(1_795_262_400) + Nanos::from_micros(number),
            code: 200,
        };
        AnyRecord::Message(Box::new(message)).into()
    }

    fn numbers(records: &[PendingRecord]) -> Vec<u64> {
        let number = |pending: &PendingRecord| match &pending.record {
            AnyRecord::Message(message) => message.id.0[15].into(),
            other => panic!("{other:?}"),
        };
        records.iter().map(number).collect()
    }

    fn all(outbox: &mut Outbox) -> Vec<u64> {
        let mut found = Vec::new();
        while !outbox.is_empty() {
            found.extend(numbers(&outbox.read(7).unwrap()));
            outbox.stored();
        }
        found
    }

    #[test]
    fn first_in_first_out_over_files_and_restarts() {
        let dir = tempfile::tempdir().unwrap();
        let (mut outbox, _) = Outbox::open(dir.path(), 64 << 10).unwrap();
        let records: Vec<PendingRecord> = (0..200).map(record).collect();
        for chunk in records.chunks(9) {
            assert_eq!(outbox.push(chunk.iter()).unwrap(), chunk.len());
        }
        assert!(outbox.files.len() > 3, "{} files", outbox.files.len());
        assert_eq!(numbers(&outbox.read(50).unwrap()), (0..records_of_first(&outbox)).collect::<Vec<_>>());
        // Read and not stored: still there, also for the next run.
        let (mut outbox, cut) = Outbox::open(dir.path(), 64 << 10).unwrap();
        assert_eq!((outbox.records(), cut), (200, 0));
        assert_eq!(all(&mut outbox), (0..200).collect::<Vec<_>>());
        assert_eq!(outbox.bytes(), 0);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        // And from the beginning again.
        assert_eq!(outbox.push([record(7)].iter()).unwrap(), 1);
        assert_eq!(all(&mut outbox), [7]);
    }

    fn records_of_first(outbox: &Outbox) -> u64 {
        outbox.files.front().map_or(0, |part| part.records.min(50))
    }

    #[test]
    fn it_never_uses_more_than_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let (mut outbox, _) = Outbox::open(dir.path(), 4_000).unwrap();
        let records: Vec<PendingRecord> = (0..100).map(record).collect();
        let mut taken = 0;
        for chunk in records.chunks(5) {
            taken += outbox.push(chunk.iter()).unwrap();
        }
        let on_disk: u64 =
            fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
        assert_eq!(on_disk, outbox.bytes());
        assert!((3_500..=4_000).contains(&on_disk) && taken < 30, "{taken} records, {on_disk} bytes");
        // Storing records frees their space.
        outbox.read(5).unwrap();
        outbox.stored();
        assert!(outbox.push([record(250)].iter()).unwrap() == 1);
        assert_eq!(all(&mut outbox).last(), Some(&250));
    }

    #[test]
    fn a_torn_end_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let (mut outbox, _) = Outbox::open(dir.path(), 1 << 20).unwrap();
        outbox.push([record(1), record(2), record(3)].iter()).unwrap();
        let path = dir.path().join("part-00000001");
        let whole = fs::read(&path).unwrap();
        let entry = (whole.len() - 8) / 3;
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let good = (length.saturating_sub(8) / entry) as u64;
            let (mut outbox, cut) = Outbox::open(dir.path(), 1 << 20).unwrap();
            assert_eq!(outbox.records(), good, "cut at {length}");
            let kept = if length < 8 { 0 } else { 8 + good as usize * entry };
            assert_eq!(cut, (length - kept) as u64, "cut at {length}");
            assert_eq!(all(&mut outbox), (1..=good).collect::<Vec<_>>());
        }
    }
}

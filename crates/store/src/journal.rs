//! The journal of calls in progress, from which calls that a kill cut off are recorded.

mod note;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use ringtap_model::{Call, CallState, Id, Nanos};

use crate::entry_file::{EntryFile, Magic, OVERHEAD};
use crate::record::StoredRecord as _;
use crate::{Error, directory};
use note::is_note;
pub use note::{CallNote, NotedStream};

const MAGIC: Magic = *b"RTJOURN1";

/// Entries begin with one of these.
const BEGUN: u8 = b'B';
const ENDED: u8 = b'E';
const TIME: u8 = b'T';

/// The file is compacted when it is this many times as long as the calls in progress need, but never below
/// this length.
const SLACK: u64 = 4;
const SHORT: u64 = 1 << 20;

/// Bytes that the entries of all calls in progress may take: some 300,000 calls. A start reads them all into
/// memory.
const LARGEST: u64 = 512 << 20;

/// Notes of one call.
const MOST_NOTES: usize = 64;

/// What is known of the calls in progress, on disk.
///
/// [`Journal::begin`] when a call begins and whenever more is known of it, [`Journal::note`] for what is not
/// in its record yet, [`Journal::end`] when its record is durable, [`Journal::mark`] as time passes. After a
/// kill [`Journal::open`] gives the calls that had begun and not ended: as `interrupted`, ended at the last
/// time that the journal knows, unless they were released already. Each stays in it until it is ended. The
/// file is bounded by the calls in progress. An entry survives a kill when the call returns, and a power cut
/// after [`Journal::sync`].
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: EntryFile,
    in_progress: HashMap<Id, InProgress>,
    /// Bytes that the entries of the calls in progress take.
    needed: u64,
    /// Bytes that they may take.
    largest: u64,
    last: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    length: usize,
}

/// The entries of a call in progress.
#[derive(Clone, Debug)]
struct InProgress {
    call: Entry,
    /// Each with its tag.
    notes: Vec<(u8, Entry)>,
}

/// What a journal held when it was opened.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Calls that had begun and not ended, by their beginning.
    pub calls: Vec<RecoveredCall>,
    /// The last time that it knows.
    pub last: Nanos,
    /// Bytes at its end that a kill had torn.
    pub cut: u64,
    /// Entries that were left out: those before them take all that the calls in progress may.
    pub refused: u64,
}

/// A call that had begun and not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RecoveredCall {
    /// As it is recorded now: `interrupted`, or as it was released.
    pub record: Call,
    /// How far it had come when it was last known.
    pub state: CallState,
    /// What was noted of it, in order.
    pub notes: Vec<CallNote>,
}

impl RecoveredCall {
    /// Whether the previous run handed it over when it ended, rather than being killed. It has stored its
    /// streams then, and a record.
    pub fn is_handed_over(&self) -> bool {
        matches!(self.notes.last(), Some(CallNote::State(_)))
    }
}

impl Journal {
    /// Opens the journal at that path, or begins one.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or another program wrote it.
    pub fn open(path: &Path) -> Result<(Self, Recovered), Error> {
        Self::open_up_to(path, LARGEST)
    }

    fn open_up_to(path: &Path, largest: u64) -> Result<(Self, Recovered), Error> {
        let mut found = Found { largest, ..Found::default() };
        let (file, cut) = EntryFile::open(path, MAGIC, |at, payload| found.add(at, payload))?;
        let Found { in_progress, needed, last, refused, .. } = found;
        let mut journal = Self { path: path.to_owned(), file, in_progress, needed, largest, last };
        let calls = journal.interrupted()?;
        // When the disk is full now, the journal stays as it is and is compacted later.
        let _ = journal.rewrite(&calls);
        Ok((journal, Recovered { calls, last, cut, refused }))
    }

    /// A call has begun, or more is known of it: `call` as it is known at `now`. False if it has no place:
    /// the entries of the calls in progress take all that they may.
    ///
    /// # Errors
    ///
    /// The file cannot be written; the next entry tries again.
    pub fn begin(&mut self, now: Nanos, call: &Call) -> Result<bool, Error> {
        let payload = begin_entry(now, call);
        if self.needed + OVERHEAD + payload.len() as u64 > self.largest {
            return Ok(false);
        }
        let at = self.file.append([payload.as_slice()])?;
        self.last = self.last.max(now);
        let entry = Entry { at, length: payload.len() };
        self.needed += entry.size();
        self.needed -= begin(&mut self.in_progress, call.id, entry).map_or(0, |before| before.size());
        self.compact()?;
        Ok(true)
    }

    /// Notes something of a call in progress. False if it has no place: the journal does not know the call,
    /// has [`MOST_NOTES`] of it, or as many bytes as it may.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn note(&mut self, call: &Id, note: &CallNote) -> Result<bool, Error> {
        let Self { in_progress, file, needed, .. } = self;
        let Some(in_progress) = in_progress.get_mut(call).filter(|call| call.has_place(note.tag())) else {
            return Ok(false);
        };
        let payload = note.entry(call);
        if *needed + OVERHEAD + payload.len() as u64 > self.largest {
            return Ok(false);
        }
        let at = file.append([payload.as_slice()])?;
        *needed -= in_progress.size();
        in_progress.add_note(note.tag(), Entry { at, length: payload.len() });
        *needed += in_progress.size();
        self.compact()?;
        Ok(true)
    }

    /// The record of a call is durable. A call that the journal does not know is no error.
    ///
    /// # Errors
    ///
    /// The file cannot be written: the call would be taken for interrupted after a kill, and its record is
    /// there first.
    pub fn end(&mut self, call: &Id) -> Result<(), Error> {
        let Some(entry) = self.in_progress.remove(call) else { return Ok(()) };
        self.needed -= entry.size();
        let payload: Vec<u8> = [ENDED].into_iter().chain(call.0).collect();
        self.file.append([payload.as_slice()])?;
        self.compact()
    }

    /// Time has passed: calls cut off later were still in progress at `now`.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn mark(&mut self, now: Nanos) -> Result<(), Error> {
        if self.file.is_removed() {
            // With its directory, perhaps.
            self.path
                .parent()
                .map_or(Ok(()), directory::create)
                .map_err(|error| Error::file(&self.path, error))?;
            self.write_anew()?;
        }
        if now <= self.last || self.in_progress.is_empty() {
            return Ok(());
        }
        self.last = now;
        let payload: Vec<u8> = [TIME].into_iter().chain(now.0.to_le_bytes()).collect();
        self.file.append([payload.as_slice()])?;
        self.compact()
    }

    /// Makes it survive a power cut.
    ///
    /// # Errors
    ///
    /// The disk refuses.
    pub fn sync(&self) -> Result<(), Error> {
        self.file.sync()
    }

    /// The end of a run: where no call is in progress any more, the file is emptied.
    ///
    /// # Errors
    ///
    /// The disk refuses; the journal is right all the same.
    pub fn close(mut self) -> Result<(), Error> {
        self.file.sync()?;
        if self.in_progress.is_empty() { self.rewrite(&[]) } else { Ok(()) }
    }

    /// Calls in progress.
    pub fn calls(&self) -> usize {
        self.in_progress.len()
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.file.len()
    }

    /// The calls in progress as they will be recorded.
    fn interrupted(&self) -> Result<Vec<RecoveredCall>, Error> {
        let mut calls = Vec::with_capacity(self.in_progress.len());
        for (id, in_progress) in &self.in_progress {
            let payload = self.payload(&in_progress.call)?;
            // The checksum was right: only another program can have written what is no call, or another.
            let call = payload.get(25..).and_then(|json| serde_json::from_slice::<Call>(json).ok());
            let Some(call) = call.filter(|call| call.id == *id) else { continue };
            let mut notes = Vec::with_capacity(in_progress.notes.len());
            for (_, entry) in &in_progress.notes {
                notes.extend(CallNote::of_entry(&self.payload(entry)?));
            }
            calls.push(RecoveredCall { state: call.state, record: interrupted(call, self.last), notes });
        }
        calls.sort_by_key(|call| (call.record.start(), call.record.id));
        Ok(calls)
    }

    fn payload(&self, entry: &Entry) -> Result<Vec<u8>, Error> {
        self.file.entry(entry.at, entry.length)
    }

    /// Writes the file anew when most of its calls have ended.
    fn compact(&mut self) -> Result<(), Error> {
        if self.file.len() < SHORT.max(self.needed * SLACK) {
            return Ok(());
        }
        self.write_anew()
    }

    fn write_anew(&mut self) -> Result<(), Error> {
        let mut successor = self.create_successor()?;
        let mut in_progress = HashMap::with_capacity(self.in_progress.len());
        for (id, call) in &self.in_progress {
            let payload = self.payload(&call.call)?;
            in_progress.insert(*id, self.moved(call, &payload, &mut successor)?);
        }
        self.replace(successor, in_progress)
    }

    /// Writes the file anew with these calls, so that they keep the end that they have now.
    fn rewrite(&mut self, calls: &[RecoveredCall]) -> Result<(), Error> {
        let mut successor = self.create_successor()?;
        let mut in_progress = HashMap::with_capacity(calls.len());
        for RecoveredCall { record, .. } in calls {
            let Some(call) = self.in_progress.get(&record.id) else { continue };
            let payload = begin_entry(self.last, record);
            in_progress.insert(record.id, self.moved(call, &payload, &mut successor)?);
        }
        self.replace(successor, in_progress)
    }

    /// Writes a call with this entry, and its notes, to the successor of this file.
    fn moved(
        &self,
        call: &InProgress,
        payload: &[u8],
        successor: &mut EntryFile,
    ) -> Result<InProgress, Error> {
        let at = successor.append([payload])?;
        let mut moved = InProgress { call: Entry { at, length: payload.len() }, notes: Vec::new() };
        for (tag, entry) in &call.notes {
            let at = successor.append([self.payload(entry)?.as_slice()])?;
            moved.notes.push((*tag, Entry { at, ..*entry }));
        }
        Ok(moved)
    }

    fn create_successor(&self) -> Result<EntryFile, Error> {
        let mut path = self.path.clone().into_os_string();
        path.push(".new");
        EntryFile::create(Path::new(&path), MAGIC).inspect_err(|_| _ = fs::remove_file(&path))
    }

    fn replace(
        &mut self,
        mut successor: EntryFile,
        in_progress: HashMap<Id, InProgress>,
    ) -> Result<(), Error> {
        // Sync the content before the name: a power cut must not leave an empty journal.
        successor.sync()?;
        successor.rename(&self.path)?;
        self.file = successor;
        self.needed = in_progress.values().map(InProgress::size).sum();
        self.in_progress = in_progress;
        Ok(())
    }
}

/// What the entries of a file come to, one after the other.
#[derive(Default)]
struct Found {
    in_progress: HashMap<Id, InProgress>,
    needed: u64,
    largest: u64,
    last: Nanos,
    refused: u64,
}

impl Found {
    fn add(&mut self, at: u64, payload: &[u8]) {
        let entry = Entry { at, length: payload.len() };
        match payload {
            [BEGUN, rest @ ..] => {
                let Some((time, id)) = time_of(rest).zip(rest.get(8..24).and_then(id_of)) else { return };
                self.last = self.last.max(time);
                if self.has_room(entry) {
                    self.needed += entry.size();
                    self.needed -= begin(&mut self.in_progress, id, entry).map_or(0, |before| before.size());
                }
            }
            [ENDED, id @ ..] => {
                let ended = id_of(id).and_then(|id| self.in_progress.remove(&id));
                self.needed -= ended.map_or(0, |call| call.size());
            }
            [TIME, rest @ ..] => self.last = self.last.max(time_of(rest).unwrap_or_default()),
            [tag, rest @ ..] if is_note(*tag) => {
                let has_room = self.has_room(entry);
                let call = rest.get(..16).and_then(id_of).and_then(|id| self.in_progress.get_mut(&id));
                if let Some(call) = call.filter(|_| has_room) {
                    self.needed -= call.size();
                    call.add_note(*tag, entry);
                    self.needed += call.size();
                }
            }
            _ => {}
        }
    }

    fn has_room(&mut self, entry: Entry) -> bool {
        let has_room = self.needed + entry.size() <= self.largest;
        self.refused += u64::from(!has_room);
        has_room
    }
}

impl Entry {
    fn size(&self) -> u64 {
        OVERHEAD + self.length as u64
    }
}

impl InProgress {
    fn size(&self) -> u64 {
        self.call.size() + self.notes.iter().map(|(_, entry)| entry.size()).sum::<u64>()
    }

    /// Whether another note of that kind has a place.
    fn has_place(&self, tag: u8) -> bool {
        self.notes.len() < MOST_NOTES || self.replaced_by(tag).is_some()
    }

    fn add_note(&mut self, tag: u8, entry: Entry) {
        match self.replaced_by(tag) {
            // The last is the latest.
            Some(place) => {
                self.notes.remove(place);
                self.notes.push((tag, entry));
            }
            None if self.notes.len() < MOST_NOTES => self.notes.push((tag, entry)),
            None => {}
        }
    }

    /// The note that one of that kind replaces: a call has many streams, and one of all else.
    fn replaced_by(&self, tag: u8) -> Option<usize> {
        self.notes.iter().position(|(other, _)| *other == tag && tag != note::STREAM)
    }
}

/// Enters a call; returns its entry until now. What was noted of it stays.
fn begin(in_progress: &mut HashMap<Id, InProgress>, id: Id, entry: Entry) -> Option<Entry> {
    match in_progress.get_mut(&id) {
        Some(call) => Some(std::mem::replace(&mut call.call, entry)),
        None => {
            in_progress.insert(id, InProgress { call: entry, notes: Vec::new() });
            None
        }
    }
}

fn id_of(bytes: &[u8]) -> Option<Id> {
    bytes.try_into().ok().map(Id)
}

/// Tag, time, id, JSON.
fn begin_entry(now: Nanos, call: &Call) -> Vec<u8> {
    let mut payload = vec![BEGUN];
    payload.extend(now.0.to_le_bytes());
    payload.extend(call.id.0);
    payload.extend(call.json().into_bytes());
    payload
}

fn time_of(payload: &[u8]) -> Option<Nanos> {
    let bytes = payload.get(..8)?.try_into().ok()?;
    Some(Nanos(u64::from_le_bytes(bytes)))
}

/// A call that was in progress when the journal's time stopped. One that was over, and waited for late
/// packets alone, stays as it was.
fn interrupted(call: Call, last: Nanos) -> Call {
    if !matches!(call.state, CallState::Active | CallState::Ringing | CallState::Trying) {
        return call;
    }
    let end = last.max(call.start().unwrap_or_default());
    let duration_ms = call.answer.map(|answer| (end - answer).millis_f64());
    Call { state: CallState::Interrupted, end: Some(end), duration_ms, ..call }
}

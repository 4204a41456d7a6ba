//! The journal of calls in progress, from which calls that a kill cut off are recorded.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use ringtap_model::{Call, CallState, Id, Nanos};

use crate::Error;
use crate::entry_file::{EntryFile, Magic, OVERHEAD};
use crate::record::StoredRecord as _;

const MAGIC: Magic = *b"RTJOURN1";

/// Entries begin with one of these.
const BEGUN: u8 = b'B';
const ENDED: u8 = b'E';
const TIME: u8 = b'T';

/// The file is compacted when it is this many times as long as the calls in progress need, but never below
/// this length.
const SLACK: u64 = 4;
const SHORT: u64 = 1 << 20;

/// What is known of the calls in progress, on disk.
///
/// [`Journal::begin`] when a call begins and whenever more is known of it, [`Journal::end`] when its record
/// is durable, [`Journal::mark`] as time passes. After a kill [`Journal::open`] gives the calls that had
/// begun and not ended: as `interrupted`, ended at the last time that the journal knows, unless they were
/// released already. Each stays in it until it is ended. The file is bounded by the calls in progress. An
/// entry survives a kill when the call returns, and a power cut after [`Journal::sync`].
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: EntryFile,
    in_progress: HashMap<Id, Entry>,
    /// Bytes that the entries of the calls in progress take.
    needed: u64,
    last: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    length: usize,
}

/// What a journal held when it was opened.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Calls that had begun and not ended, by their beginning: `interrupted`, or as they were released.
    pub calls: Vec<Call>,
    /// Bytes at its end that a kill had torn.
    pub cut: u64,
}

impl Journal {
    /// Opens the journal at that path, or begins one.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or another program wrote it.
    pub fn open(path: &Path) -> Result<(Self, Recovered), Error> {
        let mut in_progress = HashMap::<Id, Entry>::new();
        let mut last = Nanos::ZERO;
        let (file, cut) = EntryFile::open(path, MAGIC, |at, payload| match payload {
            [BEGUN, rest @ ..] => {
                if let Some((time, id)) = time_of(rest).zip(rest.get(8..24).and_then(|id| id.try_into().ok()))
                {
                    last = last.max(time);
                    in_progress.insert(Id(id), Entry { at, length: payload.len() });
                }
            }
            [ENDED, id @ ..] => {
                let id: Option<[u8; 16]> = id.try_into().ok();
                id.map(|id| in_progress.remove(&Id(id)));
            }
            [TIME, rest @ ..] => last = last.max(time_of(rest).unwrap_or_default()),
            _ => {}
        })?;
        let needed = in_progress.values().map(Entry::size).sum();
        let mut journal = Self { path: path.to_owned(), file, in_progress, needed, last };
        let calls = journal.interrupted()?;
        // When the disk is full now, the journal stays as it is and is compacted later.
        let _ = journal.rewrite(&calls);
        Ok((journal, Recovered { calls, cut }))
    }

    /// A call has begun, or more is known of it: `call` as it is known at `now`.
    ///
    /// # Errors
    ///
    /// The file cannot be written; the next entry tries again.
    pub fn begin(&mut self, now: Nanos, call: &Call) -> Result<(), Error> {
        let payload = begin_entry(now, call);
        let at = self.file.append([payload.as_slice()])?;
        self.last = self.last.max(now);
        self.remember(call.id, Entry { at, length: payload.len() });
        self.compact()
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

    fn remember(&mut self, id: Id, entry: Entry) {
        self.needed += entry.size();
        if let Some(before) = self.in_progress.insert(id, entry) {
            self.needed -= before.size();
        }
    }

    /// The calls in progress as they will be recorded.
    fn interrupted(&self) -> Result<Vec<Call>, Error> {
        let mut calls = Vec::with_capacity(self.in_progress.len());
        for entry in self.in_progress.values() {
            let payload = self.file.entry(entry.at, entry.length)?;
            // The checksum was right: only another version of this program can have written what is no call.
            let call = payload.get(25..).and_then(|json| serde_json::from_slice::<Call>(json).ok());
            calls.extend(call.map(|call| interrupted(call, self.last)));
        }
        calls.sort_by_key(|call| (call.start(), call.id));
        Ok(calls)
    }

    /// Writes the file anew when most of its calls have ended.
    fn compact(&mut self) -> Result<(), Error> {
        if self.file.len() < SHORT.max(self.needed * SLACK) {
            return Ok(());
        }
        let mut successor = self.create_successor()?;
        let mut in_progress = HashMap::with_capacity(self.in_progress.len());
        for (id, entry) in &self.in_progress {
            let payload = self.file.entry(entry.at, entry.length)?;
            let at = successor.append([payload.as_slice()])?;
            in_progress.insert(*id, Entry { at, ..*entry });
        }
        self.replace(successor, in_progress)
    }

    /// Writes the file anew with these calls, so that they keep the end that they have now.
    fn rewrite(&mut self, calls: &[Call]) -> Result<(), Error> {
        let mut successor = self.create_successor()?;
        let mut in_progress = HashMap::with_capacity(calls.len());
        for call in calls {
            let payload = begin_entry(self.last, call);
            let at = successor.append([payload.as_slice()])?;
            in_progress.insert(call.id, Entry { at, length: payload.len() });
        }
        self.replace(successor, in_progress)
    }

    fn create_successor(&self) -> Result<EntryFile, Error> {
        let mut path = self.path.clone().into_os_string();
        path.push(".new");
        EntryFile::create(Path::new(&path), MAGIC).inspect_err(|_| _ = fs::remove_file(&path))
    }

    fn replace(&mut self, mut successor: EntryFile, in_progress: HashMap<Id, Entry>) -> Result<(), Error> {
        // Sync the content before the name: a power cut must not leave an empty journal.
        successor.sync()?;
        successor.rename(&self.path)?;
        self.file = successor;
        self.needed = in_progress.values().map(Entry::size).sum();
        self.in_progress = in_progress;
        Ok(())
    }
}

impl Entry {
    fn size(&self) -> u64 {
        OVERHEAD + self.length as u64
    }
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

#[cfg(test)]
mod tests {
    use ringtap_model::{Endpoint, Protocol, Recorded, Transport};

    use super::*;

    fn at(seconds: u64) -> Nanos {
        Nanos::from_secs(1_795_262_400 + seconds)
    }

    fn call(number: u8) -> Call {
        let host = Endpoint::new([192, 0, 2, number].into(), 5060);
        Call {
            id: Id([number; 16]),
            call_id: format!("{number}@192.0.2.1"),
            protocol: Protocol::Sip,
            transport: Transport::Udp,
            src: host,
            dst: host,
            from_user: Some("221".into()),
            from_host: None,
            from_display: None,
            to_user: None,
            to_host: None,
            ruri_user: None,
            ruri_host: None,
            asserted_identity: None,
            diverted_to: Vec::new(),
            state: CallState::Trying,
            final_code: 0,
            final_reason: None,
            cause: None,
            released_by: None,
            invite: Some(at(u64::from(number))),
            trying: None,
            ringing: None,
            answer: None,
            end: None,
            pdd_ms: None,
            duration_ms: None,
            messages: 1,
            retransmissions: 0,
            user_agent_caller: None,
            user_agent_callee: None,
            streams: Vec::new(),
            mos: None,
            mos_worst_interval: None,
            dtmf: Vec::new(),
            capture_drops: 0,
            recorded: Recorded::None,
            recorded_packets: None,
            recorded_missing: None,
            recorded_empty: None,
        }
    }

    fn answered(number: u8, seconds: u64) -> Call {
        Call { state: CallState::Active, answer: Some(at(seconds)), final_code: 200, ..call(number) }
    }

    fn recover(path: &Path) -> Vec<Call> {
        Journal::open(path).unwrap().1.calls
    }

    #[test]
    fn what_had_begun_and_not_ended_is_interrupted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut journal, recovered) = Journal::open(&path).unwrap();
        assert!(recovered.calls.is_empty());
        journal.begin(at(1), &call(1)).unwrap();
        journal.begin(at(2), &call(2)).unwrap();
        journal.begin(at(3), &call(3)).unwrap();
        journal.begin(at(5), &answered(2, 5)).unwrap();
        let released = Call { state: CallState::Failed, end: Some(at(4)), ..call(4) };
        journal.begin(at(5), &released).unwrap();
        journal.end(&Id([1; 16])).unwrap();
        journal.end(&Id([9; 16])).unwrap();
        journal.mark(at(65)).unwrap();
        journal.mark(at(60)).unwrap();
        assert_eq!(journal.calls(), 3);

        let calls = recover(&path);
        let as_known = |call: Call, duration_ms| Call {
            state: CallState::Interrupted,
            end: Some(at(65)),
            duration_ms,
            ..call
        };
        let expected = [as_known(answered(2, 5), Some(60_000.0)), as_known(call(3), None), released];
        assert_eq!(calls, expected);

        // Until each is durable it is told again, with the same end, whatever the time is by then.
        let (mut journal, recovered) = Journal::open(&path).unwrap();
        assert_eq!(recovered.calls, expected);
        journal.begin(at(900), &call(5)).unwrap();
        journal.end(&Id([2; 16])).unwrap();
        let calls = recover(&path);
        assert_eq!(calls[..2], expected[1..]);
        assert_eq!((calls[2].call_id.as_str(), calls[2].end), ("5@192.0.2.1", Some(at(900))));
    }

    /// Cut anywhere, what comes before the cut holds.
    #[test]
    fn torn_at_every_byte() {
        // Some thousand journals are made durable: in memory that takes no time.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = dir.path().join("journal");
        let (mut journal, _) = Journal::open(&path).unwrap();
        let mut states = vec![(0, vec![]), (journal.bytes(), vec![])];
        for (step, expected) in
            [("1", vec![1]), ("2", vec![1, 2]), ("1 answered", vec![1, 2]), ("-1", vec![2])]
        {
            match step {
                "1" => journal.begin(at(1), &call(1)),
                "2" => journal.begin(at(2), &call(2)),
                "-1" => journal.end(&Id([1; 16])),
                _ => journal.begin(at(4), &answered(1, 4)),
            }
            .unwrap();
            states.push((journal.bytes(), expected));
        }
        let whole = fs::read(&path).unwrap();
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let (end, expected) = states.iter().rfind(|(end, _)| *end <= length as u64).unwrap();
            let (_, recovered) = Journal::open(&path).unwrap();
            let numbers: Vec<u8> = recovered.calls.iter().map(|call| call.id.0[0]).collect();
            assert_eq!(&numbers, expected, "cut at {length}");
            assert_eq!(recovered.cut, length as u64 - end, "cut at {length}");
        }
    }

    /// A million entries of few calls stay a small file.
    #[test]
    fn bounded_by_the_calls_in_progress() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut journal, _) = Journal::open(&path).unwrap();
        let mut longest = 0;
        for round in 0..3_000_u64 {
            for number in 0..10 {
                journal.begin(at(round), &call(number)).unwrap();
            }
            journal.end(&Id([3; 16])).unwrap();
            longest = longest.max(journal.bytes());
        }
        assert!(longest < SHORT + 4_096, "{longest} bytes");
        assert_eq!(journal.calls(), 9);
        assert_eq!(recover(&path).len(), 9);
        // Nothing in progress, nothing stored.
        let (mut journal, _) = Journal::open(&path).unwrap();
        (0..10).for_each(|number| journal.end(&Id([number; 16])).unwrap());
        journal.close().unwrap();
        assert_eq!(fs::read(&path).unwrap(), MAGIC);
    }
}

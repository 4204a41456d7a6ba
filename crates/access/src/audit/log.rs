//! Appends to the log.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use ringtap_model::Nanos;

use crate::audit::chain::{Body, Position};
use crate::audit::day_keys::DayKeys;
use crate::audit::entry::{Action, Actor, Head, NewEntry};
use crate::audit::head_file::HeadFile;
use crate::audit::key::{LogKey, PublicKey};
use crate::audit::log_files::{self, LogFile};
use crate::audit::reader::AuditReader;
use crate::audit::tail::{OpenFile, Tail};
use crate::audit::what::{Piece, StoredPiece, What};
use crate::day::Day;
use crate::error::Error;
use crate::files;

/// The log of who did what, below the directory of a console. Several threads and processes may append to it.
///
/// An entry is on the disk once [`append`](Self::append) has returned, and what it records may be done only
/// then. Entries of several threads share a sync.
pub struct AuditLog {
    dir: PathBuf,
    key: LogKey,
    keys: Arc<DayKeys>,
    head: HeadFile,
    /// Locked, across processes, while entries are written. It holds how many there are, so that a process
    /// notices what others have written.
    lock: File,
    state: Mutex<State>,
    /// So many entries are on the disk. INVARIANT: who locks both locks this first.
    synced: Mutex<u64>,
}

struct State {
    /// None: to be found again.
    tail: Option<Tail>,
    /// The file of the newest entry that this process wrote, and where the one after it belongs.
    newest: Option<(Arc<File>, Position)>,
    /// A sync has failed: what the disk has is not known, and syncing again would not tell.
    failed: Option<Error>,
}

impl AuditLog {
    /// Opens the log of a console, or makes it.
    ///
    /// # Errors
    ///
    /// The directory cannot be used, or the log lacks what it once had.
    pub fn open(console: &Path) -> Result<Self, Error> {
        files::private_dir(console)?;
        let dir = console.join(super::DIRECTORY);
        files::private_dir(&dir)?;
        let path = dir.join("lock");
        let lock = files::open_or_create(&path).map_err(|error| Error::io(&path, "opened", error))?;
        lock.lock().map_err(|error| Error::io(&path, "locked", error))?;
        let key = key(&dir)?;
        let head = HeadFile::open(&dir)?.ok_or_else(|| Error::Log {
            path: dir.join("head"),
            line: 0,
            problem: "is missing".to_owned(),
        })?;
        let tail = Tail::find(&dir, &key.public(), &head)?;
        let _ = lock.unlock();
        let (synced, keys) = (Mutex::new(0), Arc::new(DayKeys::of_log(&dir)));
        let state = Mutex::new(State { tail: Some(tail), newest: None, failed: None });
        Ok(Self { dir, key, keys, head, lock, state, synced })
    }

    /// Records something, before it is done. Returns the number of the entry.
    ///
    /// # Errors
    ///
    /// It could not be recorded: then it must not be done.
    pub fn append(&self, entry: &NewEntry) -> Result<u64, Error> {
        let number = self.write(entry)?;
        self.sync(number)?;
        Ok(number)
    }

    /// The newest entry that is on the disk, to be noted elsewhere; none if there is none.
    pub fn head(&self) -> Result<Option<Head>, Error> {
        let read = self.head.read(&self.key.public()).map_err(|error| self.failed("read", error))?;
        Ok(read.and_then(|head| Some(Head { number: head.number.checked_sub(1)?, hash: head.previous })))
    }

    /// The key that verifies the log.
    pub fn public_key(&self) -> PublicKey {
        self.key.public()
    }

    /// Reads what was written.
    pub fn reader(&self) -> AuditReader {
        AuditReader::new(self.dir.clone(), Arc::clone(&self.keys))
    }

    /// Makes the numbers in entries of the days before that one unreadable, and records who did it. The
    /// entries stay, and can be verified. Returns of how many days.
    ///
    /// # Errors
    ///
    /// It could not be recorded, or keys cannot be erased.
    pub fn forget_before(
        &self,
        day: Day,
        by: Actor,
        reason: Option<String>,
        now: Nanos,
    ) -> Result<u64, Error> {
        // The key of the present day is in use.
        let day = day.min(Day::of(now));
        let what = What::from(format!("numbers in the audit log before {day}"));
        self.append(&NewEntry { time: now, actor: by, action: Action::Forget, what, reason })?;
        self.keys.erase_before(day)
    }

    /// Writes an entry into the file, which is not synced.
    fn write(&self, entry: &NewEntry) -> Result<u64, Error> {
        let mut state = self.state();
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        self.lock.lock().map_err(|error| self.failed("locked", error))?;
        let written = self.write_locked(&mut state, entry);
        let _ = self.lock.unlock();
        written.map_err(|failure| {
            state.tail = None;
            match failure {
                Failure::Write(error) => error,
                Failure::Sync(error) => state.failed.insert(error).clone(),
            }
        })
    }

    fn write_locked(&self, state: &mut State, entry: &NewEntry) -> Result<u64, Failure> {
        let before = state.tail.take();
        let torn = before.as_ref().map_or(0, |tail| tail.torn);
        let mut tail = match before.filter(|tail| self.is_current(tail)) {
            Some(tail) => tail,
            None => Tail::find(&self.dir, &self.key.public(), &self.head)?,
        };
        tail.torn = tail.torn.max(torn);
        let tail = state.tail.insert(tail);
        if tail.torn > 0 {
            let actor = Actor { who: "ringtap".to_owned(), role: None, from: String::new() };
            let what = What::from(format!("{} bytes of an incomplete entry cut off", tail.torn));
            let time = entry.time;
            self.write_one(tail, &NewEntry { time, actor, action: Action::Recovered, what, reason: None })?;
            tail.torn = 0;
        }
        let number = self.write_one(tail, entry)?;
        state.newest = tail.open.as_ref().map(|open| (Arc::clone(&open.file), tail.next.clone()));
        Ok(number)
    }

    /// Whether no other process has written since.
    fn is_current(&self, tail: &Tail) -> bool {
        let mut count = [0; 8];
        let end = tail.open.as_ref().map_or(Some(0), |open| Some(open.file.metadata().ok()?.len()));
        let is_counted =
            self.lock.read_exact_at(&mut count, 0).is_ok() && u64::from_le_bytes(count) == tail.next.number;
        is_counted && end == Some(tail.open.as_ref().map_or(0, |open| open.end))
    }

    fn write_one(&self, tail: &mut Tail, entry: &NewEntry) -> Result<u64, Failure> {
        let number = tail.next.number;
        let day = Day::of(entry.time);
        let body = Body {
            number,
            time: entry.time,
            who: cut(&entry.actor.who, MOST_NAME),
            role: entry.actor.role,
            from: cut(&entry.actor.from, MOST_NAME),
            action: entry.action,
            what: self.sealed(&entry.what, day, number)?,
            reason: entry.reason.as_ref().map(|reason| cut(reason, MOST_REASON)),
            previous: tail.next.previous.clone(),
        };
        let (line, hash) = body.line(&self.key);
        let open = self.file_of(tail, day)?;
        let written = open.file.write_all_at(line.as_bytes(), open.end);
        if let Err(error) = written {
            // What is left of it would be cut off when the log is opened again.
            let _ = open.file.set_len(open.end);
            return Err(Error::io(&open.of.path, "written", error).into());
        }
        open.end += line.len() as u64;
        tail.next = Position { number: number + 1, previous: hash };
        let count = self.lock.write_all_at(&tail.next.number.to_le_bytes(), 0);
        count.map_err(|error| self.failed("written", error))?;
        Ok(number)
    }

    /// The file for an entry of that day: the newest, or another after it.
    fn file_of<'a>(&self, tail: &'a mut Tail, day: Day) -> Result<&'a mut OpenFile, Failure> {
        let fits = |open: &OpenFile| open.of.day == day && open.end < LARGEST;
        if !tail.open.as_ref().is_some_and(fits) {
            if let Some(open) = tail.open.take() {
                let ended = open.file.sync_data().and_then(|()| self.head.write(&tail.next, &self.key));
                let ended = ended.and_then(|()| self.head.sync());
                ended.map_err(|error| Failure::Sync(Error::io(&open.of.path, "synced to disk", error)))?;
            }
            let of = LogFile::new(&self.dir, tail.next.number, day);
            let file = files::open_or_create(&of.path);
            let file = file.and_then(|file| files::sync_dir(&self.dir).map(|()| file));
            let file = file.map_err(|error| Error::io(&of.path, "created", error))?;
            tail.open = Some(OpenFile { of, file: Arc::new(file), end: 0 });
        }
        let open = tail.open.as_mut();
        Ok(open.unwrap_or_else(|| unreachable!("it was put there")))
    }

    fn sealed(&self, what: &What, day: Day, number: u64) -> Result<Vec<StoredPiece>, Error> {
        let mut left = MOST_WHAT;
        let mut pieces = Vec::new();
        for piece in what.pieces() {
            if left == 0 {
                break;
            }
            pieces.push(match piece {
                Piece::Text(text) => StoredPiece::Text(take(text, &mut left)),
                Piece::Number(text) => {
                    StoredPiece::Sealed { sealed: self.keys.seal(day, number, &take(text, &mut left))? }
                }
                hidden => StoredPiece::Text(What::default().with(hidden.clone()).to_string()),
            });
        }
        Ok(pieces)
    }

    /// Returns once that entry is on the disk, with all that were written before.
    fn sync(&self, number: u64) -> Result<(), Error> {
        let mut synced = self.synced.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *synced > number {
            return Ok(());
        }
        let state = self.state();
        let (newest, failed) = (state.newest.clone(), state.failed.clone());
        drop(state);
        if let Some(error) = failed {
            return Err(error);
        }
        // Who ends a file syncs it: older entries that are in another file than this are on the disk.
        let Some((file, next)) = newest else { return Ok(()) };
        if let Err(error) = file.sync_data() {
            let error = self.failed("synced to disk", error);
            self.state().failed = Some(error.clone());
            return Err(error);
        }
        *synced = next.number;
        let _state = self.state();
        self.lock.lock().map_err(|error| self.failed("locked", error))?;
        let written = self.head.write(&next, &self.key);
        let _ = self.lock.unlock();
        written.map_err(|error| self.failed("written", error))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn failed(&self, action: &'static str, error: io::Error) -> Error {
        Error::io(&self.dir, action, error)
    }
}

/// Why an entry was not written.
enum Failure {
    /// The next one may be.
    Write(Error),
    /// Nothing is known of what was written before.
    Sync(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Write(error)
    }
}

/// The key of the log. A new log gets one, after a head that says that it is empty: of a log that has a key,
/// neither can be missing.
fn key(dir: &Path) -> Result<LogKey, Error> {
    if let Some(key) = LogKey::read(dir)? {
        return Ok(key);
    }
    if !log_files::list(dir)?.is_empty() {
        let problem = "it is missing, and the log has entries; restore it from a copy, or move the log away";
        return Err(Error::Key { path: dir.join("sign.pem"), problem });
    }
    let key = LogKey::generate()?;
    HeadFile::create(dir, &key)?;
    key.write(dir)?;
    Ok(key)
}

/// The text, or its beginning and an ellipsis.
fn cut(text: &str, most: usize) -> String {
    take(text, &mut { most })
}

/// As [`cut`]; what is used of `left` is subtracted.
fn take(text: &str, left: &mut usize) -> String {
    if text.len() <= *left {
        *left -= text.len();
        return text.to_owned();
    }
    let end = text.floor_char_boundary(*left);
    *left = 0;
    format!("{}…", &text[..end])
}

/// A file of the log ends once it has so many bytes, so that it can be read whole.
const LARGEST: u64 = 8 << 20;
/// Bytes of what people do.
const MOST_WHAT: usize = 4096;
/// Bytes of a reason.
const MOST_REASON: usize = 1024;
/// Bytes of a name, or of an address.
const MOST_NAME: usize = 128;

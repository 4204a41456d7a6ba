//! The files of a register, and how an act gets into them.
//!
//! `register` has the salt and the public key, `acts` the lines, `head` what must be there, `sign.pub` the
//! public key as OpenSSL reads it; `lock` is locked by whoever reads or writes.
//!
//! INVARIANT: an act is on the disk before what it records is done; what cannot be recorded is not done.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::flaw::Flaw;
use crate::hex::{hex, unhex};
use crate::log::files;
use crate::log::head::{HeadFile, HeadRecord};
use crate::log::key::{Keys, PublicKey, RegisterKey, random};
use crate::log::line::{ActLine, Body, LONGEST, Position};
use crate::log::sealer;
use crate::state::{Act, By, State, What};

/// The files, and the state that their acts give.
pub(crate) struct Ledger {
    dir: PathBuf,
    pub(crate) keys: Keys,
    lock: File,
    acts: File,
    head: HeadFile,
    /// The end of the last act that was read, in bytes.
    end: u64,
    next: Position,
    pub(crate) state: State,
    /// The latest time at which any process has acted on the register, as far as this one knows.
    pub(crate) latest: Nanos,
    /// That of the last head that this process has written, or that is on the disk for sure.
    written: Nanos,
    /// See `written`.
    synced: Nanos,
    has_failed: bool,
    /// Bytes of an incomplete act that were cut off, and of which nothing is recorded yet.
    torn: u64,
}

/// The file `register`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    version: u32,
    salt: String,
    public: String,
}

impl About {
    pub(crate) fn read(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(ABOUT);
        let bytes = files::read_short(&path).map_err(|error| Error::io(&path, "read", error))?;
        let about = serde_json::from_slice::<Self>(&bytes).ok().filter(|about| about.version == VERSION);
        let problem = "it was changed, or is of another version; restore it from a copy".to_owned();
        about.ok_or(Error::Key { path, problem })
    }

    pub(crate) fn public(&self) -> Option<PublicKey> {
        self.public.parse().ok()
    }

    /// The keys, if the master key is that of the register.
    pub(crate) fn keys(&self, dir: &Path, master: &RegisterKey) -> Result<Keys, Error> {
        let wrong = |problem: &str| Error::Key { path: dir.join(ABOUT), problem: problem.to_owned() };
        let salt = unhex(&self.salt).ok_or_else(|| wrong("it was changed; restore it from a copy"))?;
        let keys = Keys::new(master, &salt);
        let is_right = self.public() == Some(keys.public());
        if is_right { Ok(keys) } else { Err(wrong("the master key is that of another register")) }
    }
}

impl Ledger {
    /// Makes the files of a register without acts, in a directory that is empty or not there.
    pub(crate) fn create(dir: &Path, master: &RegisterKey) -> Result<Self, Error> {
        files::private_dir(dir)?;
        // One that was killed before its first act is made again.
        let is_there = dir.join(ACTS).metadata().is_ok_and(|acts| acts.len() > 0);
        if is_there {
            let problem = "a register is there already; add people with `ringtap warrant people`".to_owned();
            return Err(Error::Key { path: dir.to_owned(), problem });
        }
        let salt = random()?;
        let keys = Keys::new(master, &salt);
        for name in [LOCK, ACTS] {
            let path = dir.join(name);
            files::open_or_create(&path).map_err(|error| Error::io(&path, "created", error))?;
        }
        HeadFile::create(dir, &keys)?;
        let public = keys.public();
        let about = About { version: VERSION, salt: hex(&salt[..]), public: public.to_string() };
        let about = serde_json::to_string(&about).unwrap_or_default() + "\n";
        for (name, text) in [("sign.pub", public.pem().unwrap_or_default()), (ABOUT, about)] {
            let path = dir.join(name);
            let written = files::create_whole(&path, text.as_bytes());
            written.map_err(|error| Error::io(&path, "written", error))?;
        }
        Self::open(dir, master)
    }

    /// Opens the files and reads all acts.
    pub(crate) fn open(dir: &Path, master: &RegisterKey) -> Result<Self, Error> {
        files::check_private(dir)?;
        let keys = About::read(dir)?.keys(dir, master)?;
        let opened = |name: &str| {
            let path = dir.join(name);
            files::open(&path).map_err(|error| Error::io(&path, "opened", error))
        };
        let mut ledger = Self {
            dir: dir.to_owned(),
            keys,
            lock: opened(LOCK)?,
            acts: opened(ACTS)?,
            head: HeadFile::open(dir)?,
            end: 0,
            next: Position::first(),
            state: State::default(),
            latest: Nanos::ZERO,
            written: Nanos::ZERO,
            synced: Nanos::ZERO,
            has_failed: false,
            torn: 0,
        };
        ledger.locked(|_| Ok(()))?;
        Ok(ledger)
    }

    /// Does something while no other process reads or writes, after reading what others have written.
    pub(crate) fn locked<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.has_failed {
            return Err(Error::Failed);
        }
        self.lock.lock().map_err(|error| self.failed(LOCK, "locked", error))?;
        let done = self.catch_up().and_then(|()| work(self));
        let _ = self.lock.unlock();
        done
    }

    /// How many bytes the acts have now: more than were read if another process has written.
    pub(crate) fn has_grown(&self) -> bool {
        self.acts.metadata().map_or(true, |metadata| metadata.len() != self.end)
    }

    /// Reads the acts that were not read yet. Cuts off an act that was not complete when a power cut or a
    /// kill came: it was never acknowledged, so what it would have recorded was not done.
    fn catch_up(&mut self) -> Result<(), Error> {
        let head = self.head.read(&self.keys.public()).map_err(|error| self.failed("head", "read", error))?;
        let head = head.ok_or_else(|| self.fault(Flaw::Head))?;
        let size = self.acts.metadata().map_err(|error| self.failed(ACTS, "read", error))?.len();
        if size < self.end {
            return Err(self.fault(Flaw::CutOff));
        }
        let mut reader = self.reader()?;
        let (mut line, mut read) = (Vec::new(), Vec::new());
        loop {
            line.clear();
            let length = io::Read::take(&mut reader, LONGEST).read_until(b'\n', &mut line);
            let length = length.map_err(|error| Error::io(&self.dir.join(ACTS), "read", error))?;
            match ActLine::parse(&line) {
                _ if length == 0 => break,
                Ok(line) => read.push((line, length as u64)),
                Err(_) => {
                    read.iter().try_for_each(|(line, length)| self.take(&head, line, *length))?;
                    return self.cut_off(&head);
                }
            }
            if read.len() >= BATCH {
                read.drain(..).try_for_each(|(line, length)| self.take(&head, &line, length))?;
            }
        }
        read.iter().try_for_each(|(line, length)| self.take(&head, line, *length))?;
        if self.next.number < head.next.number {
            return Err(self.fault(Flaw::CutOff));
        }
        self.pass_time(head.latest);
        Ok(())
    }

    /// Takes in what a head says of the time.
    fn pass_time(&mut self, latest: Nanos) {
        self.latest = self.latest.max(latest).max(self.state.latest);
        // The clock has gone on since the newest act: it had caught up.
        self.state.is_clock_back &= self.latest == self.state.latest;
    }

    /// What follows the last act that was read.
    fn reader(&self) -> Result<BufReader<File>, Error> {
        let opened = self.acts.try_clone().and_then(|mut acts| {
            acts.seek(SeekFrom::Start(self.end))?;
            Ok(BufReader::new(acts))
        });
        opened.map_err(|error| self.failed(ACTS, "read", error))
    }

    /// Takes in a line that is there.
    fn take(&mut self, head: &HeadRecord, line: &ActLine, length: u64) -> Result<(), Error> {
        if let Some(flaw) = self.next.flaw_of(line) {
            return Err(self.fault(flaw));
        }
        let after = Position::after(line);
        // The head vouches for every line up to it, by the chain.
        let is_proven = match after.number {
            number if number < head.next.number => true,
            number if number == head.next.number => after == head.next,
            _ => line.is_by(&self.keys.public()),
        };
        if !is_proven {
            return Err(self.fault(Flaw::Signature));
        }
        let act = read_act(&self.keys, line).map_err(|flaw| self.fault(flaw))?;
        let admitted = self.state.admit(line.body.number, &act);
        admitted.map_err(|_| self.fault(Flaw::Rule))?;
        self.end += length;
        self.next = after;
        Ok(())
    }

    /// Cuts off what follows the last act, unless a head or a signed line says that it is more than the rest
    /// of one act.
    fn cut_off(&mut self, head: &HeadRecord) -> Result<(), Error> {
        if self.next.number < head.next.number {
            return Err(self.fault(Flaw::Changed));
        }
        let mut reader = self.reader()?;
        let (mut line, mut bytes) = (Vec::new(), 0);
        let mut read = || -> io::Result<Option<u64>> {
            loop {
                line.clear();
                match io::Read::take(&mut reader, LONGEST).read_until(b'\n', &mut line)? {
                    0 => return Ok(Some(bytes)),
                    length => bytes += length as u64,
                }
                if ActLine::parse(&line).is_ok_and(|line| line.is_by(&self.keys.public())) {
                    return Ok(None);
                }
            }
        };
        let torn = read().map_err(|error| self.failed(ACTS, "read", error))?;
        let torn = torn.ok_or_else(|| self.fault(Flaw::Changed))?;
        let cut = self.acts.set_len(self.end).and_then(|()| self.acts.sync_all());
        cut.map_err(|error| self.failed(ACTS, "shortened", error))?;
        self.torn += torn;
        self.pass_time(head.latest);
        Ok(())
    }

    /// Records an act; the lock is held. Returns its number.
    pub(crate) fn record(&mut self, by: By, what: What, clock: Nanos) -> Result<u64, Error> {
        self.record_troubles(clock)?;
        self.append(by, what, clock)
    }

    /// Records what has to be said before anything else: an incomplete act that was cut off, a clock that was
    /// set back.
    pub(crate) fn record_troubles(&mut self, clock: Nanos) -> Result<(), Error> {
        let (clock, latest) = (Nanos::from_micros(clock.micros()), self.latest);
        // It has caught up: the next time is another one.
        self.state.is_clock_back &= clock < latest;
        if self.torn > 0 {
            self.append(By::Service, What::Recovered { bytes: self.torn }, clock)?;
            self.torn = 0;
        }
        if clock + TOLERANCE < latest && !self.state.is_clock_back {
            self.append(By::Service, What::ClockBack { clock, latest }, clock)?;
        }
        Ok(())
    }

    /// The time that counts: the later of the clock and of all times before.
    pub(crate) fn time(&self, clock: Nanos) -> Nanos {
        Nanos::from_micros(clock.micros()).max(self.latest)
    }

    fn append(&mut self, by: By, what: What, clock: Nanos) -> Result<u64, Error> {
        let time = self.time(clock);
        let clock = Some(Nanos::from_micros(clock.micros())).filter(|clock| *clock < time);
        let act = Act { time, clock, by, what };
        self.state.admit(self.next.number, &act)?;
        let written = self.write(&act);
        if written.is_err() {
            // The state has an act that the log may not have: all of it is read again.
            (self.end, self.next, self.state) = (0, Position::first(), State::default());
        }
        written
    }

    /// Writes an act that was admitted.
    fn write(&mut self, act: &Act) -> Result<u64, Error> {
        // Serialising numbers and texts cannot fail.
        let text = Zeroizing::new(serde_json::to_vec(act).unwrap_or_default());
        let sealed = sealer::seal(&self.keys, &self.next, &text)?;
        let number = self.next.number;
        let body = Body { number, sealed, previous: self.next.previous.clone() };
        let (line, hash) = body.line(&self.keys);
        if let Err(error) = self.acts.write_all_at(line.as_bytes(), self.end) {
            // What is left of it would be cut off when the register is opened again.
            let _ = self.acts.set_len(self.end);
            return Err(self.failed(ACTS, "written", error));
        }
        let synced = self.acts.sync_data();
        synced.map_err(|error| self.broken(ACTS, error))?;
        let next = Position { number: number + 1, previous: hash };
        let head = HeadRecord { next: next.clone(), latest: act.time };
        let written = self.head.write(&head, &self.keys).and_then(|()| self.head.sync());
        written.map_err(|error| self.broken("head", error))?;
        self.end += line.len() as u64;
        self.next = next;
        (self.latest, self.written, self.synced) = (act.time, act.time, act.time);
        Ok(number)
    }

    /// Remembers that the register has acted at this time; the lock is held. It is on the disk for sure once
    /// a minute, and after a kill always.
    pub(crate) fn remember(&mut self, time: Nanos) -> Result<(), Error> {
        self.latest = self.latest.max(time);
        if time.since(self.written) < STEP {
            return Ok(());
        }
        let head = HeadRecord { next: self.next.clone(), latest: time };
        let written = self.head.write(&head, &self.keys);
        written.map_err(|error| self.failed("head", "written", error))?;
        self.written = time;
        if time.since(self.synced) >= SYNC {
            self.head.sync().map_err(|error| self.broken("head", error))?;
            self.synced = time;
        }
        Ok(())
    }

    /// Whatever is done next has to be recorded, and nothing is known of what was.
    fn broken(&mut self, name: &str, error: io::Error) -> Error {
        self.has_failed = true;
        self.failed(name, "synced to disk", error)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn path_of_acts(&self) -> PathBuf {
        self.dir.join(ACTS)
    }

    fn failed(&self, name: &str, action: &'static str, error: io::Error) -> Error {
        Error::io(&self.dir.join(name), action, error)
    }

    fn fault(&self, flaw: Flaw) -> Error {
        Error::Log { path: self.dir.join(ACTS), act: self.next.number, flaw }
    }
}

/// What a line says; what is wrong if it was sealed by another key or elsewhere, or by a later version.
pub(crate) fn read_act(keys: &Keys, line: &ActLine) -> Result<Act, Flaw> {
    let at = Position { number: line.body.number, previous: line.body.previous.clone() };
    let text = sealer::open(keys, &at, &line.body.sealed).ok_or(Flaw::Sealed)?;
    serde_json::from_slice(&text).map_err(|_| Flaw::Unknown)
}

pub(crate) const ABOUT: &str = "register";
pub(crate) const ACTS: &str = "acts";
const LOCK: &str = "lock";
const VERSION: u32 = 1;
/// Lines that are read before they are taken in.
const BATCH: usize = 256;
/// A clock that is less behind was corrected, not set back.
const TOLERANCE: Nanos = Nanos::from_secs(2);
/// The head is written that often for its time alone,
const STEP: Nanos = Nanos::from_secs(1);
/// and synced that often.
const SYNC: Nanos = Nanos::from_secs(60);

//! The keys under which numbers are sealed: a file for each day, which can be erased.
//!
//! A sealed number is AES-256-GCM with a random nonce, which comes first, and the number of its entry as
//! additional data. Erasing a key overwrites its file before it is removed; on a disk that writes elsewhere,
//! as SSDs do, the old bytes may stay until the disk reuses them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use aes_gcm::aead::{Aead, Key, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use zeroize::Zeroizing;

use crate::day::Day;
use crate::error::Error;
use crate::files;
use crate::hex::{hex, unhex};
use crate::random::random;

/// The directory of the keys, in that of the log.
const KEYS: &str = "keys";
const NONCE: usize = 12;

type DayKey = Zeroizing<[u8; 32]>;

/// The keys of a log.
pub(crate) struct DayKeys {
    dir: PathBuf,
    /// That which was used last: entries of one day lie together.
    last: Mutex<Option<(Day, DayKey)>>,
}

impl DayKeys {
    pub(crate) fn of_log(dir: &Path) -> Self {
        Self { dir: dir.join(KEYS), last: Mutex::new(None) }
    }

    /// Seals a text. Makes the key of the day, which is then on the disk, if there is none.
    pub(crate) fn seal(&self, day: Day, number: u64, text: &str) -> Result<String, Error> {
        let key = match self.read(day)? {
            Some(key) => key,
            None => self.make(day)?,
        };
        let nonce = random::<NONCE>()?;
        let payload = Payload { msg: text.as_bytes(), aad: &number.to_le_bytes() };
        // It fails only for texts of gigabytes.
        let sealed = cipher(&key).encrypt(&Nonce::from(*nonce), payload).unwrap_or_default();
        Ok(hex(&nonce[..]) + &hex(&sealed))
    }

    /// None if the key was erased, or the text is not as it was sealed.
    pub(crate) fn open(&self, day: Day, number: u64, sealed: &str) -> Option<String> {
        let key = self.read(day).ok()??;
        let bytes = unhex(sealed)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg: sealed, aad: &number.to_le_bytes() };
        String::from_utf8(cipher(&key).decrypt(&Nonce::from(*nonce), payload).ok()?).ok()
    }

    /// Erases the keys of the days before that one; returns of how many.
    pub(crate) fn erase_before(&self, day: Day) -> Result<u64, Error> {
        let failed = |error| Error::io(&self.dir, "erased in", error);
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            other => other.map_err(failed)?,
        };
        let mut erased = 0;
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            let of = path.file_stem().and_then(|name| name.to_str()?.parse::<Day>().ok());
            if of.is_some_and(|of| of < day) {
                erase(&path).map_err(|error| Error::io(&path, "erased", error))?;
                erased += 1;
            }
        }
        if erased > 0 {
            files::sync_dir(&self.dir).map_err(failed)?;
        }
        *self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        Ok(erased)
    }

    fn path(&self, day: Day) -> PathBuf {
        self.dir.join(format!("{day}.key"))
    }

    /// None if the day has none.
    fn read(&self, day: Day) -> Result<Option<DayKey>, Error> {
        let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let path = self.path(day);
        if let Some((of, key)) = &*last
            && *of == day
            // Another process may have erased it.
            && path.exists()
        {
            return Ok(Some(key.clone()));
        }
        let bytes = files::read_secret(&path).map_err(|error| Error::io(&path, "read", error))?;
        let Some(bytes) = bytes else { return Ok(None) };
        let digits = std::str::from_utf8(&bytes).unwrap_or_default();
        let parsed = unhex(digits.trim_end()).map(Zeroizing::new);
        let mut key = DayKey::default();
        let parsed = parsed.filter(|parsed| parsed.len() == key.len());
        let problem = "it is not 64 hex digits; restore it from a copy, or delete it: what it sealed stays \
                       unreadable then";
        key.copy_from_slice(&parsed.ok_or(Error::Key { path, problem })?);
        *last = Some((day, key.clone()));
        Ok(Some(key))
    }

    fn make(&self, day: Day) -> Result<DayKey, Error> {
        files::private_dir(&self.dir)?;
        let key = random()?;
        let path = self.path(day);
        let text = Zeroizing::new(hex(&key[..]));
        files::create_whole(&path, text.as_bytes()).map_err(|error| Error::io(&path, "written", error))?;
        *self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some((day, key.clone()));
        Ok(key)
    }
}

fn cipher(key: &DayKey) -> Aes256Gcm {
    Aes256Gcm::new(&Key::<Aes256Gcm>::from(**key))
}

fn erase(path: &Path) -> io::Result<()> {
    let mut file = files::open_or_create(path)?;
    let length = file.metadata()?.len();
    file.write_all(&vec![b'0'; length as usize])?;
    file.sync_all()?;
    fs::remove_file(path)
}

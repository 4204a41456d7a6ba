//! Keys of connections, in the format of NSS: what `SSLKEYLOGFILE` and `openssl -keylogfile` write.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

/// Why a log of keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyLogError {
    /// It cannot be read.
    #[error("cannot read the keys of TLS in `{}`: {error}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Everybody may read it.
    #[error("everybody may read `{}`: run `chmod 600` on it: its keys open what was captured", _0.display())]
    Open(PathBuf),
}

/// A file to which an end of the connections adds its keys. It is opened once, so that privileges can be
/// dropped afterwards, and read on when a key is missing; when it becomes shorter, from its beginning.
pub struct KeyLog {
    file: File,
    read: u64,
    /// The beginning of a line.
    rest: Zeroizing<Vec<u8>>,
    looked: Option<Instant>,
    keys: HashMap<[u8; 32], Keys>,
    /// In the order in which they came.
    order: VecDeque<[u8; 32]>,
}

/// Of one connection.
#[derive(Default)]
pub(super) struct Keys {
    /// TLS 1.2: the master secret.
    pub(super) master: Option<Zeroizing<Vec<u8>>>,
    /// TLS 1.3: the first traffic secrets of the client and of the server.
    pub(super) traffic: [Option<Zeroizing<Vec<u8>>>; 2],
}

impl fmt::Debug for KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyLog").field("connections", &self.keys.len()).finish_non_exhaustive()
    }
}

impl KeyLog {
    /// Opens a file that not everybody may read.
    ///
    /// # Errors
    ///
    /// It cannot be read, or others may read it.
    pub fn open(path: &Path) -> Result<Self, KeyLogError> {
        let unreadable = |error| KeyLogError::Unreadable { path: path.to_owned(), error };
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.mode() & 0o007 != 0 {
            return Err(KeyLogError::Open(path.to_owned()));
        }
        let rest = Zeroizing::new(Vec::new());
        let mut log =
            Self { file, read: 0, rest, looked: None, keys: HashMap::new(), order: VecDeque::new() };
        log.read_on().map_err(unreadable)?;
        Ok(log)
    }

    /// The keys of the connection with that random of the client. What is missing is looked for in the file,
    /// not more often than a few times a second.
    pub(super) fn of(&mut self, client: &[u8; 32]) -> Option<&Keys> {
        if !self.keys.contains_key(client) && self.looked.is_none_or(|looked| looked.elapsed() >= AGAIN) {
            self.looked = Some(Instant::now());
            // What cannot be read is missing.
            let _ = self.read_on();
        }
        self.keys.get(client)
    }

    fn read_on(&mut self) -> io::Result<()> {
        let file = &mut self.file;
        let len = file.metadata()?.len();
        if len < self.read {
            self.read = 0;
            self.rest.clear();
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut new = Zeroizing::new(Vec::new());
        self.read += Read::by_ref(file).take(MOST_AT_ONCE).read_to_end(&mut new)? as u64;
        let mut rest = std::mem::take(&mut self.rest);
        rest.extend_from_slice(&new);
        let mut lines = rest.split(|byte| *byte == b'\n');
        let last = lines.next_back().unwrap_or_default();
        for line in lines {
            self.line(line);
        }
        // A line that never ends is none.
        if last.len() <= LONGEST_LINE {
            self.rest.extend_from_slice(last);
        }
        Ok(())
    }

    /// `LABEL RANDOM SECRET`; what is another line is left out.
    fn line(&mut self, line: &[u8]) {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (Some(label), Some(random), Some(secret)) = (words.next(), words.next(), words.next()) else {
            return;
        };
        let Some(random) = unhex(random).and_then(|random| <[u8; 32]>::try_from(&random[..]).ok()) else {
            return;
        };
        let Some(secret) = unhex(secret).filter(|secret| (32..=64).contains(&secret.len())) else { return };
        let place = match label {
            b"CLIENT_RANDOM" => |keys: &mut Keys, secret| keys.master = Some(secret),
            b"CLIENT_TRAFFIC_SECRET_0" => |keys: &mut Keys, secret| keys.traffic[0] = Some(secret),
            b"SERVER_TRAFFIC_SECRET_0" => |keys: &mut Keys, secret| keys.traffic[1] = Some(secret),
            _ => return,
        };
        if !self.keys.contains_key(&random) {
            if self.order.len() >= MOST_CONNECTIONS
                && let Some(oldest) = self.order.pop_front()
            {
                self.keys.remove(&oldest);
            }
            self.order.push_back(random);
        }
        place(self.keys.entry(random).or_default(), secret);
    }
}

fn unhex(digits: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let pair = |[high, low]: &[u8; 2]| Some((digit(high)? << 4 | digit(low)?) as u8);
    pairs.iter().map(pair).collect::<Option<Vec<u8>>>().map(Zeroizing::new)
}

/// How often a key that is missing is looked for.
pub(super) const AGAIN: Duration = Duration::from_millis(200);
/// Connections whose keys are remembered.
const MOST_CONNECTIONS: usize = 65_536;
/// Bytes that are read at once: a file that is longer is read on with the next key that is missing.
const MOST_AT_ONCE: u64 = 64 << 20;
/// Bytes of a line.
const LONGEST_LINE: usize = 1_024;

//! What the finished files of an order are, signed. Each manifest names the one before, so that a file that
//! was changed, and a manifest that was changed, put in or left out, are found by whoever has the public key.
//!
//! It is text, a line a field, and the last line is the Ed25519 signature (RFC 8032) of all before it:
//!
//! ```text
//! head -n -1 LI-17-1795219200.manifest > text
//! tail -n 1 LI-17-1795219200.manifest | cut -d ' ' -f 2 | xxd -r -p > signature
//! openssl pkeyutl -verify -pubin -inkey sign.pub -rawin -in text -sigfile signature
//! ```

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use ringtap_warrant::{ProductSigner, PublicKey};
use sha2::{Digest, Sha256};

use crate::hashed_file::WrittenFile;

/// One manifest: its number, from 1, and the SHA-256 of its file. As text `3:` and 64 hex digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestHead {
    /// Which of the order's.
    pub number: u64,
    /// Of its file, as `sha256sum` prints it.
    pub hash: String,
}

impl fmt::Display for ManifestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number, self.hash)
    }
}

/// What a manifest says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The order, as in the names of its files.
    pub(crate) order: String,
    pub(crate) number: u64,
    /// The hash of the one before; 64 zeros for none.
    pub(crate) previous: String,
    /// The service had ended without finishing the files.
    pub(crate) is_recovered: bool,
    pub(crate) written_us: u64,
    /// PDUs and frames that are in no file, for want of room, since the service started.
    pub(crate) lost: u64,
    pub(crate) files: Vec<ListedFile>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListedFile {
    pub(crate) octets: u64,
    pub(crate) sha256: String,
    pub(crate) name: String,
}

impl Manifest {
    fn text(&self) -> String {
        let Self { order, number, previous, written_us, lost, .. } = self;
        let state = if self.is_recovered { RECOVERED } else { FINISHED };
        let mut text = format!(
            "{TITLE}\norder {order}\nnumber {number}\nprevious {previous}\nstate {state}\n\
             written_us {written_us}\nlost {lost}\n"
        );
        for ListedFile { octets, sha256, name } in &self.files {
            text += &format!("file {octets} {sha256} {name}\n");
        }
        text
    }

    /// The manifest in a file, if the key has signed it.
    pub(crate) fn parse(text: &str, key: &PublicKey) -> Result<Self, &'static str> {
        let (text, signature) = text
            .strip_suffix('\n')
            .and_then(|text| text.rsplit_once(SIGNATURE))
            .ok_or("it ends in no signature")?;
        if !key.has_signed_product(&format!("{text}\n"), signature) {
            return Err("it is not as it was signed, or another key signed it");
        }
        Self::read(text).ok_or("it was signed, and this program cannot read it: is there a newer one?")
    }

    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        field("ringtap").filter(|title| TITLE.ends_with(title))?;
        let (order, number) = (field("order")?.to_owned(), field("number")?.parse().ok()?);
        let previous = field("previous")?.to_owned();
        let is_recovered = match field("state")? {
            RECOVERED => true,
            FINISHED => false,
            _ => return None,
        };
        let (written_us, lost) = (field("written_us")?.parse().ok()?, field("lost")?.parse().ok()?);
        let listed = |line: &str| {
            let mut words = line.strip_prefix("file ")?.splitn(3, ' ');
            let (octets, sha256) = (words.next()?.parse().ok()?, words.next()?.to_owned());
            // Names of files beside it alone.
            let name = words.next().filter(|name| !name.contains('/'))?.to_owned();
            Some(ListedFile { octets, sha256, name })
        };
        let files = lines.map(listed).collect::<Option<_>>()?;
        Some(Self { order, number, previous, is_recovered, written_us, lost, files })
    }
}

/// Writes the manifests of all orders of a directory.
#[derive(Debug)]
pub(crate) struct Manifests {
    directory: PathBuf,
    signer: ProductSigner,
    heads: Heads,
}

/// The newest manifest of each order.
type Heads = Arc<Mutex<HashMap<String, ManifestHead>>>;

impl Manifests {
    /// Those that come next after what is in the directory.
    fn new(directory: &Path, signer: ProductSigner) -> Self {
        let mut heads: HashMap<String, ManifestHead> = HashMap::new();
        let public = signer.public_key();
        for (path, ending) in entries(directory).unwrap_or_default() {
            let found = match ending.as_str() {
                // What was handed over and removed is counted as well.
                HEAD => fs::read_to_string(&path).ok().and_then(|text| read_head(&path, &text)),
                MANIFEST => fs::read_to_string(&path).ok().and_then(|text| {
                    let Manifest { order, number, .. } = Manifest::parse(&text, &public).ok()?;
                    Some((order, ManifestHead { number, hash: sha256_of(text.as_bytes()) }))
                }),
                _ => None,
            };
            if let Some((order, head)) = found
                && heads.get(&order).is_none_or(|known| known.number < head.number)
            {
                heads.insert(order, head);
            }
        }
        Self { directory: directory.to_owned(), signer, heads: Arc::new(Mutex::new(heads)) }
    }

    /// Signs what has been written.
    fn add(&mut self, finished: &FinishedSet, is_recovered: bool) -> io::Result<()> {
        let FinishedSet { base, files, lost } = finished;
        let Some(order) = order_of(base) else { return Ok(()) };
        let before = lock(&self.heads).get(order).cloned();
        let listed = files.iter().map(|file| ListedFile {
            octets: file.octets,
            sha256: hex(&file.sha256),
            name: file.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        });
        let manifest = Manifest {
            order: order.to_owned(),
            // What is in a head is not signed.
            number: before.as_ref().map_or(1, |head| head.number.saturating_add(1)),
            previous: before.map_or_else(|| NONE.to_owned(), |head| head.hash),
            is_recovered,
            written_us: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_micros() as u64),
            lost: *lost,
            files: listed.collect(),
        };
        let hashes: String =
            manifest.files.iter().map(|file| format!("{}  {}\n", file.sha256, file.name)).collect();
        let text = manifest.text();
        let text = format!("{text}{}{}\n", &SIGNATURE[1..], self.signer.sign(&text));
        let head = ManifestHead { number: manifest.number, hash: sha256_of(text.as_bytes()) };
        write_whole(&with_ending(base, HASHES), hashes.as_bytes())?;
        write_whole(&with_ending(base, MANIFEST), text.as_bytes())?;
        write_whole(&self.directory.join(format!("{order}.{HEAD}")), format!("{head}\n").as_bytes())?;
        lock(&self.heads).insert(manifest.order, head);
        File::open(&self.directory)?.sync_all()
    }

    /// The files that a service before had not finished, each with the paths of its set, the oldest first.
    fn unfinished(&self) -> Vec<(PathBuf, Vec<PathBuf>)> {
        let entries = entries(&self.directory).unwrap_or_default();
        let of_set = |base: &Path| {
            let prefix = format!("{}-", base.display());
            let is_its_own = |path: &Path, ending: &str| match ending {
                "pcap" => {
                    let path = path.with_extension("");
                    let link = path.to_str().and_then(|path| path.strip_prefix(&prefix));
                    path == base || link.is_some_and(|link| link.bytes().all(|byte| byte.is_ascii_digit()))
                }
                ending => [EVENTS, CONTENT].contains(&ending) && path.with_extension("") == base,
            };
            let own = entries.iter().filter(|(path, ending)| is_its_own(path, ending));
            own.map(|(path, _)| path.clone()).collect()
        };
        let events = entries.iter().filter(|(_, ending)| ending == EVENTS);
        let bases = events.map(|(path, _)| path.with_extension(""));
        let left = bases.filter(|base| order_of(base).is_some() && !with_ending(base, MANIFEST).exists());
        left.map(|base| {
            let set = of_set(&base);
            (base, set)
        })
        .collect()
    }

    /// Signs files that a service before had not finished.
    fn recover(&mut self, unfinished: Vec<(PathBuf, Vec<PathBuf>)>) {
        for (base, set) in unfinished {
            let files: Vec<WrittenFile> = set.iter().filter_map(|path| hash_file(path).ok()).collect();
            // One that cannot be read now is signed at the next start.
            if files.len() == set.len() {
                let _ = self.add(&FinishedSet { base, files, lost: 0 }, true);
            }
        }
    }
}

/// Files of an order that were written whole.
#[derive(Debug)]
pub(crate) struct FinishedSet {
    /// Their path without endings.
    pub(crate) base: PathBuf,
    pub(crate) files: Vec<WrittenFile>,
    /// PDUs and frames that are in no file.
    pub(crate) lost: u64,
}

/// The thread that writes manifests, since whoever intercepts cannot wait for disks: first of what a service
/// before has left, which may be gigabytes to read. Dropping it waits for what is finished.
#[derive(Debug)]
pub(crate) struct Signing {
    finished: Option<SyncSender<FinishedSet>>,
    thread: Option<JoinHandle<()>>,
    heads: Heads,
}

impl Signing {
    pub(crate) fn begin(directory: &Path, signer: ProductSigner) -> Self {
        let mut manifests = Manifests::new(directory, signer);
        // Before this service makes any files of its own.
        let unfinished = manifests.unfinished();
        let heads = Arc::clone(&manifests.heads);
        let (finished, sets) = sync_channel::<FinishedSet>(MOST_WAITING);
        let work = move || {
            manifests.recover(unfinished);
            for set in sets {
                // One for which there is no room now is signed at the next start.
                let _ = manifests.add(&set, false);
            }
        };
        // Without a thread, all is signed at the next start.
        let thread = thread::Builder::new().name("product".into()).spawn(work).ok();
        Self { finished: Some(finished), thread, heads }
    }

    /// Has files signed soon; at the next start if too many wait, or the service ends before.
    pub(crate) fn sign(&self, set: FinishedSet) {
        let _ = self.finished.as_ref().map(|finished| finished.try_send(set));
    }

    /// The newest manifest of an order.
    pub(crate) fn head(&self, order: &str) -> Option<ManifestHead> {
        lock(&self.heads).get(order).cloned()
    }
}

impl Drop for Signing {
    fn drop(&mut self) {
        self.finished = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Paths of the files of a directory, with their endings.
pub(crate) fn entries(directory: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if let Some(ending) = path.extension().and_then(|ending| ending.to_str()) {
            let ending = ending.to_owned();
            found.push((path, ending));
        }
    }
    found.sort();
    Ok(found)
}

/// The order in the name of files, behind which stands the second of their beginning.
fn order_of(base: &Path) -> Option<&str> {
    let (order, second) = base.file_name()?.to_str()?.rsplit_once('-')?;
    (!second.is_empty() && second.bytes().all(|byte| byte.is_ascii_digit())).then_some(order)
}

fn read_head(path: &Path, text: &str) -> Option<(String, ManifestHead)> {
    let (number, hash) = text.trim_end().split_once(':')?;
    let head = ManifestHead { number: number.parse().ok()?, hash: hash.to_owned() };
    Some((path.file_stem()?.to_str()?.to_owned(), head))
}

/// Reads a file that somebody else has written.
pub(crate) fn hash_file(path: &Path) -> io::Result<WrittenFile> {
    let (mut file, mut digest, mut octets) = (File::open(path)?, Sha256::new(), 0);
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(WrittenFile { path: path.to_owned(), octets, sha256: digest.finalize().into() }),
            length => {
                digest.update(&part[..length]);
                octets += length as u64;
            }
        }
    }
}

/// Writes a file that is there whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = with_ending(path, DRAFT);
    // What a kill has left of one says nothing.
    let _ = fs::remove_file(&draft);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written =
        file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

fn with_ending(base: &Path, ending: &str) -> PathBuf {
    let mut path = base.as_os_str().to_owned();
    path.push(".");
    path.push(ending);
    path.into()
}

pub(crate) fn sha256_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const TITLE: &str = "ringtap product manifest 1";
const FINISHED: &str = "finished";
const RECOVERED: &str = "recovered";
const SIGNATURE: &str = "\nsignature ";
pub(crate) const NONE: &str = "0000000000000000000000000000000000000000000000000000000000000000";
pub(crate) const MANIFEST: &str = "manifest";
const HEAD: &str = "head";
const HASHES: &str = "sha256";
const DRAFT: &str = "new";
/// Sets of files that wait to be signed.
const MOST_WAITING: usize = 100_000;
pub(crate) const EVENTS: &str = "hi2";
const CONTENT: &str = "hi3";

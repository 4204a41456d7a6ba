//! How a worker writes, and how large a chunk may be.

use std::path::PathBuf;
use std::sync::Arc;

use ringtap_model::{LinkType, Nanos};

use crate::trust::head::KnownHead;
use crate::trust::master_key::MasterKey;
use crate::trust::sign::{PublicKey, Signer};

/// How a worker writes.
#[derive(Clone, Debug)]
pub struct WriterSettings {
    /// The spool's directory; it is created if it does not exist.
    pub dir: PathBuf,
    /// The worker's number in the names of its segments.
    pub worker: u16,
    /// The link type of all frames.
    pub link: LinkType,
    /// Memory in which packets wait until their chunk has 64 KiB.
    pub memory: usize,
    /// Streams and calls recorded at once.
    pub owners: usize,
    /// A chunk is written after this long, however small it is.
    pub age: Nanos,
    /// A segment ends after this long, or
    pub span: Nanos,
    /// with this many bytes.
    pub bytes: u64,
    /// Blocks between the packer and the disk: of a sixteenth of `memory` each, and of 2 MiB at most.
    pub blocks: usize,
    /// Bypass the kernel's page cache, if the file system can.
    pub direct: bool,
    /// Encrypt packets: with a key for each owner, which this key wraps.
    pub seal: Option<MasterKey>,
    /// Sign each segment when it is closed, in a chain.
    pub sign: Option<Arc<Signer>>,
    /// The newest seals of the spool's chains, as another place remembers them: a chain that ends before its
    /// seal goes on behind it, and [`WriterStatus`](crate::WriterStatus::disagreements) says so.
    pub known_heads: Vec<KnownHead>,
    /// The keys that signed before: seals of other keys do not count.
    pub known_signers: Vec<PublicKey>,
    /// Compress packets at this level of zstd (1 to 19): signalling to a third, media to two thirds or three
    /// quarters.
    pub compress: Option<i32>,
    /// Wait for a slow disk instead of losing packets: for packets that come from a file.
    pub wait: bool,
}

impl WriterSettings {
    /// For the first worker of a gigabit link.
    pub fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            worker: 0,
            link: LinkType(1),
            memory: 256 << 20,
            owners: 200_000,
            age: Nanos::from_secs(10),
            span: Nanos::from_secs(60),
            bytes: 4 << 30,
            blocks: 24,
            direct: true,
            seal: None,
            sign: None,
            known_heads: Vec::new(),
            known_signers: Vec::new(),
            compress: None,
            wait: false,
        }
    }
}

/// Bytes that a chunk may grow to.
pub(crate) const LIMIT: usize = 64 << 10;
/// Bytes of the longest chunk: one frame of 64 KiB and its header.
pub(crate) const MOST: usize = LIMIT + 4096;
/// The least memory that works with such chunks: see `window` in `packer`.
pub(crate) const LEAST: usize = 4 * MOST;

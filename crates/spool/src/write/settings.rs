//! How a worker writes, and how large a chunk may be.

use std::path::PathBuf;
use std::sync::Arc;

use ringtap_model::{LinkType, Nanos};

use crate::trust::master_key::MasterKey;
use crate::trust::sign::Signer;

/// How a worker keeps.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The spool's directory; created where it does not exist.
    pub dir: PathBuf,
    /// Names the worker's segments.
    pub worker: u16,
    /// Of all frames.
    pub link: LinkType,
    /// Bytes that wait for their chunk to be long enough, of 64 KiB each: as much as there is room for.
    pub memory: usize,
    /// Streams and signallings kept at once.
    pub owners: usize,
    /// A chunk that has begun is written after this long, however small.
    pub age: Nanos,
    /// A segment ends after this long, or
    pub span: Nanos,
    /// with this many bytes.
    pub bytes: u64,
    /// Blocks of 2 MiB between the packer and the disk.
    pub blocks: usize,
    /// Write around the kernel's page cache, where the file system can.
    pub direct: bool,
    /// Encrypt what is kept: under a key for each owner, wrapped by this one.
    pub seal: Option<MasterKey>,
    /// Sign each segment when it is closed, in a chain.
    pub sign: Option<Arc<Signer>>,
    /// Compress what is kept, at this level of zstd (1 to 19): signalling to a third, media to two thirds or three quarters.
    pub compress: Option<i32>,
    /// Wait for a disk that does not keep up, instead of losing packets: for packets that come out of a file.
    pub wait: bool,
}

impl Settings {
    /// For the first worker, with what a link of a gigabit needs.
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
            compress: None,
            wait: false,
        }
    }
}

/// Bytes that a chunk may grow to.
pub(crate) const LIMIT: usize = 64 << 10;
/// Bytes of the longest chunk: one frame of 64 KiB and its header.
pub(crate) const MOST: usize = LIMIT + 4096;
/// The least memory that a log of such frames works with: see `window` in `packer`.
pub(crate) const LEAST: usize = 4 * MOST;

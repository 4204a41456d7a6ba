//! What a verification finds.

use std::fmt;
use std::sync::Arc;

use crate::far::storage::FarStorage;
use crate::segment::name::{Category, Segment};
use crate::segment::scan::Damage;
use crate::trust::deletion_log::LogFlaw;
use crate::trust::head::KnownHead;
use crate::trust::sign::PublicKey;

/// A difference from what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The seal cannot be read, or its signature does not match.
    #[error("its seal was changed")]
    Seal,
    /// A held copy has no seal although segments are signed.
    #[error(
        "the copy has no seal: its seal was removed, or it was added; a running ringtap seals its copies"
    )]
    UnsealedCopy,
    /// Another key signed.
    #[error("its seal is signed by another key, {0}")]
    Key(PublicKey),
    /// Two segments were swapped, or one was renamed or copied.
    #[error("its seal is that of `{0}`: it was renamed, or put in another's place")]
    Misplaced(String),
    /// A segment that nothing proves, in a spool whose segments are signed.
    #[error(
        "it has no seal, and the signed list of open segments does not name it: its seal was removed, the \
         segment was put in, or it was written before segments were signed"
    )]
    Unsealed,
    /// Only the seal is left.
    #[error("the segment is gone, and no order to delete it is in the log; its seal is there")]
    Gone,
    /// Only its index or its keys are left.
    #[error(
        "the segment and its seal are not there, but its .{0} is: it was put there, or they were removed"
    )]
    Stray(String),
    /// The chain has a gap before this segment.
    #[error(
        "{} missing before it (seals {from} to {to} of the chain), and no order to delete them is in the log",
        count((*.to - *.from).saturating_add(1))
    )]
    CutOut {
        /// Number of the first seal that is missing.
        from: u64,
        /// Number of the last.
        to: u64,
    },
    /// The chain has other seals than it had.
    #[error("its seal does not follow the one before it: seals were written anew")]
    Chain,
    /// Far storage has no such segment.
    #[error("it should be in far storage, and is not")]
    NotFar,
    /// The segment is too short or too long.
    #[error("it has {found} bytes, and was sealed with {sealed}")]
    Length {
        /// As sealed.
        sealed: u64,
        /// As found.
        found: u64,
    },
    /// A damage at an offset.
    #[error("{0}")]
    Changed(Damage),
    /// A change that is in no chunk, or has a new checksum.
    #[error(
        "it is not what was sealed, though every chunk has its checksum: headers or padding were changed, or \
         whole chunks replaced"
    )]
    Rewritten,
    /// A chunk was erased, and the log has no order to.
    #[error("the chunk at byte {0} was erased, and no order to is in the log")]
    Erased(u64),
    /// The index is missing.
    #[error("its index is gone")]
    NoIndex,
    /// The index was changed.
    #[error("its index was changed{}", index_page(*.0))]
    Index(Option<u64>),
    /// The index names other chunks than the segment has.
    #[error("its index names other chunks than it has")]
    OtherIndex,
    /// The keys are missing.
    #[error("its keys are gone")]
    NoKeys,
    /// A row of the key file was changed.
    #[error("its keys were changed, in the 96 bytes from byte {}", .0 * 96)]
    KeyRow(u64),
    /// The keys are not those that were sealed.
    #[error("its keys are not those that were sealed")]
    OtherKeys,
    /// Sealed chunks whose keys are not listed: nobody can read them.
    #[error(
        "{} in the key file, first for the chunk at byte {offset}: the file was cut, deleted or \
         replaced, or ringtap was killed before it wrote the key", keyless(*.chunks)
    )]
    Keyless {
        /// Of the first chunk.
        offset: u64,
        /// Number of chunks.
        chunks: u64,
    },
    /// Chunks of an open segment that are not sealed, though its writer seals them all.
    #[error(
        "{} not sealed, first that at byte {offset}, though ringtap seals all chunks of the segment: \
         somebody put them in", plain(*.chunks)
    )]
    Plain {
        /// Of the first chunk.
        offset: u64,
        /// Number of chunks.
        chunks: u64,
    },
    /// A key was erased, and the log has no order to.
    #[error("key {0} was forgotten, and no order to is in the log")]
    Forgotten(u64),
    /// A key that was erased by order can be used again.
    #[error(
        "key {0} was forgotten by order, and is there again: it was put back, or ringtap was \
         stopped before it erased it; forget the call again"
    )]
    KeyRestored(u64),
    /// A chunk that was erased by order can be read again.
    #[error(
        "the chunk at byte {0} was erased by order, and is there again: it was put back, or ringtap was \
         stopped before it erased it; forget the call again"
    )]
    Restored(u64),
    /// A segment that was deleted by order exists.
    #[error(
        "it was deleted by order, and is there again: it was put back, or ringtap was stopped before it \
         deleted it; a running ringtap deletes it"
    )]
    Returned,
    /// One of its files is no regular file.
    #[error("its file .{0} is no file but a directory, a link, a pipe or a device: it was put there")]
    Irregular(String),
    /// A chain has seals, and its head is missing.
    #[error("it is gone: whoever removes it can remove the newest segments unnoticed")]
    NoHead,
    /// A chain's head cannot be read, or its signature does not match.
    #[error("it was changed, or another key signed it")]
    BadHead,
    /// A chain's head is older than its newest seal.
    #[error("it is seal {head}, and the newest seal is {newest}: an older head was put back")]
    OldHead {
        /// Number of the seal in it.
        head: u64,
        /// Number of the chain's newest seal.
        newest: u64,
    },
    /// A chain's list of open segments cannot be read, or its signature does not match.
    #[error("it was changed, or another key signed it")]
    BadOpenList,
    /// A chain has seals, and its list of open segments is missing.
    #[error(
        "it is gone: the next start cannot prove segments that were left open; a running ringtap writes it"
    )]
    NoOpenList,
    /// A chain's list of open segments is older than its newest seal.
    #[error("it was written before the newest segments were: an older list was put back")]
    OldOpenList,
    /// The list of segments from before segments were signed cannot be read, or its signature does not match.
    #[error("it was changed, or another key signed it")]
    BadUnsignedList,
    /// A chain ends before a seal that it had.
    #[error(
        "the chain {}, and had seal {number} once: the newest segments were removed, or an older state of \
         the spool was put back", end_of_chain(*.newest)
    )]
    CutBack {
        /// Number of the newest seal.
        newest: Option<u64>,
        /// Number of the seal that was its head.
        number: u64,
    },
    /// A chain has another seal than it had.
    #[error("seal {0} of the chain is another than the one that was noted: seals were written anew")]
    OtherSeal(u64),
    /// A flaw of the log of deletions.
    #[error("line {0} {1}")]
    Log(usize, LogFlaw),
}

fn index_page(page: Option<u64>) -> String {
    page.map(|page| format!(", in the 4 KiB from byte {}", page * 4096)).unwrap_or_default()
}

fn keyless(chunks: u64) -> String {
    if chunks == 1 {
        "the key of a chunk is not".to_owned()
    } else {
        format!("the keys of {chunks} chunks are not")
    }
}

fn plain(chunks: u64) -> String {
    if chunks == 1 { "a chunk is".to_owned() } else { format!("{chunks} chunks are") }
}

fn end_of_chain(newest: Option<u64>) -> String {
    newest.map_or_else(|| "has no seals".to_owned(), |newest| format!("ends with seal {newest}"))
}

fn count(segments: u64) -> String {
    if segments == 1 { "a segment is".to_owned() } else { format!("{segments} segments are") }
}

/// A fault and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The segment, or another file of the spool.
    pub place: String,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.fault)
    }
}

/// The end of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainHead {
    /// The worker and the category.
    pub worker: u16,
    /// See `worker`.
    pub category: Category,
    /// The newest sealed segment, the number of its seal and the seal's SHA-256.
    pub segment: String,
    /// See `segment`.
    pub number: u64,
    /// See `segment`.
    pub sha256: String,
}

impl ChainHead {
    /// As it is noted elsewhere.
    pub fn noted(&self) -> String {
        format!("w{}-{}:{}:{}", self.worker, self.category.letter(), self.number, self.sha256)
    }
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// All faults: of segments in order of time, then of the log.
    pub findings: Vec<Finding>,
    /// Segments that exist.
    pub segments: u64,
    /// Bytes of them that were read.
    pub bytes: u64,
    /// Of the segments: those in far storage.
    pub far: u64,
    /// Of the segments in far storage: those that were skipped.
    pub left_out: u64,
    /// Of the segments: those that a seal proves.
    pub proven: u64,
    /// Of the segments: those with a seal, of which chunks were erased by order. Checksums alone cover the
    /// rest.
    pub altered: u64,
    /// Of the segments: those without a seal. Checksums alone show that they are complete.
    pub unsigned: u64,
    /// Of the segments: those that are being written, or whose writer was stopped.
    pub open: Vec<(Segment, u64)>,
    /// Of the segments: those that a later writer sealed because their own was stopped.
    pub recovered: u64,
    /// Held copies, and those of them that a seal proves.
    pub held: u64,
    /// See `held`.
    pub held_proven: u64,
    /// Segments that were deleted by order.
    pub deleted: u64,
    /// Chunks and keys that were erased by order.
    pub erased: u64,
    /// See `erased`.
    pub forgotten: u64,
    /// The key that signed most seals.
    pub key: Option<PublicKey>,
    /// The ends of the chains.
    pub heads: Vec<ChainHead>,
}

/// How to verify.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// The keys that may have signed. Empty: only the key that signed most seals.
    pub keys: Vec<PublicKey>,
    /// Heads of chains that were noted elsewhere: each chain must still have these seals, or have deleted
    /// their segments by order.
    pub heads: Vec<KnownHead>,
    /// Does not read segments: only their seals, indexes, keys and lengths.
    pub quick: bool,
    /// Skips segments in far storage: only their files here are checked.
    pub near: bool,
    /// Where segments in far storage are read.
    pub far: Option<Arc<dyn FarStorage>>,
}

impl VerifyOptions {
    /// Whether the bytes of segments are read: of those in far storage, or of others.
    pub(crate) fn reads(&self, is_far: bool) -> bool {
        !(self.quick || is_far && self.near)
    }
}

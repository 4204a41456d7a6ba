//! Packets to keep, into segments on disk, and back: written once, in order, in large blocks; read back in few reads.
//!
//! Not here: what is in packets. A packet is bytes, a moment and an owner; the rules for which are kept know what they are told.
//!
//! The one invariant: a chunk is on disk whole or it is counted as lost. Marks and chunks carry checksums, so that a scan
//! after a kill or a power cut finds every chunk that was whole and names what was not.
//!
//! ```
//! use ringtap_model::{Frame, LinkType, Nanos};
//! use ringtap_spool::{Category, Keeper, Reader, Settings, key};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let mut keeper = Keeper::open(Settings { memory: 1 << 20, owners: 100, ..Settings::new(dir.path().to_owned()) })?;
//! let call = keeper.begin(Category::Signalling, key([&b"a Call-ID"[..]])).ok_or("the spool is full")?;
//! let now = Nanos::from_secs(1_795_219_200);
//! keeper.put(call, &Frame { time: now, number: 1, link: LinkType(1), wire_len: 16, data: b"an Ethernet frame" });
//! let kept = keeper.finish(call, now).ok_or("nobody's packets")?;
//! keeper.close(now);
//!
//! let mut reader = Reader::open(dir.path())?;
//! let found = reader.read(&[kept.owner], &reader.between(now, now)?)?;
//! assert_eq!(found.packets().next().map(|packet| packet.data), Some(&b"an Ethernet frame"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! # The files
//!
//! `2026-11-21/134600.250-w0-m-17.pcap` is a segment: an ordinary pcap with nanoseconds, which other programs open. It holds
//! media (`m`) or signalling (`s`), never both, since each is kept for its own time. Its packets lie in chunks, the packets of one owner (a stream, or the signalling of a call) together, each chunk behind a mark: a frame
//! of its own that says whose packets follow, how many and with which checksum. `.idx` beside it finds the chunks of an owner
//! in two reads; without it a scan does.
//!
//! | folder | holds |
//! |---|---|
//! | `segment` | the format: names of segments and owners, marks, the index beside a segment, scans |
//! | `write` | [`Keeper`]: the ring, the packer's thread, the disk's thread |
//! | `read` | [`Reader`], [`Ordered`], the catalogue |
//! | `trust` | master key, keys of owners, signatures, seals, the log of deletions, [`verify()`] |
//! | `retain` | [`Janitor`], [`Limits`], holds, [`forget()`], [`Provisional`], [`Products`], the tier |
//! | `far` | [`Far`], which others implement, and transfers to it |
//! | [`rules`] | which calls are kept |
//!
//! All unsafe code is in `write/sys.rs`.
#![deny(unsafe_code)]

mod error;
mod far;
mod files;
mod hex;
mod layout;
mod read;
mod retain;
pub mod rules;
mod segment;
mod time;
mod trust;
mod write;

pub use error::Error;
pub use error::Refusal;
pub use far::storage::{Far, Put, Upload, is_anything_far};
pub use files::give_to_owner_of;
pub use layout::FAR;
pub use read::ordered::{Chunks, Lacks, Ordered};
pub use read::reader::{Found, Reader};
pub use retain::forget::{Forgotten, Order, forget};
pub use retain::hold::{Hold, Holds, Part, release};
pub use retain::janitor::{Janitor, Notice, Tended, space};
pub use retain::policy::{Limits, Marks, Reason, Room, Space, Sweep, Verdict};
pub use retain::product::{ProductOf, Products};
pub use retain::provisional::{Doubt, Left, Provisional};
pub use segment::index::Row;
pub use segment::key::{key, of_call, of_stream};
pub use segment::listed::{Listed, Place};
pub use segment::mark::Chunk;
pub use segment::name::{Category, NotASegment, Segment, Sizes};
pub use segment::scan::{Damage, Flaw, Packet, Scan, scan};
pub use trust::deletion_entry::{Deleted, Deletion, Earlier, Run, SealOf, Total};
pub use trust::deletion_log::{Deletions, Log, LogFlaw};
pub use trust::master_key::MasterKey;
pub use trust::secret_file::read as secret;
pub use trust::sign::{NotAKey, PublicKey, Signer};
pub use trust::verify::{Fault, Finding, Head, Look, Verified, verify};
pub use write::disk::{Refused, Written};
pub use write::settings::Settings;
pub use write::writer::{Counts, Keeper, Kept, Owner};

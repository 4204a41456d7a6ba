//! Writes packets to segments on disk, in order and in large blocks, and reads them back in few reads.
//!
//! It knows nothing of the content of packets: a packet is bytes, a time and an owner. The rules that decide
//! which calls are recorded are given their facts.
//!
//! The one invariant: a chunk is on the disk completely, or it is counted as lost. Markers and chunks carry
//! checksums, so that a scan after a kill or a power cut finds every complete chunk and names what is
//! damaged.
//!
//! ```
//! use ringtap_model::{Frame, LinkType, Nanos};
//! use ringtap_spool::{Category, Reader, SpoolWriter, WriterSettings, key};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let settings = WriterSettings::new(dir.path().to_owned());
//! let settings = WriterSettings { memory: 1 << 20, owners: 100, ..settings };
//! let mut writer = SpoolWriter::open(settings)?;
//! let call = writer.begin(Category::Signalling, key([&b"a Call-ID"[..]])).ok_or("the spool is full")?;
//! let now = Nanos::from_secs(1_795_219_200);
//! let data = b"an Ethernet frame";
//! writer.put(call, &Frame { time: now, number: 1, link: LinkType(1), wire_len: 17, data });
//! let totals = writer.finish(call, now).ok_or("no such owner")?;
//! writer.close(now);
//!
//! let mut reader = Reader::open(dir.path())?;
//! let found = reader.read(&[totals.owner], &reader.between(now, now)?)?;
//! assert_eq!(found.packets().next().map(|packet| packet.data), Some(&b"an Ethernet frame"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! # The files
//!
//! `2026-11-21/134600.250-w0-m-17.pcap` is a segment: an ordinary pcap with nanoseconds, which other programs
//! open. It holds media (`m`), signalling (`s`) or interception product (`p`), never two of them, because
//! each has its own retention time. Its packets are in chunks: the packets of one owner (a stream, or the
//! signalling of a call) together, behind a marker with the owner, the number of packets and their checksum.
//! The index `.idx` beside it finds the chunks of an owner in two reads; without it, a scan finds them.
//!
//! | folder | holds |
//! |---|---|
//! | `segment` | the format: [`Segment`] names, owner [`key()`]s, markers, the index, [`scan()`] |
//! | `write` | [`SpoolWriter`]; its ring, the packer's thread, the disk thread |
//! | `read` | [`Reader`], [`OrderedPackets`], the catalogue of a directory |
//! | `trust` | [`MasterKey`], keys of owners, [`Signer`], seals, the [`DeletionLog`], [`verify()`] |
//! | `retain` | [`Janitor`], [`Holds`], [`forget()`], [`PendingJournal`], [`ProductLog`], the tier |
//! | `far` | [`FarStorage`], which other crates implement, stubs, transfers; [`RemoteStorage`] |
//! | [`rules`] | which calls are recorded: [`rules::Rules`], decisions, packets that wait for one |
//!
//! A folder uses only folders above it in this order: `segment`, `far`, `trust`, `read` and `write`,
//! `retain`. All unsafe code is in `write/sys.rs`.
#![deny(unsafe_code)]

mod error;
mod far;
mod files;
mod frame;
mod hex;
mod layout;
mod read;
mod retain;
pub mod rules;
mod segment;
mod time;
mod trust;
mod write;

pub use error::{Error, FarError};
pub use far::remote::RemoteStorage;
pub use far::service::FarService;
pub use far::storage::{FarStorage, Upload, UploadOutcome, is_anything_far};
pub use far::transfers::UploadRate;
pub use layout::FAR;
pub use read::follower::{FollowedChunk, Follower};
pub use read::ordered::{LocatedChunks, MissingChunks, OrderedPackets};
pub use read::owners::{RecordedSpan, RecordedSpans};
pub use read::reader::{FoundPackets, Reader};
pub use retain::forget::{ForgetOrder, ForgetReport, forget};
pub use retain::hold::{HeldRange, Hold};
pub use retain::holds::Holds;
pub use retain::janitor::Janitor;
pub use retain::outlook::{CategoryOutlook, Outlook};
pub use retain::pending_journal::{PendingEntry, PendingJournal, UnfinishedDecision};
pub use retain::policy::{
    DeletionReason, DiskSpace, Limits, RetentionAction, SpaceThreshold, Sweep, Watermarks,
};
pub use retain::product_log::{ProductEntry, ProductLog};
pub use retain::release::release;
pub use retain::space_watch::space;
pub use retain::status::{JanitorEvent, SpoolStatus};
pub use segment::index::IndexRow;
pub use segment::key::{key, of_call, of_stream};
pub use segment::listed::{ListedSegment, Location};
pub use segment::marker::Chunk;
pub use segment::name::{ByCategory, Category, NotASegment, Segment};
pub use segment::scan::{Damage, Flaw, Packet, Scan, scan};
pub use trust::deletion_entry::{
    Deletion, DeletionKind, DeletionSummary, DeletionTotal, SealRun, SealSummary,
};
pub use trust::deletion_log::{DELETION_LOG, DeletionLog, LogFlaw, LoggedDeletions};
pub use trust::head::{KnownHead, NotAHead};
pub use trust::key_service::KeyService;
pub use trust::master_key::MasterKey;
pub use trust::remote_keys::RemoteKeys;
pub use trust::secret_file::{read as secret, read_long as secrets};
pub use trust::sign::{NotAKey, PublicKey, Signer};
pub use trust::verify::report::{ChainHead, Fault, Finding, VerifyOptions, VerifyReport};
pub use trust::verify::run::verify;
pub use write::disk::{LostChunk, WriterStatus};
pub use write::settings::WriterSettings;
pub use write::writer::{OwnerHandle, OwnerTotals, SpoolWriter, WriterCounts};

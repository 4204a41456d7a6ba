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
//! | module | holds |
//! |---|---|
//! | `keeper` | [`Keeper`], which takes packets; [`Settings`], [`Owner`], [`Kept`], [`Counts`] |
//! | `log` | packets in order of time, on their way to the packer |
//! | `packer` | the thread that gathers chunks and lines them up for the disk |
//! | `disk` | the thread that writes; [`Written`] |
//! | `sys` | the log's memory, between two threads: all unsafe code |
//! | `mark` | what a segment says of itself: [`Chunk`] |
//! | `index` | the index beside a segment: [`Row`] |
//! | `name` | [`Segment`], a segment's name; [`Category`] |
//! | `key` | [`key()`], an owner's name |
//! | `scan` | a segment read from its beginning: [`scan()`], [`Scan`], [`Damage`], [`Flaw`] |
//! | `reader` | [`Reader`], [`Found`], [`Packet`] |
//! | `ordered` | [`Ordered`]: the same in order of time, a few chunks in memory at once |
//! | `forget` | [`forget()`]: what was kept of an owner, out of the spool for good; [`Forgotten`], [`Order`] |
//! | `deletions` | [`Deletions`], the log of what was deleted: [`Deletion`], [`Log`] |
//! | `seal` | the signed seal beside a segment, and the chain of them |
//! | `verify` | [`verify()`]: whether a spool is as it was written; [`Verified`], [`Fault`] |
//! | `sign` | [`Signer`], [`PublicKey`], signed lines |
//! | `master` | [`MasterKey`]: who has it reads what is sealed |
//! | `keys` | the file of wrapped keys beside a segment |
//! | `sealer` | keys of owners while they are written |
//! | `wrap` | a chunk's packets, packed and sealed |
//! | `secret` | files that hold keys |
//! | `retain` | what is given up, and when: [`Limits`], [`Sweep`] |
//! | `janitor` | [`Janitor`], which carries that out: [`Notice`], [`Tended`] |
//! | `catalogue` | what there is on the disk |
//! | `hold` | calls that outlive any clock: [`Hold`], [`Holds`], [`release()`] |
//! | `earlier` | the beginning of the log of deletions, taken together |
//! | `product` | which interception product is whose |
//! | `provisional` | [`Provisional`]: what is kept before it is known whether it may be |
//! | `tier` | a second directory for older segments |
//! | `far` | a far place for them: [`Far`], which others implement; what is known here of what lies there |
//! | `errand` | what is done at the far place, behind the janitor's back |
//! | [`rules`] | which calls are kept: [`rules::Rules`], decided as far as is known; the table that tells all workers; what waits |
//! | `error` | [`Error`] |
#![deny(unsafe_code)]

mod catalogue;
mod deletions;
mod disk;
mod earlier;
mod errand;
mod error;
mod far;
mod forget;
mod hold;
mod index;
mod janitor;
mod keeper;
mod key;
mod keys;
mod log;
mod mark;
mod master;
mod name;
mod ordered;
mod packer;
mod product;
mod provisional;
mod reader;
mod retain;
pub mod rules;
mod scan;
mod seal;
mod sealer;
mod secret;
mod sign;
#[expect(unsafe_code, reason = "one thread writes where another will read")]
mod sys;
mod tier;
mod verify;
mod wrap;

pub use deletions::{Deleted, Deletion, Deletions, Log, LogFlaw, SealOf};
pub use disk::{Refused, Written};
pub use earlier::{Earlier, Run, Total};
pub use error::Error;
pub use far::{FAR, Far, Put, Refusal, Upload, is_anything_far};
pub use forget::{Forgotten, Order, forget};
pub use hold::{Hold, Holds, Part, given_to_the_owner_of, release};
pub use index::Row;
pub use janitor::{Janitor, Notice, Tended, space};
pub use keeper::{Counts, Keeper, Kept, Owner, Settings};
pub use key::{key, of_call, of_stream};
pub use mark::Chunk;
pub use master::MasterKey;
pub use name::{Category, NotASegment, Segment};
pub use ordered::{Chunks, Lacks, Ordered};
pub use product::{ProductOf, Products};
pub use provisional::{Doubt, Left, Provisional};
pub use reader::{Found, Reader};
pub use retain::{Limits, Listed, Marks, Place, Reason, Room, Sizes, Space, Sweep, Verdict};
pub use scan::{Damage, Flaw, Packet, Scan, scan};
pub use secret::read as secret;
pub use sign::{NotAKey, PublicKey, Signer};
pub use verify::{Fault, Finding, Head, Look, Verified, verify};

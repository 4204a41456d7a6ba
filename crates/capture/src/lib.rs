//! Reads capture files as [`Frame`](ringtap_model::Frame)s: pcap, pcapng and ERF, also compressed, and
//! several merged in order of time. Captures from interfaces and sends on them ([`live`]).
//!
//! Not here: the content of a frame. A frame is bytes, a link type and a time.
//!
//! Invariant: a frame borrows from the file's memory map and is never copied. However damaged a file is,
//! every good packet before the damage is given, and none after it.
//!
//! ```
//! use ringtap_capture::{Capture, Merge, Writer};
//! use ringtap_model::{Frame, LinkType, Nanos};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("ring.pcap");
//! let mut writer = Writer::new(std::fs::File::create(&path)?, &[LinkType(1)])?;
//! let data = b"an Ethernet frame";
//! let frame = Frame { time: Nanos::from_secs(1), number: 1, link: LinkType(1), wire_len: 17, data };
//! writer.write(&frame)?;
//! writer.finish()?;
//!
//! let captures = [Capture::open(&path)?];
//! let mut frames = Merge::new(&captures);
//! for frame in frames.by_ref() {
//!     assert_eq!((frame.number, frame.data), (1, &data[..]));
//! }
//! assert!(frames.damages().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `capture`, `format` | [`Capture`], one opened file, its [`Format`] and [`Compression`] |
//! | `frames` | [`Frames`], its packets |
//! | `pcap`, `pcapng`, `erf`, `clock` | one format each, and the clock of a pcapng interface |
//! | `content`, `unpack`, `sys` | the bytes of a file in memory: mapped, read or decompressed |
//! | `merge` | [`Merge`], many files |
//! | `writer` | [`Writer`] |
//! | [`host`] | properties of this machine that matter for a capture |
//! | `error` | [`Error`], [`Damage`], [`DamageKind`] |
//! | [`live`] | interfaces: capturing packets and sending frames |
#![deny(unsafe_code)]

mod capture;
mod clock;
mod content;
mod erf;
mod error;
mod format;
mod frames;
pub mod host;
#[cfg(target_os = "linux")]
pub mod live;
mod merge;
mod pcap;
mod pcapng;
#[expect(unsafe_code, reason = "memory maps and prefetching cannot do without")]
mod sys;
mod unpack;
mod writer;

pub use capture::Capture;
pub use error::{Damage, DamageKind, Error};
pub use format::Format;
pub use frames::Frames;
pub use merge::Merge;
pub use unpack::Compression;
pub use writer::Writer;

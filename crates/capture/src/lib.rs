//! Reads capture files as [`Frame`](ringtap_model::Frame)s: pcap, pcapng, snoop, NetMon and ERF, also
//! compressed, and several merged in order of time. Captures from interfaces and sends on them ([`live`]).
//!
//! Not here: the content of a frame. A frame is bytes, a link type and a time.
//!
//! Invariant: a frame borrows from memory of our own, which nobody else can change or take away. However
//! damaged a file is, every good packet before the damage is given, and none after it.
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
//! let captures = [Capture::open(&path, None)?];
//! let mut frames = Merge::new(&captures);
//! for frame in frames.batch(64) {
//!     assert_eq!((frame.number, frame.data), (1, &data[..]));
//! }
//! assert!(frames.batch(64).is_empty() && frames.damages().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `capture`, `format` | [`Capture`], one opened file, its [`Format`] and [`Compression`] |
//! | `frames`, `owned_frames` | [`Frames`], its packets; [`OwnedFrames`], packets that stay in memory |
//! | `shared_frames` | [`SharedFrames`], packets that several threads read |
//! | `pcap`, `pcapng`, `erf`, `snoop`, `netmon` | one format each |
//! | `clock` | the clock of a pcapng interface |
//! | `content`, `unpack`, `window` | the bytes of a file as stored, decompressed, and the part in memory |
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
mod netmon;
mod owned_frames;
mod pcap;
mod pcapng;
mod shared_frames;
mod snoop;
#[expect(unsafe_code, reason = "sockets, rings and prefetching cannot do without")]
mod sys;
mod unpack;
mod window;
mod writer;

pub use capture::Capture;
pub use error::{Damage, DamageKind, Error};
pub use format::Format;
pub use frames::{FrameChoice, Frames};
pub use merge::Merge;
pub use owned_frames::OwnedFrames;
pub use shared_frames::{SharedFrame, SharedFrames};
pub use unpack::Compression;
pub use writer::Writer;

//! Media of a call in, sound out: G.711 decoded, packets put on a time line, both directions in one WAV.
//!
//! Not here: which packets belong to which stream, and any judgement of quality. There is no jitter buffer either: a packet that
//! came late is heard in its place, since the question is what was sent.
//!
//! The one invariant: where nothing was lost, the samples of a track are those of its payloads, decoded and joined, and
//! nothing else; and what a track holds is never more than the payload that was pushed into it.
//!
//! ```
//! use std::io::Cursor;
//!
//! use ringtap_audio::{Codec, RtpSound, Track, mix};
//! use ringtap_model::{Hz, Nanos};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut caller = Track::new(Codec::from_name("PCMU")?, Hz(8_000));
//! for number in 0..50 {
//!     caller.push(RtpSound {
//!         arrival: Nanos::from_millis(1_000 + 20 * u64::from(number)),
//!         sequence: number,
//!         timestamp: u32::from(number) * 160,
//!         payload_type: 0,
//!         payload: &[0xff; 160],
//!     });
//! }
//! let mut wav = Cursor::new(Vec::new());
//! let (left, right) = ([caller], []);
//! let stereo = mix(&left, &right);
//! assert_eq!(stereo.frames(), 8_000);
//! stereo.write_wav(&mut wav)?;
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `codec` | [`Codec`]: mu-law and A-law |
//! | `track` | [`Track`], one direction on a time line |
//! | `stereo` | [`mix`], [`Stereo`]: both directions into a WAV |
//! | `error` | [`Error`] |
#![forbid(unsafe_code)]

mod codec;
mod error;
mod stereo;
mod track;

pub use codec::Codec;
pub use error::Error;
pub use stereo::{Stereo, mix};
pub use track::{RtpSound, Track};

//! Media of a call in, sound out: payloads decoded, packets put on a time line, what is missing filled, both directions in
//! one recording.
//!
//! Not here: which packets belong to which stream, any judgement of quality, and starting the process that decodes with
//! libraries.
//!
//! The one invariant: where nothing was lost, the samples of a track are those of its payloads, decoded and joined, and
//! nothing else; and what a track holds is in proportion to the packets that were pushed into it.
//!
//! ```
//! use std::io::Cursor;
//!
//! use ringtap_audio::{Codec, BuiltIn, AudioPacket, MixSettings, Track, mix, write_wav};
//! use ringtap_model::{Hz, Nanos};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut caller = Track::new(Codec::from_name("PCMU")?, Hz(8_000));
//! for number in 0..50 {
//!     caller.push(AudioPacket {
//!         arrival: Nanos::from_millis(1_000 + 20 * u64::from(number)),
//!         sequence: number,
//!         timestamp: u32::from(number) * 160,
//!         payload_type: 0,
//!         payload: &[0xff; 160],
//!     });
//! }
//! let mut wav = Cursor::new(Vec::new());
//! let (left, right) = ([caller], []);
//! let mut recording = mix(&left, &right, MixSettings::default(), &BuiltIn)?;
//! assert_eq!(recording.frames(), 8_000);
//! write_wav(&mut recording, &mut wav)?;
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `codec` | [`Codec`]: names, clocks, how much sound a payload is |
//! | `decode` | [`Decoder`], [`Decoders`], and the decoders that are our [`BuiltIn`] |
//! | `remote` | [`Remote`], [`RemoteEncoder`], [`serve`]: decoding and encoding with libraries in another process |
//! | `sys` | those libraries, and the walls around that process: all unsafe code |
//! | `track` | [`Track`], one direction on a time line |
//! | `playout` | [`Player`]: a track as it sounds, loss, pauses, tones and drift by its [`PlayoutRules`] |
//! | `stereo` | [`mix`], [`Recording`]: both directions |
//! | `output` | [`play`] into every [`Output`] at once |
//! | `wav`, `flac`, `opus`, `peaks` | [`Wav`], [`Flac`], [`Opus`] with its [`Encoder`], [`Peaks`] |
//! | `error` | [`Error`] |
#![deny(unsafe_code)]

mod codec;
mod decode;
mod error;
mod flac;
mod opus;
mod output;
mod peaks;
mod playout;
mod remote;
mod stereo;
mod sys;
mod track;
mod wav;

pub use codec::Codec;
pub use decode::{BuiltIn, DecodeStep, Decoder, Decoders, Packing};
pub use error::Error;
pub use flac::Flac;
pub use opus::{Encoder, EncoderSettings, Opus};
pub use output::{Output, OutputFormat, play};
pub use peaks::Peaks;
pub use playout::{Player, PlayoutFigures, PlayoutRules};
pub use remote::{Remote, RemoteEncoder, is_remote, serve};
pub use stereo::{ChannelLayout, MixSettings, Recording, mix};
pub use track::{AudioPacket, PayloadKind, Track};
pub use wav::{Wav, write_wav};

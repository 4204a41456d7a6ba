//! Turns the media of a call into sound: decodes payloads, places packets on a time line, fills gaps, and
//! mixes both directions into one recording.
//!
//! Not here: which packets belong to which stream, quality ratings, and starting the process that decodes
//! with libraries.
//!
//! Invariant: without loss, the samples of a track are exactly those of its decoded payloads; the memory of a
//! track is proportional to the packets pushed into it.
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
//! | `codec` | [`Codec`]: names, clocks, duration of a payload |
//! | `decode` | [`Decoder`], and the decoders without libraries |
//! | `built_in` | [`Decoders`]: [`BuiltIn`], those decoders by codec |
//! | `remote` | [`Remote`], [`RemoteEncoder`], [`serve`]: codecs from libraries, in another process |
//! | `confinement` | what that process may do, before it loads a library and before it decodes |
//! | `sys` | those libraries: all unsafe code |
//! | `track` | [`Track`], one direction on a time line |
//! | `playout` | [`Player`]: plays a track; [`PlayoutRules`] decide on loss, pauses, tones and drift |
//! | `stereo` | [`mix`], [`Recording`]: both directions |
//! | `live` | [`LiveMix`]: both directions while they are being recorded |
//! | `output`, `play` | [`play`] into several [`Output`]s at once |
//! | `wav`, `flac`, `opus`, `peaks` | [`Wav`], [`Flac`], [`Opus`], [`Peaks`] |
//! | `encoder` | [`Encoder`]: speech into packets |
//! | `error` | [`Error`] |
#![deny(unsafe_code)]

mod built_in;
mod codec;
mod confinement;
mod decode;
mod encoder;
mod error;
mod flac;
mod live;
mod opus;
mod output;
mod peaks;
mod play;
mod playout;
mod remote;
mod stereo;
mod sys;
mod track;
mod wav;

pub use built_in::{BuiltIn, Decoders};
pub use codec::Codec;
pub use decode::{DecodeStep, Decoder, Packing};
pub use encoder::{Encoder, EncoderSettings};
pub use error::Error;
pub use flac::Flac;
pub use live::{LiveMix, LiveTrack};
pub use opus::Opus;
pub use output::{Output, OutputFormat};
pub use peaks::Peaks;
pub use play::play;
pub use playout::{Player, PlayoutFigures, PlayoutRules};
pub use remote::{Remote, RemoteEncoder, is_remote, serve};
pub use stereo::{ChannelLayout, MixSettings, Recording, mix};
pub use track::{AudioPacket, PayloadKind, Track};
pub use wav::{Wav, write_wav};

//! SDP, RFC 8866: the media of a session description; lines are parsed on access.
//!
//! Not here: offer and answer (RFC 3264), which the engine matches.
//!
//! ```
//! use ringtap_wire::sdp::{Direction, Sdp};
//!
//! let body = b"v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
//!     m=audio 49170 RTP/AVP 0 96\r\na=rtpmap:96 opus/48000/2\r\na=sendonly\r\n";
//! let sdp = Sdp::parse(body)?;
//! let audio = sdp.media().next().expect("one media line");
//! assert_eq!((audio.port, audio.connection()), (49170, "192.0.2.1".parse().ok()));
//! assert_eq!(audio.direction(), Direction::SendOnly);
//! assert_eq!(audio.payload_types().collect::<Vec<_>>(), [0, 96]);
//! assert_eq!(audio.codec(0).map(|codec| codec.name), Some(&b"PCMU"[..]));
//! assert_eq!(audio.codec(96).map(|codec| (codec.clock, codec.channels)), Some((48000, 2)));
//! # Ok::<(), ringtap_wire::sdp::ParseError>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `session` | [`Sdp`] and its origin |
//! | `media` | [`Media`]: one `m=` line and the lines below it |
//! | `codec` | [`Codec`] and the static payload types of RFC 3551 |
//! | `candidate`, `crypto` | ICE candidates (RFC 8839), SDES keys (RFC 4568) |
//! | `lines` | lines and attributes |
//! | `media_lines` | [`media_lines()`]: all lines that say where media goes, in one pass |

mod candidate;
mod codec;
mod crypto;
mod lines;
mod media;
mod media_lines;
mod session;

pub use candidate::{Candidate, CandidateType};
pub use codec::{Codec, static_payload};
pub use crypto::Crypto;
pub use media::{Direction, MAX_MEDIA, Media, MediaType};
pub use media_lines::{MediaLine, media_lines, rtpmap};
pub use session::{Origin, ParseError, Sdp};

//! What names people out of signalling and media: numbers, names, hosts and addresses replaced by others, the
//! same by the same, and whole frames around what is left.
//!
//! Not here: which packets are a call's, and files. What is given is a message or a packet as it was put
//! together.
//!
//! The one invariant: of the bytes given, only what is on a list of things that name nobody comes out as it
//! was. A header, an attribute or a parameter that is not known here loses its text.
//!
//! ```
//! use ringtap_anonymise::{Key, Mask};
//!
//! let mut mask = Mask::new(&Key([7; 32]));
//! let number = mask.text(b"+420602123456");
//! assert_eq!(number.len(), 13);
//! assert_ne!(number, b"+420602123456");
//! // Consistent, and numbers that began alike begin alike.
//! assert_eq!(number, mask.text(b"+420602123456"));
//! assert_eq!(number[..9], mask.text(b"+420602129999")[..9]);
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `key` | [`Key`] |
//! | `names` | words, numbers, hosts: a letter by a letter, a digit by a digit |
//! | `network` | addresses, networks kept together |
//! | `mask` | [`Mask`], text that has addresses in it |
//! | `sip`, `uri`, `sdp` | messages, what stands in their headers, their bodies |
//! | `media` | RTP and RTCP |
//! | `frame` | [`Frames`], what a message or packet travels in |
#![forbid(unsafe_code)]

mod frame;
mod key;
mod mask;
mod media;
mod names;
mod network;
mod sdp;
mod sip;
mod uri;

pub use frame::{Frames, TooLong};
pub use key::Key;
pub use mask::Mask;
pub use media::MediaMask;

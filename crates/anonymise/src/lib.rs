//! Anonymises signalling and media: consistently replaces numbers, names, hosts and addresses, and writes the
//! result into new frames.
//!
//! Not here: finding the packets of a call, and files. The input is a reassembled message or packet.
//!
//! Invariant: only content on an explicit list of harmless items stays unchanged. A header, attribute or
//! parameter that is not known here loses its text.
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
//! | `names` | words, numbers, hosts: letters become letters, digits become digits |
//! | `network` | addresses, preserving networks |
//! | `mask` | [`Mask`], text that contains addresses |
//! | `sip`, `uri`, `sdp` | messages, header values, bodies |
//! | `media` | RTP and RTCP |
//! | `tokens` | [`Tokens`]: records without numbers, each number the same token |
//! | `frame` | [`Frames`], new frames for messages and packets |
#![forbid(unsafe_code)]

mod frame;
mod key;
mod mask;
mod media;
mod names;
mod network;
mod sdp;
mod sip;
mod sip_body;
mod tokens;
mod uri;

pub use frame::{Frames, TooLong};
pub use key::Key;
pub use mask::Mask;
pub use media::MediaMask;
pub use tokens::Tokens;

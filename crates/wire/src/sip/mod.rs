//! SIP, RFC 3261: a message is an index of spans over its bytes; values are parsed on access.
//!
//! Not here: transactions, dialogs and the reassembly of TCP streams.
//!
//! ```
//! use ringtap_wire::sip::{Header, Message, Method};
//!
//! let datagram = b"INVITE sip:bob@example.com SIP/2.0\r\n\
//!     v: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK77\r\n\
//!     f: \"Alice\" <sip:alice@example.com>;tag=1\r\n\
//!     t: <sip:bob@example.com>\r\n\
//!     i: 843817637684230@998sdasdh09\r\n\
//!     CSeq: 1 INVITE\r\n\r\n";
//! let message = Message::parse(datagram)?;
//! assert_eq!(message.method(), Method::Invite);
//! assert_eq!(message.header(Header::CallId), Some(&b"843817637684230@998sdasdh09"[..]));
//! assert_eq!(message.from().and_then(|from| from.uri.user), Some(&b"alice"[..]));
//! # Ok::<(), ringtap_wire::sip::ParseError>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `message` | the index: [`Message`] |
//! | `start`, `method`, `header`, `error` | start lines, known names, why bytes are not a message |
//! | `uri`, `nameaddr`, `via`, `params` | values of header fields |
//! | `identity` | the Identity header of STIR |
//! | `session_timer` | Session-Expires and Min-SE |
//! | `body`, `length` | body parts, Content-Length |
//! | `sniff`, `framing` | finding messages in datagrams and in streams |
//! | `fields`, `text` | header lines and lexical rules, shared with SDP and HTTP |

mod body;
mod error;
pub(crate) mod fields;
mod framing;
mod header;
mod identity;
mod keys;
mod length;
mod message;
mod method;
mod nameaddr;
mod params;
mod session_timer;
mod sniff;
mod start;
pub(crate) mod text;
pub(crate) mod uri;
mod via;

pub use body::BodyPart;
pub use error::ParseError;
pub use framing::{Framing, FramingProgress, MAX_LONG, MAX_MESSAGE, framing, framing_again};
pub use header::Header;
pub use identity::Identity;
pub use keys::{KeyReport, key_code, key_report};
pub use message::{HeaderField, Message};
pub use method::Method;
pub use nameaddr::NameAddr;
pub use params::{Param, params};
pub use session_timer::{Refresher, SessionExpires};
pub use sniff::sniff;
pub use start::StartLine;
pub use text::unfolded;
pub use uri::Uri;
pub use via::Via;

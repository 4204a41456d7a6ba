//! A call of the past, out of the spool and into files.
//!
//! | module | holds |
//! |---|---|
//! | `kept` | its packets, and what is missing of them |
//! | `source` | them in order, as often as one likes, a few hundred in memory at once |
//! | `joined` | messages over TCP as connections again |
//! | `replay` | the packets through an engine again: messages, streams, sound |
//! | `files` | every kind of file at once |
//! | `page` | its record as JSON, its ladder as text and as a drawing |

pub(crate) mod files;
pub(crate) mod joined;
pub(crate) mod kept;
pub(crate) mod page;
pub(crate) mod replay;
pub(crate) mod source;

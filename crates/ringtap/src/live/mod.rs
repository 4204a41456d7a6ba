//! Calls as they pass, for people who watch.
//!
//! The engine has a thread of its own. It keeps what is to be seen in a [`book::Book`] with ceilings, and publishes it ten times a
//! second at most as a [`book::View`]: a list of shared, immutable entries, so that neither side waits for the other. The
//! thread of the terminal turns keys into a new [`app::App`] state and draws it; both are plain functions, tested without a
//! terminal.
//!
//! | module | holds |
//! |---|---|
//! | `book` | calls and messages kept, with ceilings; what is published of them |
//! | `feed` | where frames come from: interfaces, or capture files at a pace |
//! | `watch` | the engine's thread, and what both threads share |
//! | `app`, `form` | state, keys, filters |
//! | `draw` | a state as a screen |
//! | `save` | messages into a pcap file |
//! | `terminal` | the loop around a real terminal |

pub(crate) mod app;
pub(crate) mod book;
mod draw;
pub(crate) mod feed;
mod form;
pub(crate) mod save;
pub(crate) mod terminal;
#[cfg(test)]
mod tests;
pub(crate) mod watch;

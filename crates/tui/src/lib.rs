//! Calls as they pass, in the terminal: a list, ladders, messages, streams.
//!
//! Not here: what is known of a call, which is `ringtap-live`'s; [`terminal::run`] shows what that publishes.
//!
//! The one invariant: text from the network is escaped before it is drawn, and any key on any size of
//! terminal leads to a screen that can be drawn.
//!
//! Keys change the state of the screen, and that state is drawn; both are plain functions, tested without a
//! terminal.
//!
//! | module | holds |
//! |---|---|
//! | `app`, `form`, `order` | the state of the screen, keys, filters, the order of the list |
//! | `draw` | a state as a screen |
//! | `input` | what keys, clicks and the wheel change |
//! | `save` | messages into a pcap file |
//! | [`terminal`] | the loop around a real terminal |
#![forbid(unsafe_code)]

mod app;
mod draw;
mod form;
mod input;
mod order;
mod save;
pub mod terminal;
#[cfg(test)]
mod tests;

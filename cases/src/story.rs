//! The golden cases as stories: captures built from a scenario, with expected records worked out by hand.
//!
//! Not here: running them; `tests/golden.rs` does that. The one invariant: a story builds the same bytes
//! every time, and all of them come from this code.
//!
//! | module | holds |
//! |---|---|
//! | [`packet`] | headers from Ethernet to UDP, TCP and ICMP, tunnels, fragments |
//! | [`wire`] | frames and their times |
//! | [`sip`], [`rtp`] | dialogs and their messages, streams and their packets |
//! | [`want`] | the expected records |
//! | [`cases`] | one function per case |

pub mod cases;
pub mod packet;
pub mod rtp;
pub mod sip;
pub mod want;
pub mod wire;

use std::io;

use ringtap_capture::Writer;
use ringtap_model::{Frame, LinkType, Nanos};
use serde_json::Value;

use crate::run::Records;
use want::Want;
use wire::{Sent, Wire};

/// Start of every story: 2026-01-05 08:00:00 UTC.
pub const START: Nanos = Nanos::from_secs(1_767_600_000);

/// A time of a story, in milliseconds after [`START`], in the form of records.
pub const fn at_us(millis: u64) -> u64 {
    START.micros() + millis * 1_000
}

/// Milliseconds.
pub const fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// Seconds.
pub const fn secs(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

/// A case: its capture, its configuration and the expected records.
pub struct Story {
    /// Name of its folder.
    pub name: &'static str,
    /// `config.toml`.
    pub config: &'static str,
    frames: Vec<Sent>,
    want: Want,
}

impl Story {
    /// A story of what was on the wire. By default it expects no records.
    pub fn new(name: &'static str, wire: Wire) -> Self {
        Self { name, config: "", frames: wire.into_frames(), want: Want::default() }
    }

    /// Sets keys of the engine's configuration, as TOML.
    #[must_use]
    pub fn config(mut self, config: &'static str) -> Self {
        self.config = config;
        self
    }

    /// Expects exactly these calls in order of their first INVITE; each names the fields that matter.
    #[must_use]
    pub fn calls<const N: usize>(mut self, calls: [Value; N]) -> Self {
        self.want.calls = calls.into();
        self
    }

    /// Expects exactly these streams in order of their first packet.
    #[must_use]
    pub fn streams<const N: usize>(mut self, streams: [Value; N]) -> Self {
        self.want.streams = streams.into();
        self
    }

    /// Expects exactly these registrations in order of their first REGISTER.
    #[must_use]
    pub fn registrations<const N: usize>(mut self, registrations: [Value; N]) -> Self {
        self.want.registrations = registrations.into();
        self
    }

    /// Expects exactly these records of other transactions outside of calls in order of time.
    #[must_use]
    pub fn transactions<const N: usize>(mut self, transactions: [Value; N]) -> Self {
        self.want.transactions = transactions.into();
        self
    }

    /// Expects exactly these MESSAGE records in order of time.
    #[must_use]
    pub fn messages<const N: usize>(mut self, messages: [Value; N]) -> Self {
        self.want.messages = messages.into();
        self
    }

    /// Expects a value of an engine counter, by its name in the summary.
    #[must_use]
    pub fn counter(mut self, name: &'static str, value: u64) -> Self {
        self.want.counters.push((name, value));
        self
    }

    /// The frames, as a source would deliver them.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.frames.iter().zip(1..).map(|(sent, number)| Frame {
            time: START + sent.at + sent.ahead,
            number,
            link: LinkType(sent.link),
            wire_len: sent.wire_len,
            data: &sent.data,
        })
    }

    /// Name of the capture in the folder: a classic pcap has one link type, a pcapng several.
    pub fn file_name(&self) -> &'static str {
        let same = self.frames.windows(2).all(|pair| pair[0].link == pair[1].link);
        if same { "in.pcap" } else { "in.pcapng" }
    }

    /// The capture as a file.
    ///
    /// # Errors
    ///
    /// A frame cannot be stored in a capture.
    pub fn capture(&self) -> io::Result<Vec<u8>> {
        let links: Vec<LinkType> = self.frames.iter().map(|sent| LinkType(sent.link)).collect();
        let mut writer = Writer::new(Vec::new(), &links)?;
        self.frames().try_for_each(|frame| writer.write(&frame))?;
        writer.finish()
    }

    /// The differences between the records and the expected ones; empty if there are none.
    pub fn disagreements(&self, records: &Records) -> Vec<String> {
        self.want.disagreements(records)
    }
}

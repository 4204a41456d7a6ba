//! The golden cases as stories: captures made from what somebody did, with the answers worked out by hand.
//!
//! Not here: running them; `tests/golden.rs` does. The one invariant: a story gives the same bytes every
//! time, and every byte of it was made by this code.
//!
//! | module | holds |
//! |---|---|
//! | [`packet`] | headers from Ethernet to UDP, TCP and ICMP, tunnels, fragments |
//! | [`wire`] | frames with their times |
//! | [`sip`], [`rtp`] | dialogs and their messages, streams and their packets |
//! | [`want`] | what the records must say |
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

/// When every story begins: 2026-01-05 08:00:00 UTC.
pub const START: Nanos = Nanos::from_secs(1_767_600_000);

/// A moment of a story in milliseconds after [`START`], as records tell it.
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

/// One case: its capture, its configuration and what the records must say.
pub struct Story {
    /// Name of its folder.
    pub name: &'static str,
    /// `config.toml`.
    pub config: &'static str,
    frames: Vec<Sent>,
    want: Want,
}

impl Story {
    /// A story of what passed on the wire. Of each kind of record it wants none until told otherwise.
    pub fn new(name: &'static str, wire: Wire) -> Self {
        Self { name, config: "", frames: wire.into_frames(), want: Want::default() }
    }

    /// With keys of the engine's configuration, as TOML.
    #[must_use]
    pub fn config(mut self, config: &'static str) -> Self {
        self.config = config;
        self
    }

    /// Exactly these calls in order of their first INVITE; each names the fields that matter.
    #[must_use]
    pub fn calls<const N: usize>(mut self, calls: [Value; N]) -> Self {
        self.want.calls = calls.into();
        self
    }

    /// Exactly these streams in order of their first packet.
    #[must_use]
    pub fn streams<const N: usize>(mut self, streams: [Value; N]) -> Self {
        self.want.streams = streams.into();
        self
    }

    /// Exactly these registrations in order of their first REGISTER.
    #[must_use]
    pub fn registrations<const N: usize>(mut self, registrations: [Value; N]) -> Self {
        self.want.registrations = registrations.into();
        self
    }

    /// Exactly these MESSAGE records in order of time.
    #[must_use]
    pub fn messages<const N: usize>(mut self, messages: [Value; N]) -> Self {
        self.want.messages = messages.into();
        self
    }

    /// A counter of the engine, by its name in the summary, has this value.
    #[must_use]
    pub fn counter(mut self, name: &'static str, value: u64) -> Self {
        self.want.counters.push((name, value));
        self
    }

    /// The frames, as a source would give them.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.frames.iter().zip(1..).map(|(sent, number)| Frame {
            time: START + sent.at + sent.ahead,
            number,
            link: LinkType(sent.link),
            wire_len: sent.wire_len,
            data: &sent.data,
        })
    }

    /// Name of the capture in the folder: classic pcap holds one link type, pcapng several.
    pub fn file_name(&self) -> &'static str {
        let same = self.frames.windows(2).all(|pair| pair[0].link == pair[1].link);
        if same { "in.pcap" } else { "in.pcapng" }
    }

    /// The capture as a file.
    ///
    /// # Errors
    ///
    /// What the writer says, of a frame that no capture may hold.
    pub fn capture(&self) -> io::Result<Vec<u8>> {
        let links: Vec<LinkType> = self.frames.iter().map(|sent| LinkType(sent.link)).collect();
        let mut writer = Writer::new(Vec::new(), &links)?;
        self.frames().try_for_each(|frame| writer.write(&frame))?;
        writer.finish()
    }

    /// Where records and wants disagree; empty where they agree.
    pub fn disagreements(&self, records: &Records) -> Vec<String> {
        self.want.disagreements(records)
    }
}

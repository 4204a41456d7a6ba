//! One worker's share of a source, whatever the source is.

use std::path::PathBuf;
use std::time::Duration;

use ringtap_model::{Frame, LinkType};

use super::counters::{TapCounters, Timestamps};
use super::error::Error;
use super::packet::{self, PacketTap};
use super::replay::{self, Pace, ReplayTap};
use super::settings::{Settings, Source};
use super::xdp::{self, XdpTap};

/// Opens the interface, one tap per worker. Every packet that arrives after this returns is captured.
///
/// # Errors
///
/// No such interface, no permission, an invalid setting or filter, a ring that is too large: each message
/// names the remedy.
pub fn open(settings: &Settings) -> Result<Vec<Tap>, Error> {
    settings.check()?;
    Ok(match settings.source {
        Source::Packet => {
            packet::open(settings)?.into_iter().map(|packet| Tap(Backend::Packet(Box::new(packet)))).collect()
        }
        Source::Xdp { mode } => {
            xdp::open(settings, mode)?.into_iter().map(|xdp| Tap(Backend::Xdp(Box::new(xdp)))).collect()
        }
    })
}

/// Replays capture files, merged in order of time, to several workers: every frame goes to one of them,
/// chosen by its source as in a live fan-out ([`Fanout::Source`](super::Fanout::Source)).
///
/// Frames keep their times and their numbers over all files. The clock starts with the first call of
/// [`Tap::batch`] of any worker. [`Tap::ended`] is true at the end; [`Tap::warnings`] then lists damaged
/// files.
///
/// # Errors
///
/// A file cannot be opened, or filter, pace or number of workers is invalid.
pub fn replay(
    files: &[PathBuf],
    pace: Pace,
    workers: usize,
    filter: Option<&str>,
) -> Result<Vec<Tap>, Error> {
    let taps = replay::open(files, pace, workers, filter)?;
    Ok(taps.into_iter().map(|replay| Tap(Backend::Replay(Box::new(replay)))).collect())
}

/// One worker's share of a source.
#[derive(Debug)]
pub struct Tap(Backend);

#[derive(Debug)]
enum Backend {
    Packet(Box<PacketTap>),
    Xdp(Box<XdpTap>),
    Replay(Box<ReplayTap>),
}

impl Tap {
    /// Waits up to `wait` for packets, passes those that are ready (one block with AF_PACKET) to `take` in
    /// slices of up to [`BATCH`](super::BATCH), and releases their memory to the ring. Returns their number:
    /// 0 after the timeout or a signal.
    ///
    /// [`Frame::number`] increases within each tap and is unique over the taps of a source.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] if the interface was removed. One that is down gives nothing until it is up again
    /// ([`TapCounters::downs`]).
    #[inline]
    pub fn batch(&mut self, wait: Duration, take: impl FnMut(&[Frame<'_>])) -> Result<usize, Error> {
        match &mut self.0 {
            Backend::Packet(packet) => packet.batch(wait, take),
            Backend::Xdp(xdp) => xdp.batch(wait, take),
            Backend::Replay(replay) => replay.batch(wait, take),
        }
    }

    /// Running totals. Costs one or two system calls: call it a few times a second, not per packet.
    pub fn counters(&mut self) -> TapCounters {
        match &mut self.0 {
            Backend::Packet(packet) => packet.counters(),
            Backend::Xdp(xdp) => xdp.counters(),
            Backend::Replay(replay) => replay.counters(),
        }
    }

    /// The source of the frames' timestamps.
    pub fn timestamps(&self) -> Timestamps {
        match &self.0 {
            Backend::Packet(packet) => packet.timestamps(),
            Backend::Xdp(xdp) => xdp.timestamps(),
            Backend::Replay(_) => Timestamps::File,
        }
    }

    /// The link type; for files, that of the first frame. Each frame has its own.
    pub fn link(&self) -> LinkType {
        match &self.0 {
            Backend::Packet(packet) => packet.interface.link,
            Backend::Xdp(xdp) => xdp.interface.link,
            Backend::Replay(replay) => replay.link,
        }
    }

    /// Requests that could not be met and do no harm, one sentence each: for the log.
    pub fn warnings(&self) -> &[String] {
        match &self.0 {
            Backend::Packet(packet) => packet.warnings(),
            Backend::Xdp(xdp) => xdp.warnings(),
            Backend::Replay(replay) => replay.warnings(),
        }
    }

    /// Whether no more frames will come: all files were replayed. Never true for an interface.
    pub fn ended(&self) -> bool {
        match &self.0 {
            Backend::Packet(_) | Backend::Xdp(_) => false,
            Backend::Replay(replay) => replay.ended,
        }
    }
}

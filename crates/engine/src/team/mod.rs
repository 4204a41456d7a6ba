//! Several workers that share nothing: who owns what, and what they send each other.
//!
//! Signalling belongs to the worker that the hash of its Call-ID names; media belongs to the worker that
//! captured the packets. Each worker keeps a replica of every call that announced media, made by the same
//! updates in the same order, so it knows a stream's call without asking.
//! `docs/decisions/005-many-workers.md` gives the reasons and the cost.

mod assignment;
mod held_datagrams;
mod links;
mod lockstep;
mod member;

pub use assignment::{Assigner, Assignment, FrameList};
pub use lockstep::{BatchCutter, BatchKind, ClockTick, Stage, Stages, batch, close};

pub(crate) use assignment::of_packet;
pub(crate) use held_datagrams::HeldDatagram;
pub(crate) use links::{
    ForwardedSip, Links, ReassembledDatagram, SharedDatagram, TunnelFragment, WorkerMessage,
};
pub(crate) use member::Member;

use crate::config::Config;

/// Workers that one team may have.
pub const MAX_WORKERS: usize = 64;

/// The configuration of one of `workers` workers: its share of the ceilings and an eighth more, since hashes
/// do not divide evenly.
pub(crate) fn share_of_ceilings(config: &Config, workers: usize) -> Config {
    let share = |ceiling: usize| match workers {
        1 => ceiling,
        _ => ceiling.div_ceil(workers) + ceiling / (8 * workers),
    };
    Config {
        max_calls: share(config.max_calls),
        max_streams: share(config.max_streams),
        max_registrations: share(config.max_registrations),
        max_messages: share(config.max_messages),
        max_fragmented: share(config.max_fragmented),
        max_connections: share(config.max_connections),
        memory: config.memory / workers,
        ..config.clone()
    }
}

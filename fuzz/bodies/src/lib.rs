//! The bodies of the fuzz targets: each accepts any bytes, and panics if the code under test panics or breaks
//! a promise.
//!
//! Not here: the fuzzer. The targets in `fuzz/fuzz_targets` call these bodies in three lines each; the test
//! `corpora` runs the same bodies over all stored inputs, without a fuzzer.
//!
//! The one invariant: a body depends on its bytes only. It uses no clock, no randomness and no state of an
//! earlier call, apart from the times in the seals of the spool that it changes.
//!
//! ```
//! ringtap_fuzz_bodies::sip(b"OPTIONS sip:192.0.2.1 SIP/2.0\r\nCall-ID: 1\r\n\r\n");
//! ```
//!
//! | body | checks |
//! |---|---|
//! | [`frame`] | no frame of any link type causes a panic; returned data lie within the frame |
//! | [`media`] | RTP, RTCP, STUN and TURN: lengths add up, each byte is returned once |
//! | [`hep`] | the stated length suffices, and is the same in a stream |
//! | [`handover`] | what a mediation function sends is read or refused, and what is read is written and read
//! again |
//! | [`dhcp`] | what is read is no longer than what is there |
//! | [`pppoe`] | what is read is no longer than what is there; a frame that is read is one of control |
//! | [`radius`] | values lie in the packet, one behind the other; what follows the packet changes nothing |
//! | [`sip`] | every accessor; a copied or anonymised message is still that message |
//! | [`stream`] | a stream cut anywhere gives the same messages |
//! | [`sdp`] | every accessor; ports, types and clocks within their ranges |
//! | [`websocket`] | headers and handshakes cut anywhere |
//! | [`capture`] | pcap, pcapng, ERF, gzip, zstd: frames numbered, offsets within the file |
//! | [`audio`] | any packets of any codec, by any rules: no longer than a day, as many samples as announced |
//! | [`anonymise`] | no header of a party keeps a name; media keep their lengths |
//! | [`spool`] | a changed segment, index or list of keys: packets of sound chunks alone |
//! | [`seals`], [`chain`], [`deletions`] | a changed file of a signed spool is found; no packet is new |
//! | [`far`] | changed stubs, and far storage that lies |
//! | [`network`] | questions and answers between the daemon's processes that lie |
//! | [`journal`], [`outbox`] | what was recovered is recovered again; an outbox is emptied |
//! | [`compact`] | a stored record is read or refused, and what is read is written and read again |
//! | [`configuration`] | accepted, or refused by name |
//! | [`control`] | a request written again is the same |
//! | [`search`] | what is read prints as a text that is read as the same |
//! | [`target`] | a target is printed as it is read, and is found by its own name |
//! | [`acts`] | a line of a register is read or refused; a changed one has another hash |
//! | [`x1`] | a request is read or refused within bounds, and what is printed is read as the same |
//! | [`engine`] | deep state with tiny tables: the same records for every batch size, and consistent sums |
#![forbid(unsafe_code)]

mod anonymise;
mod audio;
mod capture;
mod choices;
mod dhcp;
mod engine;
mod frame;
mod handover;
mod hep;
mod media;
mod network;
mod pppoe;
mod radius;
mod records;
mod scratch;
mod sdp;
mod search;
mod settings;
mod sip;
mod spool;
mod warrant;
mod websocket;
mod x1;

pub use anonymise::anonymise;
pub use audio::audio;
pub use capture::capture;
pub use dhcp::dhcp;
pub use engine::{engine, engine_counters};
pub use frame::frame;
pub use handover::handover;
pub use hep::hep;
pub use media::media;
pub use network::network;
pub use pppoe::pppoe;
pub use radius::radius;
pub use records::{compact, journal, outbox};
pub use sdp::sdp;
pub use search::search;
pub use settings::{configuration, control};
pub use sip::{sip, stream};
pub use spool::{chain, deletions, far, seals, spool};
pub use warrant::{acts, target};
pub use websocket::websocket;
pub use x1::x1;

/// A body and the name of its target and of its input folders.
pub type Body = (&'static str, fn(&[u8]));

/// All bodies.
pub const BODIES: [Body; 30] = [
    ("frame", frame),
    ("media", media),
    ("hep", hep),
    ("handover", handover),
    ("radius", radius),
    ("dhcp", dhcp),
    ("pppoe", pppoe),
    ("sip", sip),
    ("stream", stream),
    ("sdp", sdp),
    ("websocket", websocket),
    ("capture", capture),
    ("audio", audio),
    ("engine", engine),
    ("anonymise", anonymise),
    ("spool", spool),
    ("seals", seals),
    ("chain", chain),
    ("deletions", deletions),
    ("far", far),
    ("network", network),
    ("journal", journal),
    ("outbox", outbox),
    ("compact", compact),
    ("configuration", configuration),
    ("control", control),
    ("search", search),
    ("target", target),
    ("acts", acts),
    ("x1", x1),
];

//! Bodies of the fuzz targets: each takes any bytes and panics where the code under it, or a promise of it,
//! breaks.
//!
//! Not here: the fuzzer. The targets in `fuzz/fuzz_targets` are three lines each over these; the test
//! `corpora` runs the same bodies over all inputs that are kept, without a fuzzer.
//!
//! The one invariant: a body is a function of its bytes. No clock, no randomness, no state from one call to
//! the next.
//!
//! ```
//! ringtap_fuzz_bodies::sip(b"OPTIONS sip:192.0.2.1 SIP/2.0\r\nCall-ID: 1\r\n\r\n");
//! ```
//!
//! | body | promises it checks |
//! |---|---|
//! | [`frame`] | no frame of any link type panics; what is given lies within the frame |
//! | [`media`] | RTP, RTCP, STUN and TURN: lengths add up, each byte is given once |
//! | [`hep`] | a length that is given is enough, and the same for the stream |
//! | [`sip`] | every accessor; copies of a message say the same; without its names it is a message still |
//! | [`stream`] | a stream cut anywhere gives the same messages |
//! | [`sdp`] | every accessor; ports, types and clocks within their ranges |
//! | [`websocket`] | headers and handshakes cut anywhere |
//! | [`capture`] | pcap, pcapng, ERF, gzip, zstd: frames numbered, offsets within the file |
//! | [`audio`] | any packets of any codec, by any rules: no longer than a day, as many samples as announced |
//! | [`engine`] | deep state with tiny tables: the same records for every batch size, sums that agree |
#![forbid(unsafe_code)]

mod audio;
mod capture;
mod choices;
mod engine;
mod frame;
mod hep;
mod media;
mod sdp;
mod sip;
mod websocket;

pub use audio::audio;
pub use capture::capture;
pub use engine::{engine, engine_counters};
pub use frame::frame;
pub use hep::hep;
pub use media::media;
pub use sdp::sdp;
pub use sip::{sip, stream};
pub use websocket::websocket;

/// A body and the name of its target, which is also that of its folders of inputs.
pub type Body = (&'static str, fn(&[u8]));

/// Every body.
pub const BODIES: [Body; 10] = [
    ("frame", frame),
    ("media", media),
    ("hep", hep),
    ("sip", sip),
    ("stream", stream),
    ("sdp", sdp),
    ("websocket", websocket),
    ("capture", capture),
    ("audio", audio),
    ("engine", engine),
];

//! The table of codecs. For each name and clock, the usual mode comes first.

use ringtap_model::Hz;

use super::profile::{Basis, CodecProfile, Concealment};
use crate::rating::Model;

const KHZ_8: &[Hz] = &[Hz(8_000)];
const KHZ_16: &[Hz] = &[Hz(16_000)];
/// RFC 3551 section 4.5.2: G.722 samples at 16 kHz but is announced with a clock of 8000.
const G722: &[Hz] = &[Hz(8_000), Hz(16_000)];

const I3: &str = "G.113 (11/2007) table I.3";
const I1_WAVEFORM: &str = "Ie: G.113 table I.1; Bpl: none published, G.711 without concealment instead";
const I1_MODEL: &str =
    "Ie: G.113 table I.1; Bpl: none published, GSM-EFR instead (the lowest of any codec with concealment)";
const IV_LOWEST: &str = "Ie,WB: G.113 table IV.1; Bpl,WB: none published, the lowest in table IV.4 instead";
/// Appendices III and IV of G.722 conceal loss as appendix I of G.711 does: by repeated pitch periods.
const IV_G722: &str =
    "Ie,WB: G.113 table IV.1; Bpl,WB: none published, G.711 with concealment (table I.3) instead";
const IV: &str = "Ie,WB: G.113 table IV.1 (handset); Bpl,WB: table IV.4, measured with headphones";
const IV_NEAR: &str =
    "Ie,WB: G.113 table IV.1 (handset); Bpl,WB: none for this mode, 12.65 kbit/s in table IV.4 instead";
const V: &str = "G.113 appendix V, EVS in super-wideband mode (erratum 1 of 01/2026)";

/// Algorithmic delay: frame and lookahead, in ms.
type Delay = (f64, f64);

const fn row(
    (name, clocks, kbps): (&'static str, &'static [Hz], f64),
    model: Model,
    (ie, bpl): (f64, f64),
    (frame_ms, lookahead_ms): Delay,
    (basis, source): (Basis, &'static str),
) -> CodecProfile {
    let concealment = Concealment::Codec;
    CodecProfile { name, clocks, kbps, model, ie, bpl, frame_ms, lookahead_ms, concealment, basis, source }
}

/// A codec that leaves concealment to the receiver, who is taken to conceal.
const fn by_receiver(profile: CodecProfile) -> CodecProfile {
    CodecProfile { concealment: Concealment::Receiver, ..profile }
}

/// The same with a receiver that plays silence instead of what is missing.
const fn unconcealed((bpl, source): (f64, &'static str), profile: CodecProfile) -> CodecProfile {
    CodecProfile { concealment: Concealment::Missing, bpl, source, ..profile }
}

const fn l16(
    (clocks, kbps): (&'static [Hz], f64),
    model: Model,
    frame_ms: f64,
    source: &'static str,
) -> CodecProfile {
    by_receiver(row(("L16", clocks, kbps), model, (0.0, 25.1), (frame_ms, 0.0), (Basis::Derived, source)))
}

const fn g722(kbps: f64, ie: f64) -> CodecProfile {
    // The QMF filter banks add 3 ms in total, half of it in the coder.
    let from = (Basis::Derived, IV_G722);
    by_receiver(row(("G722", G722, kbps), Model::Wideband, (ie, 25.1), (0.125, 1.5), from))
}

const fn nb(
    id: (&'static str, f64),
    factors: (f64, f64),
    delay: Delay,
    from: (Basis, &'static str),
) -> CodecProfile {
    row((id.0, KHZ_8, id.1), Model::Narrowband, factors, delay, from)
}

const fn g726(name: &'static str, kbps: f64, ie: f64) -> CodecProfile {
    let profile = nb((name, kbps), (ie, 4.3), (0.125, 0.0), (Basis::Derived, I1_WAVEFORM));
    CodecProfile { concealment: Concealment::Missing, ..profile }
}

const fn amr_wb(kbps: f64, ie: f64, bpl: f64, from: &'static str) -> CodecProfile {
    // TS 26.190: frames of 20 ms, 5 ms lookahead, 0.9375 ms of filters.
    row(("AMR-WB", KHZ_16, kbps), Model::Wideband, (ie, bpl), (20.0, 5.9375), (Basis::Derived, from))
}

const fn evs(kbps: f64, ie: f64, bpl: f64) -> CodecProfile {
    // TS 26.445: the algorithmic delay is 32 ms in total.
    row(("EVS", KHZ_16, kbps), Model::Fullband, (ie, bpl), (20.0, 12.0), (Basis::Published, V))
}

const fn opus(
    clocks: &'static [Hz],
    model: Model,
    kbps: f64,
    ie: f64,
    bpl: f64,
    from: &'static str,
) -> CodecProfile {
    // RFC 6716 section 2: 20 ms frames, 6.5 ms lookahead and resampling.
    row(("opus", clocks, kbps), model, (ie, bpl), (20.0, 6.5), (Basis::StandIn, from))
}

// Statics: a constant has no address of its own, and profiles are told apart by theirs.
pub(super) static PROFILES: &[CodecProfile] = &[
    // The 3.75 ms that G.711 appendix I adds are not counted: not every receiver conceals by that method.
    by_receiver(nb(("PCMU", 64.0), (0.0, 25.1), (0.125, 0.0), (Basis::Published, I3))),
    by_receiver(nb(("PCMA", 64.0), (0.0, 25.1), (0.125, 0.0), (Basis::Published, I3))),
    // SDP does not distinguish annex A from the full coder; deployed coders use annex A with annex B.
    nb(("G729", 8.0), (11.0, 19.0), (10.0, 5.0), (Basis::Published, I3)),
    nb(("G723", 6.3), (15.0, 16.1), (30.0, 7.5), (Basis::Published, I3)),
    nb(
        ("G723", 5.3),
        (19.0, 16.1),
        (30.0, 7.5),
        (Basis::Derived, "Ie: G.113 table I.1; Bpl: none published, 6.3 kbit/s instead"),
    ),
    nb(("GSM", 13.0), (20.0, 10.0), (20.0, 0.0), (Basis::Derived, I1_MODEL)),
    nb(("GSM-EFR", 12.2), (5.0, 10.0), (20.0, 0.0), (Basis::Published, I3)),
    nb(("GSM-HR-08", 5.6), (23.0, 10.0), (20.0, 4.4), (Basis::Derived, I1_MODEL)),
    // Concealment is the receiver's affair for G.726 too, but G.113 has no value with it: none is assumed.
    g726("G726-40", 40.0, 2.0),
    g726("G726-32", 32.0, 7.0),
    g726("G726-24", 24.0, 25.0),
    g726("G726-16", 16.0, 50.0),
    nb(("G728", 16.0), (7.0, 10.0), (0.625, 0.0), (Basis::Derived, I1_MODEL)),
    // RFC 3952 section 4.1: 30 ms unless the SDP says otherwise.
    nb(("iLBC", 13.33), (11.0, 19.0), (30.0, 10.0), (Basis::StandIn, ILBC)),
    nb(("iLBC", 15.2), (11.0, 19.0), (20.0, 5.0), (Basis::StandIn, ILBC)),
    nb(("AMR", 12.2), (5.0, 10.0), (20.0, 5.0), (Basis::Derived, AMR_12_2)),
    nb(("AMR", 10.2), (5.0, 10.0), (20.0, 5.0), (Basis::StandIn, AMR_BETWEEN)),
    nb(("AMR", 7.95), (10.0, 10.0), (20.0, 5.0), (Basis::StandIn, AMR_BETWEEN)),
    nb(("AMR", 7.4), (10.0, 10.0), (20.0, 5.0), (Basis::Derived, AMR_7_4)),
    nb(("AMR", 6.7), (19.0, 10.0), (20.0, 5.0), (Basis::StandIn, AMR_LOW)),
    nb(("AMR", 5.9), (19.0, 10.0), (20.0, 5.0), (Basis::StandIn, AMR_LOW)),
    nb(("AMR", 5.15), (19.0, 10.0), (20.0, 5.0), (Basis::StandIn, AMR_LOW)),
    nb(("AMR", 4.75), (19.0, 10.0), (20.0, 5.0), (Basis::StandIn, AMR_LOW)),
    l16((KHZ_8, 128.0), Model::Narrowband, 0.125, L16_NB),
    l16((KHZ_16, 256.0), Model::Wideband, 0.0625, L16_WB),
    l16((&[Hz(48_000)], 768.0), Model::Fullband, 0.0208, L16_FB),
    g722(64.0, 13.0),
    g722(56.0, 20.0),
    g722(48.0, 31.0),
    row(("G7221", KHZ_16, 32.0), Model::Wideband, (13.0, 4.3), (20.0, 20.0), (Basis::Derived, IV_LOWEST)),
    row(("G7221", KHZ_16, 24.0), Model::Wideband, (19.0, 4.3), (20.0, 20.0), (Basis::Derived, IV_LOWEST)),
    // G.113 indeed rates 23.85 kbit/s below 23.05.
    amr_wb(12.65, 13.0, 4.3, IV),
    amr_wb(6.6, 41.0, 4.3, IV_NEAR),
    amr_wb(8.85, 26.0, 4.3, IV_NEAR),
    amr_wb(14.25, 10.0, 4.3, IV_NEAR),
    amr_wb(15.85, 7.0, 4.3, IV_NEAR),
    amr_wb(18.25, 5.0, 4.3, IV_NEAR),
    amr_wb(19.85, 3.0, 4.3, IV_NEAR),
    amr_wb(23.05, 1.0, 4.6, IV),
    amr_wb(23.85, 8.0, 4.9, IV),
    evs(13.2, 17.1, 11.7),
    evs(9.6, 22.7, 13.0),
    evs(16.4, 10.8, 10.3),
    evs(24.4, 7.2, 11.4),
    evs(32.0, 8.7, 9.3),
    evs(48.0, 10.2, 9.6),
    opus(&[Hz(48_000)], Model::Fullband, 32.0, 8.7, 9.3, OPUS_FB),
    opus(&[Hz(24_000)], Model::Fullband, 24.0, 7.2, 11.4, OPUS_SWB),
    opus(KHZ_16, Model::Wideband, 20.0, 8.0, 4.9, OPUS_WB),
    opus(KHZ_8, Model::Narrowband, 12.0, 5.0, 10.0, OPUS_NB),
];

/// The rows of [`Concealment::Receiver`] once more, for receivers that do not conceal.
pub(super) static UNCONCEALED: &[CodecProfile] = &[
    unconcealed((4.3, I3), nb(("PCMU", 64.0), (0.0, 4.3), (0.125, 0.0), (Basis::Published, I3))),
    unconcealed((4.3, I3), nb(("PCMA", 64.0), (0.0, 4.3), (0.125, 0.0), (Basis::Published, I3))),
    unconcealed((4.3, L16_NONE), l16((KHZ_8, 128.0), Model::Narrowband, 0.125, L16_NB)),
    unconcealed((4.3, L16_NONE), l16((KHZ_16, 256.0), Model::Wideband, 0.0625, L16_WB)),
    unconcealed((4.3, L16_NONE), l16((&[Hz(48_000)], 768.0), Model::Fullband, 0.0208, L16_FB)),
    unconcealed((4.3, IV_LOWEST), g722(64.0, 13.0)),
    unconcealed((4.3, IV_LOWEST), g722(56.0, 20.0)),
    unconcealed((4.3, IV_LOWEST), g722(48.0, 31.0)),
];

const L16_NONE: &str = "uncoded: Ie is 0 by definition; Bpl: G.711 without concealment";
const ILBC: &str = "none published: G.729A (G.113 (11/2007) table I.3), which iLBC was designed to match";
const AMR_12_2: &str = "this mode is GSM-EFR (TS 26.071 section 4): G.113 (11/2007) table I.3";
const AMR_7_4: &str = "this mode is IS-641 (TS 26.071 section 4): Ie: G.113 table I.1; Bpl: GSM-EFR";
const AMR_BETWEEN: &str = "none published: the nearest AMR mode that has values";
const AMR_LOW: &str = "none published: Ie: G.723.1 at 5.3 kbit/s (G.113 table I.1); Bpl: GSM-EFR";
const L16_NB: &str = "uncoded: Ie is 0 by definition; Bpl: G.711 with concealment";
const L16_WB: &str = "uncoded: the reference of the wideband scale; Bpl,WB: G.711 with concealment";
const L16_FB: &str = "uncoded: the reference of the fullband scale; Bpl,FB: G.711 with concealment";
const OPUS_FB: &str =
    "none published for Opus: EVS at 32 kbit/s (G.113 appendix V), its usual rate in WebRTC";
const OPUS_SWB: &str = "none published for Opus: EVS at 24.4 kbit/s (G.113 appendix V)";
const OPUS_WB: &str = "none published for Opus: AMR-WB at 23.85 kbit/s (G.113 tables IV.1 and IV.4)";
const OPUS_NB: &str = "none published for Opus: GSM-EFR (G.113 (11/2007) table I.3)";

//! The effect of a codec on speech: impairment factor, robustness to loss, delay.
//!
//! The table is that of ITU-T G.113: appendices IV and V of 09/2024, appendix I with the Bpl of its 11/2007
//! edition. ITU-T calls them provisional planning values: they are for planning networks, not for measuring a
//! call. If G.113 has no value, the row names the substitute ([`Basis`] and `source`); a codec without a
//! defensible value is not in the table and has no MOS (Speex, iSAC, SILK, BroadVoice, video).
//!
//! G.711, G.722 and L16 leave it to the receiver to conceal loss. Nearly every telephone and gateway does, so
//! the table has their factors with concealment; [`CodecProfile::without_concealment`] gives the others.

mod profile;
mod table;

use ringtap_model::Hz;

pub use profile::{Basis, CodecProfile, Concealment};

/// The codec of that SDP name (letter case does not matter, common spellings are known) in its usual mode.
///
/// Without a clock, any row of that name matches. `None`: no model (video, comfort noise, events, unknown
/// names).
pub fn lookup(name: &str, clock: Option<Hz>) -> Option<&'static CodecProfile> {
    modes(name, clock).next()
}

/// The mode of that codec nearest to `kbps`, payload bits over the time that the packets carry.
///
/// Silence suppression lowers a measured rate: use only packets of speech. NaN gives the usual mode.
pub fn lookup_rate(name: &str, clock: Option<Hz>, kbps: f64) -> Option<&'static CodecProfile> {
    if kbps.is_nan() {
        return lookup(name, clock);
    }
    let off = |profile: &CodecProfile| (profile.kbps - kbps).abs();
    modes(name, clock).min_by(|one, other| off(one).total_cmp(&off(other)))
}

/// All modes of a codec, the usual one first.
pub fn modes(name: &str, clock: Option<Hz>) -> impl Iterator<Item = &'static CodecProfile> {
    let name = canonical(name);
    let named = move |profile: &&CodecProfile| profile.name.eq_ignore_ascii_case(name);
    let clocked = move |profile: &&CodecProfile| clock.is_none_or(|clock| profile.clocks.contains(&clock));
    table::PROFILES.iter().filter(named).filter(clocked)
}

/// The whole table.
pub fn all() -> &'static [CodecProfile] {
    table::PROFILES
}

impl CodecProfile {
    /// The same mode at a receiver that does not conceal loss. It differs only where concealment is left to
    /// the receiver: G.711, G.722, L16.
    pub fn without_concealment(&'static self) -> &'static Self {
        let same =
            |other: &&Self| other.name == self.name && other.clocks == self.clocks && other.kbps == self.kbps;
        table::UNCONCEALED.iter().find(same).unwrap_or(self)
    }
}

/// Spellings seen in the field for the names that RFC 3551 and its successors register.
fn canonical(name: &str) -> &str {
    const SPELLINGS: [(&str, &str); 26] = [
        ("PCMU+PLC", "PCMU"),
        ("PCMA+PLC", "PCMA"),
        ("G711U", "PCMU"),
        ("G711A", "PCMA"),
        ("G.711U", "PCMU"),
        ("G.711A", "PCMA"),
        ("G729A", "G729"),
        ("G729B", "G729"),
        ("G729AB", "G729"),
        ("G.729", "G729"),
        ("G.729A", "G729"),
        ("G723.1", "G723"),
        ("G7231", "G723"),
        ("G.723.1", "G723"),
        ("G721", "G726-32"),
        ("AAL2-G726-16", "G726-16"),
        ("AAL2-G726-24", "G726-24"),
        ("AAL2-G726-32", "G726-32"),
        ("AAL2-G726-40", "G726-40"),
        ("G.728", "G728"),
        ("G.722", "G722"),
        ("G722.1", "G7221"),
        ("G.722.1", "G7221"),
        ("G722.2", "AMR-WB"),
        ("AMR-NB", "AMR"),
        ("GSM-FR", "GSM"),
    ];
    let found = SPELLINGS.iter().find(|(spelling, _)| spelling.eq_ignore_ascii_case(name));
    found.map_or(name, |&(_, registered)| registered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rating::Model;

    #[test]
    fn by_name_and_clock() {
        let of = |name: &str, clock: u32| lookup(name, Some(Hz(clock)));
        assert_eq!(of("pcmu", 8000).map(|p| (p.ie, p.bpl)), Some((0.0, 25.1)));
        assert_eq!(of("PCMA+PLC", 8000).map(|p| (p.ie, p.bpl)), Some((0.0, 25.1)));
        assert_eq!(of("g729a", 8000).map(|p| (p.ie, p.bpl)), Some((11.0, 19.0)));
        assert_eq!(of("Opus", 48000).map(|p| p.model), Some(Model::Fullband));
        assert_eq!(of("opus", 16000).map(|p| p.model), Some(Model::Wideband));
        assert_eq!(of("L16", 44100), None);
        assert_eq!(of("PCMU", 16000), None);
        for name in ["H264", "telephone-event", "CN", "speex", "", "SILK"] {
            assert_eq!(lookup(name, None), None, "{name}");
        }
    }

    #[test]
    fn by_rate() {
        let ie = |name, kbps| lookup_rate(name, None, kbps).map(|p| p.ie);
        assert_eq!(ie("AMR-WB", 23.4), Some(1.0));
        assert_eq!(ie("AMR-WB", 24.3), Some(8.0));
        assert_eq!(ie("G723", 5.3), Some(19.0));
        assert_eq!(ie("EVS", 9.9), Some(22.7));
        assert_eq!(ie("EVS", f64::NAN), lookup("EVS", None).map(|p| p.ie));
        assert_eq!(ie("G722", f64::INFINITY), Some(13.0));
    }

    /// G.711 with and without concealment: G.113 (11/2007) table I.3. What the codec conceals itself, no
    /// receiver can leave out.
    #[test]
    fn concealment_is_the_receivers_affair_for_g711_g722_and_l16() {
        for (name, clock, concealed, plain) in [
            ("PCMU", 8_000, 25.1, 4.3),
            ("PCMA", 8_000, 25.1, 4.3),
            ("G722", 8_000, 25.1, 4.3),
            ("L16", 48_000, 25.1, 4.3),
            ("G729", 8_000, 19.0, 19.0),
            ("G726-32", 8_000, 4.3, 4.3),
        ] {
            let profile = lookup(name, Some(Hz(clock))).unwrap();
            let without = profile.without_concealment();
            assert_eq!((profile.bpl, without.bpl, without.ie), (concealed, plain, profile.ie), "{name}");
        }
        for p in all() {
            let without = p.without_concealment();
            assert_eq!(p.concealment == Concealment::Receiver, without != p, "{p:?}");
            assert_eq!(without.without_concealment(), without);
        }
    }

    #[test]
    fn every_row_is_usable() {
        for p in all() {
            assert!(p.ie >= 0.0 && p.bpl >= 4.3 && p.frame_ms > 0.0 && p.lookahead_ms >= 0.0, "{p:?}");
            assert!(!p.clocks.is_empty() && !p.source.is_empty(), "{p:?}");
            assert!(
                p.clocks.iter().all(|&clock| lookup_rate(p.name, Some(clock), p.kbps) == Some(p)),
                "{p:?}"
            );
        }
    }
}

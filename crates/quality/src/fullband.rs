//! The fullband E-model of ITU-T G.107.2 (03/2023): 20-20000 Hz, R from 0 to 148; super-wideband codecs
//! included.
//!
//! Codec, loss and absolute delay, as in [`wideband`](crate::wideband); noise, echo and sidetone keep the
//! values that give Ro,FB = 148 and Is,FB = 0.

use crate::bounded;
use crate::emodel::{BPL_MIN, BURST_MIN, absolute_delay, effective_equipment};
use crate::rating::{Model, Rating, Terms};

/// Input of the fullband model; [`Default`] has the default values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Ie,FB of the codec, G.113 appendix V.
    pub ie: f64,
    /// Bpl,FB of the codec, G.113 appendix V.
    pub bpl: f64,
    /// Packet-loss probability, percent.
    pub ppl: f64,
    /// Burst ratio; 1 for random loss.
    pub burst_r: f64,
    /// Absolute one-way delay, ms.
    pub ta: f64,
    /// Advantage factor.
    pub a: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { ie: 0.0, bpl: 4.3, ppl: 0.0, burst_r: 1.0, ta: 0.0, a: 0.0 }
    }
}

/// The rating of a fullband connection: G.107.2 equation 7-1.
///
/// Idd,FB is 1.48 times the narrowband Idd (section 7.4); Ie-eff,FB = Ie + (132 - Ie) Ppl / (Ppl / BurstR +
/// Bpl) (section 7.5).
pub fn rate(p: &Parameters) -> Rating {
    let ie_eff = effective_equipment(
        bounded(p.ie, 0.0, 0.0, IE_MAX),
        bounded(p.bpl, 4.3, BPL_MIN, 1e3),
        bounded(p.ppl, 0.0, 0.0, 100.0),
        bounded(p.burst_r, 1.0, BURST_MIN, 1e3),
        IE_MAX,
    );
    Rating::from(
        Model::Fullband,
        Terms {
            ro: Model::Fullband.r_max(),
            idd: 1.48 * absolute_delay(bounded(p.ta, 0.0, 0.0, 1e6), 1.0, 100.0),
            ie_eff,
            a: bounded(p.a, 0.0, -100.0, 100.0),
            ..Terms::default()
        },
    )
}

/// The 132 of section 7.5.
const IE_MAX: f64 = 132.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: EVS at 24.4 kbit/s without loss and with 3 %.
    #[test]
    fn anchors() {
        let clean = rate(&Parameters { ie: 7.2, bpl: 11.4, ..Parameters::default() });
        assert!((clean.r - 140.8).abs() < 1e-9);
        assert!((clean.mos_lq - 4.4436).abs() < 0.0001, "{}", clean.mos_lq);
        let lossy = rate(&Parameters { ie: 7.2, bpl: 11.4, ppl: 3.0, ta: 200.0, ..Parameters::default() });
        assert!((lossy.ie_eff - (7.2 + 124.8 * 3.0 / 14.4)).abs() < 1e-9);
        assert!((lossy.idd - 1.48 * 3.044).abs() < 0.001, "{}", lossy.idd);
        assert_eq!(rate(&Parameters::default()).mos_cq, 4.5);
    }
}

//! The wideband E-model of ITU-T G.107.1 (06/2019 with Corrigendum 1): 50-7000 Hz, R from 0 to 129.
//!
//! The model covers what a monitor can measure: codec, loss and absolute delay. Talker and listener echo
//! (Idte,WB and Idle,WB of section 7.4) are 0, the case of perfect echo control, because packets do
//! not reveal the echo path. Ro,WB is its default of 129, Is,WB is 0 (equation 7-3).

use crate::bounded;
use crate::emodel::{BPL_MIN, BURST_MIN, absolute_delay, effective_equipment};
use crate::rating::{Model, Rating, Terms};

/// Input of the wideband model; [`Default`] has the default values of G.107.1 section 7.7.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Ie,WB of the codec, G.113 appendix IV.
    pub ie: f64,
    /// Bpl,WB of the codec, G.113 table IV.4.
    pub bpl: f64,
    /// Packet-loss probability, percent.
    pub ppl: f64,
    /// Burst ratio. Equation 7-15 covers random loss only, which is 1; other values extend it as in
    /// G.107.
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

/// The rating of a wideband connection: G.107.1 equation 7-1.
pub fn rate(p: &Parameters) -> Rating {
    let ie_eff = effective_equipment(
        bounded(p.ie, 0.0, 0.0, IE_MAX),
        bounded(p.bpl, 4.3, BPL_MIN, 1e3),
        bounded(p.ppl, 0.0, 0.0, 100.0),
        bounded(p.burst_r, 1.0, BURST_MIN, 1e3),
        IE_MAX,
    );
    Rating::from(
        Model::Wideband,
        Terms {
            ro: Model::Wideband.r_max(),
            idd: absolute_delay(bounded(p.ta, 0.0, 0.0, 1e6), 1.0, 100.0),
            ie_eff,
            a: bounded(p.a, 0.0, -100.0, 100.0),
            ..Terms::default()
        },
    )
}

/// The 95 of equation 7-15, as in the narrowband model: it does not grow with the scale.
const IE_MAX: f64 = 95.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// Equations 7-1, 7-15 and A-1 by hand.
    #[test]
    fn anchors() {
        let mos = |ie| rate(&Parameters { ie, ..Parameters::default() }).mos_lq;
        assert_eq!(mos(0.0), 4.5);
        for (ie, expected) in [(1.0, 4.494), (8.0, 4.421), (13.0, 4.337), (41.0, 3.512)] {
            assert!((mos(ie) - expected).abs() < 0.001, "{ie}: {}", mos(ie));
        }
        let lossy = rate(&Parameters { ie: 20.0, ppl: 2.0, ..Parameters::default() });
        assert!((lossy.ie_eff - 43.8095).abs() < 1e-4);
        assert!((lossy.r - 85.1905).abs() < 1e-4);
        assert!((lossy.mos_lq - 3.406).abs() < 0.001);
    }
}

//! The simplified E-model of R. G. Cole and J. H. Rosenbluth, "Voice over IP performance monitoring", ACM
//! SIGCOMM Computer Communication Review 31(2), 2001.
//!
//! `R = 94.2 - Id(d) - Ie(codec, e)`. Many older systems compute their MOS with it. It is provided for
//! comparison with them and never replaces the full model. It has fits for G.711 and G.729A under random loss
//! only.

use crate::bounded;
use crate::codec::CodecProfile;
use crate::rating::{Model, mos_from_r};

/// The fit `Ie = g1 + g2 ln(1 + g3 e)`, with e the share of packets lost in the network or by the jitter
/// buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Impairment without loss.
    pub g1: f64,
    /// Factor of the logarithm.
    pub g2: f64,
    /// Factor of the loss.
    pub g3: f64,
}

/// G.711, random loss.
pub const G711: Fit = Fit { g1: 0.0, g2: 30.0, g3: 15.0 };
/// G.729A, random loss.
pub const G729A: Fit = Fit { g1: 11.0, g2: 40.0, g3: 10.0 };

/// The terms of a simplified rating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColeRating {
    /// Delay impairment.
    pub id: f64,
    /// Equipment impairment under loss.
    pub ie: f64,
    /// `94.2 - id - ie`.
    pub r: f64,
    /// MOS of `r` by G.107 equation B-4; conversational, as the model always counts delay.
    pub mos: f64,
}

/// The fit for a codec; `None` if the paper has none.
pub fn fit(codec: &CodecProfile) -> Option<Fit> {
    match codec.name {
        "PCMU" | "PCMA" => Some(G711),
        "G729" => Some(G729A),
        _ => None,
    }
}

/// Rates a connection by its one-way mouth-to-ear delay `delay` (ms) and its packet loss `loss` (0 to 1).
pub fn rate(fit: Fit, delay: f64, loss: f64) -> ColeRating {
    let delay = bounded(delay, 0.0, 0.0, 1e6);
    let loss = bounded(loss, 0.0, 0.0, 1.0);
    // 177.3 ms: above it conversation becomes half-duplex.
    let id = 0.024 * delay + 0.11 * (delay - 177.3).max(0.0);
    let ie = fit.g1 + fit.g2 * (fit.g3 * loss).ln_1p();
    let r = 94.2 - id - ie;
    ColeRating { id, ie, r, mos: mos_from_r(Model::Narrowband, r) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the paper's equation: G.729A, 100 ms, 1 %; G.711, 300 ms, 2 %.
    #[test]
    fn anchors() {
        let one = rate(G729A, 100.0, 0.01);
        assert!((one.r - (94.2 - 2.4 - 11.0 - 40.0 * 1.1_f64.ln())).abs() < 1e-12);
        assert!((one.r - 76.99).abs() < 0.01);
        let two = rate(G711, 300.0, 0.02);
        assert!((two.id - (7.2 + 0.11 * 122.7)).abs() < 1e-12);
        assert!((two.ie - 30.0 * 1.3_f64.ln()).abs() < 1e-12);
        assert!((rate(G711, 0.0, 0.0).mos - 4.42).abs() < 0.01);
        assert!(rate(G711, f64::NAN, f64::INFINITY).mos >= 1.0);
    }
}

//! The E-model of ITU-T G.107 (06/2015): narrowband telephony, R from 0 to 100.
//!
//! All equations of section 7 and all parameters of table 3. A monitor sees codec, loss and delay; the rest
//! (loudness, sidetone, echo, noise) stays at the defaults of a digital connection between good telephones.

use std::sync::LazyLock;

use crate::bounded;
use crate::rating::{Model, Rating, Terms, mos_from_r};

/// The parameters of G.107 table 3; [`Default`] holds its default values.
///
/// Any value may be set. NaN counts as the default; outliers are clamped far outside the permitted range, so
/// that every result is finite. [`Parameters::out_of_range`] names what lies outside table 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Send loudness rating, dB.
    pub slr: f64,
    /// Receive loudness rating, dB.
    pub rlr: f64,
    /// Sidetone masking rating, dB.
    pub stmr: f64,
    /// Listener sidetone rating, dB; table 3 relates it to the sidetone: LSTR = STMR + Dr.
    pub lstr: f64,
    /// D-value of the telephone, send side.
    pub ds: f64,
    /// D-value of the telephone, receive side.
    pub dr: f64,
    /// Talker echo loudness rating, dB.
    pub telr: f64,
    /// Weighted echo path loss, dB.
    pub wepl: f64,
    /// Mean one-way delay of the echo path, ms.
    pub t: f64,
    /// Round-trip delay in a four-wire loop, ms.
    pub tr: f64,
    /// Absolute delay in echo-free connections, ms.
    pub ta: f64,
    /// Quantization distortion units.
    pub qdu: f64,
    /// Equipment impairment factor of the codec.
    pub ie: f64,
    /// Packet-loss robustness factor of the codec.
    pub bpl: f64,
    /// Packet-loss probability, percent.
    pub ppl: f64,
    /// Burst ratio.
    pub burst_r: f64,
    /// Circuit noise at the 0 dBr point, dBm0p.
    pub nc: f64,
    /// Noise floor at the receive side, dBmp.
    pub nfor: f64,
    /// Room noise, send side, dB(A).
    pub ps: f64,
    /// Room noise, receive side, dB(A).
    pub pr: f64,
    /// Advantage factor.
    pub a: f64,
    /// Delay sensitivity sT of table 1; 1 is its default class, to be used for telephony.
    pub st: f64,
    /// Minimum perceivable delay mT of table 1, ms; 100 is its default class.
    pub mt: f64,
}

impl Parameters {
    /// Table 3.
    pub const DEFAULT: Self = Self {
        slr: 8.0,
        rlr: 2.0,
        stmr: 15.0,
        lstr: 18.0,
        ds: 3.0,
        dr: 3.0,
        telr: 65.0,
        wepl: 110.0,
        t: 0.0,
        tr: 0.0,
        ta: 0.0,
        qdu: 1.0,
        ie: 0.0,
        bpl: 4.3,
        ppl: 0.0,
        burst_r: 1.0,
        nc: -70.0,
        nfor: -64.0,
        ps: 35.0,
        pr: 35.0,
        a: 0.0,
        st: 1.0,
        mt: 100.0,
    };

    /// The parameters outside the range that table 3 permits. The model is not validated there.
    ///
    /// Table 3 has no range for Nfor. Its note that LSTR equals STMR + Dr is not checked here.
    pub fn out_of_range(&self) -> Vec<OutOfRange> {
        let ranges = [
            ("SLR", self.slr, 0.0, 18.0),
            ("RLR", self.rlr, -5.0, 14.0),
            ("STMR", self.stmr, 10.0, 20.0),
            ("LSTR", self.lstr, 13.0, 23.0),
            ("Ds", self.ds, -3.0, 3.0),
            ("Dr", self.dr, -3.0, 3.0),
            ("TELR", self.telr, 5.0, 65.0),
            ("WEPL", self.wepl, 5.0, 110.0),
            ("T", self.t, 0.0, 500.0),
            ("Tr", self.tr, 0.0, 1000.0),
            ("Ta", self.ta, 0.0, 500.0),
            ("qdu", self.qdu, 1.0, 14.0),
            ("Ie", self.ie, 0.0, 40.0),
            ("Bpl", self.bpl, 4.3, 40.0),
            ("Ppl", self.ppl, 0.0, 20.0),
            ("BurstR", self.burst_r, 1.0, 8.0),
            ("Nc", self.nc, -80.0, -40.0),
            ("Ps", self.ps, 35.0, 85.0),
            ("Pr", self.pr, 35.0, 85.0),
            ("A", self.a, 0.0, 20.0),
        ];
        ranges
            .into_iter()
            .filter(|&(_, value, min, max)| !(min..=max).contains(&value))
            .map(|(name, value, min, max)| OutOfRange { name, value, min, max })
            .collect()
    }

    /// The parameters clamped so that no equation overflows.
    fn bounded(&self) -> Self {
        let d = Self::DEFAULT;
        let level = |value, default| bounded(value, default, -200.0, 200.0);
        let span = |value, default| bounded(value, default, 0.0, 1e6);
        Self {
            slr: level(self.slr, d.slr),
            rlr: level(self.rlr, d.rlr),
            stmr: level(self.stmr, d.stmr),
            lstr: level(self.lstr, d.lstr),
            ds: level(self.ds, d.ds),
            dr: level(self.dr, d.dr),
            telr: level(self.telr, d.telr),
            // Rle is about -10.5 (WEPL + 7): a negative echo path loss would change its sign.
            wepl: bounded(self.wepl, d.wepl, 0.0, 200.0),
            t: span(self.t, d.t),
            tr: span(self.tr, d.tr),
            ta: span(self.ta, d.ta),
            qdu: bounded(self.qdu, d.qdu, 1e-3, 1e3),
            nc: level(self.nc, d.nc),
            nfor: level(self.nfor, d.nfor),
            ps: level(self.ps, d.ps),
            pr: level(self.pr, d.pr),
            a: bounded(self.a, d.a, -100.0, 100.0),
            st: bounded(self.st, d.st, 0.1, 10.0),
            mt: bounded(self.mt, d.mt, 1.0, 1e6),
            ..self.bounded_seen()
        }
    }

    /// The same of codec and loss alone.
    fn bounded_seen(&self) -> Self {
        let d = Self::DEFAULT;
        Self {
            ie: bounded(self.ie, d.ie, 0.0, IE_MAX),
            bpl: bounded(self.bpl, d.bpl, BPL_MIN, 1e3),
            ppl: bounded(self.ppl, d.ppl, 0.0, 100.0),
            burst_r: bounded(self.burst_r, d.burst_r, BURST_MIN, 1e3),
            ..*self
        }
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A parameter outside its range in G.107 table 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    /// Its symbol.
    pub name: &'static str,
    /// The given value.
    pub value: f64,
    /// Lowest permitted value.
    pub min: f64,
    /// Highest permitted value.
    pub max: f64,
}

/// The rating of a narrowband connection: G.107 equation 7-1, `R = Ro - Is - Id - Ie-eff + A`.
pub fn rate(parameters: &Parameters) -> Rating {
    let p = parameters.bounded();
    Rating::from(Model::Narrowband, seen(&p, telephones(&p)))
}

/// The rating of a connection between telephones at the defaults: what a monitor sees is all that differs.
/// The same values as [`rate`] gives, without recomputing the telephones' terms.
pub(crate) fn rate_seen(ie: f64, bpl: f64, ppl: f64, burst_r: f64, ta: f64) -> Rating {
    let Parameters { ta: none, st, mt, .. } = Parameters::DEFAULT;
    let terms = Terms {
        idd: absolute_delay(bounded(ta, none, 0.0, 1e6), st, mt),
        ie_eff: equipment_seen(ie, bpl, ppl, burst_r),
        ..*DEFAULT
    };
    Rating::from(Model::Narrowband, terms)
}

/// Listening quality alone.
pub(crate) fn listening_seen(ie: f64, bpl: f64, ppl: f64, burst_r: f64) -> f64 {
    let terms = Terms { ie_eff: equipment_seen(ie, bpl, ppl, burst_r), ..*DEFAULT };
    mos_from_r(Model::Narrowband, terms.r_lq())
}

static DEFAULT: LazyLock<Terms> = LazyLock::new(|| telephones(&Parameters::DEFAULT.bounded()));

fn equipment_seen(ie: f64, bpl: f64, ppl: f64, burst_r: f64) -> f64 {
    let d = Parameters::DEFAULT;
    let Parameters { ie, bpl, ppl, burst_r, .. } = Parameters { ie, bpl, ppl, burst_r, ..d }.bounded_seen();
    effective_equipment(ie, bpl, ppl, burst_r, IE_MAX)
}

/// The terms of loudness, noise, sidetone and echo.
fn telephones(p: &Parameters) -> Terms {
    let no = noise(p);
    let ro = 15.0 - 1.5 * (p.slr + no);
    let ist = sidetone(p);
    Terms {
        ro,
        iolr: loudness(p, no),
        ist,
        iq: quantizing(p, ro),
        idte: talker_echo(p, no, ist),
        idle: listener_echo(p, ro),
        idd: 0.0,
        ie_eff: 0.0,
        a: p.a,
    }
}

/// Adds the terms of delay, codec and loss.
fn seen(p: &Parameters, telephones: Terms) -> Terms {
    Terms {
        idd: absolute_delay(p.ta, p.st, p.mt),
        ie_eff: effective_equipment(p.ie, p.bpl, p.ppl, p.burst_r, IE_MAX),
        ..telephones
    }
}

/// Power sum No of all noise sources at the 0 dBr point, dBm0p: equations 7-3 to 7-7.
fn noise(p: &Parameters) -> f64 {
    let olr = p.slr + p.rlr;
    let nos = p.ps - p.slr - p.ds - 100.0 + 0.004 * (p.ps - olr - p.ds - 14.0).powi(2);
    let pre = p.pr + 10.0 * (1.0 + 10_f64.powf((10.0 - p.lstr) / 10.0)).log10();
    let nor = p.rlr - 121.0 + pre + 0.008 * (pre - 35.0).powi(2);
    let nfo = p.nfor + p.rlr;
    let sources = [p.nc, nos, nor, nfo];
    // The loudest is factored out of the sum, so that no exponent overflows.
    let loudest = sources.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let rest: f64 = sources.into_iter().map(|level| 10_f64.powf((level - loudest) / 10.0)).sum();
    loudest + 10.0 * rest.log10()
}

/// Iolr: equations 7-9 and 7-10.
fn loudness(p: &Parameters, no: f64) -> f64 {
    let x = (p.slr + p.rlr + 0.2 * (64.0 + no - p.rlr)) / 8.0;
    20.0 * ((1.0 + x.powi(8)).powf(1.0 / 8.0) - x)
}

/// Ist: equations 7-11 and 7-12. The odd powers go below -1 for a sidetone far outside table 3; no root is
/// taken of that.
fn sidetone(p: &Parameters) -> f64 {
    let stmro =
        -10.0 * (10_f64.powf(-p.stmr / 10.0) + (-p.t / 4.0).exp() * 10_f64.powf(-p.telr / 10.0)).log10();
    let root = |base: f64, power: i32| (1.0 + base.powi(power)).max(0.0).powf(1.0 / f64::from(power));
    12.0 * root((stmro - 13.0) / 6.0, 8)
        - 28.0 * root((stmro + 1.0) / 19.4, 35)
        - 13.0 * root((stmro - 3.0) / 33.0, 13)
        + 29.0
}

/// Iq: equations 7-13 to 7-17.
fn quantizing(p: &Parameters, ro: f64) -> f64 {
    let q = 37.0 - 15.0 * p.qdu.log10();
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let y = (ro - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
    let z = 46.0 / 30.0 - g / 40.0;
    15.0 * (1.0 + 10_f64.powf(y) + 10_f64.powf(z)).log10()
}

/// Idte: equations 7-19 to 7-24. Echo delayed by less than 1 ms is sidetone and counts in Ist alone.
fn talker_echo(p: &Parameters, no: f64, ist: f64) -> f64 {
    if p.t < 1.0 {
        return 0.0;
    }
    let mut terv =
        p.telr - 40.0 * ((1.0 + p.t / 10.0) / (1.0 + p.t / 150.0)).log10() + 6.0 * (-0.3 * p.t * p.t).exp();
    if p.stmr < 9.0 {
        terv += ist / 2.0;
    }
    let roe = -1.5 * (no - p.rlr);
    let re = 80.0 + 2.5 * (terv - 14.0);
    let half = (roe - re) / 2.0;
    let idte = (half + half.hypot(10.0) - 1.0) * (1.0 - (-p.t).exp());
    if p.stmr > 20.0 { idte.hypot(ist) } else { idte }
}

/// Idle: equations 7-25 and 7-26.
fn listener_echo(p: &Parameters, ro: f64) -> f64 {
    let rle = 10.5 * (p.wepl + 7.0) * (p.tr + 1.0).powf(-0.25);
    let half = (ro - rle) / 2.0;
    half + half.hypot(13.0)
}

/// Idd: equations 7-27 and 7-28 with the delay sensitivity of table 1.
pub(crate) fn absolute_delay(ta: f64, st: f64, mt: f64) -> f64 {
    if ta <= mt {
        return 0.0;
    }
    let x = (ta / mt).log2();
    let power = 6.0 * st;
    let root = |x: f64| (1.0 + x.powf(power)).powf(1.0 / power);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// Ie-eff: equation 7-29, `Ie + (95 - Ie) Ppl / (Ppl / BurstR + Bpl)`; `most` is the 95 of that equation.
pub(crate) fn effective_equipment(ie: f64, bpl: f64, ppl: f64, burst_r: f64, most: f64) -> f64 {
    ie + (most - ie) * ppl / (ppl / burst_r + bpl)
}

const IE_MAX: f64 = 95.0;
pub(crate) const BPL_MIN: f64 = 0.01;
pub(crate) const BURST_MIN: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worked_out_once_is_the_same() {
        for (ie, bpl, ppl, burst_r, ta) in [
            (0.0, 4.3, 0.0, 1.0, 0.0),
            (11.0, 19.0, 2.5, 1.4, 250.0),
            (f64::NAN, -1.0, 1e9, 0.0, f64::INFINITY),
        ] {
            let all = rate(&Parameters { ie, bpl, ppl, burst_r, ta, ..Parameters::DEFAULT });
            assert_eq!(rate_seen(ie, bpl, ppl, burst_r, ta), all);
            assert_eq!(listening_seen(ie, bpl, ppl, burst_r), all.mos_lq);
        }
    }

    fn with(change: impl FnOnce(&mut Parameters)) -> Rating {
        let mut p = Parameters::default();
        change(&mut p);
        rate(&p)
    }

    fn close(value: f64, expected: f64, within: f64) {
        assert!((value - expected).abs() <= within, "{value}, expected {expected}");
    }

    /// G.107 section 7.7: all defaults give R = 93.2. Its terms as the reference implementation of appendix
    /// III has them.
    #[test]
    fn all_defaults() {
        let rating = rate(&Parameters::default());
        close(rating.r, 93.2, 0.05);
        close(rating.mos_cq, 4.41, 0.005);
        close(rating.ro, 94.77, 0.01);
        close(rating.is, 1.41, 0.01);
        close(rating.idle, 0.149, 0.001);
        assert_eq!((rating.idte, rating.idd, rating.ie_eff), (0.0, 0.0, 0.0));
        assert_eq!(rating.class.name(), "best");
        assert!(Parameters::default().out_of_range().is_empty());
    }

    /// Planning values of G.113 appendix I: R is 93.2 less Ie.
    #[test]
    fn codecs_without_loss() {
        for (ie, r, mos) in [(11.0, 82.2, 4.10), (15.0, 78.2, 3.96), (20.0, 73.2, 3.75), (5.0, 88.2, 4.29)] {
            let rating = with(|p| p.ie = ie);
            close(rating.r, r, 0.05);
            close(rating.mos_cq, mos, 0.01);
        }
    }

    /// Equation 7-28 by hand: Ta 200 ms is X = 1, 400 ms is X = 2.
    #[test]
    fn delay() {
        close(with(|p| p.ta = 100.0).idd, 0.0, 0.0);
        close(with(|p| p.ta = 200.0).idd, 25.0 * (2_f64.powf(1.0 / 6.0) - 3.000_685_5 + 2.0), 1e-4);
        close(with(|p| p.ta = 400.0).idd, 24.07, 0.01);
    }

    /// Equation 7-29 by hand.
    #[test]
    fn loss() {
        close(with(|p| p.ppl = 1.0).ie_eff, 95.0 / 5.3, 1e-9);
        close(with(|p| (p.ppl, p.bpl) = (2.0, 25.1)).ie_eff, 190.0 / 27.1, 1e-9);
        close(with(|p| (p.ppl, p.burst_r) = (2.0, 2.0)).ie_eff, 190.0 / 5.3, 1e-9);
    }

    /// Equations 7-19 to 7-22 by hand: T 100 ms, TELR 45 dB.
    #[test]
    fn echo() {
        let rating = with(|p| (p.t, p.telr) = (100.0, 45.0));
        let terv = 45.0 - 40.0 * (11.0_f64 / (250.0 / 150.0)).log10();
        let re = 80.0 + 2.5 * (terv - 14.0);
        let no = (15.0 - rating.ro) / 1.5 - 8.0;
        let half = (-1.5 * (no - 2.0) - re) / 2.0;
        close(rating.idte, half + (half * half + 100.0).sqrt() - 1.0, 1e-9);
    }

    #[test]
    fn outside_table_3() {
        let p = Parameters { ppl: 30.0, slr: f64::NAN, ..Parameters::default() };
        let names: Vec<_> = p.out_of_range().iter().map(|outside| outside.name).collect();
        assert_eq!(names, ["SLR", "Ppl"]);
    }
}

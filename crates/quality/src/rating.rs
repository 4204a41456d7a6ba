//! A transmission rating with all its terms, and the conversion between R and MOS.

/// Which of the three E-models a rating is made with; their R scales differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Model {
    /// ITU-T G.107: 300-3400 Hz, R from 0 to 100.
    Narrowband,
    /// ITU-T G.107.1: 50-7000 Hz, R from 0 to 129.
    Wideband,
    /// ITU-T G.107.2: 20-20000 Hz (super-wideband included), R from 0 to 148.
    Fullband,
}

impl Model {
    /// Top of the R scale.
    pub const fn r_max(self) -> f64 {
        match self {
            Self::Narrowband => 100.0,
            Self::Wideband => 129.0,
            Self::Fullband => 148.0,
        }
    }

    /// The Recommendation that defines it.
    pub const fn recommendation(self) -> &'static str {
        match self {
            Self::Narrowband => "ITU-T G.107",
            Self::Wideband => "ITU-T G.107.1",
            Self::Fullband => "ITU-T G.107.2",
        }
    }

    /// The same without its publisher.
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::Narrowband => "G.107",
            Self::Wideband => "G.107.1",
            Self::Fullband => "G.107.2",
        }
    }

    /// The name shown to people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Narrowband => "narrowband",
            Self::Wideband => "wideband",
            Self::Fullband => "fullband",
        }
    }

    /// R on the narrowband scale: `Rx = R / 1.29` (G.107.1 equation A-1), `R / 1.48` (G.107.2 annex A).
    pub fn scaled(self, r: f64) -> f64 {
        r / (self.r_max() / 100.0)
    }
}

/// Speech quality categories of ITU-T G.109 table 1, by R.
///
/// G.109 defines them on the narrowband scale. Wideband and fullband ratings are classed by their scaled R,
/// which is this program's interpretation and not a table of G.109.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// R below 50: nearly all users dissatisfied.
    NotRecommended,
    /// 50 to 60: nearly all users dissatisfied.
    Poor,
    /// 60 to 70: many users dissatisfied.
    Low,
    /// 70 to 80: some users dissatisfied.
    Medium,
    /// 80 to 90: satisfied.
    High,
    /// 90 and more: very satisfied.
    Best,
}

impl Class {
    /// The class of an R on the narrowband scale. A bound belongs to the class above it.
    pub fn of(r: f64) -> Self {
        match r {
            r if r >= 90.0 => Self::Best,
            r if r >= 80.0 => Self::High,
            r if r >= 70.0 => Self::Medium,
            r if r >= 60.0 => Self::Low,
            r if r >= 50.0 => Self::Poor,
            _ => Self::NotRecommended,
        }
    }

    /// The category's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::Poor => "poor",
            Self::NotRecommended => "not recommended",
        }
    }

    /// G.109's words for users' satisfaction.
    pub const fn satisfaction(self) -> &'static str {
        match self {
            Self::Best => "very satisfied",
            Self::High => "satisfied",
            Self::Medium => "some users dissatisfied",
            Self::Low => "many users dissatisfied",
            Self::Poor | Self::NotRecommended => "nearly all users dissatisfied",
        }
    }
}

/// A transmission rating and every term it is made of, in the order of G.107 equation 7-1.
///
/// A term that a model does not have is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// The model that made it.
    pub model: Model,
    /// Basic signal-to-noise ratio, G.107 section 7.2.
    pub ro: f64,
    /// Too low an overall loudness rating, G.107 equation 7-9.
    pub iolr: f64,
    /// Non-optimum sidetone, equation 7-11.
    pub ist: f64,
    /// Quantizing distortion, equation 7-13.
    pub iq: f64,
    /// Simultaneous impairment, the sum of these three.
    pub is: f64,
    /// Talker echo, equation 7-19.
    pub idte: f64,
    /// Listener echo, equation 7-25.
    pub idle: f64,
    /// Absolute delay, equation 7-27.
    pub idd: f64,
    /// Delay impairment, the sum of these three.
    pub id: f64,
    /// Effective equipment impairment: codec and packet loss, equation 7-29.
    pub ie_eff: f64,
    /// Advantage factor.
    pub a: f64,
    /// Transmission rating, all terms counted.
    pub r: f64,
    /// The same without `id`: the rating of a listener who does not speak.
    pub r_lq: f64,
    /// Listening quality: MOS of `r_lq`.
    pub mos_lq: f64,
    /// Conversational quality: MOS of `r`.
    pub mos_cq: f64,
    /// G.109 category of `r`.
    pub class: Class,
}

/// The terms a model computes; [`Rating::from`] sums them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) ro: f64,
    pub(crate) iolr: f64,
    pub(crate) ist: f64,
    pub(crate) iq: f64,
    pub(crate) idte: f64,
    pub(crate) idle: f64,
    pub(crate) idd: f64,
    pub(crate) ie_eff: f64,
    pub(crate) a: f64,
}

impl Terms {
    fn is(&self) -> f64 {
        self.iolr + self.ist + self.iq
    }

    /// R without delay.
    pub(crate) fn r_lq(&self) -> f64 {
        self.ro - self.is() - self.ie_eff + self.a
    }
}

impl Rating {
    pub(crate) fn from(model: Model, terms: Terms) -> Self {
        let Terms { ro, iolr, ist, iq, idte, idle, idd, ie_eff, a } = terms;
        let is = terms.is();
        let id = idte + idle + idd;
        let r_lq = terms.r_lq();
        let r = r_lq - id;
        let (mos_lq, mos_cq) = (mos_from_r(model, r_lq), mos_from_r(model, r));
        let class = Class::of(model.scaled(r));
        Self { model, ro, iolr, ist, iq, is, idte, idle, idd, id, ie_eff, a, r, r_lq, mos_lq, mos_cq, class }
    }

    /// Each term with its name in the Recommendation, for display.
    pub fn terms(&self) -> [(&'static str, f64); 14] {
        [
            ("Ro", self.ro),
            ("Iolr", self.iolr),
            ("Ist", self.ist),
            ("Iq", self.iq),
            ("Is", self.is),
            ("Idte", self.idte),
            ("Idle", self.idle),
            ("Idd", self.idd),
            ("Id", self.id),
            ("Ie-eff", self.ie_eff),
            ("A", self.a),
            ("R", self.r),
            ("MOS-LQ", self.mos_lq),
            ("MOS-CQ", self.mos_cq),
        ]
    }
}

/// MOS of an R: G.107 equation B-4, over the scaled R for wideband (G.107.1 annex A) and fullband (G.107.2
/// annex A).
///
/// From 1 to 4.5. The cubic falls to 0.98 for scaled R from 0 to 6.5, outside its valid range: the result is
/// 1 there. NaN gives 1.
pub fn mos_from_r(model: Model, r: f64) -> f64 {
    let x = model.scaled(r);
    if x >= 100.0 {
        4.5
    } else if x > 0.0 {
        (1.0 + 0.035 * x + x * (x - 60.0) * (100.0 - x) * 7e-6).clamp(1.0, 4.5)
    } else {
        1.0
    }
}

/// R of a MOS: G.107 appendix I, which inverts equation B-4 for R from 6.5 to 100.
///
/// MOS below 1 or NaN counts as 1, above 4.5 as 4.5.
pub fn r_from_mos(model: Model, mos: f64) -> f64 {
    let mos = crate::bounded(mos, 1.0, 1.0, 4.5);
    let x = 18_566.0 - 6_750.0 * mos;
    let y = 15.0 * (-903_522.0 + 1_113_960.0 * mos - 202_500.0 * mos * mos).max(0.0).sqrt();
    let h = y.atan2(x) / 3.0;
    let scaled = 20.0 / 3.0 * (8.0 - 226_f64.sqrt() * (h + std::f64::consts::FRAC_PI_3).cos());
    scaled * model.r_max() / 100.0
}

/// Share of users who find a narrowband R good or better, in percent: G.107 equation B-2.
pub fn good_or_better(r: f64) -> f64 {
    100.0 * normal((r - 60.0) / 16.0)
}

/// Share of users who find a narrowband R poor or worse, in percent: G.107 equation B-3.
pub fn poor_or_worse(r: f64) -> f64 {
    100.0 * normal((45.0 - r) / 16.0)
}

/// The normal distribution function, by Abramowitz and Stegun 26.2.17 (error below 7.5e-8). NaN gives 0.
fn normal(x: f64) -> f64 {
    if x.is_nan() {
        return 0.0;
    }
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let poly = k
        * (0.319_381_530
            + k * (-0.356_563_782 + k * (1.781_477_937 + k * (-1.821_255_978 + k * 1.330_274_429))));
    let tail = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * poly;
    if x >= 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G.107 table B.1: R against MOS, good-or-better and poor-or-worse.
    #[test]
    fn table_b1() {
        for (r, mos, gob, pow) in [
            (90.0, 4.34, 97.0, 0.0),
            (80.0, 4.03, 89.0, 0.0),
            (70.0, 3.60, 73.0, 6.0),
            (60.0, 3.10, 50.0, 17.0),
            (50.0, 2.58, 27.0, 38.0),
        ] {
            assert!((mos_from_r(Model::Narrowband, r) - mos).abs() < 0.01, "R {r}");
            assert!((good_or_better(r) - gob).abs() <= 1.0, "R {r}: {}", good_or_better(r));
            assert!((poor_or_worse(r) - pow).abs() <= 1.5, "R {r}: {}", poor_or_worse(r));
        }
    }

    #[test]
    fn and_back() {
        for model in [Model::Narrowband, Model::Wideband, Model::Fullband] {
            let scale = model.r_max() / 100.0;
            for tenth in 66..1000 {
                let r = f64::from(tenth) / 10.0 * scale;
                let back = r_from_mos(model, mos_from_r(model, r));
                assert!((back - r).abs() < 0.02 * scale, "{model:?} {r} {back}");
            }
        }
    }

    #[test]
    fn ends_of_the_scale() {
        for model in [Model::Narrowband, Model::Wideband, Model::Fullband] {
            assert_eq!(mos_from_r(model, model.r_max()), 4.5);
            assert_eq!(mos_from_r(model, f64::INFINITY), 4.5);
            for r in [0.0, -5.0, 3.0, f64::NEG_INFINITY, f64::NAN] {
                assert_eq!(mos_from_r(model, r), 1.0);
            }
        }
        assert_eq!(Class::of(f64::NAN), Class::NotRecommended);
        assert_eq!(Class::of(90.0), Class::Best);
        assert_eq!(Class::of(49.99), Class::NotRecommended);
    }
}

//! What holds of every judgement, whatever goes in.

use proptest::prelude::*;
use ringtap_model::Nanos;
use ringtap_quality::emodel::{self, Parameters};
use ringtap_quality::rating::{Model, Rating, mos_from_r, r_from_mos};
use ringtap_quality::{LossCounts, PathDelay, burst, codec, cole, fullband, judge, wideband};

/// Any bits as a number, NaN, infinities and subnormals among them, beside everyday ones.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        -1000.0..1000.0,
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(0.0),
    ]
}

fn parameters() -> impl Strategy<Value = Parameters> {
    prop::collection::vec(number(), 23).prop_map(|v| Parameters {
        slr: v[0],
        rlr: v[1],
        stmr: v[2],
        lstr: v[3],
        ds: v[4],
        dr: v[5],
        telr: v[6],
        wepl: v[7],
        t: v[8],
        tr: v[9],
        ta: v[10],
        qdu: v[11],
        ie: v[12],
        bpl: v[13],
        ppl: v[14],
        burst_r: v[15],
        nc: v[16],
        nfor: v[17],
        ps: v[18],
        pr: v[19],
        a: v[20],
        st: v[21],
        mt: v[22],
    })
}

fn sound(rating: &Rating) -> bool {
    rating.terms().iter().all(|(_, value)| value.is_finite())
        && (1.0..=4.5).contains(&rating.mos_lq)
        && (1.0..=4.5).contains(&rating.mos_cq)
}

fn profile() -> impl Strategy<Value = &'static codec::CodecProfile> {
    (0..codec::all().len()).prop_map(|index| &codec::all()[index])
}

proptest! {
    #[test]
    fn narrowband_is_sound(p in parameters()) {
        let rating = emodel::rate(&p);
        prop_assert!(sound(&rating), "{rating:?}");
        prop_assert!(p.out_of_range().len() <= 20);
    }

    #[test]
    fn wideband_and_fullband_are_sound(v in prop::array::uniform6(number())) {
        let [ie, bpl, ppl, burst_r, ta, a] = v;
        let wide = wideband::rate(&wideband::Parameters { ie, bpl, ppl, burst_r, ta, a });
        let full = fullband::rate(&fullband::Parameters { ie, bpl, ppl, burst_r, ta, a });
        prop_assert!(sound(&wide) && sound(&full), "{wide:?} {full:?}");
    }

    #[test]
    fn mos_is_sound(r in number(), mos in number()) {
        for model in [Model::Narrowband, Model::Wideband, Model::Fullband] {
            prop_assert!((1.0..=4.5).contains(&mos_from_r(model, r)));
            prop_assert!(r_from_mos(model, mos).is_finite());
        }
    }

    #[test]
    fn cole_is_sound(delay in number(), loss in number()) {
        for fit in [cole::G711, cole::G729A] {
            let rating = cole::rate(fit, delay, loss);
            prop_assert!(rating.r.is_finite() && (1.0..=4.5).contains(&rating.mos));
        }
    }

    #[test]
    fn judgement_is_sound(
        codec in profile(),
        (expected, lost, discarded, bursts) in any::<(u64, u64, u64, u64)>(),
        (ptime, buffer, rtt) in any::<(u64, u64, Option<u64>)>(),
    ) {
        let path = PathDelay {
            ptime: Nanos(ptime),
            buffer: Nanos(buffer),
            rtt: rtt.map(Nanos),
            end_system: None,
        };
        let judgement = judge(codec, LossCounts { expected, lost, discarded, bursts }, path);
        prop_assert!(sound(&judgement.rating));
        prop_assert!((0.0..=100.0).contains(&judgement.ppl) && (1.0..=8.0).contains(&judgement.burst_r));
        prop_assert!(judgement.mos_cq <= judgement.mos_lq);
    }

    /// More loss, burstier loss, more delay, a worse codec: never a better rating.
    #[test]
    fn worse_is_not_better(
        codec in profile(),
        (ppl, more_ppl) in (0.0..100.0, 0.0..50.0_f64),
        (burst_r, more_burst) in (1.0..8.0, 0.0..4.0_f64),
        (ta, more_ta) in (0.0..1000.0, 0.0..500.0_f64),
    ) {
        let rate = |ppl, burst_r, ta| judge::rate(codec, ppl, burst_r, ta);
        let one = rate(ppl, burst_r, ta);
        for worse in [rate(ppl + more_ppl, burst_r, ta), rate(ppl, burst_r + more_burst, ta), rate(ppl,
            burst_r, ta + more_ta)] {
            prop_assert!(worse.r <= one.r + 1e-9 && worse.mos_lq <= one.mos_lq + 1e-9
                && worse.mos_cq <= one.mos_cq + 1e-9);
        }
    }

    /// Within table 3, impairments impair. Idte alone may fall to -1: equation 7-19 has it so where echo is
    /// inaudible.
    #[test]
    fn impairments_impair(
        (t, tr, ta) in (0.0..500.0, 0.0..1000.0, 0.0..500.0),
        (telr, wepl, ie, ppl) in (5.0..65.0, 5.0..110.0, 0.0..40.0, 0.0..20.0),
    ) {
        let rating = emodel::rate(&Parameters { t, tr, ta, telr, wepl, ie, ppl, ..Parameters::DEFAULT });
        for term in [rating.idte, rating.idle, rating.idd, rating.ie_eff] {
            prop_assert!(term >= -1.0, "{rating:?}");
        }
        prop_assert!(rating.idle >= 0.0 && rating.idd >= 0.0 && rating.ie_eff >= ie);
    }

    #[test]
    fn burst_ratio_is_sound(lost in any::<u64>(), expected in any::<u64>(), bursts in any::<u64>()) {
        if let Some(ratio) = burst::burst_ratio(lost, expected, bursts) {
            prop_assert!(ratio.is_finite() && ratio >= 0.0);
        }
    }
}

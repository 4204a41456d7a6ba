//! Every point of the grid of `emodel_oracle.py`, a second implementation of the equations, within 0.01 MOS.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::process::Command;

use ringtap_model::Hz;
use ringtap_quality::emodel::Parameters;
use ringtap_quality::{Rating, codec, cole, emodel, judge};
use serde_json::Value;

const WITHIN: f64 = 0.01;

fn number(point: &Value, key: &str) -> f64 {
    point[key].as_f64().unwrap_or_else(|| panic!("{key} of {point}"))
}

/// The oracle's lines; `None`, and the test is skipped, where there is no Python to run it.
fn oracle() -> Option<Vec<Value>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/emodel_oracle.py");
    if !ringtap_testing::program("python3") {
        return None;
    }
    let run = Command::new("python3").arg(script).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn compare(point: &Value, rating: &Rating) {
    let scale = rating.model.r_max() / 100.0;
    for (ours, theirs, within) in [
        (rating.mos_lq, number(point, "mos_lq"), WITHIN),
        (rating.mos_cq, number(point, "mos_cq"), WITHIN),
        (rating.r_lq, number(point, "r_lq"), 0.1 * scale),
        (rating.r, number(point, "r"), 0.1 * scale),
    ] {
        assert!((ours - theirs).abs() <= within, "{ours} against {theirs}: {point}\n{rating:?}");
    }
}

fn codec_point(point: &Value) {
    let (name, clock) = (point["codec"].as_str().unwrap(), number(point, "clock") as u32);
    let unconcealed = name.strip_suffix("/no-plc");
    let mut profile =
        codec::lookup_rate(unconcealed.unwrap_or(name), Some(Hz(clock)), number(point, "kbps")).unwrap();
    if unconcealed.is_some() {
        profile = profile.without_concealment();
    }
    let rating = judge::rate(profile, number(point, "ppl"), number(point, "burst"), number(point, "ta"));
    compare(point, &rating);
}

fn parameters_point(point: &Value) {
    let mut p = Parameters::DEFAULT;
    for (name, value) in point["given"].as_object().unwrap() {
        let slot = match name.as_str() {
            "SLR" => &mut p.slr,
            "RLR" => &mut p.rlr,
            "STMR" => &mut p.stmr,
            "LSTR" => &mut p.lstr,
            "Ds" => &mut p.ds,
            "Dr" => &mut p.dr,
            "TELR" => &mut p.telr,
            "WEPL" => &mut p.wepl,
            "T" => &mut p.t,
            "Tr" => &mut p.tr,
            "Ta" => &mut p.ta,
            "qdu" => &mut p.qdu,
            "Ie" => &mut p.ie,
            "Bpl" => &mut p.bpl,
            "Ppl" => &mut p.ppl,
            "BurstR" => &mut p.burst_r,
            "Nc" => &mut p.nc,
            "Nfor" => &mut p.nfor,
            "Ps" => &mut p.ps,
            "Pr" => &mut p.pr,
            "A" => &mut p.a,
            other => panic!("{other}"),
        };
        *slot = value.as_f64().unwrap();
    }
    compare(point, &emodel::rate(&p));
}

fn cole_point(point: &Value) {
    let fit = cole::fit(codec::lookup(point["codec"].as_str().unwrap(), None).unwrap()).unwrap();
    let ours = cole::rate(fit, number(point, "ta"), number(point, "loss")).mos;
    assert!((ours - number(point, "mos")).abs() <= WITHIN, "{ours}: {point}");
}

#[test]
fn agrees_with_the_second_implementation() {
    let Some(points) = oracle() else { return };
    let mut counts = [0; 3];
    for point in &points {
        let (kind, check): (usize, fn(&Value)) = match point["kind"].as_str() {
            Some("codec") => (0, codec_point),
            Some("parameters") => (1, parameters_point),
            Some("cole") => (2, cole_point),
            other => panic!("{other:?}"),
        };
        check(point);
        counts[kind] += 1;
    }
    assert!(counts[0] > 15_000 && counts[1] > 100 && counts[2] > 500, "{counts:?}");
}

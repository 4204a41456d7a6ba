//! Shows the result of a quality model: each term, its value and its source.

use std::io::{self, Write};

use ringtap_quality::codec::Concealment;
use ringtap_quality::cole::ColeRating;
use ringtap_quality::{Class, CodecProfile, Model, Rating};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::fields::Layout;
use crate::style::Style;
use crate::table::{self, Cell, Column};

/// Input of the quality model.
#[derive(Clone, Copy, Debug)]
pub struct ModelInput {
    /// Impairment factors and delays of the codec.
    pub codec: &'static CodecProfile,
    /// Packet loss in percent.
    pub loss: f64,
    /// Burst ratio of the loss; 1 is random loss (G.107).
    pub burst_ratio: f64,
    /// One-way delay in milliseconds.
    pub delay: f64,
    /// Talker echo loudness rating in dB; None if echo is taken as cancelled.
    pub echo_loss: Option<f64>,
}

impl ModelInput {
    fn echo(&self) -> String {
        self.echo_loss.map_or_else(
            || "echo is taken as cancelled: `--echo-loss` rates talker echo".to_owned(),
            |loss| format!("talker echo at TELR {loss} dB, delayed by {} ms each way", self.delay),
        )
    }

    fn concealment(&self) -> &'static str {
        match self.codec.concealment {
            Concealment::Codec => "loss is concealed by the codec",
            Concealment::Receiver => "the receiver is taken to conceal loss: `--no-plc` if it does not",
            Concealment::Missing => "loss is taken as not concealed",
        }
    }
}

/// One term of the result.
#[derive(Clone, Copy, Debug)]
struct Term {
    /// Name in the Recommendation.
    name: &'static str,
    /// Name in JSON.
    key: &'static str,
    value: f64,
    source: &'static str,
}

/// Result of a quality model, with its input and its terms.
#[derive(Clone, Debug)]
pub struct ModelResult {
    input: ModelInput,
    model: &'static str,
    equation: &'static str,
    terms: Vec<Term>,
    /// User satisfaction on the narrowband scale.
    class: Class,
    mos_lq: Option<f64>,
}

impl ModelResult {
    /// The result of one of the three E-models.
    pub fn e_model(input: ModelInput, rating: Rating) -> Self {
        Self {
            input,
            model: rating.model.recommendation(),
            equation: "R = Ro - Is - Id - Ie-eff + A",
            terms: e_model_terms(&rating),
            class: rating.class,
            mos_lq: Some(rating.mos_lq),
        }
    }

    /// The result of the simplified model, which has no listening quality and no burst loss.
    pub fn cole(input: ModelInput, rating: ColeRating) -> Self {
        let term = |name, key, value, source| Term { name, key, value, source };
        Self {
            input,
            model: "Cole and Rosenbluth (2001)",
            equation: "R = 94.2 - Id - Ie; loss counts as random",
            terms: vec![
                term("Id", "id", rating.id, "delay: 0.024 d + 0.11 (d - 177.3) above 177.3 ms"),
                term("Ie", "ie", rating.ie, "codec and loss: g1 + g2 ln(1 + g3 e)"),
                term("R", "r", rating.r, "transmission rating"),
                term("MOS-CQ", "mos_cq", rating.mos, "conversational quality: MOS of R, G.107 B-4"),
            ],
            class: Class::of(rating.r),
            mos_lq: None,
        }
    }
}

/// Each term with its equation. G.107.1 and G.107.2 have the same shape with other constants and without what
/// a monitor cannot see; their equations are named where they differ.
fn e_model_terms(rating: &Rating) -> Vec<Term> {
    let term = |name, key, value, source| Term { name, key, value, source };
    let of = |narrow, wide, full| match rating.model {
        Model::Narrowband => narrow,
        Model::Wideband => wide,
        Model::Fullband => full,
    };
    let ro = of(
        "signal to noise, G.107 7-2",
        "signal to noise, G.107.1 default",
        "signal to noise, G.107.2 default",
    );
    let idd = of(
        "absolute delay, G.107 7-27",
        "absolute delay, as G.107 7-27",
        "absolute delay, G.107.2 section 7.4",
    );
    let ie = of(
        "codec and loss, G.107 7-29",
        "codec and loss, G.107.1 7-15",
        "codec and loss, G.107.2 section 7.5",
    );
    let r = of(
        "transmission rating, G.107 7-1",
        "transmission rating, G.107.1 7-1",
        "transmission rating, G.107.2 7-1",
    );
    let mos =
        of("G.107 B-4", "scaled by G.107.1 A-1, then G.107 B-4", "scaled by G.107.2 annex A, then G.107 B-4");
    let mut terms = vec![
        term("Ro", "ro", rating.ro, ro),
        term("Is", "is", rating.is, "simultaneous impairment: Iolr + Ist + Iq"),
    ];
    if rating.model == Model::Narrowband {
        terms.push(term("  Iolr", "iolr", rating.iolr, "too loud, G.107 7-9"));
        terms.push(term("  Ist", "ist", rating.ist, "sidetone, G.107 7-11"));
        terms.push(term("  Iq", "iq", rating.iq, "quantizing, G.107 7-13"));
    }
    terms.push(term("Id", "id", rating.id, "delay: Idte + Idle + Idd"));
    if rating.model == Model::Narrowband {
        terms.push(term("  Idte", "idte", rating.idte, "talker echo, G.107 7-19"));
        terms.push(term("  Idle", "idle", rating.idle, "listener echo, G.107 7-25"));
    }
    terms.push(term("  Idd", "idd", rating.idd, idd));
    terms.push(term("Ie-eff", "ie_eff", rating.ie_eff, ie));
    terms.push(term("A", "a", rating.a, "advantage of access"));
    terms.push(term("R", "r", rating.r, r));
    terms.push(term("R-LQ", "r_lq", rating.r_lq, "R without Id: one who only listens"));
    terms.push(term("MOS-LQ", "mos_lq", rating.mos_lq, "listening quality: MOS of R-LQ"));
    terms.push(term("MOS-CQ", "mos_cq", rating.mos_cq, mos));
    terms
}

const COLUMNS: &[Column] =
    &[Column::word("TERM", 0), Column::figure("VALUE", 0), Column::text("SOURCE", 20, 20, 0)];

/// Writes the result as text for a terminal.
pub fn write(out: &mut dyn Write, result: &ModelResult, width: usize, colour: bool) -> io::Result<()> {
    let ModelInput { codec, loss, burst_ratio, delay, .. } = result.input;
    let layout = Layout { indent: 0, name: 9, width, colour };
    let mut line = |name: &str, value: &str| layout.line(out, name, value, Style::Plain);
    line("Model", &format!("{}: {}", result.model, result.equation))?;
    line("Codec", &format!("{} at {} kbit/s: Ie {}, Bpl {}", codec.name, codec.kbps, codec.ie, codec.bpl))?;
    line("", codec.source)?;
    line("Given", &format!("loss {loss} %, burst ratio {burst_ratio}, one-way delay {delay} ms"))?;
    if result.mos_lq.is_some() {
        line("Assumed", result.input.concealment())?;
        line("", &result.input.echo())?;
    }
    writeln!(out)?;
    let row = |term: &Term| {
        let mos = term.key.starts_with("mos");
        let style = if mos { Style::of_mos(Some(term.value)) } else { Style::Plain };
        let places = if mos { 2 } else { 3 };
        // A subtraction can give -0, which is shown as 0.
        let value = format!("{:.places$}", term.value + 0.0);
        vec![Cell::plain(term.name), Cell::new(value, style), Cell::plain(term.source)]
    };
    table::write(out, COLUMNS, result.terms.iter().map(row), width, colour)?;
    writeln!(out)?;
    writeln!(out, "G.109: {}, {}", result.class.name(), result.class.satisfaction())
}

impl Serialize for ModelResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ModelInput { codec, loss, burst_ratio, delay, echo_loss } = self.input;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", self.model)?;
        map.serialize_entry("codec", codec.name)?;
        map.serialize_entry("kbps", &codec.kbps)?;
        map.serialize_entry("codec_ie", &codec.ie)?;
        map.serialize_entry("codec_bpl", &codec.bpl)?;
        map.serialize_entry("codec_source", codec.source)?;
        map.serialize_entry("loss_pct", &loss)?;
        map.serialize_entry("burst_ratio", &burst_ratio)?;
        map.serialize_entry("delay_ms", &delay)?;
        map.serialize_entry("echo_loss_db", &echo_loss)?;
        map.serialize_entry("concealment", codec.concealment.name())?;
        map.serialize_entry("codec_factors", codec.basis.name())?;
        for term in &self.terms {
            map.serialize_entry(term.key, &term.value)?;
        }
        if self.mos_lq.is_none() {
            map.serialize_entry("mos_lq", &None::<f64>)?;
        }
        map.serialize_entry("class", self.class.name())?;
        map.serialize_entry("satisfaction", self.class.satisfaction())?;
        map.end()
    }
}

//! `ringtap mos`: calculates a MOS from given values.

use std::io::Write;

use anyhow::Context;
use clap::{Args, ValueEnum};
use ringtap_quality::{CodecProfile, Model, Rating, codec, cole, emodel, judge};
use ringtap_report::json;
use ringtap_report::rating::{self, ModelResult};

use crate::exit::{Exit, Misuse};
use crate::screen::Screen;

/// Calculate a MOS term by term: to check a figure, or to plan a link
///
/// Every term is shown with its equation. Without `--model` the codec decides: G.107 for narrowband, G.107.1
/// for wideband, G.107.2 for super-wideband and fullband codecs, because impairment factors are valid on one
/// scale only.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Mos {
    /// Codec, by its name in SDP
    #[arg(long, value_name = "NAME", default_value = "PCMU")]
    codec: String,
    /// Bit rate, for a codec with several rates
    #[arg(long, value_name = "KBIT/S", value_parser = limited::<1, 1_000>)]
    rate: Option<f64>,
    /// Lost packets in percent, including those that are too late for the jitter buffer
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = limited::<0, 100>)]
    loss: f64,
    /// Burst ratio: mean length of loss runs over their mean length if loss were random; 1 is random
    #[arg(long, value_name = "RATIO", default_value_t = 1.0, value_parser = limited::<1, 8>)]
    burst_ratio: f64,
    /// One-way delay from mouth to ear: coding, jitter buffer and network
    #[arg(long, value_name = "MS", default_value_t = 0.0, value_parser = limited::<0, 10_000>)]
    delay_ms: f64,
    /// The receiver does not conceal lost packets: for G.711, G.722 and L16, which leave that to him
    #[arg(long)]
    no_plc: bool,
    /// Talker echo: TELR in dB, from the talker's mouth to his ear by way of the other end, delayed by
    /// `--delay-ms` each way; G.107 only [default: echo is taken as cancelled]
    #[arg(long, value_name = "DB", value_parser = limited::<5, 65>)]
    echo_loss: Option<f64>,
    /// Model [default: the one of the codec]
    #[arg(long, value_enum)]
    model: Option<Choice>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  ringtap mos --codec G729 --loss 2 --burst-ratio 1.5 --delay-ms 150
  ringtap mos --codec AMR-WB --rate 12.65 --loss 1
  ringtap mos --codec PCMU --loss 1 --no-plc
  ringtap mos --codec PCMA --delay-ms 120 --echo-loss 40
  ringtap mos --codec PCMA --loss 1 --model cole --format json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// ITU-T G.107, narrowband
    G107,
    /// ITU-T G.107.1, wideband
    #[value(name = "g107.1")]
    G1071,
    /// ITU-T G.107.2, super-wideband and fullband
    #[value(name = "g107.2")]
    G1072,
    /// The simplified E-model of Cole and Rosenbluth (2001)
    Cole,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Table,
    /// One JSON object
    Json,
}

impl Mos {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let worked = self.work_out()?;
        let written = match self.format {
            Format::Json => json::line(&mut *screen.out, &worked),
            Format::Table => rating::write(&mut *screen.out, &worked, screen.width, screen.colour),
        };
        written.and_then(|()| screen.out.flush()).context("cannot write the result")?;
        Ok(Exit::Done)
    }

    fn work_out(&self) -> Result<ModelResult, Misuse> {
        let profile = self.profile()?;
        let input = rating::ModelInput {
            codec: profile,
            loss: self.loss,
            burst_ratio: self.burst_ratio,
            delay: self.delay_ms,
            echo_loss: self.echo_loss,
        };
        if self.echo_loss.is_some()
            && (profile.model != Model::Narrowband || self.model == Some(Choice::Cole))
        {
            return Err(Misuse(
                "`--echo-loss` needs the model of G.107: leave it out, or use a narrowband codec".into(),
            ));
        }
        if self.model == Some(Choice::Cole) {
            let fit = cole::fit(profile).ok_or_else(|| {
                Misuse(format!(
                    "the model of Cole and Rosenbluth covers only G.711 and G.729, not {}",
                    profile.name
                ))
            })?;
            return Ok(ModelResult::cole(input, cole::rate(fit, self.delay_ms, self.loss / 100.0)));
        }
        Ok(ModelResult::e_model(input, self.rate(profile)))
    }

    fn rate(&self, profile: &CodecProfile) -> Rating {
        let Some(telr) = self.echo_loss else {
            return judge::rate(profile, self.loss, self.burst_ratio, self.delay_ms);
        };
        emodel::rate(&emodel::Parameters {
            telr,
            t: self.delay_ms,
            ta: self.delay_ms,
            ie: profile.ie,
            bpl: profile.bpl,
            ppl: self.loss,
            burst_r: self.burst_ratio,
            ..emodel::Parameters::DEFAULT
        })
    }

    /// The codec's mode with factors for the requested model whose rate is nearest to the requested one.
    fn profile(&self) -> Result<&'static CodecProfile, Misuse> {
        let model = self.model.map(Choice::model);
        let all: Vec<_> = codec::modes(&self.codec, None).collect();
        let Some(usual) = all.first() else {
            let mut names: Vec<_> = codec::all().iter().map(|profile| profile.name).collect();
            names.dedup();
            return Err(Misuse(format!(
                "no impairment factors are known for codec `{}`: use one of {}",
                self.codec,
                names.join(", ")
            )));
        };
        let fitting = all.iter().filter(|profile| model.is_none_or(|model| profile.model == model));
        let off = |profile: &CodecProfile| self.rate.map_or(0.0, |rate| (profile.kbps - rate).abs());
        let nearest = fitting.copied().min_by(|one, other| off(one).total_cmp(&off(other)));
        let concealed = |profile: &'static CodecProfile| {
            if self.no_plc { profile.without_concealment() } else { profile }
        };
        nearest.map(concealed).ok_or_else(|| {
            let (name, own) = (usual.name, usual.model.recommendation());
            Misuse(format!(
                "the factors of {name} are valid for {own} only: leave `--model` out or use another codec"
            ))
        })
    }
}

impl Choice {
    /// The model whose scale the codec's factors must be on.
    fn model(self) -> Model {
        match self {
            Self::G107 | Self::Cole => Model::Narrowband,
            Self::G1071 => Model::Wideband,
            Self::G1072 => Model::Fullband,
        }
    }
}

/// Parses a number within limits; rejects NaN and infinities.
fn limited<const LEAST: u32, const MOST: u32>(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (f64::from(LEAST)..=f64::from(MOST)).contains(&value) => Ok(value),
        _ => Err(format!("it must be a number from {LEAST} to {MOST}")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ringtap_testing::samples;

    use super::*;
    use crate::screen::tests::captured;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        mos: Mos,
    }

    fn run(arguments: &str) -> Result<String, String> {
        let line =
            Line::try_parse_from(format!("mos {arguments}").split_whitespace()).map_err(|e| e.to_string())?;
        let (mut screen, out, _) = captured(80);
        line.mos.run(&mut screen).map_err(|error| error.to_string())?;
        Ok(out.text())
    }

    #[test]
    fn golden_narrowband() {
        let text = run("--codec G729 --loss 2 --burst-ratio 1.5 --delay-ms 150").unwrap();
        samples::golden("mos-g107.txt", &text);
    }

    #[test]
    fn golden_wideband_and_cole() {
        samples::golden("mos-g107.1.txt", &run("--codec amr-wb --rate 12.65 --loss 1").unwrap());
        samples::golden("mos-cole.txt", &run("--codec PCMA --loss 1 --delay-ms 200 --model cole").unwrap());
    }

    #[test]
    fn json_has_the_terms() {
        let text = run("--codec PCMA --format json").unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["model"], "ITU-T G.107");
        assert!((value["r"].as_f64().unwrap() - 93.2).abs() < 0.05);
        assert_eq!(value["class"], "best");
        assert_eq!(value["codec"], "PCMA");
    }

    /// 1 % random loss of G.711 by hand, G.107 7-29: Ie-eff is 95 / 26.1 with concealment, 95 / 5.3 without;
    /// R is 93.2 less that.
    #[test]
    fn concealment_and_echo_are_assumed_or_given() {
        let value = |arguments: &str| -> serde_json::Value {
            serde_json::from_str(&run(&format!("{arguments} --format json")).unwrap()).unwrap()
        };
        let mos = |value: &serde_json::Value| (value["mos_lq"].as_f64().unwrap() * 100.0).round();
        let concealed = value("--loss 1");
        assert_eq!((mos(&concealed), &concealed["concealment"]), (433.0, &"receiver".into()));
        let plain = value("--loss 1 --no-plc");
        assert_eq!((mos(&plain), &plain["concealment"]), (384.0, &"none".into()));
        assert_eq!(
            (concealed["idte"].as_f64(), &concealed["echo_loss_db"]),
            (Some(0.0), &None::<f64>.into())
        );
        // Equations 7-19 to 7-22: see the model's own test.
        let echo = value("--delay-ms 100 --echo-loss 45");
        let idte = echo["idte"].as_f64().unwrap();
        assert!((idte - 22.482).abs() < 0.001, "{idte}");
        assert!(echo["mos_cq"].as_f64() < echo["mos_lq"].as_f64());
        assert!(run("--codec G722 --echo-loss 40").unwrap_err().contains("G.107"));
        assert!(run("--model cole --echo-loss 40").unwrap_err().contains("G.107"));
        assert!(run("--loss 1").unwrap().contains("echo is taken as cancelled"));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        assert!(run("--codec H264").unwrap_err().contains("PCMU"));
        assert!(run("--codec AMR-WB --model g107").unwrap_err().contains("G.107.1 only"));
        assert!(run("--codec opus --model cole").unwrap_err().contains("G.711 and G.729"));
        for wrong in ["--loss 101", "--loss NaN", "--burst-ratio 0.5", "--delay-ms -1", "--delay-ms inf"] {
            assert!(run(wrong).unwrap_err().contains("it must be a number"), "{wrong}");
        }
    }
}

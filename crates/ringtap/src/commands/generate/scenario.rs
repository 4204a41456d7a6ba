//! The scenario that the options describe.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::Context;
use ringtap_model::Nanos;
use ringtap_traffic::{Cross, Error, Flood, FloodKind, Mix, Scenario, Traffic, Voice};

use super::{Generate, Impair, now};
use crate::exit::Misuse;

impl Generate {
    pub(super) fn traffic(&self) -> anyhow::Result<Traffic> {
        Ok(Traffic::new(self.scenario()?).map_err(|error| misuse(&error))?)
    }

    fn scenario(&self) -> anyhow::Result<Scenario> {
        let named = |option: &'static str| move |error: Error| Misuse(format!("`{option}`: {error}"));
        let hold = match &self.hold {
            Some(seconds) => {
                let wrong = || Misuse(format!("`--hold {seconds}`: write seconds, from 0.001 to 86400"));
                format!("constant:{seconds}").parse().map_err(|_| wrong())?
            }
            None => self.hold_distribution,
        };
        let base = match self.impair {
            Impair::None => Scenario::new(self.seed),
            Impair::All => Scenario { registrations: self.calls / 5, ..Scenario::everything(self.seed) },
        };
        let duration = self.duration.map(|seconds| {
            let right = (1e-3..=1e7).contains(&seconds);
            let wrong = || Misuse(format!("`--duration {seconds}`: write seconds, from 0.001 to 10000000"));
            right.then(|| Nanos::from_micros((seconds * 1e6) as u64)).ok_or_else(wrong)
        });
        let loss = Mix::of_shares(&self.loss).map_err(named("--loss"))?;
        let unsent = Mix::of_shares(&self.unsent).map_err(named("--unsent"))?;
        let loss_behind = Mix::of_shares(&self.loss_behind).map_err(named("--loss-behind"))?;
        let uncaptured = Mix::of_shares(&self.uncaptured).map_err(named("--uncaptured"))?;
        let jitter = Mix::of_shares(&self.jitter).map_err(named("--jitter"))?;
        Ok(Scenario {
            start: self.start.unwrap_or(if self.interface.is_some() { now() + SET_UP } else { base.start }),
            calls: self.calls,
            rate: self.rate,
            hold,
            codecs: self.codec.clone().unwrap_or(base.codecs),
            ptime: self.ptime.clone().map_or(base.ptime, |mix| mix.map(|ptime| ptime.0)),
            loss: if self.loss.is_empty() { base.loss } else { loss },
            unsent: if self.unsent.is_empty() { base.unsent } else { unsent },
            loss_behind: if self.loss_behind.is_empty() { base.loss_behind } else { loss_behind },
            uncaptured: if self.uncaptured.is_empty() { base.uncaptured } else { uncaptured },
            jitter: if self.jitter.is_empty() { base.jitter } else { jitter },
            reorder: self.reorder.unwrap_or(base.reorder),
            duplicate: self.duplicate.unwrap_or(base.duplicate),
            failed: self.failed.unwrap_or(base.failed),
            cancelled: self.cancelled.unwrap_or(base.cancelled),
            challenged: self.challenged.unwrap_or(base.challenged),
            retransmit: self.retransmit.unwrap_or(base.retransmit),
            reinvite: self.reinvite.unwrap_or(base.reinvite),
            on_hold: self.on_hold.unwrap_or(base.on_hold),
            early: self.early_media.unwrap_or(base.early),
            forked: self.forked.unwrap_or(base.forked),
            rtcp: self.rtcp.unwrap_or(base.rtcp),
            ipv6: self.ipv6.unwrap_or(base.ipv6),
            vlan: self.vlan.unwrap_or(base.vlan),
            dtmf: self.dtmf.unwrap_or(base.dtmf),
            registrations: self.registrations.unwrap_or(base.registrations),
            transport: self.transport.clone().unwrap_or(base.transport),
            cross: self.cross.map(|rate| Cross { rate, kinds: self.cross_mix.clone() }),
            flood: self.flood.map(|rate| Flood { rate, kinds: self.flood_mix.clone().unwrap_or_else(all) }),
            duration: duration.transpose()?,
            voice: self.wav.as_deref().map_or(Ok(base.voice), voice)?,
            seed: self.seed,
        })
    }
}

/// All kinds of hostile packets alike.
fn all() -> Mix<FloodKind> {
    let kinds = FloodKind::ALL.map(|kind| (kind, 1.0));
    Mix::new(kinds.to_vec()).unwrap_or_else(|| Mix::only(FloodKind::Invite))
}

fn voice(path: &Path) -> anyhow::Result<Voice> {
    let failed = || format!("`--wav`: cannot use {}", path.display());
    let file = File::open(path).with_context(failed)?;
    Voice::from_wav(BufReader::new(file)).with_context(failed)
}

/// Names the options whose values are inconsistent.
fn misuse(error: &Error) -> Misuse {
    let options = match error {
        Error::PacketTime { .. } => "`--ptime` and `--codec`",
        Error::Rate(_) => "`--rate`",
        Error::Calls(_) => "`--calls` and `--registrations`",
        Error::Outcomes { .. } => "`--failed` and `--cancelled`",
        Error::Start => "`--start`",
        _ => return Misuse(error.to_string()),
    };
    Misuse(format!("{options}: {error}"))
}

/// Until everything is ready to send.
const SET_UP: Nanos = Nanos::from_millis(300);

//! Packet loss in the network.

use std::str::FromStr;

use crate::error::Error;
use crate::rng::Rng;
use crate::share::{Mix, Share};

/// How packets are lost. Written `none`, `bernoulli:1%` or `gilbert:P,R[,BAD[,GOOD]]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// No loss.
    #[default]
    None,
    /// Independent loss of each packet.
    Bernoulli(Share),
    /// In bursts: the two-state chain of Gilbert (1960) and Elliott (1963).
    Gilbert {
        /// From the good state to the bad one, after each packet.
        to_bad: Share,
        /// From the bad state to the good one: the mean stay in the bad state is 1 / `to_good` packets.
        to_good: Share,
        /// Loss probability in the bad state.
        bad: Share,
        /// Loss probability in the good state.
        good: Share,
    },
}

/// State of one stream's loss model.
#[derive(Clone, Debug)]
pub(crate) struct LossState {
    /// Index of its model in the scenario.
    model: u8,
    is_bad: bool,
}

impl LossState {
    pub(crate) fn new(model: u8) -> Self {
        Self { model, is_bad: false }
    }

    /// Whether the next packet is lost.
    pub(crate) fn next(&mut self, models: &Mix<Loss>, rng: &mut Rng) -> bool {
        match *models.at(self.model) {
            Loss::None => false,
            Loss::Bernoulli(share) => rng.chance(share.value()),
            Loss::Gilbert { to_bad, to_good, bad, good } => {
                let leave = if self.is_bad { to_good } else { to_bad };
                self.is_bad ^= rng.chance(leave.value());
                rng.chance(if self.is_bad { bad } else { good }.value())
            }
        }
    }
}

impl FromStr for Loss {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Model { given: text.to_owned(), right: RIGHT };
        if text == "none" {
            return Ok(Self::None);
        }
        let (name, shares) = text.split_once(':').ok_or_else(wrong)?;
        let shares: Vec<Share> = shares
            .split(',')
            .map(|share| share.trim().parse())
            .collect::<Result<_, _>>()
            .map_err(|_| wrong())?;
        let all = Share::new(1.0).unwrap_or_default();
        match (name, &shares[..]) {
            ("bernoulli", &[share]) => Ok(Self::Bernoulli(share)),
            ("gilbert", &[to_bad, to_good]) => {
                Ok(Self::Gilbert { to_bad, to_good, bad: all, good: Share::NONE })
            }
            ("gilbert", &[to_bad, to_good, bad]) => {
                Ok(Self::Gilbert { to_bad, to_good, bad, good: Share::NONE })
            }
            ("gilbert", &[to_bad, to_good, bad, good]) => Ok(Self::Gilbert { to_bad, to_good, bad, good }),
            _ => Err(wrong()),
        }
    }
}

const RIGHT: &str = "none, bernoulli:1%, or gilbert:P,R[,BAD[,GOOD]] with the shares of steps into the bad \
    state and back, \
                     and of loss in each, for example gilbert:1%,30%,90%";

#[cfg(test)]
mod tests {
    use super::*;

    /// Share lost and mean length of a burst over many packets.
    fn measure(text: &str) -> (f64, f64) {
        let models = Mix::only(text.parse().unwrap());
        let mut state = LossState::new(0);
        let mut rng = Rng::new(5, 0);
        let (mut lost, mut bursts, mut before) = (0_u32, 0_u32, false);
        let count = 400_000;
        for _ in 0..count {
            let now = state.next(&models, &mut rng);
            lost += u32::from(now);
            bursts += u32::from(now && !before);
            before = now;
        }
        (f64::from(lost) / f64::from(count), f64::from(lost) / f64::from(bursts.max(1)))
    }

    #[test]
    fn shares_and_bursts_are_as_the_models_say() {
        let near = |measured: f64, expected: f64| (measured / expected - 1.0).abs() < 0.05;
        let (share, burst) = measure("bernoulli:10%");
        assert!(near(share, 0.1) && near(burst, 1.0 / 0.9), "{share} {burst}");
        // Share p / (p + r), burst 1 / r.
        let (share, burst) = measure("gilbert:1%,25%");
        assert!(near(share, 0.01 / 0.26) && near(burst, 4.0), "{share} {burst}");
        let (share, _) = measure("gilbert:1%,25%,50%,2%");
        assert!(near(share, 0.01 / 0.26 * 0.5 + 0.25 / 0.26 * 0.02), "{share}");
        assert_eq!(measure("none").0, 0.0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in
            ["", "5%", "bernoulli", "bernoulli:5", "bernoulli:1%,2%", "gilbert:1%", "gilbert:1,2", "x:1%"]
        {
            let error = wrong.parse::<Loss>().unwrap_err().to_string();
            assert!(error.contains("gilbert:1%,30%,90%"), "{error}");
        }
    }
}

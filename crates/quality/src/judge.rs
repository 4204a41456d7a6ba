//! Rates an interval or a whole stream: R and MOS from codec, loss and delay.
//!
//! # How loss and discards combine
//!
//! A packet discarded by the jitter buffer is as inaudible as one lost by the network; both count as lost:
//! Ppl = 100 (lost + discarded) / expected. The burst ratio is measured on the network's losses alone;
//! discards come from a histogram without their order and count as random: BurstR is 1 + (BurstR of the
//! losses minus 1) times lost / (lost + discarded), clamped to the range of G.107, 1 to 8.
//!
//! # Which delay counts
//!
//! The mouth-to-ear delay as far as a tap can know it: the speech in a packet (ptime, or one frame if that is
//! longer), the codec's lookahead, the jitter buffer, and half the round trip if one was measured, otherwise
//! nothing for the network. It is the parameter Ta. Echo paths are not visible on the wire, so T and Tr stay
//! 0 (perfect echo control).

use ringtap_model::Nanos;

use crate::codec::CodecProfile;
use crate::rating::{Model, Rating};
use crate::{burst, cole, emodel, fullband, wideband};

/// Packet counts of an interval or a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCounts {
    /// Expected packets (RFC 3550 section 6.4.1): unique packets received, and packets lost.
    pub expected: u64,
    /// Lost in the network.
    pub lost: u64,
    /// Received too late for the jitter buffer.
    pub discarded: u64,
    /// Runs of consecutive lost packets.
    pub bursts: u64,
}

impl LossCounts {
    /// Packet-loss probability in percent, losses and discards together; 0 if no packet was expected.
    pub fn ppl(&self) -> f64 {
        let missing = self.lost.saturating_add(self.discarded);
        if missing == 0 {
            return 0.0;
        }
        // Inconsistent counts cannot exceed 100 %.
        100.0 * (missing as f64 / self.expected.max(missing) as f64)
    }

    /// Burst ratio for the E-model, from 1 to 8.
    pub fn burst_r(&self) -> f64 {
        let losses = burst::for_model(burst::burst_ratio(self.lost, self.expected, self.bursts));
        let missing = self.lost.saturating_add(self.discarded).max(1);
        1.0 + (losses - 1.0) * self.lost as f64 / missing as f64
    }
}

/// The delays of the speech path besides the codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathDelay {
    /// Speech in one packet.
    pub ptime: Nanos,
    /// Delay that the jitter buffer adds.
    pub buffer: Nanos,
    /// Round-trip time of the network, if it was measured.
    pub rtt: Option<Nanos>,
    /// Delay of packetization, codec and buffer together, where an end system reported it (RFC 3611 section
    /// 4.7.3): it stands for all of these.
    pub end_system: Option<Nanos>,
}

impl PathDelay {
    /// One-way delay in milliseconds with this codec.
    pub fn delay_ms(&self, codec: &CodecProfile) -> f64 {
        let network = self.rtt.map_or(0.0, |rtt| rtt.millis_f64() / 2.0);
        let own =
            || codec.frame_ms.max(self.ptime.millis_f64()) + codec.lookahead_ms + self.buffer.millis_f64();
        self.end_system.map_or_else(own, |delay| delay.millis_f64()) + network
    }
}

/// The result of [`judge`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Transmission rating including delay, on the scale of the codec's model.
    pub r: f64,
    /// Transmission rating without delay: the basis of `mos_lq`.
    pub r_lq: f64,
    /// The same as equation B-4 of G.107 takes it for `mos_lq`: from 0 to 100, whatever the model.
    pub r_factor: f64,
    /// Listening quality.
    pub mos_lq: f64,
    /// Conversational quality.
    pub mos_cq: f64,
    /// Simplified E-model of Cole and Rosenbluth, if it covers the codec.
    pub mos_cole: Option<f64>,
    /// The packet loss that was rated, in percent.
    pub ppl: f64,
    /// The burst ratio that was rated.
    pub burst_r: f64,
    /// The one-way delay that was rated, in milliseconds.
    pub delay_ms: f64,
    /// Every term.
    pub rating: Rating,
}

/// Rates packets sent with `codec` over `path`.
pub fn judge(codec: &CodecProfile, packets: LossCounts, path: PathDelay) -> Judgement {
    let (ppl, burst_r, delay_ms) = (packets.ppl(), packets.burst_r(), path.delay_ms(codec));
    let rating = rate(codec, ppl, burst_r, delay_ms);
    let mos_cole = cole::fit(codec).map(|fit| cole::rate(fit, delay_ms, ppl / 100.0).mos);
    let Rating { r, r_lq, mos_lq, mos_cq, .. } = rating;
    let r_factor = crate::bounded(codec.model.scaled(r_lq), 0.0, 0.0, 100.0);
    Judgement { r, r_lq, r_factor, mos_lq, mos_cq, mos_cole, ppl, burst_r, delay_ms, rating }
}

/// The listening quality of [`judge`] alone. It does not depend on delay and costs a fraction of the work.
pub fn listening(codec: &CodecProfile, packets: LossCounts) -> f64 {
    let CodecProfile { ie, bpl, model, .. } = *codec;
    let (ppl, burst_r) = (packets.ppl(), packets.burst_r());
    match model {
        Model::Narrowband => emodel::listening_seen(ie, bpl, ppl, burst_r),
        Model::Wideband | Model::Fullband => rate(codec, ppl, burst_r, 0.0).mos_lq,
    }
}

/// The rating of a codec by its own model: loss `ppl` in percent, one-way delay `ta` in milliseconds.
pub fn rate(codec: &CodecProfile, ppl: f64, burst_r: f64, ta: f64) -> Rating {
    let CodecProfile { ie, bpl, .. } = *codec;
    match codec.model {
        Model::Narrowband => emodel::rate_seen(ie, bpl, ppl, burst_r, ta),
        Model::Wideband => wideband::rate(&wideband::Parameters { ie, bpl, ppl, burst_r, ta, a: 0.0 }),
        Model::Fullband => fullband::rate(&fullband::Parameters { ie, bpl, ppl, burst_r, ta, a: 0.0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::lookup;

    const PATH: PathDelay = PathDelay {
        ptime: Nanos::from_millis(20),
        buffer: Nanos::from_millis(50),
        rtt: None,
        end_system: None,
    };

    #[test]
    fn discards_are_losses() {
        let g711 = lookup("PCMU", None).unwrap();
        let lost = judge(g711, LossCounts { expected: 100, lost: 2, discarded: 0, bursts: 2 }, PATH);
        let discarded = judge(g711, LossCounts { expected: 100, lost: 0, discarded: 2, bursts: 0 }, PATH);
        assert_eq!((lost.ppl, discarded.ppl), (2.0, 2.0));
        assert_eq!(lost.mos_lq, discarded.mos_lq);
        let burst = judge(g711, LossCounts { expected: 100, lost: 4, discarded: 4, bursts: 1 }, PATH);
        assert!((burst.burst_r - (1.0 + (4.0 * 0.96 - 1.0) / 2.0)).abs() < 1e-12);
    }

    #[test]
    fn delay_adds_up() {
        let g729 = lookup("G729", None).unwrap();
        let path = PathDelay { rtt: Some(Nanos::from_millis(90)), ..PATH };
        assert_eq!(path.delay_ms(g729), 20.0 + 5.0 + 50.0 + 45.0);
        let long = PathDelay { ptime: Nanos::ZERO, ..path };
        assert_eq!(long.delay_ms(g729), 10.0 + 5.0 + 50.0 + 45.0);
        let reported = PathDelay { end_system: Some(Nanos::from_millis(70)), ..path };
        assert_eq!(reported.delay_ms(g729), 70.0 + 45.0);
    }

    /// PCMU without loss within 100 ms: R is G.107's 93.2.
    #[test]
    fn nothing_wrong() {
        let judgement =
            judge(lookup("PCMU", None).unwrap(), LossCounts { expected: 500, ..LossCounts::default() }, PATH);
        assert!((judgement.r - 93.2).abs() < 0.05);
        assert!((judgement.mos_lq - 4.41).abs() < 0.005);
        assert_eq!(judgement.rating.idd, 0.0);
    }

    /// The R of a record gives the MOS beside it by equation B-4, in every model, and stays within 0 to 100.
    #[test]
    fn the_r_factor_is_the_r_behind_the_mos() {
        let late = PathDelay { rtt: Some(Nanos::from_millis(900)), ..PATH };
        for profile in crate::codec::all() {
            for profile in [profile, profile.without_concealment()] {
                for lost in [0, 1, 10, 100, 300, 999] {
                    let counts = LossCounts { expected: 1000, lost, discarded: 0, bursts: lost.div_ceil(8) };
                    let judged = judge(profile, counts, late);
                    assert!((0.0..=100.0).contains(&judged.r_factor), "{profile:?} {judged:?}");
                    let mos = crate::rating::mos_from_r(Model::Narrowband, judged.r_factor);
                    assert!((mos - judged.mos_lq).abs() < 1e-9, "{profile:?} {judged:?}");
                }
            }
        }
    }

    #[test]
    fn impossible_counts() {
        let g711 = lookup("PCMU", None).unwrap();
        let hostile = LossCounts { expected: 1, lost: u64::MAX, discarded: u64::MAX, bursts: u64::MAX };
        let path =
            PathDelay { ptime: Nanos::MAX, buffer: Nanos::MAX, rtt: Some(Nanos::MAX), end_system: None };
        let judgement = judge(g711, hostile, path);
        assert_eq!((judgement.ppl, judgement.mos_cq), (100.0, 1.0));
        assert!(judgement.r.is_finite());
        assert_eq!(judge(g711, LossCounts::default(), PathDelay::default()).ppl, 0.0);
    }
}

//! The parameters of the traffic.

use std::str::FromStr;

use ringtap_model::Nanos;

use crate::codec::Codec;
use crate::cross::Cross;
use crate::error::Error;
use crate::flood::Flood;
use crate::hold::HoldingTime;
use crate::jitter::Jitter;
use crate::loss::Loss;
use crate::share::{Mix, Share};
use crate::voice::Voice;

/// Transport of the signalling. Written `udp` or `tcp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// UDP; requests may be retransmitted.
    #[default]
    Udp,
    /// TCP, one connection per call or registration.
    Tcp,
}

impl FromStr for Transport {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "udp" => Ok(Self::Udp),
            "tcp" => Ok(Self::Tcp),
            _ => Err(Error::Model { given: text.to_owned(), right: "udp or tcp" }),
        }
    }
}

/// All parameters of the traffic: the same scenario gives the same frames, byte for byte.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Seed of all randomness.
    pub seed: u64,
    /// Earliest time of the first call.
    pub start: Nanos,
    /// Call attempts.
    pub calls: u64,
    /// Mean call attempts per second (a Poisson process).
    pub rate: f64,
    /// Time from answer to release.
    pub hold: HoldingTime,
    /// The codec of each call.
    pub codecs: Mix<Codec>,
    /// Packet time, chosen for each call among those that suit its codec.
    pub ptime: Mix<Nanos>,
    /// Loss, chosen for each stream.
    pub loss: Mix<Loss>,
    /// Packets that the sender numbers and never sends, chosen for each stream.
    pub unsent: Mix<Loss>,
    /// Loss between the capture point and the receiver, chosen for each stream.
    pub loss_behind: Mix<Loss>,
    /// Packets that reach the receiver and are not captured, chosen for each stream.
    pub uncaptured: Mix<Loss>,
    /// Jitter, chosen for each stream.
    pub jitter: Mix<Jitter>,
    /// Share of RTP packets that the next one overtakes.
    pub reorder: Share,
    /// Share of RTP packets that are duplicated.
    pub duplicate: Share,
    /// Share of calls that end in a 4xx, 5xx or 6xx.
    pub failed: Share,
    /// Share of calls and registrations that are challenged first.
    pub challenged: Share,
    /// Share of calls that the caller cancels while ringing.
    pub cancelled: Share,
    /// Share of requests and INVITE responses that are retransmitted over UDP; of segments over TCP.
    pub retransmit: Share,
    /// Share of answered calls whose media move to another host.
    pub reinvite: Share,
    /// Share of answered calls of four seconds or more in which one side puts the other on hold and resumes.
    pub on_hold: Share,
    /// Share of calls with early media (183), also failing ones: announcements.
    pub early: Share,
    /// Share of forked calls: two early dialogs until one answers.
    pub forked: Share,
    /// Share of answered calls with RTCP: reports of both sides, about every five seconds.
    pub rtcp: Share,
    /// Share of calls and registrations over IPv6.
    pub ipv6: Share,
    /// Share of calls and registrations with an 802.1Q tag.
    pub vlan: Share,
    /// Share of answered calls with one or more digits.
    pub dtmf: Share,
    /// Number of registrations, spread over the time of the calls.
    pub registrations: u64,
    /// Transport of the signalling, chosen for each call and registration.
    pub transport: Mix<Transport>,
    /// Sound of the calls.
    pub voice: Voice,
    /// Cross traffic.
    pub cross: Option<Cross>,
    /// Hostile traffic.
    pub flood: Option<Flood>,
    /// No call begins later than this after the start, and other traffic lasts at least this long. None:
    /// until the last call has ended.
    pub duration: Option<Nanos>,
}

impl Scenario {
    /// Twenty calls over a good network with the usual failures: a starting point. Holding times follow
    /// measurements of telephone networks (inverse Gaussian, mean 117 s): half of them below 37 s, a few an
    /// hour.
    pub fn new(seed: u64) -> Self {
        let share = |share| Share::new(share).unwrap_or_default();
        Self {
            seed,
            start: START,
            calls: 20,
            rate: 1.0,
            hold: HoldingTime::InverseGaussian { mean: 117.0, shape: 19.0 },
            codecs: Mix::new(vec![(Codec::PCMU, 60.0), (Codec::PCMA, 40.0)])
                .unwrap_or_else(|| Mix::only(Codec::PCMU)),
            ptime: Mix::only(Nanos::from_millis(20)),
            loss: Mix::only(Loss::None),
            unsent: Mix::only(Loss::None),
            loss_behind: Mix::only(Loss::None),
            uncaptured: Mix::only(Loss::None),
            jitter: Mix::only(Jitter::Gamma { shape: 2.0, scale: 0.5 }),
            reorder: Share::NONE,
            duplicate: Share::NONE,
            failed: share(0.05),
            challenged: share(0.1),
            cancelled: share(0.03),
            retransmit: share(0.02),
            reinvite: share(0.05),
            on_hold: Share::NONE,
            early: Share::NONE,
            forked: Share::NONE,
            rtcp: Share::NONE,
            ipv6: Share::NONE,
            vlan: Share::NONE,
            dtmf: share(0.05),
            registrations: 0,
            transport: Mix::only(Transport::Udp),
            voice: Voice::synthetic(seed),
            cross: None,
            flood: None,
            duration: None,
        }
    }

    /// Everything at once: a share of each impairment, course and transport, and a registration for every
    /// fifth call. A monitor that is right here is rarely wrong elsewhere.
    pub fn everything(seed: u64) -> Self {
        let share = |share| Share::new(share).unwrap_or_default();
        let codec = |name: &str| name.parse().unwrap_or(Codec::PCMU);
        let codecs =
            [("PCMU", 40.0), ("PCMA", 25.0), ("G729", 15.0), ("G722", 8.0), ("GSM", 4.0), ("opus", 8.0)];
        let losses = [
            (
                Loss::Gilbert {
                    to_bad: share(0.01),
                    to_good: share(0.2),
                    bad: share(0.9),
                    good: share(0.002),
                },
                0.4,
            ),
            (Loss::Bernoulli(share(0.01)), 0.3),
            (Loss::None, 0.3),
        ];
        let jitters = [
            (Jitter::Gamma { shape: 2.0, scale: 1.5 }, 0.8),
            (Jitter::Gamma { shape: 3.0, scale: 10.0 }, 0.1),
            (Jitter::None, 0.1),
        ];
        let base = Self::new(seed);
        let mix = |ptimes: &[(u64, f64)]| {
            Mix::new(ptimes.iter().map(|(ms, weight)| (Nanos::from_millis(*ms), *weight)).collect())
        };
        Self {
            codecs: Mix::new(codecs.iter().map(|(name, weight)| (codec(name), *weight)).collect())
                .unwrap_or(base.codecs),
            ptime: mix(&[(20, 80.0), (30, 10.0), (40, 5.0), (10, 5.0)]).unwrap_or(base.ptime),
            loss: Mix::new(losses.to_vec()).unwrap_or(base.loss),
            jitter: Mix::new(jitters.to_vec()).unwrap_or(base.jitter),
            reorder: share(0.01),
            duplicate: share(0.01),
            failed: share(0.1),
            cancelled: share(0.1),
            challenged: share(0.2),
            retransmit: share(0.1),
            reinvite: share(0.3),
            on_hold: share(0.15),
            early: share(0.15),
            forked: share(0.1),
            rtcp: share(0.5),
            ipv6: share(0.2),
            vlan: share(0.2),
            dtmf: share(0.3),
            registrations: base.calls / 5,
            transport: Mix::new(vec![(Transport::Udp, 80.0), (Transport::Tcp, 20.0)])
                .unwrap_or(base.transport),
            ..base
        }
    }

    /// Whether packets are lost elsewhere than before the capture point.
    pub(crate) fn loses_elsewhere(&self) -> bool {
        let models = [&self.unsent, &self.loss_behind, &self.uncaptured];
        models.iter().any(|models| models.values().any(|loss| *loss != Loss::None))
    }

    /// Checks that the values are consistent.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !(self.rate > 0.0 && self.rate <= MAX_CALL_RATE) {
            return Err(Error::Rate(self.rate));
        }
        for count in [self.calls, self.registrations] {
            if count > MAX_CALLS {
                return Err(Error::Calls(count));
            }
        }
        if self.failed.value() + self.cancelled.value() > 1.0 {
            let (failed, cancelled) = (self.failed.to_string(), self.cancelled.to_string());
            return Err(Error::Outcomes { failed, cancelled });
        }
        if self.start >= END {
            return Err(Error::Start);
        }
        self.codecs.values().try_for_each(|codec| {
            // One suitable packet time is enough; if there is none, the error is that of the first.
            let mut wrong = None;
            for ptime in self.ptime.values() {
                match codec.check(*ptime) {
                    Ok(()) => return Ok(()),
                    Err(error) => wrong = wrong.or(Some(error)),
                }
            }
            wrong.map_or(Ok(()), Err)
        })
    }
}

/// 2026-01-01 08:00 UTC.
const START: Nanos = Nanos::from_secs(1_767_254_400);
/// 2100-01-01: pcap's seconds end in 2106.
const END: Nanos = Nanos::from_secs(4_102_444_800);
const MAX_CALL_RATE: f64 = 100_000.0;
const MAX_CALLS: u64 = 6_000_000;

//! What traffic is wanted.

use std::str::FromStr;

use ringtap_model::Nanos;

use crate::codec::Codec;
use crate::error::Error;
use crate::hold::Hold;
use crate::jitter::Jitter;
use crate::loss::Loss;
use crate::share::{Mix, Share};
use crate::voice::Voice;

/// What carries the signalling. Written `udp` or `tcp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams; requests may have to be sent again.
    #[default]
    Udp,
    /// One connection a call or registration.
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

/// All that decides the traffic: the same scenario makes the same frames, byte for byte.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Everything random comes out of it.
    pub seed: u64,
    /// When the first call may come.
    pub start: Nanos,
    /// Call attempts.
    pub calls: u64,
    /// Call attempts per second, on average: they come independently of each other (Poisson).
    pub rate: f64,
    /// From answer to release.
    pub hold: Hold,
    /// The codec of each call.
    pub codecs: Mix<Codec>,
    /// Sound in one packet.
    pub ptime: Nanos,
    /// Loss, chosen for each stream.
    pub loss: Mix<Loss>,
    /// Jitter, chosen for each stream.
    pub jitter: Mix<Jitter>,
    /// RTP packets that the next one overtakes.
    pub reorder: Share,
    /// RTP packets that come twice.
    pub duplicate: Share,
    /// Calls that end in a 4xx, 5xx or 6xx.
    pub failed: Share,
    /// Calls, and registrations, that have to authenticate first.
    pub challenged: Share,
    /// Calls that the caller gives up while it rings.
    pub cancelled: Share,
    /// Requests, and answers to INVITE, that are sent again over UDP; segments over TCP.
    pub retransmit: Share,
    /// Answered calls whose media move to another host.
    pub reinvite: Share,
    /// Answered calls in which a digit or more is pressed.
    pub dtmf: Share,
    /// Registrations, spread over the time of the calls.
    pub registrations: u64,
    /// What carries the signalling.
    pub transport: Transport,
    /// What is said.
    pub voice: Voice,
}

impl Scenario {
    /// Twenty calls over a good network, with what a trunk sees of failures: a beginning to change things from.
    pub fn new(seed: u64) -> Self {
        let share = |share| Share::new(share).unwrap_or_default();
        Self {
            seed,
            start: START,
            calls: 20,
            rate: 1.0,
            hold: Hold::Exponential { mean: 20.0 },
            codecs: Mix::new(vec![(Codec::PCMU, 60.0), (Codec::PCMA, 40.0)])
                .unwrap_or_else(|| Mix::only(Codec::PCMU)),
            ptime: Nanos::from_millis(20),
            loss: Mix::only(Loss::None),
            jitter: Mix::only(Jitter::Gamma { shape: 2.0, scale: 0.5 }),
            reorder: Share::NONE,
            duplicate: Share::NONE,
            failed: share(0.05),
            challenged: share(0.1),
            cancelled: share(0.03),
            retransmit: share(0.02),
            reinvite: share(0.05),
            dtmf: share(0.05),
            registrations: 0,
            transport: Transport::Udp,
            voice: Voice::synthetic(seed),
        }
    }

    /// Whether the values go together.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !(self.rate > 0.0 && self.rate <= MOST_A_SECOND) {
            return Err(Error::Rate(self.rate));
        }
        for count in [self.calls, self.registrations] {
            if count > MOST_CALLS {
                return Err(Error::Calls(count));
            }
        }
        if self.failed.value() + self.cancelled.value() > 1.0 {
            return Err(Error::Outcomes { failed: self.failed, cancelled: self.cancelled });
        }
        if self.start >= END {
            return Err(Error::Start);
        }
        self.codecs.values().try_for_each(|codec| codec.check(self.ptime))
    }
}

/// 2026-01-01 08:00 UTC.
const START: Nanos = Nanos::from_secs(1_767_254_400);
/// 2100-01-01: pcap's seconds end in 2106.
const END: Nanos = Nanos::from_secs(4_102_444_800);
const MOST_A_SECOND: f64 = 100_000.0;
const MOST_CALLS: u64 = 6_000_000;

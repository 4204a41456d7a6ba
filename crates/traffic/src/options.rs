//! Options of a call or registration: transport, addresses, packet time, RTCP.

use ringtap_model::Nanos;

use crate::addresses::{FIRST_VLAN, VLANS};
use crate::codec::Codec;
use crate::rng::Rng;
use crate::scenario::{Scenario, Transport};

/// Drawn from a random stream of its own, so that a scenario without these options has the same calls as
/// before they existed.
#[derive(Clone, Debug)]
pub(crate) struct SessionOptions {
    pub(crate) ptime: Nanos,
    pub(crate) tcp: bool,
    pub(crate) v6: bool,
    pub(crate) vlan: Option<u16>,
    pub(crate) early: bool,
    pub(crate) forked: bool,
    pub(crate) on_hold: bool,
    pub(crate) rtcp: bool,
    /// For draws that depend on the options.
    pub(crate) rng: Rng,
}

impl SessionOptions {
    pub(crate) fn new(scenario: &Scenario, stream: u64, codec: Codec) -> Self {
        let mut rng = Rng::new(scenario.seed, OPTIONS + stream);
        let suits = |ptime: &Nanos| codec.check(*ptime).is_ok();
        // INVARIANT: the scenario was checked, so some packet time suits each of its codecs.
        let ptime = scenario.ptime.only_those(suits).unwrap_or_else(|| scenario.ptime.clone());
        Self {
            ptime: *ptime.pick(&mut rng),
            tcp: *scenario.transport.pick(&mut rng) == Transport::Tcp,
            v6: rng.chance(scenario.ipv6.value()),
            vlan: rng.chance(scenario.vlan.value()).then_some(FIRST_VLAN + (stream % VLANS) as u16),
            early: rng.chance(scenario.early.value()),
            forked: rng.chance(scenario.forked.value()),
            on_hold: rng.chance(scenario.on_hold.value()),
            rtcp: rng.chance(scenario.rtcp.value()),
            rng,
        }
    }

    /// A random span between `least` and `most` milliseconds.
    pub(crate) fn moment(&mut self, least: u64, most: u64) -> Nanos {
        Nanos::from_micros(self.rng.between(least * 1_000, most * 1_000))
    }
}

/// Separates its random stream from those of calls and registrations.
const OPTIONS: u64 = 1 << 43;

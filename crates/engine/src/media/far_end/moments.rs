//! When the last few marked packets passed, for round trips.

use ringtap_model::Nanos;

/// So many are remembered.
const MAX_MOMENTS: usize = 4;
/// A longer round trip comes from a device that fills in its fields wrongly.
const MAX_ROUND_TRIP: Nanos = Nanos::from_secs(10);
/// The same packet again within this time is the mirror port's second copy.
pub(super) const MIRROR: Nanos = Nanos::from_millis(10);

/// Arrival times of packets by the middle 32 bits of their NTP time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments {
    entries: [(u32, Nanos); MAX_MOMENTS],
    /// How many there were.
    pub(crate) count: u32,
}

impl Moments {
    /// A packet with this NTP time passed; false for the mirror's second copy.
    pub(super) fn push(&mut self, middle: u32, time: Nanos) -> bool {
        let is_copy = |(seen, at): &(u32, Nanos)| *seen == middle && time.since(*at) < MIRROR;
        if self.entries.iter().take(self.count as usize).any(is_copy) {
            return false;
        }
        self.entries[self.count as usize % MAX_MOMENTS] = (middle, time);
        self.count = self.count.saturating_add(1);
        true
    }

    /// From here to whoever answered one of these packets and back: RFC 3550 section 6.4.1, with its arrival
    /// here in place of its sending. `held` is in 1/65536 s.
    pub(super) fn round_trip(&self, middle: u32, held: u32, time: Nanos) -> Option<Nanos> {
        let seen = self.entries.iter().take(self.count as usize);
        let (_, sent) = seen.rev().find(|(of, _)| middle != 0 && *of == middle)?;
        let held = Nanos((u64::from(held) * 1_000_000_000) >> 16);
        let passed = Nanos(time.0.checked_sub(sent.0)?);
        let trip = Nanos(passed.0.checked_sub(held.0)?);
        (Nanos::ZERO < trip && trip <= MAX_ROUND_TRIP).then_some(trip)
    }
}

/// Mean and longest of round trips.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTrips {
    pub(crate) count: u32,
    sum: Nanos,
    pub(crate) max: Nanos,
}

impl RoundTrips {
    pub(super) fn add(&mut self, trip: Nanos) {
        self.count = self.count.saturating_add(1);
        self.sum += trip;
        self.max = self.max.max(trip);
    }

    /// Their mean.
    pub(crate) fn mean(&self) -> Option<Nanos> {
        (self.count > 0).then(|| Nanos(self.sum.0 / u64::from(self.count)))
    }
}

//! The clock of a pcapng interface: the length of a tick and its epoch.

use ringtap_model::Nanos;

/// `if_tsresol` and `if_tsoffset` (draft-ietf-opsawg-pcapng section 4.2), prepared for one multiplication a
/// packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    tick: Tick,
    /// Nanoseconds to add.
    offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tick {
    /// Nanoseconds per tick.
    Nanos(u64),
    /// Ticks per nanosecond.
    PerNano(u64),
    /// A tick is 2^-n seconds.
    Binary(u32),
}

impl Clock {
    /// The default of an interface.
    pub(crate) const MICROSECONDS: Self = Self { tick: Tick::Nanos(1_000), offset: 0 };

    /// With the option `if_tsresol`: the upper bit chooses a negative power of 2 instead of 10.
    pub(crate) fn with_resolution(self, resolution: u8) -> Self {
        let exponent = u32::from(resolution & 0x7f);
        let tick = if resolution & 0x80 != 0 {
            Tick::Binary(exponent)
        } else if exponent <= 9 {
            Tick::Nanos(10_u64.pow(9 - exponent))
        } else {
            // Finer than 10^-28 s, no count in 64 bits reaches a nanosecond.
            Tick::PerNano(10_u64.checked_pow(exponent - 9).unwrap_or(u64::MAX))
        };
        Self { tick, ..self }
    }

    /// With the option `if_tsoffset`, in seconds.
    pub(crate) fn with_offset(self, secs: i64) -> Self {
        Self { offset: secs.saturating_mul(1_000_000_000), ..self }
    }

    /// The time of a tick count; saturates.
    #[inline]
    pub(crate) fn time(self, ticks: u64) -> Nanos {
        let nanos = match self.tick {
            Tick::Nanos(each) => ticks.saturating_mul(each),
            Tick::PerNano(count) => ticks / count,
            // 64 + 30 bits fit; a shift below 128 is always possible.
            Tick::Binary(exponent) => {
                u64::try_from((u128::from(ticks) * 1_000_000_000) >> exponent).unwrap_or(u64::MAX)
            }
        };
        Nanos(nanos.saturating_add_signed(self.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn resolutions() {
        let clock = Clock::MICROSECONDS;
        assert_eq!(clock.time(5), Nanos(5_000));
        assert_eq!(clock.with_resolution(0).time(5), Nanos(5 * SECOND));
        assert_eq!(clock.with_resolution(3).time(1_500), Nanos(3 * SECOND / 2));
        assert_eq!(clock.with_resolution(9).time(7), Nanos(7));
        assert_eq!(clock.with_resolution(12).time(7_999), Nanos(7));
        assert_eq!(clock.with_resolution(0x80 | 20).time(3 << 19), Nanos(3 * SECOND / 2));
        assert_eq!(clock.with_resolution(0x80).time(2), Nanos(2 * SECOND));
        assert_eq!(clock.with_resolution(0x80 | 63).time(1 << 63), Nanos(SECOND));
    }

    #[test]
    fn offsets() {
        let clock = Clock::MICROSECONDS;
        assert_eq!(clock.with_offset(-1).time(3_000_000), Nanos(2 * SECOND));
        assert_eq!(clock.with_offset(4).time(1), Nanos(4 * SECOND + 1_000));
        assert_eq!(clock.with_offset(-9).time(1), Nanos::ZERO);
    }

    #[test]
    fn no_resolution_overflows() {
        for resolution in 0..=255 {
            for offset in [i64::MIN, 0, i64::MAX] {
                let clock = Clock::MICROSECONDS.with_resolution(resolution).with_offset(offset);
                let _ = (clock.time(0), clock.time(u64::MAX));
            }
        }
        assert_eq!(Clock::MICROSECONDS.time(u64::MAX), Nanos::MAX);
    }
}

//! Capture time as one engine, or one team in lockstep, sees it.

use ringtap_model::Nanos;

/// A timestamp that jumps ahead by more than this is believed when a second frame agrees, and is taken for
/// time in which nothing was captured: a bad record in a file must not end every call.
const LEAP: Nanos = Nanos::from_secs(3600);

/// The highest timestamp seen.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    now: Nanos,
    leapt: bool,
}

impl Clock {
    /// Takes a frame's time; gives the time that the source leapt over, which passed for no one. HOT.
    #[inline]
    pub(crate) fn advance(&mut self, time: Nanos) -> Nanos {
        // As a rule it is a little later; at the start and at a leap, much more.
        if time.0.wrapping_sub(self.now.0).wrapping_sub(1) < LEAP.0 {
            self.leapt = false;
            self.now = time;
            return Nanos::ZERO;
        }
        self.advance_far(time)
    }

    #[inline(never)]
    fn advance_far(&mut self, time: Nanos) -> Nanos {
        if time <= self.now {
            return Nanos::ZERO;
        }
        let by = time.since(self.now);
        let leap = self.now != Nanos::ZERO && by > LEAP;
        if leap && !self.leapt {
            self.leapt = true;
            return Nanos::ZERO;
        }
        self.leapt = false;
        self.now = time;
        if leap { by } else { Nanos::ZERO }
    }

    /// Time has passed without a frame.
    pub(crate) fn pass(&mut self, now: Nanos) {
        self.now = self.now.max(now);
    }

    pub(crate) fn now(&self) -> Nanos {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Nanos {
        Nanos::from_secs(1_700_000_000 + secs)
    }

    /// The clock after each of these times, and what it leapt.
    fn advance(times: &[u64]) -> Vec<(u64, u64)> {
        let mut clock = Clock::default();
        clock.advance(at(0));
        let mut seen = Vec::new();
        for time in times {
            let leapt = clock.advance(at(*time));
            seen.push((clock.now().since(at(0)).0 / 1_000_000_000, leapt.0 / 1_000_000_000));
        }
        seen
    }

    #[test]
    fn the_first_frame_sets_the_clock_without_a_leap() {
        let mut clock = Clock::default();
        assert_eq!((clock.advance(at(0)), clock.now()), (Nanos::ZERO, at(0)));
    }

    #[test]
    fn time_never_goes_back() {
        assert_eq!(advance(&[10, 5, 10, 11]), [(10, 0), (10, 0), (10, 0), (11, 0)]);
    }

    #[test]
    fn an_hour_without_frames_is_silence_and_more_a_leap_once_a_second_frame_agrees() {
        assert_eq!(advance(&[3600, 3601]), [(3600, 0), (3601, 0)]);
        assert_eq!(advance(&[3601, 3602]), [(0, 0), (3602, 3602)]);
    }

    #[test]
    fn one_wrong_timestamp_is_not_believed() {
        assert_eq!(advance(&[90_000, 1, 2, 90_000, 3]), [(0, 0), (1, 0), (2, 0), (2, 0), (3, 0)]);
    }

    #[test]
    fn time_passes_without_frames() {
        let mut clock = Clock::default();
        clock.advance(at(0));
        clock.pass(at(5));
        clock.pass(at(3));
        assert_eq!(clock.now(), at(5));
    }
}

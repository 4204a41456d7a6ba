//! Capture time as one engine, or one team in lockstep, sees it.

use ringtap_model::Nanos;

/// A timestamp that jumps ahead by more than this is believed when a second frame agrees, and is taken for time in
/// which nothing was captured: a bad record in a file must not end every call.
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

//! Many workers over one input, with the records of one: what its driver has every worker do, and when.
//!
//! A batch never spans a turn of the clock, and within it each kind of work is done by all workers before the next begins:
//! so everything happens in the order of the frames, wherever it happens.

use ringtap_model::Nanos;

use crate::clock::Clock;
use crate::wheel::Wheel;

/// A turn of the clock, before the frame that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Capture time.
    pub(crate) now: Nanos,
    /// Time in which nothing was captured.
    pub(crate) leap: Nanos,
}

/// One kind of work. Every worker does it before any does the next; [`batch`] and [`close`] name them in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Time passes.
    Time(Moment),
    /// Letters from other workers are read and answered.
    Settle,
    /// Datagrams are put together: with the worker's frames that are fragments.
    Fragments,
    /// Packets are decoded, messages go to the owners of their Call-IDs: with the worker's other frames.
    Front,
    /// Messages are taken in order of their frames.
    Signalling,
    /// Media packets are taken in order of their frames, among what was announced by other frames.
    Media,
    /// The input has ended: what waits behind a hole is taken.
    Flush,
    /// What streams taught takes effect.
    Learn,
    /// Calls end.
    End,
    /// Everything else ends.
    Close,
}

/// Runs the stages of one batch. `run` has every worker do a stage and tells whether [`Engine::stage`](crate::Engine::stage)
/// was true for any. `moment` is what [`Pace::take`] said of its first frame, `has_fragments` whether any frame is one.
pub fn batch(moment: Option<Moment>, has_fragments: bool, mut run: impl FnMut(Stage) -> bool) {
    let stages = [
        moment.map(Stage::Time),
        has_fragments.then_some(Stage::Fragments),
        Some(Stage::Front),
        Some(Stage::Signalling),
        Some(Stage::Media),
    ];
    stages.into_iter().flatten().for_each(|stage| settled(stage, &mut run));
}

/// Runs the stages that end everything under way, as [`batch`] those of a batch. A team that was live ends so too.
pub fn close(mut run: impl FnMut(Stage) -> bool) {
    [Stage::Flush, Stage::Signalling, Stage::Media].into_iter().for_each(|stage| settled(stage, &mut run));
    while run(Stage::Learn) {}
    [Stage::End, Stage::Close].into_iter().for_each(|stage| settled(stage, &mut run));
}

fn settled(stage: Stage, run: &mut impl FnMut(Stage) -> bool) {
    let mut more = run(stage);
    while more {
        more = run(Stage::Settle);
    }
}

/// Tells where batches must be cut.
#[derive(Debug)]
pub struct Pace {
    clock: Clock,
    /// Holds no timer: it turns as those of the workers do.
    wheel: Wheel,
}

impl Default for Pace {
    fn default() -> Self {
        Self { clock: Clock::default(), wheel: Wheel::new(0) }
    }
}

impl Pace {
    /// Looks at the next frame's time. `Some`: a new batch begins with this frame, and with this moment.
    pub fn take(&mut self, time: Nanos) -> Option<Moment> {
        let leap = self.clock.advance(time);
        if leap > Nanos::ZERO {
            self.wheel.leap(leap);
        }
        let now = self.clock.now();
        let due = self.wheel.due(now);
        if due {
            self.wheel.expired(now, &mut Vec::new());
        }
        (due || leap > Nanos::ZERO).then_some(Moment { now, leap })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_cut_at_every_turn_of_the_clock() {
        let mut pace = Pace::default();
        let at = |millis| Nanos::from_secs(1_700_000_000) + Nanos::from_millis(millis);
        let cuts: Vec<bool> = [0, 10, 499, 500, 400, 501, 1000, 8_000_000, 8_000_010, 8_000_020]
            .map(|millis| pace.take(at(millis)).is_some())
            .into();
        // A leap of two hours is believed when a second frame agrees; it ends nothing, but the clock leaps.
        assert_eq!(cuts, [true, false, false, true, false, false, true, false, true, false]);
    }

    #[test]
    fn stages_settle_before_the_next_begins() {
        let mut done = Vec::new();
        let mut answers = [true, true, false, false, false].into_iter();
        batch(None, false, |stage| {
            done.push(stage);
            answers.next().unwrap()
        });
        let wanted = [Stage::Front, Stage::Settle, Stage::Settle, Stage::Signalling, Stage::Media];
        assert_eq!(done, wanted);
    }
}

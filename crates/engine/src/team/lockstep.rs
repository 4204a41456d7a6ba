//! Several workers over one input that produce the records of a single engine: the stages every worker runs,
//! and their order.
//!
//! A batch never spans a tick of the clock, and all workers finish a stage before the next begins. So
//! everything happens in frame order, whichever worker does it.

use ringtap_model::Nanos;

use crate::input::clock::Clock;
use crate::table::timers::TimerWheel;

/// A tick of the engine's clock, which precedes the frame that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockTick {
    /// Capture time.
    pub(crate) now: Nanos,
    /// Jump of the capture clock during which nothing was captured.
    pub(crate) leap: Nanos,
}

/// One stage of a batch. All workers finish it before any begins the next; [`batch`] and [`close`] define the
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The clock advances and timers fire.
    Tick(ClockTick),
    /// Messages from other workers are read and answered.
    Exchange,
    /// IP fragments are reassembled; takes the worker's fragment frames.
    Fragments,
    /// Frames are decoded and SIP messages forwarded to the owners of their Call-IDs; takes the worker's
    /// other frames.
    Decode,
    /// SIP messages are processed in frame order.
    Signalling,
    /// Media packets are processed in frame order, interleaved with the announcements from other frames.
    Media,
    /// The input has ended: data held back behind gaps is released.
    Flush,
    /// Endpoints learned from streams take effect.
    ApplyLearned,
    /// Calls end.
    EndCalls,
    /// Everything else ends.
    Close,
}

/// Runs the stages of one batch. `run` has every worker run a stage and returns whether
/// [`Engine::stage`](crate::Engine::stage) was true for any. `tick` is what [`BatchCutter::next_frame`]
/// returned for the first frame; `has_fragments`: some frame is a fragment.
pub fn batch(tick: Option<ClockTick>, has_fragments: bool, mut run: impl FnMut(Stage) -> bool) {
    let stages = [
        tick.map(Stage::Tick),
        has_fragments.then_some(Stage::Fragments),
        Some(Stage::Decode),
        Some(Stage::Signalling),
        Some(Stage::Media),
    ];
    stages.into_iter().flatten().for_each(|stage| exchanged(stage, &mut run));
}

/// Runs the stages that end everything in progress; also ends a team that ran live.
pub fn close(mut run: impl FnMut(Stage) -> bool) {
    [Stage::Flush, Stage::Signalling, Stage::Media].into_iter().for_each(|stage| exchanged(stage, &mut run));
    while run(Stage::ApplyLearned) {}
    [Stage::EndCalls, Stage::Close].into_iter().for_each(|stage| exchanged(stage, &mut run));
}

fn exchanged(stage: Stage, run: &mut impl FnMut(Stage) -> bool) {
    let mut more = run(stage);
    while more {
        more = run(Stage::Exchange);
    }
}

/// Decides where batches must be cut.
#[derive(Debug)]
pub struct BatchCutter {
    clock: Clock,
    /// Holds no timer; it ticks as those of the workers do.
    timers: TimerWheel,
}

impl Default for BatchCutter {
    fn default() -> Self {
        Self { clock: Clock::default(), timers: TimerWheel::new(0) }
    }
}

impl BatchCutter {
    /// Examines the next frame's time. `Some`: a new batch begins with this frame, after this tick.
    pub fn next_frame(&mut self, time: Nanos) -> Option<ClockTick> {
        let leap = self.clock.advance(time);
        if leap > Nanos::ZERO {
            self.timers.leap(leap);
        }
        let now = self.clock.now();
        let due = self.timers.due(now);
        if due {
            self.timers.expired(now, &mut Vec::new());
        }
        (due || leap > Nanos::ZERO).then_some(ClockTick { now, leap })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_cut_at_every_tick_of_the_clock() {
        let mut cutter = BatchCutter::default();
        let at = |millis| Nanos::from_secs(1_700_000_000) + Nanos::from_millis(millis);
        let cuts: Vec<bool> = [0, 10, 499, 500, 400, 501, 1000, 8_000_000, 8_000_010, 8_000_020]
            .map(|millis| cutter.next_frame(at(millis)).is_some())
            .into();
        // A leap of two hours is believed when a second frame agrees; it ends nothing, but the clock leaps.
        assert_eq!(cuts, [true, false, false, true, false, false, true, false, true, false]);
    }

    #[test]
    fn messages_are_exchanged_before_the_next_stage() {
        let mut done = Vec::new();
        let mut answers = [true, true, false, false, false].into_iter();
        batch(None, false, |stage| {
            done.push(stage);
            answers.next().unwrap()
        });
        let wanted = [Stage::Decode, Stage::Exchange, Stage::Exchange, Stage::Signalling, Stage::Media];
        assert_eq!(done, wanted);
    }
}

//! Several workers over one input that produce the records of a single engine: the stages every worker runs,
//! and their order.
//!
//! A batch never spans a tick of the clock, and all workers finish a stage before the next begins. So
//! everything happens in frame order, whichever worker does it.

use ringtap_model::Nanos;

use super::FrameList;
use crate::input::clock::Clock;
use crate::table::timers::TimerWheel;

/// A tick of the engine's clock, which precedes the frame that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockTick {
    /// Capture time.
    pub(crate) now: Nanos,
    /// Jump of the capture clock during which nothing was captured.
    pub(crate) leap: Nanos,
    /// Half a second is over: timers fire.
    pub(crate) is_due: bool,
}

impl ClockTick {
    /// Whether timers fire. A leap of the clock alone fires none.
    pub fn is_due(&self) -> bool {
        self.is_due
    }
}

/// One stage of a batch. All workers finish it before any begins the next; [`Stages`] defines the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The clock advances and timers fire.
    Tick(ClockTick),
    /// Messages from other workers are read and answered.
    Exchange,
    /// IP fragments are reassembled; takes the worker's [fragments](super::FrameList::Fragments).
    Fragments,
    /// Frames are decoded and SIP messages forwarded to the owners of their Call-IDs; takes the worker's
    /// [other frames](super::FrameList::Others).
    Decode,
    /// SIP messages are processed in frame order; takes the worker's [SIP](super::FrameList::Sip).
    Signalling,
    /// Media packets are processed in frame order, interleaved with the announcements from other frames;
    /// takes the worker's [media](super::FrameList::Media).
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

/// Which stages a batch needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchKind {
    /// What [`BatchCutter::next_frame`] returned for the first frame.
    pub tick: Option<ClockTick>,
    /// Some frame is a fragment.
    pub has_fragments: bool,
    /// Some frame is a SIP message.
    pub has_sip: bool,
    /// Some frame is anything else but media.
    pub has_others: bool,
}

impl BatchKind {
    /// Of media alone: no worker has to wait for another, before this batch or in it.
    pub fn is_media(&self) -> bool {
        *self == Self::default()
    }

    /// Enters that a frame is in a list.
    #[inline]
    pub fn add(&mut self, list: FrameList) {
        match list {
            FrameList::Media => {}
            FrameList::Sip => self.has_sip = true,
            FrameList::Others => self.has_others = true,
            FrameList::Fragments => self.has_fragments = true,
        }
    }
}

/// The stages of one batch, or of the end, in order. All workers run each and finish it before the next.
#[derive(Debug)]
pub struct Stages {
    left: [Option<Stage>; 6],
    last: Option<Stage>,
}

impl Stages {
    /// Those of a batch.
    pub fn of_batch(kind: BatchKind) -> Self {
        let decodes = kind.has_fragments || kind.has_others;
        let left = [
            kind.tick.map(Stage::Tick),
            kind.has_fragments.then_some(Stage::Fragments),
            decodes.then_some(Stage::Decode),
            (decodes || kind.has_sip).then_some(Stage::Signalling),
            Some(Stage::Media),
            None,
        ];
        Self { left, last: None }
    }

    /// Those that end everything in progress; they also end a team that ran live.
    pub fn of_end() -> Self {
        let left = [
            Stage::Flush,
            Stage::Signalling,
            Stage::Media,
            Stage::ApplyLearned,
            Stage::EndCalls,
            Stage::Close,
        ];
        Self { left: left.map(Some), last: None }
    }

    /// The next stage, or none after the last. `more`: [`Engine::stage`](crate::Engine::stage) returned true
    /// for some worker in the stage before.
    pub fn next(&mut self, more: bool) -> Option<Stage> {
        if more && self.last.is_some() {
            return match self.last {
                again @ Some(Stage::ApplyLearned) => again,
                _ => Some(Stage::Exchange),
            };
        }
        self.last = self.left.iter_mut().find_map(Option::take);
        self.last
    }
}

impl Stage {
    /// The list of a worker's frames that it takes.
    pub fn list(self) -> Option<FrameList> {
        match self {
            Self::Fragments => Some(FrameList::Fragments),
            Self::Decode => Some(FrameList::Others),
            Self::Signalling => Some(FrameList::Sip),
            Self::Media => Some(FrameList::Media),
            _ => None,
        }
    }
}

/// Runs the stages of one batch. `run` has every worker run a stage and returns whether
/// [`Engine::stage`](crate::Engine::stage) was true for any.
pub fn batch(kind: BatchKind, run: impl FnMut(Stage) -> bool) {
    each(Stages::of_batch(kind), run);
}

/// Runs the stages that end everything in progress; also ends a team that ran live.
pub fn close(run: impl FnMut(Stage) -> bool) {
    each(Stages::of_end(), run);
}

fn each(mut stages: Stages, mut run: impl FnMut(Stage) -> bool) {
    let mut more = false;
    while let Some(stage) = stages.next(more) {
        more = run(stage);
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
        (due || leap > Nanos::ZERO).then_some(ClockTick { now, leap, is_due: due })
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
        batch(BatchKind { has_others: true, ..BatchKind::default() }, |stage| {
            done.push(stage);
            answers.next().unwrap()
        });
        let wanted = [Stage::Decode, Stage::Exchange, Stage::Exchange, Stage::Signalling, Stage::Media];
        assert_eq!(done, wanted);
    }

    #[test]
    fn a_batch_of_media_is_one_stage() {
        let mut done = Vec::new();
        batch(BatchKind::default(), |stage| {
            done.push(stage);
            false
        });
        assert_eq!(done, [Stage::Media]);
    }

    #[test]
    fn what_was_learned_is_applied_until_nothing_more_is_learned() {
        let mut done = Vec::new();
        close(|stage| {
            done.push(stage);
            stage == Stage::ApplyLearned && done.len() < 6
        });
        let wanted =
            [Stage::Flush, Stage::Signalling, Stage::Media, Stage::ApplyLearned, Stage::ApplyLearned];
        assert_eq!(done[..5], wanted);
        assert_eq!(done[5..], [Stage::ApplyLearned, Stage::EndCalls, Stage::Close]);
    }
}

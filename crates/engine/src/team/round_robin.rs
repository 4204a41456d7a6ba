//! A team in lockstep whose workers take turns in one thread: for tests, and to see what threads would do.

use ringtap_model::Frame;

use super::{BatchCutter, ClockTick, assign, lockstep};
use crate::config::Config;
use crate::counters::Counters;
use crate::engine::Engine;
use crate::sink::Sink;

/// See the module. It gives the records of one [`Engine`] over the same frames, in another order.
pub struct RoundRobin {
    engines: Vec<Engine>,
    cutter: BatchCutter,
}

impl RoundRobin {
    /// With so many workers.
    pub fn new(config: &Config, workers: usize) -> Self {
        Self { engines: Engine::team(config, workers), cutter: BatchCutter::default() }
    }

    /// Takes frames in order of capture, whose numbers ascend.
    pub fn batch<S: Sink>(&mut self, frames: &[Frame<'_>], sink: &mut S) {
        let mut start = 0;
        let mut tick = None;
        for (index, frame) in frames.iter().enumerate() {
            if let Some(next) = self.cutter.next_frame(frame.time) {
                self.step(tick.replace(next), &frames[start..index], sink);
                start = index;
            }
        }
        self.step(tick, &frames[start..], sink);
    }

    fn step<S: Sink>(&mut self, tick: Option<ClockTick>, frames: &[Frame<'_>], sink: &mut S) {
        if tick.is_none() && frames.is_empty() {
            return;
        }
        let workers = self.engines.len();
        let mut plain = vec![Vec::new(); workers];
        let mut fragments = plain.clone();
        for frame in frames {
            let assignment = assign(frame, workers);
            let list = if assignment.is_fragment { &mut fragments } else { &mut plain };
            list[assignment.worker].push(*frame);
        }
        let has_fragments = fragments.iter().any(|list| !list.is_empty());
        lockstep::batch(tick, has_fragments, |stage| {
            let none = vec![Vec::new(); workers];
            let lists = match stage {
                lockstep::Stage::Fragments => &fragments,
                lockstep::Stage::Decode => &plain,
                _ => &none,
            };
            let all = self.engines.iter_mut().zip(lists);
            all.fold(false, |more, (engine, frames)| engine.stage(stage, frames, sink) | more)
        });
    }

    /// Ends everything that is under way.
    pub fn close<S: Sink>(&mut self, sink: &mut S) {
        let engines = &mut self.engines;
        lockstep::close(|stage| {
            engines.iter_mut().fold(false, |more, engine| engine.stage(stage, &[], sink) | more)
        });
    }

    /// What all workers counted.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.engines.iter().for_each(|engine| sum += engine.counters());
        sum
    }
}

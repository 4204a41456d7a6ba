//! A team in lockstep whose workers run in one thread, round robin: for tests.

use ringtap_model::Frame;

use crate::config::Config;
use crate::counters::Counters;
use crate::engine::Engine;
use crate::sink::Sink;
use crate::team::{self, Assigner, BatchCutter, BatchKind, ClockTick, FrameList};

/// See the module. Produces the records of one [`Engine`] over the same frames, in another order.
pub struct RoundRobin {
    engines: Vec<Engine>,
    cutter: BatchCutter,
    assigner: Assigner,
}

impl RoundRobin {
    /// With `workers` workers.
    pub fn new(config: &Config, workers: usize) -> Self {
        let assigner = Assigner::new(config, workers);
        Self { engines: Engine::team(config, workers), cutter: BatchCutter::default(), assigner }
    }

    /// Handles frames in capture order, whose numbers ascend.
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
        let mut lists = vec![[const { Vec::new() }; FrameList::COUNT]; workers];
        let mut kind = BatchKind { tick, ..BatchKind::default() };
        for frame in frames {
            let assignment = self.assigner.assign(frame);
            kind.add(assignment.list);
            lists[assignment.worker][assignment.list as usize].push(*frame);
        }
        team::batch(kind, |stage| {
            let list = stage.list();
            let all = self.engines.iter_mut().zip(&lists);
            all.fold(false, |more, (engine, lists)| {
                let frames = list.map_or(&[][..], |list| &lists[list as usize]);
                engine.stage(stage, frames, sink) | more
            })
        });
    }

    /// Ends everything in progress.
    pub fn close<S: Sink>(&mut self, sink: &mut S) {
        let engines = &mut self.engines;
        team::close(|stage| {
            engines.iter_mut().fold(false, |more, engine| engine.stage(stage, &[], sink) | more)
        });
    }

    /// The counters of all workers, summed.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.engines.iter().for_each(|engine| sum += engine.counters());
        sum
    }
}

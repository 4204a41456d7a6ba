//! One worker against two that share the same media, as in a fan-out.

use std::thread;

use ringtap_engine::{Engine, team};
use ringtap_model::Frame;

use crate::dialog::Message;
use crate::error::{Error, same};
use crate::headers::Headers;
use crate::load::Load;
use crate::media::{self, Media, advance, config, lay_out, room, set_up};
use crate::outcome::{Figure, Measure, Outcome, Unit};
use crate::passes::{self, Pass};
use crate::results::{Expected, Results};
use crate::ring::{ETHERNET, Ring};

/// Number of workers to compare with one.
const WORKERS: usize = 2;

/// Runs the workload.
pub(crate) fn run(load: &Load, progress: &mut dyn FnMut(&str)) -> Result<Outcome, Error> {
    progress("laying out packets");
    let mut one = Media::prepare(load)?;
    let mut two = Workers::prepare(load)?;
    let mut rounds = Vec::new();
    for round in 1..=load.rounds {
        progress(&format!("round {round} of {}", load.rounds));
        one.advance();
        two.advance();
        let reference = passes::reference(one.whole());
        rounds.push(Round { packets: one.whole().frames, reference, one: one.pass(), two: two.pass()? });
    }
    progress("checking the records");
    let (packets, frame_bytes) = (one.whole().frames, one.whole().bytes as f64 / one.whole().frames as f64);
    one.verify()?;
    two.verify()?;
    let rates = [
        ("reference", "each header read by one, nothing else", Round::base as Rate),
        ("engine", "one worker", Round::single),
        ("engine_two", "two workers", Round::both),
    ];
    let mut measures = Vec::new();
    for (name, what, rate) in rates {
        let Some(figure) = Figure::of(rounds.iter().map(rate)) else { continue };
        let ratio =
            Figure::of(rounds.iter().map(|round| rate(round) / round.base())).filter(|_| name != "reference");
        measures.push(Measure {
            name: name.to_owned(),
            what: what.to_owned(),
            unit: Unit::Packets,
            figure,
            ratio,
        });
    }
    if let Some(figure) = Figure::of(rounds.iter().map(|round| round.both() / round.single())) {
        let what = "two workers against one, of the same round".to_owned();
        measures.push(Measure { name: "gain".to_owned(), what, unit: Unit::Times, figure, ratio: None });
    }
    Ok(Outcome {
        workload: "workers".to_owned(),
        what: "media of calls by one worker and by two".to_owned(),
        calls: u64::from(load.calls),
        streams: u64::from(load.calls) * 2,
        packets,
        frame_bytes,
        rounds: load.rounds,
        measures,
        memory: None,
    })
}

/// Packets per second in one round.
type Rate = fn(&Round) -> f64;

struct Round {
    packets: u64,
    reference: Pass,
    one: Pass,
    two: [Pass; WORKERS],
}

impl Round {
    fn base(&self) -> f64 {
        self.reference.rate(self.packets)
    }

    fn single(&self) -> f64 {
        self.one.rate(self.packets)
    }

    /// Both run in parallel: the slower one counts.
    fn both(&self) -> f64 {
        self.two.iter().map(|pass| pass.rate(self.packets)).fold(f64::MAX, f64::min)
    }
}

/// A worker: its engine, its packets, its results.
struct Worker {
    engine: Engine,
    ring: Ring,
    results: Results,
}

struct Workers {
    load: Load,
    packets: u32,
    members: Vec<Worker>,
    passed: u64,
}

impl Workers {
    fn prepare(load: &Load) -> Result<Self, Error> {
        let packets = media::packets_per_stream(load);
        let all = load.calls as usize * 2 * packets as usize;
        let engines = Engine::team(&config(load), WORKERS);
        let mut members: Vec<Worker> = (1..)
            .zip(engines)
            .map(|(worker, engine)| Worker {
                engine,
                ring: room(load, all * 5 / (4 * WORKERS)).numbered_after(worker << 40),
                results: Results::of_calls_with(2),
            })
            .collect();
        lay_out(load, packets, |time, data| {
            let frame = Frame { time, number: 0, link: ETHERNET, wire_len: data.len() as u32, data };
            members[place(&frame)].ring.push(time, data);
        });
        set_up(load, &mut |frame| {
            let at = place(frame);
            for (worker, member) in members.iter_mut().enumerate() {
                let own = if worker == at { std::slice::from_ref(frame) } else { &[] };
                member.engine.batch(own, &mut member.results);
            }
        });
        let streams: usize = members.iter().map(|member| member.engine.under_way().1).sum();
        same("streams under way", streams, load.calls as usize * 2)?;
        let mut team = Self { load: load.clone(), packets, members, passed: 0 };
        team.pass()?;
        Ok(team)
    }

    fn advance(&mut self) {
        self.members.iter_mut().for_each(|member| advance(&mut member.ring, Headers::Plain, self.packets));
    }

    /// Runs every worker in its own thread, in parallel.
    fn pass(&mut self) -> Result<[Pass; WORKERS], Error> {
        self.passed += 1;
        let batch = self.load.batch;
        let passes: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = self
                .members
                .iter_mut()
                .map(|Worker { engine, ring, results }| {
                    scope.spawn(move || passes::engine(ring.whole(), batch, engine, results))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().ok()).collect()
        });
        let passes: Option<Vec<Pass>> = passes.into_iter().collect();
        passes
            .and_then(|passes| passes.try_into().ok())
            .ok_or_else(|| Error::Load("a worker did not come to its end".to_owned()))
    }

    fn verify(mut self) -> Result<(), Error> {
        team::close(|stage| {
            let mut more = false;
            for Worker { engine, results, .. } in &mut self.members {
                more |= engine.stage(stage, &[], results);
            }
            more
        });
        let packets: u64 = self.members.iter().map(|member| member.ring.len()).sum();
        let calls = u64::from(self.load.calls);
        let mut whole = Results::of_calls_with(2);
        let mut engines = Vec::new();
        for Worker { engine, results, .. } in &self.members {
            whole.add(results);
            engines.push(engine);
        }
        let expected = Expected {
            calls,
            completed: 0,
            packets: self.passed * packets + calls * 2,
            messages: calls * Message::SET_UP.len() as u64,
        };
        whole.verify(&expected, &engines)
    }
}

/// The worker to which a fan-out assigns a frame.
fn place(frame: &Frame<'_>) -> usize {
    team::Assigner::new(&ringtap_engine::Config::default(), WORKERS).assign(frame).worker
}

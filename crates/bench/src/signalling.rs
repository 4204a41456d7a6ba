//! Calls that start and end at the same rate: SIP alone, or with their first media packets.

use ringtap_engine::{Config, Engine};
use ringtap_model::Nanos;

use crate::dialog::{Message, Writer};
use crate::error::{Error, same};
use crate::load::{Load, Workload};
use crate::machine;
use crate::media::START;
use crate::outcome::{Figure, Measure, Memory, Outcome, Unit};
use crate::packets::{self, Noise, Side};
use crate::passes::{self, Pass};
use crate::results::{Expected, Results};
use crate::ring::{FrameRange, Position, Ring};

/// Seconds from INVITE to BYE; to ringing; to the answer.
const LIFE: u64 = 120;
const RINGS: u64 = 1;
const ANSWERED: u64 = 5;

/// With media or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallMedia {
    Sip,
    Calls,
}

/// An engine in which as many calls start as end.
pub(crate) struct Calls {
    batch: usize,
    engine: Engine,
    results: Results,
    memory: Option<Memory>,
}

impl Calls {
    /// Prepares the steady state.
    pub(crate) fn prepare(load: &Load, media: CallMedia, timeline: &Timeline) -> Result<Self, Error> {
        let before = machine::resident();
        let mut calls = Self {
            batch: load.batch,
            engine: Engine::new(sized(load, Config::default())),
            results: Results::of_calls_with(if media == CallMedia::Calls { 2 } else { 0 }),
            memory: None,
        };
        calls.feed(timeline.ring.between(Position::default(), timeline.full));
        same("calls under way", calls.engine.under_way().0, load.calls as usize)?;
        calls.memory = before.zip(machine::resident()).map(|(before, after)| {
            let total = after.saturating_sub(before);
            Memory { total, per_call: total / u64::from(load.calls) }
        });
        calls.feed(timeline.ring.between(timeline.full, timeline.steady));
        Ok(calls)
    }

    /// The part that is measured.
    pub(crate) fn pass(&mut self, timeline: &Timeline) -> Pass {
        Pass::of(|| self.measured(timeline))
    }

    /// The same without timing. Returns the number of frames.
    pub(crate) fn measured(&mut self, timeline: &Timeline) -> u64 {
        self.feed(timeline.range())
    }

    fn feed(&mut self, range: FrameRange<'_>) -> u64 {
        passes::feed(range, self.batch, &mut self.engine, &mut self.results)
    }

    /// Runs the rest and checks the engine's results.
    pub(crate) fn verify(mut self, timeline: &Timeline) -> Result<(), Error> {
        self.feed(timeline.ring.between(timeline.measured, timeline.ring.mark()));
        self.engine.close(&mut self.results);
        self.results.verify(&timeline.expected, &[&self.engine])
    }
}

/// Messages and packets of calls in order of time, with its phases.
pub(crate) struct Timeline {
    ring: Ring,
    /// The requested number of calls is active, none was released.
    full: Position,
    /// Released calls leave the engine's tables: the steady state begins.
    steady: Position,
    /// End of the measured part; afterwards the remaining calls are answered and released.
    measured: Position,
    expected: Expected,
    /// Calls of the measured part.
    pub(crate) turnover: u64,
}

/// Runs it.
pub(crate) fn run(load: &Load, media: CallMedia, progress: &mut dyn FnMut(&str)) -> Result<Outcome, Error> {
    progress("laying out calls");
    let timeline = Timeline::lay_out(load, media);
    let range = timeline.range();
    let (mut rounds, mut memory) = (Vec::new(), None);
    for round in 1..=load.rounds {
        progress(&format!("round {round} of {}", load.rounds));
        let mut calls = Calls::prepare(load, media, &timeline)?;
        // Later rounds reuse memory that the first has freed.
        memory = memory.or(calls.memory);
        let whole = calls.pass(&timeline);
        calls.verify(&timeline)?;
        let parsed = passes::messages(range);
        same("SIP messages read", parsed.counted, timeline.turnover * Message::COUNT as u64)?;
        rounds.push([passes::reference(range), passes::decoding(range), parsed, whole]);
    }
    let counts = match media {
        CallMedia::Sip => {
            (Unit::Messages, timeline.turnover * Message::COUNT as u64, "sip", "SIP alone, calls come and go")
        }
        CallMedia::Calls => {
            (Unit::Calls, timeline.turnover, "calls", "whole lives of calls, with their first media packets")
        }
    };
    let (unit, count, workload, text) = counts;
    Ok(Outcome {
        workload: workload.to_owned(),
        what: text.to_owned(),
        calls: u64::from(load.calls),
        streams: if media == CallMedia::Calls { 2 * u64::from(load.calls) } else { 0 },
        packets: range.frames,
        frame_bytes: range.bytes as f64 / range.frames as f64,
        rounds: load.rounds,
        measures: stages(&rounds, unit, count),
        memory,
    })
}

impl Timeline {
    /// At every step one call begins, one rings, one is answered and one is released.
    pub(crate) fn lay_out(load: &Load, media: CallMedia) -> Self {
        let linger = Config::default().linger;
        let frames_each = Message::COUNT as u32 + if media == CallMedia::Calls { 2 } else { 0 };
        let workload = if media == CallMedia::Calls { Workload::Calls } else { Workload::Sip };
        let turnover = (load.frames(workload) / frames_each).max(1);
        let (rings, answered) = (steps(load, RINGS), steps(load, ANSWERED));
        let full = load.calls;
        let steady = full + steps(load, linger.0 / 1_000_000_000 + 1);
        let measured = steady + turnover;
        let apart = LIFE * 1_000_000_000 / u64::from(load.calls);

        let frames = (measured as usize + answered as usize) * frames_each as usize;
        let mut ring = Ring::with_capacity(frames, 560);
        let (mut full_at, mut steady_at, mut measured_at) =
            (Position::default(), Position::default(), Position::default());
        let mut maker =
            CallWriter { load, media, writer: Writer::default(), packet: Vec::new(), noise: Noise::new() };
        let mut expected = Expected { calls: u64::from(measured), ..Expected::default() };
        for step in 0..measured + answered {
            for (place, at) in [(full, &mut full_at), (steady, &mut steady_at), (measured, &mut measured_at)]
            {
                if step == place {
                    *at = ring.mark();
                }
            }
            let begin = START.0 + u64::from(step) * apart;
            let mut frame = 0;
            let mut push = |ring: &mut Ring, data: &[u8]| {
                ring.push(Nanos(begin + frame * apart / 16), data);
                frame += 1;
            };
            let alive = |call: &u32| *call < measured;
            // Release first, so that the number of active calls never exceeds the requested one.
            if let Some(call) = step.checked_sub(full).filter(alive) {
                maker.release(call, |data| push(&mut ring, data));
                expected.completed += 1;
            }
            if alive(&step) {
                maker.begin(step, |data| push(&mut ring, data));
            }
            if let Some(call) = step.checked_sub(rings).filter(alive) {
                maker.ring(call, |data| push(&mut ring, data));
            }
            if let Some(call) = step.checked_sub(answered).filter(alive) {
                maker.answer(call, |data| push(&mut ring, data));
            }
        }
        expected.messages = u64::from(measured) * Message::SET_UP.len() as u64 + expected.completed * 2;
        expected.packets = if media == CallMedia::Calls { 2 * u64::from(measured) } else { 0 };
        Self {
            ring,
            full: full_at,
            steady: steady_at,
            measured: measured_at,
            expected,
            turnover: u64::from(turnover),
        }
    }

    /// The part that is measured.
    fn range(&self) -> FrameRange<'_> {
        self.ring.between(self.steady, self.measured)
    }
}

fn stages(rounds: &[[Pass; 4]], unit: Unit, count: u64) -> Vec<Measure> {
    let names = [
        ("reference", "each header read, nothing else"),
        ("decode", "frames decoded to UDP"),
        ("sip", "and SIP messages indexed"),
        ("engine", "the whole engine, records made"),
    ];
    let mut measures = Vec::new();
    for (index, (name, what)) in names.into_iter().enumerate() {
        let ratios = rounds.iter().map(|round| round[index].rate(count) / round[0].rate(count));
        let ratio = Figure::of(ratios).filter(|_| index > 0);
        let Some(figure) = Figure::of(rounds.iter().map(|round| round[index].rate(count))) else { continue };
        measures.push(Measure { name: name.to_owned(), what: what.to_owned(), unit, figure, ratio });
    }
    measures
}

/// Room for active calls and for released ones that wait for late packets.
fn sized(load: &Load, config: Config) -> Config {
    let waiting = steps(load, config.linger.0 / 1_000_000_000 + 2);
    let calls = load.calls as usize + waiting as usize + 64;
    Config { max_calls: calls, max_streams: 2 * calls, measure_sound: load.sound, ..config }
}

/// Calls that begin in `seconds` seconds.
fn steps(load: &Load, seconds: u64) -> u32 {
    (u64::from(load.calls) * seconds / LIFE) as u32 + 1
}

/// Writes the messages and packets of a call.
struct CallWriter<'a> {
    load: &'a Load,
    media: CallMedia,
    writer: Writer,
    packet: Vec<u8>,
    noise: Noise,
}

impl CallWriter<'_> {
    fn begin(&mut self, call: u32, mut push: impl FnMut(&[u8])) {
        push(self.writer.frame(call, Message::Invite, self.load.codec));
        push(self.writer.frame(call, Message::Trying, self.load.codec));
    }

    fn ring(&mut self, call: u32, mut push: impl FnMut(&[u8])) {
        push(self.writer.frame(call, Message::Ringing, self.load.codec));
    }

    /// The callee's first packet follows its answer at once; the caller's comes before the ACK.
    fn answer(&mut self, call: u32, mut push: impl FnMut(&[u8])) {
        push(self.writer.frame(call, Message::Answer, self.load.codec));
        if self.media == CallMedia::Calls {
            for side in [Side::Callee, Side::Caller] {
                packets::rtp(&mut self.packet, self.load.codec, (call, side), (0, 0), true, &mut self.noise);
                push(&self.packet);
            }
        }
        push(self.writer.frame(call, Message::Ack, self.load.codec));
    }

    fn release(&mut self, call: u32, mut push: impl FnMut(&[u8])) {
        push(self.writer.frame(call, Message::Bye, self.load.codec));
        push(self.writer.frame(call, Message::ByeAnswer, self.load.codec));
    }
}

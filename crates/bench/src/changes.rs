//! How long the engine is busy when a stream starts or ends among many active ones: each operation by itself.
//!
//! The operations are the answer that announces endpoints, the first packet of a stream, and turning a
//! released call and its streams into records; and how long packets wait while calls end together. All rounds
//! have the same operations, so the minimum over the rounds is the operation's own time, and the rest is due
//! to other load.

use std::time::Instant;

use ringtap_engine::{Config, Engine};
use ringtap_model::{Frame, Nanos};

use crate::dialog::{Message, Writer};
use crate::error::{Error, same};
use crate::load::{Load, Workload};
use crate::media::{START, set_up, ticks};
use crate::outcome::{Figure, Measure, Outcome, Unit};
use crate::packets::{self, Noise, Side};
use crate::passes;
use crate::results::{Expected, Results};
use crate::ring::ETHERNET;

/// When new calls begin, one every two milliseconds.
const NEW: Nanos = Nanos::from_secs(12);
const APART: Nanos = Nanos::from_millis(2);
/// Released one a second, so that each ends alone.
const ALONE: u32 = 130;
const ALONE_FROM: Nanos = Nanos::from_secs(40);
/// Released as in a network of 52,000 calls: 442 a second.
const TOGETHER: u32 = 1_326;
const TOGETHER_FROM: Nanos = Nanos::from_secs(260);
const RATE: u64 = 442;
/// Meanwhile there is a packet of one of so many calls so often: one of each stream in 20 ms.
const SPEAKING: u32 = 100;
const PACKET: Nanos = Nanos::from_micros(100);

/// Time of each operation in ns: the minimum of all rounds, and the rounds' means and maxima.
#[derive(Default)]
struct Times {
    least: Vec<u64>,
    means: Vec<f64>,
    worsts: Vec<f64>,
}

impl Times {
    fn add(&mut self, round: &[u64]) {
        if self.least.is_empty() {
            self.least = round.to_vec();
        }
        for (least, took) in self.least.iter_mut().zip(round) {
            *least = (*least).min(*took);
        }
        self.means.push(round.iter().sum::<u64>() as f64 / round.len().max(1) as f64);
        self.worsts.push(round.iter().copied().max().unwrap_or(0) as f64);
    }

    /// Mean and maximum of each round, and the maximum of the operations' minimum times.
    fn measures(&self, name: &str, what: &str) -> Vec<Measure> {
        let own = self.least.iter().copied().max().map(|own| own as f64);
        let rows = [
            (name.to_owned(), format!("{what}, mean"), Figure::of(self.means.iter().copied())),
            (format!("{name}_worst"), "worst, the machine's other work included".to_owned(), {
                Figure::of(self.worsts.iter().copied())
            }),
            (format!("{name}_worst_own"), "worst that came again in every round".to_owned(), Figure::of(own)),
        ];
        rows.into_iter()
            .filter_map(|(name, what, figure)| {
                Some(Measure { name, what, unit: Unit::Nanos, figure: figure?, ratio: None })
            })
            .collect()
    }
}

/// The operations of one round in order.
#[derive(Default)]
struct Round {
    announce: Vec<u64>,
    add: Vec<u64>,
    end: Vec<u64>,
    /// CPU time for each packet while calls end together.
    pauses: Vec<u64>,
    /// Packets of calls that go on.
    passed: u64,
}

/// Runs the workload.
pub(crate) fn run(load: &Load, progress: &mut dyn FnMut(&str)) -> Result<Outcome, Error> {
    let new = load.frames(Workload::Changes);
    if new < ALONE + TOGETHER {
        return Err(Error::Load(format!("{new} new calls: there have to be {} at least", ALONE + TOGETHER)));
    }
    let [mut announce, mut add, mut end, mut pause] = [(); 4].map(|()| Times::default());
    let mut most = Vec::new();
    for round in 1..=load.rounds {
        progress(&format!("round {round} of {}", load.rounds));
        let took = one(load, new)?;
        announce.add(&took.announce);
        add.add(&took.add);
        end.add(&took.end);
        pause.add(&took.pauses);
        let mut pauses = took.pauses;
        pauses.sort_unstable();
        most.extend(pauses.get(pauses.len() * 99 / 100).map(|pause| *pause as f64));
    }
    let mut measures = announce.measures("announce", "an answer announces two endpoints");
    measures.extend(add.measures("add", "the first packet of a stream"));
    measures.extend(end.measures("end", "a call with two streams ends, records made"));
    let pauses = "442 calls a second end: CPU time in which no packet is taken";
    measures.extend(pause.measures("pause", pauses));
    if let Some(figure) = Figure::of(most) {
        let what = "99 of 100 such times are shorter".to_owned();
        measures.push(Measure { name: "pause_99".to_owned(), what, unit: Unit::Nanos, figure, ratio: None });
    }
    Ok(Outcome {
        workload: "changes".to_owned(),
        what: "streams come and go among many".to_owned(),
        calls: u64::from(load.calls),
        streams: u64::from(load.calls) * 2,
        packets: u64::from(new),
        frame_bytes: 54.0 + load.codec.bytes() as f64,
        rounds: load.rounds,
        measures,
        memory: None,
    })
}

struct Feed<'a> {
    load: &'a Load,
    engine: Engine,
    results: Results,
    writer: Writer,
    number: u64,
}

impl Feed<'_> {
    /// Passes one frame to the engine and returns how long it took, in ns.
    fn frame(&mut self, time: Nanos, data: &[u8]) -> u64 {
        self.number += 1;
        let frame = Frame { time, number: self.number, link: ETHERNET, wire_len: data.len() as u32, data };
        let start = Instant::now();
        self.engine.batch(&[frame], &mut self.results);
        start.elapsed().as_nanos() as u64
    }

    fn message(&mut self, time: Nanos, call: u32, message: Message) -> u64 {
        let mut writer = std::mem::take(&mut self.writer);
        let took = self.frame(time, writer.frame(call, message, self.load.codec));
        self.writer = writer;
        took
    }

    fn tick(&mut self, now: Nanos) -> u64 {
        let start = Instant::now();
        self.engine.tick(now, &mut self.results);
        start.elapsed().as_nanos() as u64
    }

    /// Passes one frame to the engine and returns the CPU time that it took, in ns.
    fn pause(&mut self, time: Nanos, data: &[u8]) -> u64 {
        let start = passes::spent();
        self.frame(time, data);
        passes::spent().saturating_sub(start).as_nanos() as u64
    }
}

fn one(load: &Load, new: u32) -> Result<Round, Error> {
    let calls = load.calls as usize + new as usize + 16;
    let config = Config {
        max_calls: calls,
        max_streams: 2 * calls,
        measure_sound: load.sound,
        live: true,
        ..Config::default()
    };
    let linger = config.linger;
    let mut feed = Feed {
        load,
        engine: Engine::new(config),
        results: Results::of_calls_with(2),
        writer: Writer::default(),
        number: u64::from(load.calls) * 7,
    };
    set_up(load, &mut |frame| feed.engine.batch(std::slice::from_ref(frame), &mut feed.results));
    let mut round = Round::default();
    start_calls(&mut feed, new, &mut round);
    same("streams under way", feed.engine.under_way().1, 2 * (load.calls + new) as usize)?;
    end_one_by_one(&mut feed, linger, &mut round);
    same("calls that ended alone", round.end.len(), ALONE as usize)?;
    end_together(&mut feed, linger, &mut round);
    same("calls that ended", feed.results.calls, u64::from(ALONE + TOGETHER))?;
    let Feed { mut engine, mut results, .. } = feed;
    engine.close(&mut results);
    let all = u64::from(load.calls + new);
    let completed = u64::from(ALONE + TOGETHER);
    let expected = Expected {
        calls: all,
        completed,
        packets: all * 2 + round.passed,
        messages: all * Message::SET_UP.len() as u64 + completed * 2,
    };
    results.verify(&expected, &[&engine])?;
    Ok(round)
}

fn start_calls(feed: &mut Feed<'_>, new: u32, round: &mut Round) {
    let (mut packet, mut noise) = (Vec::new(), Noise::new());
    for index in 0..new {
        let call = feed.load.calls + index;
        let at = |step: u64| START + NEW + Nanos(APART.0 * u64::from(index) + APART.0 / 8 * step);
        feed.message(at(0), call, Message::Invite);
        feed.message(at(1), call, Message::Trying);
        feed.message(at(2), call, Message::Ringing);
        round.announce.push(feed.message(at(3), call, Message::Answer));
        for (side, step) in [(Side::Callee, 4), (Side::Caller, 5)] {
            packets::rtp(&mut packet, feed.load.codec, (call, side), (0, 0), true, &mut noise);
            round.add.push(feed.frame(at(step), &packet));
        }
        feed.message(at(6), call, Message::Ack);
    }
}

/// Calls end one by one, far enough apart for each to end alone.
fn end_one_by_one(feed: &mut Feed<'_>, linger: Nanos, round: &mut Round) {
    let last = START + ALONE_FROM + Nanos::from_secs(u64::from(ALONE)) + linger;
    let mut now = START + ALONE_FROM;
    let mut released = 0;
    while now <= last {
        if released < ALONE && now >= START + ALONE_FROM + Nanos::from_secs(u64::from(released)) {
            let call = feed.load.calls + released;
            feed.message(now, call, Message::Bye);
            feed.message(now, call, Message::ByeAnswer);
            released += 1;
        }
        now += Nanos::from_millis(100);
        let before = feed.results.calls;
        let took = feed.tick(now);
        if feed.results.calls == before + 1 {
            round.end.push(took);
        }
    }
}

/// Calls end at the rate of a large network, while media of others pass, a packet every 100 us.
fn end_together(feed: &mut Feed<'_>, linger: Nanos, round: &mut Round) {
    let (mut packet, mut noise) = (Vec::new(), Noise::new());
    let begin = START + TOGETHER_FROM;
    let last = begin + Nanos::from_secs(u64::from(TOGETHER) / RATE + 2) + linger;
    // No packet came for a minute; what was due in it is done.
    feed.tick(begin);
    let streams = u64::from(feed.load.calls.min(SPEAKING)) * 2;
    let (mut count, mut released) = (0, 0);
    loop {
        let now = begin + Nanos(PACKET.0 * count);
        if now > last {
            break;
        }
        while released < TOGETHER && now >= begin + Nanos(u64::from(released) * 1_000_000_000 / RATE) {
            let call = feed.load.calls + ALONE + released;
            feed.message(now, call, Message::Bye);
            feed.message(now, call, Message::ByeAnswer);
            released += 1;
        }
        let (turn, stream) = (count / streams, count % streams);
        let side = if stream % 2 == 0 { Side::Caller } else { Side::Callee };
        let place = (turn as u16 + 1, ticks(now));
        packets::rtp(&mut packet, feed.load.codec, (stream as u32 / 2, side), place, false, &mut noise);
        round.pauses.push(feed.pause(now, &packet));
        count += 1;
    }
    round.passed = count;
}

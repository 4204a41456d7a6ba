//! Media of many calls: the usual load of a sensor.

use ringtap_engine::{Config, Engine};
use ringtap_model::{Frame, LinkType, Nanos};

use crate::dialog::{Message, Writer};
use crate::error::{Error, same};
use crate::headers::Headers;
use crate::load::{Codec, Load, Workload};
use crate::machine;
use crate::outcome::{Figure, Measure, Memory, Outcome, Unit};
use crate::packets::{self, Noise, Side, TICKS};
use crate::passes::{self, Pass};
use crate::results::{Expected, Results};
use crate::ring::{ETHERNET, FrameRange, Ring};

/// Start time.
pub(crate) const START: Nanos = Nanos::from_secs(1_700_000_000);
/// Calls are set up over this long, so that the ten-second intervals of their streams end at different times.
const SET_UP: Nanos = Nanos::from_secs(10);
/// Sound in a packet.
const PTIME: Nanos = Nanos::from_millis(20);
/// Packets are reordered within this time: the jitter of a good network.
const JITTER: Nanos = Nanos::from_micros(500);

/// Runs the workload.
pub(crate) fn run(load: &Load, progress: &mut dyn FnMut(&str)) -> Result<Outcome, Error> {
    progress("laying out packets");
    let mut media = Media::prepare(load)?;
    let mut rounds = Vec::new();
    for round in 1..=load.rounds {
        progress(&format!("round {round} of {}", load.rounds));
        media.advance();
        let range = media.ring.whole();
        let reference = passes::reference_below(range, load.headers);
        rounds.push([reference, passes::decoding(range), passes::header(range), media.pass()]);
    }
    progress("checking the records");
    let (packets, memory) = (media.ring.len(), media.memory);
    let frame_bytes = media.ring.bytes() as f64 / packets as f64;
    media.verify()?;
    for counted in rounds.iter().flatten() {
        same("packets read", counted.counted, packets)?;
    }
    let name = match load.codec {
        Codec::G711 => "G.711",
        Codec::G729 => "G.729",
    };
    Ok(Outcome {
        workload: "media".to_owned(),
        what: format!("media of calls, {name}, 20 ms{}", below(load.headers)),
        calls: u64::from(load.calls),
        streams: u64::from(load.calls) * 2,
        packets,
        frame_bytes,
        rounds: load.rounds,
        measures: stages(&rounds, packets),
        memory,
    })
}

/// An engine that knows every call and stream, and their packets in memory.
pub(crate) struct Media {
    load: Load,
    /// Packets of each stream in the ring.
    packets: u32,
    ring: Ring,
    engine: Engine,
    results: Results,
    /// How often the engine has processed the ring.
    passed: u64,
    memory: Option<Memory>,
}

impl Media {
    pub(crate) fn prepare(load: &Load) -> Result<Self, Error> {
        let packets = packets_per_stream(load);
        let mut ring = room(load, load.calls as usize * 2 * packets as usize);
        let link = load.headers.link();
        lay_out(load, packets, |time, data| {
            ring.append(&Frame { time, number: 0, link, wire_len: data.len() as u32, data });
        });
        let before = machine::resident();
        let (mut engine, mut results) =
            (Engine::new(config(load)), Results::of_calls_with(2).with(load.headers));
        set_up(load, &mut |frame| engine.batch(std::slice::from_ref(frame), &mut results));
        let (calls, streams) = engine.under_way();
        same("calls under way", calls, load.calls as usize)?;
        same("streams under way", streams, load.calls as usize * 2)?;
        let mut media = Self { load: load.clone(), packets, ring, engine, results, passed: 0, memory: None };
        // Warm-up: touches every table and makes every stream known.
        media.feed();
        media.memory = before.zip(machine::resident()).map(|(before, after)| {
            let total = after.saturating_sub(before);
            Memory { total, per_call: total / u64::from(load.calls) }
        });
        Ok(media)
    }

    /// Advances each packet by the length of the ring, so that the same memory continues the streams.
    pub(crate) fn advance(&mut self) {
        advance(&mut self.ring, self.load.headers, self.packets);
    }

    /// All packets of the ring.
    pub(crate) fn whole(&self) -> FrameRange<'_> {
        self.ring.whole()
    }

    /// The whole ring through the engine.
    pub(crate) fn pass(&mut self) -> Pass {
        Pass::of(|| self.feed())
    }

    /// The same without timing. Returns the number of packets.
    pub(crate) fn feed(&mut self) -> u64 {
        self.passed += 1;
        passes::feed(self.ring.whole(), self.load.batch, &mut self.engine, &mut self.results)
    }

    /// Checks the engine's results against the input.
    pub(crate) fn verify(mut self) -> Result<(), Error> {
        self.engine.close(&mut self.results);
        let calls = u64::from(self.load.calls);
        let expected = Expected {
            calls,
            completed: 0,
            packets: self.passed * self.ring.len() + calls * 2,
            messages: calls * Message::SET_UP.len() as u64,
        };
        self.results.verify(&expected, &[&self.engine])
    }
}

/// In the name of what was measured.
fn below(headers: Headers) -> &'static str {
    match headers {
        Headers::Plain => "",
        Headers::Ipv6 => ", IPv6",
        Headers::Qinq => ", two VLAN tags",
        Headers::Cooked => ", cooked capture",
    }
}

/// Rates of the passes, each against the reference loop of its round.
pub(crate) fn stages(rounds: &[[Pass; 4]], packets: u64) -> Vec<Measure> {
    let names = [
        ("reference", "each header read, nothing else"),
        ("decode", "frames decoded to UDP"),
        ("rtp", "and RTP headers read"),
        ("engine", "the whole engine"),
    ];
    let mut measures = Vec::new();
    for (index, (name, what)) in names.into_iter().enumerate() {
        let rates = rounds.iter().map(|round| round[index].rate(packets));
        let ratios = rounds.iter().map(|round| round[index].rate(packets) / round[0].rate(packets));
        let Some(figure) = Figure::of(rates) else { continue };
        let (name, what) = (name.to_owned(), what.to_owned());
        let ratio = Figure::of(ratios).filter(|_| index > 0);
        measures.push(Measure { name, what, unit: Unit::Packets, figure, ratio });
    }
    measures
}

/// Packets of each stream in a round.
pub(crate) fn packets_per_stream(load: &Load) -> u32 {
    load.frames(Workload::Media) / (load.calls * 2)
}

/// A ring with room for `packets` packets.
pub(crate) fn room(load: &Load, packets: usize) -> Ring {
    Ring::with_capacity(packets, load.headers.len() + packets::RTP + load.codec.bytes())
}

/// Advances every packet of a ring by `packets` packets of its stream.
pub(crate) fn advance(ring: &mut Ring, headers: Headers, packets: u32) {
    let by = Nanos(PTIME.0 * u64::from(packets));
    ring.each(|time, frame| {
        *time += by;
        packets::advance(frame, headers, packets);
    });
}

/// A configuration with room for these calls and a few more.
pub(crate) fn config(load: &Load) -> Config {
    let calls = load.calls as usize + load.calls as usize / 16 + 16;
    let usual = Config::default();
    // None may be evicted for its memory: of that they take half at most.
    let memory = usual.memory.max(calls << 14);
    Config { max_calls: calls, max_streams: 2 * calls, measure_sound: load.sound, memory, ..usual }
}

/// Every call from its INVITE to its ACK, with the first packet of both its streams.
pub(crate) fn set_up(load: &Load, feed: &mut impl FnMut(&Frame<'_>)) {
    let mut writer = Writer::announcing(load.headers);
    let (mut packet, mut noise) = (Vec::new(), Noise::new());
    let apart = SET_UP.0 / u64::from(load.calls);
    let mut number = 0;
    let mut push = |time: Nanos, link: LinkType, data: &[u8]| {
        number += 1;
        feed(&Frame { time, number, link, wire_len: data.len() as u32, data });
    };
    for call in 0..load.calls {
        let begin = START.0 + u64::from(call) * apart;
        for (step, message) in Message::SET_UP.into_iter().enumerate() {
            let time = Nanos(begin + step as u64 * apart / 8);
            push(time, ETHERNET, writer.frame(call, message, load.codec));
        }
        for (side, step) in [(Side::Callee, 5), (Side::Caller, 6)] {
            let time = Nanos(begin + step * apart / 8);
            packets::rtp(&mut packet, load.codec, (call, side), (0, ticks(time)), true, &mut noise);
            load.headers.apply(&mut packet);
            push(time, load.headers.link(), &packet);
        }
    }
}

/// The RTP timestamp at a time.
pub(crate) fn ticks(time: Nanos) -> u32 {
    (time.since(START).0 / (PTIME.0 / u64::from(TICKS))) as u32
}

/// Lays out `packets` packets of each stream, 20 ms apart, in order of arrival: each stream has its own phase
/// within the 20 ms, and jitter moves packets a little.
pub(crate) fn lay_out(load: &Load, packets: u32, mut push: impl FnMut(Nanos, &[u8])) {
    let streams = load.calls as usize * 2;
    let mut noise = Noise::new();
    let mut order: Vec<u32> = (0..load.calls * 2).collect();
    noise.shuffle(&mut order);
    let apart = PTIME.0 as f64 / streams as f64;
    let window = ((JITTER.0 as f64 / apart) as usize).max(1);
    let (mut frame, mut moved) = (Vec::new(), Vec::new());
    for turn in 0..packets {
        let begin = START + SET_UP + Nanos(PTIME.0 * u64::from(turn + 1));
        // The phase of each stream, and this round's order.
        moved.clear();
        moved.extend(order.iter().copied().enumerate());
        moved.chunks_mut(window).for_each(|chunk| noise.shuffle(chunk));
        for (position, (moment, stream)) in moved.iter().enumerate() {
            let at = |position: usize| begin + Nanos((position as f64 * apart) as u64);
            let side = if stream % 2 == 0 { Side::Caller } else { Side::Callee };
            let place = (turn as u16 + 1, ticks(at(*moment)));
            packets::rtp(&mut frame, load.codec, (stream / 2, side), place, turn == 0, &mut noise);
            load.headers.apply(&mut frame);
            push(at(position), &frame);
        }
    }
}

//! Frames of a capture file: the engine over somebody's own traffic.

use std::path::Path;

use ringtap_capture::{Capture, Merge};
use ringtap_engine::{Config, Counters, Engine, Sink, StreamEnd};
use ringtap_model::{Call, Frame, Message, Registration};

use crate::error::{Error, same};
use crate::load::Load;
use crate::machine;
use crate::outcome::{Figure, Measure, Outcome, Unit};
use crate::passes::{self, Pass};
use crate::ring::Ring;

/// What was found; every round has to find the same.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    calls: u64,
    streams: u64,
    others: u64,
}

impl Sink for Found {
    fn call(&mut self, _: Call, streams: Vec<StreamEnd>) {
        self.calls += 1;
        self.streams += streams.len() as u64;
    }

    fn stream(&mut self, _: StreamEnd) {
        self.streams += 1;
    }

    fn registration(&mut self, _: Registration) {
        self.others += 1;
    }

    fn message(&mut self, _: Message) {
        self.others += 1;
    }
}

/// Runs the engine over capture files: their frames in memory, and read from the files.
///
/// # Errors
///
/// Where they cannot be read, do not fit into memory, or have neither calls nor streams.
pub fn run(
    files: &[impl AsRef<Path>],
    load: &Load,
    progress: &mut dyn FnMut(&str),
) -> Result<Outcome, Error> {
    progress("reading");
    let captures: Vec<_> =
        files.iter().map(|file| Capture::open(file.as_ref(), None)).collect::<Result<_, _>>()?;
    let size = size(&captures);
    if let Some(free) = machine::memory_free().filter(|free| size * 2 > *free) {
        return Err(Error::Memory { needed: size * 2 / 1_000_000, free: free / 1_000_000, remedy: "files" });
    }
    let mut ring = Ring::with_capacity(1, size as usize);
    each(&captures, |frame| ring.append(frame));
    if ring.len() == 0 {
        return Err(Error::Load("there is not one packet in the input".to_owned()));
    }
    let mut rounds = Vec::new();
    let mut first: Option<(Counters, Found)> = None;
    for round in 1..=load.rounds {
        progress(&format!("round {round} of {}", load.rounds));
        let range = ring.whole();
        let mut whole = |read: bool| {
            let (mut engine, mut found) = (Engine::new(Config::default()), Found::default());
            // With the records of what is under way at the end, as the program makes them.
            let pass = Pass::of(|| {
                let counted = match read {
                    true => reading(&captures, load.batch, &mut engine, &mut found),
                    false => passes::engine(range, load.batch, &mut engine, &mut found).counted,
                };
                engine.close(&mut found);
                counted
            });
            same("packets read", pass.counted, ring.len())?;
            let result = (engine.counters().clone(), found);
            match &first {
                None if result.1.calls + result.1.streams == 0 => {
                    return Err(Error::Load("the input has neither calls nor streams".to_owned()));
                }
                None => first = Some(result),
                Some(first) => {
                    same("records and counters are those of the first round", result == *first, true)?
                }
            }
            Ok(pass)
        };
        let (memory, files) = (whole(false)?, whole(true)?);
        rounds.push([passes::reference(range), passes::decoding(range), memory, files]);
    }
    let found = first.map(|(_, found)| found).unwrap_or_default();
    Ok(Outcome {
        workload: "file".to_owned(),
        what: "frames of capture files".to_owned(),
        calls: found.calls,
        streams: found.streams,
        packets: ring.len(),
        frame_bytes: ring.bytes() as f64 / ring.len() as f64,
        rounds: load.rounds,
        measures: stages(&rounds, ring.len()),
        memory: None,
    })
}

/// Passes each frame to `pass`.
fn each(captures: &[Capture], mut pass: impl FnMut(&Frame<'_>)) {
    let mut frames = Merge::new(captures);
    while frames.peek().is_some() {
        frames.batch(BATCH).iter().for_each(&mut pass);
    }
}

/// Bytes of all frames, after decompression, with what a ring needs for each.
fn size(captures: &[Capture]) -> u64 {
    let mut size = 0;
    each(captures, |frame| size += frame.data.len() as u64 + 32);
    size
}

/// As `ringtap analyze` reads, without printing.
fn reading(captures: &[Capture], batch: usize, engine: &mut Engine, found: &mut Found) -> u64 {
    let mut frames = Merge::new(captures);
    let mut counted = 0;
    loop {
        let taken = frames.batch(batch);
        if taken.is_empty() {
            return counted;
        }
        counted += taken.len() as u64;
        engine.batch(&taken, found);
    }
}

fn stages(rounds: &[[Pass; 4]], packets: u64) -> Vec<Measure> {
    let names = [
        ("reference", "each header read, nothing else"),
        ("decode", "frames decoded"),
        ("engine", "the whole engine, frames in memory"),
        ("file", "the whole engine, read from the files"),
    ];
    let mut measures = Vec::new();
    for (index, (name, what)) in names.into_iter().enumerate() {
        let rates = rounds.iter().map(|round| round[index].rate(packets));
        let ratios = rounds.iter().map(|round| round[index].rate(packets) / round[0].rate(packets));
        let Some(figure) = Figure::of(rates) else { continue };
        let ratio = Figure::of(ratios).filter(|_| index > 0);
        measures.push(Measure {
            name: name.to_owned(),
            what: what.to_owned(),
            unit: Unit::Packets,
            figure,
            ratio,
        });
    }
    measures
}

/// Frames read at once.
const BATCH: usize = 512;

//! Passes capture files through the engine, to the last packet or to Ctrl-C.

mod ahead;
mod batches;
mod chunk;
mod order;
mod pipeline;
mod plan;
mod schedule;
mod threads;
mod workers;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clap::{Args, value_parser};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ringtap_capture::{Capture, Damage, Merge};
use ringtap_engine::config::TRANSACTIONS;
use ringtap_engine::{Config, Counters, Engine, Tracker};
pub(crate) use ringtap_export::find::Listener;
use ringtap_intercept::{Closed, Delivered, Interception, ProductFiles};
use ringtap_model::Frame;
use ringtap_report::summary::{self, TimeSpan};

use crate::assumed::Assumed;
use crate::engine_config::engine_config;
use crate::exit::{self, Exit};
use crate::interrupt;
use crate::screen::Screen;
pub(crate) use chunk::BATCH;
use order::InOrder;
pub(crate) use threads::Workers;

/// Bytes of input from which on a progress bar is shown.
const LARGE: u64 = 64 << 20;
/// How long standard input may take to end after Ctrl-C, which usually also ends its writer.
const GRACE: Duration = Duration::from_secs(2);

/// The capture files that a command reads.
#[derive(Args, Debug)]
pub(crate) struct InputFiles {
    /// Capture files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) unpacking: Unpacking,
}

/// How far a compressed file is unpacked.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Unpacking {
    /// Read at most this many GiB of what each compressed file unpacks to [default: 1, or 200 times the size
    /// of the file if that is more]
    #[arg(long, value_name = "GIB", value_parser = value_parser!(u64).range(1..=1 << 24))]
    max_unpacked: Option<u64>,
}

/// Product as files and, where it is delivered, on its way.
pub(crate) type IntoFiles = (ProductFiles, Option<Delivered>);

/// The named capture files.
#[derive(Debug)]
pub(crate) struct Input {
    captures: Vec<Capture>,
    /// How voice is rated.
    assumed: Assumed,
    /// Whether transactions outside of calls are recorded.
    transactions: bool,
    /// Ctrl-C interrupted standard input; what had arrived by then is available.
    cut_short: bool,
}

/// The result of a pass over the input.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) counters: Counters,
    /// Damaged files.
    pub(crate) damages: Vec<(String, Damage)>,
    /// Where Ctrl-C ended the pass.
    pub(crate) interrupted: Option<Interrupted>,
    /// Times of the frames.
    pub(crate) span: Option<TimeSpan>,
}

impl Pass {
    /// Reports what was wrong with the input, and returns the exit status.
    pub(crate) fn exit(&self, screen: &mut Screen) -> Exit {
        let mut exit = Exit::Done;
        for (name, damage) in &self.damages {
            let what = "everything before it was read, nothing after it";
            screen.remark(format!("`{name}` is damaged: {damage}; {what}"));
            exit = Exit::Damaged;
        }
        if let Some(interrupted) = self.interrupted {
            let at = match interrupted {
                Interrupted::At(percent) => format!("at {percent} % of the input"),
                Interrupted::Pipe => "before standard input had ended".to_string(),
            };
            screen.remark(format!("interrupted {at}: the results cover what was read"));
            exit = Exit::Interrupted;
        }
        exit
    }
}

impl Pass {
    /// The figures of the input for a summary.
    pub(crate) fn figures(&self, stored: Option<String>) -> summary::Input {
        summary::Input {
            span: self.span,
            frames: self.counters.frames,
            kinds: self.counters.kinds(),
            // Frames without IP (ARP, LLDP) are not lost; `kinds` counts them.
            drops: self.counters.drops().into_iter().filter(|(name, _)| *name != "not_ip").collect(),
            unfollowed: self.counters.unfollowed(),
            stored,
            damage: self.damages.iter().map(|(name, damage)| format!("`{name}`: {damage}")).collect(),
        }
    }
}

/// What Ctrl-C interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupted {
    /// The reading, at this percentage of the input.
    At(u64),
    /// Standard input, before it ended; all that had arrived was read.
    Pipe,
}

impl Input {
    /// Opens every file before it reads the first, so that a wrong name is reported at once.
    pub(crate) fn open(files: &[PathBuf], unpacking: Unpacking) -> anyhow::Result<Self> {
        if files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
            bail!("standard input can be read only once: name `-` once");
        }
        let piped = files.iter().any(|file| file.as_os_str() == "-");
        if piped && io::stdin().is_terminal() {
            bail!("standard input is the terminal: pipe a capture into it, or name a file");
        }
        let (files, most_unpacked) = (files.to_vec(), unpacking.max_unpacked.map(|gib| gib << 30));
        // In another thread, because opening reads a pipe to its end, and Ctrl-C must work meanwhile.
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let captures: Result<Vec<_>, _> =
                files.iter().map(|file| Capture::open(file, most_unpacked)).collect();
            // After an interruption nobody receives this.
            let _ = sender.send(captures);
        });
        let mut interrupted_at = None;
        loop {
            match receiver.recv_timeout(Duration::from_millis(50)) {
                Ok(captures) => {
                    let cut_short = piped && interrupt::asked();
                    return Ok(Self {
                        captures: captures?,
                        assumed: Assumed::default(),
                        transactions: false,
                        cut_short,
                    });
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(anyhow!(
                        "opening the input panicked: this is a bug in ringtap, please report it"
                    ));
                }
                Err(RecvTimeoutError::Timeout) if interrupt::asked() => {
                    if interrupted_at.get_or_insert_with(Instant::now).elapsed() > GRACE {
                        bail!(exit::Interrupted);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Rates voice under these assumptions.
    pub(crate) fn assuming(self, assumed: Assumed) -> Self {
        Self { assumed, ..self }
    }

    /// Records SUBSCRIBE, NOTIFY, OPTIONS and PUBLISH transactions outside of calls.
    pub(crate) fn with_transactions(self) -> Self {
        Self { transactions: true, ..self }
    }

    /// How an engine that reads it is configured.
    pub(crate) fn config(&self) -> Config {
        let transactions = if self.transactions { TRANSACTIONS.to_vec() } else { Vec::new() };
        Config { receivers: self.assumed.receivers(), transactions, ..engine_config() }
    }

    /// Size of the input in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.captures.iter().map(Capture::size).sum()
    }

    /// All frames in order of time.
    pub(crate) fn frames(&self) -> Merge {
        Merge::new(&self.captures)
    }

    /// A progress bar named `what` if the input is large and standard error is a terminal; hidden otherwise.
    pub(crate) fn progress(&self, screen: &Screen, what: &'static str) -> ProgressBar {
        if self.size() < LARGE || !screen.watched {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(self.size()), ProgressDrawTarget::stderr_with_hz(5));
        let layout = "{msg} {bar:30} {percent:>3} %  {decimal_bytes_per_sec}, {eta} left";
        bar.set_style(ProgressStyle::with_template(layout).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what);
        bar
    }

    /// Passes all frames to a new engine and closes it. Two passes over the same input give the same calls
    /// and serials. Another thread reads ahead where that is faster.
    pub(crate) fn pass<S: Listener>(&self, sink: &mut S, bar: &ProgressBar) -> Pass {
        let is_ahead = Workers::default().number(self.size()) > 1;
        self.pass_in_one(sink, bar, is_ahead)
    }

    fn pass_in_one<S: Listener>(&self, sink: &mut S, bar: &ProgressBar, is_ahead: bool) -> Pass {
        self.pass_through(Engine::new(self.config()), sink, bar, is_ahead)
    }

    /// Like [`pass`](Self::pass), with a tracker added.
    pub(crate) fn pass_to<X: Tracker, S: Listener>(
        &self,
        tracker: X,
        sink: &mut S,
        bar: &ProgressBar,
    ) -> Pass {
        let is_ahead = Workers::default().number(self.size()) > 1;
        self.pass_through(Engine::with_tracker(self.config(), tracker), sink, bar, is_ahead)
    }

    /// Like [`pass_to`](Self::pass_to), and shows all frames to `observe` before the engine handles them.
    pub(crate) fn pass_observed<X: Tracker, S: Listener>(
        &self,
        tracker: X,
        sink: &mut S,
        bar: &ProgressBar,
        mut observe: impl FnMut(&Frame<'_>),
    ) -> Pass {
        let is_ahead = Workers::default().number(self.size()) > 1;
        let mut engine = Engine::with_tracker(self.config(), tracker);
        let mut frames = self.frames();
        let end = self.feed(&mut frames, sink, (bar, is_ahead), |batch, sink| {
            batch.iter().for_each(&mut observe);
            engine.batch(batch, sink);
            !sink.has_enough()
        });
        engine.close(sink);
        bar.finish_and_clear();
        self.finish(&frames, end, engine.counters().clone())
    }

    /// Passes all frames to an interception, as long as its product can be written, and ends it.
    pub(crate) fn pass_intercepted(
        &self,
        mut interception: Interception<IntoFiles>,
        bar: &ProgressBar,
    ) -> (Pass, IntoFiles, Closed) {
        let is_ahead = Workers::default().number(self.size()) > 1;
        let mut frames = self.frames();
        let end = self.feed(&mut frames, &mut interception, (bar, is_ahead), |batch, interception| {
            interception.batch(batch);
            !interception.product().0.has_failed()
        });
        let (product, closed) = interception.close();
        bar.finish_and_clear();
        (self.finish(&frames, end, closed.counters.clone()), product, closed)
    }

    fn pass_through<X: Tracker, S: Listener>(
        &self,
        mut engine: Engine<X>,
        sink: &mut S,
        bar: &ProgressBar,
        is_ahead: bool,
    ) -> Pass {
        let mut frames = self.frames();
        let end = self.feed(&mut frames, sink, (bar, is_ahead), |batch, sink| {
            engine.batch(batch, sink);
            !sink.has_enough()
        });
        engine.close(sink);
        bar.finish_and_clear();
        self.finish(&frames, end, engine.counters().clone())
    }

    /// Like [`pass`](Self::pass), for sinks that want no packets: by several threads where that is faster.
    /// The records of each half second of capture time come in an order that does not depend on how many.
    ///
    /// # Errors
    ///
    /// A thread failed.
    pub(crate) fn pass_records<S: Listener>(
        &self,
        workers: Workers,
        sink: &mut S,
        bar: &ProgressBar,
    ) -> anyhow::Result<Pass> {
        // Packets would come from each worker on its own.
        const { assert!(!S::PACKETS) };
        let workers = workers.number(self.size());
        if workers == 1 {
            let mut sink = InOrder::new(sink);
            let pass = self.pass_in_one(&mut sink, bar, false);
            sink.flush();
            return Ok(pass);
        }
        let stopped_at = AtomicU64::new(u64::MAX);
        let on_read = |offset| {
            bar.set_position(offset);
            let stops = interrupt::asked() && !self.cut_short;
            if stops {
                stopped_at.store(offset, Ordering::Relaxed);
            }
            !stops
        };
        let outcome = workers::run(&self.config(), workers, self.frames(), sink, on_read)?;
        bar.finish_and_clear();
        let interrupted = match stopped_at.into_inner() {
            u64::MAX => None,
            offset => Some(self.interrupted_at(offset)),
        };
        let end = PassEnd { span: outcome.span, interrupted };
        Ok(self.finish(&outcome.frames, end, outcome.counters))
    }

    fn interrupted_at(&self, offset: u64) -> Interrupted {
        Interrupted::At(offset.saturating_mul(100) / self.size().max(1))
    }

    /// Passes all frames to `process`, until the end, Ctrl-C, or it says not to go on. `is_ahead`: another
    /// thread reads them.
    fn feed<S>(
        &self,
        frames: &mut Merge,
        sink: &mut S,
        (bar, is_ahead): (&ProgressBar, bool),
        mut process: impl FnMut(&[Frame<'_>], &mut S) -> bool,
    ) -> PassEnd {
        let mut end = PassEnd::default();
        let mut handle = |batch: &[Frame<'_>], offset| {
            let Some(first) = batch.first() else { return true };
            let span = end.span.get_or_insert_with(|| TimeSpan::new(first.time));
            batch.iter().for_each(|frame| span.add(frame.time));
            let goes_on = process(batch, sink);
            bar.set_position(offset);
            if !goes_on {
                return false;
            }
            if interrupt::asked() && !self.cut_short {
                end.interrupted = Some(self.interrupted_at(offset));
            }
            end.interrupted.is_none()
        };
        if !(is_ahead && ahead::each_batch_read_ahead(frames, &mut handle)) {
            ahead::each_batch(frames, &mut handle);
        }
        end
    }

    fn finish(&self, frames: &Merge, end: PassEnd, counters: Counters) -> Pass {
        let named =
            |(index, damage): (usize, Damage)| Some((self.captures.get(index)?.name().to_string(), damage));
        Pass {
            counters,
            damages: frames.damages().into_iter().filter_map(named).collect(),
            interrupted: end.interrupted.or(self.cut_short.then_some(Interrupted::Pipe)),
            span: end.span,
        }
    }
}

/// Where a pass ended.
#[derive(Default)]
struct PassEnd {
    span: Option<TimeSpan>,
    interrupted: Option<Interrupted>,
}

#[cfg(test)]
mod tests {
    use ringtap_capture::DamageKind;

    use super::*;
    use crate::screen::tests::captured;

    #[test]
    fn damage_and_interruption_are_reported() {
        let pass = |interrupted| Pass {
            counters: Counters::default(),
            damages: vec![("a.pcap".into(), Damage { offset: 44, kind: DamageKind::Truncated })],
            interrupted,
            span: None,
        };
        let (mut screen, _, err) = captured(80);
        assert_eq!(pass(None).exit(&mut screen), Exit::Damaged);
        assert!(
            err.text().contains("`a.pcap` is damaged") && err.text().contains("at byte 44"),
            "{}",
            err.text()
        );
        assert_eq!(pass(Some(Interrupted::At(37))).exit(&mut screen), Exit::Interrupted);
        assert!(err.text().contains("interrupted at 37 % of the input"), "{}", err.text());
    }
}

//! Rollups of KPIs in the database: how they are made, and the thread that makes them at leisure.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use ringtap_kpi::{Fold, Settings, fold};
use ringtap_model::{Call, Nanos, Registration, Stream};
use ringtap_report::time;
use ringtap_store::{FoldMinute, FoldedMinute, MakeRollup, Reader};

/// Makes the rollup of a minute for [`Reader::rollups`].
#[derive(Clone, Copy, Debug)]
pub struct KpiRollups(pub Settings);

struct MinuteFold {
    fold: Fold,
    minute: Nanos,
}

impl MakeRollup for KpiRollups {
    fn settings(&self) -> u64 {
        self.0.fingerprint()
    }

    fn begin(&self, minute: Nanos, before: &[Vec<u8>]) -> Box<dyn FoldMinute + '_> {
        let mut fold = Fold::new(self.0);
        before.iter().filter_map(|bytes| fold::pairs_from_bytes(bytes)).for_each(|pairs| fold.before(&pairs));
        Box::new(MinuteFold { fold, minute })
    }
}

impl FoldMinute for MinuteFold {
    fn call(&mut self, call: &Call, streams: &[Stream]) {
        self.fold.call(call, streams);
    }

    fn registration(&mut self, registration: &Registration) {
        self.fold.registration(registration);
    }

    fn finish(self: Box<Self>) -> FoldedMinute {
        let pairs = fold::pairs_to_bytes(&self.fold.pairs(self.minute));
        let mut minutes = self.fold.finish();
        // Every record began in this minute.
        let rollup = minutes.remove(&self.minute).unwrap_or_default();
        FoldedMinute { pairs, rollup: rollup.to_bytes() }
    }
}

/// The thread that makes rollups of the last day, so that a query finds them.
pub(crate) struct KpiThread {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl KpiThread {
    pub(crate) fn start(records: PathBuf, settings: Settings) -> anyhow::Result<Self> {
        let (stop, stopped) = channel();
        let run = move || {
            let mut failed = false;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(INTERVAL) {
                match make(&records, settings, time::now()) {
                    Ok(()) => failed = false,
                    Err(error) if !std::mem::replace(&mut failed, true) => log::warn!(
                        target: "kpi",
                        "cannot make the rollups of KPIs: {error}; `ringtap kpis` computes them from records",
                    ),
                    Err(_) => {}
                }
            }
        };
        let thread = thread::Builder::new().name("kpis".into()).spawn(run);
        Ok(Self { stop, thread: thread.context("cannot start the thread that makes rollups of KPIs")? })
    }

    /// Stops after the current pass.
    pub(crate) fn close(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}

/// Makes the rollups of the minutes whose calls have mostly ended.
fn make(records: &std::path::Path, settings: Settings, now: Nanos) -> Result<(), ringtap_store::Error> {
    let reader = match Reader::open(records) {
        Ok(reader) => reader,
        // Nothing was stored yet.
        Err(ringtap_store::Error::NoDays { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let span = (now - DAY, now - SETTLED);
    reader.rollups(span, &KpiRollups(settings), |_, _| Ok(())).map(|_| ())
}

/// How often rollups are made.
const INTERVAL: Duration = Duration::from_secs(300);
/// Younger minutes change with every call that ends: they are computed when somebody asks.
const SETTLED: Nanos = Nanos::from_secs(1_200);
/// Older minutes change seldom.
const DAY: Nanos = Nanos::from_secs(26 * 3_600);

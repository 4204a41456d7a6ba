//! How others reach the thread of the alarms, and what they see of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use ringtap_alarm::Counts;
use ringtap_model::Nanos;

/// What somebody asks of the alarms.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// The alarms that stand, as JSON lines.
    Standing,
    /// Marks one as known.
    Acknowledge {
        /// Its id, or the first digits of it.
        id: String,
        by: String,
        comment: String,
    },
    /// Tells nobody of some, for so long.
    Silence { rule: String, subject: String, length: Nanos, by: String, comment: String },
    /// Ends silences of these patterns.
    Unsilence { rule: String, subject: String },
    /// The silences, as lines.
    Silences,
}

/// What others know of the alarms, and how they reach the thread.
#[derive(Debug)]
pub(crate) struct AlarmHandle {
    asks: Mutex<Sender<Asked>>,
    figures: Mutex<Figures>,
    dropped: Arc<AtomicU64>,
}

/// A question, and where the answer goes.
pub(crate) type Asked = (Ask, SyncSender<anyhow::Result<String>>);

/// Counts for the metrics.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) counts: Counts,
    /// Standing alarms by severity.
    pub(crate) standing: [u64; 3],
    /// Events that found no room in the queue.
    pub(crate) dropped: u64,
    /// Alarms raised since the start.
    pub(crate) raised: u64,
}

impl AlarmHandle {
    /// Of the thread that receives what is asked; `dropped` counts events that found no room in its queue.
    pub(crate) fn new(asks: Sender<Asked>, dropped: Arc<AtomicU64>) -> Self {
        Self { asks: Mutex::new(asks), figures: Mutex::default(), dropped }
    }

    /// Asks the thread.
    ///
    /// # Errors
    ///
    /// It refuses, or does not answer.
    pub(crate) fn ask(&self, ask: Ask) -> anyhow::Result<String> {
        let (answer, answered) = sync_channel(1);
        let asks = self.asks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        asks.send((ask, answer)).context("the thread of the alarms has ended; restart ringtap")?;
        answered.recv_timeout(PATIENCE).context("the alarms do not answer")?
    }

    /// The figures now.
    pub(crate) fn figures(&self) -> Figures {
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        figures.dropped = self.dropped.load(Ordering::Relaxed);
        figures
    }

    /// Shows the figures; returns how many events have found no room.
    pub(crate) fn report(&self, figures: Figures) -> u64 {
        *self.figures.lock().unwrap_or_else(PoisonError::into_inner) = figures;
        self.dropped.load(Ordering::Relaxed)
    }
}

/// How long somebody who asks waits.
const PATIENCE: Duration = Duration::from_secs(5);

//! The writer of a program that runs for months: it survives a database that is slow, locked or out of space.

mod event;
mod journal_thread;
mod sender;
mod thread;

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ringtap_model::{Call, Nanos};

use crate::Error;
use crate::annotate::Annotate;
use crate::day_files::DayFiles;
use crate::journal::{CallNote, Journal, Recovered};
use crate::migration::OnMigration;
use crate::outbox::Outbox;
use crate::settings::{Retain, StoreSettings};
use crate::state::{Counts, SharedState};
pub use event::StoreEvent;
use event::{OnEvent, report};
use journal_thread::{JournalJob, JournalThread};
use sender::Job;
pub use sender::{AvailabilityRecord, RecordSender};
use thread::WriterThread;

/// Writes records to the day files, or to the outbox while those are slow or unavailable.
///
/// Any number of threads send records, each with a [`RecordSender`], which never waits: a record that finds
/// no room in the queue is counted. One thread stores them in batches. When a batch cannot be written to the
/// day files, or records come faster than they can be written, records go to the outbox, and from there in
/// order to the day files when these work again, also after a restart. A second thread writes the journal.
#[derive(Debug)]
pub struct StoreWriter {
    shared: Arc<SharedState>,
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    journal: Option<(SyncSender<JournalJob>, JoinHandle<()>)>,
    /// Calls that the next run goes on with.
    handed_over: Option<HandedOver>,
}

/// When the program ended, and calls in progress then with their notes.
type HandedOver = (Nanos, Vec<(Call, Vec<CallNote>)>);

impl StoreWriter {
    /// Opens journal and outbox, and begins to write records. Returns the calls that the previous run left in
    /// the journal: they stay in it until
    /// a record of each is stored, see [`RecordSender::recover`]. Day files
    /// that cannot be written are no error: writing is tried again until it works.
    ///
    /// # Errors
    ///
    /// The journal or the outbox cannot be opened, or the directory of the day files cannot be made.
    pub fn open(
        settings: &StoreSettings,
        on_event: impl FnMut(StoreEvent) + Send + 'static,
    ) -> Result<(Self, Recovered), Error> {
        Self::open_annotating(settings, Vec::new(), on_event)
    }

    /// The same; every record is completed by each of `annotate` in turn.
    ///
    /// # Errors
    ///
    /// As [`StoreWriter::open`].
    pub fn open_annotating(
        settings: &StoreSettings,
        annotate: Vec<Box<dyn Annotate>>,
        on_event: impl FnMut(StoreEvent) + Send + 'static,
    ) -> Result<(Self, Recovered), Error> {
        let on_event: OnEvent = Box::new(on_event);
        let on_event = Arc::new(Mutex::new(on_event));
        let migrating = tell_of_migrations(&on_event);
        let files = DayFiles::create(&settings.directory, PATIENCE, None, settings.cache, migrating)?;
        Self::with(files, settings, annotate, on_event)
    }

    fn with(
        files: DayFiles,
        settings: &StoreSettings,
        annotate: Vec<Box<dyn Annotate>>,
        on_event: Arc<Mutex<OnEvent>>,
    ) -> Result<(Self, Recovered), Error> {
        let (outbox, mut cut) = Outbox::open(&settings.outbox, settings.outbox_size)?;
        let opened = settings.journal.as_deref().map(Journal::open).transpose()?;
        let (journal, recovered) =
            opened.map_or_else(Default::default, |(journal, recovered)| (Some(journal), recovered));
        cut += recovered.cut;
        let calls = recovered.calls.iter().filter(|call| !call.is_handed_over()).count();
        let waiting = outbox.records();
        if calls > 0 || waiting > 0 || cut > 0 {
            report(&on_event, StoreEvent::Recovered { calls, waiting, cut });
        }
        if recovered.refused > 0 {
            report(&on_event, StoreEvent::JournalTooLarge { refused: recovered.refused });
        }
        let shared = Arc::new(SharedState::new(settings));
        let failed = |error| Error::io(&settings.directory, error);
        let journal = match journal {
            Some(journal) => {
                let (jobs, todo) = sync_channel(JOURNAL_QUEUE);
                let thread = JournalThread::new(journal, todo, Arc::clone(&on_event), Arc::clone(&shared));
                let builder = std::thread::Builder::new().name("journal".into());
                Some((jobs, builder.spawn(move || thread.run()).map_err(failed)?))
            }
            None => None,
        };
        let (queue, jobs) = sync_channel(settings.queue.max(1));
        let ends = journal.as_ref().map(|(jobs, _)| jobs.clone());
        let writer = WriterThread::new(files, outbox, ends, jobs, on_event, Arc::clone(&shared));
        let writer = writer.annotating(annotate);
        let builder = std::thread::Builder::new().name("store".into());
        let thread = builder.spawn(move || writer.run()).map_err(failed)?;
        Ok((Self { shared, queue: Some(queue), thread: Some(thread), journal, handed_over: None }, recovered))
    }

    /// A sender for one thread. `None` once closed.
    pub fn sender(&self) -> Option<RecordSender> {
        let queue = self.queue.clone()?;
        let journal = self.journal.as_ref().map(|(jobs, _)| jobs.clone());
        Some(RecordSender::new(Arc::clone(&self.shared), queue, journal))
    }

    /// What was counted so far, and what waits now.
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// A handle on the same counts for another thread.
    pub fn counts_handle(&self) -> CountsHandle {
        CountsHandle(Arc::clone(&self.shared))
    }

    /// From now on day files and sessions are deleted once they are older than this.
    pub fn retain(&self, retain: Retain) {
        self.shared.set_retain(retain);
    }

    /// Waits, but no longer than `patience`, until everything queued so far is on disk, in the day files or
    /// in the outbox, and synced. Returns whether it is.
    pub fn flush(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let (done, wait) = sync_channel(1);
        let sent = self.queue.as_ref().is_some_and(|queue| queue.send(Job::Flush(done)).is_ok());
        if !sent || wait.recv_timeout(patience).is_err() {
            return false;
        }
        let Some((journal, _)) = &self.journal else { return true };
        let (done, wait) = sync_channel(1);
        let sent = journal.send(JournalJob::Flush(done)).is_ok();
        sent && wait.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }

    /// Writes what is queued and ends. Records that wait in the outbox are stored for at most `patience`; the
    /// rest stays there for the next run. The counts are final.
    pub fn close(mut self, patience: Duration) -> Counts {
        self.end(patience);
        self.shared.counts()
    }

    /// As [`close`](Self::close), and leaves these calls in the journal, in progress at `now`, for the next
    /// run to go on with. The notes of each end with [`CallNote::State`].
    pub fn hand_over(mut self, patience: Duration, now: Nanos, calls: Vec<(Call, Vec<CallNote>)>) -> Counts {
        self.handed_over = Some((now, calls));
        self.end(patience);
        self.shared.counts()
    }

    fn end(&mut self, patience: Duration) {
        self.shared.close(patience);
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // The records that are durable have ended in the journal by now.
        if let Some((jobs, thread)) = self.journal.take() {
            if let Some((now, calls)) = self.handed_over.take() {
                let _ = jobs.send(JournalJob::HandOver { now, calls });
            }
            let _ = jobs.send(JournalJob::Close);
            let _ = thread.join();
        }
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Reads the counts of a [`StoreWriter`] from another thread.
#[derive(Clone, Debug)]
pub struct CountsHandle(Arc<SharedState>);

impl CountsHandle {
    /// What was counted so far, and what waits now.
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }
}

/// Reports migrations: their beginning, their end, and some of the batches between.
fn tell_of_migrations(on_event: &Arc<Mutex<OnEvent>>) -> OnMigration {
    let on_event = Arc::clone(on_event);
    OnMigration::new(move |migration| {
        if migration.is_done || migration.moved % MIGRATED < 1024 {
            report(&on_event, StoreEvent::Migrating(migration.clone()));
        }
    })
}

/// Records that a migration moves from one report to the next, roughly.
const MIGRATED: u64 = 1 << 20;
/// How long the lock of another process is waited for: the queue fills meanwhile.
const PATIENCE: Duration = Duration::from_millis(250);
/// Entries on their way to the journal: it is written faster than calls begin.
const JOURNAL_QUEUE: usize = 1 << 14;

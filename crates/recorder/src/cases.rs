//! Logs which interception product belongs to which case, in a thread that workers notify.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use ringtap_report::time;
use ringtap_spool::rules::CallSlot;
use ringtap_spool::{ProductEntry, ProductLog};

/// A worker's notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaseNote {
    /// The call is recorded for these cases.
    Call { place: CallSlot, cases: Vec<String> },
    /// The owner belongs to the call.
    Owner { place: CallSlot, owner: u64 },
    /// The owner has no call, and is recorded for these cases.
    Alone { owner: u64, cases: Vec<String> },
}

/// Passes notifications of a worker to the thread.
#[derive(Clone, Debug)]
pub struct CaseReporter {
    /// None: the end.
    notes: SyncSender<Option<CaseNote>>,
    missed: Arc<AtomicBool>,
}

impl CaseReporter {
    /// Never waits.
    pub(crate) fn note(&self, note: CaseNote) {
        if let Err(TrySendError::Full(_)) = self.notes.try_send(Some(note)) {
            self.missed.store(true, Ordering::Relaxed);
        }
    }
}

/// The thread that writes `product.log`.
#[derive(Debug)]
pub struct CaseThread {
    reporter: CaseReporter,
    thread: JoinHandle<()>,
}

impl CaseThread {
    /// Starts it for the spool in that directory.
    pub fn start(directory: &Path) -> std::io::Result<Self> {
        let (notes, told) = sync_channel(MOST);
        let missed = Arc::new(AtomicBool::new(false));
        let register = Register::new(directory, &missed);
        let thread = thread::Builder::new().name("cases".into()).spawn(move || register.serve(&told))?;
        Ok(Self { reporter: CaseReporter { notes, missed }, thread })
    }

    /// For workers.
    pub fn reporter(&self) -> CaseReporter {
        self.reporter.clone()
    }

    /// Writes what is left, after every worker has ended.
    pub fn close(self) {
        // The send fails only if the thread has crashed, which the join reports.
        let _ = self.reporter.notes.send(None);
        if self.thread.join().is_err() {
            log::error!(
                target: "spool",
                "the thread that writes product.log crashed: deletions.log will not name every case; please \
                report this fault of ringtap",
            );
        }
    }
}

struct Register {
    products: ProductLog,
    /// Cases and owners of each call.
    calls: HashMap<CallSlot, (Vec<String>, Vec<u64>)>,
    /// Their order.
    order: VecDeque<CallSlot>,
    missed: Arc<AtomicBool>,
}

impl Register {
    fn new(directory: &Path, missed: &Arc<AtomicBool>) -> Self {
        Self {
            products: ProductLog::of(directory),
            calls: HashMap::new(),
            order: VecDeque::new(),
            missed: Arc::clone(missed),
        }
    }

    fn serve(mut self, told: &Receiver<Option<CaseNote>>) {
        let mut goes_on = true;
        while goes_on && let Ok(first) = told.recv() {
            // Notifications that arrived meanwhile are written together with it.
            let more = std::iter::from_fn(|| told.try_recv().ok()).take(MOST);
            let notes: Vec<Option<CaseNote>> = std::iter::once(first).chain(more).collect();
            goes_on = notes.iter().all(Option::is_some);
            let entries: Vec<ProductEntry> =
                notes.into_iter().flatten().flat_map(|note| self.entries_of(note)).collect();
            if let Err(error) = self.write(&entries) {
                log::error!(target: "spool", "{}", error);
            }
            if self.missed.swap(false, Ordering::Relaxed) {
                log::error!(
                    target: "spool",
                    "product.log is written too slowly: deletions.log will not name every case",
                );
            }
        }
    }

    fn write(&self, entries: &[ProductEntry]) -> Result<(), ringtap_spool::Error> {
        if entries.is_empty() { Ok(()) } else { self.products.append(entries) }
    }

    /// The entries to write for a notification.
    fn entries_of(&mut self, note: CaseNote) -> Vec<ProductEntry> {
        let at = time::now().0;
        let each = |owner: u64, cases: &[String]| -> Vec<ProductEntry> {
            cases.iter().map(|case| ProductEntry { owner, case: case.clone(), at }).collect()
        };
        match note {
            CaseNote::Alone { owner, cases } => each(owner, &cases),
            CaseNote::Owner { place, owner } => {
                let Some((cases, owners)) = self.calls.get_mut(&place) else { return Vec::new() };
                if owners.len() < OWNERS && !owners.contains(&owner) {
                    owners.push(owner);
                }
                each(owner, cases)
            }
            CaseNote::Call { place, cases } => {
                let (known, owners) = self.calls.entry(place).or_insert_with(|| {
                    self.order.push_back(place);
                    Default::default()
                });
                let new: Vec<String> = cases.iter().filter(|case| !known.contains(case)).cloned().collect();
                *known = cases;
                let told = owners.iter().flat_map(|owner| each(*owner, &new)).collect();
                if self.order.len() > CALLS
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.calls.remove(&oldest);
                }
                told
            }
        }
    }
}

/// Most waiting notifications.
const MOST: usize = 1 << 16;
/// Most remembered calls: the last that were intercepted.
const CALLS: usize = 1 << 16;
/// Most remembered owners of a call, for cases that are added later.
const OWNERS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_have_the_cases_of_their_calls() {
        let dir = tempfile::tempdir().unwrap();
        let written = CaseThread::start(dir.path()).unwrap();
        let reporter = written.reporter();
        let place = |slot| CallSlot { worker: 0, slot, generation: 1 };
        let cases = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        reporter.note(CaseNote::Owner { place: place(1), owner: 1 });
        reporter.note(CaseNote::Call { place: place(1), cases: cases(&["A"]) });
        reporter.note(CaseNote::Owner { place: place(1), owner: 2 });
        reporter.note(CaseNote::Call { place: place(1), cases: cases(&["A", "B"]) });
        reporter.note(CaseNote::Owner { place: place(1), owner: 3 });
        reporter.note(CaseNote::Owner { place: place(2), owner: 4 });
        reporter.note(CaseNote::Alone { owner: 5, cases: cases(&["C"]) });
        // Others may hold on to it.
        written.close();
        let told: Vec<(u64, String)> = ProductLog::of(dir.path())
            .all()
            .unwrap()
            .into_iter()
            .map(|entry| (entry.owner, entry.case))
            .collect();
        let expected = [(2, "A"), (2, "B"), (3, "A"), (3, "B"), (5, "C")];
        assert_eq!(told, expected.map(|(owner, case)| (owner, case.to_owned())));
    }

    #[test]
    fn no_more_calls_are_known_than_there_may_be() {
        let dir = tempfile::tempdir().unwrap();
        let mut register = Register::new(dir.path(), &Arc::default());
        for slot in 0..CALLS + 10 {
            register.entries_of(CaseNote::Call {
                place: CallSlot { worker: 0, slot, generation: 0 },
                cases: vec!["A".into()],
            });
        }
        assert_eq!((register.calls.len(), register.order.len()), (CALLS, CALLS));
    }
}

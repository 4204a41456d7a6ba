//! Opens journals and outboxes that somebody changed.

use std::fs;
use std::time::Duration;

use ringtap_model::{Call, Id, Nanos};
use ringtap_spool::{PendingEntry, PendingJournal};
use ringtap_store::{Journal, StoreSettings, StoreWriter};
use ringtap_testing::samples;

use crate::choices::Choices;
use crate::scratch::{Scratch, changed};

thread_local! {
    static JOURNALS: Scratch = Scratch::new(|dir| {
        let (mut journal, _) = Journal::open(&dir.join("journal")).expect("a journal");
        for number in 0..3_u8 {
            let call = Call { id: Id([number; 16]), ..samples::call() };
            journal.begin(Nanos::from_secs(number.into()), &call).expect("written");
        }
        journal.sync().expect("written");
        let (mut pending, _) = PendingJournal::open(dir).expect("a journal");
        let begun = |call| PendingEntry::Begun { call, owner: call + 7, from: Nanos(call) };
        pending.write(&[begun(1), begun(2), PendingEntry::Ended { call: 1 }]).expect("written");
    });
    static OUTBOX: Scratch = Scratch::new(|_| ());
}

/// The journals of calls in progress, and of recordings without a decision: what was read is written again,
/// and then read without damage.
pub fn journal(bytes: &[u8]) {
    JOURNALS.with(|files| {
        let mut choices = Choices::new(bytes);
        for (path, original) in files.named("") {
            if choices.byte() % 2 == 1 {
                fs::write(path, changed(original, &mut choices)).expect("a file of our own");
            }
        }
        let path = files.path().join("journal");
        if let Ok((journal, first)) = Journal::open(&path) {
            drop(journal);
            let (_, again) = Journal::open(&path).expect("it was opened before");
            assert_eq!((again.calls.len(), again.cut), (first.calls.len(), 0));
        }
        if let Ok((journal, first)) = PendingJournal::open(files.path()) {
            drop(journal);
            let (_, again) = PendingJournal::open(files.path()).expect("it was opened before");
            let owners = |left: &[ringtap_spool::UnfinishedDecision]| {
                left.iter().map(|one| (one.owners.clone(), one.from)).collect::<Vec<_>>()
            };
            assert_eq!(owners(&again), owners(&first));
        }
        files.restore();
    });
}

/// An outbox of one or two files: its records are stored, and it is empty afterwards.
pub fn outbox(bytes: &[u8]) {
    OUTBOX.with(|files| {
        let mut choices = Choices::new(bytes);
        let dir = files.path().join("outbox");
        fs::create_dir_all(&dir).expect("a directory of our own");
        let second = choices.bytes();
        fs::write(dir.join("part-00000001"), choices.rest()).expect("a file of our own");
        fs::write(dir.join("part-00000002"), second).expect("a file of our own");
        let settings = StoreSettings {
            directory: files.path().join("records"),
            queue: 4,
            cache: 1 << 20,
            outbox: dir,
            outbox_size: 1 << 20,
            journal: None,
            retain: Nanos::ZERO,
        };
        if let Ok((writer, _)) = StoreWriter::open(&settings, |_| ()) {
            let counts = writer.close(Duration::from_secs(60));
            assert_eq!(counts.outbox_records, 0, "{counts:?}");
        }
        files.restore();
    });
}

//! Opens journals, outboxes and stored records that somebody changed.

use std::fs;
use std::time::Duration;

use ringtap_model::{Call, Endpoint, Id, Nanos, Record, Stream, Value};
use ringtap_spool::{PendingEntry, PendingJournal};
use ringtap_store::format::{Decoder, Encoder};
use ringtap_store::{Journal, Retain, StoreSettings, StoreWriter};
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

/// The compact form of a call or of a stream, in the format of this program or in another.
pub fn compact(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let which = choices.byte();
    let layout = if which & 2 == 0 { &[] } else { choices.bytes() };
    let layout = std::str::from_utf8(layout).unwrap_or_default();
    let rest = choices.rest();
    let compact = if which & 4 == 0 { frame(rest) } else { rest.to_vec() };
    if which & 1 == 0 { read::<Call>(layout, &compact) } else { read::<Stream>(layout, &compact) }
}

/// A frame of zstd with these bytes as they are (RFC 8878, section 3.1.1), without its magic number.
fn frame(bytes: &[u8]) -> Vec<u8> {
    let bytes = &bytes[..bytes.len().min(1 << 16)];
    let block = (bytes.len() as u32) << 3 | 1;
    // No size and no checksum; a window of 2 MiB.
    [&[0x00, 0x58], &block.to_le_bytes()[..3], bytes].concat()
}

/// Fields of a record that are stored beside its compact form.
const APART: [&str; 4] = ["id", "call", "src", "dst"];

fn read<R: Record>(layout: &str, compact: &[u8]) {
    let own = Encoder::<R>::description(&APART);
    let column = |name: &str| match name {
        "id" | "call" => Value::Id(Id([7; 16])),
        "src" | "dst" => Value::Endpoint(Endpoint::new([192, 0, 2, 1].into(), 5060)),
        _ => Value::Null,
    };
    let layout = if layout.is_empty() { &own } else { layout };
    let Some(mut decoder) = Decoder::<R>::new(layout, &[]) else { return };
    let Ok(record) = decoder.decode(compact, 5, column) else { return };
    let mut again = Vec::new();
    let mut encoder = Encoder::<R>::new(&APART, &[]).expect("memory");
    encoder.encode(&record, 5, &[], &mut again).expect("memory");
    let mut decoder = Decoder::<R>::new(&own, &[]).expect("our own format");
    let twice = decoder.decode(&again, 5, column).expect("what was written is read");
    let body = encoder.body(&record, 5, &[]).to_vec();
    assert_eq!(encoder.body(&twice, 5, &[]), body);
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
            retain: Retain::default(),
        };
        if let Ok((writer, _)) = StoreWriter::open(&settings, |_| ()) {
            let counts = writer.close(Duration::from_secs(60));
            assert_eq!(counts.outbox_records, 0, "{counts:?}");
        }
        files.restore();
    });
}

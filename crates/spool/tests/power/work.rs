//! What is done to the spool while its calls are recorded, and what must be left after a power cut.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{
    Category, DeletionLog, DiskSpace, ForgetOrder, HeldRange, Hold, Holds, Janitor, Limits, MasterKey,
    ProductEntry, ProductLog, Reader, Signer, SpoolWriter, VerifyOptions, WriterSettings, forget, verify,
};

use crate::record::Event;
use crate::sys;

const START: Nanos = Nanos::from_secs(1_795_219_200);
const HOUR: Nanos = Nanos::from_secs(3_600);
/// When the oldest segments are old enough.
const LATER: Nanos = Nanos(START.0 + HOUR.0 + 4_000_000_000);

/// Owners of signalling and of media.
const OWNERS: [(Category, u64); 6] = [
    (Category::Signalling, 10),
    (Category::Signalling, 11),
    (Category::Media, 20),
    (Category::Media, 21),
    (Category::Media, 22),
    (Category::Media, 23),
];
const HELD: u64 = 20;

/// The steps of the work, in order. The mark of a step is twice its number when it begins, and one more when
/// it was told to be done.
const STEPS: [Step; 9] = [
    Step::Record(0),
    Step::Hold,
    Step::Forget(21),
    Step::Expire,
    Step::Record(100),
    Step::Forget(11),
    Step::Product,
    Step::Record(200),
    Step::Forget(22),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A writer that starts so many seconds later, and ends.
    Record(u64),
    Hold,
    Forget(u64),
    Expire,
    Product,
}

/// A packet: its owner, its time and its bytes.
type PacketCopy = (u64, u64, Vec<u8>);

/// What was read after each step.
pub(crate) struct Work {
    read: Vec<BTreeSet<PacketCopy>>,
}

/// How far the work had come at a power cut.
pub(crate) struct History {
    begun: usize,
    done: usize,
}

impl History {
    pub(crate) fn of(events: &[Event]) -> Self {
        let last = events.iter().rev().find_map(|event| match event {
            Event::Mark(mark) => Some(*mark),
            _ => None,
        });
        Self { begun: last.map_or(0, |mark| mark / 2 + 1), done: last.map_or(0, |mark| mark.div_ceil(2)) }
    }

    /// Steps that were told to be done.
    fn done(&self) -> &'static [Step] {
        &STEPS[..self.done]
    }

    fn has_begun(&self, step: Step) -> bool {
        STEPS[..self.begun].contains(&step)
    }
}

fn signer() -> Arc<Signer> {
    Arc::new(Signer::of(&[3; 32]))
}

fn settings(dir: &Path) -> WriterSettings {
    WriterSettings {
        memory: 70 * 4096,
        owners: 8,
        blocks: 8,
        age: Nanos::from_millis(900),
        span: Nanos::from_secs(2),
        wait: true,
        seal: Some(MasterKey::of([7; 32])),
        sign: Some(signer()),
        ..WriterSettings::new(dir.to_owned())
    }
}

impl Work {
    /// Does all steps, with a mark before and after each.
    pub(crate) fn carry_out(dir: &Path) -> Self {
        let mut read = Vec::new();
        for (number, step) in STEPS.into_iter().enumerate() {
            sys::mark(2 * number);
            match step {
                Step::Record(after) => record(dir, START + Nanos::from_secs(after)),
                Step::Hold => hold().save(dir).expect("held"),
                Step::Forget(owner) => forget_owner(dir, owner),
                Step::Expire => expire(dir),
                Step::Product => ProductLog::of(dir).append(&[product()]).expect("written"),
            }
            sys::mark(2 * number + 1);
            read.push(packets(dir).into_iter().collect());
        }
        assert_eq!(findings(dir), Vec::<String>::new());
        Self { read }
    }

    /// Starts a writer and a janitor on what a power cut left, and returns what is wrong then.
    pub(crate) fn check(&self, dir: &Path, history: &History) -> Vec<String> {
        let mut wrong = Vec::new();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            recover(dir, history);
            let mut found = findings(dir);
            // The order is in the log and was not carried out: `verify` says to give it again.
            let is_forgetting =
                history.begun > history.done && matches!(STEPS[history.done], Step::Forget(_));
            found.retain(|finding| !(is_forgetting && finding.contains("forget the call again")));
            wrong.extend(found.into_iter().map(|finding| format!("verify: {finding}")));
            self.compare(dir, history, &mut wrong);
        }));
        if let Err(panic) = caught {
            wrong.push(format!("it crashed: {:?}", panic.downcast_ref::<String>()));
        }
        wrong
    }

    fn compare(&self, dir: &Path, history: &History, wrong: &mut Vec<String>) {
        let there: BTreeSet<PacketCopy> = packets(dir).into_iter().collect();
        let written: BTreeSet<&PacketCopy> = self.read.iter().flatten().collect();
        let foreign = there.iter().filter(|packet| !written.contains(packet)).count();
        if foreign > 0 {
            wrong.push(format!("{foreign} packets are read that were not written"));
        }
        for step in history.done() {
            match step {
                Step::Forget(owner) => {
                    let before = self.read_before(*step);
                    let back =
                        before.iter().filter(|packet| packet.0 == *owner && there.contains(packet)).count();
                    if back > 0 {
                        wrong.push(format!("{back} packets of {owner} are read again"));
                    }
                }
                Step::Hold if Holds::read(dir).expect("holds").all() != [hold()] => {
                    wrong.push("the hold is lost".to_owned());
                }
                Step::Product if ProductLog::of(dir).all().expect("a log") != [product()] => {
                    wrong.push("the line of the product log is lost".to_owned());
                }
                _ => {}
            }
        }
        let Some(last) = history.done.checked_sub(1) else { return };
        // What a step that has begun may take away.
        let then = &self.read[last];
        let after = self.read.get(history.begun.saturating_sub(1)).unwrap_or(then);
        let missing = then.iter().filter(|packet| after.contains(packet) && !there.contains(packet)).count();
        if missing > 0 {
            wrong.push(format!("{missing} of {} packets are lost", then.len()));
        }
    }

    fn read_before(&self, step: Step) -> &BTreeSet<PacketCopy> {
        let number = STEPS.iter().position(|other| *other == step).expect("a step");
        &self.read[number - 1]
    }
}

/// As the daemon does when it starts.
fn recover(dir: &Path, history: &History) {
    let writer = SpoolWriter::open(settings(dir)).expect("a spool");
    writer.close(LATER);
    if history.has_begun(Step::Expire) {
        expire(dir);
    }
}

fn record(dir: &Path, start: Nanos) {
    let mut writer = SpoolWriter::open(settings(dir)).expect("a spool");
    let owners = OWNERS.map(|(category, key)| (key, writer.begin(category, key).expect("a place")));
    for number in 0..50 {
        let now = start + Nanos::from_millis(100 * number);
        for (key, owner) in owners {
            let mut data = [0x55; 60];
            data[..8].copy_from_slice(&key.to_be_bytes());
            let time = now + Nanos(key);
            writer.put(owner, &Frame { time, number: 1, link: LinkType(1), wire_len: 60, data: &data });
        }
        writer.tick(now);
    }
    let written = writer.written();
    writer.close(start + Nanos::from_secs(5));
    assert_eq!((written.failures(), written.lost_packets()), (0, 0));
}

fn hold() -> Hold {
    Hold {
        case: "court".to_owned(),
        id: "held".to_owned(),
        call_id: "held@example.org".to_owned(),
        since: START.0,
        parts: vec![HeldRange { owner: HELD, from: 0, to: u64::MAX }],
        pending: None,
        product: false,
    }
}

fn product() -> ProductEntry {
    ProductEntry { owner: 10, case: "A".to_owned(), at: START.0 }
}

fn forget_owner(dir: &Path, owner: u64) {
    let order = ForgetOrder { why: "asked for", at: START, product: false };
    let deletions = DeletionLog::of(dir, Some(signer()));
    let done = forget(&[dir], None, &[owner], Nanos::ZERO..Nanos::MAX, &deletions, order).expect("forgotten");
    assert!(done.keys > 0);
}

fn expire(dir: &Path) {
    let limits = Limits { age: [Some(HOUR), Some(HOUR), None], ..Limits::default() };
    let measure = |_: &Path| Ok(DiskSpace { total: 1 << 40, free: 1 << 40 });
    let deletions = DeletionLog::of(dir, Some(signer()));
    let mut janitor = Janitor::new(dir.to_owned(), limits, deletions, Vec::new()).with_measure(measure);
    for _ in 0..100 {
        if !janitor.step(LATER, |_| ()) {
            return;
        }
    }
}

fn findings(dir: &Path) -> Vec<String> {
    let options = VerifyOptions { keys: vec![signer().public()], ..VerifyOptions::default() };
    let report = verify(&[dir], &options, &mut |_, _| ()).expect("readable");
    report.findings.iter().map(ToString::to_string).collect()
}

fn packets(dir: &Path) -> Vec<PacketCopy> {
    let mut reader = Reader::open(dir).expect("a directory");
    reader.add_key(MasterKey::of([7; 32]));
    let segments = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
    let mut all = Vec::new();
    for (_, owner) in OWNERS {
        let found = reader.read(&[owner], &segments).expect("readable");
        all.extend(found.packets().map(|packet| (owner, packet.time.0, packet.data.to_vec())));
    }
    all
}

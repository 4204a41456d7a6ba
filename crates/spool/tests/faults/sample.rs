//! The spool that faults happen to: recorded, forgotten in part, deleted in part, held in part, continued by
//! another writer, and recovered after a kill.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{
    Category, DeletionLog, DiskSpace, ForgetOrder, HeldRange, Hold, Janitor, KnownHead, Limits, MasterKey,
    Reader, Segment, Signer, SpoolWriter, VerifyOptions, VerifyReport, WriterSettings, forget, verify,
};

use crate::tree::{self, Files};

const START: Nanos = Nanos::from_secs(1_795_219_200);
const HOUR: Nanos = Nanos::from_secs(3_600);

/// Owners of signalling, and of media.
const SIGNALLING: [u64; 2] = [10, 11];
const MEDIA: [u64; 4] = [20, 21, 22, 23];
/// One that is held, and two that are forgotten.
const HELD: u64 = 20;
const FORGOTTEN: [u64; 2] = [11, 21];

/// A packet: its time and its bytes.
pub(crate) type PacketCopy = (u64, Vec<u8>);

/// A spool at several times, and others like it.
pub(crate) struct Sample {
    pub(crate) now: Files,
    /// As it was before, oldest first.
    pub(crate) before: Vec<Files>,
    /// Other packets, sealed and signed with other keys.
    pub(crate) foreign: Files,
    /// Another spool with the same keys.
    pub(crate) sister: Files,
    pub(crate) heads: Vec<KnownHead>,
    /// What was written, by order forgotten or deleted or not.
    pub(crate) packets: BTreeSet<PacketCopy>,
    pub(crate) sister_packets: BTreeSet<PacketCopy>,
}

pub(crate) fn signer() -> Arc<Signer> {
    Arc::new(Signer::of(&[3; 32]))
}

pub(crate) fn master() -> MasterKey {
    MasterKey::of([7; 32])
}

pub(crate) fn settings(dir: &Path) -> WriterSettings {
    WriterSettings {
        memory: 70 * 4096,
        owners: 8,
        blocks: 8,
        age: Nanos::from_millis(900),
        span: Nanos::from_secs(2),
        wait: true,
        seal: Some(master()),
        sign: Some(signer()),
        ..WriterSettings::new(dir.to_owned())
    }
}

impl Sample {
    pub(crate) fn write(home: &Path) -> Self {
        let (dir, foreign, sister) = (home.join("sample"), home.join("foreign"), home.join("sister"));
        let (seal, sign) = (Some(MasterKey::of([8; 32])), Some(Arc::new(Signer::of(&[4; 32]))));
        record(WriterSettings { seal, sign, ..settings(&foreign) }, START, 6, 2);
        record(settings(&sister), START, 6, 3);
        let mut before = Vec::new();
        record(settings(&dir), START, 6, 1);
        before.push(tree::read(&dir));
        let mut written: BTreeSet<PacketCopy> = packets(&dir).into_iter().collect();
        for owner in FORGOTTEN {
            let order = ForgetOrder { why: "asked for", at: START, product: false };
            let deletions = DeletionLog::of(&dir, Some(signer()));
            let done = forget(&[&dir], None, &[owner], Nanos::ZERO..Nanos::MAX, &deletions, order)
                .expect("forgotten");
            assert!(done.keys > 0);
        }
        before.push(tree::read(&dir));
        expire(&dir);
        before.push(tree::read(&dir));
        record(settings(&dir), START + Nanos::from_secs(100), 4, 1);
        kill(&dir);
        before.push(tree::read(&dir));
        SpoolWriter::open(settings(&dir)).expect("recovered").close(START + HOUR);
        let report = look(&dir, Vec::new());
        assert_eq!(report.findings, [], "the sample is sound");
        assert_eq!((report.recovered, report.held, report.deleted), (1, 1, 2));
        let heads = report.heads.iter().map(|head| head.noted().parse().expect("a head")).collect();
        written.extend(packets(&dir));
        let read = tree::read;
        Self {
            now: read(&dir),
            before,
            foreign: read(&foreign),
            sister: read(&sister),
            heads,
            packets: written,
            sister_packets: packets(&sister).into_iter().collect(),
        }
    }
}

/// Verifies a spool against its public key.
pub(crate) fn look(dir: &Path, heads: Vec<KnownHead>) -> VerifyReport {
    let options = VerifyOptions { keys: vec![signer().public()], heads, ..VerifyOptions::default() };
    verify(&[dir], &options, &mut |_, _| ()).expect("readable")
}

/// All packets that can be read.
pub(crate) fn packets(dir: &Path) -> Vec<PacketCopy> {
    let mut reader = Reader::open(dir).expect("a directory");
    reader.add_key(master());
    let segments = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
    let owners = [&SIGNALLING[..], &MEDIA[..]].concat();
    let found = reader.read(&owners, &segments).expect("readable");
    found.packets().map(|packet| (packet.time.0, packet.data.to_vec())).collect()
}

/// Four streams and two calls; each packet says which spool it belongs to.
fn record(settings: WriterSettings, start: Nanos, seconds: u64, spool: u8) {
    let mut writer = SpoolWriter::open(settings).expect("a spool");
    let begin =
        |writer: &mut SpoolWriter, category, key| (key, writer.begin(category, key).expect("a place"));
    let mut owners = Vec::new();
    owners.extend(SIGNALLING.map(|key| begin(&mut writer, Category::Signalling, key)));
    owners.extend(MEDIA.map(|key| begin(&mut writer, Category::Media, key)));
    for number in 0..seconds * 10 {
        let now = start + Nanos::from_millis(100 * number);
        for (key, owner) in &owners {
            let mut data = [spool; 60];
            data[..8].copy_from_slice(&key.to_be_bytes());
            data[8..16].copy_from_slice(&now.0.to_be_bytes());
            let time = now + Nanos(*key);
            writer.put(*owner, &Frame { time, number: 1, link: LinkType(1), wire_len: 60, data: &data });
        }
        writer.tick(now);
    }
    let written = writer.written();
    writer.close(start + Nanos::from_secs(seconds));
    assert_eq!((written.failures(), written.lost_packets()), (0, 0));
}

/// The oldest segments expire, and a call of them is held.
fn expire(dir: &Path) {
    let parts = vec![HeldRange { owner: HELD, from: 0, to: u64::MAX }];
    let hold = Hold {
        case: "court".to_owned(),
        id: format!("{HELD:032x}"),
        call_id: format!("{HELD}@example.org"),
        since: START.0,
        parts,
        pending: None,
        product: false,
    };
    hold.save(dir).expect("held");
    let limits = Limits { age: [Some(HOUR), Some(HOUR), None], ..Limits::default() };
    let deletions = DeletionLog::of(dir, Some(signer()));
    let measure = |_: &Path| Ok(DiskSpace { total: 1 << 40, free: 1 << 40 });
    let mut janitor = Janitor::new(dir.to_owned(), limits, deletions, Vec::new()).with_measure(measure);
    let now = START + HOUR + Nanos::from_secs(4);
    for _ in 0..100 {
        if !janitor.step(now, |_| ()) {
            break;
        }
    }
}

/// As a kill leaves a spool while the newest segment of media is written.
fn kill(dir: &Path) {
    let reader = Reader::open(dir).expect("a directory");
    let mut all = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
    all.retain(|segment: &Segment| segment.category() == Category::Media && segment.seal_path(dir).exists());
    let (before, last) = (&all[all.len() - 2], &all[all.len() - 1]);
    fs::copy(before.seal_path(dir), dir.join("w0-m.head")).expect("a head");
    fs::remove_file(last.index_path(dir)).expect("removed");
    fs::remove_file(last.seal_path(dir)).expect("removed");
}

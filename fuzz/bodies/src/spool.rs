//! Reads, verifies and exports spools of which somebody changed files.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{
    Category, Deletion, DeletionLog, FarError, FarStorage, LoggedDeletions, MasterKey, Reader, Signer,
    SpoolWriter, Upload, VerifyOptions, VerifyReport, WriterSettings, scan, verify,
};

use crate::choices::Choices;
use crate::scratch::{Scratch, changed};

const START: Nanos = Nanos::from_secs(1_795_219_200);
const OWNERS: [u64; 3] = [1, 2, 3];
/// Time and data of a packet.
type FoundPacket = (u64, Vec<u8>);

thread_local! {
    static PLAIN: Scratch = Scratch::new(|dir| write(settings(dir)));
    static SEALED: Scratch =
        Scratch::new(|dir| write(WriterSettings { seal: Some(master()), ..settings(dir) }));
    static SIGNED: Scratch = Scratch::new(|dir| {
        write(WriterSettings { sign: Some(signer()), ..settings(dir) });
        let deletions = DeletionLog::of(dir, Some(signer()));
        for why in ["asked for", "too old"] {
            let segment = "2026-11-20/120000.000-w0-s-9.pcap".parse().expect("a name");
            let entry = Deletion::segment(dir, &segment, START, why).expect("an entry");
            deletions.append(&[entry]).expect("a log");
        }
    });
}

fn signer() -> Arc<Signer> {
    Arc::new(Signer::of(&[3; 32]))
}

fn master() -> MasterKey {
    MasterKey::of([5; 32])
}

fn settings(dir: &Path) -> WriterSettings {
    WriterSettings {
        memory: 70 * 4096,
        owners: 4,
        age: Nanos::from_millis(300),
        span: Nanos::from_secs(1),
        blocks: 2,
        direct: false,
        wait: true,
        ..WriterSettings::new(dir.to_owned())
    }
}

/// Three segments of signalling, with chunks of three owners.
fn write(settings: WriterSettings) {
    let mut writer = SpoolWriter::open(settings).expect("a spool");
    let owners = OWNERS.map(|owner| writer.begin(Category::Signalling, owner).expect("room"));
    let mut now = START;
    for number in 0..24_u8 {
        now += Nanos::from_millis(125);
        let data = [number; 40];
        let frame = Frame { time: now, number: 1, link: LinkType(1), wire_len: 40, data: &data };
        writer.put(owners[usize::from(number) % 3], &frame);
        writer.tick(now);
    }
    writer.close(now);
}

/// What a spool is read with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Anything,
    SignedOnly,
}

/// Reads all packets of the owners in both ways, and returns them.
fn packets(dir: &Path, trust: Trust) -> BTreeSet<FoundPacket> {
    let mut reader = Reader::open(dir).expect("a directory");
    reader.add_key(master());
    let mut found = BTreeSet::new();
    if trust == Trust::SignedOnly && reader.trust(&[signer().public()]).is_err() {
        return found;
    }
    let segments = reader.between(Nanos::ZERO, Nanos::MAX).expect("names");
    if let Ok(packets) = reader.read(&OWNERS, &segments) {
        assert_eq!(packets.packets().count(), packets.len());
        found.extend(packets.packets().map(|packet| (packet.time.0, packet.data.to_vec())));
    }
    if let Ok(located) = reader.locate(&[(&OWNERS, &segments)]) {
        let mut ordered = reader.in_order(&located);
        while let Ok(Some((_, _, packet))) = ordered.next_packet() {
            found.insert((packet.time.0, packet.data.to_vec()));
        }
    }
    found
}

fn look(dir: &Path) -> VerifyReport {
    let options = VerifyOptions { keys: vec![signer().public()], ..VerifyOptions::default() };
    let report = verify(&[dir], &options, &mut |_, _| {}).expect("a directory");
    assert!(report.findings.iter().all(|finding| !finding.to_string().is_empty()));
    report
}

/// A segment, its index and its keys are arbitrary: the reader returns packets of sound chunks alone.
pub fn spool(bytes: &[u8]) {
    let whole = scan(bytes);
    assert!(
        whole.rows.len() <= bytes.len() && whole.is_sound() == (whole == scan(bytes) && whole.is_sound())
    );
    let sealed = bytes.first().is_some_and(|first| first % 2 == 1);
    if sealed {
        SEALED.with(|files| changed_segments(files, bytes))
    } else {
        PLAIN.with(|files| changed_segments(files, bytes))
    }
}

fn changed_segments(files: &Scratch, bytes: &[u8]) {
    let mut choices = Choices::new(&bytes[bytes.len().min(1)..]);
    for name in [".idx", ".keys", ".pcap"] {
        for (path, original) in files.named(name) {
            if choices.byte() % 2 == 1 {
                fs::write(path, changed(original, &mut choices)).expect("a file of our own");
            }
        }
    }
    let found = packets(files.path(), Trust::Anything);
    let without_index = {
        files.named(".idx").iter().for_each(|(path, _)| _ = fs::remove_file(path));
        packets(files.path(), Trust::Anything)
    };
    assert!(found.is_subset(&without_index), "an index does not make packets");
    files.restore();
}

/// A file of a signed spool is another: it is a finding, and no packet is there that was not written.
fn signed(bytes: &[u8], name: &str) {
    SIGNED.with(|files| {
        let mut choices = Choices::new(bytes);
        let choice = usize::from(choices.byte());
        let named = files.named(name);
        let (path, original) = named[choice % named.len()];
        let content = changed(original, &mut choices);
        fs::write(path, &content).expect("a file of our own");
        let report = look(files.path());
        assert_eq!(report.findings.is_empty(), content == *original, "{:?}", report.findings);
        assert!(packets(files.path(), Trust::SignedOnly).is_subset(&written()));
        files.restore();
    });
}

/// The packets of the signed spool.
fn written() -> BTreeSet<FoundPacket> {
    let packet = |number: u8| {
        let time = START + Nanos::from_millis(125 * (u64::from(number) + 1));
        (time.0, vec![number; 40])
    };
    (0..24).map(packet).collect()
}

/// A seal of a signed spool is another.
pub fn seals(bytes: &[u8]) {
    signed(bytes, ".seal");
}

/// The head of a chain is another, or the list of its open segments after a kill: a restart proves nothing
/// that was not written.
pub fn chain(bytes: &[u8]) {
    let Some((&first, bytes)) = bytes.split_first() else { return };
    if first % 2 == 0 {
        return signed(bytes, ".head");
    }
    SIGNED.with(|files| {
        let mut choices = Choices::new(bytes);
        for name in [".open", ".head", ".pcap"] {
            for (path, original) in files.named(name) {
                if choices.byte() % 2 == 1 {
                    fs::write(path, changed(original, &mut choices)).expect("a file of our own");
                }
            }
        }
        // As if the newest segment had not been closed.
        let seals = files.named(".seal");
        assert!(seals.len() > 1, "a chain");
        fs::remove_file(&seals[seals.len() - 1].0).expect("a file of our own");
        let restarted = WriterSettings { sign: Some(signer()), ..settings(files.path()) };
        if let Ok(writer) = SpoolWriter::open(restarted) {
            writer.close(START + Nanos::from_secs(60));
        }
        assert!(packets(files.path(), Trust::SignedOnly).is_subset(&written()));
        _ = look(files.path());
        files.restore();
    });
}

/// The log of deletions is another.
pub fn deletions(bytes: &[u8]) {
    SIGNED.with(|files| {
        let mut choices = Choices::new(bytes);
        let (path, original) = files.named("deletions")[0];
        let content = changed(original, &mut choices);
        fs::write(path, &content).expect("a file of our own");
        let keys = [signer().public()];
        if let Ok(logged) = LoggedDeletions::read(files.path(), &keys) {
            let whole = logged.flaws.is_empty() && logged.entries.len() == 2;
            assert_eq!(whole, content == *original, "{:?}", logged.flaws);
        }
        _ = look(files.path());
        files.restore();
    });
}

/// Far storage whose answers are arbitrary.
#[derive(Debug)]
struct Liar(Vec<u8>);

impl FarStorage for Liar {
    fn url(&self) -> String {
        "s3://liar".to_owned()
    }

    fn upload(&self, _: &str, _: u64) -> Result<Box<dyn Upload>, FarError> {
        Err(FarError::Failed("no".to_owned()))
    }

    fn read(&self, name: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>, FarError> {
        let lie = self.0.first().copied().unwrap_or_default();
        let of = |range: &Range<u64>| {
            let from = (range.start as usize).min(self.0.len());
            let to = (range.end as usize).min(self.0.len()).max(from);
            self.0[from..to].to_vec()
        };
        match lie {
            0 => Err(FarError::NotFound(name.to_owned())),
            1 => Ok(Vec::new()),
            2 => Ok(ranges.iter().map(|_| Vec::new()).collect()),
            _ => Ok(ranges.iter().map(of).collect()),
        }
    }

    fn length(&self, _: &str) -> Result<u64, FarError> {
        Ok(match self.0.last() {
            Some(0xff) => u64::MAX,
            _ => self.0.len() as u64,
        })
    }

    fn delete(&self, _: &[String]) -> Result<(), FarError> {
        Ok(())
    }
}

/// Stubs of segments in far storage, names of others, and the answers of the storage are arbitrary.
pub fn far(bytes: &[u8]) {
    PLAIN.with(|files| {
        let mut choices = Choices::new(bytes);
        let (segment, original) = files.named(".pcap")[0];
        let below = segment.strip_prefix(files.path()).expect("a file in it");
        let stub = files.path().join("far").join(below).with_extension("far");
        fs::create_dir_all(stub.parent().expect("a directory")).expect("a directory of our own");
        let honest =
            format!("{{\"bytes\":{0},\"all\":{0},\"link\":1,\"crc\":0,\"versioned\":false}}", original.len());
        fs::write(&stub, changed(honest.as_bytes(), &mut choices)).expect("a file of our own");
        fs::remove_file(segment).expect("a file of our own");
        let liar = Arc::new(Liar(changed(original, &mut choices)));
        let mut reader = Reader::open(files.path()).expect("a directory");
        reader.far(Arc::clone(&liar) as Arc<dyn FarStorage>);
        let segments = reader.between(Nanos::ZERO, Nanos::MAX).expect("names");
        let sound: BTreeSet<Vec<u8>> = (0..24_u8).map(|number| vec![number; 40]).collect();
        if let Ok(found) = reader.read(&OWNERS, &segments)
            && liar.0 == *original
        {
            assert!(found.packets().all(|packet| sound.contains(packet.data)));
        }
        let options = VerifyOptions { far: Some(liar), ..VerifyOptions::default() };
        if let Ok(report) = verify(&[files.path()], &options, &mut |_, _| {}) {
            assert!(report.findings.iter().all(|finding| !finding.to_string().is_empty()));
        }
        files.restore();
    });
}

//! Segments in far storage, and everything that is done with them there: with a storage in memory that can be
//! away.

mod erasure;
mod failures;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{
    Category, DeletionLog, DiskSpace, FarError, FarStorage, Flaw, ForgetOrder, HeldRange, Hold, Janitor,
    JanitorEvent, Limits, Location, MasterKey, Reader, Signer, SpaceThreshold, SpoolWriter, Upload,
    UploadOutcome, UploadRate, VerifyOptions, WriterSettings, forget, is_anything_far, scan, verify,
};

const START: Nanos = Nanos::from_secs(1_795_219_200);
const MINUTE: Nanos = Nanos::from_secs(60);
const HOUR: Nanos = Nanos::from_secs(3_600);
const DAY: Nanos = Nanos::from_secs(86_400);

/// A storage in memory.
#[derive(Clone, Debug, Default)]
struct Cellar(Arc<Mutex<Stock>>);

#[derive(Debug, Default)]
struct Stock {
    objects: BTreeMap<String, Vec<u8>>,
    /// It does not answer.
    away: bool,
    /// It returns no checksum, and changes a byte of each object.
    unproven: bool,
    spoils: bool,
    versioned: bool,
    /// The reads so far.
    reads: Vec<(String, Range<u64>)>,
}

impl Cellar {
    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.0.lock().expect("a lock")
    }

    fn open(&self) -> Result<MutexGuard<'_, Stock>, FarError> {
        let stock = self.stock();
        match stock.away {
            true => Err(FarError::Failed("the cellar is locked".into())),
            false => Ok(stock),
        }
    }

    fn far(&self) -> Arc<dyn FarStorage> {
        Arc::new(self.clone())
    }
}

impl FarStorage for Cellar {
    fn url(&self) -> String {
        "the cellar".into()
    }

    fn upload(&self, name: &str, _: u64) -> Result<Box<dyn Upload>, FarError> {
        drop(self.open()?);
        Ok(Box::new(Carried { cellar: self.clone(), name: name.to_owned(), bytes: Vec::new() }))
    }

    fn read(&self, name: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>, FarError> {
        let mut stock = self.open()?;
        stock.reads.extend(ranges.iter().map(|range| (name.to_owned(), range.clone())));
        let object = stock.objects.get(name).ok_or_else(|| FarError::NotFound(name.to_owned()))?;
        Ok(ranges.iter().map(|range| object[range.start as usize..range.end as usize].to_vec()).collect())
    }

    fn length(&self, name: &str) -> Result<u64, FarError> {
        let stock = self.open()?;
        stock
            .objects
            .get(name)
            .map(|object| object.len() as u64)
            .ok_or_else(|| FarError::NotFound(name.to_owned()))
    }

    fn delete(&self, names: &[String]) -> Result<(), FarError> {
        let mut stock = self.open()?;
        names.iter().for_each(|name| drop(stock.objects.remove(name)));
        Ok(())
    }
}

struct Carried {
    cellar: Cellar,
    name: String,
    bytes: Vec<u8>,
}

impl Upload for Carried {
    fn piece(&self) -> usize {
        10_000
    }

    fn put(&mut self, piece: Vec<u8>) -> Result<(), FarError> {
        assert!(piece.len() <= self.piece());
        drop(self.cellar.open()?);
        self.bytes.extend(piece);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<UploadOutcome, FarError> {
        let mut stock = self.cellar.open()?;
        if stock.spoils
            && let Some(byte) = self.bytes.last_mut()
        {
            *byte ^= 1;
        }
        let put = UploadOutcome { verified: !stock.unproven, versioned: stock.versioned };
        stock.objects.insert(self.name, self.bytes);
        Ok(put)
    }

    fn give_up(self: Box<Self>) {}
}

fn settings(dir: &Path) -> WriterSettings {
    WriterSettings {
        memory: 1 << 20,
        owners: 1000,
        blocks: 8,
        wait: true,
        ..WriterSettings::new(dir.to_owned())
    }
}

/// A call's two owners.
fn owners(call: u64) -> [u64; 2] {
    [1_000 + call, 2_000 + call]
}

/// A spool with recorded calls: calls of 50 packets, three at a time in a segment of three minutes.
fn spool(settings: WriterSettings, calls: u64) {
    let mut writer =
        SpoolWriter::open(WriterSettings { span: Nanos::from_secs(180), ..settings }).expect("a spool");
    let mut now = START;
    for call in 0..calls {
        let [signalling, media] = owners(call);
        let signalling = writer.begin(Category::Signalling, signalling).expect("a place");
        let media = writer.begin(Category::Media, media).expect("a place");
        for number in 0..50u64 {
            let mut data = [call as u8; 1_000];
            data[..8].copy_from_slice(&number.to_be_bytes());
            let owner = if number % 10 == 0 { signalling } else { media };
            let (time, link, wire_len) = (now, LinkType(1), data.len() as u32);
            writer.put(owner, &Frame { time, number, link, wire_len, data: &data });
            now += Nanos(MINUTE.0 / 50);
            writer.tick(now);
        }
        for owner in [signalling, media] {
            writer.finish(owner, now).expect("an owner");
        }
    }
    writer.close(now);
}

/// Segments older than an hour move.
fn moving() -> Limits {
    Limits { tier_after: Some(HOUR), ..Limits::default() }
}

fn janitor(dir: &Path, limits: Limits, cellar: &Cellar) -> Janitor {
    let roomy = |_: &Path| Ok(DiskSpace { total: 1 << 40, free: 1 << 40 });
    let mut janitor =
        Janitor::new(dir.to_owned(), limits, DeletionLog::of(dir, None), Vec::new()).with_measure(roomy);
    janitor.set_far(cellar.far(), UploadRate::Unlimited);
    janitor
}

/// Runs steps, a second apart, until the janitor is as wanted.
fn until(janitor: &mut Janitor, now: &mut Nanos, done: impl Fn(&Janitor) -> bool) -> Vec<JanitorEvent> {
    let mut notices = Vec::new();
    for _ in 0..200_000 {
        while janitor.step(*now, |notice| notices.push(notice)) {}
        if done(janitor) {
            return notices;
        }
        *now += Nanos::from_millis(50);
        std::thread::yield_now();
    }
    panic!("never: {notices:?} {:?}", janitor.status());
}

fn at(janitor: &Janitor, place: Location) -> u64 {
    janitor.status().segments[place as usize].iter().sum()
}

/// Packets of a call that can be read.
fn packets(dir: &Path, call: u64, far: Option<Arc<dyn FarStorage>>, key: Option<&MasterKey>) -> usize {
    let mut reader = Reader::open(dir).expect("a spool");
    far.into_iter().for_each(|far| reader.far(far));
    key.into_iter().for_each(|key| reader.add_key(key.clone()));
    let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("a directory");
    let found = reader.read(&owners(call), &all).expect("readable");
    for packet in found.packets() {
        assert!(packet.data[8..].iter().all(|byte| *byte == call as u8));
    }
    found.len()
}

/// A few chunks at once, in order of time.
fn in_order(dir: &Path, call: u64, far: Arc<dyn FarStorage>) -> usize {
    let mut reader = Reader::open(dir).expect("a spool");
    reader.far(far);
    let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("a directory");
    let chunks = reader.locate(&[(&owners(call), &all)]).expect("readable");
    let mut ordered = reader.in_order(&chunks);
    let mut count = 0;
    while let Some((_, _, packet)) = ordered.next_packet().expect("readable") {
        assert!(packet.data[8..].iter().all(|byte| *byte == call as u8));
        count += 1;
    }
    count
}

/// All segments have moved.
fn moved(dir: &Path, cellar: &Cellar) -> (Janitor, Nanos) {
    let mut janitor = janitor(dir, moving(), cellar);
    let mut now = START + HOUR + HOUR;
    until(&mut janitor, &mut now, |janitor| at(janitor, Location::Spool) == 0 && janitor.status().loose == 0);
    (janitor, now)
}

fn pcaps(dir: &Path) -> usize {
    let days =
        fs::read_dir(dir).expect("a directory").flatten().map(|day| day.path()).filter(|day| day.is_dir());
    let files =
        days.flat_map(|day| fs::read_dir(day).expect("a directory").flatten().map(|file| file.path()));
    files.filter(|file| file.extension().is_some_and(|kind| kind == "pcap")).count()
}

#[test]
fn segments_move_and_are_read_there_in_few_requests() {
    let dir = tempfile::tempdir().expect("a directory");
    spool(settings(dir.path()), 9);
    let all = pcaps(dir.path());
    let bytes: Vec<(String, Vec<u8>)> = Reader::open(dir.path())
        .and_then(|reader| reader.between(Nanos::ZERO, Nanos::MAX))
        .expect("a spool")
        .iter()
        .map(|segment| (segment.to_string(), fs::read(segment.path(dir.path())).expect("a segment")))
        .collect();
    let cellar = Cellar::default();
    assert!(!is_anything_far(dir.path()).expect("a directory"));
    let (janitor, _) = moved(dir.path(), &cellar);
    assert!(is_anything_far(dir.path()).expect("a directory"));
    assert_eq!(
        (pcaps(dir.path()), at(&janitor, Location::Far), janitor.status().moved.0),
        (0, all as u64, all as u64)
    );
    // The storage has what was here, under the same names.
    for (name, bytes) in &bytes {
        assert!(cellar.stock().objects.get(name) == Some(bytes), "{name}");
        assert!(cellar.stock().objects.contains_key(&name.replace(".pcap", ".idx")), "{name}");
    }
    // One call: only its chunks are read.
    assert_eq!(packets(dir.path(), 4, Some(cellar.far()), None), 50);
    let reads = std::mem::take(&mut cellar.stock().reads);
    let asked: u64 = reads.iter().map(|(_, range)| range.end - range.start).sum();
    assert!(reads.len() <= 10 && asked < 60_000, "{reads:?}");
    assert_eq!(in_order(dir.path(), 4, cellar.far()), 50);
    assert_eq!(std::mem::take(&mut cellar.stock().reads), reads, "the same requests");
    // Without the index it takes longer.
    let index = reads[0].0.replace(".pcap", ".idx");
    fs::remove_file(dir.path().join("far").join(index)).expect("an index");
    assert_eq!(packets(dir.path(), 4, Some(cellar.far()), None), 50);
    // A reader without the storage, or with one that is away, gets an error.
    let reader = |far: Option<Arc<dyn FarStorage>>| {
        let mut reader = Reader::open(dir.path()).expect("a spool");
        far.into_iter().for_each(|far| reader.far(far));
        let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("a directory");
        reader.read(&owners(4), &all).map(|found| (found.len(), found.gone.len()))
    };
    assert!(reader(None).expect_err("far").to_string().contains("far storage"));
    cellar.stock().away = true;
    let told = reader(Some(cellar.far())).expect_err("away").to_string();
    assert!(told.ends_with("cannot be read: the cellar is locked"), "{told}");
    cellar.stock().away = false;
    cellar.stock().objects.clear();
    let (found, gone) = reader(Some(cellar.far())).expect("nothing there");
    assert!(found == 0 && gone > 0, "{found} {gone}");
    // All objects in one directory are a spool again.
    let copy = tempfile::tempdir().expect("a directory");
    for (name, bytes) in &bytes {
        let path = copy.path().join(name);
        fs::create_dir_all(path.parent().expect("a day")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    }
    assert_eq!(packets(copy.path(), 4, None, None), 50);
}

#[test]
fn clocks_go_on_far_away_and_what_is_held_comes_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let seal = MasterKey::of([3; 32]);
    spool(WriterSettings { seal: Some(seal.clone()), ..settings(dir.path()) }, 9);
    let cellar = Cellar::default();
    let (mut janitor, mut now) = moved(dir.path(), &cellar);
    let part = |owner| HeldRange { owner, from: START.0, to: (START + DAY).0 };
    let hold = Hold {
        case: "x-17".into(),
        id: "4".into(),
        call_id: "4@example.org".into(),
        since: START.0,
        pending: None,
        product: false,
        parts: owners(4).map(part).to_vec(),
    };
    hold.save(dir.path()).expect("held");
    // The segments expire while the storage is away: held chunks are not given up.
    cellar.stock().away = true;
    janitor.set_limits(Limits { age: [Some(DAY); 3], ..moving() });
    now = now.max(START + DAY + HOUR);
    let told = until(&mut janitor, &mut now, |janitor| {
        janitor.status().is_far_lost && at(janitor, Location::Far) <= 2
    });
    assert!(told.iter().any(|notice| matches!(notice, JanitorEvent::Deleted { .. })), "{told:?}");
    assert_eq!(at(&janitor, Location::Far), 2);
    assert!(janitor.status().loose > 0, "what is deleted is still there");
    cellar.stock().away = false;
    cellar.stock().reads.clear();
    now += HOUR;
    let told = until(&mut janitor, &mut now, |janitor| {
        at(janitor, Location::Far) == 0 && janitor.status().loose == 0
    });
    let held: u64 = told
        .iter()
        .map(|notice| if let JanitorEvent::Deleted { held, .. } = notice { *held } else { 0 })
        .sum();
    assert!(held > 0, "{told:?}");
    assert!(cellar.stock().objects.is_empty(), "{:?}", cellar.stock().objects.keys());
    let fetched: u64 = cellar.stock().reads.iter().map(|(_, range)| range.end - range.start).sum();
    assert!(fetched < 60_000, "{fetched}");
    assert_eq!([3, 4, 5].map(|call| packets(dir.path(), call, None, Some(&seal))), [0, 50, 0]);
    assert!(!is_anything_far(dir.path()).expect("a directory"));
}

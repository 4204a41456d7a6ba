//! Segments in far storage: moving, reading, erasing and deleting them. The storage is in memory and can be
//! unreachable.

mod erasure;
mod failures;
mod remote;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use ringtap_model::Nanos;
use ringtap_spool::{
    DeletionLog, DiskSpace, FarError, FarStorage, Flaw, ForgetOrder, HeldRange, Hold, Janitor, JanitorEvent,
    Limits, Location, MasterKey, Reader, Signer, SpaceThreshold, Upload, UploadOutcome, UploadRate,
    VerifyOptions, WriterSettings, forget, is_anything_far, scan, verify,
};

use crate::common::{self, DAY, HOUR, MINUTE, START, owners, readable_packets, roomy, settings};

/// A storage in memory.
#[derive(Clone, Debug, Default)]
struct MemoryStorage(Arc<Mutex<StorageState>>);

#[derive(Debug, Default)]
struct StorageState {
    objects: BTreeMap<String, Vec<u8>>,
    /// The storage does not answer.
    away: bool,
    /// Uploads are not verified by a checksum.
    unproven: bool,
    /// A byte of each object is changed.
    spoils: bool,
    versioned: bool,
    /// Uploads that were given up.
    given_up: u64,
    /// The reads so far.
    reads: Vec<(String, Range<u64>)>,
}

impl MemoryStorage {
    fn state(&self) -> MutexGuard<'_, StorageState> {
        self.0.lock().expect("a lock")
    }

    fn open(&self) -> Result<MutexGuard<'_, StorageState>, FarError> {
        let state = self.state();
        match state.away {
            true => Err(FarError::Failed("the storage is away".into())),
            false => Ok(state),
        }
    }

    /// As the daemon has it: in another process, here in another thread.
    fn far(&self) -> Arc<dyn FarStorage> {
        Arc::new(remote::remote(self))
    }
}

impl FarStorage for MemoryStorage {
    fn url(&self) -> String {
        "memory".into()
    }

    fn upload(&self, name: &str, _: u64) -> Result<Box<dyn Upload>, FarError> {
        drop(self.open()?);
        Ok(Box::new(MemoryUpload { storage: self.clone(), name: name.to_owned(), bytes: Vec::new() }))
    }

    fn read(&self, name: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>, FarError> {
        let mut state = self.open()?;
        state.reads.extend(ranges.iter().map(|range| (name.to_owned(), range.clone())));
        let object = state.objects.get(name).ok_or_else(|| FarError::NotFound(name.to_owned()))?;
        Ok(ranges.iter().map(|range| object[range.start as usize..range.end as usize].to_vec()).collect())
    }

    fn length(&self, name: &str) -> Result<u64, FarError> {
        let state = self.open()?;
        state
            .objects
            .get(name)
            .map(|object| object.len() as u64)
            .ok_or_else(|| FarError::NotFound(name.to_owned()))
    }

    fn delete(&self, names: &[String]) -> Result<(), FarError> {
        let mut state = self.open()?;
        names.iter().for_each(|name| drop(state.objects.remove(name)));
        Ok(())
    }
}

struct MemoryUpload {
    storage: MemoryStorage,
    name: String,
    bytes: Vec<u8>,
}

impl Upload for MemoryUpload {
    fn piece(&self) -> usize {
        10_000
    }

    fn put(&mut self, piece: Vec<u8>) -> Result<(), FarError> {
        assert!(piece.len() <= self.piece());
        drop(self.storage.open()?);
        self.bytes.extend(piece);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<UploadOutcome, FarError> {
        let mut state = self.storage.open()?;
        if state.spoils
            && let Some(byte) = self.bytes.last_mut()
        {
            *byte ^= 1;
        }
        let put = UploadOutcome { verified: !state.unproven, versioned: state.versioned };
        state.objects.insert(self.name, self.bytes);
        Ok(put)
    }

    fn give_up(self: Box<Self>) {
        self.storage.state().given_up += 1;
    }
}

/// Writes a spool whose segments have three calls each.
fn spool(settings: WriterSettings, calls: u64) {
    common::spool(WriterSettings { span: Nanos::from_secs(180), ..settings }, calls);
}

/// Segments older than an hour move.
fn moving() -> Limits {
    Limits { tier_after: Some(HOUR), ..Limits::default() }
}

fn janitor(dir: &Path, limits: Limits, storage: &MemoryStorage) -> Janitor {
    let mut janitor =
        Janitor::new(dir.to_owned(), limits, DeletionLog::of(dir, None), Vec::new()).with_measure(roomy);
    janitor.set_far(storage.far(), UploadRate::Unlimited);
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

/// Counts the packets of a call that can be read.
fn packets(dir: &Path, call: u64, far: Option<Arc<dyn FarStorage>>, key: Option<&MasterKey>) -> usize {
    let mut reader = Reader::open(dir).expect("a spool");
    far.into_iter().for_each(|far| reader.far(far));
    key.into_iter().for_each(|key| reader.add_key(key.clone()));
    readable_packets(&mut reader, call)
}

/// Counts the packets of a call, read in order of time.
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

/// Moves all segments.
fn moved(dir: &Path, storage: &MemoryStorage) -> (Janitor, Nanos) {
    let mut janitor = janitor(dir, moving(), storage);
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
    let storage = MemoryStorage::default();
    assert!(!is_anything_far(dir.path()).expect("a directory"));
    let (janitor, _) = moved(dir.path(), &storage);
    assert!(is_anything_far(dir.path()).expect("a directory"));
    assert_eq!(
        (pcaps(dir.path()), at(&janitor, Location::Far), janitor.status().moved.0),
        (0, all as u64, all as u64)
    );
    // The storage has what was here, under the same names.
    for (name, bytes) in &bytes {
        assert!(storage.state().objects.get(name) == Some(bytes), "{name}");
        assert!(storage.state().objects.contains_key(&name.replace(".pcap", ".idx")), "{name}");
    }
    // One call: only its chunks are read.
    assert_eq!(packets(dir.path(), 4, Some(storage.far()), None), 50);
    let reads = std::mem::take(&mut storage.state().reads);
    let asked: u64 = reads.iter().map(|(_, range)| range.end - range.start).sum();
    assert!(reads.len() <= 10 && asked < 60_000, "{reads:?}");
    assert_eq!(in_order(dir.path(), 4, storage.far()), 50);
    assert_eq!(std::mem::take(&mut storage.state().reads), reads, "the same requests");
    // Without the index it takes longer.
    let index = reads[0].0.replace(".pcap", ".idx");
    fs::remove_file(dir.path().join("far").join(index)).expect("an index");
    assert_eq!(packets(dir.path(), 4, Some(storage.far()), None), 50);
    // A reader without the storage, or with one that is away, gets an error.
    let reader = |far: Option<Arc<dyn FarStorage>>| {
        let mut reader = Reader::open(dir.path()).expect("a spool");
        far.into_iter().for_each(|far| reader.far(far));
        let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("a directory");
        reader.read(&owners(4), &all).map(|found| (found.len(), found.gone.len()))
    };
    assert!(reader(None).expect_err("far").to_string().contains("far storage"));
    storage.state().away = true;
    let told = reader(Some(storage.far())).expect_err("away").to_string();
    assert!(told.ends_with("cannot be read: the storage is away"), "{told}");
    storage.state().away = false;
    storage.state().objects.clear();
    let (found, gone) = reader(Some(storage.far())).expect("nothing there");
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
    let storage = MemoryStorage::default();
    let (mut janitor, mut now) = moved(dir.path(), &storage);
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
    storage.state().away = true;
    janitor.set_limits(Limits { age: [Some(DAY); 3], ..moving() });
    now = now.max(START + DAY + HOUR);
    let told = until(&mut janitor, &mut now, |janitor| {
        janitor.status().is_far_lost && at(janitor, Location::Far) <= 2
    });
    assert!(told.iter().any(|notice| matches!(notice, JanitorEvent::Deleted { .. })), "{told:?}");
    assert_eq!(at(&janitor, Location::Far), 2);
    assert!(janitor.status().loose > 0, "what is deleted is still there");
    storage.state().away = false;
    storage.state().reads.clear();
    now += HOUR;
    let told = until(&mut janitor, &mut now, |janitor| {
        at(janitor, Location::Far) == 0 && janitor.status().loose == 0
    });
    let held: u64 = told
        .iter()
        .map(|notice| if let JanitorEvent::Deleted { held, .. } = notice { *held } else { 0 })
        .sum();
    assert!(held > 0, "{told:?}");
    assert!(storage.state().objects.is_empty(), "{:?}", storage.state().objects.keys());
    let fetched: u64 = storage.state().reads.iter().map(|(_, range)| range.end - range.start).sum();
    assert!(fetched < 60_000, "{fetched}");
    assert_eq!([3, 4, 5].map(|call| packets(dir.path(), call, None, Some(&seal))), [0, 50, 0]);
    assert!(!is_anything_far(dir.path()).expect("a directory"));
}

//! Segments that move to a far place, and everything that is done with them there: by a place in memory, which can be away.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{
    Category, Deletions, Far, Flaw, Hold, Janitor, Keeper, Limits, Look, MasterKey, Notice, Order, Part,
    Place, Put, Reader, Refusal, Room, Settings, Signer, Space, Upload, forget, is_anything_far, scan,
    verify,
};

const START: Nanos = Nanos::from_secs(1_795_219_200);
const MINUTE: Nanos = Nanos::from_secs(60);
const HOUR: Nanos = Nanos::from_secs(3_600);
const DAY: Nanos = Nanos::from_secs(86_400);

/// A place in memory.
#[derive(Clone, Debug, Default)]
struct Cellar(Arc<Mutex<Stock>>);

#[derive(Debug, Default)]
struct Stock {
    objects: BTreeMap<String, Vec<u8>>,
    /// It does not answer.
    away: bool,
    /// It tells no checksum, and spoils a byte of what it takes.
    unproven: bool,
    spoils: bool,
    versioned: bool,
    /// What was asked.
    reads: Vec<(String, Range<u64>)>,
}

impl Cellar {
    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.0.lock().expect("a lock")
    }

    fn open(&self) -> Result<MutexGuard<'_, Stock>, Refusal> {
        let stock = self.stock();
        match stock.away {
            true => Err(Refusal::Because("the cellar is locked".into())),
            false => Ok(stock),
        }
    }

    fn far(&self) -> Arc<dyn Far> {
        Arc::new(self.clone())
    }
}

impl Far for Cellar {
    fn place(&self) -> String {
        "the cellar".into()
    }

    fn upload(&self, name: &str, _: u64) -> Result<Box<dyn Upload>, Refusal> {
        drop(self.open()?);
        Ok(Box::new(Carried { cellar: self.clone(), name: name.to_owned(), bytes: Vec::new() }))
    }

    fn read(&self, name: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>, Refusal> {
        let mut stock = self.open()?;
        stock.reads.extend(ranges.iter().map(|range| (name.to_owned(), range.clone())));
        let object = stock.objects.get(name).ok_or_else(|| Refusal::Gone(name.to_owned()))?;
        Ok(ranges.iter().map(|range| object[range.start as usize..range.end as usize].to_vec()).collect())
    }

    fn length(&self, name: &str) -> Result<u64, Refusal> {
        let stock = self.open()?;
        stock
            .objects
            .get(name)
            .map(|object| object.len() as u64)
            .ok_or_else(|| Refusal::Gone(name.to_owned()))
    }

    fn delete(&self, names: &[String]) -> Result<(), Refusal> {
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

    fn put(&mut self, piece: Vec<u8>) -> Result<(), Refusal> {
        assert!(piece.len() <= self.piece());
        drop(self.cellar.open()?);
        self.bytes.extend(piece);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Put, Refusal> {
        let mut stock = self.cellar.open()?;
        if stock.spoils
            && let Some(byte) = self.bytes.last_mut()
        {
            *byte ^= 1;
        }
        let put = Put { proven: !stock.unproven, versioned: stock.versioned };
        stock.objects.insert(self.name, self.bytes);
        Ok(put)
    }

    fn give_up(self: Box<Self>) {}
}

fn settings(dir: &Path) -> Settings {
    Settings { memory: 1 << 20, owners: 1000, blocks: 8, wait: true, ..Settings::new(dir.to_owned()) }
}

/// A call's two owners.
fn owners(call: u64) -> [u64; 2] {
    [1_000 + call, 2_000 + call]
}

/// A spool of the past: calls of 50 packets, three at a time in a segment of three minutes.
fn spool(settings: Settings, calls: u64) {
    let mut keeper = Keeper::open(Settings { span: Nanos::from_secs(180), ..settings }).expect("a spool");
    let mut now = START;
    for call in 0..calls {
        let [signalling, media] = owners(call);
        let signalling = keeper.begin(Category::Signalling, signalling).expect("a place");
        let media = keeper.begin(Category::Media, media).expect("a place");
        for number in 0..50u64 {
            let mut data = [call as u8; 1_000];
            data[..8].copy_from_slice(&number.to_be_bytes());
            let owner = if number % 10 == 0 { signalling } else { media };
            let (time, link, wire_len) = (now, LinkType(1), data.len() as u32);
            keeper.put(owner, &Frame { time, number, link, wire_len, data: &data });
            now += Nanos(MINUTE.0 / 50);
            keeper.tick(now);
        }
        for owner in [signalling, media] {
            keeper.finish(owner, now).expect("an owner");
        }
    }
    keeper.close(now);
}

/// Segments older than an hour move.
fn moving() -> Limits {
    Limits { tier_after: Some(HOUR), ..Limits::default() }
}

fn janitor(dir: &Path, limits: Limits, cellar: &Cellar) -> Janitor {
    let roomy = |_: &Path| Ok(Space { total: 1 << 40, free: 1 << 40 });
    let mut janitor =
        Janitor::new(dir.to_owned(), limits, Deletions::of(dir, None), Vec::new()).measured(roomy);
    janitor.to_far(cellar.far(), Some(None));
    janitor
}

/// Looks, a second of the janitor's time after the other, until it is as wanted.
fn until(janitor: &mut Janitor, now: &mut Nanos, done: impl Fn(&Janitor) -> bool) -> Vec<Notice> {
    let mut notices = Vec::new();
    for _ in 0..200_000 {
        while janitor.look(*now, |notice| notices.push(notice)) {}
        if done(janitor) {
            return notices;
        }
        *now += Nanos::from_millis(50);
        std::thread::yield_now();
    }
    panic!("never: {notices:?} {:?}", janitor.tended());
}

fn at(janitor: &Janitor, place: Place) -> u64 {
    janitor.tended().segments[place as usize].iter().sum()
}

/// Packets of a call that can be read.
fn packets(dir: &Path, call: u64, far: Option<Arc<dyn Far>>, key: Option<&MasterKey>) -> usize {
    let mut reader = Reader::open(dir).expect("a spool");
    far.into_iter().for_each(|far| reader.far(far));
    key.into_iter().for_each(|key| reader.unlock(key.clone()));
    let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("a directory");
    let found = reader.read(&owners(call), &all).expect("readable");
    for packet in found.packets() {
        assert!(packet.data[8..].iter().all(|byte| *byte == call as u8));
    }
    found.len()
}

/// A few chunks at once, in order of time.
fn in_order(dir: &Path, call: u64, far: Arc<dyn Far>) -> usize {
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

/// Everything has moved.
fn moved(dir: &Path, cellar: &Cellar) -> (Janitor, Nanos) {
    let mut janitor = janitor(dir, moving(), cellar);
    let mut now = START + HOUR + HOUR;
    until(&mut janitor, &mut now, |janitor| at(janitor, Place::Spool) == 0 && janitor.tended().loose == 0);
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
        (pcaps(dir.path()), at(&janitor, Place::Far), janitor.tended().moved.0),
        (0, all as u64, all as u64)
    );
    // What is there is what was here, under the same names.
    for (name, bytes) in &bytes {
        assert!(cellar.stock().objects.get(name) == Some(bytes), "{name}");
        assert!(cellar.stock().objects.contains_key(&name.replace(".pcap", ".idx")), "{name}");
    }
    // One call: its chunks are asked for, and nothing else.
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
    // Who does not know where it lies, or cannot reach it, is told.
    let reader = |far: Option<Arc<dyn Far>>| {
        let mut reader = Reader::open(dir.path()).expect("a spool");
        far.into_iter().for_each(|far| reader.far(far));
        let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("a directory");
        reader.read(&owners(4), &all).map(|found| (found.len(), found.gone.len()))
    };
    assert!(reader(None).expect_err("far").to_string().contains("lies far"));
    cellar.stock().away = true;
    let told = reader(Some(cellar.far())).expect_err("away").to_string();
    assert!(told.ends_with("cannot be read: the cellar is locked"), "{told}");
    cellar.stock().away = false;
    cellar.stock().objects.clear();
    let (found, gone) = reader(Some(cellar.far())).expect("nothing there");
    assert!(found == 0 && gone > 0, "{found} {gone}");
    // All of it in one directory is a spool again.
    let copy = tempfile::tempdir().expect("a directory");
    for (name, bytes) in &bytes {
        let path = copy.path().join(name);
        fs::create_dir_all(path.parent().expect("a day")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    }
    assert_eq!(packets(copy.path(), 4, None, None), 50);
}

#[test]
fn a_place_that_is_away_stops_nothing_and_is_tried_again() {
    let dir = tempfile::tempdir().expect("a directory");
    spool(settings(dir.path()), 6);
    let all = pcaps(dir.path()) as u64;
    let cellar = Cellar::default();
    cellar.stock().away = true;
    let limits = Limits { age: [None, Some(DAY), None], ..moving() };
    let mut janitor = janitor(dir.path(), limits, &cellar);
    let mut now = START + HOUR + HOUR;
    let told = until(&mut janitor, &mut now, |janitor| janitor.tended().away);
    assert!(
        matches!(&told[..], [Notice::Away(error)] if error.to_string().contains("the cellar is locked")),
        "{told:?}"
    );
    assert_eq!((at(&janitor, Place::Spool), packets(dir.path(), 1, None, None)), (all, 50));
    // It is asked again after a while, more and more seldom, and that is not told again.
    now += MINUTE;
    let told = until(&mut janitor, &mut now, |janitor| janitor.tended().refused == 2);
    assert!(told.is_empty(), "{told:?}");
    // Clocks go on.
    now = START + DAY + HOUR + HOUR;
    let told = until(&mut janitor, &mut now, |janitor| janitor.tended().deleted[0] == 2);
    assert!(matches!(told[..], [Notice::Deleted { segments: 2, .. }]), "{told:?}");
    let left = at(&janitor, Place::Spool);
    cellar.stock().away = false;
    now += HOUR;
    let told = until(&mut janitor, &mut now, |janitor| {
        at(janitor, Place::Far) == left && janitor.tended().loose == 0
    });
    assert!(told.iter().any(|notice| matches!(notice, Notice::Back)), "{told:?}");
    assert!(!janitor.tended().away);
    // What is there is there alone; nothing is left of what was deleted meanwhile.
    assert_eq!(cellar.stock().objects.keys().filter(|name| name.ends_with(".pcap")).count() as u64, left);
}

/// Segments on a disk of 1 MiB that is too small for them.
#[test]
fn a_disk_that_fills_up_while_the_place_is_away_loses_the_oldest() {
    let dir = tempfile::tempdir().expect("a directory");
    spool(settings(dir.path()), 9);
    let cellar = Cellar::default();
    cellar.stock().away = true;
    let free = Limits {
        free: ringtap_spool::Marks { low: Room::Thousandths(100), high: Room::Thousandths(200) },
        ..Limits::default()
    };
    let left = Arc::new(Mutex::new(80u64));
    let room = Arc::clone(&left);
    let measure =
        move |_: &Path| Ok(Space { total: 1 << 20, free: (*room.lock().expect("a lock") << 20) / 1000 });
    let mut janitor = Janitor::new(dir.path().to_owned(), free, Deletions::of(dir.path(), None), Vec::new())
        .measured(measure);
    janitor.to_far(cellar.far(), Some(None));
    let mut now = START + HOUR;
    // Under the low mark, and the place is away: the oldest goes for good.
    let told = until(&mut janitor, &mut now, |janitor| janitor.tended().deleted[2] > 0);
    assert!(told.iter().any(|notice| matches!(notice, Notice::Away(_))), "{told:?}");
    assert!(!told.iter().any(|notice| matches!(notice, Notice::Stopped(_))), "{told:?}");
    assert_eq!((packets(dir.path(), 0, None, None), packets(dir.path(), 8, None, None)), (0, 50));
    // It works again: what would go moves.
    cellar.stock().away = false;
    *left.lock().expect("a lock") = 1_000;
    now += HOUR;
    until(&mut janitor, &mut now, |janitor| janitor.tended().loose == 0 && !janitor.tended().away);
    let gone = janitor.tended().deleted[2];
    *left.lock().expect("a lock") = 80;
    until(&mut janitor, &mut now, |janitor| janitor.tended().moved.0 > 0);
    assert_eq!(janitor.tended().deleted[2], gone);
    // Near the end nobody waits for a network.
    *left.lock().expect("a lock") = 20;
    until(&mut janitor, &mut now, |janitor| janitor.tended().deleted[2] > gone);
}

#[test]
fn what_is_not_there_as_it_was_sent_stays_here() {
    let dir = tempfile::tempdir().expect("a directory");
    spool(settings(dir.path()), 3);
    let all = pcaps(dir.path());
    let cellar = Cellar::default();
    (cellar.stock().unproven, cellar.stock().spoils) = (true, true);
    let mut janitor = janitor(dir.path(), moving(), &cellar);
    let mut now = START + HOUR + HOUR;
    let told = until(&mut janitor, &mut now, |janitor| janitor.tended().refused == 1);
    assert!(
        matches!(&told[..], [Notice::Away(error)] if error.to_string().contains("not there as it was sent")),
        "{told:?}"
    );
    assert_eq!((pcaps(dir.path()), packets(dir.path(), 1, None, None)), (all, 50));
    cellar.stock().spoils = false;
    now += HOUR;
    until(&mut janitor, &mut now, |janitor| at(janitor, Place::Spool) == 0);
    assert_eq!(packets(dir.path(), 1, Some(cellar.far()), None), 50);
}

#[test]
fn clocks_go_on_far_away_and_what_is_held_comes_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let seal = MasterKey::of([3; 32]);
    spool(Settings { seal: Some(seal.clone()), ..settings(dir.path()) }, 9);
    let cellar = Cellar::default();
    let (mut janitor, mut now) = moved(dir.path(), &cellar);
    let part = |owner| Part { owner, from: START.0, to: (START + DAY).0 };
    let hold = Hold {
        case: "x-17".into(),
        id: "4".into(),
        call_id: "4@example.org".into(),
        since: START.0,
        pending: None,
        product: false,
        parts: owners(4).map(part).to_vec(),
    };
    hold.place(dir.path()).expect("held");
    // The clock runs out while the place is away: what is held there is not given up.
    cellar.stock().away = true;
    janitor.limit(Limits { age: [Some(DAY); 3], ..moving() });
    now = now.max(START + DAY + HOUR);
    let told = until(&mut janitor, &mut now, |janitor| janitor.tended().away && at(janitor, Place::Far) <= 2);
    assert!(told.iter().any(|notice| matches!(notice, Notice::Deleted { .. })), "{told:?}");
    assert_eq!(at(&janitor, Place::Far), 2);
    assert!(janitor.tended().loose > 0, "what is deleted is still there");
    cellar.stock().away = false;
    cellar.stock().reads.clear();
    now += HOUR;
    let told =
        until(&mut janitor, &mut now, |janitor| at(janitor, Place::Far) == 0 && janitor.tended().loose == 0);
    let held: u64 =
        told.iter().map(|notice| if let Notice::Deleted { held, .. } = notice { *held } else { 0 }).sum();
    assert!(held > 0, "{told:?}");
    assert!(cellar.stock().objects.is_empty(), "{:?}", cellar.stock().objects.keys());
    let fetched: u64 = cellar.stock().reads.iter().map(|(_, range)| range.end - range.start).sum();
    assert!(fetched < 60_000, "{fetched}");
    assert_eq!([3, 4, 5].map(|call| packets(dir.path(), call, None, Some(&seal))), [0, 50, 0]);
    assert!(!is_anything_far(dir.path()).expect("a directory"));
}

const ORDER: Order<'static> = Order { why: "asked for", at: START, product: false };

#[test]
fn a_sealed_call_is_forgotten_far_away_by_its_keys() {
    let dir = tempfile::tempdir().expect("a directory");
    let (seal, sign) = (MasterKey::of([3; 32]), Arc::new(Signer::of(&[7; 32])));
    let sealed = Settings { seal: Some(seal.clone()), sign: Some(Arc::clone(&sign)), ..settings(dir.path()) };
    spool(sealed, 6);
    let cellar = Cellar::default();
    let _ = moved(dir.path(), &cellar);
    let deletions = Deletions::of(dir.path(), Some(sign));
    let order =
        |far: Option<&dyn Far>| forget(&[dir.path()], far, &owners(4), START..START + DAY, &deletions, ORDER);
    let before = cellar.stock().objects.clone();
    // Away: it is done here, said, and done there the next time.
    cellar.stock().away = true;
    let told = order(Some(&cellar)).expect_err("away").to_string();
    assert!(told.contains("though it is overwritten here") && told.contains("locked"), "{told}");
    cellar.stock().away = false;
    cellar.stock().versioned = true;
    let done = order(Some(&cellar)).expect("done");
    assert_eq!((done.keys + done.already, done.missed, done.fetched), (2, 0, 0), "{done:?}");
    assert_eq!(done.versions, 2);
    assert_eq!([3, 4, 5].map(|call| packets(dir.path(), call, Some(cellar.far()), Some(&seal))), [50, 0, 50]);
    // Of what is there the keys alone are others, and are what is here.
    for (name, bytes) in &before {
        let now = cellar.stock().objects[name].clone();
        if name.ends_with(".keys") {
            assert!(now == fs::read(dir.path().join("far").join(name)).expect("keys"), "{name}");
        } else {
            assert!(now == *bytes, "{name}");
        }
    }
    let differ = before.iter().filter(|(name, bytes)| cellar.stock().objects[*name] != **bytes).count();
    assert_eq!(differ, 2);
    let look = Look { far: Some(cellar.far()), ..Look::default() };
    let verified = verify(&[dir.path()], &look, &mut |_, _| ()).expect("readable");
    assert_eq!((verified.findings.len(), verified.forgotten), (0, 2), "{:?}", verified.findings);
}

#[test]
fn a_call_that_is_not_sealed_comes_back_to_be_forgotten() {
    let dir = tempfile::tempdir().expect("a directory");
    spool(settings(dir.path()), 6);
    let all = pcaps(dir.path());
    let cellar = Cellar::default();
    let (mut janitor, mut now) = moved(dir.path(), &cellar);
    let deletions = Deletions::of(dir.path(), None);
    let order =
        |far: Option<&dyn Far>| forget(&[dir.path()], far, &owners(4), START..START + DAY, &deletions, ORDER);
    assert!(order(None).expect_err("far").to_string().contains("lies far"));
    cellar.stock().away = true;
    assert!(order(Some(&cellar)).is_err());
    cellar.stock().away = false;
    let done = order(Some(&cellar)).expect("done");
    assert_eq!((done.packets, done.fetched, done.missed), (50, 2, 0), "{done:?}");
    // Nothing of it is there any more; others are read from here and from there.
    assert_eq!((pcaps(dir.path()), at(&janitor, Place::Far)), (2, all as u64));
    let whole = |stock: &Stock| {
        stock.objects.iter().filter(|(name, object)| name.ends_with(".pcap") && holds(object, 4)).count()
    };
    assert_eq!(whole(&cellar.stock()), 0);
    assert_eq!([1, 4, 5].map(|call| packets(dir.path(), call, Some(cellar.far()), None)), [50, 0, 50]);
    // It moves again, as it is now.
    now += HOUR;
    until(&mut janitor, &mut now, |janitor| at(janitor, Place::Spool) == 0 && janitor.tended().loose == 0);
    assert_eq!(pcaps(dir.path()), 0);
    assert_eq!(whole(&cellar.stock()), 0);
    assert_eq!([1, 4, 5].map(|call| packets(dir.path(), call, Some(cellar.far()), None)), [50, 0, 50]);
    let look = Look { far: Some(cellar.far()), ..Look::default() };
    let verified = verify(&[dir.path()], &look, &mut |_, _| ()).expect("readable");
    assert_eq!(verified.findings, []);
    assert!(verified.erased >= 2, "{verified:?}");
}

/// Whether packets of a call are in there.
fn holds(object: &[u8], call: u8) -> bool {
    object.windows(900).any(|window| window.iter().all(|byte| *byte == call))
}

#[test]
fn a_change_far_away_is_found() {
    for signed in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut settings = settings(dir.path());
        if signed {
            settings.seal = Some(MasterKey::of([3; 32]));
            settings.sign = Some(Arc::new(Signer::of(&[7; 32])));
        }
        spool(settings, 6);
        let cellar = Cellar::default();
        let (janitor, _) = moved(dir.path(), &cellar);
        let look = |near, far: Option<Arc<dyn Far>>| {
            let look = Look { near, far, ..Look::default() };
            let mut told = (0, 0);
            let verified = verify(&[dir.path()], &look, &mut |done, total| told = (done, total))?;
            Ok::<_, ringtap_spool::Error>((verified, told))
        };
        let all = at(&janitor, Place::Far);
        let (verified, told) = look(false, Some(cellar.far())).expect("readable");
        assert_eq!(
            (verified.findings.len(), verified.segments, verified.far, verified.left_out),
            (0, all, all, 0)
        );
        assert!(told.0 == told.1 && told.0 > 300_000, "{told:?}");
        assert_eq!(verified.proven, if signed { all } else { 0 });
        // Left out, nothing is asked.
        cellar.stock().away = true;
        assert!(look(false, Some(cellar.far())).is_err());
        let (verified, _) = look(true, None).expect("readable");
        assert_eq!((verified.findings.len(), verified.left_out, verified.proven), (0, all, 0));
        cellar.stock().away = false;
        // A byte, then an end, then all of it.
        let name = cellar.stock().objects.keys().find(|name| name.ends_with(".pcap")).expect("one").clone();
        let good = cellar.stock().objects[&name].clone();
        let put = |bytes: Vec<u8>| drop(cellar.stock().objects.insert(name.clone(), bytes));
        let finding = || {
            let (verified, _) = look(false, Some(cellar.far())).expect("readable");
            assert_eq!(verified.findings.len(), 1, "{:?}", verified.findings);
            assert_eq!(verified.findings[0].place, name);
            verified.findings[0].fault.clone()
        };
        let mut bad = good.clone();
        bad[scan(&good).rows[0].offset as usize + 200] ^= 1;
        put(bad);
        let fault = finding();
        assert!(
            matches!(&fault, ringtap_spool::Fault::Changed(damage) if damage.what == Flaw::Changed),
            "{fault:?}"
        );
        put(good[..good.len() - 1].to_vec());
        assert!(finding().to_string().contains("bytes"));
        cellar.stock().objects.remove(&name);
        assert!(finding().to_string().contains("not there"));
    }
}

/// Whatever is killed between the steps: each file that may be there alone is.
#[test]
fn what_was_killed_on_its_way_is_cleared_up() {
    let dir = tempfile::tempdir().expect("a directory");
    spool(settings(dir.path()), 3);
    let cellar = Cellar::default();
    let far = dir.path().join("far");
    let segment = Reader::open(dir.path())
        .and_then(|reader| reader.between(Nanos::ZERO, Nanos::MAX))
        .expect("a spool")
        .remove(0);
    // Objects of a segment that was on its way and is no longer here, and of one that is.
    let orphan = "2026-11-20/000000.000-w0-m-1.pcap";
    fs::create_dir_all(far.join("loose")).expect("a directory");
    for name in [orphan, segment.as_str()] {
        fs::write(far.join("loose").join(name.replace('/', "_")), "").expect("a file");
        cellar.stock().objects.insert(name.to_owned(), b"half".to_vec());
    }
    let (_, mut now) = {
        let mut janitor = janitor(dir.path(), Limits::default(), &cellar);
        let mut now = START + HOUR;
        until(&mut janitor, &mut now, |_| !cellar.stock().objects.contains_key(orphan));
        (janitor, now)
    };
    assert_eq!(cellar.stock().objects.len(), 1);
    now += HOUR;
    let mut again = janitor(dir.path(), moving(), &cellar);
    until(&mut again, &mut now, |janitor| at(janitor, Place::Spool) == 0 && janitor.tended().loose == 0);
    assert_eq!(packets(dir.path(), 1, Some(cellar.far()), None), 50);
    // A stub and a loose name: the stub counts.
    fs::write(far.join("loose").join(segment.as_str().replace('/', "_")), "").expect("a file");
    now += HOUR;
    until(&mut again, &mut now, |janitor| janitor.tended().loose == 0);
    assert_eq!(packets(dir.path(), 1, Some(cellar.far()), None), 50);
}

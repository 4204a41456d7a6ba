//! What goes when clocks run out and disks fill up, and what stays whatever happens.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{
    Category, Deletion, Deletions, Fault, Hold, Holds, Janitor, Keeper, Limits, Log, Look, Marks, MasterKey,
    Notice, Order, Part, Place, Reader, Reason, Room, Segment, Settings, Signer, Space, forget, release,
    scan, space, verify,
};

const START: Nanos = Nanos::from_secs(1_795_219_200);
const MINUTE: Nanos = Nanos::from_secs(60);
const HOUR: Nanos = Nanos::from_secs(3_600);
const DAY: Nanos = Nanos::from_secs(86_400);

fn settings(dir: &Path) -> Settings {
    Settings { memory: 1 << 20, owners: 1000, blocks: 8, wait: true, ..Settings::new(dir.to_owned()) }
}

/// A call's two owners.
fn owners(call: u64) -> [u64; 2] {
    [1_000 + call, 2_000 + call]
}

/// So many calls of a minute each, one after the other, each with signalling and media of so many packets.
struct Calls {
    keeper: Keeper,
    now: Nanos,
    /// Packets put in.
    put: u64,
}

impl Calls {
    fn new(settings: Settings) -> Self {
        Self { keeper: Keeper::open(settings).expect("a spool"), now: START, put: 0 }
    }

    fn call(&mut self, call: u64, packets: u64) {
        let [signalling, media] = owners(call);
        let signalling = self.keeper.begin(Category::Signalling, signalling).expect("a place");
        let media = self.keeper.begin(Category::Media, media).expect("a place");
        for number in 0..packets {
            let mut data = [call as u8; 1_000];
            data[..8].copy_from_slice(&number.to_be_bytes());
            let owner = if number % 10 == 0 { signalling } else { media };
            let (time, link, wire_len) = (self.now, LinkType(1), data.len() as u32);
            self.keeper.put(owner, &Frame { time, number, link, wire_len, data: &data });
            self.put += 1;
            self.now += Nanos(MINUTE.0 / packets);
            self.keeper.tick(self.now);
        }
        for owner in [signalling, media] {
            self.keeper.finish(owner, self.now).expect("an owner");
        }
    }
}

/// A spool of the past: calls, a minute each.
fn spool(dir: &Path, calls: u64) {
    let mut spool = Calls::new(settings(dir));
    (0..calls).for_each(|call| spool.call(call, 50));
    spool.keeper.close(spool.now);
}

/// A disk with so much room that nothing is ever short.
fn roomy(_: &Path) -> std::io::Result<Space> {
    Ok(Space { total: 1 << 40, free: 1 << 40 })
}

fn janitor(dir: &Path, limits: Limits) -> Janitor {
    Janitor::new(dir.to_owned(), limits, Deletions::of(dir, None), Vec::new()).measured(roomy)
}

/// Looks until there is nothing more to do.
fn tend(janitor: &mut Janitor, now: Nanos) -> Vec<Notice> {
    let mut notices = Vec::new();
    for _ in 0..1_000 {
        if !janitor.look(now, |notice| notices.push(notice)) {
            return notices;
        }
    }
    panic!("no end: {notices:?}");
}

/// What can still be read of a call: packets, and whether something is said to be missing.
fn packets(dir: &Path, call: u64) -> usize {
    packets_with(dir, call, None)
}

fn packets_with(dir: &Path, call: u64, key: Option<&MasterKey>) -> usize {
    let mut reader = Reader::open(dir).expect("a spool");
    key.into_iter().for_each(|key| reader.unlock(key.clone()));
    let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("a directory");
    let found = reader.read(&owners(call), &all).expect("readable");
    for packet in found.packets() {
        assert!(packet.data[8..].iter().all(|byte| *byte == call as u8));
    }
    found.len()
}

/// Waits for the disk to have that many packets of a call.
fn await_packets(dir: &Path, call: u64, wanted: usize) {
    let begun = Instant::now();
    while packets(dir, call) != wanted {
        assert!(begun.elapsed().as_secs() < 20, "{} of {wanted} packets of {call}", packets(dir, call));
        thread::yield_now();
    }
}

fn segments(dir: &Path) -> Vec<Segment> {
    Reader::open(dir).expect("a spool").between(Nanos::ZERO, Nanos::MAX).expect("a directory")
}

fn hold(call: u64, case: &str) -> Hold {
    let part = |owner| Part { owner, from: START.0, to: (START + DAY).0 };
    Hold {
        case: case.to_owned(),
        id: format!("{call:032x}"),
        call_id: format!("{call}@example.org"),
        since: START.0,
        parts: owners(call).map(part).to_vec(),
        pending: None,
        product: false,
    }
}

/// Blocks of files below a directory, apart from those of some names.
fn on_disk(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut sum = 0;
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let told = fs::symlink_metadata(entry.path()).expect("a file");
        sum += if told.is_dir() { on_disk(&entry.path()) } else { told.blocks() * 512 };
    }
    sum
}

#[test]
fn each_category_goes_when_its_clock_has_run_out() {
    let dir = tempfile::tempdir().unwrap();
    spool(dir.path(), 12);
    let all = segments(dir.path());
    assert!(all.len() >= 20, "{all:?}");
    let before = on_disk(dir.path());
    let limits = Limits { age: [Some(DAY), Some(HOUR), None], ..Limits::default() };
    let mut janitor = janitor(dir.path(), limits);
    assert!(tend(&mut janitor, START + HOUR).is_empty());
    // Of media the first five minutes are over by an hour.
    let notices = tend(&mut janitor, START + HOUR + Nanos::from_secs(330));
    let [Notice::Deleted { reason: Reason::Age, segments: gone, bytes, held: 0, .. }] = &notices[..] else {
        panic!("{notices:?}");
    };
    let left = segments(dir.path());
    assert_eq!(left.len() as u64 + gone, all.len() as u64);
    let missing: Vec<&Segment> = all.iter().filter(|segment| !left.contains(segment)).collect();
    assert!(missing.iter().all(|segment| segment.category() == Category::Media));
    assert!((4..=5).contains(&missing.len()), "{missing:?}");
    // What is there now and was not before: the log with the room that is put aside for it, and the reserve.
    use std::os::unix::fs::MetadataExt;
    let ours =
        ["deletions.log", "reserve"].map(|name| fs::metadata(dir.path().join(name)).unwrap().blocks() * 512);
    assert_eq!(before - bytes, on_disk(dir.path()) - ours[0] - ours[1]);
    assert_eq!(janitor.tended().freed, [*bytes, 0, 0]);
    let told: Vec<String> =
        Log::read(dir.path(), &[]).unwrap().entries.into_iter().map(|entry| entry.segment).collect();
    assert_eq!(told, missing.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(packets(dir.path(), 0), 5);
    assert_eq!(packets(dir.path(), 11), 50);
    // In the end everything has gone, and its directory.
    tend(&mut janitor, START + DAY + DAY);
    assert!(segments(dir.path()).is_empty());
    let tended = janitor.tended();
    assert_eq!(tended.deleted, [all.len() as u64, 0, 0]);
    assert_eq!((tended.failures, tended.stopped), (0, false));
}

#[test]
fn a_size_is_kept_to_category_by_category() {
    let dir = tempfile::tempdir().unwrap();
    spool(dir.path(), 10);
    let mut janitor =
        janitor(dir.path(), Limits { size: [None, Some(300 << 10), None], ..Limits::default() });
    tend(&mut janitor, START + HOUR);
    tend(&mut janitor, START + HOUR + MINUTE);
    let [signalling, media, _] = janitor.tended().bytes[Place::Spool as usize];
    assert!(media <= 300 << 10 && media > 200 << 10, "{media}");
    assert!(signalling > 0);
    assert_eq!(packets(dir.path(), 0), 5, "signalling alone");
    assert_eq!(packets(dir.path(), 9), 50);
}

#[test]
fn a_held_call_outlives_its_segments_and_pins_nobody_elses() {
    held_call_outlives_its_segments(None);
}

#[test]
fn so_does_a_sealed_one_with_its_keys_alone() {
    held_call_outlives_its_segments(Some(MasterKey::of([7; 32])));
}

fn held_call_outlives_its_segments(seal: Option<MasterKey>) {
    let dir = tempfile::tempdir().expect("done");
    // Several calls in each segment.
    let packets = |dir: &Path, call| packets_with(dir, call, seal.as_ref());
    let mut spool = Calls::new(Settings { span: HOUR, seal: seal.clone(), ..settings(dir.path()) });
    (0..9).for_each(|call| spool.call(call, 200));
    spool.keeper.close(spool.now);
    for call in 0..9 {
        assert_eq!(packets(dir.path(), call), 200);
    }
    hold(4, "x-17").place(dir.path()).expect("done");
    hold(4, "x-18").place(dir.path()).expect("done");
    let order = Order { why: "asked for", at: START, product: false };
    let erase = |call| {
        forget(
            &[dir.path()],
            None,
            &owners(call),
            START..START + DAY,
            &Deletions::of(dir.path(), None),
            order,
        )
    };
    let error = erase(4).expect_err("held").to_string();
    assert!(error.contains("4@example.org") && error.contains("x-17"), "{error}");
    let forgotten = erase(8).expect("done");
    assert_eq!((forgotten.packets, forgotten.keys), if seal.is_some() { (0, 2) } else { (200, 0) });
    let limits = Limits { age: [Some(HOUR), Some(HOUR), None], ..Limits::default() };
    let mut janitor = janitor(dir.path(), limits);
    let notices = tend(&mut janitor, START + DAY);
    let [Notice::Deleted { held: 1.., .. }, Notice::Deleted { held: 1.., .. }] = &notices[..] else {
        panic!("{notices:?}");
    };
    assert_eq!(janitor.tended().bytes, [[0; 3]; 3]);
    assert_eq!(packets(dir.path(), 4), 200);
    for call in [0, 1, 3, 5, 8] {
        assert_eq!(packets(dir.path(), call), 0, "call {call}");
    }
    // What was copied is a segment like any other, with and without its index.
    for segment in segments(dir.path()) {
        let held = dir.path().join("held");
        let scan = scan(&fs::read(segment.path(&held)).expect("done"));
        assert_eq!(scan.damages, []);
        assert!(scan.rows.iter().all(|row| owners(4).contains(&row.chunk.owner)));
        fs::remove_file(segment.index_path(&held)).expect("done");
        if seal.is_some() {
            // Of ten rows, the header among them, one holds a key.
            let keys = fs::read(segment.keys_path(&held)).expect("done");
            let kinds: Vec<u8> = keys.chunks_exact(96).skip(1).map(|row| row[16]).collect();
            assert_eq!((kinds.len(), kinds.iter().filter(|kind| **kind == 1).count()), (9, 1), "{kinds:?}");
        }
    }
    assert_eq!(packets(dir.path(), 4), 200);
    tend(&mut janitor, START + DAY + HOUR);
    assert_eq!((janitor.tended().held, janitor.tended().held_bytes > 200_000), (1, true));
    // The one case is over, then the other.
    assert_eq!(release(dir.path(), "x-18", None, false).expect("done").len(), 1);
    assert_eq!(packets(dir.path(), 4), 200);
    assert_eq!(release(dir.path(), "x-17", Some("4@example.org"), false).expect("done").len(), 1);
    assert_eq!(packets(dir.path(), 4), 0);
    assert!(segments(dir.path()).is_empty());
    tend(&mut janitor, START + DAY + HOUR + HOUR);
    assert_eq!((janitor.tended().held, janitor.tended().held_bytes), (0, 0));
}

#[test]
fn a_hold_taken_away_by_hand_is_pruned_and_one_that_cannot_be_read_stops_every_deletion() {
    let dir = tempfile::tempdir().unwrap();
    spool(dir.path(), 3);
    for call in [0, 2] {
        hold(call, "a").place(dir.path()).unwrap();
    }
    let limits = Limits { age: [Some(HOUR), Some(HOUR), None], ..Limits::default() };
    let mut janitor = janitor(dir.path(), limits);
    let broken = dir.path().join("holds/a/broken.json");
    fs::write(&broken, "{").unwrap();
    let notices = tend(&mut janitor, START + DAY);
    assert!(matches!(&notices[..], [Notice::Fails(error)] if error.to_string().contains("broken.json")));
    assert_eq!(packets(dir.path(), 1), 50);
    fs::remove_file(&broken).unwrap();
    let notices = tend(&mut janitor, START + DAY + HOUR);
    assert!(notices.iter().any(|notice| matches!(notice, Notice::Works)), "{notices:?}");
    assert_eq!([0, 1, 2].map(|call| packets(dir.path(), call)), [50, 0, 50]);
    fs::remove_file(dir.path().join("holds/a").join(format!("{:032x}.json", 0))).unwrap();
    tend(&mut janitor, START + DAY + HOUR + HOUR);
    assert_eq!([0, 1, 2].map(|call| packets(dir.path(), call)), [0, 0, 50]);
    assert_eq!(Holds::read(dir.path()).unwrap().calls(), 1);
}

/// A disk of 4 MiB of which somebody else takes a part.
#[test]
fn a_short_disk_loses_the_oldest_then_recording_stops_and_goes_on_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (path, others) = (dir.path().to_owned(), Arc::new(Mutex::new(0u64)));
    let taken = Arc::clone(&others);
    let measure = move |asked: &Path| {
        let total: u64 = 4 << 20;
        Ok(Space { total, free: total.saturating_sub(on_disk(asked) + *taken.lock().expect("a lock")) })
    };
    let marks = Marks { low: Room::Thousandths(250), high: Room::Thousandths(400) };
    let limits = Limits { free: marks, ..Limits::default() };
    let mut calls = Calls::new(settings(&path));
    let written = calls.keeper.written();
    let mut janitor = Janitor::new(path.clone(), limits, Deletions::of(&path, None), vec![written.clone()])
        .measured(measure);
    let mut notices = Vec::new();
    hold(3, "court").place(&path).unwrap();
    for call in 0..40 {
        calls.call(call, 200);
        while janitor.look(calls.now, |notice| notices.push(notice)) {}
    }
    assert!(!notices.is_empty());
    assert!(
        notices.iter().all(|notice| matches!(notice, Notice::Deleted { reason: Reason::Space, .. })),
        "{notices:?}"
    );
    assert_eq!(calls.keeper.counts().lost_stopped, 0);
    // The last calls are there, the first are not, and the one that is held is.
    await_packets(&path, 37, 200);
    assert_eq!((packets(&path, 0), packets(&path, 3)), (0, 200));
    // Somebody else takes everything.
    *others.lock().unwrap() = 4 << 20;
    notices.clear();
    for _ in 0..5 {
        calls.now += Nanos::from_secs(1);
        while janitor.look(calls.now, |notice| notices.push(notice)) {}
    }
    assert!(matches!(notices.last(), Some(Notice::Stopped(_))), "{notices:?}");
    assert!(janitor.tended().stopped && written.is_stopped());
    calls.call(41, 100);
    assert_eq!(calls.keeper.counts().lost_stopped, 100);
    assert_eq!(packets(&path, 3), 200, "what is held stays");
    // And gives it back.
    *others.lock().unwrap() = 0;
    notices.clear();
    calls.now += MINUTE;
    while janitor.look(calls.now, |notice| notices.push(notice)) {}
    assert!(matches!(notices[..], [Notice::GoesOn(_)]), "{notices:?}");
    calls.call(42, 100);
    assert_eq!(calls.keeper.counts().lost_stopped, 100);
    calls.keeper.close(calls.now);
    assert_eq!(packets(&path, 42), 100);
}

#[test]
fn older_segments_move_to_the_tier_and_are_read_there() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    spool(dir.path(), 10);
    let limits = Limits { tier_after: Some(HOUR), age: [None, Some(DAY), None], ..Limits::default() };
    let mut janitor = janitor(dir.path(), limits);
    let tier = other.path().join("archive");
    janitor.to_tier(&tier).unwrap();
    janitor.to_tier(&tier).unwrap();
    let all = segments(dir.path());
    let notices = tend(&mut janitor, START + HOUR + Nanos::from_secs(300));
    assert!(
        notices.iter().all(|notice| matches!(notice, Notice::Moved(_))) && notices.len() > 6,
        "{notices:?}"
    );
    let moved: Vec<&Segment> = all.iter().filter(|segment| segment.path(&tier).exists()).collect();
    assert_eq!(moved.len(), notices.len());
    for segment in &moved {
        assert!(segment.files(dir.path()).iter().all(|path| !path.exists()));
        assert!(segment.index_path(&tier).exists());
    }
    // The oldest moved, nothing was lost, nothing half done is left.
    assert_eq!(moved[..], all.iter().take(moved.len()).collect::<Vec<_>>()[..]);
    (0..10).for_each(|call| assert_eq!(packets(dir.path(), call), 50));
    assert_eq!(janitor.tended().segments[Place::Tier as usize].iter().sum::<u64>(), moved.len() as u64);
    // Clocks run there as well, and holds hold.
    hold(0, "a").place(dir.path()).unwrap();
    tend(&mut janitor, START + DAY + HOUR + HOUR);
    assert!(segments(dir.path()).iter().filter(|segment| segment.category() == Category::Media).count() <= 2);
    assert_eq!([0, 1].map(|call| packets(dir.path(), call)), [50, 5]);
    let half = |dir: &Path| {
        fs::read_dir(dir).unwrap().flatten().any(|day| {
            day.path().is_dir()
                && fs::read_dir(day.path())
                    .unwrap()
                    .flatten()
                    .any(|file| file.path().extension() == Some("part".as_ref()))
        })
    };
    assert!(!half(dir.path()) && !half(&tier));
}

/// A file system that is mounted for as long as this lives.
struct Mounted(tempfile::TempDir);

impl Mounted {
    /// None where that is not allowed.
    fn new(mebibytes: u32) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let size = format!("size={mebibytes}m");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "ringtap-test"]).arg(dir.path()).output();
        match mount {
            Ok(output) if output.status.success() => Some(Self(dir)),
            _ => None,
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// A real file system that is filled to the last byte by somebody else: writes fail, deletions work all the same.
#[test]
fn a_disk_filled_to_the_last_byte() {
    let Some(disk) = Mounted::new(32) else {
        println!("SKIP: no file system can be mounted here");
        return;
    };
    let dir = disk.0.path().join("spool");
    let mut calls = Calls::new(settings(&dir));
    let written = calls.keeper.written();
    let mut janitor =
        Janitor::new(dir.clone(), Limits::default(), Deletions::of(&dir, None), vec![written.clone()]);
    let mut notices = Vec::new();
    for call in 0..5 {
        calls.call(call, 1_000);
        while janitor.look(calls.now, |notice| notices.push(notice)) {}
    }
    assert!(notices.is_empty(), "{notices:?}");
    hold(2, "court").place(&dir).unwrap();
    let ballast = disk.0.path().join("ballast");
    let fill = |bytes: u64| {
        let _ = fs::write(&ballast, vec![1; bytes as usize]);
        space(disk.0.path()).expect("a file system").free
    };
    assert_eq!(fill(64 << 20), 0, "nothing is left");
    calls.call(5, 1_000);
    let wait = Instant::now();
    while written.full() == 0 && wait.elapsed().as_secs() < 10 {
        thread::yield_now();
    }
    assert!(written.full() > 0);
    while janitor.look(calls.now, |notice| notices.push(notice)) {}
    // The oldest went, which made room above the mark; what is held was copied out first, or its segments stayed.
    let deleted = |notice: &Notice| matches!(notice, Notice::Deleted { reason: Reason::Space, .. });
    assert!(notices.iter().any(deleted), "{notices:?}");
    assert_eq!((packets(&dir, 0), packets(&dir, 2)), (0, 1_000));
    // Filled again and again until nothing is left that may go.
    for second in 1..20 {
        fill(64 << 20);
        calls.now += Nanos::from_secs(second);
        calls.keeper.tick(calls.now);
        while janitor.look(calls.now, |notice| notices.push(notice)) {}
    }
    assert!(notices.iter().any(|notice| matches!(notice, Notice::Stopped(_))), "{notices:?}");
    let lost = calls.keeper.counts().lost_stopped;
    calls.call(6, 100);
    assert_eq!(calls.keeper.counts().lost_stopped, lost + 100);
    fs::remove_file(&ballast).unwrap();
    calls.now += MINUTE;
    while janitor.look(calls.now, |notice| notices.push(notice)) {}
    assert!(matches!(notices.last(), Some(Notice::GoesOn(_))), "{notices:?}");
    calls.call(7, 100);
    calls.keeper.close(calls.now);
    assert_eq!((packets(&dir, 2), packets(&dir, 7)), (1_000, 100));
    let log = Log::read(&dir, &[]).unwrap();
    assert!(log.flaws.is_empty() && !log.entries.is_empty());
}

/// The log of deletions is no longer than it has to be, and proves what it proved before.
#[test]
fn a_log_that_has_grown_is_taken_together_and_the_chain_is_still_whole() {
    let dir = tempfile::tempdir().expect("done");
    let signer = Arc::new(Signer::of(&[3; 32]));
    let sealed = Settings {
        seal: Some(MasterKey::of([7; 32])),
        sign: Some(Arc::clone(&signer)),
        span: MINUTE,
        ..settings(dir.path())
    };
    let mut spool = Calls::new(sealed);
    (0..40).for_each(|call| spool.call(call, 50));
    spool.keeper.close(spool.now);
    let all = segments(dir.path()).len() as u64;
    // One is forgotten in what stays and one in what goes; years of other entries stand before.
    let deletions = Deletions::of(dir.path(), Some(Arc::clone(&signer)));
    let long_ago = |number| {
        let segment = format!("2024-01-01/{number:06}.000-w7-m-{number}.pcap").parse().expect("a name");
        Deletion::segment(dir.path(), &segment, START, "older than media is kept").expect("done")
    };
    deletions.append(&(0..4_000).map(long_ago).collect::<Vec<_>>()).expect("done");
    let order = Order { why: "request 9", at: START, product: false };
    for call in [2, 39] {
        let done =
            forget(&[dir.path()], None, &owners(call), START..START + DAY, &deletions, order).expect("done");
        assert!(done.keys > 0);
    }
    let log = dir.path().join("deletions.log");
    let before = fs::metadata(&log).expect("done").len();
    assert!(before > 1 << 20);
    let limits = Limits { age: [Some(HOUR), Some(HOUR), None], ..Limits::default() };
    let mut janitor = Janitor::new(dir.path().to_owned(), limits, deletions, Vec::new()).measured(roomy);
    let look = Look { keys: vec![signer.public()], quick: false, ..Look::default() };
    let verified = || verify(&[dir.path()], &look, &mut |_, _| ()).expect("done");
    for minutes in [25, 38] {
        let notices = tend(&mut janitor, START + HOUR + Nanos(MINUTE.0 * minutes));
        assert!(matches!(&notices[..], [Notice::Deleted { .. }, Notice::Deleted { .. }]), "{notices:?}");
        let verdict = verified();
        assert_eq!(verdict.findings, []);
        assert_eq!((verdict.proven, verdict.deleted), (verdict.segments, all - verdict.segments));
        assert!(verdict.forgotten > 0 && fs::metadata(&log).expect("done").len() < before / 10);
    }
    let told = Log::read(dir.path(), &[signer.public()]).expect("done");
    let earlier = told.entries[0].earlier.as_ref().expect("it was taken together");
    assert!(earlier.totals.iter().any(|total| total.entries >= 4_000), "{:?}", earlier.totals);
    // A segment that was cut out of what is left is still missed.
    let left = segments(dir.path());
    let cut = &left[left.len() / 2];
    cut.files(dir.path()).iter().for_each(|path| fs::remove_file(path).expect("done"));
    assert_eq!(verified().findings.len(), 1, "{:?}", verified().findings);
}

/// What is held is proven when what it was copied out of is gone.
#[test]
fn a_held_copy_has_a_seal_of_its_own() {
    let dir = tempfile::tempdir().expect("done");
    let dir = dir.path();
    let signer = Arc::new(Signer::of(&[3; 32]));
    let sealed = Settings {
        seal: Some(MasterKey::of([7; 32])),
        sign: Some(Arc::clone(&signer)),
        span: HOUR,
        ..settings(dir)
    };
    let mut spool = Calls::new(sealed);
    (0..9).for_each(|call| spool.call(call, 200));
    spool.keeper.close(spool.now);
    hold(4, "x").place(dir).expect("done");
    hold(5, "y").place(dir).expect("done");
    let limits = Limits { age: [Some(HOUR), Some(HOUR), None], ..Limits::default() };
    let deletions = Deletions::of(dir, Some(Arc::clone(&signer)));
    let mut janitor =
        Janitor::new(dir.to_owned(), limits.clone(), deletions.clone(), Vec::new()).measured(roomy);
    tend(&mut janitor, START + DAY);
    let look = |quick| Look { keys: vec![signer.public()], quick, ..Look::default() };
    let verified = |quick| verify(&[dir], &look(quick), &mut |_, _| ()).expect("done");
    for quick in [false, true] {
        let verdict = verified(quick);
        assert_eq!(verdict.findings, []);
        assert_eq!((verdict.segments, verdict.held, verdict.held_proven, verdict.recovered), (0, 2, 2, 0));
    }
    let copies = segments(dir);
    let held = dir.join("held");
    let path = copies[0].path(&held);
    let place = format!("held/{}", copies[0]);
    let whole = fs::read(&path).expect("done");
    let [keys, index] =
        [copies[0].keys_path(&held), copies[0].index_path(&held)].map(|path| fs::read(path).expect("done"));
    for at in (0..whole.len()).step_by(997) {
        let mut bad = whole.clone();
        bad[at] ^= 1;
        fs::write(&path, bad).expect("done");
        let verdict = verified(false);
        assert!(!verdict.findings.is_empty(), "byte {at}");
        assert!(verdict.findings.iter().all(|finding| finding.place == place), "{:?}", verdict.findings);
        assert_eq!(verdict.held_proven, 1);
    }
    // Packets in the place of others have every checksum, with an index of their own.
    let other = fs::read(copies[1].path(&held)).expect("done");
    fs::write(&path, &other).expect("done");
    fs::copy(copies[1].index_path(&held), copies[0].index_path(&held)).expect("done");
    assert!(verified(false).findings.iter().all(|finding| finding.place == place));
    assert!(!verified(false).findings.is_empty());
    // With everything that belongs to it, it is another's.
    for (from, to) in copies[1].files(&held).iter().zip(copies[0].files(&held)) {
        fs::copy(from, to).expect("done");
    }
    let misplaced = Fault::Misplaced(format!("held/{}", copies[1]));
    assert_eq!(
        verified(false).findings.iter().map(|finding| &finding.fault).collect::<Vec<_>>(),
        [&misplaced]
    );
    fs::write(&path, &whole).expect("done");
    fs::write(copies[0].index_path(&held), &index).expect("done");
    fs::write(copies[0].keys_path(&held), &keys).expect("done");
    fs::remove_file(copies[0].seal_path(&held)).expect("done");
    let faults: Vec<Fault> = verified(true).findings.into_iter().map(|finding| finding.fault).collect();
    assert_eq!(faults, [Fault::UnsealedCopy]);

    // Who has no key leaves a signed copy that others are held in to who has, and the copy that has no seal gets one.
    assert_eq!(release(dir, "y", None, false).expect("done").len(), 1);
    let key = MasterKey::of([7; 32]);
    let left = |call| packets_with(dir, call, Some(&key));
    // A tenth is signalling.
    assert_eq!((left(4), left(5)), (200, 180));
    tend(&mut janitor, START + DAY + HOUR);
    assert_eq!((left(4), left(5)), (200, 0));
    assert_eq!((verified(false).findings, verified(false).held_proven), (vec![], 2));
    fs::remove_file(copies[0].seal_path(&held)).expect("done");
    let mut next = Janitor::new(dir.to_owned(), limits, deletions, Vec::new()).measured(roomy);
    tend(&mut next, START + DAY + HOUR);
    let verdict = verified(false);
    assert_eq!((verdict.findings, verdict.held_proven, verdict.recovered), (vec![], 2, 1));
}

//! Far storage in another process: it does what storage here does, and neither side believes the other.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use ringtap_spool::{FarError, FarService, FarStorage, RemoteStorage, Upload, UploadOutcome};

use super::MemoryStorage;

/// The storage, spoken to over sockets.
pub(super) fn remote(storage: &MemoryStorage) -> RemoteStorage {
    served(Arc::new(storage.clone()))
}

fn served(far: Arc<dyn FarStorage>) -> RemoteStorage {
    let service = FarService::new(far);
    RemoteStorage::new("memory".into(), move || {
        let (ours, theirs) = UnixStream::pair()?;
        let service = service.clone();
        thread::spawn(move || service.serve(theirs));
        Ok(ours)
    })
}

fn frame(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&(1 + bytes.len() as u32).to_le_bytes()[..], &[kind], bytes].concat()
}

/// A process that greets, answers anything with these bytes, then says no more.
fn liar(answer: Vec<u8>) -> RemoteStorage {
    RemoteStorage::new("s3://b".into(), move || {
        let (ours, mut theirs) = UnixStream::pair()?;
        theirs.write_all(&frame(0, b""))?;
        theirs.write_all(&answer)?;
        theirs.shutdown(Shutdown::Write)?;
        thread::spawn(move || {
            // A question comes in several writes: it hears them all, or one would find the socket closed.
            let mut asked = [0; 64];
            while theirs.read(&mut asked).is_ok_and(|some| some > 0) {}
        });
        Ok(ours)
    })
}

const NAME: &str = "2026-11-21/134600.250-w0-m-17.pcap";

fn told<T>(result: Result<T, FarError>) -> String {
    result.map(|_| ()).expect_err("it is refused").to_string()
}

#[test]
fn answers_that_lie_about_kinds_and_lengths_are_refused() {
    let huge = [&u32::MAX.to_le_bytes()[..], &[0], &[7; 100]].concat();
    let over = [&((1_u32 << 20) + 2).to_le_bytes()[..], &[0], &[7; 100]].concat();
    let none = vec![0; 5];
    let short = frame(0, b"abc");
    let long = frame(0, &[7; 33]);
    let kind = frame(77, &[7; 8]);
    let empty = frame(1, b"");
    for answer in [&huge, &over, &none, &short, &long, &kind, &empty] {
        let lies = || liar(answer.clone());
        for problem in [
            told(lies().read(NAME, std::slice::from_ref(&(0..32)))),
            told(lies().length(NAME)),
            told(lies().upload(NAME, 9)),
            told(lies().delete(&[NAME.to_owned()])),
        ] {
            assert!(problem.starts_with("s3://b: the network client "), "{problem}");
        }
    }
    // Pieces of no length, and of any.
    for piece in [0, (64 << 20) + 1, u64::MAX] {
        assert!(told(liar(frame(0, &piece.to_le_bytes())).upload(NAME, 9)).contains("malformed"));
    }
    // An announced length that never comes takes no memory.
    let cut = frame(0, &[7; 32])[..20].to_vec();
    assert!(told(liar(cut).read(NAME, std::slice::from_ref(&(0..32)))).contains("started again"));
    // Texts go into one line of the log, and have an end.
    let text = [&b"\0a\nb\x1b[31m"[..], &[b'x'; 5000]].concat();
    let problem = told(liar(frame(1, &text)).length(NAME));
    assert!(problem.starts_with("a b [31mxxx") && problem.len() == 1000, "{problem}");
    assert!(
        matches!(liar(frame(1, b"\x01gone")).length(NAME), Err(FarError::NotFound(text)) if text == "gone")
    );
}

#[test]
fn flags_that_nobody_knows_complete_no_upload() {
    let answers = |flags: &[u8]| {
        [frame(0, &9_u64.to_le_bytes()), frame(0, b""), frame(0, b""), frame(0, flags)].concat()
    };
    for (flags, right) in [(&[3][..], true), (&[4], false), (&[], false), (&[1, 1], false)] {
        let mut upload = liar(answers(flags)).upload(NAME, 9).expect("it begins");
        upload.put(vec![1; 9]).expect("it is taken");
        assert_eq!(upload.finish().is_ok(), right, "{flags:?}");
    }
}

/// Answers to these questions, after a greeting.
fn asked(storage: &MemoryStorage, questions: &[Vec<u8>]) -> Vec<u8> {
    let (mut ours, theirs) = UnixStream::pair().expect("sockets");
    let service = FarService::new(Arc::new(storage.clone()));
    let serving = thread::spawn(move || service.serve(theirs));
    // It may have ended at an earlier question.
    let _ = ours.write_all(&[&[frame(1, &[1])][..], questions].concat().concat());
    let _ = ours.shutdown(Shutdown::Write);
    let mut answers = Vec::new();
    let _ = ours.read_to_end(&mut answers);
    drop(serving.join().expect("it does not panic"));
    answers
}

#[test]
fn questions_that_lie_end_the_connection_and_touch_no_other_object() {
    let storage = MemoryStorage::default();
    storage.state().objects.insert("secret".into(), b"xyz".to_vec());
    storage.state().objects.insert(NAME.into(), vec![7; 100]);
    let range = |from: u64, to: u64| [from.to_le_bytes(), to.to_le_bytes()].concat();
    let read = |count: u16, ranges: &[u8], name: &str| {
        frame(7, &[&count.to_le_bytes()[..], ranges, name.as_bytes()].concat())
    };
    let upload = |bytes: u64, name: &str| frame(2, &[&bytes.to_le_bytes()[..], name.as_bytes()].concat());
    let refusal = [frame(0, b""), frame(1, b"\0the question is malformed: restart ringtap")].concat();
    let wrong = [
        vec![frame(8, b"secret")],
        vec![frame(8, b"../secret")],
        vec![frame(8, b"2026-11-21/../secret.pcap")],
        vec![frame(8, &[0xff, 0xfe])],
        vec![frame(9, b"secret")],
        vec![frame(9, b"")],
        vec![upload(3, "secret")],
        vec![frame(2, &[1, 2])],
        vec![read(0, &[], NAME)],
        vec![read(65, &range(0, 1).repeat(65), NAME)],
        vec![read(2, &range(0, 1), NAME)],
        vec![read(1, &range(5, 5), NAME)],
        vec![read(1, &range(9, 5), NAME)],
        vec![read(1, &range(0, u64::MAX), NAME)],
        vec![read(2, &[range(0, u64::MAX), range(0, u64::MAX)].concat(), NAME)],
        vec![read(1, &range(0, (16 << 20) + 1), NAME)],
        vec![frame(3, b"x")],
        vec![frame(4, b"")],
        vec![frame(5, b"")],
        vec![frame(6, b"")],
        vec![frame(77, b"")],
    ];
    for questions in wrong {
        assert_eq!(asked(&storage, &questions), refusal, "{questions:?}");
    }
    let begun = [frame(0, b""), frame(0, &10_000_u64.to_le_bytes())].concat();
    let other = NAME.replace("17", "18");
    for rest in [
        // More than was announced, less than was announced, more than a piece, another upload meanwhile.
        vec![frame(3, &[1; 4])],
        vec![frame(3, &[1; 2]), frame(4, b""), frame(5, b"")],
        vec![frame(3, &[1; 10_001])],
        vec![upload(3, &other)],
        vec![frame(3, &[1; 3]), frame(5, b"")],
    ] {
        let bytes = if rest[0].len() > 1000 { 20_000 } else { 3 };
        let answers = asked(&storage, &[vec![upload(bytes, &other)], rest].concat());
        assert!(answers.starts_with(&begun) && answers.ends_with(&refusal[5..]), "{answers:?}");
    }
    for length in [0, u32::MAX, (1 << 20) + 2] {
        let lie = [&length.to_le_bytes()[..], &[8]].concat();
        assert_eq!(asked(&storage, &[lie]), frame(0, b""), "{length}");
    }
    let names: Vec<String> = storage.state().objects.keys().cloned().collect();
    assert_eq!(names, [NAME, "secret"]);
    assert_eq!(storage.state().given_up, 5);
    // Nothing before the greeting, and none of another version.
    let (mut ours, theirs) = UnixStream::pair().expect("sockets");
    ours.write_all(&frame(1, &[2])).expect("it is open");
    assert!(FarService::new(Arc::new(storage)).serve(theirs).is_err());
}

#[test]
fn long_ranges_come_in_several_questions_and_whole() {
    let storage = MemoryStorage::default();
    let content: Vec<u8> = (0..(17_u32 << 20) + 5).map(|at| (at ^ (at >> 9)) as u8).collect();
    let mut upload = remote(&storage).upload(NAME, 5 << 20).expect("it begins");
    for piece in content[..5 << 20].chunks(upload.piece()) {
        upload.put(piece.to_vec()).expect("it is taken");
    }
    assert!(upload.finish().expect("complete").verified);
    assert!(storage.state().objects[NAME] == content[..5 << 20]);
    storage.state().objects.insert(NAME.into(), content.clone());
    let mut ranges = vec![0..content.len() as u64, 5..5];
    ranges.extend((0..100).map(|at| at * 1000..at * 1000 + 7));
    let read = remote(&storage).read(NAME, &ranges).expect("it is there");
    for (range, bytes) in ranges.iter().zip(&read) {
        assert!(content[range.start as usize..range.end as usize] == **bytes, "{range:?}");
    }
    assert_eq!(read.len(), ranges.len());
    // An upload whose connection ends is given up.
    let upload = remote(&storage).upload(NAME, 9).expect("it begins");
    drop(upload);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while storage.state().given_up == 0 && std::time::Instant::now() < deadline {
        thread::yield_now();
    }
    assert_eq!(storage.state().given_up, 1);
}

/// A storage whose uploads wait until they are released, and that keeps nothing.
#[derive(Debug)]
struct SlowStorage {
    released: Arc<(Mutex<bool>, Condvar)>,
}

impl FarStorage for SlowStorage {
    fn url(&self) -> String {
        "slow".into()
    }

    fn upload(&self, _: &str, _: u64) -> Result<Box<dyn Upload>, FarError> {
        Ok(Box::new(SlowUpload(Arc::clone(&self.released))))
    }

    fn read(&self, _: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>, FarError> {
        Ok(ranges.iter().map(|range| vec![7; (range.end - range.start) as usize]).collect())
    }

    fn length(&self, _: &str) -> Result<u64, FarError> {
        Ok(9)
    }

    fn delete(&self, _: &[String]) -> Result<(), FarError> {
        Ok(())
    }
}

struct SlowUpload(Arc<(Mutex<bool>, Condvar)>);

impl Upload for SlowUpload {
    fn piece(&self) -> usize {
        8 << 20
    }

    fn put(&mut self, _: Vec<u8>) -> Result<(), FarError> {
        let (released, condition) = &*self.0;
        let released = released.lock().expect("a lock");
        drop(condition.wait_while(released, |released| !*released).expect("a lock"));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<UploadOutcome, FarError> {
        Ok(UploadOutcome::default())
    }

    fn give_up(self: Box<Self>) {}
}

#[test]
fn a_slow_upload_delays_no_other_operation() {
    let released = Arc::new((Mutex::new(false), Condvar::new()));
    let far = Arc::new(served(Arc::new(SlowStorage { released: Arc::clone(&released) })));
    let mut upload = far.upload(NAME, 9).expect("it begins");
    let uploading = thread::spawn(move || upload.put(vec![1; 9]).and_then(|()| upload.finish()));
    assert_eq!(far.read(NAME, std::slice::from_ref(&(0..32))), Ok(vec![vec![7; 32]]));
    assert_eq!(far.length(NAME), Ok(9));
    assert!(!uploading.is_finished(), "it waits still");
    *released.0.lock().expect("a lock") = true;
    released.1.notify_all();
    uploading.join().expect("no panic").expect("complete");
}

/// `cargo test --release -p ringtap-spool --test retain -- --ignored --nocapture what_the_other_process`
#[test]
#[ignore = "prints a figure; nothing can fail"]
fn what_the_other_process_costs() {
    let released = Arc::new((Mutex::new(true), Condvar::new()));
    let far = served(Arc::new(SlowStorage { released }));
    let (bytes, began) = (1_u64 << 30, std::time::Instant::now());
    let mut upload = far.upload(NAME, bytes).expect("it begins");
    for _ in 0..bytes / (8 << 20) {
        upload.put(vec![1; 8 << 20]).expect("it is taken");
    }
    upload.finish().expect("complete");
    println!("upload: {:.0} MB/s", bytes as f64 / 1e6 / began.elapsed().as_secs_f64());
    let began = std::time::Instant::now();
    for _ in 0..64 {
        far.read(NAME, std::slice::from_ref(&(0..16 << 20))).expect("it is there");
    }
    println!("read: {:.0} MB/s", bytes as f64 / 1e6 / began.elapsed().as_secs_f64());
    let began = std::time::Instant::now();
    (0..10_000).for_each(|_| assert_eq!(far.length(NAME), Ok(9)));
    println!("an operation: {:.0} microseconds", began.elapsed().as_secs_f64() * 100.0);
}

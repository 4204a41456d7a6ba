//! The protocol between the process that captures and the one that speaks to the bucket.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::net::Shutdown;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use ringtap_spool::{FarError, FarService, FarStorage, RemoteStorage, Segment, Upload, UploadOutcome};

use crate::choices::Choices;

const NAME: &str = "2026-11-21/134600.250-w0-m-17.pcap";
const OTHER: &str = "other";
const PIECE: usize = 300;

/// Each side gets arbitrary bytes from the other one: objects that are no segments stay as they are, and
/// nothing is returned that was not asked for.
pub fn network(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let which = choices.byte();
    let said = choices.rest();
    if which.is_multiple_of(2) { questions(said) } else { answers(said) }
}

fn questions(said: &[u8]) {
    let storage = MemoryStorage::default();
    storage.objects().insert(OTHER.to_owned(), b"secret".to_vec());
    storage.objects().insert(NAME.to_owned(), vec![7; 1000]);
    let mut connection = Connection { from: Cursor::new(said.to_vec()), written: 0 };
    _ = FarService::new(Arc::new(storage.clone())).serve(&mut connection);
    let objects = storage.objects();
    assert_eq!(objects.get(OTHER).map(Vec::as_slice), Some(&b"secret"[..]));
    let names: Vec<&String> = objects.keys().filter(|name| *name != OTHER).collect();
    assert!(names.iter().all(|name| is_of_a_segment(name)), "{names:?}");
    assert!(connection.written <= 200 * said.len() + 100_000, "{} bytes", connection.written);
}

fn is_of_a_segment(name: &str) -> bool {
    let segment = Path::new(name).with_extension("pcap");
    segment.to_str().is_some_and(|segment| segment.parse::<Segment>().is_ok())
}

fn answers(said: &[u8]) {
    let said: Arc<[u8]> = said[..said.len().min(4096)].into();
    let kept = Mutex::new(Vec::new());
    let storage = RemoteStorage::new("s3://b".to_owned(), move || {
        let (ours, mut theirs) = UnixStream::pair()?;
        theirs.write_all(&said)?;
        theirs.shutdown(Shutdown::Write)?;
        // What it is asked stays in the socket.
        kept.lock().expect("one thread").push(theirs);
        Ok(ours)
    });
    let ranges = [0..3, 10..200, 5..5];
    if let Ok(read) = storage.read(NAME, &ranges) {
        assert!(read.iter().zip(&ranges).all(|(some, range)| some.len() as u64 == range.end - range.start));
    }
    _ = storage.length(NAME);
    _ = storage.delete(&[NAME.to_owned()]);
    if let Ok(mut upload) = storage.upload(NAME, 9) {
        assert!((1..=64 << 20).contains(&upload.piece()));
        if upload.put(vec![1; 9]).is_ok() {
            _ = upload.finish();
        }
    }
}

/// Questions, and the number of bytes that were answered.
struct Connection {
    from: Cursor<Vec<u8>>,
    written: usize,
}

impl Read for Connection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.from.read(into)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Clone, Debug, Default)]
struct MemoryStorage(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl MemoryStorage {
    fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.0.lock().expect("one thread")
    }
}

impl FarStorage for MemoryStorage {
    fn url(&self) -> String {
        "memory".to_owned()
    }

    fn upload(&self, name: &str, bytes: u64) -> Result<Box<dyn Upload>, FarError> {
        Ok(Box::new(MemoryUpload {
            storage: self.clone(),
            name: name.to_owned(),
            announced: bytes,
            put: vec![],
        }))
    }

    fn read(&self, name: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>, FarError> {
        let objects = self.objects();
        let object = objects.get(name).ok_or_else(|| FarError::NotFound(name.to_owned()))?;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(object.len());
        Ok(ranges.iter().map(|range| object[place(range.start)..place(range.end)].to_vec()).collect())
    }

    fn length(&self, name: &str) -> Result<u64, FarError> {
        let length = self.objects().get(name).map(|object| object.len() as u64);
        length.ok_or_else(|| FarError::NotFound(name.to_owned()))
    }

    fn delete(&self, names: &[String]) -> Result<(), FarError> {
        names.iter().for_each(|name| drop(self.objects().remove(name)));
        Ok(())
    }
}

struct MemoryUpload {
    storage: MemoryStorage,
    name: String,
    announced: u64,
    put: Vec<u8>,
}

impl Upload for MemoryUpload {
    fn piece(&self) -> usize {
        PIECE
    }

    fn put(&mut self, piece: Vec<u8>) -> Result<(), FarError> {
        assert!(piece.len() <= PIECE, "a piece of {}", piece.len());
        self.put.extend(piece);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<UploadOutcome, FarError> {
        assert_eq!(self.put.len() as u64, self.announced);
        self.storage.objects().insert(self.name, self.put);
        Ok(UploadOutcome { verified: true, versioned: false })
    }

    fn give_up(self: Box<Self>) {}
}

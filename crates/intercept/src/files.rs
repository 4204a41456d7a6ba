//! Product as files: what an agency is given where no mediation function takes it.

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ringtap_capture::Writer;
use ringtap_handover::{
    Cin, Content, EncodeError, Encoder, Handover, Iri, NameError, Notification, Number, TimeFormat,
};
use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_warrant::{Liid, Order};
use sha2::{Digest, Sha256};

use crate::identifiers;
use crate::product::Product;

/// Why product could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// A file.
    #[error("cannot write product to `{}`: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// An order has a name that the standard has no room for.
    #[error("cannot encode the identifiers of an order: {0}")]
    Name(#[from] NameError),
    /// An event or a packet.
    #[error("cannot encode product: {0}")]
    Encode(#[from] EncodeError),
}

/// A file that was written whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Which.
    pub path: PathBuf,
    /// Its octets.
    pub octets: u64,
    /// SHA-256 of them.
    pub sha256: [u8; 32],
}

/// What the files of one order are.
#[derive(Clone, Debug)]
pub struct WrittenOrder {
    /// Whose.
    pub liid: Liid,
    /// Its files.
    pub files: Vec<WrittenFile>,
    /// Frames that carried product and are not in its capture files: parts of a datagram that came in
    /// fragments, of an earlier batch.
    pub frames_missing: u64,
}

/// Writes for each order: its events and notices (`.hi2`) and its content (`.hi3`) as PS-PDUs of ETSI TS 102
/// 232-1 one behind the other, and the frames that carried them (`.pcap`).
///
/// Files belong to whoever runs the program alone, and none that exists is written over. After the first that
/// cannot be written, nothing more is: [`ProductFiles::finish`] says why.
#[derive(Debug)]
pub struct ProductFiles {
    directory: PathBuf,
    orders: HashMap<Liid, OrderFiles>,
    failed: Option<FilesError>,
}

impl ProductFiles {
    /// Into a directory that exists.
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), orders: HashMap::new(), failed: None }
    }

    /// Whether something could not be written: the rest of the input would be for nothing.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// The first thing that could not be written.
    pub fn finish(mut self) -> Result<Vec<WrittenOrder>, FilesError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut written: Vec<WrittenOrder> =
            self.orders.into_iter().map(|(liid, files)| files.finish(liid)).collect::<Result<_, _>>()?;
        written.sort_by(|a, b| a.liid.cmp(&b.liid));
        Ok(written)
    }

    /// Does something with the files of an order, which are made first where there are none.
    fn with(
        &mut self,
        order: &Order,
        now: Nanos,
        act: impl FnOnce(&mut OrderFiles) -> Result<(), FilesError>,
    ) {
        if self.failed.is_some() {
            return;
        }
        if !self.orders.contains_key(&order.liid) {
            match OrderFiles::create(&self.directory, order, now) {
                Ok(files) => drop(self.orders.insert(order.liid.clone(), files)),
                Err(error) => return self.failed = Some(error),
            }
        }
        if let Some(files) = self.orders.get_mut(&order.liid) {
            self.failed = act(files).err();
        }
    }
}

impl Product for ProductFiles {
    fn iri(&mut self, order: &Order, cin: Cin, iri: Iri, frames: &[u64]) {
        self.with(order, iri.at, |files| {
            files.waiting.extend(frames);
            let number = files.number(Handover::Hi2, cin);
            files.encoder.iri(number, &iri, &mut files.pdu)?;
            files.put(Handover::Hi2)
        });
    }

    fn content(&mut self, order: &Order, cin: Cin, content: &Content<'_>, frames: &[u64]) {
        self.with(order, content.at, |files| {
            files.waiting.extend(frames);
            let number = files.number(Handover::Hi3, cin);
            files.encoder.content(number, content, &mut files.pdu)?;
            files.put(Handover::Hi3)
        });
    }

    fn notice(&mut self, order: &Order, notification: Notification) {
        self.with(order, notification.at, |files| {
            let number = files.number(Handover::Hi2, Cin(0));
            files.encoder.notification(number, &notification, &mut files.pdu)?;
            files.put(Handover::Hi2)
        });
    }

    fn frames(&mut self, frames: &[Frame<'_>]) {
        for files in self.orders.values_mut() {
            if self.failed.is_none() {
                self.failed = files.write_frames(frames).err();
            }
        }
    }
}

/// The files of one order.
#[derive(Debug)]
struct OrderFiles {
    encoder: Encoder,
    numbers: HashMap<(Handover, Cin), u32>,
    events: HashedFile,
    content: HashedFile,
    /// Where its files are, without their endings.
    base: PathBuf,
    /// One for each link type.
    captures: Vec<LinkCapture>,
    /// Numbers of frames that carried product of this batch.
    waiting: BTreeSet<u64>,
    frames_missing: u64,
    pdu: Vec<u8>,
}

impl OrderFiles {
    fn create(directory: &Path, order: &Order, now: Nanos) -> Result<Self, FilesError> {
        let (identifiers, key) = identifiers::of_order(order)?;
        let base = directory.join(file_name(&order.liid));
        Ok(Self {
            encoder: Encoder::new(identifiers, TimeFormat::default(), key, now),
            numbers: HashMap::new(),
            events: HashedFile::create(with_ending(&base, ".hi2"))?,
            content: HashedFile::create(with_ending(&base, ".hi3"))?,
            base,
            captures: Vec::new(),
            waiting: BTreeSet::new(),
            frames_missing: 0,
            pdu: Vec::new(),
        })
    }

    /// The next of a communication on that interface.
    fn number(&mut self, handover: Handover, cin: Cin) -> Number {
        let next = self.numbers.entry((handover, cin)).or_default();
        let sequence = *next;
        *next = next.wrapping_add(1);
        Number { cin, sequence }
    }

    /// Writes the PDU in hand.
    fn put(&mut self, handover: Handover) -> Result<(), FilesError> {
        let file = if handover == Handover::Hi2 { &mut self.events } else { &mut self.content };
        let written = file.write_all(&self.pdu);
        self.pdu.clear();
        written.map_err(|error| FilesError::File { path: file.path.clone(), error })
    }

    /// Writes those of the frames that carried product, once each and in their order.
    fn write_frames(&mut self, frames: &[Frame<'_>]) -> Result<(), FilesError> {
        let waiting = std::mem::take(&mut self.waiting);
        for number in waiting {
            let Ok(place) = frames.binary_search_by_key(&number, |frame| frame.number) else {
                self.frames_missing += 1;
                continue;
            };
            let frame = &frames[place];
            let capture = self.capture_of(frame.link)?;
            let written = capture.writer.write(frame);
            written.map_err(|error| FilesError::File { path: capture.path.clone(), error })?;
        }
        Ok(())
    }

    fn capture_of(&mut self, link: LinkType) -> Result<&mut LinkCapture, FilesError> {
        if let Some(place) = self.captures.iter().position(|capture| capture.link == link) {
            return Ok(&mut self.captures[place]);
        }
        let ending = if self.captures.is_empty() { ".pcap".to_owned() } else { format!("-{}.pcap", link.0) };
        let path = with_ending(&self.base, &ending);
        let writer = Writer::new(HashedFile::create(path.clone())?, &[link]);
        let writer = writer.map_err(|error| FilesError::File { path: path.clone(), error })?;
        let place = self.captures.len();
        self.captures.push(LinkCapture { link, path, writer });
        Ok(&mut self.captures[place])
    }

    fn finish(self, liid: Liid) -> Result<WrittenOrder, FilesError> {
        let Self { events, content, captures, frames_missing, .. } = self;
        let captures = captures.into_iter().map(|LinkCapture { path, writer, .. }| {
            writer.finish().map_err(|error| FilesError::File { path, error })
        });
        let captures: Vec<HashedFile> = captures.collect::<Result<_, _>>()?;
        let all = [events, content].into_iter().chain(captures);
        let files = all.map(HashedFile::finish).collect::<Result<_, _>>()?;
        Ok(WrittenOrder { liid, files, frames_missing })
    }
}

/// Frames of one link type.
#[derive(Debug)]
struct LinkCapture {
    link: LinkType,
    path: PathBuf,
    writer: Writer<HashedFile>,
}

fn with_ending(base: &Path, ending: &str) -> PathBuf {
    let mut path = base.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// As the identifier is written, where that is a file's name everywhere; its octets in hexadecimal digits
/// otherwise.
fn file_name(liid: &Liid) -> String {
    let text = liid.text();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if text.bytes().all(is_plain) && !text.starts_with("0x") {
        return text.to_string();
    }
    let octets = liid.octets().iter();
    octets.fold(String::from("0x"), |name, octet| format!("{name}{octet:02x}"))
}

/// A file, and the hash of what was written.
#[derive(Debug)]
struct HashedFile {
    path: PathBuf,
    to: BufWriter<File>,
    digest: Sha256,
    octets: u64,
}

impl HashedFile {
    fn create(path: PathBuf) -> Result<Self, FilesError> {
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match opened {
            Ok(file) => Ok(Self { path, to: BufWriter::new(file), digest: Sha256::new(), octets: 0 }),
            Err(error) => Err(FilesError::File { path, error }),
        }
    }

    /// On the disk.
    fn finish(self) -> Result<WrittenFile, FilesError> {
        let Self { path, to, digest, octets } = self;
        let synced = to.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        match synced {
            Ok(()) => Ok(WrittenFile { path, octets, sha256: digest.finalize().into() }),
            Err(error) => Err(FilesError::File { path, error }),
        }
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.octets += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

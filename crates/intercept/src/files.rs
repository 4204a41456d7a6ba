//! Product as files: what an agency is given where no mediation function takes it.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ringtap_capture::Writer;
use ringtap_handover::{
    Cin, Content, EncodeError, Encoder, Handover, InterceptionPoint, Iri, NameError, Notification,
    NotificationKind, Number, TimeFormat,
};
use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_warrant::{Liid, Order, ProductSigner};

use crate::hashed_file::{HashedFile, WrittenFile};
use crate::identifiers;
use crate::manifest::{FinishedSet, ManifestHead, Signing};
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
/// Files belong to whoever runs the program alone, and none that exists is written over. What is given stays
/// in memory until [`ProductFiles::sync`], [`ProductFiles::finish`], or until it is a megabyte. Those of
/// captures end with the first error: [`ProductFiles::finish`] says which. Those of live traffic go on: what
/// could not be written is counted, whole PDUs alone are in the files, and each has the time of its
/// beginning in its name. What is finished of it is signed, in a chain for each order (`.manifest`).
#[derive(Debug)]
pub struct ProductFiles {
    directory: PathBuf,
    orders: HashMap<Liid, OrderFiles>,
    /// Orders with frames that wait for the end of their batch.
    waiting: BTreeSet<Liid>,
    failed: Option<FilesError>,
    /// Of live product.
    signing: Option<Signing>,
    point: Option<InterceptionPoint>,
}

impl ProductFiles {
    /// Into a directory that exists.
    pub fn new(directory: &Path) -> Self {
        let directory = directory.to_owned();
        let (orders, waiting) = (HashMap::new(), BTreeSet::new());
        Self { directory, orders, waiting, failed: None, signing: None, point: None }
    }

    /// The same, of live traffic. Files that a service before had not finished are signed as they are.
    pub fn live(directory: &Path, signer: ProductSigner) -> Self {
        Self { signing: Some(Signing::begin(directory, signer)), ..Self::new(directory) }
    }

    /// Says in each PDU at which point it was intercepted.
    pub fn at_point(self, point: Option<InterceptionPoint>) -> Self {
        Self { point, ..self }
    }

    fn is_live(&self) -> bool {
        self.signing.is_some()
    }

    /// The newest manifest of an order's live product.
    pub fn manifest(&self, liid: &Liid) -> Option<ManifestHead> {
        self.signing.as_ref()?.head(&file_name(liid))
    }

    /// Whether something could not be written: the rest of the input would be for nothing.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// What could not be written of an order's live product: PDUs, and frames.
    pub fn lost(&self, liid: &Liid) -> u64 {
        self.orders.get(liid).map_or(0, OrderFiles::lost)
    }

    /// Brings what was given to the disk: a kill or a power cut does not lose it from now on. What cannot be
    /// written is counted, if it is live.
    pub fn sync(&mut self) {
        self.flush(true);
    }

    /// Finishes the files of live product: what follows goes into new ones, with the numbers that come next.
    /// Beside them, their hashes are written as `sha256sum -c` reads them (`.sha256`), and signed
    /// (`.manifest`).
    pub fn rotate(&mut self) {
        let signing = self.signing.as_ref();
        self.orders.values_mut().for_each(|files| files.rotate(signing));
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
        let written = self.orders.into_iter().filter_map(|(liid, files)| {
            let OrderFiles { set, frames_missing, .. } = files;
            let files = set?.finish();
            Some(files.map(|files| WrittenOrder { liid, files, frames_missing }))
        });
        let mut written: Vec<WrittenOrder> = written.collect::<Result<_, _>>()?;
        written.sort_by(|a, b| a.liid.cmp(&b.liid));
        Ok(written)
    }

    /// Does something with the files of an order, which are made first where there are none.
    fn with(
        &mut self,
        order: &Order,
        now: Nanos,
        frames: &[u64],
        act: impl FnOnce(&mut OrderFiles) -> Result<(), FilesError>,
    ) {
        if self.failed.is_some() {
            return;
        }
        if !self.orders.contains_key(&order.liid) {
            match OrderFiles::new(order, now, self.point) {
                Ok(files) => drop(self.orders.insert(order.liid.clone(), files)),
                Err(error) => return self.fail(error),
            }
        }
        let Some(files) = self.orders.get_mut(&order.liid) else { return };
        let made = match &files.set {
            Some(_) => Ok(()),
            None => FileSet::create(&self.directory, order, self.signing.is_some().then_some(now))
                .map(|set| files.set = Some(set)),
        };
        if made.is_ok() && !frames.is_empty() {
            files.waiting.extend(frames);
            self.waiting.insert(order.liid.clone());
        }
        // It is numbered also where it cannot be written: the gap says that it is missing.
        let done = act(files);
        if let Err(error) = made.and(done) {
            files.lost_before += 1;
            self.fail(error);
        }
    }

    fn fail(&mut self, error: FilesError) {
        if !self.is_live() {
            self.failed = Some(error);
        }
    }

    fn flush(&mut self, is_synced: bool) {
        // Of many files, the whole file system is synced at once, which is their own.
        let has_many = self.orders.values().filter(|files| files.is_unsynced()).count() > MOST_SYNCED;
        let sets = self.orders.values_mut().filter_map(|files| files.set.as_mut());
        let mut failed: Vec<FilesError> =
            sets.filter_map(|set| set.flush(is_synced && !has_many).err()).collect();
        if is_synced && has_many {
            let path = self.directory.clone();
            let synced = File::open(&path).and_then(|directory| Ok(rustix::fs::syncfs(directory)?));
            match synced {
                Ok(()) => self.orders.values_mut().for_each(OrderFiles::is_synced),
                Err(error) => failed.push(FilesError::File { path, error }),
            }
        }
        failed.into_iter().for_each(|error| self.fail(error));
    }

    /// An order has ended: so do its files. One with the same identifier that comes later may be another.
    fn end(&mut self, liid: &Liid) {
        if let Some(mut files) = self.orders.remove(liid) {
            files.rotate(self.signing.as_ref());
        }
    }
}

impl Product for ProductFiles {
    fn iri(&mut self, order: &Order, cin: Cin, iri: Iri, frames: &[u64]) {
        self.with(order, iri.at, frames, |files| {
            let number = files.number(Handover::Hi2, cin);
            files.encoder.iri(number, &iri, &mut files.pdu)?;
            files.put(Handover::Hi2);
            Ok(())
        });
    }

    fn content(&mut self, order: &Order, cin: Cin, content: &Content<'_>, frames: &[u64]) {
        self.with(order, content.at, frames, |files| {
            let number = files.number(Handover::Hi3, cin);
            files.encoder.content(number, content, &mut files.pdu)?;
            files.put(Handover::Hi3);
            Ok(())
        });
    }

    fn notice(&mut self, order: &Order, notification: Notification) {
        self.with(order, notification.at, &[], |files| {
            let number = files.number(Handover::Hi2, Cin(0));
            files.encoder.notification(number, &notification, &mut files.pdu)?;
            files.put(Handover::Hi2);
            Ok(())
        });
        if self.is_live() && notification.kind == NotificationKind::Deactivated {
            self.end(&order.liid);
        }
    }

    fn frames(&mut self, frames: &[Frame<'_>]) {
        for liid in std::mem::take(&mut self.waiting) {
            let Some(files) = self.orders.get_mut(&liid) else { continue };
            let written = files.write_frames(frames);
            files.lost_before += u64::from(written.is_err());
            let put_out = match &mut files.set {
                Some(set) if set.waiting() > MOST_WAITING => set.flush(false),
                _ => Ok(()),
            };
            for error in [written.err(), put_out.err()].into_iter().flatten() {
                self.fail(error);
            }
        }
    }
}

/// What is known of one order, and its files.
#[derive(Debug)]
struct OrderFiles {
    encoder: Encoder,
    numbers: HashMap<(Handover, Cin), u32>,
    /// None until there is something to write.
    set: Option<FileSet>,
    /// Numbers of frames that carried product of this batch.
    waiting: BTreeSet<u64>,
    frames_missing: u64,
    /// PDUs and frames that are in no file, as far as its present files do not count them.
    lost_before: u64,
    pdu: Vec<u8>,
}

impl OrderFiles {
    fn new(order: &Order, now: Nanos, point: Option<InterceptionPoint>) -> Result<Self, FilesError> {
        let (identifiers, key) = identifiers::of_order(order, point)?;
        Ok(Self {
            encoder: Encoder::new(identifiers, TimeFormat::default(), key, now),
            numbers: HashMap::new(),
            set: None,
            waiting: BTreeSet::new(),
            frames_missing: 0,
            lost_before: 0,
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
    fn put(&mut self, handover: Handover) {
        if let Some(set) = &mut self.set {
            let file = if handover == Handover::Hi2 { &mut set.events } else { &mut set.content };
            file.waiting.extend_from_slice(&self.pdu);
            file.records += 1;
        }
        self.pdu.clear();
    }

    /// Finishes its files.
    fn rotate(&mut self, signing: Option<&Signing>) {
        let Some(mut set) = self.set.take() else { return };
        // What cannot be written is counted.
        let _ = set.flush(true);
        self.lost_before += set.lost();
        let base = set.base.clone();
        // The files are there and synced, whether or not they can be signed.
        if let (Ok(files), Some(signing)) = (set.finish(), signing) {
            signing.sign(FinishedSet { base, files, lost: self.lost_before });
        }
    }

    fn is_unsynced(&self) -> bool {
        self.set.as_ref().is_some_and(|set| set.files().any(|file| file.is_unsynced) || set.waiting() > 0)
    }

    fn is_synced(&mut self) {
        self.set.iter_mut().for_each(FileSet::is_synced);
    }

    fn lost(&self) -> u64 {
        self.lost_before + self.set.as_ref().map_or(0, FileSet::lost)
    }

    /// Writes those of the frames that carried product, once each and in their order.
    fn write_frames(&mut self, frames: &[Frame<'_>]) -> Result<(), FilesError> {
        let waiting = std::mem::take(&mut self.waiting);
        let Some(set) = &mut self.set else { return Ok(()) };
        for number in waiting {
            let Ok(place) = frames.binary_search_by_key(&number, |frame| frame.number) else {
                self.frames_missing += 1;
                continue;
            };
            set.write_frame(&frames[place])?;
        }
        Ok(())
    }
}

/// The files of one order.
#[derive(Debug)]
struct FileSet {
    /// Where they are, without their endings.
    base: PathBuf,
    events: HashedFile,
    content: HashedFile,
    /// One for each link type.
    captures: Vec<LinkCapture>,
    /// Frames of captures that are no more.
    lost: u64,
}

impl FileSet {
    /// Makes them. `began`: the time that is in their names.
    fn create(directory: &Path, order: &Order, began: Option<Nanos>) -> Result<Self, FilesError> {
        let name = file_name(&order.liid);
        let Some(began) = began else { return Self::create_as(directory.join(name)) };
        // One of the same second is there if the program was started again within it.
        let mut last = None;
        for attempt in 0..MOST_ATTEMPTS {
            let second = began.0 / 1_000_000_000 + attempt;
            match Self::create_as(directory.join(format!("{name}-{second}"))) {
                Err(FilesError::File { path, error }) if error.kind() == io::ErrorKind::AlreadyExists => {
                    last = Some(FilesError::File { path, error });
                }
                made => return made,
            }
        }
        Err(last.unwrap_or_else(|| FilesError::File {
            path: directory.to_owned(),
            error: io::ErrorKind::AlreadyExists.into(),
        }))
    }

    fn create_as(base: PathBuf) -> Result<Self, FilesError> {
        let events = create(with_ending(&base, ".hi2"))?;
        match create(with_ending(&base, ".hi3")) {
            Ok(content) => Ok(Self { events, content, base, captures: Vec::new(), lost: 0 }),
            Err(error) => {
                events.remove();
                Err(error)
            }
        }
    }

    fn write_frame(&mut self, frame: &Frame<'_>) -> Result<(), FilesError> {
        let capture = self.capture_of(frame.link)?;
        capture.octets += frame.data.len();
        let written = capture.writer.write(frame);
        written.map_err(|error| FilesError::File { path: capture.path.clone(), error })
    }

    fn capture_of(&mut self, link: LinkType) -> Result<&mut LinkCapture, FilesError> {
        if let Some(place) = self.captures.iter().position(|capture| capture.link == link) {
            return Ok(&mut self.captures[place]);
        }
        let ending = if self.captures.is_empty() { ".pcap".to_owned() } else { format!("-{}.pcap", link.0) };
        let path = with_ending(&self.base, &ending);
        let writer = Writer::new(create(path.clone())?, &[link]);
        let writer = writer.map_err(|error| FilesError::File { path: path.clone(), error })?;
        let place = self.captures.len();
        self.captures.push(LinkCapture { link, path, writer, octets: 0 });
        Ok(&mut self.captures[place])
    }

    fn files(&self) -> impl Iterator<Item = &HashedFile> {
        let captures = self.captures.iter().map(|capture| capture.writer.get_ref());
        [&self.events, &self.content].into_iter().chain(captures)
    }

    fn is_synced(&mut self) {
        let captures = self.captures.iter_mut().map(|capture| capture.writer.get_mut());
        let files = [&mut self.events, &mut self.content].into_iter().chain(captures);
        files.for_each(|file| (file.is_unsynced, file.is_named) = (false, true));
    }

    /// Octets that are in memory alone.
    fn waiting(&self) -> usize {
        let captured: usize = self.captures.iter().map(|capture| capture.octets).sum();
        captured + self.events.waiting.len() + self.content.waiting.len()
    }

    /// PDUs and frames that could not be written.
    fn lost(&self) -> u64 {
        self.files().map(|file| file.lost).sum::<u64>() + self.lost
    }

    /// Writes what waits, and syncs it.
    fn flush(&mut self, is_synced: bool) -> Result<(), FilesError> {
        let mut first = Ok(());
        let mut note = |path: &Path, done: io::Result<()>| {
            if let (Err(error), Ok(())) = (done, &first) {
                first = Err(FilesError::File { path: path.to_owned(), error });
            }
        };
        for file in [&mut self.events, &mut self.content] {
            let done = file.put_out().and_then(|()| if is_synced { file.sync() } else { Ok(()) });
            note(&file.path, done);
        }
        for LinkCapture { path, writer, octets, .. } in &mut self.captures {
            *octets = 0;
            // It asks its file to be flushed, behind a whole frame.
            let done = writer.flush().and_then(|()| match is_synced {
                true => writer.get_mut().sync(),
                false => Ok(()),
            });
            note(path, done);
        }
        // One that does not even have its header is made anew.
        for capture in self.captures.extract_if(.., |capture| capture.writer.get_ref().octets == 0) {
            self.lost += capture.writer.get_ref().lost;
            capture.writer.get_ref().remove();
        }
        first
    }

    fn finish(mut self) -> Result<Vec<WrittenFile>, FilesError> {
        self.flush(true)?;
        let Self { events, content, captures, .. } = self;
        let captures = captures.into_iter().map(|LinkCapture { path, writer, .. }| {
            writer.finish().map_err(|error| FilesError::File { path, error })
        });
        let captures: Vec<HashedFile> = captures.collect::<Result<_, _>>()?;
        Ok([events, content].into_iter().chain(captures).map(HashedFile::finish).collect())
    }
}

/// Frames of one link type.
#[derive(Debug)]
struct LinkCapture {
    link: LinkType,
    path: PathBuf,
    writer: Writer<HashedFile>,
    /// Of frames since it was flushed.
    octets: usize,
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

fn create(path: PathBuf) -> Result<HashedFile, FilesError> {
    HashedFile::create(&path).map_err(|error| FilesError::File { path, error })
}

/// Orders whose files are synced one by one.
const MOST_SYNCED: usize = 4;
/// Octets of one order that may be in memory alone.
const MOST_WAITING: usize = 1 << 20;
/// Names that are tried for files.
const MOST_ATTEMPTS: u64 = 1_000;

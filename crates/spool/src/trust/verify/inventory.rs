//! The segments of a spool, and what there is of each.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::far::storage::{self, FarSegment, FarStorage, Stub};
use crate::files::{if_present, open_regular, read_regular};
use crate::segment::bytes::SegmentBytes;
use crate::segment::name::Segment;
use crate::segment::scan::{Scan, scan_file};
use crate::trust::seal::Seal;
use crate::trust::sign::PublicKey;
use crate::trust::verify::report::Fault;

/// A segment's name, and what there is of it.
pub(crate) struct KnownSegment {
    pub(crate) segment: Segment,
    /// None if only the seal is left.
    pub(crate) dir: Option<PathBuf>,
    /// The file's bytes.
    pub(crate) seal: Option<Vec<u8>>,
    pub(crate) length: u64,
    pub(crate) indexed: bool,
    /// The segment is in far storage: `dir` has what is known of it here.
    pub(crate) far: bool,
    /// Extensions of its files that are no regular files: nothing is read from those.
    pub(crate) irregular: Vec<String>,
    /// Extensions of files beside it.
    pub(crate) beside: Vec<String>,
}

/// All segments in these directories, in order.
pub(crate) fn known(dirs: &[&Path]) -> Result<Vec<KnownSegment>, Error> {
    let mut found: BTreeMap<Segment, KnownSegment> = BTreeMap::new();
    for (place, dir) in dirs.iter().enumerate() {
        let Some(days) = read_dir(dir)? else {
            if place == 0 {
                return Err(Error::io(dir, "read", io::ErrorKind::NotFound.into()));
            }
            continue;
        };
        for day in days.flatten() {
            for entry in read_dir(&day.path())?.into_iter().flatten().flatten() {
                let (day, file) = (day.file_name(), entry.file_name());
                let (Some(day), Some(file)) = (day.to_str(), file.to_str()) else { continue };
                let Some((stem, extension)) = file.rsplit_once('.') else { continue };
                let Ok(segment) = format!("{day}/{stem}.pcap").parse::<Segment>() else { continue };
                if !matches!(extension, "pcap" | "seal" | "far" | "idx" | "keys") {
                    continue;
                }
                let is_regular = entry.file_type().is_ok_and(|kind| kind.is_file());
                let known = found.entry(segment.clone()).or_insert_with(|| KnownSegment::new(segment));
                match extension {
                    _ if !is_regular => known.irregular.push(extension.to_owned()),
                    "pcap" | "seal" | "far" => known.add(dir, extension)?,
                    _ => known.beside.push(extension.to_owned()),
                }
            }
        }
    }
    Ok(found.into_values().collect())
}

fn read_dir(path: &Path) -> Result<Option<fs::ReadDir>, Error> {
    match if_present(fs::read_dir(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        other => other.map_err(|error| Error::io(path, "read", error)),
    }
}

impl KnownSegment {
    fn new(segment: Segment) -> Self {
        Self {
            segment,
            dir: None,
            seal: None,
            length: 0,
            indexed: false,
            far: false,
            irregular: Vec::new(),
            beside: Vec::new(),
        }
    }

    /// Adds a file of the segment in a directory. The first directory that has the segment counts.
    fn add(&mut self, dir: &Path, extension: &str) -> Result<(), Error> {
        let segment = &self.segment;
        match extension {
            "pcap" if self.dir.is_none() => {
                let path = segment.path(dir);
                self.length = path.metadata().map_err(|error| Error::io(&path, "read", error))?.len();
                self.indexed = segment.index_path(dir).exists();
                self.dir = Some(dir.to_path_buf());
            }
            "far" if self.dir.is_none() => {
                let stub = Stub::read(dir, segment)
                    .map_err(|error| Error::io(&Stub::path(dir, segment), "read", error))?;
                self.length = stub.map_or(0, |stub| stub.bytes);
                self.indexed = segment.index_path(dir).exists();
                self.far = true;
                self.dir = Some(dir.to_path_buf());
            }
            "seal" if self.seal.is_none() => {
                let path = segment.seal_path(dir);
                self.seal = Some(read_regular(&path).map_err(|error| Error::io(&path, "read", error))?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether its file is there now, or its stub in far storage.
    pub(crate) fn is_still_there(&self, dir: &Path) -> bool {
        if self.far { Stub::path(dir, &self.segment).exists() } else { self.segment.path(dir).exists() }
    }

    /// Why there is no segment, though there are files of it.
    pub(crate) fn absence(&self) -> Fault {
        match self.beside.first().filter(|_| self.seal.is_none()) {
            Some(extension) => Fault::Stray(extension.clone()),
            None => Fault::Gone,
        }
    }

    /// Whether its file with this extension may be opened.
    pub(crate) fn is_regular(&self, extension: &str) -> bool {
        self.irregular.iter().all(|other| other != extension)
    }

    /// Reads its bytes, from a disk or from far storage.
    pub(crate) fn with<T>(
        &self,
        dir: &Path,
        far: Option<&dyn FarStorage>,
        read: impl FnOnce(&dyn SegmentBytes) -> io::Result<T>,
    ) -> Result<T, Error> {
        let path = self.segment.path(dir);
        let result = match (self.far, far) {
            (false, _) => open_regular(&path).and_then(|file| read(&file)),
            (true, None) => Err(storage::not_configured().into()),
            (true, Some(far)) => read(&FarSegment { far, segment: &self.segment, length: self.length }),
        };
        result.map_err(|error| Error::io(&path, "read", error))
    }
}

pub(crate) fn scanned(path: &Path) -> Result<Scan, Error> {
    let scan = open_regular(path).and_then(|file| scan_file(&file));
    scan.map_err(|error| Error::io(path, "read", error))
}

/// The key that a seal names, if it signed the seal.
pub(crate) fn signer(bytes: &[u8]) -> Option<PublicKey> {
    let (seal, line) = Seal::parse(bytes)?;
    seal.public().filter(|key| line.is_by(key))
}

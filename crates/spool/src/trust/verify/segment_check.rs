//! Checks one segment against its seal, or its checksums.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::{Error, FarError};
use crate::far::storage;
use crate::files::{if_present, open_regular, read_regular};
use crate::hex::{hex, sha256_hex};
use crate::layout::{FAR, HELD};
use crate::segment::index::{Index, IndexRow};
use crate::segment::marker;
use crate::segment::name::Category;
use crate::segment::scan::{Damage, Flaw, Scan, scan_bytes};
use crate::trust::keys::{KeyRow, ROW, is_header, proof};
use crate::trust::open_list::OpenListFile;
use crate::trust::open_segment::must_be_sealed;
use crate::trust::seal::{Seal, State};
use crate::trust::sign::PublicKey;
use crate::trust::verify::inventory::{KnownSegment, scanned};
use crate::trust::verify::orders::Orders;
use crate::trust::verify::report::{Fault, Finding, VerifyOptions, VerifyReport};

/// Checks segments, and collects what it finds.
pub(crate) struct Verifier<'a> {
    pub(crate) options: &'a VerifyOptions,
    pub(crate) keys: Vec<PublicKey>,
    /// Segments that were there before segments were signed.
    pub(crate) unsigned: BTreeSet<String>,
    pub(crate) orders: &'a Orders<'a>,
    /// Segments are signed.
    pub(crate) signed: bool,
    /// What is being written, by worker and category, and the number of the next seal.
    pub(crate) open: &'a BTreeMap<(u16, Category), (OpenListFile, u64)>,
    /// The segments are held copies.
    pub(crate) copies: bool,
    pub(crate) report: VerifyReport,
    pub(crate) done: u64,
    pub(crate) total: u64,
    pub(crate) progress: &'a mut dyn FnMut(u64, u64),
}

impl Verifier<'_> {
    pub(crate) fn find(&mut self, place: &str, fault: Fault) {
        let place = if self.copies { format!("{HELD}/{place}") } else { place.to_owned() };
        self.report.findings.push(Finding { place, fault });
    }

    fn irregular(&mut self, known: &KnownSegment) {
        for extension in &known.irregular {
            self.find(known.segment.as_str(), Fault::Irregular(extension.clone()));
        }
    }

    /// Checks a held copy against its seal, or the checksum of each chunk.
    pub(crate) fn held(&mut self, known: &KnownSegment) -> Result<(), Error> {
        let (name, proven) = (known.segment.as_str(), self.report.proven);
        let before = self.report.findings.len();
        self.irregular(known);
        let Some(dir) = &known.dir else {
            if self.report.findings.len() == before {
                self.find(name, known.absence());
            }
            return Ok(());
        };
        self.report.held += 1;
        let seal = known.seal.as_deref().map(Seal::parse);
        let fault = match seal {
            None if self.signed && !self.unsigned.contains(&format!("{HELD}/{name}")) => Fault::UnsealedCopy,
            None => return self.copied(known, dir),
            Some(None) => Fault::Seal,
            Some(Some((seal, line))) if !self.keys.iter().any(|key| line.is_by(key)) => {
                seal.public().filter(|key| line.is_by(key)).map_or(Fault::Seal, Fault::Key)
            }
            Some(Some((seal, _))) if seal.segment != format!("{HELD}/{name}") => {
                Fault::Misplaced(seal.segment)
            }
            Some(Some((seal, _))) => {
                self.sealed(known, dir, &seal)?;
                self.report.recovered += u64::from(seal.state == State::Recovered);
                self.report.held_proven += self.report.proven - proven;
                self.report.proven = proven;
                return Ok(());
            }
        };
        self.find(name, fault);
        self.copied(known, dir)
    }

    /// Checks a copy that no seal proves.
    fn copied(&mut self, known: &KnownSegment, dir: &Path) -> Result<(), Error> {
        if self.options.quick {
            return Ok(());
        }
        let scan = scanned(&known.segment.path(dir))?;
        for damage in scan.damages {
            self.find(known.segment.as_str(), Fault::Changed(damage));
        }
        self.restored(known.segment.as_str(), &scan.rows);
        self.keyless(known, dir, &scan.rows)?;
        self.done += known.length;
        (self.progress)(self.done, self.total);
        Ok(())
    }

    pub(crate) fn segment(&mut self, known: &KnownSegment, before: usize) -> Result<(), Error> {
        let name = known.segment.as_str();
        self.irregular(known);
        let Some(dir) = &known.dir else {
            // A power cut may have undone a part of its deletion.
            if !self.orders.is_deleted(name) && self.report.findings.len() == before {
                self.find(name, known.absence());
            }
            return Ok(());
        };
        if self.orders.is_deleted(name) {
            // It was listed before the log was read, and may have been deleted between.
            if !known.is_still_there(dir) {
                return Ok(());
            }
            self.find(name, Fault::Returned);
        }
        self.report.segments += 1;
        if known.far {
            self.report.far += 1;
            self.report.left_out += u64::from(self.options.near);
            if !self.options.near && !self.is_there(known)? {
                return Ok(());
            }
        }
        let Some(bytes) = &known.seal else { return self.unsealed(known, dir, before) };
        let Some((seal, line)) = Seal::parse(bytes) else {
            self.find(name, Fault::Seal);
            return self.checksums(known, dir, true).map(drop);
        };
        if !self.keys.iter().any(|key| line.is_by(key)) {
            let other = seal.public().filter(|key| line.is_by(key));
            self.find(name, other.map_or(Fault::Seal, Fault::Key));
            return self.checksums(known, dir, true).map(drop);
        }
        if seal.segment != name {
            self.find(name, Fault::Misplaced(seal.segment));
            return self.checksums(known, dir, true).map(drop);
        }
        self.sealed(known, dir, &seal)?;
        self.report.recovered += u64::from(seal.state == State::Recovered);
        Ok(())
    }

    /// Whether far storage has the segment, with all its bytes.
    fn is_there(&mut self, known: &KnownSegment) -> Result<bool, Error> {
        let (name, path) = (known.segment.as_str(), known.segment.path(Path::new(FAR)));
        let refused = |refusal| Error::far(&path, "checked", &refusal);
        let far = self.options.far.as_ref().ok_or_else(storage::not_configured).map_err(refused)?;
        match far.length(name) {
            Ok(length) if length == known.length => return Ok(true),
            Ok(found) => self.find(name, Fault::Length { sealed: known.length, found }),
            Err(FarError::NotFound(_)) => self.find(name, Fault::NotFar),
            Err(refusal) => return Err(refused(refusal)),
        }
        Ok(false)
    }

    /// Whether the bytes of a segment are read.
    fn is_read(&self, known: &KnownSegment) -> bool {
        self.options.reads(known.far)
    }

    /// Checks a segment against its seal.
    fn sealed(&mut self, known: &KnownSegment, dir: &Path, seal: &Seal) -> Result<(), Error> {
        let (name, before) = (known.segment.as_str(), self.report.findings.len());
        let mut altered = false;
        if known.length != seal.bytes {
            self.find(name, Fault::Length { sealed: seal.bytes, found: known.length });
            self.damages(known, dir, seal.state == State::Recovered)?;
        } else if self.is_read(known) {
            let Self { done, total, progress, options, .. } = self;
            let (length, proven) = known.with(dir, options.far.as_deref(), |bytes| {
                seal.proves(bytes, &mut |some| {
                    *done += some;
                    progress(*done, *total);
                })
            })?;
            self.report.bytes += length;
            if proven {
                // As it was sealed: then nothing is erased in it that was to be.
                if !self.orders.chunks(name).is_empty() {
                    let scan = known.with(dir, self.options.far.as_deref(), scan_bytes)?;
                    self.restored(name, &scan.rows);
                }
            } else {
                let scan = self.damages(known, dir, seal.state == State::Recovered)?;
                altered = !scan.erased.is_empty() && self.report.findings.len() == before;
                if !altered && self.report.findings.len() == before {
                    self.find(name, Fault::Rewritten);
                }
            }
        }
        self.index(known, dir, seal)?;
        self.keys(known, dir, Some(seal))?;
        if let Some(rows) = self.index_rows(known, dir)? {
            self.keyless(known, dir, &rows)?;
        }
        match (self.report.findings.len() == before, altered) {
            _ if known.far && self.options.near => {}
            (true, false) => self.report.proven += 1,
            (true, true) => self.report.altered += 1,
            _ => {}
        }
        Ok(())
    }

    /// Scans a segment, and reports damages.
    fn damages(&mut self, known: &KnownSegment, dir: &Path, recovered: bool) -> Result<Scan, Error> {
        let name = known.segment.as_str();
        let scan = known.with(dir, self.options.far.as_deref(), scan_bytes)?;
        for damage in &scan.damages {
            // A recovered segment was never closed, and its seal lists its other damages.
            if !(recovered && damage.what == Flaw::Open) {
                self.find(name, Fault::Changed(*damage));
            }
        }
        self.erased(name, &scan.erased);
        self.restored(name, &scan.rows);
        Ok(scan)
    }

    /// Chunks that were erased: by order, or not.
    fn erased(&mut self, name: &str, rows: &[IndexRow]) {
        for row in rows {
            match self.orders.chunks(name).has(row.offset) {
                true => self.report.erased += 1,
                false => self.find(name, Fault::Erased(row.offset)),
            }
        }
    }

    /// Chunks that were erased by order, and can be read all the same.
    fn restored(&mut self, name: &str, rows: &[IndexRow]) {
        for row in rows {
            if self.orders.chunks(name).has_of(row.offset, row.chunk.owner) {
                self.find(name, Fault::Restored(row.offset));
            }
        }
    }

    fn index(&mut self, known: &KnownSegment, dir: &Path, seal: &Seal) -> Result<(), Error> {
        let (name, path) = (known.segment.as_str(), known.segment.index_path(dir));
        let Some(stated) = seal.index.as_ref().filter(|_| known.is_regular("idx")) else { return Ok(()) };
        match if_present(read_regular(&path)).map_err(|error| Error::io(&path, "read", error))? {
            None => self.find(name, Fault::NoIndex),
            Some(bytes) if sha256_hex(&bytes) != *stated => {
                let page = |page: &&[u8]| {
                    marker::u32_at(page, 4092) != Some(ringtap_cpu::crc32c(0, &page[..page.len().min(4092)]))
                };
                let pages = bytes.chunks_exact(4096).collect::<Vec<_>>();
                let whole = bytes.len() as u64 / 4096 * 4096;
                let first = pages.iter().position(page).filter(|_| whole > 0);
                self.find(name, Fault::Index(first.map(|page| page as u64)));
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn keys(&mut self, known: &KnownSegment, dir: &Path, seal: Option<&Seal>) -> Result<(), Error> {
        let (name, path) = (known.segment.as_str(), known.segment.keys_path(dir));
        if !known.is_regular("keys") {
            return Ok(());
        }
        let bytes = if_present(read_regular(&path)).map_err(|error| Error::io(&path, "read", error))?;
        let stated = seal.map(|seal| seal.keys.as_deref());
        let Some(bytes) = bytes else {
            if let Some(Some(_)) = stated {
                self.find(name, Fault::NoKeys);
            }
            return Ok(());
        };
        let (rows, _) = bytes.as_chunks::<ROW>();
        let rows: Vec<KeyRow> = rows.iter().skip(1).map(KeyRow::of).collect();
        let proven = stated.map(|stated| stated == Some(&*hex(&proof(&bytes))));
        if proven != Some(true) {
            // The header is row 0 of the file.
            let header = bytes.get(..ROW).is_none_or(|header| !is_header(header));
            let changed = rows.iter().position(|row| *row == KeyRow::Damaged).map(|row| row as u64 + 1);
            match (header.then_some(0).or(changed), proven) {
                (Some(row), _) => self.find(name, Fault::KeyRow(row)),
                (None, Some(false)) => self.find(name, Fault::OtherKeys),
                (None, _) => {}
            }
        }
        let orders = self.orders;
        let ordered = orders.keys(name);
        // A copy has the keys of its own chunks alone; all others are forgotten in it.
        let chunks = if self.copies { self.index_rows(known, dir)? } else { None };
        let is_others =
            |owner| chunks.as_ref().is_some_and(|rows| rows.iter().all(|row| row.chunk.owner != owner));
        for (number, row) in (0..).zip(&rows) {
            match (row, row.owner()) {
                (KeyRow::Key(_), Some(owner)) if ordered.has_of(number, owner) || is_others(owner) => {
                    self.find(name, Fault::KeyRestored(number));
                }
                (KeyRow::Forgotten(_), _) if !self.copies => match ordered.has(number) {
                    true => self.report.forgotten += 1,
                    false => self.find(name, Fault::Forgotten(number)),
                },
                _ => {}
            }
        }
        Ok(())
    }

    /// The rows of the index; None if there is none, or it is damaged.
    fn index_rows(&self, known: &KnownSegment, dir: &Path) -> Result<Option<Vec<IndexRow>>, Error> {
        if !known.is_regular("idx") {
            return Ok(None);
        }
        let path = known.segment.index_path(dir);
        let read = |error| Error::io(&path, "read", error);
        let Some(file) = if_present(open_regular(&path)).map_err(read)? else { return Ok(None) };
        match Index::open(file).map_err(read)? {
            Some(mut index) => index.all().map_err(read),
            None => Ok(None),
        }
    }

    /// Sealed chunks without a row for their key, or with the row of another owner. The rows are read after
    /// the chunks: keys are on the disk first.
    fn keyless(&mut self, known: &KnownSegment, dir: &Path, chunks: &[IndexRow]) -> Result<(), Error> {
        if !chunks.iter().any(|row| row.chunk.is_sealed()) || !known.is_regular("keys") {
            return Ok(());
        }
        let path = known.segment.keys_path(dir);
        let bytes = if_present(read_regular(&path)).map_err(|error| Error::io(&path, "read", error))?;
        let bytes = bytes.unwrap_or_default();
        let (rows, _) = bytes.as_chunks::<ROW>();
        let has_key = |row: &IndexRow| match rows.get(row.chunk.key as usize + 1).map(KeyRow::of) {
            None => false,
            // It is a finding of its own.
            Some(KeyRow::Damaged) => true,
            Some(found) => found.owner() == Some(row.chunk.owner),
        };
        let without = || chunks.iter().filter(|row| row.chunk.is_sealed() && !has_key(row));
        if let Some(offset) = without().map(|row| row.offset).min() {
            self.find(known.segment.as_str(), Fault::Keyless { offset, chunks: without().count() as u64 });
        }
        Ok(())
    }

    fn unsealed(&mut self, known: &KnownSegment, dir: &Path, before: usize) -> Result<(), Error> {
        let segment = &known.segment;
        let chain = segment.origin().and_then(|(worker, _)| self.open.get(&(worker, segment.category())));
        if let Some((list, _)) = chain.filter(|(list, next)| list.names(segment, *next)) {
            let chunks = self.checksums(known, dir, false)?;
            self.plain(known, dir, list.sealed(), &chunks);
            return Ok(());
        }
        // It may have been sealed since the files were listed.
        if self.signed && segment.seal_path(dir).exists() {
            return self.checksums(known, dir, false).map(drop);
        }
        let is_told = self.report.findings[before..].iter().any(|other| other.fault == Fault::Unsealed);
        if self.signed && !is_told && !self.unsigned.contains(segment.as_str()) {
            self.find(segment.as_str(), Fault::Unsealed);
        }
        self.report.unsigned += 1;
        self.checksums(known, dir, known.indexed).map(drop)
    }

    /// Chunks of an open segment that are not sealed, though they must be.
    fn plain(&mut self, known: &KnownSegment, dir: &Path, listed: Option<bool>, chunks: &[IndexRow]) {
        let plain = || chunks.iter().filter(|row| !row.chunk.is_sealed());
        if let Some(offset) = plain().map(|row| row.offset).min()
            && must_be_sealed(listed, dir, &known.segment, chunks)
        {
            self.find(known.segment.as_str(), Fault::Plain { offset, chunks: plain().count() as u64 });
        }
    }

    /// Checks the checksums of a segment that no seal proves, and returns its chunks: those in its index, if
    /// it is not read itself. A segment that was not closed may end anywhere.
    fn checksums(&mut self, known: &KnownSegment, dir: &Path, closed: bool) -> Result<Vec<IndexRow>, Error> {
        let name = known.segment.as_str();
        let index = self.index_rows(known, dir)?;
        if index.is_none() && known.is_regular("idx") && known.segment.index_path(dir).exists() {
            self.find(name, Fault::Index(None));
        }
        self.keys(known, dir, None)?;
        if !closed && known.length == 0 {
            // The file is created before its first block is written.
            self.report.open.push((known.segment.clone(), 0));
            return Ok(Vec::new());
        }
        if !self.is_read(known) {
            let end = |row: &IndexRow| row.offset + u64::from(row.chunk.length);
            let needed = index.iter().flatten().map(end).max().unwrap_or(0);
            if needed > known.length {
                self.find(name, Fault::Changed(Damage { offset: known.length, what: Flaw::Cut }));
            }
            let rows = index.unwrap_or_default();
            self.keyless(known, dir, &rows)?;
            return Ok(rows);
        }
        let Scan { rows, erased, spoiled, damages, .. } =
            known.with(dir, self.options.far.as_deref(), scan_bytes)?;
        self.done += known.length;
        (self.progress)(self.done, self.total);
        self.report.bytes += known.length;
        let chunks = rows.len() as u64;
        let unclosed = !closed && damages.iter().any(|damage| damage.what == Flaw::Open);
        if unclosed {
            self.report.open.push((known.segment.clone(), chunks));
        }
        // After the last possible cut, no marker follows.
        let last = damages.iter().rev().find(|damage| damage.what != Flaw::Open).map(|damage| damage.offset);
        for damage in damages {
            let ends = damage.what == Flaw::Open || damage.what == Flaw::Cut && last == Some(damage.offset);
            if !(unclosed && ends) {
                self.find(name, Fault::Changed(damage));
            }
        }
        self.erased(name, &erased);
        self.restored(name, &rows);
        self.keyless(known, dir, &rows)?;
        if let Some(index) = index {
            let key = |row: &IndexRow| (row.offset, row.chunk.owner, row.chunk.number, row.chunk.length);
            let there: BTreeSet<_> = rows.iter().chain(&erased).chain(&spoiled).map(key).collect();
            let named: BTreeSet<_> = index.iter().map(key).collect();
            if there != named && spoiled.is_empty() {
                self.find(name, Fault::OtherIndex);
            }
        }
        Ok(rows)
    }
}

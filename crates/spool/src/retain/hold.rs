//! Calls that outlive any clock: for a court, for a complaint.
//!
//! A hold is a file in the spool, `holds/CASE/ID.json`, that names a call's owners and their times. It pins no segment: before one
//! is deleted, the chunks of calls that are held are copied out of it, as they are, into a segment of the same name in `held/`.
//! So a hold costs what its call takes, whatever else was in the segment. Readers look into `held/` by themselves. Where segments are signed,
//! a copy has a seal of its own, in no chain.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::far::storage::{Far, FarSegment, Stub};
use crate::files::{entry_names, give_to_owner_of, remove_if_present};
use crate::layout::HELD;
use crate::retain::deletion_lock::{DeletionLock, HOLDS};
use crate::segment::index::{self, Row};
use crate::segment::key::of_call;
use crate::segment::listed::Listed;
use crate::segment::lookup::{indexed, scanned};
use crate::segment::mark::{self, GLOBAL, Link, Mark};
use crate::segment::name::{Category, Segment};
use crate::trust::keys::{self, KeyRow};
use crate::trust::seal::{self, State};
use crate::trust::sign::Signer;

/// Holds that are kept in memory; more are refused.
const MOST: usize = 100_000;
/// A call that is put on hold while it is under way has not begun longer ago.
const LONGEST: Nanos = Nanos::from_secs(30 * 86_400);
/// A chunk may have waited so long before it came into a segment, and packets come a little out of order.
const MARGIN: Nanos = Nanos::from_secs(120);

/// A call that is held for a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The case: letters, digits, `-`, `_` and `.`, not first; 64 of them at most.
    pub case: String,
    /// The id of the call's record.
    pub id: String,
    /// Its Call-ID.
    pub call_id: String,
    /// When it was put on hold, in nanoseconds since 1970, UTC.
    pub since: u64,
    /// Whose packets: its signalling and its streams.
    pub parts: Vec<Part>,
    /// It was under way at this time, in nanoseconds since 1970, by its packets: what is to be held is known when it has ended, until then its
    /// signalling is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<u64>,
    /// Those of its interception product; otherwise those that are kept beside it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub product: bool,
}

/// Packets of an owner in a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The owner's key.
    #[serde(with = "crate::hex::serde_u64")]
    pub owner: u64,
    /// In nanoseconds since 1970, UTC.
    pub from: u64,
    /// See `from`; this moment is included.
    pub to: u64,
}

impl Hold {
    /// Of a call that is under way `at` that time by its packets.
    pub fn of_call_under_way(case: &str, call_id: &str, at: Nanos, since: Nanos, product: bool) -> Self {
        let owner = of_call(call_id.as_bytes());
        Self {
            case: case.to_owned(),
            id: format!("under-way-{owner:016x}"),
            call_id: call_id.to_owned(),
            since: since.0,
            parts: vec![Part { owner, from: at.0.saturating_sub(LONGEST.0), to: u64::MAX }],
            pending: Some(at.0),
            product,
        }
    }

    /// Puts another in its place: that of the call, which has ended.
    ///
    /// # Errors
    ///
    /// As those of [`place`](Self::place) and [`release`].
    pub fn becomes(&self, held: &Self, dir: &Path) -> Result<(), Error> {
        held.place(dir)?;
        let _lock = DeletionLock::wait(dir)?;
        let path = self.path(dir);
        remove_if_present(&path).map_err(|error| Error::io(&path, "deleted", error))
    }

    fn path(&self, dir: &Path) -> PathBuf {
        let product = if self.product { ".product" } else { "" };
        dir.join(HOLDS).join(&self.case).join(format!("{}{product}.json", self.id))
    }

    /// Puts it into effect: on the disk when this returns, and seen by a running ringtap before it deletes anything more.
    ///
    /// # Errors
    ///
    /// A case or an id that cannot name a file, a file that cannot be written.
    pub fn place(&self, dir: &Path) -> Result<(), Error> {
        for name in [&self.case, &self.id] {
            if !is_name(name) {
                return Err(Error::Name { name: name.clone() });
            }
        }
        let _lock = DeletionLock::wait(dir)?;
        let path = self.path(dir);
        let write = || {
            let case = path.parent().unwrap_or(dir);
            fs::create_dir_all(case)?;
            let fresh = path.with_extension("part");
            // Numbers and texts: they can always be written.
            fs::write(&fresh, serde_json::to_vec_pretty(self).unwrap_or_default())?;
            File::open(&fresh)?.sync_all()?;
            for made in [&dir.join(HOLDS), case, &fresh] {
                give_to_owner_of(dir, made)?;
            }
            fs::rename(&fresh, &path)?;
            File::open(case)?.sync_all()
        };
        write().map_err(|error| Error::io(&path, "written", error))
    }
}

/// Whether a file can have that name: letters, digits, `-`, `_` and `.`, not first; 64 of them at most.
fn is_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=64).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(known)
}

/// All holds of a spool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    all: Vec<Hold>,
    /// Spans of time by owner, and whether they are of product.
    owners: BTreeMap<(u64, bool), Vec<(Nanos, Nanos)>>,
}

impl Holds {
    /// Those in the spool's directory, by case.
    ///
    /// # Errors
    ///
    /// One that cannot be read: whoever deletes must know all of them.
    pub fn read(dir: &Path) -> Result<Self, Error> {
        let holds = dir.join(HOLDS);
        let mut all = Vec::new();
        let mut cases = entry_names(&holds).map_err(|error| Error::io(&holds, "read", error))?;
        cases.sort();
        for case in cases {
            let case = holds.join(case);
            let mut files = entry_names(&case).map_err(|error| Error::io(&case, "read", error))?;
            files.sort();
            for file in files.iter().filter(|file| file.ends_with(".json")) {
                let path = case.join(file);
                let bytes = fs::read(&path).map_err(|error| Error::io(&path, "read", error))?;
                let hold = serde_json::from_slice(&bytes)
                    .map_err(|error| Error::Hold { path: path.clone(), problem: error.to_string() })?;
                all.push(hold);
                if all.len() > MOST {
                    let problem = format!("there are more than {MOST}");
                    return Err(Error::Hold { path: holds, problem });
                }
            }
        }
        Ok(Self::of(all))
    }

    fn of(all: Vec<Hold>) -> Self {
        let mut owners: BTreeMap<(u64, bool), Vec<(Nanos, Nanos)>> = BTreeMap::new();
        for hold in &all {
            for part in &hold.parts {
                let spans = owners.entry((part.owner, hold.product)).or_default();
                spans.push((Nanos(part.from), Nanos(part.to)));
            }
        }
        Self { all, owners }
    }

    /// By case, then by id.
    pub fn all(&self) -> &[Hold] {
        &self.all
    }

    /// How many calls are held: one may be held for several cases.
    pub fn calls(&self) -> usize {
        self.all.iter().map(|hold| &hold.id).collect::<BTreeSet<_>>().len()
    }

    /// Whether packets of the owner from `from` to `to` may belong to a call that is held, in a segment of that category.
    pub fn is_held(&self, category: Category, owner: u64, from: Nanos, to: Nanos) -> bool {
        let spans = self.owners.get(&(owner, category == Category::Product)).into_iter().flatten();
        spans.clone().any(|(first, last)| *first <= to && from <= *last)
    }

    /// The first hold of a call that packets of the owner from `from` to `to` may belong to: of its product or not.
    pub fn holding(&self, product: bool, owner: u64, from: Nanos, to: Nanos) -> Option<&Hold> {
        let holds = |part: &Part| part.owner == owner && part.from <= to.0 && from.0 <= part.to;
        self.all.iter().find(|hold| hold.product == product && hold.parts.iter().any(holds))
    }

    /// The owners of which packets may lie in a segment of that category and time.
    fn between(&self, category: Category, from: Nanos, to: Nanos) -> Vec<u64> {
        let from = Nanos(from.0.saturating_sub(MARGIN.0));
        let owners = self.owners.keys().filter(|(_, product)| *product == (category == Category::Product));
        owners
            .map(|(owner, _)| *owner)
            .filter(|owner| self.is_held(category, *owner, from, to + MARGIN))
            .collect()
    }
}

/// Ends holds for a case: all of them, or those of a call by its Call-ID or id; of product, or of what is kept beside it. What they alone held is deleted when the clocks
/// say so, and at once where the segment that it was copied out of is gone; but a signed copy that others are held in as well is
/// left to who can sign what is left of it. Returns what is not held for that case any more.
///
/// # Errors
///
/// A file that cannot be read or deleted.
pub fn release(dir: &Path, case: &str, call: Option<&str>, product: bool) -> Result<Vec<Hold>, Error> {
    let _lock = DeletionLock::wait(dir)?;
    let of_call = |hold: &Hold| {
        hold.product == product && call.is_none_or(|call| hold.id == call || hold.call_id == call)
    };
    let (released, remaining): (Vec<Hold>, Vec<Hold>) =
        Holds::read(dir)?.all.into_iter().partition(|hold| hold.case == case && of_call(hold));
    for hold in &released {
        let path = hold.path(dir);
        fs::remove_file(&path).map_err(|error| Error::io(&path, "deleted", error))?;
    }
    if !remaining.iter().any(|hold| hold.case == case) {
        // What else lies in it is not ours.
        let _ = fs::remove_dir(dir.join(HOLDS).join(case));
    }
    if !released.is_empty() {
        prune(dir, &Holds::of(remaining), None)?;
    }
    Ok(released)
}

/// Copies what is held out of a segment in `from` that is about to be deleted. Returns how many chunks there were.
///
/// # Errors
///
/// A file that cannot be read or written: the segment must stay then.
pub(crate) fn rescue(
    dir: &Path,
    from: &Path,
    item: &Listed,
    holds: &Holds,
    signer: Option<&Signer>,
) -> Result<u64, Error> {
    let category = item.segment.category();
    let owners = holds.between(category, item.begins, item.ends);
    if owners.is_empty() {
        return Ok(0);
    }
    let path = item.segment.path(from);
    let wrong = |error| Error::io(&path, "read", error);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(wrong(error)),
    };
    let mut rows = rows(from, &item.segment, &file, &owners).map_err(wrong)?;
    rows.retain(|row| holds.is_held(category, row.chunk.owner, row.chunk.first, row.chunk.last));
    if rows.is_empty() {
        return Ok(0);
    }
    rewrite(from, &file, &item.segment, &mut rows, &dir.join(HELD), dir, signer)
}

/// The chunks of held calls in a segment that lies far, by what is known of it here; without an index it is read there.
///
/// # Errors
///
/// As [`rescue`].
pub(crate) fn held_far(far: &dyn Far, from: &Path, item: &Listed, holds: &Holds) -> Result<Vec<Row>, Error> {
    let category = item.segment.category();
    let owners = holds.between(category, item.begins, item.ends);
    if owners.is_empty() {
        return Ok(Vec::new());
    }
    let read = || -> io::Result<Vec<Row>> {
        if let Some(rows) = indexed(from, &item.segment, &owners, &mut 0)? {
            return Ok(rows);
        }
        let length = Stub::read(from, &item.segment)?.map_or(0, |stub| stub.bytes);
        scanned(&FarSegment { far, segment: &item.segment, length }, &owners)
    };
    let mut rows = read().map_err(|error| Error::io(&item.segment.path(from), "read", error))?;
    rows.retain(|row| holds.is_held(category, row.chunk.owner, row.chunk.first, row.chunk.last));
    Ok(rows)
}

/// Deletes chunks that nobody holds any more from what was copied. Without a key, signed copies of which something stays are left as
/// they are; with one, copies that have no seal get one.
pub(crate) fn prune(dir: &Path, holds: &Holds, signer: Option<&Signer>) -> Result<(), Error> {
    let held = dir.join(HELD);
    let read = |error| Error::io(&held, "read", error);
    for day in entry_names(&held).map_err(read)? {
        for file in entry_names(&held.join(&day)).map_err(read)? {
            let Ok(segment) = format!("{day}/{file}").parse::<Segment>() else { continue };
            prune_segment(&held, &segment, holds, dir, signer)?;
        }
        // Where something is left in it, it stays.
        let _ = fs::remove_dir(held.join(&day));
    }
    Ok(())
}

fn prune_segment(
    held: &Path,
    segment: &Segment,
    holds: &Holds,
    dir: &Path,
    signer: Option<&Signer>,
) -> Result<(), Error> {
    let path = segment.path(held);
    let wrong = |error| Error::io(&path, "read", error);
    let file = File::open(&path).map_err(wrong)?;
    let all = scanned_all(&file).map_err(wrong)?;
    let mut kept = all.clone();
    let category = segment.category();
    kept.retain(|row| holds.is_held(category, row.chunk.owner, row.chunk.first, row.chunk.last));
    if kept.is_empty() {
        for path in segment.files(held) {
            remove_if_present(&path).map_err(|error| Error::io(&path, "deleted", error))?;
        }
    } else if kept.len() < all.len() {
        if signer.is_some() || !segment.seal_path(held).exists() {
            rewrite(held, &file, segment, &mut kept, held, dir, signer)?;
        }
    } else if let Some(signer) = signer.filter(|_| !segment.seal_path(held).exists()) {
        // Copied before copies had one, or its writer was stopped before it came to that.
        sign_copy(dir, held, segment, kept.len() as u64, State::Recovered, signer)?;
    }
    Ok(())
}

fn rows(dir: &Path, segment: &Segment, file: &File, owners: &[u64]) -> io::Result<Vec<Row>> {
    match indexed(dir, segment, owners, &mut 0)? {
        Some(rows) => Ok(rows),
        None => scanned(file, owners),
    }
}

fn scanned_all(mut file: &File) -> io::Result<Vec<Row>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(crate::segment::scan::scan(&bytes).rows)
}

/// Writes a segment of that name with these chunks of another alone, marks and content as they are. Returns how many there
/// were: what was erased meanwhile, or was never whole, is left out.
fn rewrite(
    from: &Path,
    file: &File,
    segment: &Segment,
    rows: &mut [Row],
    to: &Path,
    dir: &Path,
    signer: Option<&Signer>,
) -> Result<u64, Error> {
    let path = segment.path(to);
    let mut write = || -> io::Result<u64> {
        let mut header = [0; GLOBAL];
        file.read_exact_at(&mut header, 0)?;
        let Some(link) = mark::link_of(&header) else { return Ok(0) };
        let day = path.parent().unwrap_or(to);
        fs::create_dir_all(day)?;
        [to, day].iter().try_for_each(|made| give_to_owner_of(dir, made))?;
        let part = path.with_extension("part");
        let put = |name: &Path, mode: u32, write: &mut dyn FnMut(&mut BufWriter<File>) -> io::Result<()>| {
            remove_if_present(&part)?;
            let mut fresh =
                BufWriter::new(File::options().write(true).create_new(true).mode(mode).open(&part)?);
            write(&mut fresh)?;
            fresh.flush()?;
            fresh.get_ref().sync_all()?;
            give_to_owner_of(dir, &part)?;
            fs::rename(&part, name)
        };
        // What it says will be true no more. Keys before what they open; the segment before its index, and without that of another.
        remove_if_present(&segment.seal_path(to))?;
        if let Some(keys) = keys_of(from, segment, rows)? {
            put(&segment.keys_path(to), 0o640, &mut |fresh| fresh.write_all(&keys))?;
        }
        remove_if_present(&segment.index_path(to))?;
        rows.sort_unstable_by_key(|row| row.offset);
        let mut copied = Vec::new();
        put(&path, 0o666, &mut |fresh| {
            copied = copy(file, link, &header, segment, rows, fresh)?;
            Ok(())
        })?;
        let count = copied.len() as u64;
        let index = index::encode(&mut copied);
        put(&segment.index_path(to), 0o666, &mut |fresh| fresh.write_all(&index))?;
        File::open(day)?.sync_all()?;
        Ok(count)
    };
    let count = write().map_err(|error| Error::io(&path, "written", error))?;
    if let Some(signer) = signer.filter(|_| count > 0) {
        sign_copy(dir, to, segment, count, State::Closed, signer)?;
    }
    Ok(count)
}

/// Writes the seal of a copy whose files are on the disk.
fn sign_copy(
    dir: &Path,
    held: &Path,
    segment: &Segment,
    chunks: u64,
    state: State,
    signer: &Signer,
) -> Result<(), Error> {
    seal::of_copy(held, &format!("{HELD}/{segment}"), segment, chunks, state, signer)?;
    let path = segment.seal_path(held);
    give_to_owner_of(dir, &path).map_err(|error| Error::io(&path, "given to the user of the spool", error))
}

/// The key file of a segment with the keys of these chunks alone: a key that is copied opens what else there is of its owner.
fn keys_of(dir: &Path, segment: &Segment, rows: &[Row]) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = match fs::read(segment.keys_path(dir)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let used: BTreeSet<u32> =
        rows.iter().filter(|row| row.chunk.is_sealed()).map(|row| row.chunk.key).collect();
    let (all, _) = bytes.as_chunks_mut::<{ keys::ROW }>();
    for (number, row) in (0..).zip(all.iter_mut().skip(1)) {
        if let (false, KeyRow::Key(key)) = (used.contains(&number), KeyRow::of(row)) {
            *row = keys::forgotten(&key);
        }
    }
    Ok(Some(bytes))
}

/// Writes such a segment, and tells where its chunks are.
fn copy(
    file: &File,
    link: Link,
    header: &[u8],
    segment: &Segment,
    rows: &[Row],
    to: &mut BufWriter<File>,
) -> io::Result<Vec<Row>> {
    let head = mark::len(link);
    let (worker, at) = segment.origin().unwrap_or_default();
    let mut bytes = vec![0; head];
    Mark::Start { worker, segment: segment.number(), at }.write(link, &mut bytes);
    to.write_all(header)?;
    to.write_all(&bytes)?;
    let mut offset = (header.len() + head) as u64;
    let mut copied = Vec::new();
    for row in rows {
        bytes.resize(head + row.chunk.length as usize, 0);
        match file.read_exact_at(&mut bytes, row.offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
            other => other?,
        }
        if !matches!(Mark::read(link, &bytes), Some((Mark::Chunk(chunk), _)) if chunk.owner == row.chunk.owner)
        {
            continue;
        }
        to.write_all(&bytes)?;
        copied.push(Row { offset, chunk: row.chunk });
        offset += bytes.len() as u64;
    }
    bytes.resize(head, 0);
    let last = copied.iter().map(|row| row.chunk.last).max().unwrap_or(at);
    Mark::End { chunks: copied.len() as u32, at: last }.write(link, &mut bytes);
    to.write_all(&bytes)?;
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(case: &str, id: &str, owner: u64) -> Hold {
        Hold {
            case: case.into(),
            id: id.into(),
            call_id: format!("{id}@example.org"),
            since: 5,
            parts: vec![Part { owner, from: 100, to: 200 }],
            pending: None,
            product: false,
        }
    }

    #[test]
    fn holds_are_files_that_others_read() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Holds::read(dir.path()).unwrap(), Holds::default());
        let all = [hold("a-1", "77", u64::MAX), hold("a-1", "78", 2), hold("b", "77", u64::MAX)];
        all.iter().for_each(|hold| hold.place(dir.path()).unwrap());
        // Again is no harm.
        all[0].place(dir.path()).unwrap();
        let holds = Holds::read(dir.path()).unwrap();
        assert_eq!((holds.all(), holds.calls()), (&all[..], 2));
        let held = |owner, from, to| holds.is_held(Category::Media, owner, Nanos(from), Nanos(to));
        assert!(held(2, 200, 300) && held(2, 0, 100) && held(u64::MAX, 150, 150));
        assert!(!held(2, 201, 300) && !held(2, 0, 99) && !held(3, 150, 150));
        // Its product is another thing, under the same name.
        assert!(!holds.is_held(Category::Product, 2, Nanos(150), Nanos(150)));
        let product = Hold { product: true, ..all[1].clone() };
        product.place(dir.path()).unwrap();
        let both = Holds::read(dir.path()).unwrap();
        assert!(both.is_held(Category::Product, 2, Nanos(150), Nanos(150)));
        assert_eq!((both.holding(true, 2, Nanos(150), Nanos(150)), both.calls()), (Some(&product), 2));
        assert_eq!(release(dir.path(), "a-1", None, true).unwrap(), [product]);
        assert_eq!(Holds::read(dir.path()).unwrap(), holds);
        // Two cases hold one call: it is held until both have ended.
        assert_eq!(release(dir.path(), "a-1", Some("77@example.org"), false).unwrap(), [all[0].clone()]);
        assert!(Holds::read(dir.path()).unwrap().is_held(
            Category::Signalling,
            u64::MAX,
            Nanos(100),
            Nanos(100)
        ));
        assert_eq!(release(dir.path(), "b", None, false).unwrap(), [all[2].clone()]);
        assert_eq!(release(dir.path(), "b", None, false).unwrap(), []);
        assert_eq!(Holds::read(dir.path()).unwrap().all(), [all[1].clone()]);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["", "..", ".x", "a/b", "a b", &"x".repeat(65)] {
            let error = hold(name, "1", 1).place(dir.path()).unwrap_err().to_string();
            assert!(error.contains("letters"), "{error}");
        }
        hold("a", "1", 1).place(dir.path()).unwrap();
        fs::write(dir.path().join("holds/a/2.json"), "{}").unwrap();
        let error = Holds::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("holds/a/2.json") && error.contains("nothing is deleted"), "{error}");
    }
}

//! Replaces the calls of the C library that change files: in this program, whoever writes to a file goes
//! through here, the standard library and SQLite too. Calls about the watched directory are recorded, and may
//! be told to fail.
#![expect(unsafe_code, reason = "functions of the C library are replaced")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Mutex;

use crate::record::{Event, FileId};

/// What is recorded.
#[derive(Default)]
struct Recorder {
    /// Paths that begin with this are recorded.
    root: Option<Vec<u8>>,
    events: Vec<Event>,
    files: HashMap<c_int, Descriptor>,
    /// Ids by inode.
    ids: HashMap<u64, FileId>,
    next: FileId,
    /// So many syncs from now on, one fails.
    failing: Option<u32>,
}

struct Descriptor {
    id: FileId,
    path: String,
    is_dir: bool,
}

static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

/// Records what happens below a directory from now on.
pub(crate) fn watch(root: &str) {
    let recorder = Recorder { root: Some(root.as_bytes().to_vec()), ..Recorder::default() };
    *locked() = Some(recorder);
}

/// Ends recording, and returns what happened.
pub(crate) fn unwatch() -> Vec<Event> {
    locked().take().map(|recorder| recorder.events).unwrap_or_default()
}

/// Notes that somebody was told that something is done.
pub(crate) fn mark(what: usize) {
    with(|recorder| recorder.events.push(Event::Mark(what)));
}

/// One sync of a watched file fails: the one after so many others.
pub(crate) fn fail_sync(after: u32) {
    with(|recorder| recorder.failing = Some(after));
}

fn locked() -> std::sync::MutexGuard<'static, Option<Recorder>> {
    RECORDER.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn with<T>(act: impl FnOnce(&mut Recorder) -> T) -> Option<T> {
    locked().as_mut().map(act)
}

impl Recorder {
    fn watched(&self, path: *const c_char) -> Option<String> {
        // SAFETY: callers pass a path that ends with a zero.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        let root = self.root.as_ref()?;
        path.starts_with(root)
            .then(|| String::from_utf8_lossy(&path[root.len()..]).trim_matches('/').to_owned())
    }

    fn written(&mut self, fd: c_int, at: i64, bytes: &[u8]) {
        if let (Some(file), Ok(at)) = (self.files.get(&fd), u64::try_from(at)) {
            self.events.push(Event::Write { id: file.id, at, bytes: bytes.to_vec() });
        }
    }

    fn opened(&mut self, fd: c_int, path: String, is_new: bool, flags: c_int) {
        let (inode, is_dir) = inode(fd);
        if is_new {
            self.ids.remove(&inode);
        }
        let next = &mut self.next;
        let id = *self.ids.entry(inode).or_insert_with(|| {
            *next += 1;
            *next
        });
        if is_new {
            self.events.push(Event::Create { path: path.clone(), id });
        } else if flags & libc::O_TRUNC != 0 {
            self.events.push(Event::Truncate { id, length: 0 });
        }
        self.files.insert(fd, Descriptor { id, path, is_dir });
    }
}

fn inode(fd: c_int) -> (u64, bool) {
    // SAFETY: `stat` is valid as zeros, and is filled in.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        libc::syscall(libc::SYS_fstat, fd, &raw mut stat);
        (stat.st_ino, stat.st_mode & libc::S_IFMT == libc::S_IFDIR)
    }
}

fn exists(path: *const c_char) -> bool {
    // SAFETY: the caller's path ends with a zero.
    unsafe { libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, path, libc::F_OK) == 0 }
}

fn position(fd: c_int) -> i64 {
    // SAFETY: no memory is touched.
    unsafe { libc::syscall(libc::SYS_lseek, fd, 0, libc::SEEK_CUR) }
}

/// As the C library returns what the kernel says.
fn told(result: i64) -> c_int {
    result as c_int
}

#[unsafe(no_mangle)]
extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    let mut recorder = locked();
    let watched = recorder.as_ref().and_then(|recorder| recorder.watched(path));
    let is_new = watched.is_some() && !exists(path);
    // SAFETY: the caller's arguments are passed on.
    let fd = told(unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) });
    if let (Some(recorder), Some(path), true) = (recorder.as_mut(), watched, fd >= 0) {
        recorder.opened(fd, path, is_new, flags);
    }
    fd
}

#[unsafe(no_mangle)]
extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    open64(path, flags, mode)
}

#[unsafe(no_mangle)]
extern "C" fn close(fd: c_int) -> c_int {
    let mut recorder = locked();
    if let Some(recorder) = recorder.as_mut() {
        recorder.files.remove(&fd);
    }
    // SAFETY: the caller's descriptor is closed.
    told(unsafe { libc::syscall(libc::SYS_close, fd) })
}

#[unsafe(no_mangle)]
extern "C" fn write(fd: c_int, bytes: *const c_void, length: usize) -> isize {
    let mut recorder = locked();
    // SAFETY: the caller's arguments are passed on.
    let written = unsafe { libc::syscall(libc::SYS_write, fd, bytes, length) };
    if let (Some(recorder), 1..) = (recorder.as_mut(), written) {
        // SAFETY: so many bytes were just read from there.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast(), written as usize) };
        recorder.written(fd, position(fd) - written, bytes);
    }
    written as isize
}

#[unsafe(no_mangle)]
extern "C" fn pwrite64(fd: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    let mut recorder = locked();
    // SAFETY: the caller's arguments are passed on.
    let written = unsafe { libc::syscall(libc::SYS_pwrite64, fd, bytes, length, at) };
    if let (Some(recorder), 1..) = (recorder.as_mut(), written) {
        // SAFETY: so many bytes were just read from there.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast(), written as usize) };
        recorder.written(fd, at, bytes);
    }
    written as isize
}

#[unsafe(no_mangle)]
extern "C" fn pwrite(fd: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    pwrite64(fd, bytes, length, at)
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate64(fd: c_int, length: i64) -> c_int {
    let mut recorder = locked();
    // SAFETY: no memory is touched.
    let result = told(unsafe { libc::syscall(libc::SYS_ftruncate, fd, length) });
    if let (Some(recorder), 0) = (recorder.as_mut(), result)
        && let Some(file) = recorder.files.get(&fd)
    {
        recorder.events.push(Event::Truncate { id: file.id, length: length as u64 });
    }
    result
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate(fd: c_int, length: i64) -> c_int {
    ftruncate64(fd, length)
}

fn sync(number: i64, fd: c_int) -> c_int {
    let mut recorder = locked();
    if let Some(recorder) = recorder.as_mut()
        && let Some(file) = recorder.files.get(&fd)
    {
        if let Some(after) = &mut recorder.failing {
            if *after == 0 {
                recorder.failing = None;
                // SAFETY: the place of this thread's error number.
                unsafe { *libc::__errno_location() = libc::EIO };
                return -1;
            }
            *after -= 1;
        }
        let event = match file.is_dir {
            true => Event::SyncDir(file.path.clone()),
            false => Event::Sync(file.id),
        };
        recorder.events.push(event);
    }
    drop(recorder);
    // SAFETY: no memory is touched.
    told(unsafe { libc::syscall(number, fd) })
}

#[unsafe(no_mangle)]
extern "C" fn fsync(fd: c_int) -> c_int {
    sync(libc::SYS_fsync, fd)
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: c_int) -> c_int {
    sync(libc::SYS_fdatasync, fd)
}

#[unsafe(no_mangle)]
extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let mut recorder = locked();
    // SAFETY: the caller's paths are passed on.
    let result =
        told(unsafe { libc::syscall(libc::SYS_renameat2, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0) });
    if let (Some(recorder), 0) = (recorder.as_mut(), result)
        && let (Some(from), Some(to)) = (recorder.watched(from), recorder.watched(to))
    {
        recorder.events.push(Event::Rename { from, to });
    }
    result
}

#[unsafe(no_mangle)]
extern "C" fn unlink(path: *const c_char) -> c_int {
    removed(path, 0)
}

#[unsafe(no_mangle)]
extern "C" fn rmdir(path: *const c_char) -> c_int {
    removed(path, libc::AT_REMOVEDIR)
}

fn removed(path: *const c_char, flags: c_int) -> c_int {
    let mut recorder = locked();
    // SAFETY: the caller's path is passed on.
    let result = told(unsafe { libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path, flags) });
    if let (Some(recorder), 0) = (recorder.as_mut(), result)
        && let Some(path) = recorder.watched(path)
    {
        recorder.events.push(Event::Remove(path));
    }
    result
}

#[unsafe(no_mangle)]
extern "C" fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
    let mut recorder = locked();
    // SAFETY: the caller's path is passed on.
    let result = told(unsafe { libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, path, mode) });
    if let (Some(recorder), 0) = (recorder.as_mut(), result)
        && let Some(path) = recorder.watched(path)
    {
        recorder.events.push(Event::MakeDir(path));
    }
    result
}

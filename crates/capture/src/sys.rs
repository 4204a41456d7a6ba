//! The one place with `unsafe`: memory maps.

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap};

/// Maps a whole regular file for reading and tells the kernel that it is read from front to back.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is private to this process, read-only, and only ever read as bytes, for which every value is valid;
    // all lengths found in it are checked against the length of the map. What remains is a file that another
    // process changes meanwhile: changed bytes give other packets, a file made shorter ends the process with SIGBUS,
    // as it does for every program that maps its input. Capture programs only append.
    let map = unsafe { Mmap::map(file)? };
    // Read-ahead is a hint: a file system that refuses it is only slower.
    let _ = map.advise(Advice::Sequential);
    Ok(map)
}

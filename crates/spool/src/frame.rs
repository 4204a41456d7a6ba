//! Frames between the processes of the program: the length of what follows (4 bytes, little-endian), a byte
//! that says what it is, and its bytes.

use std::io::{self, Read, Write};

/// Longest frame.
pub(crate) const LONGEST: usize = 16 << 20;

/// Writes a frame in one call.
pub(crate) fn write(to: &mut impl Write, kind: u8, parts: &[&[u8]]) -> io::Result<()> {
    let length = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "more than a frame can have"));
    }
    let mut frame = Vec::with_capacity(4 + length);
    frame.extend((length as u32).to_le_bytes());
    frame.push(kind);
    parts.iter().for_each(|part| frame.extend_from_slice(part));
    let written = to.write_all(&frame);
    zeroize::Zeroize::zeroize(&mut frame);
    written
}

/// Reads the next frame into the buffer: its kind. None at the end of the input.
pub(crate) fn read(from: &mut impl Read, into: &mut Vec<u8>) -> io::Result<Option<u8>> {
    read_at_most(from, into, LONGEST)
}

/// The same for frames that are no longer than this, with their kind.
pub(crate) fn read_at_most(
    from: &mut impl Read,
    into: &mut Vec<u8>,
    longest: usize,
) -> io::Result<Option<u8>> {
    let mut head = [0; 5];
    match from.read(&mut head[..1])? {
        0 => return Ok(None),
        _ => from.read_exact(&mut head[1..])?,
    }
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    if !(1..=longest).contains(&length) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame has an impossible length"));
    }
    into.clear();
    // The other side must send what it announces before this side allocates it.
    from.take(length as u64 - 1).read_to_end(into)?;
    if into.len() + 1 < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(head[4]))
}

//! Words of 32 bits, of which all RTCP packets are made.

/// The big-endian word at an offset.
pub(super) fn word(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*data.get(at..)?.first_chunk::<4>()?))
}

//! The payload formats of AMR and AMR-WB (RFC 4867): frames out of packets, octet-aligned or
//! bandwidth-efficient.
//!
//! SDP says which of the two is used; the length and padding of a packet show it too, so calls without
//! captured signalling can be decoded. Interleaving, CRCs and several channels are not supported.

/// AMR or AMR-WB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// 160 samples a frame.
    Narrow,
    /// 320 samples a frame.
    Wide,
}

impl Width {
    /// BitReader of a frame by its type (RFC 4867 section 3.6; 3GPP TS 26.101 and 26.201, table 1); `None`
    /// for reserved types.
    fn bits(self, kind: u8) -> Option<usize> {
        match (self, kind) {
            (Self::Narrow, 0..=8) => Some([95, 103, 118, 134, 148, 159, 204, 244, 39][usize::from(kind)]),
            (Self::Wide, 0..=9) => Some([132, 177, 253, 285, 317, 365, 397, 461, 477, 40][usize::from(kind)]),
            (Self::Wide, LOST) | (_, NO_DATA) => Some(0),
            _ => None,
        }
    }

    /// The type of frames that describe comfort noise.
    pub(crate) fn noise(self) -> u8 {
        if self == Self::Narrow { 8 } else { 9 }
    }
}

/// A speech frame in the format of RFC 4867 section 5.3 (a file): type and quality in the first byte, the
/// bits after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Frame type: a mode, comfort noise, lost or no data.
    pub(crate) kind: u8,
    /// The byte of the type, then the bits, the first at the top, rounded up to whole bytes.
    pub(crate) bytes: Vec<u8>,
}

/// The frames of a payload; `None` if it has neither format.
pub(crate) fn frames(width: Width, payload: &[u8]) -> Option<Vec<Frame>> {
    aligned(width, payload).or_else(|| efficient(width, payload))
}

/// Section 4.4: a byte for each entry of the table of contents, each frame rounded up to whole bytes.
fn aligned(width: Width, payload: &[u8]) -> Option<Vec<Frame>> {
    let (first, rest) = payload.split_first()?;
    if first & 0x0f != 0 {
        return None;
    }
    let count = rest.iter().position(|entry| entry & 0x80 == 0)? + 1;
    let (contents, mut data) = rest.split_at(count);
    let mut frames = Vec::with_capacity(count.min(MAX_FRAMES));
    for entry in contents {
        if entry & 3 != 0 || frames.len() == MAX_FRAMES {
            return None;
        }
        let kind = entry >> 3 & 15;
        let bytes = width.bits(kind)?.div_ceil(8);
        let (frame, after) = data.split_at_checked(bytes)?;
        data = after;
        frames.push(Frame { kind, bytes: [&[entry & 0x7c], frame].concat() });
    }
    data.is_empty().then_some(frames)
}

/// Section 4.3: bits without alignment, padded with zeros at the end.
fn efficient(width: Width, payload: &[u8]) -> Option<Vec<Frame>> {
    let mut bits = BitReader { bytes: payload, at: 4 };
    let mut entries = Vec::new();
    loop {
        let entry = bits.read(6)?;
        entries.push((entry >> 1 & 15, entry & 1));
        if entry & 0x20 == 0 {
            break;
        }
        if entries.len() == MAX_FRAMES {
            return None;
        }
    }
    let mut frames = Vec::with_capacity(entries.len());
    for (kind, quality) in entries {
        let mut left = width.bits(kind)?;
        let mut bytes = vec![kind << 3 | quality << 2];
        while left > 0 {
            let now = left.min(8);
            bytes.push(bits.read(now)? << (8 - now));
            left -= now;
        }
        frames.push(Frame { kind, bytes });
    }
    let padding = payload.len() * 8 - bits.at;
    (padding < 8 && bits.read(padding)? == 0).then_some(frames)
}

struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    /// Up to 8 bits.
    fn read(&mut self, width: usize) -> Option<u8> {
        let (byte, bit) = (self.at / 8, self.at % 8);
        self.at += width;
        if self.at > self.bytes.len() * 8 {
            return None;
        }
        let second = self.bytes.get(byte + 1).copied().unwrap_or_default();
        let window = u16::from_be_bytes([self.bytes.get(byte).copied().unwrap_or_default(), second]);
        Some(((u32::from(window) << bit & 0xffff) >> (16 - width)) as u8)
    }
}

/// Types of frames that carry no bits.
const LOST: u8 = 14;
pub(super) const NO_DATA: u8 = 15;
/// No sender puts a second of sound into one packet.
const MAX_FRAMES: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octet_aligned() {
        // Mode 12.2 (type 7): 244 bits are 31 bytes.
        let payload = [&[0xf0, 0x3c][..], &[0xa5; 31]].concat();
        let found = frames(Width::Narrow, &payload).expect("frames");
        assert_eq!(found, [Frame { kind: 7, bytes: [&[0x3c][..], &[0xa5; 31]].concat() }]);
        let two = [&[0xf0, 0xbc, 0x44][..], &[0xa5; 31], &[1; 5]].concat();
        let kinds: Vec<u8> =
            frames(Width::Narrow, &two).expect("frames").iter().map(|frame| frame.kind).collect();
        assert_eq!(kinds, [7, 8]);
        assert_eq!(frames(Width::Narrow, &two[..37]), None, "cut");
    }

    #[test]
    fn bandwidth_efficient() {
        // CMR 15, one frame of type 8 (39 bits): 49 bits are 7 bytes.
        let mut payload = [0xff; 7];
        payload[0] = 0xf4;
        payload[1] = 0x7f;
        payload[6] = 0x80;
        let found = frames(Width::Narrow, &payload).expect("frames");
        assert_eq!(found, [Frame { kind: 8, bytes: vec![0x44, 0xff, 0xff, 0xff, 0xff, 0xfe] }]);
        payload[6] = 0x81;
        assert_eq!(frames(Width::Narrow, &payload), None, "padding is zero");
        assert_eq!(frames(Width::Wide, &[0xf7, 0xc0]).expect("no data")[0].kind, NO_DATA);
    }
}

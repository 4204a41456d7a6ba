//! Linear 16-bit samples, the high byte first (RFC 3551 section 4.5.11).

use super::decoder::FrameDecoder;

/// Interleaved channels, averaged to mono.
#[derive(Clone, Copy, Debug)]
pub(crate) struct L16 {
    channels: u8,
}

impl L16 {
    pub(crate) fn new(channels: u8) -> Self {
        Self { channels: channels.max(1) }
    }
}

impl FrameDecoder for L16 {
    fn decode(&mut self, payload: &[u8], out: &mut Vec<i16>) {
        out.extend(payload.chunks_exact(2 * usize::from(self.channels)).map(|samples| {
            let sum: i32 =
                samples.chunks_exact(2).map(|pair| i32::from(i16::from_be_bytes([pair[0], pair[1]]))).sum();
            (sum / i32::from(self.channels)) as i16
        }));
    }
}

//! Silence and clipping of G.711, read off the code words.

/// Octets of each packet that are looked at: those that lie with the headers in the cache, 8 ms of sound.
const LOOKED_AT: usize = 64;
/// Silence and clipping, from the first samples of each packet of G.711.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sound {
    pub(super) samples: u32,
    pub(super) silent: u32,
    pub(super) clipped: u32,
}

impl Sound {
    pub(super) const NONE: Self = Self { samples: 0, silent: 0, clipped: 0 };

    /// Looks at the first 64 octets. Silence: below about -48 dBm0; clipped: the outermost code of either sign.
    // HOT: eight octets at a time, each in its own lane of a word.
    #[inline]
    pub(super) fn listen(&mut self, payload: &[u8], payload_type: u8) {
        // G.711: the seven magnitude bits, from 0 (silence) to 127 (full scale), for either law.
        let (flip, quiet) = if payload_type == 0 { (0x7f, 8) } else { (0x55, 4) };
        let payload = payload.get(..LOOKED_AT).unwrap_or(payload);
        let (silent, clipped) = match payload.first_chunk::<LOOKED_AT>() {
            Some(whole) => lanes(whole, flip, quiet),
            None => payload.iter().fold((0, 0), |(silent, clipped), octet| {
                let magnitude = (octet ^ flip) & 0x7f;
                (silent + u32::from(magnitude < quiet), clipped + u32::from(magnitude == 127))
            }),
        };
        self.samples = self.samples.saturating_add(payload.len() as u32);
        self.silent = self.silent.saturating_add(silent);
        self.clipped = self.clipped.saturating_add(clipped);
    }
}

/// Octets that are silent, and that are clipped; `quiet` is a power of two.
#[inline]
fn lanes(octets: &[u8; LOOKED_AT], flip: u8, quiet: u8) -> (u32, u32) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (flip, loud) = (ONES * u64::from(flip), ONES * u64::from(0x7f & !(quiet - 1)));
    let (mut silent, mut clipped) = (0, 0);
    for word in octets.as_chunks::<8>().0 {
        let magnitudes = (u64::from_le_bytes(*word) ^ flip) & (ONES * 0x7f);
        // Carries into the free upper bit of each lane: where any bit is set that silence has not, and from 127 alone.
        silent += !((magnitudes & loud) + ONES * 0x7f) >> 7 & ONES;
        clipped += (magnitudes + ONES) >> 7 & ONES;
    }
    // Each lane counts up to eight; a product adds the lanes up.
    let sum = |lanes: u64| (lanes.wrapping_mul(ONES) >> 56) as u32;
    (sum(silent), sum(clipped))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(payload: &[u8], payload_type: u8) -> (u32, u32, u32) {
        let mut sound = Sound::NONE;
        sound.listen(payload, payload_type);
        (sound.samples, sound.silent, sound.clipped)
    }

    #[test]
    fn silence_and_clipping_of_both_laws() {
        // Silence of either law is 0xff and 0xd5, the outermost codes 0x80 and 0x00, 0xaa and 0x2a.
        for (law, quiet, loud) in [(0, [0xff, 0x7f], [0x80, 0x00]), (8, [0xd5, 0x55], [0xaa, 0x2a])] {
            assert_eq!(heard(&quiet.repeat(80), law), (64, 64, 0));
            assert_eq!(heard(&loud.repeat(80), law), (64, 0, 64));
            assert_eq!(heard(&[quiet[0], quiet[1], loud[0], 0x33, 0xb3].repeat(5), law), (25, 10, 5));
        }
        assert_eq!(heard(&[], 0), (0, 0, 0));
    }

    #[test]
    fn the_edges_of_silence() {
        let octets: Vec<u8> = (0..=255).collect();
        let all = |law| octets.chunks(64).map(|chunk| heard(chunk, law).1).sum::<u32>();
        // Eight and four magnitudes of either sign.
        assert_eq!((all(0), all(8)), (16, 8));
    }
}

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

    /// Looks at the first 64 octets. Silence: below about -48 dBm0; clipped: the outermost code of either
    /// sign.
    #[inline]
    pub(super) fn listen(&mut self, payload: &[u8], payload_type: u8) {
        let is_mu = payload_type == 0;
        let (samples, (silent, clipped)) = match payload.first_chunk::<LOOKED_AT>() {
            Some(whole) if is_mu => (LOOKED_AT as u32, MU.count(whole)),
            Some(whole) => (LOOKED_AT as u32, A.count(whole)),
            None => (payload.len() as u32, if is_mu { MU } else { A }.count_few(payload)),
        };
        self.samples = self.samples.saturating_add(samples);
        self.silent = self.silent.saturating_add(u32::from(silent));
        self.clipped = self.clipped.saturating_add(u32::from(clipped));
    }
}

/// How G.711 writes what is looked for, in the seven bits of magnitude.
struct Law {
    /// The bits that silence does not vary, and what they are in it.
    loud: u8,
    silence: u8,
    /// Full scale.
    full: u8,
}

/// Magnitudes below 8 and 4 are silence; those of mu-law are written with all bits turned over, of A-law
/// every other.
const MU: Law = Law { loud: 0x78, silence: 0x78, full: 0x00 };
const A: Law = Law { loud: 0x7c, silence: 0x54, full: 0x2a };

impl Law {
    /// Octets that are silent, and that are clipped. HOT: every octet the same way, so that processors take
    /// many at a time.
    #[inline(always)]
    fn count(&self, octets: &[u8; LOOKED_AT]) -> (u8, u8) {
        let (mut silent, mut clipped) = (0, 0);
        for octet in octets {
            silent += u8::from(octet & self.loud == self.silence);
            clipped += u8::from(octet & 0x7f == self.full);
        }
        (silent, clipped)
    }

    /// The same of fewer.
    #[cold]
    fn count_few(&self, octets: &[u8]) -> (u8, u8) {
        octets.iter().fold((0, 0), |(silent, clipped), octet| {
            let is = |bits: u8, value: u8| u8::from(octet & bits == value);
            (silent + is(self.loud, self.silence), clipped + is(0x7f, self.full))
        })
    }
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

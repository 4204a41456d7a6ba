//! Silence and clipping of G.711, read off the code words.

/// Silence and clipping, from every fourth sample of G.711.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sound {
    pub(super) samples: u32,
    pub(super) silent: u32,
    pub(super) clipped: u32,
}

impl Sound {
    /// Looks at every fourth octet. Silence: below about -48 dBm0; clipped: the outermost code of either sign.
    #[inline]
    pub(super) fn listen(&mut self, payload: &[u8], payload_type: u8) {
        for &octet in payload.iter().step_by(4) {
            // G.711: the seven magnitude bits, from 0 (silence) to 127 (full scale), for either law.
            let magnitude = if payload_type == 0 { !octet & 0x7f } else { (octet ^ 0x55) & 0x7f };
            let (silent, clipped) = if payload_type == 0 {
                (magnitude < 8, magnitude == 127)
            } else {
                (magnitude < 4, magnitude == 127)
            };
            self.samples = self.samples.saturating_add(1);
            self.silent = self.silent.saturating_add(u32::from(silent));
            self.clipped = self.clipped.saturating_add(u32::from(clipped));
        }
    }
}

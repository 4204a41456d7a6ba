//! Extended reports (RFC 3611): receivers' own judgement.

/// An extended report packet (RFC 3611 section 2).
#[derive(Clone, Copy, Debug)]
pub struct Extended<'a> {
    /// Who reports.
    pub ssrc: u32,
    pub(super) blocks: &'a [u8],
}

impl<'a> Extended<'a> {
    /// The VoIP metrics blocks, one per source. Other block types are passed over.
    pub fn voip_metrics(&self) -> impl Iterator<Item = VoipMetrics> + use<'a> {
        const VOIP_METRICS: u8 = 7;
        let mut rest = self.blocks;
        std::iter::from_fn(move || {
            loop {
                let (&[kind, _, l0, l1], content) = rest.split_first_chunk::<4>()?;
                let len = usize::from(u16::from_be_bytes([l0, l1])) * 4;
                rest = content.get(len..).unwrap_or(&[]);
                if kind == VOIP_METRICS && len >= 32 {
                    return content.first_chunk::<32>().map(VoipMetrics::new);
                }
            }
        })
    }
}

/// VoIP metrics block (RFC 3611 section 4.7): a receiver's own judgement. 127 stands for "not known" in the
/// levels, the R factors and the MOS values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoipMetrics {
    /// The source that is judged.
    pub ssrc: u32,
    /// Lost since the start, in 1/256.
    pub loss_rate: u8,
    /// Discarded by the jitter buffer, in 1/256.
    pub discard_rate: u8,
    /// Lost or discarded within bursts, in 1/256.
    pub burst_density: u8,
    /// Lost or discarded within gaps, in 1/256.
    pub gap_density: u8,
    /// Mean length of bursts, ms.
    pub burst_duration: u16,
    /// Mean length of gaps, ms.
    pub gap_duration: u16,
    /// Round trip between the RTP interfaces, ms.
    pub round_trip_delay: u16,
    /// Delay within the end system, ms.
    pub end_system_delay: u16,
    /// Speech level, dBm0, signed.
    pub signal_level: i8,
    /// Level in silence, dBm0, signed.
    pub noise_level: i8,
    /// Residual echo return loss, dB.
    pub residual_echo_return_loss: u8,
    /// Shortest run of good packets that ends a burst.
    pub gap_threshold: u8,
    /// R factor, 0 to 100.
    pub r_factor: u8,
    /// R factor of the part outside the RTP session.
    pub external_r_factor: u8,
    /// Listening quality, MOS times ten.
    pub mos_lq: u8,
    /// Conversational quality, MOS times ten.
    pub mos_cq: u8,
    /// Concealment and kind of jitter buffer, bit by bit.
    pub receiver_config: u8,
    /// Nominal jitter buffer delay, ms.
    pub jitter_buffer_nominal: u16,
    /// Largest jitter buffer delay so far, ms.
    pub jitter_buffer_maximum: u16,
    /// Largest jitter buffer delay possible, ms.
    pub jitter_buffer_limit: u16,
}

impl VoipMetrics {
    fn new(block: &[u8; 32]) -> Self {
        let short = |i: usize| u16::from_be_bytes([block[i], block[i + 1]]);
        Self {
            ssrc: u32::from_be_bytes([block[0], block[1], block[2], block[3]]),
            loss_rate: block[4],
            discard_rate: block[5],
            burst_density: block[6],
            gap_density: block[7],
            burst_duration: short(8),
            gap_duration: short(10),
            round_trip_delay: short(12),
            end_system_delay: short(14),
            signal_level: block[16].cast_signed(),
            noise_level: block[17].cast_signed(),
            residual_echo_return_loss: block[18],
            gap_threshold: block[19],
            r_factor: block[20],
            external_r_factor: block[21],
            mos_lq: block[22],
            mos_cq: block[23],
            receiver_config: block[24],
            jitter_buffer_nominal: short(26),
            jitter_buffer_maximum: short(28),
            jitter_buffer_limit: short(30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Compound, Packet};

    fn packets(data: &[u8]) -> Vec<Packet<'_>> {
        Compound::parse(data).unwrap().packets().collect()
    }

    #[test]
    fn voip_metrics() {
        let mut data = vec![0x80, 207, 0, 13, 0, 0, 0, 1];
        data.extend([4, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8]); // receiver reference time
        data.extend([7, 0, 0, 8, 0, 0, 0, 2, 1, 2, 3, 4, 0, 5, 0, 6, 0, 7, 0, 8]);
        data.extend([0xf0, 127, 9, 16, 93, 127, 44, 43, 0x30, 0, 0, 60, 0, 80, 0, 200]);
        let packets = packets(&data);
        let [Packet::Extended(xr)] = packets[..] else { panic!("{packets:?}") };
        let metrics: Vec<_> = xr.voip_metrics().collect();
        assert_eq!(metrics.len(), 1);
        let m = metrics[0];
        assert_eq!((xr.ssrc, m.ssrc, m.loss_rate, m.discard_rate), (1, 2, 1, 2));
        assert_eq!((m.burst_density, m.gap_density, m.burst_duration, m.gap_duration), (3, 4, 5, 6));
        assert_eq!((m.round_trip_delay, m.end_system_delay, m.signal_level, m.noise_level), (7, 8, -16, 127));
        assert_eq!((m.residual_echo_return_loss, m.gap_threshold, m.r_factor), (9, 16, 93));
        assert_eq!((m.external_r_factor, m.mos_lq, m.mos_cq, m.receiver_config), (127, 44, 43, 0x30));
        assert_eq!((m.jitter_buffer_nominal, m.jitter_buffer_maximum, m.jitter_buffer_limit), (60, 80, 200));
    }
}

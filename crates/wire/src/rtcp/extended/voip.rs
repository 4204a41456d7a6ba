//! A receiver's own judgement of a call (RFC 3611 section 4.7).

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
    pub(super) fn new(block: &[u8; 32]) -> Self {
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

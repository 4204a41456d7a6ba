//! Duration of an Opus packet (RFC 6716 section 3).

/// Samples at 48 kHz, from the first two bytes; `None` if the packet is malformed or longer than the allowed
/// 120 ms.
pub(crate) fn samples(payload: &[u8]) -> Option<usize> {
    let toc = *payload.first()?;
    let frame = match toc >> 3 {
        config @ 0..12 => [480, 960, 1_920, 2_880][usize::from(config & 3)],
        config @ 12..16 => [480, 960][usize::from(config & 1)],
        config => [120, 240, 480, 960][usize::from(config & 3)],
    };
    let frames = match toc & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => usize::from(payload.get(1)? & 0x3f),
    };
    Some(frame * frames).filter(|samples| (1..=5_760).contains(samples))
}

#[cfg(test)]
mod tests {
    use super::samples;

    #[test]
    fn lengths_of_table_2() {
        // SILK 20 ms, hybrid 10 ms, CELT 2.5 ms and 20 ms, by themselves, twice, three times.
        let toc = |config: u8, code: u8| config << 3 | code;
        assert_eq!(samples(&[toc(1, 0)]), Some(960));
        assert_eq!(samples(&[toc(12, 1)]), Some(960));
        assert_eq!(samples(&[toc(16, 0)]), Some(120));
        assert_eq!(samples(&[toc(31, 3), 3]), Some(2_880));
        assert_eq!((samples(&[]), samples(&[toc(31, 3)]), samples(&[toc(31, 3), 0])), (None, None, None));
        assert_eq!((samples(&[toc(31, 3), 6]), samples(&[toc(31, 3), 7])), (Some(5_760), None));
    }
}

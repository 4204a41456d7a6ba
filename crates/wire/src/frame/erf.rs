//! Endace's Extensible Record Format, where a capture file keeps whole records.

use super::span::{Span, be16};
use super::{Packet, Skip, ethernet, ip, ppp};

/// Timestamp (8 bytes), type, flags, record length, loss counter, wire length; then extension headers of 8 bytes each while
/// the first bit of the type, then of each of them, says that another follows.
pub(super) fn decode(record: Span<'_>) -> Result<Packet<'_>, Skip> {
    const MORE: u8 = 0x80;
    const MAX_EXTENSIONS: usize = 16;
    let (head, mut rest) = record.head::<16>()?;
    let mut more = head[8];
    for _ in 0..MAX_EXTENSIONS {
        if more & MORE == 0 {
            break;
        }
        let (extension, after) = rest.head::<8>()?;
        (more, rest) = (extension[0], after);
    }
    if more & MORE != 0 {
        return Err(Skip::TooDeep);
    }
    let wire_len = usize::from(be16::<14, _>(head));
    match head[8] & !MORE {
        // Ethernet, with colours and hashes in the place of the loss counter: two bytes align what follows them.
        2 | 11 | 16 | 20 => ethernet::decode(Span::new(rest.skip(2)?.data, wire_len), 0),
        // Packet over SONET, the same variants.
        1 | 10 | 15 | 19 => ppp::serial(Span::new(rest.data, wire_len), 0),
        22 => ip::v4(Span::new(rest.data, wire_len), 0),
        23 => ip::v6(Span::new(rest.data, wire_len), 0),
        _ => Err(Skip::LinkUnknown),
    }
}

//! Reads arbitrary octets as what a mediation function sends.

use ringtap_handover::{Content, Encoder, Pdu, PduPayload, TimeFormat, pdu_length};
use ringtap_model::Nanos;

/// Splits the octets into PDUs as a connection does: cut anywhere, the same PDUs come out. Each is read
/// or refused, and what is read is written and read again.
pub fn handover(bytes: &[u8]) {
    const MOST: usize = 4_096;
    let mut rest = bytes;
    while let Ok(Some(length)) = pdu_length(rest, MOST) {
        assert!((2..=MOST).contains(&length));
        for cut in 0..rest.len().min(8) {
            assert!(
                matches!(pdu_length(&rest[..cut], MOST), Ok(None))
                    || pdu_length(&rest[..cut], MOST) == Ok(Some(length))
            );
        }
        let Some((pdu, behind)) = rest.split_at_checked(length) else { return };
        if let Ok(pdu) = Pdu::decode(pdu) {
            again(&pdu);
        }
        rest = behind;
    }
}

fn again(pdu: &Pdu) {
    let mut encoder = Encoder::new(pdu.identifiers, TimeFormat::MicroSeconds, None, Nanos::ZERO);
    let mut out = Vec::new();
    let result = match &pdu.payload {
        PduPayload::Iri(iri) => encoder.iri(pdu.number, iri, &mut out),
        PduPayload::Content { direction, kind, packet } => {
            let at = pdu.at.unwrap_or(Nanos::ZERO);
            encoder.content(pdu.number, &Content { at, direction: *direction, kind: *kind, packet }, &mut out)
        }
        PduPayload::Notification(told) => encoder.notification(pdu.number, told, &mut out),
        PduPayload::Mark(mark) => encoder.mark(pdu.number, pdu.at.unwrap_or(Nanos::ZERO), *mark, &mut out),
        _ => return,
    };
    result.expect("what was read is short enough");
    let read = Pdu::decode(&out).expect("what was written is read");
    assert_eq!(read.number, pdu.number);
    assert_eq!(read.identifiers, pdu.identifiers);
}

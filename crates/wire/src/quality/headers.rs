//! Statistics of RTP in header fields of a BYE and its answer. Vendors define them; fields as in the manuals
//! of those who send them.

use super::{Metrics, count, number};
use crate::sip::{Header, Message};

/// What the sender of a BYE or of its answer says of its media, and the name of the header field that says
/// it.
/// `P-RTP-Stat` and `X-RTP-Stat` have pairs such as `PS=207,PR=314,PL=0,JI=6,LA=40,MOS=4.0`, with commas or
/// semicolons; `RTP-RxStat` and `RTP-TxStat` pairs such as `Pkt=654,LostPkt=0,AvgJit=0`.
pub fn statistics<'a>(message: &Message<'a>) -> Option<(&'static str, Metrics<'a>)> {
    for header in [Header::PRtpStat, Header::XRtpStat] {
        if let Some(value) = message.header(header) {
            return Some((header.name(), short_names(value)));
        }
    }
    let received = message.header_named(b"RTP-RxStat")?;
    let mut metrics = Metrics::default();
    for (name, value) in pairs(received) {
        match name {
            b"Pkt" => metrics.received = count(value),
            b"LostPkt" => metrics.lost = count(value),
            b"AvgJit" => metrics.jitter_ms = number(value),
            _ => {}
        }
    }
    let sent = message.header_named(b"RTP-TxStat").into_iter().flat_map(pairs);
    metrics.sent = sent.filter(|(name, _)| *name == b"Pkt").find_map(|(_, value)| count(value));
    Some(("RTP-RxStat", metrics))
}

fn short_names(value: &[u8]) -> Metrics<'_> {
    let mut metrics = Metrics::default();
    for (name, value) in pairs(value) {
        match name {
            b"PS" => metrics.sent = count(value),
            b"PR" => metrics.received = count(value),
            b"PL" => metrics.lost = count(value),
            b"JI" => metrics.jitter_ms = number(value),
            // The decoder, which is that of the media received; some write its encoder alone.
            b"DE" => metrics.codec = Some(value).filter(|codec| !codec.is_empty()),
            b"EN" if metrics.codec.is_none() => metrics.codec = Some(value).filter(|codec| !codec.is_empty()),
            b"MOS" => metrics.mos_lq = number(value).filter(|mos| (1.0..=5.0).contains(mos)),
            _ => {}
        }
    }
    metrics
}

/// Pairs of name and value up to the first value in quotes.
fn pairs(value: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let end = value.iter().position(|byte| *byte == b'"').unwrap_or(value.len());
    value[..end].split(|byte| matches!(byte, b',' | b';')).filter_map(|pair| {
        let (name, value) = pair.split_at(pair.iter().position(|byte| *byte == b'=')?);
        Some((name.trim_ascii(), value[1..].trim_ascii()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name of the field, counts with jitter and MOS, codec.
    type Read = (&'static str, Vec<Option<f64>>, Option<Vec<u8>>);

    fn of(fields: &str) -> Option<Read> {
        let text = format!(
            "BYE sip:b@example.org SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\r\n\
             Call-ID: 1\r\nCSeq: 1 BYE\r\n{fields}\r\n\r\n"
        );
        let message = Message::parse(text.as_bytes()).unwrap();
        let (name, metrics) = statistics(&message)?;
        let counts =
            [metrics.sent, metrics.received, metrics.lost].map(|count| count.map(|count| count as f64));
        let all = counts.into_iter().chain([metrics.jitter_ms, metrics.mos_lq]).collect();
        Some((name, all, metrics.codec.map(<[u8]>::to_vec)))
    }

    #[test]
    fn the_fields_of_several_vendors() {
        let line = "P-RTP-Stat: PS=899,OS=127953,PR=555,OR=47083,PL=3,JI=2,LA=0,DU=47";
        let counts = vec![Some(899.0), Some(555.0), Some(3.0), Some(2.0), None];
        assert_eq!(of(line), Some(("P-RTP-Stat", counts, None)));
        let line = "X-RTP-Stat: PS=207;OS=49680;;PR=314;OR=50240;PL=0;JI=600;LA=40;EN=PCMU;DE=PCMA;MOS=4.1";
        let counts = vec![Some(207.0), Some(314.0), Some(0.0), Some(600.0), Some(4.1)];
        assert_eq!(of(line), Some(("X-RTP-Stat", counts, Some(b"PCMA".to_vec()))));
        let lines = "RTP-RxStat: Dur=11,Pkt=654,Oct=36022,LatePkt=1,LostPkt=7,AvgJit=4,\
             VQMetrics=\"Ver=0.9;Pkt=9\"\r\n\
             RTP-TxStat: Dur=11,Pkt=581,Oct=29050";
        let counts = vec![Some(581.0), Some(654.0), Some(7.0), Some(4.0), None];
        assert_eq!(of(lines), Some(("RTP-RxStat", counts, None)));
        assert_eq!(of("Subject: none"), None);
    }

    #[test]
    fn what_is_no_number_is_not_known() {
        let (_, counts, codec) =
            of("P-RTP-Stat: PS=,PR=-1,PL=99999999999999999999999,JI=x,MOS=99,=,DE=").unwrap();
        assert_eq!((counts, codec), (vec![None; 5], None));
    }
}

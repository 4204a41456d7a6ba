//! Anonymises RTP and RTCP, RFC 3550.

use ringtap_wire::rtp;

use crate::mask::Mask;

/// How the payload of a media packet is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MediaMask {
    /// Replaced by silence of the same length.
    #[default]
    Silenced,
    /// Telephone events (RFC 4733): every digit becomes 0, its timing stays.
    Digits,
    /// Unchanged.
    Unchanged,
}

impl Mask {
    /// A media packet of `len` bytes, of which `packet` was captured: sequence number, timestamp, type and
    /// SSRC stay, header extensions lose their content. None if it is not RTP.
    pub fn rtp(&self, packet: &[u8], len: usize, voice: MediaMask) -> Option<Vec<u8>> {
        let view = rtp::View::parse(packet, len).ok()?;
        let len = len.max(packet.len());
        let (head, padding) =
            (len - view.payload_len() - usize::from(view.padding()), usize::from(view.padding()));
        let mut out = Vec::with_capacity(len);
        let sources = (12 + usize::from(packet[0] & 0x0f) * 4).min(packet.len());
        out.extend_from_slice(&packet[..sources]);
        if packet[0] & 0x10 != 0 {
            // Its profile and length; zeros are padding there (RFC 8285 section 4.1).
            out.extend_from_slice(packet.get(sources..sources + 4).unwrap_or_default());
        }
        out.resize(head, 0);
        let payload = view.payload();
        let start = out.len();
        out.resize(start + view.payload_len(), quiet(view.payload_type()));
        let place = &mut out[start..];
        match voice {
            MediaMask::Unchanged => place[..payload.len()].copy_from_slice(payload),
            // The level of noise, RFC 3389.
            MediaMask::Silenced if view.payload_type() == 13 => {
                place.iter_mut().zip(payload).take(1).for_each(|(to, from)| *to = *from);
            }
            MediaMask::Silenced => {}
            MediaMask::Digits => {
                place.fill(NO_EVENT);
                for (to, from) in place.chunks_mut(4).zip(payload.chunks(4)) {
                    to[..from.len()].copy_from_slice(from);
                    if to[0] < 16 {
                        to[0] = 0;
                    }
                }
            }
        }
        out.resize(out.len() + padding, 0);
        if packet[0] & 0x20 != 0
            && let Some(last) = out.last_mut()
        {
            *last = if padding > 0 { view.padding() } else { packet[packet.len() - 1] };
        }
        Some(out)
    }

    /// RTCP packets of one datagram: reports and feedback stay, source descriptions are replaced at the same
    /// length, BYE reasons and application data lose their content.
    pub fn rtcp(&mut self, datagram: &[u8]) -> Vec<u8> {
        let mut out = datagram.to_vec();
        let mut at = 0;
        while let Some(&[first, kind, high, low]) = out.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
            let end = at + (usize::from(u16::from_be_bytes([high, low])) + 1) * 4;
            if first >> 6 != 2 || end > out.len() {
                break;
            }
            let packet = &mut out[at..end];
            match kind {
                200 | 201 | 205..=207 => {}
                202 => self.descriptions(packet),
                203 => {
                    let sources = (4 + usize::from(first & 0x1f) * 4).min(packet.len());
                    spoken(&mut packet[sources..]);
                }
                204 => packet.iter_mut().skip(12).for_each(|byte| *byte = 0),
                _ => packet.iter_mut().skip(4).for_each(|byte| *byte = 0),
            }
            at = end;
        }
        // Encrypted or truncated: it cannot be read, so it is removed.
        out[at..].fill(0);
        out
    }

    /// RFC 3550 section 6.5: chunks of a source and its items.
    fn descriptions(&mut self, packet: &mut [u8]) {
        let mut at = 4;
        while at + 4 <= packet.len() {
            at += 4;
            while let Some(&kind) = packet.get(at) {
                if kind == 0 {
                    break;
                }
                let len = packet.get(at + 1).map_or(0, |len| usize::from(*len));
                let end = (at + 2 + len).min(packet.len());
                let start = (at + 2).min(end);
                let mut text = self.text(&packet[start..end]);
                text.resize(end - start, b'x');
                packet[start..end].copy_from_slice(&text);
                at = end;
            }
            at = (at + 1).next_multiple_of(4);
        }
    }
}

/// Clears a text after its length.
fn spoken(text: &mut [u8]) {
    text.iter_mut().skip(1).filter(|byte| **byte != 0).for_each(|byte| *byte = b'x');
}

/// A sample of silence: G.711's codes for it, zero elsewhere.
fn quiet(payload_type: u8) -> u8 {
    match payload_type {
        0 => 0xff,
        8 => 0xd5,
        _ => 0,
    }
}

/// Reserved (RFC 4733 section 7), for events that the capture truncated.
const NO_EVENT: u8 = 0xff;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Key;

    fn mask() -> Mask {
        Mask::new(&Key([1; 32]))
    }

    #[test]
    fn a_voice_becomes_silence_and_the_header_stays() {
        // With a contributing source, an extension of one word and two bytes of padding.
        let packet = [
            0xb1, 0x80, 0, 7, 0, 0, 0, 160, 1, 2, 3, 4, 9, 9, 9, 9, 0xbe, 0xde, 0, 1, 0x10, 0x55, 0, 0, 1, 2,
            3, 4, 0, 2,
        ];
        let out = mask().rtp(&packet, packet.len(), MediaMask::Silenced).unwrap();
        assert_eq!(out[..20], packet[..20]);
        assert_eq!(out[20..], [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 2]);
        assert_eq!(mask().rtp(&packet, packet.len(), MediaMask::Unchanged).unwrap()[24..28], [1, 2, 3, 4]);
        // What the capture cut off is silence too.
        let plain = [0x80, 8, 0, 7, 0, 0, 0, 160, 1, 2, 3, 4, 0x11];
        assert_eq!(mask().rtp(&plain, 172, MediaMask::Silenced).unwrap()[12..], [0xd5; 160]);
    }

    #[test]
    fn a_digit_is_masked_and_its_time_stays() {
        let packet = [0x80, 101, 0, 7, 0, 0, 0, 160, 1, 2, 3, 4, 5, 0x8a, 3, 32];
        let out = mask().rtp(&packet, 16, MediaMask::Digits).unwrap();
        assert_eq!(out[12..], [0, 0x8a, 3, 32]);
        // A flash is no digit; what was cut off is none either.
        assert_eq!(
            mask().rtp(&[&packet[..12], &[16, 0, 0, 1]].concat(), 16, MediaMask::Digits).unwrap()[12],
            16
        );
        assert_eq!(mask().rtp(&packet[..12], 16, MediaMask::Digits).unwrap()[12], 0xff);
    }

    #[test]
    fn reports_stay_and_descriptions_go() {
        let report = [0x80, 201, 0, 1, 1, 2, 3, 4];
        let description =
            [0x81, 202, 0, 4, 1, 2, 3, 4, 1, 8, b'a', b'l', b'@', b'h', b'o', b's', b't', b'1', 0, 0];
        let bye = [0x81, 203, 0, 2, 1, 2, 3, 4, 3, b'b', b'y', b'e'];
        let out = mask().rtcp(&[&report[..], &description, &bye, &[7; 5]].concat());
        assert_eq!(out[..8], report);
        assert_eq!(out[8..18], description[..10]);
        assert_ne!(out[18..26], description[10..18]);
        assert_eq!((out[20], out[26], out[27]), (b'@', 0, 0));
        assert_eq!(out[28..40], [0x81, 203, 0, 2, 1, 2, 3, 4, 3, b'x', b'x', b'x']);
        assert_eq!(out[40..], [0; 5], "what cannot be read is not told");
    }

    proptest! {
        #[test]
        fn any_bytes_keep_their_length(bytes in proptest::collection::vec(any::<u8>(), 0..200),
            more in 0_usize..200) {
            prop_assert_eq!(mask().rtcp(&bytes).len(), bytes.len());
            if let Some(out) = mask().rtp(&bytes, bytes.len() + more, MediaMask::Silenced) {
                prop_assert_eq!(out.len(), bytes.len() + more);
            }
        }
    }
}

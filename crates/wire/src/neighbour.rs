//! Frames by which hosts say that an address is theirs: ARP (RFC 826), neighbour advertisements (RFC 4861).
//!
//! ```
//! use ringtap_wire::frame::link;
//! use ringtap_wire::neighbour::is_claim;
//!
//! let mut frame = [0; 42];
//! frame[12..14].copy_from_slice(&[0x08, 0x06]);
//! assert!(is_claim(link::ETHERNET, &frame), "ARP");
//! frame[12..14].copy_from_slice(&[0x08, 0x00]);
//! assert!(!is_claim(link::ETHERNET, &frame), "IPv4");
//! ```

use crate::frame::link;

const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
const ICMPV6: u8 = 58;
/// RFC 4861 section 4.4.
const ADVERTISEMENT: u8 = 136;
/// Tags of IEEE 802.1Q that are read: two, one in the other.
const MOST_TAGS: usize = 2;

/// Whether a frame may be one. Of IPv6, an extension header in front of the advertisement hides it.
pub fn is_claim(link: u16, data: &[u8]) -> bool {
    link == link::ETHERNET && claims(data).unwrap_or(false)
}

fn claims(data: &[u8]) -> Option<bool> {
    let mut rest = data.get(12..)?;
    for _ in 0..=MOST_TAGS {
        let (kind, after) = rest.split_first_chunk::<2>()?;
        match u16::from_be_bytes(*kind) {
            0x8100 | 0x88a8 => rest = after.get(2..)?,
            ARP => return Some(true),
            IPV6 => return Some(after.get(6) == Some(&ICMPV6) && after.get(40) == Some(&ADVERTISEMENT)),
            _ => return Some(false),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ethernet(kinds: &[u16], body: &[u8]) -> Vec<u8> {
        let mut frame = vec![0x02; 12];
        for (place, kind) in kinds.iter().enumerate() {
            frame.extend(kind.to_be_bytes());
            if place + 1 < kinds.len() {
                frame.extend([0, 7]);
            }
        }
        frame.extend(body);
        frame
    }

    #[test]
    fn arp_and_advertisements_are_claims() {
        let mut advertisement = [0; 64];
        (advertisement[6], advertisement[40]) = (ICMPV6, ADVERTISEMENT);
        let mut solicitation = advertisement;
        solicitation[40] = 135;
        for (kinds, body, expected) in [
            (&[ARP][..], &[0; 28][..], true),
            (&[0x8100, ARP], &[0; 28], true),
            (&[0x88a8, 0x8100, ARP], &[0; 28], true),
            (&[0x88a8, 0x8100, 0x8100, ARP], &[0; 28], false),
            (&[IPV6], &advertisement, true),
            (&[0x8100, IPV6], &advertisement, true),
            (&[IPV6], &solicitation, false),
            (&[0x0800], &[0; 28], false),
            (&[0x8864], &[0; 28], false),
        ] {
            let frame = ethernet(kinds, body);
            assert_eq!(is_claim(link::ETHERNET, &frame), expected, "{kinds:x?}");
            assert!(!is_claim(link::RAW, &frame), "no Ethernet");
        }
        (0..20).for_each(|length| _ = is_claim(link::ETHERNET, &ethernet(&[IPV6], &[0; 64])[..length]));
    }
}

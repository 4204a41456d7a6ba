//! Properties of the RTP, RTCP, STUN and HEP views: no bytes panic, and what is emitted reads back the same.

use proptest::collection::vec;
use proptest::prelude::*;
use ringtap_wire::{hep, rtcp, rtp, stun};

/// An RTP packet from its parts (RFC 3550 section 5.1).
#[derive(Clone, Debug)]
struct Rtp {
    marker: bool,
    payload_type: u8,
    sequence: u16,
    timestamp: u32,
    ssrc: u32,
    sources: Vec<u32>,
    extension: Option<(u16, Vec<[u8; 4]>)>,
    payload: Vec<u8>,
    padding: u8,
}

impl Rtp {
    fn emit(&self) -> Vec<u8> {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let first = 0x80
            | bit(self.padding > 0, 0x20)
            | bit(self.extension.is_some(), 0x10)
            | self.sources.len() as u8;
        let mut bytes = vec![first, bit(self.marker, 0x80) | self.payload_type];
        bytes.extend(self.sequence.to_be_bytes());
        for word in [self.timestamp, self.ssrc].iter().chain(&self.sources) {
            bytes.extend(word.to_be_bytes());
        }
        if let Some((profile, words)) = &self.extension {
            bytes.extend(profile.to_be_bytes());
            bytes.extend((words.len() as u16).to_be_bytes());
            bytes.extend(words.as_flattened());
        }
        bytes.extend(&self.payload);
        bytes.extend(vec![0; usize::from(self.padding).saturating_sub(1)]);
        bytes.extend((self.padding > 0).then_some(self.padding));
        bytes
    }
}

fn packet() -> impl Strategy<Value = Rtp> {
    let fixed = any::<(bool, u16, u32, u32)>();
    let optional = (vec(any::<u32>(), 0..16), any::<Option<(u16, Vec<[u8; 4]>)>>(), any::<u8>());
    // Payload types 64 to 95 with the marker are RTCP's packet types.
    (fixed, (0..64u8).prop_union(96..128u8), optional, vec(any::<u8>(), 0..200)).prop_map(
        |((marker, sequence, timestamp, ssrc), payload_type, (sources, extension, padding), payload)| Rtp {
            marker,
            payload_type,
            sequence,
            timestamp,
            ssrc,
            sources,
            extension,
            payload,
            padding,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn rtp_reads_back(rtp in packet()) {
        let bytes = rtp.emit();
        prop_assert!(rtp::looks_like_rtp(&bytes));
        let view = rtp::View::parse(&bytes, bytes.len()).expect("an RTP packet");
        prop_assert_eq!((view.marker(), view.payload_type()), (rtp.marker, rtp.payload_type));
        prop_assert_eq!((view.sequence(), view.timestamp(), view.ssrc()), (rtp.sequence, rtp.timestamp,
            rtp.ssrc));
        prop_assert_eq!(usize::from(view.csrc_count()), rtp.sources.len());
        prop_assert_eq!((view.payload(), view.payload_len()), (&rtp.payload[..], rtp.payload.len()));
        prop_assert_eq!(view.padding(), rtp.padding);
        let extension = rtp.extension.map(|(profile, words)| (profile, words.as_flattened().to_vec()));
        prop_assert_eq!(view.extension().map(|found| (found.profile, found.data.to_vec())), extension);
    }

    /// Cut by the capture: the same header, a part of the payload, and the declared length but for the
    /// padding.
    #[test]
    fn rtp_cut_anywhere(rtp in packet()) {
        let bytes = rtp.emit();
        let whole = rtp::View::parse(&bytes, bytes.len()).expect("an RTP packet");
        for cut in 0..bytes.len() {
            let Ok(view) = rtp::View::parse(&bytes[..cut], bytes.len()) else {
                prop_assert!(cut < 12 + rtp.sources.len() * 4);
                continue;
            };
            prop_assert_eq!((view.sequence(), view.ssrc()), (whole.sequence(), whole.ssrc()));
            let rest = [&rtp.payload[..], &vec![0; usize::from(rtp.padding)]].concat();
            prop_assert!(rest.starts_with(view.payload()));
            // Where not even the extension's length was captured, it counts as payload.
            prop_assert!(view.payload_len() >= rest.len());
            prop_assert!(view.payload_len() == rest.len() || view.extension().is_none());
        }
    }

    #[test]
    fn rtp_of_any_bytes(data in vec(any::<u8>(), 0..100), first in 0x80..0xc0u8, declared in 0..300usize) {
        let mut data = data;
        if let Some(byte) = data.first_mut() {
            *byte = first;
        }
        if let Ok(view) = rtp::View::parse(&data, declared) {
            prop_assert!(rtp::looks_like_rtp(&data));
            prop_assert!(view.payload().len() <= view.payload_len());
            prop_assert!(view.payload_len() + 12 <= declared.max(data.len()));
            let _ = rtp::TelephoneEvent::parse(view.payload());
        }
    }

    /// Each packet begins with a header of RTCP, so that walks go far.
    #[test]
    fn rtcp_of_any_bytes(packets in vec((0..32u8, 192..=223u8, vec(any::<u8>(), 0..80), 0..24u16), 0..6)) {
        let mut data = Vec::new();
        for (count, kind, body, words) in packets {
            data.extend([0x80 | count, kind]);
            data.extend(words.to_be_bytes());
            data.extend(body);
        }
        let Ok(compound) = rtcp::Compound::parse(&data) else { return Ok(()) };
        let mut walked = 0;
        for packet in compound.packets() {
            walked += 1;
            match packet {
                rtcp::Packet::SenderReport(sr) => prop_assert_eq!(sr.reports.iter().count(),
                    sr.reports.len()),
                rtcp::Packet::ReceiverReport(rr) => prop_assert_eq!(rr.reports.iter().count(),
                    rr.reports.len()),
                rtcp::Packet::Sdes(sdes) => {
                    let bytes: usize = sdes.items().map(|item| item.text.len() + 2).sum();
                    prop_assert!(bytes <= data.len());
                    let _ = sdes.cname();
                }
                rtcp::Packet::Bye(bye) => {
                    prop_assert!(bye.sources().count() < 32);
                    prop_assert!(bye.reason().len() <= data.len());
                }
                rtcp::Packet::Extended(xr) => {
                    prop_assert!(xr.voip_metrics().count() <= data.len() / 36);
                    prop_assert!(xr.blocks().count() <= data.len() / 4);
                }
                rtcp::Packet::Feedback(feedback) => {
                    prop_assert!(feedback.sources().count() <= 1 + data.len() / 4);
                }
                rtcp::Packet::App(_) | rtcp::Packet::Other { .. } => {}
            }
        }
        prop_assert!(walked <= data.len() / 4);
        if compound.is_exact() {
            prop_assert!(rtcp::looks_like_rtcp(&data) || data.len() < 8);
        }
    }

    /// Any trace of packets, encoded as run lengths where a run is long and as vectors elsewhere, gives the
    /// same number of zeros.
    #[test]
    fn runs_read_back(begin: u16, runs in vec((any::<bool>(), 1..200usize), 0..20), split in 1..30usize) {
        let trace: Vec<bool> = runs.iter().flat_map(|(bit, len)| vec![*bit; *len]).collect();
        let mut chunks = Vec::new();
        let mut rest = &trace[..];
        while let Some(first) = rest.first() {
            let run = rest.iter().take_while(|bit| *bit == first).count();
            let len = if run >= split { run } else { rest.len().min(15) };
            let (bits, after) = rest.split_at(len);
            rest = after;
            let chunk = if run >= split {
                u16::from(*first) << 14 | len as u16
            } else {
                bits.iter().enumerate().fold(0x8000, |chunk, (at, bit)| chunk | u16::from(*bit) << (14 - at))
            };
            chunks.extend(chunk.to_be_bytes());
        }
        chunks.resize(chunks.len().next_multiple_of(4), 0);
        let end = begin.wrapping_add(trace.len() as u16);
        let mut data = vec![0x80, 207, 0, 0, 0, 0, 0, 1, 1, 0];
        data.extend((2 + chunks.len() as u16 / 4).to_be_bytes());
        data.extend([0, 0, 0, 2]);
        data.extend([begin.to_be_bytes(), end.to_be_bytes()].concat());
        data.extend(chunks);
        let words = (data.len() / 4 - 1) as u16;
        data[2..4].copy_from_slice(&words.to_be_bytes());
        let compound = rtcp::Compound::parse(&data).expect("an extended report");
        let Some(rtcp::Packet::Extended(xr)) = compound.packets().next() else { panic!("no report") };
        let Some(rtcp::Block::LossRuns(found)) = xr.blocks().next() else { panic!("no trace") };
        prop_assert_eq!(found.len() as usize, trace.len());
        prop_assert_eq!(found.zeros() as usize, trace.iter().filter(|bit| !**bit).count());
    }

    #[test]
    fn stun_of_any_bytes(kind: u16, len: u16, cookie: bool, rest in vec(any::<u8>(), 0..100)) {
        let word: [u8; 4] = if cookie { [0x21, 0x12, 0xa4, 0x42] } else { [1, 2, 3, 4] };
        let data = [&kind.to_be_bytes()[..], &len.to_be_bytes(), &word, &rest].concat();
        let _ = stun::is_stun(&data);
        if let Some(inside) = stun::relayed(&data) {
            prop_assert!(inside.len() + 4 <= data.len());
        }
        prop_assert!(!(rtp::looks_like_rtp(&data) && stun::is_stun(&data)));
    }

    #[test]
    fn hep_of_any_chunks(chunks in vec((0..3u16, 0..0x20u16, vec(any::<u8>(), 0..20)), 0..12),
        damage: prop::sample::Index, byte: u8) {
        let mut data = b"HEP3\0\0".to_vec();
        for (vendor, kind, content) in &chunks {
            data.extend(vendor.to_be_bytes());
            data.extend(kind.to_be_bytes());
            data.extend((content.len() as u16 + 6).to_be_bytes());
            data.extend(content);
        }
        let len = data.len();
        data[4..6].copy_from_slice(&(len as u16).to_be_bytes());
        let view = hep::View::parse(&data).expect("whole chunks");
        prop_assert_eq!(view.total_len(), len);
        let last = chunks.iter().rfind(|(vendor, kind, _)| *vendor == 0 && (*kind == 0x0f || *kind == 0x10));
        prop_assert_eq!(view.payload(), last.map_or(&[][..], |(_, _, content)| content));
        prop_assert_eq!(view.compressed(), last.is_some_and(|(_, kind, _)| *kind == 0x10));
        for cut in 0..len {
            prop_assert!(hep::View::parse(&data[..cut]).is_err());
        }
        let at = damage.index(len);
        data[at] = byte;
        let _ = hep::View::parse(&data);
    }
}

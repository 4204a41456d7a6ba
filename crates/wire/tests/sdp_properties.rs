//! What holds for any bytes as a session description and as WebSocket frames.
#![expect(clippy::unwrap_used, reason = "a test: what fails shows")]

mod common;

use common::ask_sdp;
use proptest::prelude::*;
use ringtap_wire::sdp::{self, Direction, MediaLine, MediaType, Sdp, media_lines};
use ringtap_wire::websocket::{Header, Upgrade, unmask, upgrade};

const PIECES: &[&str] = &[
    "v=0\r\n",
    "o=- 1 2 IN IP4 h\r\n",
    "s=-\n",
    "c=IN IP4 192.0.2.1\r\n",
    "c=IN IP6 ::1/3\n\r",
    "m=",
    "m=audio 4000 RTP/AVP 0 8",
    "m=image 1/2 udptl t38\r\n",
    "a=",
    "a=rtpmap:",
    "96 opus/48000/2\r\n",
    "a=fmtp:96 x\r\n",
    "a=crypto:1 F8 inline:x|2\r\n",
    "a=candidate:1 1 udp 1 192.0.2.1 5 typ host\r\n",
    "a=rtcp:5 IN IP4 192.0.2.1\r\n",
    "a=ptime:1e400\r\n",
    "a=sendonly\r\n",
    "a=ssrc:1 x\r\n",
    "\r",
    "\n",
    " ",
    "=",
    ":",
    "/",
    "128",
    "65536",
    "99999999999999999999",
    "nan",
    "%",
    "[",
    "]",
];

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ];
    let soup = prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat());
    prop_oneof![prop::collection::vec(any::<u8>(), 0..600), soup]
}

/// What each medium of a description says: line, address, codecs, candidates.
type Spoken = (String, Option<std::net::IpAddr>, Vec<String>, Vec<String>);

/// Asked of each medium.
fn asked(bytes: &[u8]) -> Vec<Spoken> {
    let Ok(sdp) = Sdp::parse(bytes) else { return Vec::new() };
    sdp.media()
        .map(|media| {
            let line =
                format!("{:?}", (media.media_type, media.port, media.port_count, media.proto, media.formats));
            let codecs = media.rtpmaps().map(|map| format!("{map:?}")).collect();
            let candidates = media.candidates().map(|candidate| format!("{candidate:?}")).collect();
            (line, media.connection(), codecs, candidates)
        })
        .collect()
}

/// The same, read in one pass.
fn walked(bytes: &[u8]) -> Vec<Spoken> {
    let (mut found, mut session, mut own) = (Vec::<Spoken>::new(), None, None);
    let mut current = None;
    let mut sections = 0;
    for said in media_lines(bytes) {
        match (said, &current) {
            (MediaLine::Media(media), _) => {
                (current, own, sections) = (media, None, sections + 1);
                if sections > sdp::MAX_MEDIA {
                    break;
                }
                let Some(media) = media else { continue };
                let line = format!(
                    "{:?}",
                    (media.media_type, media.port, media.port_count, media.proto, media.formats)
                );
                found.push((line, session.flatten(), Vec::new(), Vec::new()));
            }
            (MediaLine::Connection(ip), None) if sections == 0 => _ = session.get_or_insert(ip),
            (_, None) => {}
            (MediaLine::Connection(ip), Some(_)) => {
                found.last_mut().unwrap().1 = *own.get_or_insert(ip);
            }
            (MediaLine::Rtpmap(value), Some(media)) => {
                let map = sdp::rtpmap(media, value).map(|map| format!("{map:?}"));
                found.last_mut().unwrap().2.extend(map);
            }
            (MediaLine::Candidate(candidate), Some(_)) => {
                found.last_mut().unwrap().3.push(format!("{candidate:?}"));
            }
            (MediaLine::Direction(_) | MediaLine::Ptime(_), Some(_)) => {}
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn walked_over_it_says_what_it_says_when_asked(bytes in any_bytes()) {
        prop_assert_eq!(walked(&bytes), asked(&bytes));
    }

    #[test]
    fn no_bytes_panic(bytes in any_bytes()) {
        ask_sdp(&bytes);
        upgrade(&bytes);
        if let Ok(Some(header)) = Header::parse(&bytes) {
            prop_assert!(header.header_len <= 14 && header.header_len <= bytes.len());
        }
    }

    #[test]
    fn line_ends_do_not_matter(end in prop::sample::select(vec!["\r\n", "\n", "\n\r", "\r", "\r\n\r\n"]),
        port in any::<u16>()) {
        let text = format!(
            "v=0|o=- 1 2 IN IP4 h|c=IN IP6 ff02::1/3|m=audio {port} RTP/AVP 96 0|\
             a=rtpmap:96 L16/44100/2|a=recvonly|m=video 1 x 5"
        );
        let text = text.replace('|', end);
        let sdp = Sdp::parse(text.as_bytes()).unwrap();
        let media: Vec<_> = sdp.media().collect();
        prop_assert_eq!(media.len(), 2);
        prop_assert_eq!((media[0].media_type, media[0].port, media[0].direction()), (MediaType::Audio, port,
            Direction::RecvOnly));
        prop_assert_eq!(media[0].connection(), "ff02::1".parse().ok());
        prop_assert_eq!(media[0].codec(96).map(|codec| (codec.clock, codec.channels)), Some((44100, 2)));
        prop_assert_eq!(media[1].codec(96), None);
    }

    #[test]
    fn a_mask_is_its_own_inverse(mask in any::<[u8; 4]>(), payload in prop::collection::vec(any::<u8>(),
        0..50)) {
        let mut masked = payload.clone();
        unmask(mask, &mut masked);
        prop_assert!(masked.iter().zip(&payload).enumerate().all(|(n, (a, b))| a ^ b == mask[n % 4]));
        unmask(mask, &mut masked);
        prop_assert_eq!(masked, payload);
    }

    #[test]
    fn a_frame_header_is_read_back(fin: bool, mask in any::<Option<[u8; 4]>>(), len in 0usize..=65536,
        cut in 0usize..14) {
        let mut bytes = vec![u8::from(fin) << 7 | 2];
        let bit = u8::from(mask.is_some()) << 7;
        match len {
            0..=125 => bytes.push(bit | len as u8),
            126..=65535 => bytes.extend([&[bit | 126][..], &(len as u16).to_be_bytes()].concat()),
            _ => bytes.extend([&[bit | 127][..], &(len as u64).to_be_bytes()].concat()),
        }
        bytes.extend(mask.iter().flatten());
        let header = Header::parse(&bytes).unwrap().unwrap();
        prop_assert_eq!((header.fin, header.mask, header.payload_len), (fin, mask, len));
        prop_assert_eq!(header.header_len, bytes.len());
        prop_assert_eq!(Header::parse(&bytes[..cut.min(bytes.len() - 1)]), Ok(None));
    }

    #[test]
    fn a_handshake_is_found_whatever_follows(follow in prop::collection::vec(any::<u8>(), 0..50),
        cut in 0usize..60) {
        let head = b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        prop_assert_eq!(upgrade(&[&head[..], &follow].concat()), Upgrade::Complete(head.len()));
        prop_assert_eq!(upgrade(&head[..cut.min(head.len() - 1)]), Upgrade::Incomplete);
    }
}

use super::*;

/// Sender report with one block, then a source description: the datagram that most phones send.
const COMPOUND: [u8; 72] = [
    0x81, 200, 0, 12, 0, 0, 0, 1, // SR of source 1, 13 words
    0xc5, 0x91, 0, 2, 0x80, 0, 0, 3, // NTP
    0, 0, 0, 160, 0, 0, 0, 50, 0, 0, 0x1f, 0x40, // RTP time, packets, octets
    0, 0, 0, 2, 0x40, 0xff, 0xff, 0xfe, 0, 1, 0,
    9, // source 2: a quarter lost, -2 in all, sequence 65545
    0, 0, 0, 33, 0, 2, 0x80, 0, 0, 1, 0, 0, // jitter, LSR, DLSR of one second
    0x81, 202, 0, 4, 0, 0, 0, 1, 1, 3, b'a', b'@', b'b', 6, 1, b't', 0, 0, 0, 0, // SDES
];

fn packets(data: &[u8]) -> Vec<Packet<'_>> {
    Compound::parse(data).unwrap().packets().collect()
}

#[test]
fn sender_report_and_description() {
    assert!(looks_like_rtcp(&COMPOUND));
    assert!(Compound::parse(&COMPOUND).unwrap().is_exact());
    let packets = packets(&COMPOUND);
    let [Packet::SenderReport(sr), Packet::Sdes(sdes)] = packets[..] else { panic!("{packets:?}") };
    assert_eq!((sr.ssrc, sr.ntp, sr.ntp_middle()), (1, 0xc591_0002_8000_0003, 0x0002_8000));
    assert_eq!((sr.rtp_timestamp, sr.packets, sr.octets), (160, 50, 8000));
    let report = Report {
        ssrc: 2,
        fraction_lost: 64,
        cumulative_lost: -2,
        highest_sequence: 65545,
        jitter: 33,
        last_sr: 0x0002_8000,
        delay_since_last_sr: 65536,
    };
    assert_eq!(sr.reports.iter().collect::<Vec<_>>(), [report]);
    assert_eq!(sdes.cname(), Some((1, &b"a@b"[..])));
    assert_eq!(sdes.items().nth(1), Some(Item { ssrc: 1, kind: 6, text: b"t" }));
    assert_eq!(sdes.items().count(), 2);
}

#[test]
fn a_few_bytes_behind_the_last_packet_leave_it_readable() {
    let with = |extra: usize| [&COMPOUND[..], &vec![0; extra]].concat();
    let is_readable = |data: &[u8]| Compound::parse(data).unwrap().is_readable();
    assert!(is_readable(&COMPOUND) && is_readable(&with(2)) && is_readable(&with(7)));
    assert!(!is_readable(&with(8)) && !is_readable(&with(14)), "an SRTCP index and tag");
    let index = [0x80, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    assert!(!is_readable(&[&COMPOUND[..], &index].concat()), "the index of an encrypted packet");
    assert!(!is_readable(&COMPOUND[..60]), "cut");
}

#[test]
fn a_cut_capture_gives_what_is_there() {
    let cut = &COMPOUND[..40];
    let packets = packets(cut);
    let [Packet::SenderReport(sr)] = packets[..] else { panic!("{packets:?}") };
    assert!(sr.reports.is_empty(), "the block was not whole");
    assert!(!looks_like_rtcp(cut));
    assert!(!Compound::parse(cut).unwrap().is_exact());
}

#[test]
fn receiver_report_goodbye_and_application() {
    let data = [
        0x80, 201, 0, 1, 0, 0, 0, 7, // RR without blocks
        0x82, 203, 0, 3, 0, 0, 0, 7, 0, 0, 0, 8, 3, b'e', b'n', b'd', // BYE of two
        0x85, 204, 0, 3, 0, 0, 0, 7, b'P', b'o', b'C', b'1', 1, 2, 3, 4, // APP
    ];
    let packets = packets(&data);
    let [Packet::ReceiverReport(rr), Packet::Bye(bye), Packet::App(app)] = packets[..] else {
        panic!("{packets:?}")
    };
    assert_eq!((rr.ssrc, rr.reports.len()), (7, 0));
    assert_eq!((bye.sources().collect::<Vec<_>>(), bye.reason()), (vec![7, 8], &b"end"[..]));
    assert_eq!((app.subtype, app.ssrc, &app.name, app.data), (5, 7, b"PoC1", &[1u8, 2, 3, 4][..]));
}

#[test]
fn feedback_comes_first_in_reduced_size() {
    let nack = [0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 0];
    assert!(looks_like_rtcp(&nack));
    let packets = packets(&nack);
    let [Packet::Feedback(feedback)] = packets[..] else { panic!("{packets:?}") };
    assert_eq!((feedback.kind, feedback.format), (RTPFB, 1));
    assert_eq!((feedback.sender, feedback.media, feedback.control), (1, 2, &[0u8, 9, 0, 0][..]));
}

#[test]
fn what_is_not_rtcp_says_why() {
    let reason = |data: &[u8]| Compound::parse(data).map(|_| ()).unwrap_err();
    assert_eq!(reason(&COMPOUND[..7]), ParseError::TooShort);
    assert_eq!(reason(&[0x40, 200, 0, 1, 0, 0, 0, 0]), ParseError::Version);
    assert_eq!(reason(&[0x80, 0, 0, 1, 0, 0, 0, 0]), ParseError::NotRtcp);
    let encrypted = [&COMPOUND[..], &[0x80, 0, 0, 1, 1, 2, 3, 4]].concat();
    assert!(!Compound::parse(&encrypted[..76]).unwrap().is_exact(), "an SRTCP index behind");
}

#[test]
fn a_type_too_short_for_its_own_is_other() {
    let data = [0x80, 200, 0, 1, 0, 0, 0, 1, 0x80, 195, 0, 0];
    let packets = packets(&data);
    let [Packet::Other { kind: 200, data }, Packet::Other { kind: 195, .. }] = packets[..] else {
        panic!("{packets:?}")
    };
    assert_eq!(data, &[0, 0, 0, 1]);
}

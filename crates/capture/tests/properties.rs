//! Properties: what is written is read again, whatever it is wrapped in and wherever it is cut; and no bytes
//! panic.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use flate2::write::GzEncoder;
use proptest::prelude::*;
use ringtap_capture::{Capture, Compression, Damage, Error, Format, Merge, Writer};
use ringtap_model::{Frame, LinkType, Nanos};

/// A frame that owns its bytes, comparable: time, link type, wire length, data.
type Packet = (u64, u16, u32, Vec<u8>);

/// Times that every format can tell: up to the year 2106.
fn packet() -> impl Strategy<Value = Packet> {
    let time = 0..u64::from(u32::MAX) * 1_000_000_000;
    let data = prop::collection::vec(any::<u8>(), 0..200);
    (time, prop::sample::select(vec![1_u16, 101, 113]), any::<u32>(), data)
}

fn packets() -> impl Strategy<Value = Vec<Packet>> {
    prop::collection::vec(packet(), 0..30)
}

fn frame(packet: &Packet) -> Frame<'_> {
    let (time, link, wire_len, ref data) = *packet;
    Frame { time: Nanos(time), number: 0, link: LinkType(link), wire_len, data }
}

fn write(packets: &[Packet], links: &[u16]) -> Vec<u8> {
    let links: Vec<LinkType> = links.iter().copied().map(LinkType).collect();
    let mut writer = Writer::new(Vec::new(), &links).expect("header");
    for packet in packets {
        writer.write(&frame(packet)).expect("record");
    }
    writer.finish().expect("flush")
}

/// Reads everything, checking that numbers count up from 1 and that offsets stay within the content.
fn read(bytes: Vec<u8>) -> Result<(Vec<Packet>, Option<Damage>), Error> {
    let capture = Capture::from_bytes("test", bytes)?;
    let mut frames = capture.frames();
    let mut packets = Vec::new();
    let mut last = 0;
    loop {
        let batch = frames.batch(7);
        if batch.is_empty() {
            break;
        }
        for frame in batch {
            assert!(frame.number > last);
            last = frame.number;
            packets.push((frame.time.0, frame.link.0, frame.wire_len, frame.data.to_vec()));
        }
        assert!(capture.compression().is_some() || frames.offset() <= capture.size());
    }
    let packed = capture.compression().is_some();
    assert!(packed || frames.damage().is_some() || frames.offset() == capture.size());
    assert!(frames.batch(1).is_empty(), "what has ended stays so");
    Ok((packets, frames.damage()))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("a vector takes everything");
    encoder.finish().expect("a vector takes everything")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("memory")
}

/// RFC 1761: lengths of the packet on the wire, of its data, of the record; drops; seconds, microseconds.
fn snoop(packets: &[Packet]) -> Vec<u8> {
    let mut file = b"snoop\0\0\0\0\0\0\x02\0\0\0\x04".to_vec();
    for (time, _, wire_len, data) in packets {
        let (length, padding) = (data.len() as u32, data.len().next_multiple_of(4) - data.len());
        let second = (time / 1_000_000_000) as u32;
        let fields = [*wire_len, length, 24 + length + padding as u32, 0, second, 7];
        file.extend(fields.into_iter().flat_map(u32::to_be_bytes));
        file.extend(data);
        file.extend(vec![0; padding]);
    }
    file
}

/// Version 2.1: each record has its network behind it, and the frame table is last.
fn netmon(packets: &[Packet]) -> Vec<u8> {
    let mut file = b"GMBU\x01\x02\x01\0".to_vec();
    file.extend([2026, 1, 4, 1, 0, 0, 0, 0].into_iter().flat_map(u16::to_le_bytes));
    file.resize(128, 0);
    let mut table = Vec::new();
    for (time, _, wire_len, data) in packets {
        table.extend((file.len() as u32).to_le_bytes());
        file.extend((time / 1_000).to_le_bytes());
        file.extend([*wire_len, data.len() as u32].into_iter().flat_map(u32::to_le_bytes));
        file.extend(data);
        file.extend([1, 0]);
    }
    let place = [file.len() as u32, table.len() as u32];
    file[24..32].copy_from_slice(&place.map(u32::to_le_bytes).concat());
    file.extend(table);
    file
}

/// Those below, and a NetMon.
fn all_seeds(packets: Vec<Packet>) -> Vec<Vec<u8>> {
    let netmon = netmon(&packets);
    seeds(packets).into_iter().chain([netmon]).collect()
}

/// A plain pcap, a pcapng, ERF records and a snoop of the same packets, as seeds for damage.
fn seeds(mut packets: Vec<Packet>) -> [Vec<u8>; 4] {
    let ng = write(&packets, &[1, 101, 113]);
    packets.iter_mut().for_each(|packet| packet.1 = 1);
    let erf = packets.iter().flat_map(|(_, _, _, data)| {
        let length = (18 + data.len()) as u16;
        let mut record = vec![0, 0, 0, 0, 1, 0, 0, 0, 2, 4];
        record.extend([length.to_be_bytes(), [0, 0], (data.len() as u16).to_be_bytes(), [0, 0]].concat());
        record.extend(data);
        record
    });
    let snoop = snoop(&packets);
    [write(&packets, &[1]), ng, erf.collect(), snoop]
}

proptest! {
    #[test]
    fn pcap_round_trip(mut packets in packets()) {
        packets.iter_mut().for_each(|packet| packet.1 = 101);
        let bytes = write(&packets, &[101]);
        prop_assert_eq!(Capture::from_bytes("test", bytes.clone()).expect("good").format(), Format::Pcap);
        prop_assert_eq!(read(bytes).expect("good"), (packets, None));
    }

    #[test]
    fn pcapng_round_trip(packets in packets(), late in any::<u64>()) {
        let mut packets = packets;
        packets.push((late, 1, 0, Vec::new()));
        let bytes = write(&packets, &[1, 101, 113]);
        prop_assert_eq!(Capture::from_bytes("test", bytes.clone()).expect("good").format(), Format::PcapNg);
        prop_assert_eq!(read(bytes).expect("good"), (packets, None));
    }

    #[test]
    fn snoop_and_netmon_have_the_packets(packets in packets()) {
        let data: Vec<_> = packets.iter().map(|(_, _, wire_len, data)| (*wire_len, data.clone())).collect();
        for bytes in [snoop(&packets), netmon(&packets)] {
            let (found, damage) = read(bytes).expect("good");
            let found: Vec<_> = found.into_iter().map(|(_, link, wire_len, data)| {
                assert_eq!(link, 1);
                (wire_len, data)
            }).collect();
            prop_assert_eq!((found, damage), (data.clone(), None));
        }
    }

    #[test]
    fn compressed_is_the_same(packets in packets()) {
        for bytes in all_seeds(packets).into_iter().filter(|bytes| !bytes.is_empty()) {
            let plain = read(bytes.clone()).expect("good");
            for (packed, compression) in [(gzip(&bytes), Compression::Gzip), (zstd(&bytes),
                Compression::Zstd)] {
                let capture = Capture::from_bytes("test", packed.clone()).expect("good");
                prop_assert_eq!((capture.compression(), capture.size()), (Some(compression),
                    packed.len() as u64));
                prop_assert_eq!(&read(packed).expect("good"), &plain);
            }
        }
    }

    #[test]
    fn cut_anywhere_gives_the_packets_before(packets in packets(), at in any::<prop::sample::Index>()) {
        for bytes in seeds(packets).into_iter().filter(|bytes| !bytes.is_empty()) {
            let (whole, _) = read(bytes.clone()).expect("good");
            let end = at.index(bytes.len());
            if let Ok((packets, damage)) = read(bytes[..end].to_vec()) {
                prop_assert!(whole.starts_with(&packets));
                prop_assert!(packets.len() < whole.len() || whole.is_empty());
                let consumed = damage.map_or(end, |damage| damage.offset as usize);
                prop_assert!(consumed <= end);
                // What is left is less than the next record.
                prop_assert_eq!(read(bytes[..consumed].to_vec()).map(|(again, _)| again).ok(), Some(packets));
            }
        }
    }

    #[test]
    fn changed_bytes_do_not_panic(
        packets in packets(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        for mut bytes in all_seeds(packets).into_iter().filter(|bytes| !bytes.is_empty()) {
            let mut packed = [gzip(&bytes), zstd(&bytes)];
            for (at, value) in &changes {
                let at = |length| at.index(length);
                packed.iter_mut().for_each(|packed| { let at = at(packed.len()); packed[at] = *value; });
                let at = at(bytes.len());
                bytes[at] = *value;
            }
            let _ = read(bytes);
            packed.into_iter().for_each(|packed| { let _ = read(packed); });
        }
    }

    #[test]
    fn any_bytes_do_not_panic(
        magic in prop::sample::select(vec![
            &b""[..], b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xcd\x34", b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a",
            b"snoop\0\0\0\0\0\0\x02\0\0\0\x04", b"GMBU\x03\x02\x01\0",
            b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\0\0\0\0\0\0\0\0\x02\0",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let _ = read([magic, &rest].concat());
    }

    #[test]
    fn merged_in_order_of_time(mut files in prop::collection::vec(packets(), 0..6)) {
        files.iter_mut().for_each(|packets| packets.sort_by_key(|packet| packet.0));
        // Stable: of equal times, the file that was named first comes first.
        let mut expected = files.concat();
        expected.sort_by_key(|packet| packet.0);
        let open = |packets: &Vec<Packet>| Capture::from_bytes("test", write(packets, &[1, 101, 113]));
        let captures: Vec<Capture> = files.iter().map(|packets| open(packets).expect("good")).collect();
        let merged: Vec<Packet> = Merge::new(&captures).owned().iter()
            .enumerate()
            .map(|(index, frame)| {
                assert_eq!(frame.number, index as u64 + 1);
                (frame.time.0, frame.link.0, frame.wire_len, frame.data.to_vec())
            })
            .collect();
        prop_assert_eq!(merged, expected);
    }

    /// An independent reader of pcapng finds the same packets. It stays silent about power-of-two clocks, so
    /// the times are compared as ticks of a nanosecond, which is what the writer writes.
    #[test]
    fn pcapng_as_another_reader_sees_it(packets in packets()) {
        use pcap_parser::traits::PcapNGPacketBlock;
        let bytes = write(&packets, &[1, 101, 113]);
        let mut rest = &bytes[..];
        let mut links = Vec::new();
        let mut seen = Vec::new();
        while !rest.is_empty() {
            let (after, block) = pcap_parser::pcapng::parse_block_le(rest).expect("a good block");
            match block {
                pcap_parser::Block::InterfaceDescription(interface) => {
                    links.push(interface.linktype.0 as u16);
                }
                pcap_parser::Block::EnhancedPacket(packet) => {
                    let time = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                    let link = links[packet.if_id as usize];
                    seen.push((time, link, packet.orig_len(), packet.packet_data().to_vec()));
                }
                _ => {}
            }
            rest = after;
        }
        prop_assert_eq!(seen, packets);
    }
}

#[test]
fn a_compressed_cut_is_told_as_such() {
    let packets: Vec<Packet> =
        (0..20_000_u64).map(|n| (n, 1, 8, (n * n * n).to_le_bytes().to_vec())).collect();
    let bytes = write(&packets, &[1]);
    for packed in [gzip(&bytes), zstd(&bytes)] {
        let (read, damage) = read(packed[..packed.len() - 20].to_vec()).expect("a header");
        let message = damage.expect("damaged").to_string();
        assert!(message.contains("data end too early, at byte"), "{message}");
        assert!(packets.starts_with(&read));
    }
}

#[test]
fn files_are_named_and_sized() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("really-a-pcapng.pcap");
    let packets: Vec<Packet> = (0..10).map(|n| (n, 1, 1, vec![n as u8])).collect();
    let bytes = write(&packets, &[1, 113]);
    File::create(&path).and_then(|mut file| file.write_all(&bytes)).expect("written");
    let capture = Capture::open(&path, None).expect("good");
    assert_eq!((capture.format(), capture.compression()), (Format::PcapNg, None));
    assert_eq!((Path::new(capture.name()), capture.size()), (&*path, bytes.len() as u64));
    assert_eq!(capture.frames().owned().len(), 10);
}

//! Product as files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ringtap_handover::{IriEvent, MOST_PDU, Pdu, PduPayload, pdu_length};
use ringtap_intercept::{FilesError, ProductFiles, WrittenOrder};
use ringtap_warrant::{Delivers, Order};
use sha2::{Digest, Sha256};

use crate::accesses::two_sessions;
use crate::wire::*;

fn written(directory: &Path, orders: &[Order], batch: usize) -> Result<Vec<WrittenOrder>, FilesError> {
    two_sessions().intercepted_into(ProductFiles::new(directory), orders, batch).0.finish()
}

fn pdus(path: &Path) -> Vec<Pdu> {
    let bytes = fs::read(path).unwrap();
    let (mut rest, mut pdus) = (&bytes[..], Vec::new());
    while !rest.is_empty() {
        let length = pdu_length(rest, MOST_PDU).unwrap().unwrap();
        pdus.push(Pdu::decode(&rest[..length]).unwrap());
        rest = &rest[length..];
    }
    pdus
}

fn is_of_access(payload: &PduPayload) -> bool {
    matches!(payload, PduPayload::Iri(iri) if matches!(iri.event, IriEvent::Access(_)))
}

#[test]
fn each_order_has_its_events_content_and_frames_in_files_of_its_own() {
    for batch in [1, 3, 64] {
        let dir = tempfile::tempdir().unwrap();
        let orders = [
            order("LI-1", Delivers::Both, &["user:alice"], 0..1000),
            order("0x0001", Delivers::Iri, &["user:bob"], 0..1000),
        ];
        let written = written(dir.path(), &orders, batch).unwrap();
        let names = |order: &WrittenOrder| -> Vec<String> {
            order
                .files
                .iter()
                .map(|file| file.path.file_name().unwrap().to_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(names(&written[0]), ["0x0001.hi2", "0x0001.hi3"], "no content, no capture");
        assert_eq!(names(&written[1]), ["LI-1.hi2", "LI-1.hi3", "LI-1.pcap"]);
        for file in written.iter().flat_map(|order| &order.files) {
            let bytes = fs::read(&file.path).unwrap();
            assert_eq!(
                (bytes.len() as u64, <[u8; 32]>::from(Sha256::digest(&bytes))),
                (file.octets, file.sha256)
            );
            assert_eq!(fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        // Activated, attempt, begin, two reports, end.
        let events = pdus(&dir.path().join("LI-1.hi2"));
        assert_eq!(events.len(), 6);
        assert!(events.iter().all(|pdu| pdu.identifiers.liid.as_bytes() == b"LI-1"));
        assert!(matches!(&events[0].payload, PduPayload::Notification(_)), "{:?}", events[0].payload);
        let of_session: Vec<u32> = events
            .iter()
            .filter(|pdu| is_of_access(&pdu.payload) && pdu.number.cin.0 != 0)
            .map(|pdu| pdu.number.sequence)
            .collect();
        assert_eq!(of_session, [0, 1, 2, 3], "one session is numbered from zero");
        let content = pdus(&dir.path().join("LI-1.hi3"));
        assert_eq!(content.iter().map(|pdu| pdu.number.sequence).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let capture = fs::read(dir.path().join("LI-1.pcap")).unwrap();
        let packets: Vec<&Vec<u8>> = content
            .iter()
            .map(|pdu| match &pdu.payload {
                PduPayload::Content { packet, .. } => packet,
                other => panic!("{other:?}"),
            })
            .collect();
        // The frames of the test are the packets: each has 16 octets in front of it.
        let expected: usize = 24 + packets.iter().map(|packet| 16 + packet.len()).sum::<usize>();
        assert_eq!(capture.len(), expected, "batches of {batch}");
        let mut rest = &capture[24..];
        for packet in packets {
            assert_eq!(&rest[16..16 + packet.len()], &packet[..]);
            rest = &rest[16 + packet.len()..];
        }
    }
}

#[test]
fn nothing_that_exists_is_written_over_and_the_error_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("LI-1.hi3");
    fs::write(&path, "before").unwrap();
    let orders = [order("LI-1", Delivers::Both, &["user:alice"], 0..1000)];
    let error = written(dir.path(), &orders, 3).unwrap_err().to_string();
    assert!(error.contains("LI-1.hi3"), "{error}");
    assert_eq!(fs::read_to_string(path).unwrap(), "before");
}

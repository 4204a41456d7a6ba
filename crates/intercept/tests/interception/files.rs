//! Product as files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ringtap_handover::{IriEvent, MOST_PDU, Pdu, PduPayload, pdu_length};
use ringtap_intercept::{CheckedProduct, FilesError, ProductFiles, WrittenOrder, check_product};
use ringtap_model::Nanos;
use ringtap_warrant::{Delivers, Order, Register, RegisterKey};
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

/// Product of live traffic, of two services one after the other, with so many sets of files each.
struct Signed {
    dir: tempfile::TempDir,
    register: Register,
}

impl Signed {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let key = RegisterKey::make(&dir.path().join("key")).unwrap();
        let at = Nanos::from_secs(1);
        let register =
            Register::create(&dir.path().join("register"), &key, "ana", "correct horse battery", at);
        fs::create_dir(dir.path().join("product")).unwrap();
        Self { dir, register: register.unwrap() }
    }

    fn product(&self) -> PathBuf {
        self.dir.path().join("product")
    }

    /// A service that finishes so many sets of files, and leaves one more as a kill does.
    fn serve(&self, sets: usize) {
        let mut files = ProductFiles::live(&self.product(), self.register.product_signer());
        for set in 0..=sets {
            let orders = [order("LI-1", Delivers::Both, &["user:alice"], 0..1000)];
            files = two_sessions().intercepted_into(files, &orders, 3).0;
            files.sync();
            if set < sets {
                files.rotate();
            }
        }
    }

    fn checked(&self) -> CheckedProduct {
        check_product(&self.product(), &self.register.public_key()).unwrap()
    }

    fn flaws(&self) -> Vec<String> {
        self.checked().orders.into_iter().flat_map(|order| order.flaws).collect()
    }
}

#[test]
fn finished_files_are_signed_in_a_chain_which_goes_on_over_a_kill() {
    let signed = Signed::new();
    signed.serve(2);
    let checked = signed.checked();
    let [of_order] = &checked.orders[..] else { panic!("{checked:?}") };
    assert_eq!((of_order.flaws.len(), of_order.files, of_order.recovered), (0, 6, 0), "{checked:?}");
    assert_eq!(of_order.head.as_ref().unwrap().number, 2);
    assert_eq!(checked.unfinished.len(), 1, "{checked:?}");
    // A kill in the middle of a manifest leaves a part of it under another name.
    fs::write(signed.product().join("LI-1-2.manifest.new"), "ringtap prod").unwrap();
    signed.serve(1);
    let checked = signed.checked();
    let of_order = &checked.orders[0];
    assert_eq!((&of_order.flaws[..], of_order.files, of_order.recovered), (&[][..], 12, 1), "{checked:?}");
    assert_eq!((of_order.first, of_order.head.as_ref().unwrap().number), (1, 4));
    // What was handed over is removed: the chain goes on behind it.
    for path in files_of(&signed.product(), "manifest") {
        for ending in ["manifest", "hi2", "hi3", "pcap"] {
            fs::remove_file(path.with_extension(ending)).unwrap();
        }
    }
    signed.serve(1);
    let checked = signed.checked();
    let of_order = &checked.orders[0];
    assert_eq!((&of_order.flaws[..], of_order.first), (&[][..], 5), "{checked:?}");
    assert_eq!(of_order.head.as_ref().unwrap().number, 6);
}

#[test]
fn whatever_is_done_to_signed_files_is_found() {
    let signed = Signed::new();
    signed.serve(3);
    let product = signed.product();
    let manifests = files_of(&product, "manifest");
    let second = &manifests[1];
    let whole = fs::read(second).unwrap();
    for place in (0..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[place] ^= 1;
        fs::write(second, changed).unwrap();
        assert!(!signed.flaws().is_empty(), "octet {place} of a manifest");
    }
    fs::remove_file(second).unwrap();
    assert_eq!(signed.flaws(), ["manifest 2 is missing"]);
    fs::copy(&manifests[0], second).unwrap();
    assert!(signed.flaws().iter().any(|flaw| flaw.contains("another one with its number")));
    fs::write(second, &whole).unwrap();
    assert!(signed.flaws().is_empty());
    for ending in ["hi2", "hi3", "pcap"] {
        let path = second.with_extension(ending);
        let bytes = fs::read(&path).unwrap();
        let mut changed = bytes.clone();
        *changed.last_mut().unwrap() ^= 1;
        for wrong in [changed, bytes[..bytes.len() - 1].to_vec()] {
            fs::write(&path, wrong).unwrap();
            assert!(signed.flaws()[0].contains("it is not what was signed"), "{ending}");
        }
        fs::remove_file(&path).unwrap();
        assert!(signed.flaws()[0].ends_with("it is missing"), "{ending}");
        fs::write(&path, bytes).unwrap();
    }
    let other = RegisterKey::make(&signed.dir.path().join("other")).unwrap();
    let at = Nanos::from_secs(1);
    let other =
        Register::create(&signed.dir.path().join("another"), &other, "ana", "correct horse battery", at);
    let by_another = check_product(&product, &other.unwrap().public_key()).unwrap();
    assert_eq!(by_another.orders[0].flaws.len(), 3, "{by_another:?}");
}

/// What a head says is not signed: who writes another one breaks the chain, and nothing else.
#[test]
fn a_forged_head_is_found_and_stops_nothing() {
    let signed = Signed::new();
    signed.serve(1);
    fs::write(signed.product().join("LI-1.head"), format!("{}:{}\n", u64::MAX, "0".repeat(64))).unwrap();
    signed.serve(1);
    let flaws = signed.flaws();
    assert!(flaws.iter().any(|flaw| flaw.contains("are missing")), "{flaws:?}");
}

fn files_of(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|own| own == ending)).collect();
    paths.sort();
    paths
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

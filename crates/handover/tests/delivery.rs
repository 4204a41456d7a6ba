//! Delivery to mediation functions that close, are silent, send garbage or are away: nothing is lost,
//! nothing is doubled with other octets, and the numbers are exact.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod common;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use common::function::{Arrived, Behaviour, Function, assert_complete, numbers};
use common::{identifiers, nanos};
use ringtap_handover::{
    BufferKey, Cin, Content, ContentKind, Delivery, Direction, Handover, HandoverError, Iri, IriEvent,
    IriKind, Liid, LinkStatus, LossCause, MediationFunction, Notification, NotificationKind, Pace,
    PduPayload, Peer, Product, Sent, Settings, SipIri, TimeFormat, Warrant, WarrantKey,
};

/// Much shorter waits than in service. None of them decides what a test expects: a connection that is
/// given up too early, as this machine is slow, is made again.
fn pace() -> Pace {
    Pace {
        keep_alive: Duration::from_millis(500),
        // A machine with other work answers late, and is not silent.
        wait: Duration::from_secs(2),
        confirm: Duration::from_millis(5),
        window: 64 << 10,
        retry: Duration::from_millis(1),
        longest_retry: Duration::from_millis(20),
    }
}

fn settings(directory: &Path, address: SocketAddr) -> Settings {
    let peer = Some(Peer { address, tls: None });
    let function = MediationFunction {
        name: "agency".into(),
        hi2: peer.clone(),
        hi3: peer,
        format: TimeFormat::MicroSeconds,
        pace: pace(),
        keep_alive: common::keep_alive_identifiers(),
    };
    Settings {
        functions: vec![function],
        directory: directory.to_owned(),
        key: BufferKey::new([7; 32]),
        most_unwritten: 64 << 20,
        alarms: Duration::from_millis(20),
    }
}

/// The same without HI2, so that one connection is all.
fn content_only(directory: &Path, address: SocketAddr) -> Settings {
    let mut settings = settings(directory, address);
    settings.functions[0].hi2 = None;
    settings
}

fn liid(text: &str) -> Liid {
    Liid::from_text(text).unwrap()
}

fn open(delivery: &Delivery, name: &str, most_waiting: u64) -> WarrantKey {
    let mut ids = identifiers();
    ids.liid = liid(name);
    delivery.open("agency", &Warrant { identifiers: ids, key: None, most_waiting }).unwrap()
}

fn send_packet(delivery: &Delivery, warrant: WarrantKey, cin: u32, number: usize, length: usize) -> Sent {
    let mut packet = vec![number as u8; length];
    packet[..8].copy_from_slice(&(number as u64).to_be_bytes());
    let content =
        Content { at: nanos(), direction: Direction::FromTarget, kind: ContentKind::RTP, packet: &packet };
    delivery.send(warrant, Cin(cin), Product::Content(&content))
}

fn hi3(status: &[LinkStatus]) -> &LinkStatus {
    status.iter().find(|link| link.handover == Handover::Hi3).unwrap()
}

const PLENTY: u64 = 1 << 30;
const GRACE: Duration = Duration::from_secs(120);

#[test]
fn everything_arrives_with_exact_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let (listener, address) = Function::listener();
    let hi3_listener = Function::listener();
    let function = Function::start(listener, vec![]);
    let content_function = Function::start(hi3_listener.0, vec![]);
    let mut settings = settings(directory.path(), address);
    settings.functions[0].hi3 = Some(Peer { address: hi3_listener.1, tls: None });
    let delivery = Delivery::start(&settings).unwrap();
    let warrants = [open(&delivery, "A", PLENTY), open(&delivery, "B", PLENTY)];
    for (number, warrant) in warrants.into_iter().enumerate() {
        let told = Notification { kind: NotificationKind::Activated, at: nanos(), text: None };
        assert!(matches!(delivery.send(warrant, Cin(0), Product::Notification(&told)), Sent::Accepted(_)));
        for at in 0..3_000 {
            let cin = 1 + (at % 3) as u32;
            assert!(matches!(send_packet(&delivery, warrant, cin, at, 200), Sent::Accepted(_)));
            if at % 100 == 0 {
                let sip = SipIri {
                    source: "192.0.2.1".parse().unwrap(),
                    destination: "192.0.2.2".parse().unwrap(),
                    message: vec![number as u8; 300],
                };
                let iri = Iri { kind: IriKind::Continue, at: nanos(), event: IriEvent::Sip(sip) };
                assert!(matches!(delivery.send(warrant, Cin(1), Product::Iri(&iri)), Sent::Accepted(_)));
            }
        }
    }
    assert!(delivery.stop(GRACE), "everything arrived");
    let content = content_function.arrived();
    let cins = [("A", 1), ("A", 2), ("A", 3), ("B", 1), ("B", 2), ("B", 3)];
    assert_complete(&content, &cins.map(|(name, cin)| ((liid(name), Cin(cin)), 1_000)));
    assert!(content.iter().all(|one| matches!(one.pdu.payload, PduPayload::Content { .. })));
    let related = function.arrived();
    assert_complete(
        &related,
        &[
            ((liid("A"), Cin(0)), 1),
            ((liid("A"), Cin(1)), 30),
            ((liid("B"), Cin(0)), 1),
            ((liid("B"), Cin(1)), 30),
        ],
    );
    // Nothing is left on the disk but the newest file of each link.
    for interface in ["hi2", "hi3"] {
        let files = std::fs::read_dir(directory.path().join("agency").join(interface)).unwrap();
        let products = files
            .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "product"));
        assert_eq!(products.count(), 1);
    }
}

/// Delivers packets to a function that treats its first connections like this; returns what arrived and
/// the counts.
fn deliver_to(behaviours: Vec<Behaviour>, packets: usize, length: usize) -> (Vec<Arrived>, LinkStatus) {
    deliver_at(pace(), behaviours, packets, length)
}

fn deliver_at(
    pace: Pace,
    behaviours: Vec<Behaviour>,
    packets: usize,
    length: usize,
) -> (Vec<Arrived>, LinkStatus) {
    let directory = tempfile::tempdir().unwrap();
    let (listener, address) = Function::listener();
    let function = Function::start(listener, behaviours);
    let mut settings = content_only(directory.path(), address);
    settings.functions[0].pace = pace;
    let delivery = Delivery::start(&settings).unwrap();
    let warrant = open(&delivery, "A", PLENTY);
    for number in 0..packets {
        assert!(matches!(send_packet(&delivery, warrant, 1, number, length), Sent::Accepted(_)));
    }
    let mut status = delivery.status();
    while hi3(&status).arrived < packets as u64 {
        std::thread::sleep(Duration::from_millis(5));
        status = delivery.status();
    }
    assert!(delivery.stop(GRACE));
    let arrived = function.arrived();
    assert_complete(&arrived, &[((liid("A"), Cin(1)), packets as u32)]);
    (arrived, hi3(&status).clone())
}

#[test]
fn what_was_not_confirmed_comes_again_with_the_same_numbers() {
    let closing = |after| Behaviour { answers: false, closes_after: Some(after), ..Behaviour::GOOD };
    // Fewer than there is room for in the window: a function that waits for more is silent.
    let behaviours = vec![closing(0), closing(1), closing(7), closing(50), closing(100)];
    let patient = Pace { wait: Duration::from_secs(60), ..pace() };
    let (arrived, status) = deliver_at(patient, behaviours, 2_000, 300);
    assert!(arrived.len() > 2_000 + 7, "those connections confirmed nothing: {}", arrived.len());
    assert!(status.counts.closed >= 5 && status.counts.resent > 0, "{:?}", status.counts);
}

#[test]
fn a_function_that_never_answers_is_left() {
    let silent = Behaviour { answers: false, ..Behaviour::GOOD };
    let (_, status) = deliver_to(vec![silent, silent], 100, 300);
    assert!(status.counts.silent >= 2, "{:?}", status.counts);
}

#[test]
fn a_function_that_never_reads_is_left() {
    let deaf = Behaviour { reads_nothing: true, ..Behaviour::GOOD };
    let (_, status) = deliver_to(vec![deaf], 2_000, 1_400);
    assert!(status.counts.silent >= 1, "{:?}", status.counts);
}

#[test]
fn a_function_that_sends_garbage_is_left() {
    let says = |octets| Behaviour { says: Some(octets), answers: false, ..Behaviour::GOOD };
    let endless = &[0x30, 0x84, 0x7f, 0xff, 0xff, 0xff];
    let behaviours = vec![says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), says(endless)];
    // So long that the garbage is always what ends a connection.
    let pace = Pace { wait: Duration::from_secs(60), ..pace() };
    let (_, status) = deliver_at(pace, behaviours, 100, 300);
    assert!(status.counts.garbage >= 2, "{:?}", status.counts);
}

#[test]
fn a_full_buffer_loses_exactly_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    // It listens, and does not accept: the connection is there, and nothing is confirmed.
    let (listener, address) = Function::listener();
    let hi2_listener = Function::listener();
    let mut settings = settings(directory.path(), address);
    settings.functions[0].hi2 = Some(Peer { address: hi2_listener.1, tls: None });
    let delivery = Delivery::start(&settings).unwrap();
    let (full, other) = (open(&delivery, "FULL", 20_000), open(&delivery, "OTHER", PLENTY));
    let mut accepted = Vec::new();
    let mut lost = 0;
    for number in 0..500 {
        match send_packet(&delivery, full, 1, number, 100) {
            Sent::Accepted(_) => accepted.push(number as u32),
            Sent::Lost(LossCause::Full) => lost += 1,
            outcome => panic!("{outcome:?}"),
        }
        assert!(matches!(send_packet(&delivery, other, 1, number, 100), Sent::Accepted(_)));
    }
    assert!(lost > 0 && accepted.len() + lost == 500);
    let status = delivery.status();
    let losses = |name| hi3(&status).losses.iter().find(|(one, _)| *one == liid(name)).unwrap().1;
    assert_eq!((losses("FULL").full, losses("FULL").total()), (lost as u64, lost as u64));
    assert_eq!(losses("OTHER").total(), 0);

    let function = Function::start(listener, vec![]);
    let related = Function::start(hi2_listener.0, vec![]);
    // The alarms tell of all losses, and only of them.
    let told = |arrived: &[Arrived]| {
        let mut sum = 0;
        let mut seen = std::collections::BTreeSet::new();
        for one in arrived {
            let PduPayload::Notification(alarm) = &one.pdu.payload else { continue };
            if seen.insert(one.pdu.number.sequence) {
                assert_eq!((alarm.kind, one.pdu.identifiers.liid), (NotificationKind::Alarm, liid("FULL")));
                let text = alarm.text.as_deref().unwrap();
                let count = text
                    .strip_prefix("PDUs lost on HI3: ")
                    .and_then(|text| text.strip_suffix(" buffer full"));
                sum += count.unwrap_or_else(|| panic!("{text}")).parse::<usize>().unwrap();
            }
        }
        sum
    };
    related.wait(|arrived| told(arrived) >= lost);
    assert!(delivery.stop(GRACE));
    assert_eq!(told(&related.arrived()), lost);
    let found = numbers(&function.arrived());
    assert_eq!(found[&(liid("FULL"), Cin(1))], accepted, "the gap is what was lost");
    assert_eq!(found[&(liid("OTHER"), Cin(1))].len(), 500);
}

#[test]
fn what_waits_is_delivered_after_a_restart_and_numbers_go_on() {
    let directory = tempfile::tempdir().unwrap();
    // It listens, and does not accept.
    let (_away, address) = Function::listener();
    for start in 0..3 {
        let delivery = Delivery::start(&content_only(directory.path(), address)).unwrap();
        let warrant = open(&delivery, "A", PLENTY);
        let mut receipt = None;
        for number in 0..100 {
            if let Sent::Accepted(kept) = send_packet(&delivery, warrant, 1, start * 100 + number, 100) {
                receipt = Some(kept);
            }
        }
        assert!(delivery.wait_kept(receipt.unwrap(), GRACE));
        assert!(!delivery.stop(Duration::ZERO), "nobody confirms");
    }
    let (listener, address) = Function::listener();
    let function = Function::start(listener, vec![]);
    let delivery = Delivery::start(&content_only(directory.path(), address)).unwrap();
    function.wait(|arrived| {
        numbers(arrived).get(&(liid("A"), Cin(1))).is_some_and(|numbers| numbers.len() == 300)
    });
    assert!(delivery.stop(GRACE));
    assert_complete(&function.arrived(), &[((liid("A"), Cin(1)), 300)]);
}

#[test]
fn with_another_key_nothing_is_read_and_numbers_start_anew() {
    let directory = tempfile::tempdir().unwrap();
    let (listener, address) = Function::listener();
    let mut settings = content_only(directory.path(), address);
    let delivery = Delivery::start(&settings).unwrap();
    let warrant = open(&delivery, "SECRET-LIID", PLENTY);
    let Sent::Accepted(receipt) = send_packet(&delivery, warrant, 1, 0, 100) else { panic!("accepted") };
    assert!(delivery.wait_kept(receipt, GRACE));
    drop(delivery);
    let path = directory.path().join("agency/hi3/00000000000000000000.product");
    let octets = std::fs::read(&path).unwrap();
    assert!(!octets.windows(11).any(|window| window == b"SECRET-LIID"), "the file is sealed");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    settings.key = BufferKey::new([8; 32]);
    let function = Function::start(listener, vec![]);
    let delivery = Delivery::start(&settings).unwrap();
    let warrant = open(&delivery, "SECRET-LIID", PLENTY);
    send_packet(&delivery, warrant, 1, 1, 100);
    let arrived = function.wait(|arrived| !arrived.is_empty());
    assert_eq!(arrived[0].pdu.number.sequence, 0);
}

#[test]
fn a_buffer_belongs_to_one_process_and_a_warrant_is_open_once() {
    let directory = tempfile::tempdir().unwrap();
    let (_listener, address) = Function::listener();
    let settings = settings(directory.path(), address);
    let delivery = Delivery::start(&settings).unwrap();
    assert!(matches!(Delivery::start(&settings), Err(HandoverError::Buffer { .. })));
    let warrant = open(&delivery, "A", PLENTY);
    let again = Warrant {
        identifiers: {
            let mut ids = identifiers();
            ids.liid = liid("A");
            ids
        },
        key: None,
        most_waiting: 1,
    };
    assert!(matches!(delivery.open("agency", &again), Err(HandoverError::Warrant(_))));
    assert!(matches!(delivery.open("nobody", &again), Err(HandoverError::NoFunction(_))));
    delivery.close(warrant);
    assert!(delivery.open("agency", &again).is_ok());
}

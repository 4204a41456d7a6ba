//! A delivery that is killed loses nothing that it acknowledged, and its numbers have no gap.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::function::{Arrived, Behaviour, Function, assert_complete, numbers};
use common::{identifiers, nanos};
use ringtap_handover::{
    BufferKey, Cin, Content, ContentKind, Delivery, Direction, Liid, MediationFunction, Pace, PduPayload,
    Peer, Product, Sent, Settings, TimeFormat, Warrant,
};

const CHILD: &str = "RINGTAP_HANDOVER_CHILD";
const ADDRESS: &str = "RINGTAP_HANDOVER_ADDRESS";
const FIRST: &str = "RINGTAP_HANDOVER_FIRST";

fn settings(directory: &Path, address: SocketAddr) -> Settings {
    let pace = Pace {
        confirm: Duration::from_millis(2),
        window: 32 << 10,
        retry: Duration::from_millis(1),
        longest_retry: Duration::from_millis(20),
        ..Pace::default()
    };
    let function = MediationFunction {
        name: "agency".into(),
        hi2: None,
        hi3: Some(Peer { address, tls: None }),
        format: TimeFormat::MicroSeconds,
        pace,
        keep_alive: common::keep_alive_identifiers(),
    };
    Settings {
        functions: vec![function],
        directory: directory.to_owned(),
        key: BufferKey::new([7; 32]),
        most_unwritten: 64 << 20,
        alarms: Duration::from_secs(1),
    }
}

fn warrant() -> Warrant {
    Warrant { identifiers: identifiers(), key: None, most_waiting: 1 << 40 }
}

/// The child: delivers packets without end, each with its place in its first octets, and says which are
/// acknowledged.
#[test]
#[ignore = "started by `nothing_acknowledged_is_lost`"]
fn child() {
    let directory = std::env::var_os(CHILD).expect("a directory from `nothing_acknowledged_is_lost`");
    let address = std::env::var(ADDRESS).unwrap().parse().unwrap();
    let first: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let delivery = Delivery::start(&settings(Path::new(&directory), address)).unwrap();
    let warrant = delivery.open("agency", &warrant()).unwrap();
    for number in first.. {
        let mut packet = [0; 300];
        packet[..8].copy_from_slice(&number.to_be_bytes());
        let kind = ContentKind::IpPacket;
        let content = Content { at: nanos(), direction: Direction::FromTarget, kind, packet: &packet };
        let Sent::Accepted(receipt) =
            delivery.send(warrant, Cin((number % 2) as u32), Product::Content(&content))
        else {
            panic!("there is room");
        };
        if number % 17 == 0 {
            assert!(delivery.wait_kept(receipt, Duration::from_secs(120)));
            println!("kept {}", number + 1);
            std::io::stdout().flush().unwrap();
        }
    }
}

/// Kills the child with SIGKILL after it acknowledged so often; returns how many packets it had acknowledged.
fn kill_after(directory: &Path, address: SocketAddr, first: u64, acknowledged: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(CHILD, directory)
        .env(ADDRESS, address.to_string())
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut kept = lines.filter_map(|line| line.split_once("kept ")?.1.trim().parse::<u64>().ok());
    let last = kept.nth(acknowledged - 1);
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said before the signal reached it counts too.
    kept.last().or(last).unwrap()
}

fn places(arrived: &[Arrived]) -> std::collections::BTreeSet<u64> {
    let place = |one: &Arrived| match &one.pdu.payload {
        PduPayload::Content { packet, .. } => u64::from_be_bytes(*packet.first_chunk().unwrap()),
        other => panic!("{other:?}"),
    };
    arrived.iter().map(place).collect()
}

#[test]
fn nothing_acknowledged_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let (listener, address) = Function::listener();
    // The function closes in the middle now and then, so that a kill falls into every state.
    let closing = |after| Behaviour { closes_after: Some(after), ..Behaviour::GOOD };
    let function = Function::start(listener, vec![closing(50), Behaviour::GOOD, closing(3), closing(400)]);
    let mut acknowledged = Vec::new();
    let mut first = 0;
    for times in [1, 3, 20, 60, 7] {
        let kept = kill_after(directory.path(), address, first, times);
        acknowledged.push(first..kept);
        // The next child's packets are told apart, and keep to the two CINs.
        first += 1_000_000;
    }
    let delivery = Delivery::start(&settings(directory.path(), address)).unwrap();
    let acknowledged: std::collections::BTreeSet<u64> = acknowledged.into_iter().flatten().collect();
    function.wait(|arrived| places(arrived).is_superset(&acknowledged));
    assert!(delivery.stop(Duration::from_secs(120)));

    let arrived = function.arrived();
    assert!(places(&arrived).is_superset(&acknowledged));
    // The numbers of both CINs are whole, whatever was sent twice, and the same number never had other
    // octets.
    let key = |cin| (identifiers().liid, Cin(cin));
    let counts = numbers(&arrived);
    let expected = [0, 1].map(|cin| (key(cin), counts[&key(cin)].len() as u32));
    assert_complete(&arrived, &expected);
    assert!(arrived.iter().all(|one| one.pdu.identifiers.liid == Liid::from_text("LI-17").unwrap()));
}

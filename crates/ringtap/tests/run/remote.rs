//! A probe, a sniffer that it tells whose packets are whose, and kills of both. Users' packets pass on one
//! interface, and RADIUS on another one; the probe of these tests sees both, so that what it gives itself
//! says what the sniffer has to give.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use ringtap_handover::{Pdu, PduPayload};
use serde_json::Value;

use crate::daemon::Place;
use crate::intercepted::{configure, inject_on, packet, product, radius_packet, report, started};
use crate::officers::Officers;
use crate::wire::{assert_inside, inside};

/// The probe of a test and its sniffer, each in a folder of its own.
struct Pair {
    officers: Officers,
    probe: Place,
    sniffer: Place,
}

const BOTH: &str = "interfaces = [\"va\", \"vc\"]\ndirection = \"incoming\"";
const USERS: &str = "interfaces = [\"vc\"]\ndirection = \"incoming\"";
const ADDRESS: &str = "127.0.0.1:9443";

impl Pair {
    fn new(dir: &Path) -> Self {
        let (probe_dir, sniffer_dir) = (dir.join("probe"), dir.join("sniffer"));
        [&probe_dir, &sniffer_dir].into_iter().for_each(|dir| fs::create_dir(dir).unwrap());
        let officers = Officers::new(&probe_dir);
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let certify = |dir: &Path, name: &str| {
            let key = KeyPair::generate().unwrap();
            let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap();
            let certificate = certificate.signed_by(&key, &authority).unwrap();
            fs::write(dir.join("authorities.pem"), authority.pem()).unwrap();
            fs::write(dir.join("own.pem"), certificate.pem()).unwrap();
            private(&dir.join("own.key"), &key.serialize_pem());
            format!(
                "authorities = \"{0}/authorities.pem\"\ncertificate = \"{0}/own.pem\"\n\
                 certificate_key = \"{0}/own.key\"\n",
                dir.display()
            )
        };
        let listens = format!("listen = \"{ADDRESS}\"\nsniffers = [\"east.example.org\"]\n");
        let of_probe = certify(&probe_dir, "probe.example.org");
        let probe = configure(
            &probe_dir,
            &officers,
            BOTH,
            &format!("{listens}{of_probe}ring = \"16MiB\"\n[radius]\nfollow = true"),
        );
        let of_sniffer = certify(&sniffer_dir, "east.example.org");
        let sniffer = configure(&sniffer_dir, &officers, USERS, &format!("{of_sniffer}ring = \"16MiB\""));
        let path = sniffer_dir.join("ringtap.toml");
        let key = sniffer_dir.join("product.key");
        private(&key, &"5a".repeat(32));
        let own = format!(
            "[intercept]\nprobe = \"{ADDRESS}\"\nprobe_name = \"probe.example.org\"\npoint = \"EAST\"\n\
             key = \"{}\"\n",
            key.display()
        );
        let text = fs::read_to_string(&path).unwrap().replace(&officers.section(), &own);
        fs::write(&path, text).unwrap();
        Self { officers, probe, sniffer }
    }

    fn show(&self) -> String {
        let product = self.probe.dir.join("product");
        self.officers.act(&["show", "1", "--why", "a test", "--product", product.to_str().unwrap()])
    }
}

/// A file for its owner alone.
fn private(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A RADIUS packet of bob's NAS, or the answer to it, on the wire of the probe.
fn radius(is_answer: bool, is_accounting: bool, (code, id): (u8, u8), attributes: &[&[u8]]) {
    let port = if is_accounting { 1813 } else { 1812 };
    let (nas, server) = (format!("192.0.2.1:{port}"), format!("192.0.2.9:{port}"));
    let (src, dst) = if is_answer { (server, nas) } else { (nas, server) };
    inject_on("vb", std::iter::once(packet(&src, &dst, &radius_packet(code, id, attributes))));
}

const BOB: &[u8] = b"\x01\x05bob";
const HIS: &[u8] = b"\x08\x06\xcb\x00\x71\x07";
const ALICE: &[u8] = b"\x01\x07alice";

/// Somebody logs on, and has bob's address.
fn log_on(user: &[u8], id: u8) {
    radius(false, false, (1, id), &[user]);
    radius(true, false, (2, id), &[HIS]);
    report_start(user, id);
}

fn report_start(user: &[u8], id: u8) {
    radius(false, true, (4, id), &[user, HIS, &[44, 3, b'a' + id], &[40, 6, 0, 0, 0, 1]]);
}

fn log_off(user: &[u8], id: u8) {
    radius(false, true, (4, id + 100), &[user, HIS, &[44, 3, b'a' + id], &[40, 6, 0, 0, 0, 2]]);
}

/// Sends so many packets of bob's address, and as many of another one, numbered on.
fn users(from: &mut u32, count: u32) {
    let numbers = *from..*from + count;
    *from = numbers.end;
    send_users(numbers);
}

/// Sends a packet of bob's address and one of another one for each number.
fn send_users(numbers: impl Iterator<Item = u32>) {
    let pair = |number: u32| {
        ["203.0.113.7:4000", "203.0.113.8:4000"]
            .map(|src| packet(src, "198.51.100.1:6000", &number.to_be_bytes()))
    };
    inject_on("vd", numbers.flat_map(pair));
}

/// Logs on and off while the users' packets pass. What passes in between is counted, not timed: on a busy
/// machine they pass slowly.
fn change_while_users_send() {
    let (sent, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let going_on = (0..20_000).take_while(|_| !is_over.load(Relaxed));
            send_users(going_on.inspect(|number| sent.store(number + 1, Relaxed)));
        });
        let pass = |count: u32| {
            let due = sent.load(Relaxed) + count;
            while sent.load(Relaxed) < due {
                assert!(!sender.is_finished(), "no more packets of users");
                thread::sleep(Duration::from_millis(5));
            }
        };
        for round in 0..8 {
            pass(80);
            log_on(BOB, 2 * round + 1);
            pass(80);
            if round % 2 == 0 {
                log_off(BOB, 2 * round + 1);
                pass(25);
            }
            // Somebody else has the address next.
            log_on(ALICE, 2 * round + 2);
        }
        pass(80);
        is_over.store(true, Relaxed);
    });
}

/// Numbers of the packets that are in content, in order.
fn numbers(given: &[Pdu]) -> Vec<u32> {
    let number = |pdu: &Pdu| match &pdu.payload {
        PduPayload::Content { packet, .. } => packet.last_chunk().map(|end| u32::from_be_bytes(*end)),
        _ => None,
    };
    let mut numbers: Vec<u32> = given.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

/// What it says of the sniffer to officers.
fn sniffer(dir: &Path) -> Value {
    report(dir)["sniffers"][0].clone()
}

/// Times, identities and octets of content, in order.
fn contents(dir: &Path) -> Vec<(Option<ringtap_model::Nanos>, u32, Vec<u8>)> {
    let of = |pdu: Pdu| match pdu.payload {
        PduPayload::Content { packet, .. } => Some((pdu.at, pdu.number.cin.0, packet.to_vec())),
        _ => None,
    };
    let mut all: Vec<_> = product(dir).into_iter().filter_map(of).collect();
    all.sort();
    all
}

#[test]
fn a_sniffer_gives_what_the_probe_would() {
    inside("remote::inside_same");
}

/// Sessions begin and end while the users' packets pass: to the packet, the sniffer gives what the probe
/// does, which sees the same packets itself.
#[test]
#[ignore = "started in a network namespace by `a_sniffer_gives_what_the_probe_would`"]
fn inside_same() {
    assert_inside();
    let folder = tempfile::tempdir().unwrap();
    let mut pair = Pair::new(folder.path());
    let (probe_dir, sniffer_dir) = (pair.probe.dir.clone(), pair.sniffer.dir.clone());
    let number = pair.officers.enter("LI-QUAGGA", "user:bob", "");
    pair.officers.approve(number);
    let (mut probe, mut daemon) = (started(&mut pair.probe), started(&mut pair.sniffer));
    probe.until("the sniffer has all", |_| sniffer(&probe_dir)["report"]["orders"][0]["liid"] == "LI-QUAGGA");
    change_while_users_send();
    probe.until("both have followed all", |_| {
        let (own, told) = (&report(&probe_dir)["orders"][0]["packets"], sniffer(&probe_dir));
        own.as_u64() > Some(500) && told["report"]["orders"][0]["packets"] == *own
    });
    let status = sniffer(&probe_dir);
    assert!(status["unconfirmed"] == 0 && status["restarts"] == 1, "{status}");
    // Known as targets half a second later, their packets are wanted at once: how soon, benchmarks tell.
    assert!(status["report"]["activations"].as_u64() >= Some(1), "{status}");
    assert!(report(&probe_dir)["activations"].as_u64() >= Some(1), "{}", report(&probe_dir));
    let shown = pair.show();
    assert!(
        shown.contains("east.example.org: connected") && shown.contains("east.example.org: 0 events"),
        "{shown}"
    );
    pair.officers.act(&["withdraw", "1", "--reason", "lifted"]);
    probe.until("it has ended", |_| {
        let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        is_empty(&report(&probe_dir)["orders"]) && is_empty(&sniffer(&probe_dir)["report"]["orders"])
    });
    let acts = pair.officers.act(&["acts", "--why", "a test", "--format", "jsonl"]);
    assert!(acts.contains("stopped by ringtap run on east.example.org"), "{acts}");
    for daemon in [&mut daemon, &mut probe] {
        daemon.signal("TERM");
    }
    for daemon in [daemon, probe] {
        let (status, log) = daemon.end();
        assert_eq!(status, Some(0), "{log}");
        assert!(!log.contains("QUAGGA") && !log.contains("bob") && !log.contains("203.0.113"), "{log}");
    }
    let (given, expected) = (contents(&sniffer_dir.join("product")), contents(&probe_dir.join("product")));
    assert!(given == expected && given.len() > 500, "{} and {}", given.len(), expected.len());
    let events = |dir: &Path| {
        let is_event = |pdu: &Pdu| matches!(pdu.payload, PduPayload::Iri(_));
        product(&dir.join("product")).iter().filter(|pdu| is_event(pdu)).count()
    };
    assert!(events(&probe_dir) >= 16 && events(&sniffer_dir) == 0, "the probe tells of sessions");
    let points: BTreeSet<_> = product(&sniffer_dir.join("product"))
        .iter()
        .map(|pdu| pdu.identifiers.point.map(|point| point.as_bytes().to_vec()))
        .collect();
    assert_eq!(points, BTreeSet::from([Some(b"EAST".to_vec())]));
    verify(&pair, &sniffer_dir, &status);
}

/// The files of a sniffer are signed by a key of its own, which the probe tells officers.
fn verify(pair: &Pair, sniffer_dir: &Path, status: &Value) {
    let key = status["report"]["public_key"].as_str().unwrap().to_owned();
    let product: PathBuf = sniffer_dir.join("product");
    let verified = pair.officers.act(&["verify-product", product.to_str().unwrap(), "--key", &key]);
    assert!(verified.contains("as they were signed"), "{verified}");
}

#[test]
fn neither_a_killed_probe_nor_a_killed_sniffer_gives_what_is_somebody_elses() {
    inside("remote::inside_kills");
}

/// While the probe is away, the sniffer's packets wait. What it was not told then counts afterwards.
#[test]
#[ignore = "started in a network namespace by `neither_a_killed_probe_nor_a_killed_sniffer_...`"]
fn inside_kills() {
    assert_inside();
    let folder = tempfile::tempdir().unwrap();
    let mut pair = Pair::new(folder.path());
    let (probe_dir, sniffer_dir) = (pair.probe.dir.clone(), pair.sniffer.dir.clone());
    let number = pair.officers.enter("LI-QUAGGA", "user:bob", "");
    pair.officers.approve(number);
    let (mut probe, mut daemon) = (started(&mut pair.probe), started(&mut pair.sniffer));
    probe.until("the sniffer has all", |_| sniffer(&probe_dir)["report"]["orders"][0]["liid"] == "LI-QUAGGA");
    let given = |dir: &Path| numbers(&product(&dir.join("product")));
    let mut next = 0;
    log_on(BOB, 1);
    users(&mut next, 100);
    probe.until("they are given", |_| given(&sniffer_dir).len() == 100);
    // The probe is away; the session goes on.
    let records = probe_dir.join("records");
    let known = || {
        let mut identity = std::process::Command::new(env!("CARGO_BIN_EXE_ringtap"));
        identity.args(["identity", "203.0.113.7", "--store"]).arg(&records).output().unwrap().status.success()
    };
    probe.until("the session is stored", |_| known());
    probe.signal("KILL");
    probe.ends();
    users(&mut next, 100);
    thread::sleep(Duration::from_secs(2));
    assert_eq!(given(&sniffer_dir).len(), 100, "nobody vouches for these");
    let mut probe = started(&mut pair.probe);
    probe.until("what waited is given", |_| given(&sniffer_dir).len() == 200);
    assert_eq!(given(&sniffer_dir), (0..200).collect::<Vec<u32>>());
    // The probe is away, and alice gets the address: nothing of hers is bob's, whenever it is known.
    probe.signal("STOP");
    log_off(BOB, 1);
    log_on(ALICE, 2);
    users(&mut next, 100);
    thread::sleep(Duration::from_secs(2));
    probe.signal("CONT");
    log_off(ALICE, 2);
    log_on(BOB, 3);
    users(&mut next, 100);
    let expected: Vec<u32> = (0..200).chain(300..400).collect();
    probe.until("bob's are given", |_| given(&sniffer_dir).len() >= 300);
    assert_eq!(given(&sniffer_dir), expected);
    // The sniffer is killed: it goes on with what it is told, and lost only what passed meanwhile.
    daemon.signal("KILL");
    daemon.ends();
    users(&mut next, 100);
    let daemon = started(&mut pair.sniffer);
    probe.until("the sniffer has all", |_| {
        sniffer(&probe_dir)["connections"].as_u64() >= Some(2)
            && sniffer(&probe_dir)["report"]["orders"][0]["liid"] == "LI-QUAGGA"
    });
    users(&mut next, 100);
    probe.until("they are given", |_| given(&sniffer_dir).len() >= 400);
    let expected: Vec<u32> = expected.into_iter().chain(500..600).collect();
    assert_eq!(given(&sniffer_dir), expected);
    // A probe that is stopped vouches for nothing that comes later.
    for daemon in [probe, daemon] {
        users(&mut next, 100);
        daemon.signal("TERM");
        let (status, log) = daemon.end();
        assert_eq!(status, Some(0), "{log}");
    }
    let (given, last) = (given(&sniffer_dir), 600..next);
    assert!(given.starts_with(&expected), "{given:?}");
    assert!(given[400..].iter().copied().eq(last.take(given.len() - 400)) && given.len() <= 500, "{given:?}");
}

//! A probe and its sniffers on the loopback interface.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use ringtap_model::{Identity, Nanos};
use ringtap_remote::{Confirmation, Credentials, Heard, Probe, ProbeSettings, Sniffer, Stop, What};
use ringtap_warrant::{Delivers, Order};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn of(&self, name: &str) -> Credentials {
        self.vouched_by(self, name)
    }

    /// With a certificate of `self`, and `other` vouching for the other end.
    fn vouched_by(&self, other: &Self, name: &str) -> Credentials {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let (authorities, own) = (other.0.pem(), certificate.pem());
        Credentials::from_pem(authorities.as_bytes(), own.as_bytes(), key.serialize_pem().as_bytes()).unwrap()
    }
}

fn clock() -> Nanos {
    Nanos(7_000_000)
}

fn probe(authority: &Authority, at: &str, run: u64) -> Probe {
    let listener = TcpListener::bind(at).unwrap();
    let credentials = authority.of("probe");
    let sniffers = vec!["east".to_owned(), "west".to_owned()];
    Probe::start(ProbeSettings { listener, credentials, sniffers, run, clock }).unwrap()
}

fn sniffer(authority: &Authority, address: SocketAddr, name: &str) -> Sniffer {
    Sniffer::start(address, "probe", &authority.of(name), clock).unwrap()
}

fn order(liid: &str, target: &str) -> Order {
    Order {
        liid: liid.parse().unwrap(),
        authorisation_country: "GB".parse().unwrap(),
        delivery_country: "GB".parse().unwrap(),
        delivers: Delivers::Both,
        targets: vec![target.parse().unwrap()],
        agency: "agency-a".to_owned(),
        mediation_function: None,
        operator: "operator".to_owned(),
        begins: Nanos(1_000),
        ends: Nanos(2_000_000),
        payload_key: Some("0f".repeat(24).parse().unwrap()),
    }
}

fn session(id: u8, user: &str) -> Identity {
    serde_json::from_value(serde_json::json!({
        "type": "identity", "id": format!("{id:032x}"), "user": user, "names": [user], "nas": "192.0.2.1",
        "ipv4": [], "ipv6_prefixes": [], "addresses": [], "start_us": 1, "first_us": 1, "last_us": 1,
        "begun_by": "accepted", "packets": 1, "retransmissions": 0, "changes": 0,
    }))
    .unwrap()
}

/// Asks until what was heard is as wanted.
fn hear(sniffer: &Sniffer, mut heard: Heard, is_it: impl Fn(&Heard) -> bool) -> Heard {
    let began = Instant::now();
    while !is_it(&heard) {
        assert!(began.elapsed() < Duration::from_secs(20), "{heard:?}, {:?}", sniffer.take_problem());
        std::thread::sleep(Duration::from_millis(1));
        let Heard { changes, soon, .. } = &mut heard;
        let now = sniffer.take();
        changes.extend(now.changes);
        soon.extend(now.soon);
        heard = Heard { changes: std::mem::take(changes), soon: std::mem::take(soon), ..now };
    }
    heard
}

fn heard_until(sniffer: &Sniffer, until: u64) -> Heard {
    hear(sniffer, Heard::default(), |heard| heard.until >= Nanos(until))
}

fn whats(heard: &Heard) -> Vec<&'static str> {
    let name = |what: &What| match what {
        What::Restart => "restart",
        What::Whole => "whole",
        What::Orders(_) => "orders",
        What::Session { .. } => "session",
    };
    heard.changes.iter().map(|change| name(&change.what)).collect()
}

#[test]
fn what_changes_is_told_in_order_and_once_before_its_time_is() {
    let authority = Authority::new();
    let probe = probe(&authority, "127.0.0.1:0", 1);
    probe.orders(&[order("LI-1", "user:alice")], Nanos(10));
    probe.session(&session(1, "alice"), false, Nanos(20));
    probe.followed(Nanos(30));
    let east = sniffer(&authority, probe.address().unwrap(), "east");
    let heard = heard_until(&east, 30);
    assert_eq!(whats(&heard), ["restart", "orders", "session", "whole"]);
    assert!(heard.changes.iter().all(|change| (change.number, change.at) == (2, Nanos(30))), "{heard:?}");
    assert_eq!(heard.changes[1].what, What::Orders(vec![order("LI-1", "user:alice")]));
    for number in 3..=1_000u64 {
        let is_open = number.is_multiple_of(2);
        probe.session(&session(number as u8, "alice"), is_open, Nanos(number * 100));
    }
    probe.followed(Nanos(100_000));
    let heard = heard_until(&east, 100_000);
    let expected: Vec<(u64, Nanos)> = (3..=1_000).map(|number| (number, Nanos(number * 100))).collect();
    let told: Vec<(u64, Nanos)> = heard.changes.iter().map(|change| (change.number, change.at)).collect();
    assert_eq!(told, expected);
    assert!(
        matches!(&heard.changes[1].what, What::Session { record, is_open: true } if record.id.0[15] == 4)
    );
}

#[test]
fn what_may_become_a_targets_is_told_at_once_to_those_who_are_there() {
    let authority = Authority::new();
    let probe = probe(&authority, "127.0.0.1:0", 1);
    let networks = [("203.0.113.7".parse().unwrap(), 32), ("2001:db8:7::".parse().unwrap(), 56)];
    probe.soon(&networks, Nanos(5));
    probe.followed(Nanos(10));
    let east = sniffer(&authority, probe.address().unwrap(), "east");
    assert_eq!(heard_until(&east, 10).soon, [], "that was before it came");
    probe.soon(&networks, Nanos(12));
    let heard = hear(&east, Heard::default(), |heard| heard.soon.len() == 2);
    assert_eq!(heard.soon, networks.map(|network| (network, Nanos(12))));
}

#[test]
fn what_a_sniffer_confirms_is_known_and_a_stop_is_told_once() {
    let authority = Authority::new();
    let probe = probe(&authority, "127.0.0.1:0", 1);
    let east = sniffer(&authority, probe.address().unwrap(), "east");
    probe.orders(&[order("LI-1", "user:alice")], Nanos(10));
    probe.followed(Nanos(20));
    heard_until(&east, 20);
    let stop = Stop { liid: "LI-1".parse().unwrap(), at: Nanos(5_000), last_content: None };
    let report = Some(serde_json::json!({ "packets": 3 }));
    east.confirm(Confirmation { number: 1, stopped: vec![stop.clone()], report, ..Confirmation::default() });
    east.confirm(Confirmation { number: 1, clock_ns: 6_000_000, ..Confirmation::default() });
    let began = Instant::now();
    let status = loop {
        let status = probe.sniffers();
        if status[0].clocks_apart == Some(Nanos(1_000_000)) {
            break status;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{status:?}");
    };
    assert_eq!((status[0].name.as_str(), status[0].is_connected, status[0].unconfirmed), ("east", true, 0));
    assert_eq!(status[0].last.report.as_ref().unwrap()["packets"], 3);
    assert_eq!((status[1].name.as_str(), status[1].is_connected), ("west", false));
    assert_eq!(probe.take_stopped(), [("east".to_owned(), stop)]);
    assert_eq!(probe.take_stopped(), []);
}

/// The connection is lost twice: while the probe lives on, and with the probe.
#[test]
fn after_a_lost_connection_nothing_is_told_twice_and_another_run_tells_all() {
    let authority = Authority::new();
    let first = probe(&authority, "127.0.0.1:0", 1);
    let address = first.address().unwrap();
    let cut = Cut::new(address);
    let east = Sniffer::start(cut.address, "probe", &authority.of("east"), clock).unwrap();
    first.orders(&[order("LI-1", "user:alice")], Nanos(10));
    first.followed(Nanos(20));
    heard_until(&east, 20);
    cut.cut();
    first.session(&session(1, "alice"), false, Nanos(30));
    first.session(&session(2, "alice"), false, Nanos(40));
    first.followed(Nanos(50));
    let heard = heard_until(&east, 50);
    assert_eq!(whats(&heard), ["session", "session"]);
    assert_eq!(first.sniffers()[0].restarts, 1, "it was told all when it came first, and never again");
    drop(first);
    let heard = hear(&east, Heard { is_connected: true, ..Heard::default() }, |heard| !heard.is_connected);
    assert_eq!((heard.until, heard.changes.len()), (Nanos(50), 0), "what was told holds");
    let second = probe(&authority, &address.to_string(), 2);
    second.orders(&[order("LI-2", "user:bob")], Nanos(60));
    second.followed(Nanos(70));
    let heard = heard_until(&east, 70);
    assert_eq!(whats(&heard), ["restart", "orders", "whole"]);
}

#[test]
fn a_stranger_is_told_nothing_and_believed_nothing() {
    let (authority, other) = (Authority::new(), Authority::new());
    let probe = probe(&authority, "127.0.0.1:0", 1);
    probe.orders(&[order("LI-1", "user:alice")], Nanos(10));
    probe.followed(Nanos(20));
    let address = probe.address().unwrap();
    // Nobody's name; a name of the list by another authority; and one who believes only the other authority.
    let strangers = [
        Sniffer::start(address, "probe", &authority.of("north"), clock).unwrap(),
        Sniffer::start(address, "probe", &other.vouched_by(&authority, "east"), clock).unwrap(),
        Sniffer::start(address, "probe", &authority.vouched_by(&other, "east"), clock).unwrap(),
        Sniffer::start(address, "another", &authority.of("east"), clock).unwrap(),
    ];
    for stranger in &strangers {
        let began = Instant::now();
        let problem = loop {
            assert_eq!(stranger.take(), Heard::default());
            if let Some(problem) = stranger.take_problem() {
                break problem;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "nothing was said");
        };
        assert!(!problem.is_empty());
    }
    assert!(probe.sniffers().iter().all(|sniffer| !sniffer.is_connected));
    // Who says nothing does not keep others out.
    let silent: Vec<_> = (0..8).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    heard_until(&sniffer(&authority, address, "west"), 20);
    drop(silent);
}

/// Passes on what two ends send, until it is cut.
struct Cut {
    address: SocketAddr,
    open: std::sync::Arc<std::sync::Mutex<Vec<std::net::TcpStream>>>,
}

impl Cut {
    fn new(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let open = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let own = std::sync::Arc::clone(&open);
        std::thread::spawn(move || {
            for from in listener.incoming() {
                let from = from.unwrap();
                let Ok(to) = std::net::TcpStream::connect(to) else { continue };
                own.lock().unwrap().extend([from.try_clone().unwrap(), to.try_clone().unwrap()]);
                for (mut one, mut other) in [(from.try_clone().unwrap(), to.try_clone().unwrap()), (to, from)]
                {
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut one, &mut other);
                        let _ = other.shutdown(std::net::Shutdown::Both);
                    });
                }
            }
        });
        Self { address, open }
    }

    fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

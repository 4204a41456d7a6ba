//! RADIUS over TCP (RFC 6613) as FreeRADIUS and its client speak it: sessions, with authenticators checked.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on ends")]

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ringtap_cases::identities::identities;
use ringtap_identity::{Limits, Secrets, Sessions};
use ringtap_model::SessionEnd;

#[test]
fn sessions_over_tcp_are_those_of_freeradius() {
    if !["freeradius", "radclient", "dumpcap"].iter().all(|name| ringtap_testing::program(name)) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tcp.pcap");
    ringtap_testing::in_network_namespace(&["link set lo up"], || talk(dir.path(), &path));
    if !path.exists() {
        return;
    }
    let followed = |secret: &str| {
        let secrets = Secrets::of_file(format!("127.0.0.1 {secret}\n").as_bytes()).unwrap();
        identities(&path, Sessions::new(Limits::default(), secrets)).unwrap()
    };
    let mut found: Vec<_> = followed("testing123")
        .into_iter()
        .map(|record| (record.user.unwrap(), record.ipv4, record.session.unwrap(), record.end_cause))
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = (1..=USERS).map(|number| {
        let end = (number == 1).then_some(SessionEnd::Stopped);
        (format!("user{number}"), vec![format!("203.0.113.{number}")], format!("S{number}"), end)
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
    assert_eq!(followed("another"), [], "with a wrong secret nothing is believed");
}

/// Lets users in and reports on them, over few connections, and writes what passes to a file.
fn talk(dir: &Path, path: &Path) {
    let shown = dir.display().to_string();
    fs::write(dir.join("radiusd.conf"), CONFIGURATION.replace("DIR", &shown)).unwrap();
    fs::write(dir.join("dictionary"), "$INCLUDE /usr/share/freeradius/dictionary\n").unwrap();
    let (mut users, mut asked, mut reports) = (String::new(), String::new(), String::new());
    for number in 1..=USERS {
        let user = format!("\"user{number}\"");
        let address = format!("Framed-IP-Address = 203.0.113.{number}");
        let nas = format!("NAS-IP-Address = 192.0.2.1, Calling-Station-Id = \"02-00-5E-00-00-0{number}\"");
        write!(users, "{user} Cleartext-Password := \"secret\"\n\t{address}\n\n").unwrap();
        write!(asked, "User-Name = {user}, User-Password = \"secret\", {nas}\n\n").unwrap();
        let session = format!("Acct-Session-Id = \"S{number}\", User-Name = {user}, {nas}, {address}");
        write!(reports, "{session}, Acct-Status-Type = Start\n\n").unwrap();
        if number == 1 {
            write!(reports, "{session}, Acct-Status-Type = Stop\n\n").unwrap();
        }
    }
    for (name, text) in [("users", users), ("asked", asked), ("reports", reports)] {
        fs::write(dir.join(name), text).unwrap();
    }
    let _capture = Started::new(Command::new("dumpcap").args(["-q", "-P", "-i", "lo", "-w"]).arg(path));
    let log = dir.join("log");
    let mut server = Command::new("freeradius");
    let _server = Started::new(server.arg("-f").arg("-d").arg(dir).arg("-l").arg(&log));
    let began = Instant::now();
    let is_ready = || fs::read_to_string(&log).is_ok_and(|log| log.contains("Ready to process"));
    while !is_ready() || !path.exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "FreeRADIUS does not come up");
        sleep(Duration::from_millis(50));
    }
    for (file, server, kind) in [("asked", "127.0.0.1:1812", "auth"), ("reports", "127.0.0.1:1813", "acct")] {
        let mut client = Command::new("radclient");
        client.args(["-q", "-P", "tcp", "-p", "1", "-D", "/usr/share/freeradius", "-f"]);
        client.arg(dir.join(file)).args([server, kind, "testing123"]);
        assert!(client.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success(), "{kind}");
    }
    // The capture is written in blocks, and whole once each second.
    sleep(Duration::from_millis(1_500));
}

/// A program that ends with this.
struct Started(Child);

impl Started {
    fn new(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

const USERS: usize = 5;

const CONFIGURATION: &str = "\
prefix = /usr
name = radius
logdir = DIR
run_dir = DIR
libdir = /usr/lib/freeradius
pidfile = DIR/pid
security {
    reject_delay = 0
}
proxy_requests = no
clients over_tcp {
    client nas {
        ipaddr = 127.0.0.1
        proto = tcp
        secret = testing123
    }
}
modules {
    pap {
    }
    files {
        usersfile = DIR/users
    }
    detail {
        filename = DIR/detail
    }
}
server default {
    listen {
        type = auth
        ipaddr = 127.0.0.1
        port = 1812
        proto = tcp
        clients = over_tcp
    }
    listen {
        type = acct
        ipaddr = 127.0.0.1
        port = 1813
        proto = tcp
        clients = over_tcp
    }
    authorize {
        files
        pap
    }
    authenticate {
        Auth-Type PAP {
            pap
        }
    }
    accounting {
        detail
    }
}
";

//! Who is told of alarms: targets that are checked, and the process that tells them.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ringtap_testing::skip;
use rustix::process::geteuid;

use crate::daemon::{Place, silence};
use crate::processes::{children, copies, status};
use crate::replayed::{files, ringtap};

/// Each is named with its line and key; none of them shows what is in the file.
#[test]
fn a_check_reads_the_files_of_those_who_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::new(dir.path());
    let path = place.configure(&silence(dir.path()), "");
    let right = fs::read_to_string(&path).unwrap();
    let start = right.lines().count();
    let [fields, ca] = ["fields", "ca.pem"].map(|name| dir.path().join(name));
    let check = |more: &str| {
        let target = "[[notify]]\nname = \"noc\"\nkind = \"webhook\"\nurl = \"https://localhost/x\"\n";
        fs::write(&path, format!("{right}{target}{more}\n")).unwrap();
        ringtap(&["run", "--check", "-c", path.to_str().unwrap()])
    };
    let with_fields = format!("header_file = {fields:?}");
    assert_eq!(check(""), (Some(0), String::new()));
    let refused = |more: &str, expected: &str| {
        let (status, told) = check(more);
        assert!(status == Some(1) && told.contains(expected), "{expected}\n{told}");
        assert!(!told.contains("hunter2"), "{told}");
    };
    let at = format!(":{}: [[notify]] header_file: ", start + 5);
    refused(&with_fields, &at);
    fs::write(&fields, "Authorization: Bearer hunter2\n").unwrap();
    fs::set_permissions(&fields, PermissionsExt::from_mode(0o644)).unwrap();
    refused(&with_fields, "others may read or change it");
    fs::set_permissions(&fields, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(check(&with_fields), (Some(0), String::new()));
    fs::write(&fields, "hunter2\n").unwrap();
    refused(&with_fields, "line 1 of header_file is no header field");

    fs::write(&ca, "nothing").unwrap();
    refused(&format!("ca = {ca:?}"), &format!(":{}: [[notify]] ca: ", start + 5));
}

#[test]
fn the_notifier_alone_has_the_secrets_and_is_started_again() {
    const SECRET: &str = "Bearer-of-this-7f3a9c";
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let path = place.configure(&silence(dir.path()), "");
    let fields = dir.path().join("fields");
    fs::write(&fields, format!("Authorization: {SECRET}\n")).unwrap();
    fs::set_permissions(&fields, PermissionsExt::from_mode(0o600)).unwrap();
    let target = format!(
        "[alarms]\npatterns = \"all\"\n[[notify]]\nname = \"noc\"\nkind = \"webhook\"\n\
         url = \"https://localhost:4443/x\"\nheader_file = {fields:?}\n"
    );
    fs::write(&path, fs::read_to_string(&path).unwrap() + &target).unwrap();
    let mut daemon = place.start();
    for process in ["starting the notifier", "the notifier", "capture"] {
        daemon.says(&format!("run: the process for {process} is confined\n"));
    }
    daemon.says("/metrics and /health");
    let starters = children(daemon.id());
    let clients = children(starters[0]);
    assert_eq!((starters.len(), clients.len()), (1, 1), "{}", daemon.log());
    for process in [starters[0], clients[0]] {
        assert!(status(process).contains("CapEff:\t0000000000000000\n"));
    }
    match geteuid().is_root() {
        true => {
            assert_eq!(copies(daemon.id(), SECRET.as_bytes()), 0);
            assert!(copies(clients[0], SECRET.as_bytes()) > 0);
        }
        false => skip("root", "the memory of other processes cannot be read"),
    }
    kill(Pid::from_raw(clients[0].cast_signed()), Signal::SIGKILL).unwrap();
    daemon.says("the notifier has ended: it is started again");
    kill(Pid::from_raw(starters[0].cast_signed()), Signal::SIGKILL).unwrap();
    daemon.says("error notify: the notifier has ended: nobody is told of alarms until ringtap is restarted");
    daemon.signal("TERM");
    let (code, log) = daemon.end();
    assert_eq!(code, Some(0), "{log}");
}

/// From the packets of calls to the webhook, over all processes.
#[test]
fn three_alarms_of_replayed_calls_reach_a_webhook() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    // As fast as possible, it would be over before anybody can be told.
    let path = place.configure(&files("8"), "");
    let webhook = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = webhook.local_addr().unwrap();
    let mut lines = format!(
        "[alarms]\nhost = \"sensor-7\"\n[[notify]]\nname = \"noc\"\nkind = \"webhook\"\n\
         url = \"http://localhost:{}/alarms\"\n",
        address.port()
    );
    for (name, per) in [("all", "total"), ("from", "trunk_in"), ("to", "trunk_out")] {
        lines += &format!(
            "[[alarm]]\nname = \"{name}\"\nfigure = \"begun\"\nper = \"{per}\"\nover = \"1h\"\nabove = 1\n"
        );
    }
    fs::write(&path, fs::read_to_string(&path).unwrap() + &lines).unwrap();
    let server = thread::spawn(move || {
        let mut rules = Vec::new();
        while !["all", "from", "to"].iter().all(|rule| rules.iter().any(|told| told == rule)) {
            let (mut connection, _) = webhook.accept().unwrap();
            let (mut told, mut bytes) = (String::new(), [0; 4096]);
            while !told.ends_with('}') {
                let read = connection.read(&mut bytes).unwrap();
                assert!(read > 0, "{told}");
                told.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
            }
            connection.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
            let body = told.split_once("\r\n\r\n").unwrap().1;
            let json: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!((&json["host"], &json["type"]), (&"sensor-7".into(), &"alarm".into()));
            rules.push(json["rule"].as_str().unwrap().to_owned());
        }
    });
    let (code, log) = place.start().end();
    assert_eq!(code, Some(0), "{log}");
    // Whoever was not told all would wait for ever: this connection says nothing.
    drop(TcpStream::connect(address));
    server.join().unwrap();
}

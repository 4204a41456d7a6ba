//! `ringtap identity`: sessions of a capture, who had an address, and what of the arguments is wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ringtap_store::ImportWriter;
use ringtap_testing::pppoe::{Link, PADT, Side, line};
use ringtap_testing::samples;

use crate::built::Built;
use crate::found::text;
use crate::run::{file, run};

/// Made with Python's hashlib, the secret `testing123`: bob's start with an address and a prefix, its answer,
/// the start of somebody hostile with a block of ports, bob's stop, and a stop that was changed on its way.
const START: &str = concat!(
    "0401003478c5f54654ddd4e1e12534549a2fb4492806000000010105626f622c0453310806cb0071077b0b0038",
    "20010db8000700",
);
const ANSWER: &str = "050100143ea0996ab64714f94d436c08d6d047a7";
const BLOCK: &str = concat!(
    "04020053a26e5a97bcdb16791094caa42301aabb28060000000101096576651b5b324a2c0453321a2c0000197f",
    "79263139382e35312e3130302e312034303030302d343039393920726f757465722062617365",
);
const STOP: &str = concat!(
    "040300414fe7ebf048932c32c031c2ade7a4de002806000000020105626f622c0453312a06000004d22b060000",
    "00053506000000013106000000012e060000003c",
);
const FORGED: &str = "0404002396d597820a34c090bf1e8e77c453924728060000000201056576652c045332";

fn capture(folder: &Path) -> PathBuf {
    let mut built = Built::default();
    let (nas, server) = ((1, 40_000), (250, 1_813));
    let bytes = |hex: &str| -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
        (0..hex.len()).step_by(2).map(digit).collect()
    };
    built.udp(0, nas, server, &bytes(START));
    built.udp(50, server, nas, &bytes(ANSWER));
    // The answer was lost for the NAS, too.
    built.udp(3_000, nas, server, &bytes(START));
    built.udp(10_000, nas, server, &bytes(BLOCK));
    built.udp(60_000, nas, server, &bytes(STOP));
    built.udp(70_000, nas, server, &bytes(FORGED));
    let path = folder.join("radius.pcap");
    built.write(&path);
    path
}

#[test]
fn sessions_of_a_capture_as_a_table_json_and_csv() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = capture(folder.path());
    let table = run(["identity", text(&path)]);
    assert_eq!((table.status, table.err.as_str()), (0, ""), "{table:?}");
    for shown in [
        "2026-11-21 (UTC)",
        "bob",
        "203.0.113.7 2001:db8:7::/56",
        "stopped",
        "2 sessions found, 0 open at the end",
        "6 RADIUS packets: 1 repeated, 3 without an answer",
    ] {
        assert!(table.out.contains(shown), "{shown}: {}", table.out);
    }
    assert!(!table.out.contains('\x1b'), "{}", table.out);
    let jsonl = run(["identity", text(&path), "--format", "jsonl"]);
    let first: serde_json::Value =
        serde_json::from_str(jsonl.out.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["type"], &first["user"]), (&"identity".into(), &"bob".into()));
    assert_eq!(first["ipv6_prefixes"], serde_json::json!(["2001:db8:7::/56"]));
    assert_eq!(first["addresses"][0]["from_frame"], 1);
    assert_eq!(first["addresses"][0]["until_frame"], 5);
    assert_eq!((&first["packets"], &first["retransmissions"]), (&4.into(), &1.into()));
    assert_eq!(first["octets_out"], (1_u64 << 32) + 5);
    assert_eq!(first["end_us"], 1_795_226_460_000_000_u64);
    let csv = run(["identity", text(&path), "--format", "csv"]);
    let mut reader = csv::Reader::from_reader(csv.out.as_bytes());
    let columns = reader.headers().expect("a header").clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let column = columns.iter().position(|name| name == "user").expect("its column");
    assert_eq!((rows.len(), &rows[0][column], &rows[1][column]), (2, "bob", "eve\\x1b[2J"));
}

#[test]
fn who_had_an_address_and_a_port_with_the_frames_that_prove_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = capture(folder.path());
    let ask = |address: &str, at: &str| run(["identity", text(&path), address, "--at", at]).out;
    let found = ask("203.0.113.7", "2026-11-21 02:00:30");
    assert!(found.starts_with("203.0.113.7 at 2026-11-21 02:00:30.000:\n"), "{found}");
    assert!(
        found.contains("bob") && found.contains("Framed-IP-Address") && found.contains("1, 5"),
        "{found}"
    );
    assert!(ask("203.0.113.7:443", "2026-11-21T02:00:30Z").contains("bob"));
    assert!(ask("[2001:db8:7:9::1]:443", "2026-11-21 02:00:30").contains("2001:db8:7::/56"));
    let before = ask("203.0.113.7", "2026-11-21 01:59:59");
    assert_eq!(before, "203.0.113.7 at 2026-11-21 01:59:59.000: nobody, as far as these captures tell\n");
    assert!(ask("203.0.113.7", "2026-11-21 02:01:00").contains("nobody"), "the stop ends it");
    assert!(ask("198.51.100.1:40999", "2026-11-21 02:00:30").contains("40000-40999"));
    assert!(ask("198.51.100.1:41000", "2026-11-21 02:00:30").contains("nobody"));
    let ever = run(["identity", "203.0.113.7", text(&path), "--format", "jsonl"]).out;
    assert_eq!(ever.lines().count(), 1, "{ever}");
}

#[test]
fn authenticators_are_checked_with_secrets_that_nobody_else_reads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = capture(folder.path());
    let secrets = file(folder.path(), "clients", b"# the NAS\n192.0.2.0/28 testing123\n");
    let mode = |mode| fs::set_permissions(&secrets, fs::Permissions::from_mode(mode)).expect("own file");
    let ask = || run(["identity", "--secrets", text(&secrets), text(&path)]);
    mode(0o644);
    let refused = ask();
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.err.contains("clients") && refused.out.is_empty(), "{refused:?}");
    mode(0o600);
    let checked = ask();
    assert!(checked.err.contains("authenticators: 5 right, 1 wrong, 0 unchecked"), "{checked:?}");
    assert!(checked.out.contains("2 sessions found, 1 open at the end"), "the forged stop ends nothing");
    fs::write(&secrets, "192.0.2.1 x\nnowhere hunter2\n").expect("own file");
    let wrong = ask();
    assert_eq!(wrong.status, 1, "{wrong:?}");
    assert!(wrong.err.contains("line 2") && !wrong.err.contains("hunter2"), "{wrong:?}");
}

/// The database is asked where no file is named.
#[test]
fn who_had_an_address_by_the_database() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let records = folder.path().join("records");
    let none = run(["identity", "203.0.113.7", "--store", text(&records)]);
    assert!(none.status == 1 && none.err.contains("holds no day files"), "{none:?}");
    let session = samples::identity();
    let mut writer = ImportWriter::open(&records).expect("a new directory");
    writer.identity(&session).expect("room");
    writer.close().expect("room");
    let ask = |asked: &[&str]| run([&["identity", "--store", text(&records)], asked].concat());
    let found = ask(&["203.0.113.7:40001", "--at", "2026-11-21 02:00:00"]);
    assert_eq!((found.status, found.err.as_str()), (0, ""), "{found:?}");
    assert!(found.out.starts_with("203.0.113.7:40001 at 2026-11-21 02:00:00.000:\n"), "{}", found.out);
    assert!(found.out.contains("bob") && found.out.contains("open"), "{}", found.out);
    let before = ask(&["203.0.113.7", "--at", "2026-11-21 01:59:59"]).out;
    assert!(before.ends_with("nobody, as far as the database tells\n"), "{before}");
    let user = ask(&["--user", "BOB@example.org"]).out;
    assert!(user.contains("203.0.113.7") && user.contains("1 session found, 1 open at the end"), "{user}");
    assert!(!user.contains("RADIUS packet"), "no packets were read: {user}");
    let station = ask(&["--user", "0200.5e10.0001", "--format", "jsonl"]).out;
    let station: serde_json::Value = serde_json::from_str(&station).expect("a line of JSON");
    assert_eq!(station["id"], session.id.to_string());
    assert!(ask(&["--user", "alice"]).out.contains("0 sessions found"));
    let path = capture(folder.path());
    let filed = run(["identity", text(&path), "--user", "bob"]).out;
    assert!(filed.contains("1 session found") && !filed.contains("eve"), "{filed}");
}

#[test]
fn arguments_that_make_no_question_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = capture(folder.path());
    for (arguments, said) in [
        (vec![], "name capture files; or, to ask the database, an address"),
        (vec!["203.0.113.7", "--secrets", "x"], "name the capture files"),
        (vec!["203.0.113.7", "--user", "bob"], "an address or for a user, not for both"),
        (vec![text(&path), "--store", "x"], "name capture files or `--store`, not both"),
        (vec![text(&path), "203.0.113.7", "203.0.113.8"], "`203.0.113.8` is a second address"),
        (vec![text(&path), "--at", "2026-11-21"], "`--at` needs an address"),
    ] {
        let refused = run([&["identity"], &arguments[..]].concat());
        assert_eq!(refused.status, 2, "{refused:?}");
        assert!(refused.err.contains(said), "{refused:?}");
    }
}

/// What a server sends to the relay agent 192.0.2.1, which serves line 7: a DHCPACK for an hour.
fn acknowledged() -> Vec<u8> {
    let mut bytes = vec![0; 240];
    bytes[..8].copy_from_slice(&[2, 1, 6, 1, 0, 0, 0, 9]);
    bytes[16..20].copy_from_slice(&[203, 0, 113, 7]);
    bytes[24..28].copy_from_slice(&[192, 0, 2, 1]);
    bytes[28..34].copy_from_slice(&[2, 0, 0x5e, 0x10, 0, 1]);
    bytes[236..].copy_from_slice(&[99, 130, 83, 99]);
    bytes.extend([53, 1, 5, 51, 4, 0, 0, 14, 16, 82, 8, 1, 6]);
    bytes.extend(b"line 7\xff");
    bytes
}

#[test]
fn leases_of_dhcp_and_ranges_of_a_file_answer_beside_sessions_of_radius() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut built = Built::default();
    built.udp(0, (250, 67), (1, 67), &acknowledged());
    built.udp(50, (250, 67), (1, 67), &[1, 2, 3]);
    let path = folder.path().join("dhcp.pcap");
    built.write(&path);
    let table = run(["identity", text(&path)]);
    assert_eq!(table.status, 0, "{table:?}");
    for shown in ["02:00:5e:10:00:01", "203.0.113.7", "dhcpv4", "1 DHCP message: ", "1 malformed"] {
        assert!(table.out.contains(shown), "{shown}: {}", table.out);
    }
    assert!(table.err.contains("1 datagram on the ports of DHCP"), "{table:?}");
    let named = run(["identity", text(&path), "--user", "0200.5E10.0001", "--format", "jsonl"]);
    let lease: serde_json::Value = serde_json::from_str(&named.out).expect("a line");
    assert_eq!((&lease["source"], &lease["circuit"]), (&"dhcpv4".into(), &"line 7".into()));
    assert_eq!(lease["expires_us"], 1_795_230_000_000_000_u64);
    let radius = capture(folder.path());
    let both = run(["identity", text(&path), text(&radius), "203.0.113.7", "--at", "2026-11-21 02:00:30"]);
    assert!(both.out.contains("yiaddr") && both.out.contains("Framed-IP-Address"), "{both:?}");

    let ranges = b"[[range]]\nnetworks = [\"198.51.100.0/24\"]\nsubscriber = \"Example Ltd\"\n";
    let ranges = file(folder.path(), "lines.toml", ranges);
    let asked = run(["identity", text(&path), "198.51.100.9", "--static", text(&ranges)]);
    for shown in ["Example Ltd", "198.51.100.0/24", "static", "lines.toml:1"] {
        assert!(asked.out.contains(shown), "{shown}: {asked:?}");
    }
    let listed = run(["identity", text(&path), "--static", text(&ranges)]);
    assert!(!listed.out.contains("Example"), "a range is no session of the capture: {listed:?}");
    let wrong = file(folder.path(), "wrong.toml", b"[[range]]\nnetwork = [\"198.51.100.0/24\"]\n");
    let refused = run(["identity", "198.51.100.9", "--static", text(&wrong)]);
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.err.contains("wrong.toml:2: [[range]] network: no such key: there are"), "{refused:?}");
}

#[test]
fn sessions_of_pppoe_have_user_line_and_addresses() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut built, link) = (Built::default(), Link::new(1, 15));
    for frame in link.login("ana@example.org", [203, 0, 113, 9], &line("eth 0/7:101", "LINE-7")) {
        built.frame(0, frame);
    }
    built.frame(60_000, link.discovery(Side::Client, PADT, 15, &[]));
    let path = folder.path().join("pppoe.pcap");
    built.write(&path);
    let table = run(["identity", text(&path)]);
    assert_eq!(table.status, 0, "{table:?}");
    for shown in ["ana@example.org", MAC, "203.0.113.9", "terminated", "17 PPPoE frames: 1 session"] {
        assert!(table.out.contains(shown), "{shown}: {}", table.out);
    }
    let named = run(["identity", text(&path), "--user", "line-7", "--format", "jsonl"]);
    let session: serde_json::Value = serde_json::from_str(&named.out).expect("a line");
    assert_eq!(session["source"], "pppoe");
    assert_eq!((&session["circuit"], &session["nas_port_id"]), (&"eth 0/7:101".into(), &"vlan 7".into()));
    let asked = run(["identity", text(&path), "203.0.113.9", "--at", "2026-11-21 02:00:30"]);
    assert!(asked.out.contains("IP-Address") && asked.out.contains("14, 17"), "{asked:?}");
    assert!(![&table, &named, &asked].iter().any(|said| said.out.contains("secret")));
}

const MAC: &str = "02:00:5e:00:00:01";

//! Traps, as tshark reads them.

use std::fs;
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use ringtap_notify::{NoticeKind, Oid, Protocol, Snmp};

use crate::{notice, open};

/// A capture of one datagram to port 162: IPv4 without a link layer (LINKTYPE_RAW, 101).
fn capture(datagram: &[u8]) -> Vec<u8> {
    let length = |more: usize| ((datagram.len() + more) as u16).to_be_bytes();
    let mut packet = vec![0x45, 0];
    packet.extend(length(28));
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    packet.extend([0x30, 0x39, 0, 162]);
    packet.extend(length(8));
    packet.extend([0, 0]);
    packet.extend(datagram);
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101] {
        file.extend(word.to_le_bytes());
    }
    for word in [0, 0, packet.len() as u32, packet.len() as u32] {
        file.extend(word.to_le_bytes());
    }
    file.extend(packet);
    file
}

#[test]
fn tshark_reads_the_traps() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for (oid, kind, trap) in [
        (Oid::default(), NoticeKind::Raised, "1.3.6.1.4.1.32473.1.0.1"),
        (Oid::default(), NoticeKind::Cleared, "1.3.6.1.4.1.32473.1.0.3"),
        (
            "1.3.6.1.4.1.4294967295.7".parse().unwrap(),
            NoticeKind::Acknowledged,
            "1.3.6.1.4.1.4294967295.7.0.4",
        ),
    ] {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let port = receiver.local_addr().unwrap().port();
        let base = oid.to_string();
        let snmp = Snmp { server: "127.0.0.1".into(), port, community: "watchers".into(), oid };
        let mut told = notice(1, kind);
        // Content of 128 bytes and more has a longer length.
        told.alarm.text = format!("{} and so on", "31.5 % of the calls are answered, ".repeat(5));
        open(Protocol::Snmp(snmp), None).deliver(&told).unwrap();
        let mut datagram = vec![0; 65536];
        let length = receiver.recv(&mut datagram).unwrap();
        let file = dir.path().join("trap.pcap");
        fs::write(&file, capture(&datagram[..length])).unwrap();

        let fields = ["snmp.version", "snmp.community", "snmp.data", "snmp.name", "snmp.value.oid"];
        let more = ["snmp.value.octets", "snmp.value.timeticks", "_ws.malformed"];
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&file).args(["-T", "fields", "-E", "separator=;", "-E", "aggregator=|"]);
        for field in fields.iter().chain(&more) {
            tshark.args(["-e", field]);
        }
        let output = tshark.output().unwrap();
        let line = String::from_utf8(output.stdout).unwrap();
        let read: Vec<&str> = line.trim_end_matches('\n').split(';').collect();
        // 1 is SNMPv2c, 7 the trap of its version.
        assert_eq!((read[0], read[1], read[2], read[7]), ("1", "watchers", "7", ""), "{line}");
        let names: Vec<&str> = read[3].split('|').collect();
        assert_eq!(names[..2], ["1.3.6.1.2.1.1.3.0", "1.3.6.1.6.3.1.1.4.1.0"]);
        assert_eq!(names.len(), 15);
        for (at, name) in names[2..].iter().enumerate() {
            assert_eq!(*name, format!("{base}.1.{}.0", at + 1));
        }
        assert_eq!(read[4], trap);
        let texts: Vec<String> = read[5].split('|').map(text).collect();
        let alarm = &told.alarm;
        let expected = [
            &alarm.id.to_string(),
            &alarm.rule,
            "warning",
            "trunk",
            &alarm.subject,
            "asr",
            "31.5",
            "40",
            &alarm.text,
        ];
        assert_eq!(texts[..9], expected);
        assert_eq!((texts[9].as_str(), texts[12].as_str()), ("2026-11-23T08:00:01Z", "call-1@192.0.2.1"));
    }
}

/// Of hex digits, as tshark shows octets.
fn text(hex: &str) -> String {
    let hex = if hex == "<MISSING>" { "" } else { hex };
    let digits = hex.as_bytes().chunks(2);
    let bytes = digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap());
    String::from_utf8(bytes.collect()).unwrap()
}

//! DHCP messages against tshark: every field that the views read, of captures that a server and clients of
//! others make here, of messages laid out by hand, and of the shared captures; and the leases of that server.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ringtap_capture::{Capture, Merge};
use ringtap_cases::identities::identities;
use ringtap_cases::shared;
use ringtap_identity::{Holders, Limits, Secrets, Sessions};
use ringtap_model::{Identity, SessionEnd, SessionSource};
use ringtap_wire::dhcp::{v4, v6};
use ringtap_wire::frame::{Payload, decode};

/// Values of each field of a message, as tshark writes them.
type Fields = BTreeMap<&'static str, Vec<String>>;

#[test]
fn every_field_of_messages_laid_out_by_hand_is_tsharks() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("by-hand.pcap");
    fs::write(&path, by_hand()).unwrap();
    assert_eq!(compared(&path), 5);
}

#[test]
fn every_field_of_the_shared_captures_is_tsharks() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    let Some(folder) = ringtap_testing::shared() else { return };
    let found: usize = shared::captures(&folder.join("captures")).iter().map(|path| compared(path)).sum();
    println!("dhcp: {found} messages agree");
    assert!(found >= 15, "{found}");
}

/// dnsmasq lends to busybox and dhclient, over Ethernet, as it would to anybody.
#[test]
fn leases_of_a_server_of_others_are_those_that_tshark_reads() {
    let programs = ["tshark", "dumpcap", "dnsmasq", "busybox", "dhclient", "nsenter", "unshare"];
    if !programs.iter().all(|name| ringtap_testing::program(name)) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let setup = [
        "link add vs type veth peer name vc",
        "link set lo up",
        "link set vs up",
        "addr add 192.0.2.1/24 dev vs",
        "addr add 2001:db8:7::1/64 dev vs nodad",
    ];
    let path = dir.path().join("lent.pcap");
    ringtap_testing::in_network_namespace(&setup, || lend(dir.path(), &path));
    if !path.exists() {
        return;
    }
    let messages = compared(&path);
    let sessions = Sessions::new(Limits::default(), Secrets::default()).following_leases();
    let (records, given) =
        (identities(&path, sessions).unwrap(), tshark(&path, "dhcp.option.dhcp == 5", &["dhcp.ip.your"]));
    println!("dhcp: {messages} messages and {} leases of dnsmasq agree", records.len());
    assert!(messages >= 12, "{messages}");
    let of = |source| records.iter().filter(move |record| record.source == Some(source));
    let v4: Vec<_> = of(SessionSource::Dhcpv4).flat_map(|record| &record.ipv4).collect();
    let mut expected: Vec<_> = given.iter().map(|row| &row[0]).collect();
    expected.dedup();
    assert_eq!(v4, expected, "each acknowledged address is leased");
    let is_released = |record: &&Identity| record.end_cause == Some(SessionEnd::Released);
    assert_eq!(of(SessionSource::Dhcpv4).filter(is_released).count(), 1, "{records:?}");
    let replied = tshark(&path, "dhcpv6.msgtype == 7 && dhcpv6.iaaddr.ip", &["dhcpv6.iaaddr.ip"]);
    let v6: Vec<_> = of(SessionSource::Dhcpv6).collect();
    assert_eq!(v6[0].ipv6_prefixes, [format!("{}/128", replied[0][0])]);
    assert!(v6.len() == 1 && is_released(&v6[0]), "{v6:?}");
    let named = of(SessionSource::Dhcpv4).find(|record| record.hostname.as_deref() == Some("phone"));
    let lease = named.unwrap().expires.unwrap() - named.unwrap().last;
    assert_eq!(lease.micros() / 1_000_000, 120, "of the server's configuration");
    for record in &records {
        let held = &record.addresses[0];
        let address = held.network.split('/').next().unwrap().parse().unwrap();
        assert_eq!(Holders::new(&records).find(address, None, Some(held.from)).len(), 1);
    }
}

/// Has clients ask for addresses, and writes what passes to a file. They are in a namespace of their own: the
/// kernel would keep what they send to the server's address to itself.
fn lend(dir: &Path, path: &Path) {
    let mut client = Started::new(Command::new("unshare").args(["-n", "sleep", "120"]));
    let process = client.0.id();
    let namespace = |of: &str| fs::read_link(format!("/proc/{of}/ns/net")).ok();
    wait(|| namespace(&process.to_string()).is_some_and(|own| Some(own) != namespace("thread-self")));
    ringtap_testing::ip(&format!("link set vc netns {process}"));
    let inside = |arguments: &[&str]| {
        let mut command = Command::new("nsenter");
        command.args(["-t", &process.to_string(), "-n"]).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
    };
    let address = |mac: &str| {
        inside(&["ip", "link", "set", "vc", "down"]);
        inside(&["ip", "link", "set", "vc", "address", mac]);
        inside(&["ip", "link", "set", "vc", "up"]);
    };
    address("02:00:5e:00:00:01");
    let _capture = Started::new(Command::new("dumpcap").args(["-q", "-P", "-i", "vs", "-w"]).arg(path));
    let leases = format!("--dhcp-leasefile={}", dir.join("leases").display());
    let _server = Started::new(Command::new("dnsmasq").args([
        "--no-daemon",
        "--conf-file=/dev/null",
        "--port=0",
        "--interface=vs",
        "--bind-dynamic",
        "--user=root",
        "--no-ping",
        "--dhcp-range=192.0.2.100,192.0.2.120,255.255.255.0,2m",
        "--dhcp-range=2001:db8:7::100,2001:db8:7::1ff,64,10m",
        &leases,
    ]));
    let script = dir.join("script");
    let text =
        "#!/bin/sh\nip=${ip:-$new_ip_address}\n[ -z \"$ip\" ] || ip addr add $ip/24 dev $interface\nexit 0\n";
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    sleep(Duration::from_millis(500));
    let script = script.to_str().unwrap();
    inside(&["busybox", "udhcpc", "-f", "-i", "vc", "-n", "-q", "-x", "hostname:phone", "-s", script]);
    // Another client. Link-local addresses are tentative for a second or two.
    address("02:00:5e:00:00:02");
    sleep(Duration::from_millis(2_500));
    let file = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    for version in ["-4", "-6"] {
        let (leases, pid) = (file(&format!("l{version}")), file(&format!("p{version}")));
        let dhclient = ["dhclient", version, "-lf", &leases, "-pf", &pid, "-sf", script];
        inside(&[&dhclient[..], &["-1", "vc"]].concat());
        inside(&[&dhclient[..], &["-r", "vc"]].concat());
    }
    // The capture is written in blocks, and whole once each second.
    sleep(Duration::from_millis(1_500));
    drop(client.0.kill());
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

fn wait(done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(10), "it does not come up");
        sleep(Duration::from_millis(20));
    }
}

/// Compares all messages of a capture, and returns how many there are.
fn compared(path: &Path) -> usize {
    let ours = ours(path);
    if ours.is_empty() {
        return 0;
    }
    let mut found = 0;
    // What is cut, and messages between servers (leasequery), are none that we read.
    let v6 = "dhcpv6 && !(dhcpv6.msgtype > 13)";
    for (filter, names) in [("dhcp.option.dhcp", V4), (v6, V6)] {
        let rows =
            tshark(path, &format!("{filter} && !_ws.malformed && !_ws.short && !icmp && !icmpv6"), names);
        // In their order: some numbers are of blocks that are no frames.
        let of_version = ours.values().filter(|own| own.contains_key(names[0]));
        for (number, (own, row)) in of_version.zip(&rows).enumerate() {
            for (name, values) in names.iter().zip(row) {
                let theirs = theirs(name, values);
                let mut own = own.get(name).cloned().unwrap_or_default();
                own.sort();
                assert_eq!(own, theirs, "{} message {number}: {name}", path.display());
            }
        }
        found += rows.len();
    }
    assert_eq!(found, ours.len(), "{}: messages that tshark does not see", path.display());
    found
}

/// The values of a field in a cell, in an order of their own: tshark shows what is in `sname` where the
/// option is that says so, and we behind it.
fn theirs(name: &str, cell: &str) -> Vec<String> {
    let mut values: Vec<String> =
        cell.split('|').filter(|value| !value.is_empty()).map(str::to_owned).collect();
    match name {
        "dhcp.option.type" => values.retain(|code| !["0", "255"].contains(&code.as_str())),
        // The client's identifier has it, too.
        "dhcp.hw.mac_addr" => values.truncate(1),
        _ => {}
    }
    values.sort();
    values
}

fn tshark(path: &Path, filter: &str, names: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-Y", filter, "-T", "fields", "-E", "aggregator=|"]);
    names.iter().for_each(|name| _ = command.args(["-e", name]));
    let output = command.output().expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// What is compared of DHCPv4.
const V4: &[&str] = &[
    "dhcp.type",
    "dhcp.hops",
    "dhcp.id",
    "dhcp.secs",
    "dhcp.ip.client",
    "dhcp.ip.your",
    "dhcp.ip.relay",
    "dhcp.hw.mac_addr",
    "dhcp.option.type",
    "dhcp.option.dhcp",
    "dhcp.option.hostname",
    "dhcp.option.ip_address_lease_time",
    "dhcp.option.dhcp_server_id",
    "dhcp.option.requested_ip_address",
    "dhcp.option.agent_information_option.agent_circuit_id",
    "dhcp.option.agent_information_option.agent_remote_id",
    "dhcp.option.agent_information_option.subscriber_id",
];

/// What is compared of DHCPv6.
const V6: &[&str] = &[
    "dhcpv6.msgtype",
    "dhcpv6.hopcount",
    "dhcpv6.linkaddr",
    "dhcpv6.peeraddr",
    "dhcpv6.xid",
    "dhcpv6.option.type",
    "dhcpv6.duid.bytes",
    "dhcpv6.iaid",
    "dhcpv6.iaaddr.ip",
    "dhcpv6.iaaddr.pref_lifetime",
    "dhcpv6.iaaddr.valid_lifetime",
    "dhcpv6.iaprefix.pref_addr",
    "dhcpv6.iaprefix.pref_len",
    "dhcpv6.iaprefix.pref_lifetime",
    "dhcpv6.iaprefix.valid_lifetime",
    "dhcpv6.status_code",
    "dhcpv6.interface_id",
    "dhcpv6.remoteid.enterprise",
    "dhcpv6.subscriber_id",
];

fn ours(path: &Path) -> BTreeMap<u64, Fields> {
    let Ok(capture) = Capture::open(path, None) else { return BTreeMap::new() };
    let mut found = BTreeMap::new();
    for frame in Merge::new(&[capture]).owned().iter() {
        let Ok(packet) = decode(frame.link.0, frame.wire_len, frame.data) else { continue };
        let Payload::Udp(udp) = packet.payload else { continue };
        let on = |ports: &[u16]| ports.contains(&udp.src_port) || ports.contains(&udp.dst_port);
        let fields = match (on(&v4::PORTS), on(&v6::PORTS)) {
            (true, _) => v4::View::parse(udp.data).ok().map(|view| of_v4(&view)),
            (_, true) => v6::View::parse(udp.data).ok().map(|view| of_v6(&view)),
            _ => None,
        };
        found.extend(fields.map(|fields| (frame.number, fields)));
    }
    found
}

fn of_v4(view: &v4::View<'_>) -> Fields {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let all = |code: u8| view.options().filter(move |option| option.code == code).map(|option| option.value);
    let mut room = [0; 512];
    let agent = view.joined(v4::code::RELAY_AGENT, &mut room).unwrap_or_default();
    let of_agent = |code| v4::Suboptions::new(agent).filter(move |option| option.code == code);
    let values: [Vec<String>; 17] = [
        vec![if view.is_request() { "1" } else { "2" }.to_owned()],
        vec![view.hops().to_string()],
        vec![format!("0x{:08x}", view.transaction())],
        vec![view.seconds().to_string()],
        vec![view.ciaddr().to_string()],
        vec![view.yiaddr().to_string()],
        vec![view.giaddr().to_string()],
        view.mac().map(|mac| mac.map(|byte| format!("{byte:02x}")).join(":")).into_iter().collect(),
        view.options().map(|option| option.code.to_string()).collect(),
        vec![view.kind().to_string()],
        all(v4::code::HOST_NAME).map(text).collect(),
        view.number(v4::code::LEASE_TIME).map(|seconds| seconds.to_string()).into_iter().collect(),
        view.address(v4::code::SERVER).map(|address| address.to_string()).into_iter().collect(),
        view.address(v4::code::REQUESTED_ADDRESS).map(|address| address.to_string()).into_iter().collect(),
        of_agent(v4::relay::CIRCUIT).map(|option| hex(option.value)).collect(),
        of_agent(v4::relay::REMOTE).map(|option| hex(option.value)).collect(),
        of_agent(v4::relay::SUBSCRIBER).map(|option| text(option.value)).collect(),
    ];
    V4.iter().copied().zip(values).collect()
}

fn of_v6(view: &v6::View<'_>) -> Fields {
    let mut fields = Fields::new();
    let mut add = |name: &'static str, value: String| fields.entry(name).or_default().push(value);
    for relay in view.relays() {
        add("dhcpv6.msgtype", relay.kind.to_string());
        add("dhcpv6.hopcount", relay.hops.to_string());
        add("dhcpv6.linkaddr", relay.link.to_string());
        add("dhcpv6.peeraddr", relay.peer.to_string());
        relay.options.clone().for_each(|option| add("dhcpv6.option.type", option.code.to_string()));
        let interface = relay.options.value(v6::code::INTERFACE);
        interface.into_iter().for_each(|id| add("dhcpv6.interface_id", hex(id)));
        relay.remote().into_iter().for_each(|(id, _)| add("dhcpv6.remoteid.enterprise", id.to_string()));
        let subscriber = relay.options.value(v6::code::SUBSCRIBER);
        let text = subscriber.map(|id| String::from_utf8_lossy(id).into_owned());
        text.into_iter().for_each(|id| add("dhcpv6.subscriber_id", id));
    }
    add("dhcpv6.msgtype", view.kind().to_string());
    add("dhcpv6.xid", format!("0x{:06x}", view.transaction()));
    view.options().for_each(|option| add("dhcpv6.option.type", option.code.to_string()));
    let duids = view.client().into_iter().chain(view.server());
    duids.for_each(|duid| add("dhcpv6.duid.bytes", hex(duid.0)));
    let status =
        |options: &v6::Options<'_>| options.value(v6::code::STATUS).map(|_| options.status().to_string());
    status(&view.options()).into_iter().for_each(|status| add("dhcpv6.status_code", status));
    for ia in view.associations() {
        add("dhcpv6.iaid", format!("{:08x}", ia.id));
        ia.options.clone().for_each(|option| add("dhcpv6.option.type", option.code.to_string()));
        status(&ia.options).into_iter().for_each(|status| add("dhcpv6.status_code", status));
        let is_prefix = ia.kind == v6::AssociationKind::Prefixes;
        for lease in ia.leases() {
            if is_prefix {
                add("dhcpv6.iaprefix.pref_addr", lease.address.to_string());
                add("dhcpv6.iaprefix.pref_len", lease.bits.to_string());
                add("dhcpv6.iaprefix.pref_lifetime", lease.preferred.to_string());
                add("dhcpv6.iaprefix.valid_lifetime", lease.valid.to_string());
            } else {
                add("dhcpv6.iaaddr.ip", lease.address.to_string());
                add("dhcpv6.iaaddr.pref_lifetime", lease.preferred.to_string());
                add("dhcpv6.iaaddr.valid_lifetime", lease.valid.to_string());
            }
        }
    }
    fields
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A capture of raw IP packets: what dnsmasq does not send.
fn by_hand() -> Vec<u8> {
    let relay_agent = [&[82, 17, 1, 4, 0, 4, 0, 9, 2, 3][..], b"r-1", &[6, 4], b"s\x2d42"].concat();
    let options = [&[53, 1, 5, 52, 1, 3, 12, 1, b'a', 51, 4, 0, 1, 81, 128][..], &relay_agent, &[0, 0, 255]];
    let overloaded = v4_message(&[12, 2, b'd', b'e', 255], &[12, 2, b'b', b'c', 255], &options.concat());
    let decline = [53, 1, 4, 50, 4, 192, 0, 2, 9, 54, 4, 192, 0, 2, 250, 255];
    let declined = v4_message(&[], &[], &decline);
    let prefix: Ipv6Addr = "2001:db8:70::".parse().unwrap();
    let address: Ipv6Addr = "2001:db8:7::9".parse().unwrap();
    let lifetimes = [0, 0, 0, 100, 0, 0, 0, 200];
    let ia = |code, id: u8, inner: &[u8]| option(code, &[&[0, 0, 0, id][..], &[0; 8], inner].concat());
    let client = option(1, &[0, 3, 0, 1, 2, 0, 0x5e, 0, 0, 1]);
    let reply = [
        vec![7, 1, 2, 3],
        client.clone(),
        option(2, &[0, 2, 0, 0, 0, 9, 1, 2]),
        ia(3, 5, &option(5, &[&address.octets()[..], &lifetimes].concat())),
        ia(25, 6, &option(26, &[&lifetimes[..], &[56], &prefix.octets()].concat())),
        ia(3, 7, &option(13, &[0, 2, b'n', b'o'])),
    ]
    .concat();
    let relayed = |kind: u8, hops: u8, message: &[u8], options: &[u8]| {
        let link: Ipv6Addr = "2001:db8:5::1".parse().unwrap();
        let peer: Ipv6Addr = "fe80::2".parse().unwrap();
        [&[kind, hops][..], &link.octets(), &peer.octets(), options, &option(9, message)].concat()
    };
    let added = [option(18, b"eth 0/7"), option(37, &[0, 0, 0, 9, b'r']), option(38, b"s1")].concat();
    let solicit = [vec![1, 1, 2, 3], client, ia(25, 6, &[])].concat();
    let nested = relayed(12, 1, &relayed(12, 0, &solicit, &added), &option(18, b"trunk"));
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        capture.extend(word.to_le_bytes());
    }
    let v6_messages = [relayed(13, 0, &reply, &option(18, b"eth 0/7")), nested, reply];
    let v4_messages = [overloaded, declined].map(|message| (67, ip_v4(), message));
    let v6_messages = v6_messages.map(|message| (547, ip_v6(), message));
    for (second, (port, mut packet, message)) in (1..).zip(v4_messages.into_iter().chain(v6_messages)) {
        let len = message.len() as u16 + 8;
        let [high, low] = if port == 67 { len + 20 } else { len }.to_be_bytes();
        let at = if port == 67 { 2 } else { 4 };
        packet[at..at + 2].copy_from_slice(&[high, low]);
        packet.extend([u16::to_be_bytes(port), u16::to_be_bytes(port), len.to_be_bytes(), [0; 2]].concat());
        packet.extend(message);
        for word in [second, 0, packet.len() as u32, packet.len() as u32] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend(packet);
    }
    capture
}

fn ip_v4() -> Vec<u8> {
    let ends = [Ipv4Addr::new(192, 0, 2, 250), Ipv4Addr::new(192, 0, 2, 1)].map(|end| end.octets());
    [&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0][..], &ends.concat()].concat()
}

fn ip_v6() -> Vec<u8> {
    let ends = ["2001:db8::250", "2001:db8::1"].map(|end| end.parse::<Ipv6Addr>().unwrap().octets());
    [&[0x60, 0, 0, 0, 0, 0, 17, 64][..], &ends.concat()].concat()
}

fn v4_message(sname: &[u8], file: &[u8], options: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 240];
    bytes[..12].copy_from_slice(&[2, 1, 6, 1, 0xde, 0xad, 0xbe, 0xef, 0, 7, 0, 0]);
    bytes[16..20].copy_from_slice(&[192, 0, 2, 9]);
    bytes[24..28].copy_from_slice(&[192, 0, 2, 1]);
    bytes[28..34].copy_from_slice(&[2, 0, 0x5e, 0, 0, 1]);
    bytes[44..44 + sname.len()].copy_from_slice(sname);
    bytes[108..108 + file.len()].copy_from_slice(file);
    bytes[236..].copy_from_slice(&[99, 130, 83, 99]);
    bytes.extend(options);
    bytes
}

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

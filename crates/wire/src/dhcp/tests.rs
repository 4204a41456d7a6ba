//! Messages byte by byte, and what hostile ones are refused for.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::v4::{self, Suboptions, code, relay};
use super::v6::{self, AssociationKind};
use super::*;

/// A message of DHCPv4 with these options, and these bytes in the fields `sname` and `file`.
fn message(options: &[u8], sname: &[u8], file: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 240];
    bytes[..12].copy_from_slice(&[1, 1, 6, 2, 0xde, 0xad, 0xbe, 0xef, 0, 7, 0, 0]);
    bytes[12..16].copy_from_slice(&[192, 0, 2, 1]);
    bytes[16..20].copy_from_slice(&[192, 0, 2, 2]);
    bytes[24..28].copy_from_slice(&[192, 0, 2, 4]);
    bytes[28..34].copy_from_slice(&[2, 0, 0x5e, 0, 0, 1]);
    bytes[44..44 + sname.len()].copy_from_slice(sname);
    bytes[108..108 + file.len()].copy_from_slice(file);
    bytes[236..].copy_from_slice(&[99, 130, 83, 99]);
    bytes.extend(options);
    bytes
}

#[test]
fn the_fields_of_a_message() {
    let options = [53, 1, 3, 0, 0, 51, 4, 0, 0, 14, 16, 54, 4, 192, 0, 2, 250, 255, 9, 9];
    let bytes = message(&options, &[], &[]);
    let view = v4::View::parse(&bytes).unwrap();
    assert_eq!((view.kind(), view.is_request(), view.hops()), (v4::kind::REQUEST, true, 2));
    assert_eq!((view.transaction(), view.seconds()), (0xdead_beef, 7));
    assert_eq!(view.ciaddr(), Ipv4Addr::new(192, 0, 2, 1));
    assert_eq!(view.yiaddr(), Ipv4Addr::new(192, 0, 2, 2));
    assert_eq!(view.giaddr(), Ipv4Addr::new(192, 0, 2, 4));
    assert_eq!(view.mac(), Some([2, 0, 0x5e, 0, 0, 1]));
    assert_eq!(view.number(code::LEASE_TIME), Some(3_600));
    assert_eq!(view.address(code::SERVER), Some(Ipv4Addr::new(192, 0, 2, 250)));
    assert_eq!((view.options().count(), view.find(code::CLIENT)), (3, None), "nothing counts behind the end");
}

#[test]
fn options_go_on_in_file_and_then_in_sname() {
    let (file, sname) = ([12, 2, b'b', b'c', 255], [12, 2, b'd', b'e', 53, 1, 1]);
    for (overload, expected) in [(1, &b"abc"[..]), (2, b"ade"), (3, b"abcde")] {
        let options = [53, 1, 3, 52, 1, overload, 12, 1, b'a', 255];
        let bytes = message(&options, &sname, &file);
        let view = v4::View::parse(&bytes).unwrap();
        assert_eq!(view.joined(code::HOST_NAME, &mut [0; 8]), Some(expected), "{overload}");
        assert_eq!(view.kind(), 3, "the first says it");
    }
    let bytes = message(&[53, 1, 3, 52, 1, 3, 12, 1, b'a'], &sname, &file);
    let view = v4::View::parse(&bytes).unwrap();
    assert_eq!(view.joined(code::HOST_NAME, &mut [0; 4]), None, "no room");
    let alone = message(&[53, 1, 3, 12, 1, b'a'], &sname, &file);
    let view = v4::View::parse(&alone).unwrap();
    assert_eq!(view.joined(code::HOST_NAME, &mut []), Some(&b"a"[..]), "one part needs no room");
}

#[test]
fn parts_of_what_a_relay_agent_adds() {
    // Split in the middle of the remote id, as one of more than 255 bytes is.
    let options = [53, 1, 5, 82, 7, 1, 2, 0, 9, 2, 3, b'r', 82, 5, b's', b't', 6, 1, b'x'];
    let bytes = message(&options, &[], &[]);
    let view = v4::View::parse(&bytes).unwrap();
    let mut room = [0; 64];
    let parts = Suboptions::new(view.joined(code::RELAY_AGENT, &mut room).unwrap());
    assert_eq!(parts.value(relay::CIRCUIT), Some(&[0, 9][..]));
    assert_eq!(parts.value(relay::REMOTE), Some(&b"rst"[..]));
    assert_eq!((parts.value(relay::SUBSCRIBER), parts.clone().count()), (Some(&b"x"[..]), 3));
    assert_eq!(Suboptions::new(&[1, 9, 0]).count(), 0);
}

#[test]
fn what_is_no_message_of_dhcpv4() {
    let refused = |bytes: &[u8]| v4::View::parse(bytes).unwrap_err();
    let bytes = message(&[53, 1, 3], &[], &[]);
    assert_eq!(refused(&bytes[..239]), ParseError::Truncated);
    assert_eq!(refused(&[&[3], &bytes[1..]].concat()), ParseError::UnknownType);
    assert_eq!(refused(&message(&[], &[], &[])), ParseError::NotDhcp, "BOOTP");
    assert_eq!(refused(&message(&[53, 2, 3, 3], &[], &[])), ParseError::NotDhcp);
    for broken in [&[53, 1, 3, 12][..], &[53, 1, 3, 12, 1], &[12, 200, 1]] {
        assert_eq!(refused(&message(broken, &[], &[])), ParseError::BadOption, "{broken:?}");
    }
    let in_sname = message(&[53, 1, 3, 52, 1, 2], &[[0; 62].as_slice(), &[12, 1]].concat(), &[]);
    assert_eq!(refused(&in_sname), ParseError::BadOption);
    let mut other = message(&[53, 1, 3], &[], &[]);
    other[237] = 0;
    assert_eq!(refused(&other), ParseError::NotDhcp);
    let mut long = message(&[53, 1, 3], &[], &[]);
    long[2] = 255;
    let view = v4::View::parse(&long).unwrap();
    assert_eq!((view.hardware_address().len(), view.mac()), (16, None));
}

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

fn relayed(message: &[u8], options: &[u8]) -> Vec<u8> {
    let link: Ipv6Addr = "2001:db8:5::1".parse().unwrap();
    let header = [&[v6::kind::RELAY_FORWARD, 1][..], &link.octets(), &[0xfe; 16]].concat();
    [header, options.to_vec(), option(v6::code::RELAY_MESSAGE, message)].concat()
}

/// A Reply with an address, a prefix that is taken back, and an association without any.
fn reply() -> Vec<u8> {
    let address: Ipv6Addr = "2001:db8:7::9".parse().unwrap();
    let prefix: Ipv6Addr = "2001:db8:70::".parse().unwrap();
    let lifetimes = [0, 0, 0, 100, 0, 0, 0, 200];
    let ia_address = option(v6::code::IA_ADDRESS, &[&address.octets()[..], &lifetimes].concat());
    let ia_prefix = option(
        v6::code::IA_PREFIX,
        &[&[0; 8][..], &[56], &prefix.octets(), &option(v6::code::STATUS, &[0, 4])].concat(),
    );
    let ia = |code, id: u8, inner: &[u8]| option(code, &[&[0, 0, 0, id][..], &[0; 8], inner].concat());
    [
        vec![v6::kind::REPLY, 1, 2, 3],
        option(v6::code::CLIENT, &[0, 3, 0, 1, 2, 0, 0x5e, 0, 0, 1]),
        option(v6::code::SERVER, &[0, 2, 9]),
        ia(v6::code::IA_NA, 5, &ia_address),
        ia(v6::code::IA_PD, 6, &ia_prefix),
        ia(v6::code::IA_NA, 7, &option(v6::code::STATUS, &[0, 2, b'n', b'o'])),
        option(v6::code::IA_TA, &[0, 0, 0, 8]),
        option(v6::code::IA_NA, &[0; 11]),
    ]
    .concat()
}

#[test]
fn addresses_and_prefixes_of_a_reply() {
    let bytes = reply();
    let view = v6::View::parse(&bytes).unwrap();
    assert_eq!((view.kind(), view.transaction(), view.status()), (v6::kind::REPLY, 0x01_0203, 0));
    assert_eq!(view.mac(), Some([2, 0, 0x5e, 0, 0, 1]));
    assert_eq!((view.server(), view.relays().count()), (Some(v6::Duid(&[0, 2, 9])), 0));
    let found: Vec<_> = view.associations().map(|ia| (ia.kind, ia.id, ia.status())).collect();
    let (addresses, prefixes) = (AssociationKind::Addresses, AssociationKind::Prefixes);
    let temporary = (AssociationKind::Temporary, 8, 0);
    assert_eq!(found, [(addresses, 5, 0), (prefixes, 6, 0), (addresses, 7, 2), temporary]);
    let leases: Vec<_> = view.associations().flat_map(|ia| ia.leases()).collect();
    assert_eq!(leases[0].address.to_string(), "2001:db8:7::9");
    assert_eq!((leases[0].bits, leases[0].preferred, leases[0].valid), (128, 100, 200));
    assert_eq!((leases[1].address.to_string().as_str(), leases[1].bits), ("2001:db8:70::", 56));
    assert_eq!((leases[1].valid, leases[1].status, leases.len()), (0, 4, 2));
}

#[test]
fn relays_are_walked_from_the_outermost() {
    let inner = [
        option(v6::code::INTERFACE, b"port 7"),
        option(v6::code::REMOTE, &[0, 0, 0, 9, b'r']),
        option(v6::code::SUBSCRIBER, b"s1"),
        option(v6::code::CLIENT_LINK_LAYER, &[0, 1, 2, 0, 0x5e, 0, 0, 2]),
    ];
    let bytes = relayed(&relayed(&reply(), &inner.concat()), &option(v6::code::INTERFACE, b"trunk"));
    let view = v6::View::parse(&bytes).unwrap();
    let relays: Vec<_> = view.relays().collect();
    assert_eq!((relays.len(), view.kind()), (2, v6::kind::REPLY));
    assert_eq!(relays[0].options.value(v6::code::INTERFACE), Some(&b"trunk"[..]));
    assert_eq!(relays[1].options.value(v6::code::INTERFACE), Some(&b"port 7"[..]));
    assert_eq!((relays[1].remote(), relays[0].remote()), (Some((9, &b"r"[..])), None));
    assert_eq!((relays[1].link.to_string().as_str(), relays[1].hops), ("2001:db8:5::1", 1));
    assert_eq!(view.mac(), Some([2, 0, 0x5e, 0, 0, 2]), "the relay saw it");
}

#[test]
fn what_is_no_message_of_dhcpv6() {
    let refused = |bytes: &[u8]| v6::View::parse(bytes).unwrap_err();
    assert_eq!(refused(&[]), ParseError::Truncated);
    assert_eq!(refused(&[1, 2, 3]), ParseError::Truncated);
    assert_eq!(refused(&[0, 2, 3, 4]), ParseError::UnknownType);
    assert_eq!(refused(&[14, 2, 3, 4]), ParseError::UnknownType, "LEASEQUERY");
    assert_eq!(refused(&[1, 2, 3, 4, 0, 1, 0, 2, 9]), ParseError::BadOption);
    assert_eq!(refused(&[1, 2, 3, 4, 0]), ParseError::BadOption);
    let lone = [&[v6::kind::RELAY_REPLY][..], &[0; 33], &option(v6::code::INTERFACE, b"x")].concat();
    assert_eq!(refused(&lone), ParseError::NoMessage);
    assert_eq!(refused(&lone[..33]), ParseError::Truncated);
    let mut deep = reply();
    for _ in 0..v6::MOST_RELAYS {
        deep = relayed(&deep, &[]);
    }
    assert_eq!(v6::View::parse(&deep).unwrap().relays().count(), v6::MOST_RELAYS);
    assert_eq!(refused(&relayed(&deep, &[])), ParseError::TooDeep);
}

#[test]
fn a_duid_tells_the_address_it_was_made_of() {
    let mac = |bytes: &[u8]| v6::Duid(bytes).mac();
    assert_eq!(mac(&[0, 1, 0, 1, 9, 9, 9, 9, 2, 0, 0, 0, 0, 1]), Some([2, 0, 0, 0, 0, 1]));
    assert_eq!(mac(&[0, 3, 0, 1, 2, 0, 0, 0, 0, 1]), Some([2, 0, 0, 0, 0, 1]));
    assert_eq!(mac(&[0, 3, 0, 6, 2, 0, 0, 0, 0, 1]), None, "not Ethernet");
    assert_eq!(mac(&[0, 2, 0, 1, 2, 0, 0, 0, 0, 1]), None, "an enterprise's");
    assert_eq!((mac(&[0, 3, 0, 1, 2]), mac(&[0])), (None, None));
}

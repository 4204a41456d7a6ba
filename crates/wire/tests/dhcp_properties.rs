//! Properties of the DHCP views: no bytes panic, and what an encoder writes reads back the same.

use std::net::Ipv6Addr;

use proptest::collection::vec;
use proptest::prelude::*;
use ringtap_wire::dhcp::v4::{self, Suboptions};
use ringtap_wire::dhcp::v6::{self, AssociationKind};

/// Reads everything that a message of DHCPv4 may say.
fn read_v4(bytes: &[u8]) -> usize {
    let Ok(view) = v4::View::parse(bytes) else { return 0 };
    let mut room = [0; 512];
    for code in 0..=u8::MAX {
        if let Some(value) = view.joined(code, &mut room) {
            let parts = view.options().filter(|option| option.code == code).map(|option| option.value.len());
            assert_eq!(value.len(), parts.sum::<usize>());
            assert!(Suboptions::new(value).count() <= value.len() / 2);
        }
    }
    let _ = (view.mac(), view.kind(), view.transaction(), view.ciaddr(), view.yiaddr(), view.giaddr());
    view.options().count()
}

/// Reads everything that a message of DHCPv6 may say.
fn read_v6(bytes: &[u8]) -> usize {
    let Ok(view) = v6::View::parse(bytes) else { return 0 };
    assert!(view.relays().count() <= v6::MOST_RELAYS);
    let _ = (view.mac(), view.kind(), view.transaction(), view.status(), view.client(), view.server());
    view.relays().for_each(|relay| _ = (relay.remote(), relay.options.clone().count()));
    let leases: usize = view.associations().map(|ia| ia.leases().count()).sum();
    assert!(leases <= bytes.len() / 28);
    view.options().count()
}

fn v4_options() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    let code = (1..255_u8).prop_filter("of the encoder", |code| ![52, 53].contains(code));
    vec((code, vec(any::<u8>(), 0..700)), 0..6)
}

/// Options behind each other, those longer than 255 bytes in parts (RFC 3396 section 6).
fn encoded(options: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![53, 1, 1];
    for (code, value) in options {
        let empty: &[u8] = &[];
        let parts = value.chunks(255).chain(value.is_empty().then_some(empty));
        parts.for_each(|part| bytes.extend([&[*code, part.len() as u8], part].concat()));
    }
    bytes.push(255);
    bytes
}

type Ia = (u32, Vec<([u8; 16], u8, u32, u32)>, bool);

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

fn association((id, leases, is_prefix): &Ia) -> Vec<u8> {
    let mut inner = [&id.to_be_bytes()[..], &[0; 8]].concat();
    for (address, bits, preferred, valid) in leases {
        let times = [preferred.to_be_bytes(), valid.to_be_bytes()].concat();
        inner.extend(match is_prefix {
            true => option(26, &[&times[..], &[*bits], address].concat()),
            false => option(5, &[&address[..], &times].concat()),
        });
    }
    option(if *is_prefix { 25 } else { 3 }, &inner)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..600), kind in 1..14_u8, op in 1..3_u8) {
        let _ = (read_v4(&bytes), read_v6(&bytes));
        let _ = read_v6(&[&[kind][..], &bytes].concat());
        let mut message = vec![0; 236];
        message[0] = op;
        let _ = read_v4(&[&message[..], &[99, 130, 83, 99, 53, 1, 1], &bytes].concat());
        let _ = read_v4(&[&message[..], &[99, 130, 83, 99, 53, 1, 1, 52, 1, op], &bytes].concat());
    }

    #[test]
    fn options_are_read_as_written(options in v4_options(), cut in any::<prop::sample::Index>()) {
        let mut bytes = vec![0; 236];
        bytes[0] = 1;
        bytes.extend([99, 130, 83, 99]);
        bytes.extend(encoded(&options));
        let view = v4::View::parse(&bytes).expect("whole options");
        let mut room = [0; 4_300];
        for (code, _) in &options {
            let parts = options.iter().filter(|(other, _)| other == code);
            let expected: Vec<u8> = parts.flat_map(|(_, value)| value.clone()).collect();
            prop_assert_eq!(view.joined(*code, &mut room), Some(&expected[..]));
        }
        read_v4(&bytes[..cut.index(bytes.len())]);
    }

    #[test]
    fn leases_within_relays_are_read_as_written(
        ias in vec((any::<u32>(), vec((any::<[u8; 16]>(), 0..=128_u8, any::<u32>(), any::<u32>()), 0..5),
            any::<bool>()), 0..4),
        relays in vec((any::<[u8; 16]>(), any::<[u8; 16]>(), vec(any::<u8>(), 0..20)), 0..=v6::MOST_RELAYS),
        damage in (any::<prop::sample::Index>(), any::<u8>()),
    ) {
        let mut bytes = vec![7, 0, 0, 9];
        ias.iter().for_each(|ia| bytes.extend(association(ia)));
        for (link, peer, interface) in &relays {
            let header = [&[13, 0][..], link, peer].concat();
            bytes = [header, option(18, interface), option(9, &bytes)].concat();
        }
        let view = v6::View::parse(&bytes).expect("whole options");
        let found: Vec<Ia> = view.associations().map(|ia| {
            let is_prefix = ia.kind == AssociationKind::Prefixes;
            let leases = ia.leases().map(|lease| {
                let address: Ipv6Addr = lease.address;
                (address.octets(), lease.bits, lease.preferred, lease.valid)
            });
            (ia.id, leases.collect(), is_prefix)
        }).collect();
        let expected: Vec<Ia> = ias.iter().map(|(id, leases, is_prefix)| {
            let bits = |bits: u8| if *is_prefix { bits } else { 128 };
            let leases = leases.iter().map(|lease| (lease.0, bits(lease.1), lease.2, lease.3));
            (*id, leases.collect(), *is_prefix)
        }).collect();
        prop_assert_eq!(found, expected);
        let walked: Vec<_> = view.relays().map(|relay| (relay.link.octets(), relay.peer.octets())).collect();
        let expected: Vec<_> = relays.iter().rev().map(|(link, peer, _)| (*link, *peer)).collect();
        prop_assert_eq!(walked, expected);
        let at = damage.0.index(bytes.len());
        bytes[at] = damage.1;
        read_v6(&bytes);
        read_v6(&bytes[..at]);
    }
}

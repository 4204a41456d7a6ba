//! Properties of the RADIUS view: no bytes panic, and what an encoder writes reads back the same.

use proptest::collection::vec;
use proptest::prelude::*;
use ringtap_wire::radius::number::vendor;
use ringtap_wire::radius::{Number, View, looks_like_radius, total_len};

/// One or more attributes of one container, as they are expected back: number, value, whether it continues.
#[derive(Clone, Debug)]
struct Container {
    bytes: Vec<u8>,
    expected: Vec<(Number, Vec<u8>, bool)>,
}

fn attribute(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[kind, value.len() as u8 + 2], value].concat()
}

fn standard() -> impl Strategy<Value = Container> {
    let kind = any::<u8>().prop_filter("containers", |kind| *kind != 26 && !(241..=246).contains(kind));
    (kind, vec(any::<u8>(), 0..60)).prop_map(|(kind, value)| Container {
        bytes: attribute(kind, &value),
        expected: vec![(Number::standard(kind), value, false)],
    })
}

/// Attributes of vendors in each layout (RFC 2865 section 5.26 and what vendors made of it).
fn of_a_vendor() -> impl Strategy<Value = Container> {
    let vendors = prop_oneof![
        Just(vendor::USR),
        Just(vendor::LUCENT),
        Just(vendor::STARENT),
        Just(vendor::WIMAX),
        Just(vendor::TGPP),
        10_000..60_000_u32
    ];
    let inner = vec((any::<u16>(), vec(any::<u8>(), 0..30), any::<bool>()), 1..5);
    (
        vendors.prop_filter("layouts of others", |id| ![16445, 24757].contains(id) || *id == vendor::WIMAX),
        inner,
    )
        .prop_map(|(id, inner)| {
            let mut content = id.to_be_bytes().to_vec();
            let mut expected = Vec::new();
            for (kind, value, more) in inner.into_iter().take(if id == vendor::USR { 1 } else { 5 }) {
                let [high, low] = kind.to_be_bytes();
                let len = value.len() as u8;
                let (header, kind, more) = match id {
                    vendor::USR => (vec![0, 0, high, low], kind, false),
                    vendor::LUCENT => (vec![high, low, len + 3], kind, false),
                    vendor::STARENT => (vec![high, low, 0, len + 4], kind, false),
                    vendor::WIMAX => (vec![low, len + 3, u8::from(more) << 7], u16::from(low), more),
                    _ => (vec![low, len + 2], u16::from(low), false),
                };
                content.extend(header);
                content.extend(&value);
                expected.push((Number::vendor(id, kind.into()), value, more));
            }
            Container { bytes: attribute(26, &content), expected }
        })
}

fn extended() -> impl Strategy<Value = Container> {
    let kind = any::<u8>().prop_filter("vendors have a test of their own", |kind| *kind != 26);
    let vendor = proptest::option::of((any::<u32>(), any::<u8>()));
    (241..=246u8, kind, vendor, vec(any::<u8>(), 0..60), any::<bool>()).prop_map(
        |(space, kind, vendor, value, more)| {
            let is_long = space > 244;
            let mut content = vec![if vendor.is_some() { 26 } else { kind }];
            content.extend(is_long.then_some(u8::from(more) << 7));
            let number = match vendor {
                Some((vendor, kind)) => {
                    content.extend(vendor.to_be_bytes());
                    content.push(kind);
                    Number { space, vendor, kind: kind.into() }
                }
                None => Number::extended(space, kind),
            };
            content.extend(&value);
            Container { bytes: attribute(space, &content), expected: vec![(number, value, more && is_long)] }
        },
    )
}

fn containers() -> impl Strategy<Value = Vec<Container>> {
    vec(prop_oneof![standard(), of_a_vendor(), extended()], 0..12)
}

fn packet(code: u8, identifier: u8, authenticator: [u8; 16], containers: &[Container]) -> Vec<u8> {
    let attributes: Vec<u8> = containers.iter().flat_map(|container| container.bytes.clone()).collect();
    let mut bytes = vec![code, identifier];
    bytes.extend((20 + attributes.len() as u16).to_be_bytes());
    bytes.extend(authenticator);
    bytes.extend(attributes);
    bytes
}

fn code() -> impl Strategy<Value = u8> {
    prop_oneof![1..=5u8, 11..=13u8, 40..=45u8]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn a_packet_reads_back(code in code(), header in any::<(u8, [u8; 16])>(), containers in containers(),
        padding in 0..9usize) {
        let (identifier, authenticator) = header;
        let bytes = packet(code, identifier, authenticator, &containers);
        prop_assert_eq!(looks_like_radius(&bytes), !containers.is_empty());
        let padded = [&bytes[..], &vec![0; padding]].concat();
        let view = View::parse(&padded).expect("a packet");
        prop_assert_eq!((view.code(), view.identifier()), (code, identifier));
        prop_assert_eq!((view.authenticator(), view.bytes()), (&authenticator, &bytes[..]));
        let expected: Vec<_> = containers.into_iter().flat_map(|container| container.expected).collect();
        let found: Vec<_> = view
            .attributes()
            .map(|attribute| (attribute.number, attribute.value.to_vec(), attribute.more))
            .collect();
        prop_assert_eq!(found, expected);
    }

    /// A stream is cut wherever its lengths say, however it arrives.
    #[test]
    fn a_stream_gives_its_packets(packets in vec((code(), any::<(u8, [u8; 16])>(), containers()), 1..5)) {
        let packets: Vec<Vec<u8>> = packets
            .into_iter()
            .map(|(code, (identifier, authenticator), containers)| {
                packet(code, identifier, authenticator, &containers)
            })
            .collect();
        let stream = packets.concat();
        let (mut at, mut found) = (0, Vec::new());
        while at < stream.len() {
            for cut in 0..4 {
                prop_assert_eq!(total_len(&stream[at..at + cut]), Ok(None));
            }
            let len = total_len(&stream[at..]).expect("in step").expect("four bytes");
            found.push(stream[at..at + len].to_vec());
            at += len;
        }
        prop_assert_eq!(found, packets);
    }

    /// Damaged packets: nothing panics, and every value lies in the packet.
    #[test]
    fn hostile_bytes(containers in containers(), code in code(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), secret in vec(any::<u8>(), 0..80)) {
        let mut bytes = packet(code, 1, [9; 16], &containers);
        for (index, byte) in damage {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let Ok(view) = View::parse(&bytes) else { return Ok(()) };
        let mut walked = 20;
        for attribute in view.attributes() {
            prop_assert!(attribute.at >= walked, "in order");
            walked = attribute.at + attribute.value.len();
            prop_assert_eq!(bytes.get(attribute.at..walked), Some(attribute.value));
            let _ = (attribute.integer(), attribute.integer64(), attribute.text(), attribute.address());
            let _ = (attribute.ipv6_prefix(), attribute.route(), attribute.interface_id());
            prop_assert!(attribute.tlvs().count() <= attribute.value.len() / 2);
        }
        prop_assert!(walked <= view.bytes().len());
        let _ = view.check(&secret, Some(&[7; 16])).verdict();
    }

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(view) = View::parse(&bytes) {
            prop_assert!(view.attributes().count() <= bytes.len());
        }
        let _ = looks_like_radius(&bytes);
    }
}

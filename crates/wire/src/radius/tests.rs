use super::number::vendor;
use super::*;

/// A packet of these attributes, under an authenticator of zeros.
fn packet(code: u8, attributes: &[&[u8]]) -> Vec<u8> {
    let attributes = attributes.concat();
    let mut bytes = vec![code, 7];
    bytes.extend((20 + attributes.len() as u16).to_be_bytes());
    bytes.extend([0; 16]);
    bytes.extend(attributes);
    bytes
}

fn attribute(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[kind, value.len() as u8 + 2], value].concat()
}

/// Vendor-Specific with this content.
fn specific(vendor: u32, content: &[u8]) -> Vec<u8> {
    attribute(26, &[&vendor.to_be_bytes(), content].concat())
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

fn walked(bytes: &[u8]) -> Vec<(Number, Vec<u8>, bool)> {
    let view = View::parse(bytes).unwrap();
    let mut walked = Vec::new();
    for Attribute { number, value, at, more } in view.attributes() {
        assert_eq!(&bytes[at..at + value.len()], value, "{number:?} is where it says");
        walked.push((number, value.to_vec(), more));
    }
    walked
}

#[test]
fn attributes_come_in_order_each_with_its_number() {
    let bytes = packet(1, &[&attribute(1, b"bob"), &attribute(31, b""), &attribute(1, b"eve")]);
    assert_eq!(
        walked(&bytes),
        [
            (number::USER_NAME, b"bob".to_vec(), false),
            (number::CALLING_STATION_ID, vec![], false),
            (number::USER_NAME, b"eve".to_vec(), false),
        ]
    );
}

#[test]
fn vendors_lay_out_their_attributes_in_their_own_ways() {
    /// Vendor, content, and the attributes in it.
    type Case = (u32, &'static [u8], &'static [(u32, &'static [u8])]);
    let cases: [Case; 10] = [
        (vendor::TGPP, &[1, 5, b'2', b'6', b'2', 20, 3, b'x'], &[(1, b"262"), (20, b"x")]),
        (vendor::ERX, &[2, 4, 9, 9], &[(2, &[9, 9])]),
        (vendor::USR, &[0, 0, 0x98, 0x0a, 1, 2, 3, 4], &[(0x980a, &[1, 2, 3, 4])]),
        (vendor::LUCENT, &[1, 2, 5, 9, 9], &[(0x102, &[9, 9])]),
        (vendor::STARENT, &[1, 41, 0, 8, 192, 0, 2, 9], &[(297, &[192, 0, 2, 9])]),
        (vendor::STARENT, &[9, 3, 5], &[(9, &[5])]),
        (vendor::WIMAX, &[1, 4, 0, 7], &[(1, &[7])]),
        (vendor::ADSL_FORUM, &[1, 4, b'a', b'b'], &[(1, b"ab")]),
        (12345, &[1, 9, 7], &[(0, &[1, 9, 7])]),
        (12345, &[], &[(0, &[])]),
    ];
    for (vendor, content, expected) in cases {
        let bytes = packet(4, &[&specific(vendor, content), &attribute(1, b"b")]);
        let mut all: Vec<_> = expected
            .iter()
            .map(|(kind, value)| (Number::vendor(vendor, *kind), value.to_vec(), false))
            .collect();
        all.push((number::USER_NAME, b"b".to_vec(), false));
        assert_eq!(walked(&bytes), all, "{vendor} {content:?}");
    }
}

#[test]
fn values_that_continue_say_so() {
    let wimax = packet(2, &[&specific(vendor::WIMAX, &[1, 4, 0x80, 7]), &attribute(245, &[3, 0x80, 9, 9])]);
    assert_eq!(
        walked(&wimax),
        [(Number::vendor(vendor::WIMAX, 1), vec![7], true), (Number::extended(245, 3), vec![9, 9], true)]
    );
}

#[test]
fn extended_attributes_have_a_space_of_their_own() {
    let port_range = [6, 9, 4, 4, 0, 10, 4, 7, 255];
    let specific = [26, 0, 0, 0, 9, 3, b'x'];
    let bytes = packet(4, &[&attribute(241, &port_range), &attribute(243, &specific), &attribute(244, &[])]);
    let found = walked(&bytes);
    assert_eq!(found[0].0, number::IP_PORT_RANGE);
    assert_eq!(found[1].0, Number { space: 243, vendor: 9, kind: 3 });
    assert_eq!(found[1].1, b"x");
    assert_eq!(found[2].0, Number::standard(244), "not even its header is whole");
    let view = View::parse(&bytes).unwrap();
    let tlvs: Vec<_> = view.attributes().next().unwrap().tlvs().collect();
    assert_eq!(tlvs, [(9, &[4, 0][..]), (10, &[7, 255][..])]);
}

#[test]
fn values_are_read_by_their_types() {
    let bytes = packet(
        4,
        &[
            &attribute(8, &[192, 0, 2, 9]),
            &attribute(97, &hex("00382001 0db8 0000 01ff".replace(' ', "").as_str())),
            &attribute(97, &[0, 129]),
            &attribute(97, &[0, 64, 0x20]),
            &attribute(168, &hex("20010db8000000000000000000000001")),
            &attribute(55, &[0x41, 0xe6, 0xb5, 0x4a]),
            &attribute(1, b"b\xff"),
            &attribute(87, b"eth0\0"),
            &attribute(22, b"192.0.2.0/25 192.0.2.9 1"),
            &attribute(22, b"192.0.2.0 192.0.2.9"),
            &attribute(99, b"2001:db8::/40"),
            &attribute(99, b"2001:db8::/129"),
            &attribute(96, &[1, 2, 3, 4, 5, 6, 7, 8]),
        ],
    );
    let all: Vec<Attribute<'_>> = View::parse(&bytes).unwrap().attributes().collect();
    assert_eq!(all[0].ipv4(), Some([192, 0, 2, 9].into()));
    assert_eq!((all[0].integer(), all[0].ipv6(), all[0].integer64()), (Some(0xc000_0209), None, None));
    assert_eq!(all[1].ipv6_prefix(), Some(("2001:db8:0:100::".parse().unwrap(), 56)), "later bits cleared");
    assert_eq!((all[2].ipv6_prefix(), all[3].ipv6_prefix()), (None, None));
    assert_eq!(all[4].address().unwrap().to_string(), "2001:db8::1");
    assert_eq!(all[5].time(), Some(1_105_638_730));
    assert_eq!((all[6].text(), all[7].text()), (None, Some("eth0")));
    assert_eq!(all[8].route(), Some(([192, 0, 2, 0].into(), 25)));
    assert_eq!(all[9].route(), Some(([192, 0, 2, 0].into(), 24)), "a network of class C");
    assert_eq!(all[10].route(), Some(("2001:db8::".parse().unwrap(), 40)));
    assert_eq!(all[11].route(), None);
    assert_eq!(all[12].interface_id(), Some([1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!(av_pair("client-mac-address=5254.0003.3cfe"), Some(("client-mac-address", "5254.0003.3cfe")));
    assert_eq!(av_pair("ip:addr*192.0.2.1"), Some(("ip:addr", "192.0.2.1")));
    assert_eq!(av_pair("none"), None);
}

#[test]
fn what_is_not_radius_says_why() {
    let reason = |bytes: &[u8]| View::parse(bytes).map(|_| ()).unwrap_err();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = packet(1, &[&attribute(1, b"bob")]);
        change(&mut bytes);
        reason(&bytes)
    };
    assert_eq!(with(&|bytes| bytes[0] = 6), ParseError::UnknownCode);
    assert_eq!(with(&|bytes| bytes[3] = 19), ParseError::BadLength);
    assert_eq!(with(&|bytes| bytes[3] = 26), ParseError::Truncated);
    assert_eq!(with(&|bytes| bytes[3] = 24), ParseError::BadAttribute);
    assert_eq!(with(&|bytes| bytes[21] = 1), ParseError::BadAttribute);
    assert_eq!(with(&|bytes| bytes[21] = 6), ParseError::BadAttribute);
    assert_eq!(reason(&[1, 0, 0]), ParseError::Truncated);
    assert_eq!(reason(b""), ParseError::Truncated);
}

#[test]
fn framing_of_a_stream_and_padding_of_a_datagram() {
    let first = packet(4, &[&attribute(44, b"S1")]);
    let stream = [&first[..], &packet(5, &[])].concat();
    assert_eq!(total_len(&stream), Ok(Some(first.len())));
    assert_eq!(View::parse(&stream).unwrap().bytes(), first, "what follows is the next one's");
    assert_eq!(total_len(&stream[first.len()..]), Ok(Some(20)));
    assert_eq!((total_len(&[]), total_len(&[4, 0, 0])), (Ok(None), Ok(None)));
    assert_eq!(total_len(b"GET "), Err(ParseError::UnknownCode));
    assert!(looks_like_radius(&first));
    assert!(!looks_like_radius(&stream), "a datagram of any port has no padding");
    assert!(!looks_like_radius(&packet(5, &[])), "without attributes it may be anything");
}

/// RFC 2865 section 7.1: the Access-Accept to the user `nemo`.
#[test]
fn the_example_of_rfc_2865_is_right() {
    let request = hex(concat!(
        "010000380f403f9473978057bd83d5cb98f4227a01066e656d6f02120dbe708d93d413ce3196e43f782a0aee",
        "0406c0a80110050600000003"
    ));
    let accept = hex("0200002686fe220e7624ba2a1005f6bf9b55e0b20606000000010f06000000000e06c0a80103");
    let (request, accept) = (View::parse(&request).unwrap(), View::parse(&accept).unwrap());
    let check = accept.check(b"xyzzy5461", Some(request.authenticator()));
    assert_eq!((check.authenticator, check.message_authenticator), (Verdict::Right, Verdict::Unchecked));
    assert_eq!(accept.check(b"xyzzy5462", Some(request.authenticator())).verdict(), Verdict::Wrong);
    assert_eq!(accept.check(b"xyzzy5461", None).verdict(), Verdict::Unchecked);
    assert_eq!(request.check(b"xyzzy5461", None).verdict(), Verdict::Unchecked, "random");
}

/// Made with Python's hashlib and hmac, the secret `testing123`.
#[test]
fn authenticators_of_another_implementation_are_right() {
    let request = hex(concat!(
        "0109002b000102030405060708090a0b0c0d0e0f",
        "0105626f62501233128a16b2b5b4adcc295b7646e2991b"
    ));
    let accept = hex(concat!(
        "0209002ce8d75803fc09d1f83c2b7fc5a0ccd780",
        "0806c0000207501259b7b966cafb70d20a7ba892f3e6a379"
    ));
    let accounting = hex("040a001ebc35f7e7e6308fab1e93d565e30846702806000000012c045331");
    let disconnect = hex(concat!(
        "280b002a70708449f8aa3d64e3ee29937a061a31",
        "2c04533150128d856fd709aa5ca07ed6a097e975ae3d"
    ));
    let ack = hex("290b002636411339501405fa1f50176a3e2d739c5012f9f1b29c0b97515b897a41607f180477");
    let (right, none) = (Verdict::Right, Verdict::Unchecked);
    for (bytes, asked, authenticator, message) in [
        (&request, None, none, right),
        (&accept, Some(&request), right, right),
        (&accounting, None, right, none),
        (&disconnect, None, right, right),
        (&ack, Some(&disconnect), right, right),
    ] {
        let asked: Option<&[u8; 16]> = asked.map(|asked| View::parse(asked).unwrap().authenticator());
        let check = View::parse(bytes).unwrap().check(b"testing123", asked);
        assert_eq!((check.authenticator, check.message_authenticator), (authenticator, message));
        assert_eq!(check.verdict(), right);
        for at in 4..bytes.len() {
            // Identifiers and values count; a type or a length that changes makes another packet.
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            let Ok(view) = View::parse(&changed) else { continue };
            let verdict = view.check(b"testing123", asked).verdict();
            let hidden = view.find(number::MESSAGE_AUTHENTICATOR).is_none();
            assert!(verdict == Verdict::Wrong || hidden && verdict == none, "{at}: {verdict:?}");
        }
    }
}

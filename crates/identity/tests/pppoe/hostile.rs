//! What a client alone cannot do: get an address, give one away, or take one from others.

use proptest::collection::vec;
use proptest::prelude::*;
use ringtap_testing::pppoe::*;

use crate::wire::*;
use Side::{Client, Concentrator};

const ADDRESS: [u8; 4] = [203, 0, 113, 7];

#[test]
fn an_acknowledgement_of_the_client_is_of_the_other_sides_address() {
    let (mut wire, ana, eve) = (Wire::new(), Link::new(1, 15), Link::new(2, 16));
    wire.login(10, &ana, "ana", ADDRESS);
    wire.login(11, &eve, "eve", [203, 0, 113, 9]);
    let address = [&[3, 6][..], &ADDRESS].concat();
    wire.frame(20, &eve.control(Client, IPCP, (1, 9), &address));
    wire.frame(20, &eve.control(Client, IPCP, (2, 9), &address));
    // As another session of the concentrator.
    let other = Link { session: 17, ..eve.clone() };
    wire.frame(21, &other.control(Client, IPCP, (2, 9), &address));
    assert_eq!(who(&wire.close(), "203.0.113.7", 30), ["ana"]);
}

#[test]
fn an_end_that_nobody_asked_for_ends_nothing() {
    let (mut wire, link) = (Wire::new(), Link::new(1, 15));
    wire.login(10, &link, "ana", ADDRESS);
    wire.frame(20, &link.control(Client, LCP, (6, 4), &[]));
    // It asks, and acknowledges itself; and another identifier, another protocol.
    wire.frame(21, &link.control(Client, LCP, (5, 4), &[]));
    wire.frame(21, &link.control(Client, LCP, (6, 4), &[]));
    wire.frame(22, &link.control(Concentrator, LCP, (6, 5), &[]));
    wire.frame(22, &link.control(Concentrator, IPCP, (6, 4), &[]));
    // PADT of another session, of another client, and in another VLAN.
    wire.frame(23, &link.discovery(Client, PADT, 14, &[]));
    wire.frame(23, &Link::new(2, 15).discovery(Client, PADT, 15, &[]));
    wire.frame(23, &Link { vlans: vec![8], ..link.clone() }.discovery(Client, PADT, 15, &[]));
    assert_eq!(wire.sessions.records().count(), 1);
    wire.frame(24, &link.discovery(Concentrator, PADT, 15, &[]));
    assert_eq!(wire.sessions.records().count(), 0);
}

/// Before it is let in, it sends what only a concentrator sends, under each session id that it may get; and
/// the name of somebody else afterwards.
#[test]
fn which_side_is_the_client_and_who_it_is_is_the_concentrators_word() {
    let (mut wire, link) = (Wire::new(), Link::new(1, 15));
    wire.frame(9, &link.control(Client, PAP, (2, 9), &[0]));
    wire.login(10, &link, "ana", ADDRESS);
    wire.frame(20, &link.control(Client, PAP, (1, 10), b"\x03bob\x00"));
    wire.frame(21, &link.control(Client, PAP, (2, 10), &[0]));
    wire.frame(22, &link.control(Concentrator, IPCP, (2, 3), &[&[3, 6][..], &ADDRESS].concat()));
    let records = wire.close();
    assert_eq!((records.len(), records[0].names.join(" ")), (1, "ana 02:00:5e:00:00:01".to_owned()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Any byte of any frame changed, any cut: nothing panics, and what is not of PPPoE counts nowhere.
    #[test]
    fn no_bytes_panic(
        changes in vec((0..16_usize, any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 0..12),
        rubbish in vec(any::<u8>(), 0..80),
    ) {
        let (mut wire, link) = (Wire::new(), Link::new(1, 15));
        for (at, mut frame) in link.login("ana", ADDRESS, &line("eth", "x")).into_iter().enumerate() {
            for (_, index, byte, cuts) in changes.iter().filter(|change| change.0 == at) {
                let index = index.index(frame.len());
                frame[index] = *byte;
                frame.truncate(if *cuts { index.max(1) } else { frame.len() });
            }
            wire.frame(10, &frame);
        }
        wire.frame(11, &link.session(Client, IPCP, &rubbish));
        wire.frame(11, &link.discovery(Client, 9, 0, &rubbish));
        wire.frame(12, &rubbish);
        let counts = wire.sessions.counts().pppoe;
        prop_assert!(counts.frames + counts.malformed <= 19);
        prop_assert!(wire.close().len() <= 2);
    }
}

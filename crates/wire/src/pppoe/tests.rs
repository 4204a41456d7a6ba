use super::*;
use crate::frame::link::{ETHERNET, LINUX_SLL};

const CLIENT: [u8; 6] = [2, 0, 0x5e, 0, 0, 1];
const SERVER: [u8; 6] = [2, 0, 0x5e, 0, 0, 2];

fn frame(tags: &[u8], discovery: bool, code: u8, session: u16, payload: &[u8]) -> Vec<u8> {
    let kind = [0x88, if discovery { 0x63 } else { 0x64 }];
    let length = (payload.len() as u16).to_be_bytes();
    let head = [&[0x11, code][..], &session.to_be_bytes(), &length].concat();
    [&SERVER[..], &CLIENT, tags, &kind, &head, payload].concat()
}

fn tag(kind: u16, value: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

#[test]
fn discovery_has_its_tags_and_the_line() {
    let line = [&[0, 0, 0x0d, 0xe9, 1, 9][..], b"eth 0/7:1", &[2, 4], b"ana1"].concat();
    let payload = [tag(0x0101, b""), tag(0x0105, b"\0\0\0\x09x"), tag(0x0105, &line), tag(0x0102, b"bng")];
    let payload = [&payload.concat()[..], &[0, 0, 0, 0], b"rubbish"].concat();
    // A service tag, a priority, a customer's tag.
    let tags = [0x88, 0xa8, 0x20, 0x64, 0x81, 0, 0xe0, 0, 0x81, 0, 0, 7];
    let bytes = frame(&tags, true, code::PADR, 0, &payload);
    let view = View::parse(ETHERNET, &[&bytes[..], &[0; 20]].concat()).map(|view| {
        assert_eq!((view.src(), view.dst(), view.code(), view.session()), (CLIENT, SERVER, code::PADR, 0));
        assert_eq!(view.vlans().iter().collect::<Vec<_>>(), [100, 7]);
        assert_eq!(view.tags().map(|(kind, _)| kind).collect::<Vec<_>>(), [0x101, 0x105, 0x105, 0x102]);
        assert_eq!(view.concentrator(), Some(&b"bng"[..]));
        // The tag of another vendor is passed over.
        assert_eq!((view.circuit(), view.remote()), (Some(&b"eth 0/7:1"[..]), Some(&b"ana1"[..])));
        assert_eq!(view.control(), None);
    });
    assert_eq!(view, Ok(()));
    assert!(is_control(ETHERNET, &bytes) && !is_control(LINUX_SLL, &bytes));
}

#[test]
fn what_is_broken_says_why() {
    let parse = |bytes: &[u8]| View::parse(ETHERNET, bytes).map(|_| ());
    let whole = frame(&[], true, code::PADI, 0, &tag(0x0101, b"x"));
    assert_eq!(parse(&whole), Ok(()));
    for cut in 0..whole.len() {
        let expected = if cut < 14 { ParseError::NotPppoe } else { ParseError::Truncated };
        assert_eq!(parse(&whole[..cut]), Err(expected), "{cut}");
    }
    assert_eq!(parse(&frame(&[], true, code::PADI, 0, &[1, 1, 0, 9, 0])), Err(ParseError::BadTag));
    assert_eq!(parse(&frame(&[], true, code::PADI, 0, &[1, 1])), Err(ParseError::BadTag));
    assert_eq!(parse(&frame(&[], true, code::SESSION, 1, &[])), Err(ParseError::BadVersion));
    assert_eq!(parse(&frame(&[], false, code::PADT, 1, &[])), Err(ParseError::BadVersion));
    let mut other = whole.clone();
    other[14] = 0x21;
    assert_eq!(parse(&other), Err(ParseError::BadVersion));
    let five = [0x81, 0, 0, 1].repeat(5);
    assert_eq!(parse(&frame(&five, true, code::PADI, 0, &[])), Err(ParseError::NotPppoe));
    assert_eq!(parse(&frame(&five[..16], true, code::PADI, 0, &[])), Ok(()));
}

#[test]
fn control_protocols_are_told_from_packets_and_read() {
    let of = |payload: &[u8]| frame(&[], false, code::SESSION, 7, payload);
    assert!(!is_control(ETHERNET, &of(&[0, 0x21, 0x45])), "IPv4");
    assert!(is_control(ETHERNET, &of(&[0x80, 0x57, 1, 1, 0, 4])));
    let control = |payload: &[u8]| {
        let bytes = of(payload);
        View::parse(ETHERNET, &bytes).ok().and_then(|view| view.control()).map(|control| {
            let options = control.options().map(|(kind, value)| (kind, value.to_vec()));
            (control.code, options.collect::<Vec<_>>(), control.peer_name().map(<[u8]>::to_vec))
        })
    };
    let ack = [0x80, 0x21, 2, 9, 0, 16, 2, 6, 0, 0x2d, 15, 1, 3, 6, 192, 0, 2, 9];
    let options = vec![(2, vec![0, 0x2d, 15, 1]), (3, vec![192, 0, 2, 9])];
    assert_eq!(control(&ack), Some((2, options, None)));
    // An option of a length that cannot be ends them, and so does one that is longer than the packet.
    assert_eq!(control(&[0x80, 0x21, 2, 9, 0, 8, 3, 1, 0, 0]), Some((2, vec![], None)));
    assert_eq!(control(&[0x80, 0x21, 2, 9, 0, 8, 3, 6, 192, 0]), Some((2, vec![], None)));
    assert_eq!(control(&[0x80, 0x21, 2, 9, 0, 3]), None);
    assert_eq!(control(&ack[..17]), None);
    let pap = [&[0xc0, 0x23, 1, 1, 0, 12, 3][..], b"ana", &[3], b"pw!"].concat();
    assert_eq!(control(&pap), Some((1, vec![], Some(b"ana".to_vec()))));
    let chap = [&[0xc2, 0x23, 2, 1, 0, 10, 2, 0xaa, 0xbb][..], b"ana"].concat();
    assert_eq!(control(&chap), Some((2, vec![], Some(b"ana".to_vec()))));
    assert_eq!(control(&[0xc2, 0x23, 2, 1, 0, 6, 9, 0xaa]), Some((2, vec![], None)));
    assert_eq!(control(&[0xc2, 0x23, 3, 1, 0, 4]), Some((3, vec![], None)));
}

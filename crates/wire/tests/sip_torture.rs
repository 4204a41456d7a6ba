//! The torture messages of RFC 4475 and RFC 5118, and what each is there to show.
#![expect(clippy::unwrap_used, reason = "a test: what fails shows")]

mod common;

use std::path::PathBuf;

use common::ask_all;
use ringtap_wire::sdp::Sdp;
use ringtap_wire::sip::{
    Framing, Header, HeaderField, Message, Method, NameAddr, ParseError, StartLine, framing, sniff, unfolded,
};

/// The folder of torture messages; None, and the test is skipped, where it is absent.
#[track_caller]
fn folder() -> Option<PathBuf> {
    ringtap_testing::shared().map(|shared| shared.join("captures/torture"))
}

/// A message as it is on the wire: RFC 5118's archive has bare line feeds, and three messages differ for it.
fn on_wire(name: &str) -> Option<Vec<u8>> {
    read(&name.replace("rfc5118/", "rfc5118/wire/"))
}

fn read(name: &str) -> Option<Vec<u8>> {
    folder().map(|folder| std::fs::read(folder.join(name)).unwrap())
}

/// One row of the index.
struct Row {
    file: String,
    class: String,
    start_line: Vec<u8>,
    call_id: Vec<u8>,
    cseq: String,
}

fn index() -> Vec<Row> {
    let Some(folder) = folder() else { return Vec::new() };
    let text = std::fs::read(folder.join("INDEX.tsv")).unwrap();
    let rows = text.split(|&b| b == b'\n').skip(1).filter(|line| !line.is_empty());
    let row = |line: &[u8]| {
        let columns: Vec<&[u8]> = line.split(|&b| b == b'\t').collect();
        let text = |n: usize| String::from_utf8_lossy(columns[n]).into_owned();
        Row {
            file: text(0),
            class: text(3),
            start_line: columns[6].to_vec(),
            call_id: columns[7].to_vec(),
            cseq: columns
                .get(8)
                .map(|cseq| String::from_utf8_lossy(cseq).trim_end().to_owned())
                .unwrap_or_default(),
        }
    };
    rows.map(row).collect()
}

#[test]
fn valid_ones_say_what_the_index_says() {
    let mut valid = 0;
    for row in index().iter().filter(|row| row.class.starts_with("valid") || row.class == "tolerate") {
        let bytes = on_wire(&row.file).unwrap();
        assert_eq!(sniff(&bytes), Some(0), "{}", row.file);
        let message = Message::parse(&bytes).unwrap();
        // The index shortens what is very long.
        assert!(message.call_id().unwrap().starts_with(&row.call_id), "{}", row.file);
        assert!(
            row.call_id.len() == message.call_id().unwrap().len() || row.call_id.len() >= 80,
            "{}",
            row.file
        );
        let (number, method) = message.cseq().unwrap();
        let (digits, name) = row.cseq.split_once(' ').unwrap();
        assert_eq!(number, digits.parse::<u32>().unwrap(), "{}", row.file);
        assert_eq!(method, Method::parse(name.as_bytes()), "{}", row.file);
        assert_eq!(message.method(), method, "{}", row.file);
        if let StartLine::Request { method_text, uri, .. } = message.start() {
            assert_eq!(method_text, name.as_bytes(), "{}", row.file);
            let line = [method_text, b" ", uri, b" SIP/2.0"].concat();
            assert!(line.starts_with(&row.start_line), "{}", row.file);
        }
        assert!(
            message.from().is_some() && message.to().is_some() && message.top_via().is_some(),
            "{}",
            row.file
        );
        assert!(!message.truncated() && message.headers_complete(), "{}", row.file);
        assert_eq!((message.headers_dropped(), message.headers_malformed()), (0, 0), "{}", row.file);
        ask_all(&message);
        valid += 1;
    }
    assert!(folder().is_none() || valid == 38, "{valid}");
}

#[test]
fn invalid_ones_are_read_as_far_as_they_go() {
    let mut read_all = 0;
    for row in index() {
        let bytes = read(&row.file).unwrap();
        for end in 0..bytes.len() {
            if let Ok(message) = Message::parse(&bytes[..end]) {
                ask_all(&message);
            }
            sniff(&bytes[end..]);
            framing(&bytes[end..]);
        }
        let Ok(message) = Message::parse(&bytes) else { continue };
        ask_all(&message);
        assert!(message.call_id().unwrap_or_default().starts_with(&row.call_id), "{}", row.file);
        read_all += 1;
    }
    // All but bigcode, and test, whose request line has no version.
    assert!(folder().is_none() || read_all == 60, "{read_all}");
}

#[test]
fn each_is_cut_out_of_a_stream() {
    let follow = b"OPTIONS sip:next@example.com SIP/2.0\r\nCall-ID: next\r\nContent-Length: 0\r\n\r\n";
    for row in index() {
        let bytes = on_wire(&row.file).unwrap();
        let mut rest = &[&bytes[..], b"\r\n\r\n", follow].concat()[..];
        let mut found = Vec::new();
        loop {
            match framing(rest) {
                Framing::Incomplete | Framing::Long(_) => break,
                Framing::Skip(n) => rest = &rest[n..],
                Framing::Message(n) => {
                    found.push(&rest[..n]);
                    rest = &rest[n..];
                }
            }
        }
        if row.file.ends_with("clerr.dat") {
            // Content-Length is larger than the message: it takes the next one with it, or waits for more.
            continue;
        }
        assert_eq!(found.last(), Some(&&follow[..]), "{}", row.file);
        let first = Message::parse(found[0]);
        if row.class != "unspecified" && !row.file.ends_with("bigcode.dat") {
            let call_id = first.as_ref().unwrap().call_id().unwrap_or_default();
            assert!(call_id.starts_with(&row.call_id), "{}", row.file);
        }
    }
}

#[test]
fn wsinv_is_folded_everywhere() {
    let Some(bytes) = read("rfc4475/wsinv.dat") else { return };
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.to().unwrap().tag(), Some(&b"1918181833n"[..]));
    let from = message.from().unwrap();
    assert_eq!((from.display, from.tag()), (Some(&b"J Rosenberg \\\\\\\""[..]), Some(&b"98asjd8"[..])));
    let hosts: Vec<_> = message.vias().map(|via| (via.transport, via.host)).collect();
    let expected: [(&[u8], &[u8]); 3] =
        [(b"UDP", b"192.0.2.2"), (b"TCP", b"spindle.example.com"), (b"UDP", b"192.168.255.111")];
    assert_eq!(hosts, expected);
    let contact = message.contacts().next().unwrap();
    assert_eq!(contact.param(b"secondparam"), Some(&b""[..]));
    assert_eq!(
        (contact.param(b"newparam"), contact.param(b"q")),
        (Some(&b"newvalue"[..]), Some(&b"0.33"[..]))
    );
    let novel: Vec<u8> = unfolded(message.header_named(b"newfangledheader").unwrap()).collect();
    assert_eq!(novel, b"newfangled value continued newfangled value");
    assert!(message.sdp().unwrap().starts_with(b"v=0"));
    assert_eq!(message.header(Header::MaxForwards), Some(&b"0068"[..]));
}

#[test]
fn dblreq_is_one_message() {
    let Some(bytes) = read("rfc4475/dblreq.dat") else { return };
    let message = Message::parse(&bytes).unwrap();
    assert_eq!((message.method(), message.body()), (Method::Register, &b""[..]));
    assert!(message.raw().len() < bytes.len());
    assert!(!message.truncated());
}

#[test]
fn bigcode_does_not_wrap() {
    let Some(bytes) = read("rfc4475/bigcode.dat") else { return };
    assert_eq!(sniff(&bytes), Some(0));
    assert_eq!(Message::parse(&bytes).err(), Some(ParseError::StatusCode));
}

#[test]
fn escnull_has_two_contacts() {
    let Some(bytes) = read("rfc4475/escnull.dat") else { return };
    let message = Message::parse(&bytes).unwrap();
    let users: Vec<_> = message.contacts().map(|contact| contact.uri.user).collect();
    assert_eq!(users, [Some(&b"%00"[..]), Some(&b"%00%00"[..])]);
}

#[test]
fn baddn_lacks_its_last_blank_line() {
    let Some(bytes) = read("rfc4475/baddn.dat") else { return };
    let message = Message::parse(&bytes).unwrap();
    assert!(!message.headers_complete() && !message.truncated());
    assert_eq!(message.cseq(), Some((3923239, Method::Options)));
    let from = message.from().unwrap();
    assert_eq!((from.display, from.tag()), (Some(&b"Bell, Alexander"[..]), Some(&b"43"[..])));
}

#[test]
fn bare_line_feeds_read_like_line_ends() {
    let mut compared = 0;
    for row in index().iter().filter(|row| row.file.starts_with("rfc5118/")) {
        let bare = read(&row.file).unwrap();
        let wire = on_wire(&row.file).unwrap();
        assert!(!bare.contains(&b'\r') && wire.contains(&b'\r'), "{}", row.file);
        let (bare, wire) = (Message::parse(&bare).unwrap(), Message::parse(&wire).unwrap());
        assert_eq!(bare.start(), wire.start(), "{}", row.file);
        // One archive copy has another Content-Length, two lack the empty line.
        let fields =
            |message: &Message<'_>| message.fields().filter(|f| f.header != Header::ContentLength).count();
        let same = |(a, b)| a == b || matches!(a, HeaderField { header: Header::ContentLength, .. });
        assert!(bare.fields().zip(wire.fields()).all(same) && fields(&bare) == fields(&wire), "{}", row.file);
        assert_eq!(bare.headers_complete(), !row.file.contains("-abnf-"), "{}", row.file);
        compared += 1;
    }
    assert!(folder().is_none() || compared == 12, "{compared}");
}

#[test]
fn mpart01_has_a_text_and_a_binary_part() {
    let Some(bytes) = read("rfc4475/mpart01.dat") else { return };
    let message = Message::parse(&bytes).unwrap();
    let parts: Vec<_> = message.parts().map(|part| (part.media_type(), part.body.len())).collect();
    assert_eq!(parts, [(&b"text/plain"[..], 5), (b"application/octet-stream", 342)]);
    assert_eq!(message.sdp(), None);
}

#[test]
fn values_of_headers_that_are_damaged() {
    let check = |file: &str, header: Header, display: Option<&str>, uri: &str, tag: Option<&str>| {
        let Some(bytes) = read(file) else { return };
        let message = Message::parse(&bytes).unwrap();
        let party = NameAddr::parse(message.header(header).unwrap()).unwrap();
        assert_eq!(party.display, display.map(str::as_bytes), "{file}");
        assert_eq!(party.uri.raw, uri.as_bytes(), "{file}");
        assert_eq!(party.tag(), tag.map(str::as_bytes), "{file}");
    };
    check("rfc4475/quotbal.dat", Header::To, Some("Mr. J. User"), "sip:j.user@example.com", None);
    check("rfc4475/lwsdisp.dat", Header::From, Some("caller"), "sip:caller@example.com", Some("323"));
    check("rfc4475/badaspec.dat", Header::To, Some("Watson, Thomas"), "sip:t.watson@example.org", None);
    check("rfc4475/badinv01.dat", Header::Contact, Some("Joe"), "sip:joe@example.org", None);
    check("rfc4475/unksm2.dat", Header::From, None, "http://www.example.com", Some("3234233"));
    check("rfc4475/cparam01.dat", Header::Contact, None, "sip:+19725552222@gw1.example.net", None);
    check("rfc4475/esc02.dat", Header::From, Some("%Z%45"), "sip:resource@example.com", Some("f232jadfj23"));
}

#[test]
fn numbers_that_do_not_fit_are_none() {
    for file in ["rfc4475/scalar02.dat", "rfc4475/scalarlg.dat"] {
        let Some(bytes) = read(file) else { return };
        let message = Message::parse(&bytes).unwrap();
        assert_eq!(message.cseq(), None, "{file}");
        assert_eq!(message.expires(), None, "{file}");
        assert_ne!(message.method(), Method::Other, "{file}");
    }
}

#[test]
fn content_length_that_is_wrong_is_told() {
    let told = |file: &str| {
        let bytes = read(file)?;
        let message = Message::parse(&bytes).unwrap();
        Some((message.truncated(), message.length_doubtful(), message.body().is_empty()))
    };
    if folder().is_some() {
        assert_eq!(told("rfc4475/clerr.dat"), Some((true, false, false)));
        assert_eq!(told("rfc4475/ncl.dat"), Some((false, true, false)));
        assert_eq!(told("rfc4475/mcl01.dat"), Some((false, true, false)));
    }
}

#[test]
fn request_uris() {
    let uri = |file: &str| {
        let bytes = read(file)?;
        let message = Message::parse(&bytes).unwrap();
        let uri = message.request_uri().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some((uri.user.map(text), text(uri.host), uri.port, uri.ip().is_some()))
    };
    let expect = |file: &str, user: Option<&str>, host: &str, port: Option<u16>, ip: bool| {
        if folder().is_some() {
            assert_eq!(uri(file), Some((user.map(str::to_owned), host.to_owned(), port, ip)), "{file}");
        }
    };
    expect("rfc4475/semiuri.dat", Some("user;par=u%40example.net"), "example.com", None, false);
    expect("rfc4475/esc01.dat", Some("sips%3Auser%40example.com"), "example.net", None, false);
    expect("rfc4475/ltgtruri.dat", Some("user"), "example.com", None, false);
    expect("rfc4475/lwsruri.dat", Some("user"), "example.com", None, false);
    expect("rfc4475/escruri.dat", Some("user"), "example.com", None, false);
    expect(
        "rfc4475/intmeth.dat",
        Some("1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*"),
        "example.com",
        None,
        false,
    );
    expect("rfc5118/ipv6-bad.dat", None, "2001:db8::10", None, true);
    expect("rfc5118/port-ambiguous.dat", None, "2001:db8::10:5070", None, true);
    expect("rfc5118/port-unambiguous.dat", None, "2001:db8::10", Some(5070), true);
    expect("rfc5118/ipv6-bug-abnf-3-colons.dat", Some("user"), "2001:db8:::192.0.2.1", None, false);
}

#[test]
fn sdp_of_both_address_families() {
    let addresses = |file: &str| {
        let bytes = read(file)?;
        let message = Message::parse(&bytes).unwrap();
        let sdp = Sdp::parse(message.sdp().unwrap()).unwrap();
        Some(sdp.media().map(|m| format!("{} {}", m.port, m.connection().unwrap())).collect::<Vec<_>>())
    };
    if folder().is_some() {
        let expect =
            |file, media: [&str; 2]| assert_eq!(addresses(file), Some(media.map(str::to_owned).to_vec()));
        expect("rfc5118/ipv6-in-sdp.dat", ["6000 2001:db8::20", "6024 2001:db8::20"]);
        expect("rfc5118/mult-ip-in-sdp.dat", ["22334 192.0.2.1", "6024 2001:db8::1"]);
        // A mapped address names the IPv4 packets that are on the wire.
        expect("rfc5118/ipv4-mapped-ipv6.dat", ["6000 192.0.2.2", "6024 192.0.2.2"]);
    }
}

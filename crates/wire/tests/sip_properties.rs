//! What holds for any bytes, for messages in a stream wherever it is cut, and for headers however they are
//! folded.
#![expect(clippy::unwrap_used, reason = "a test: what fails shows")]

mod common;

use common::ask_all;
use proptest::prelude::*;
use ringtap_wire::sip::{
    Framing, FramingProgress, Header, MAX_MESSAGE, Message, NameAddr, ParseError, framing, framing_again,
    sniff, unfolded,
};

/// Pieces that SIP is made of, which random bytes would not hit.
const PIECES: &[&str] = &[
    "INVITE ",
    "REGISTER ",
    "SIP/2.0",
    " SIP/2.0\r\n",
    "SIP/2.0 200 OK\r\n",
    "SIP/2.0 4294967301 x\r\n",
    "sip:",
    "sips:a@",
    "tel:+1",
    "\r\n",
    "\n",
    "\r\n\r\n",
    "\r\n ",
    "\n\t",
    "Via: SIP/2.0/UDP ",
    "v:",
    "From:",
    "t:",
    "Contact: ",
    "m:*",
    "Call-ID:",
    "i: x",
    "CSeq: 1 INVITE",
    "CSeq: 99999999999999999999 BYE",
    "Content-Length: ",
    "l:",
    "-5",
    "0",
    "17",
    "70000",
    "99999999999999999999",
    "Content-Type: multipart/mixed;boundary=b\r\n",
    "c: application/sdp\r\n",
    "--b",
    "--b--",
    "--",
    "Reason: Q.850;cause=16",
    "Expires: ",
    "\"",
    "\\",
    "\\\"",
    "<",
    ">",
    ";",
    ";;",
    ",",
    "=",
    ":",
    "@",
    "?",
    "[",
    "]",
    "%00",
    "/",
    " ",
    "\t",
    "tag",
    "branch",
    "rport",
    "received=",
    "v=0\r\n",
    "m=audio 1 RTP/AVP 0\r\n",
    "\0",
    "\u{fffd}",
    "[::1]:5060",
    "é",
];

fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let started = (prop::sample::select(vec!["BYE sip:a SIP/2.0\r\n", "SIP/2.0 200 OK\n"]), soup());
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..600),
        soup(),
        started.prop_map(|(start, rest)| [start.as_bytes(), &rest].concat()),
    ]
}

/// A well-formed message with a Content-Length.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let start = prop::sample::select(vec![
        "INVITE sip:a@b SIP/2.0",
        "SIP/2.0 180 Ringing",
        "SIP/2.0 200 ",
        "x-Method+1 tel:+49 SIP/2.0",
        "NOTIFY sip:a SIP/2.0",
    ]);
    let header = prop::sample::select(vec![
        "Via: SIP/2.0/TCP h",
        "f : <sip:a@b>;tag=1",
        "Subject: INVITE sip:a SIP/2.0",
        "Contact:\r\n <sip:c@d>",
        "Foobar",
        "X:",
    ]);
    let headers = prop::collection::vec(header, 0..6);
    let length = prop::sample::select(vec!["Content-Length: ", "l:", "CONTENT-LENGTH :\t"]);
    let end = prop::sample::select(vec!["\r\n", "\n"]);
    (start, headers, length, prop::collection::vec(any::<u8>(), 0..80), end, any::<prop::sample::Index>())
        .prop_map(|(start, mut headers, length, body, end, place)| {
            let length = format!("{length}{}", body.len());
            headers.insert(place.index(headers.len() + 1), &length);
            let mut bytes = [start, end].concat().into_bytes();
            headers.iter().for_each(|header| bytes.extend([header.as_bytes(), end.as_bytes()].concat()));
            bytes.extend(end.as_bytes());
            bytes.extend(body);
            bytes
        })
}

/// Reads a stream whose bytes arrive in pieces of these lengths, over and over.
fn read_stream(stream: &[u8], pieces: &[usize]) -> Vec<Vec<u8>> {
    let (mut buffer, mut found, mut at) = (Vec::new(), Vec::new(), 0);
    for len in pieces.iter().cycle() {
        let end = stream.len().min(at + len);
        buffer.extend_from_slice(&stream[at..end]);
        at = end;
        loop {
            match framing(&buffer) {
                Framing::Incomplete => break,
                Framing::Skip(n) => drop(buffer.drain(..n)),
                Framing::Message(n) => found.push(buffer.drain(..n).collect()),
                Framing::Long(_) => return found,
            }
        }
        if at == stream.len() {
            break;
        }
    }
    found
}

/// As [`read_stream`], but what was read once is not read again.
fn read_stream_once(stream: &[u8], pieces: &[usize]) -> Vec<Vec<u8>> {
    let (mut buffer, mut found, mut at) = (Vec::new(), Vec::new(), 0);
    let mut progress = FramingProgress::default();
    for len in pieces.iter().cycle() {
        let end = stream.len().min(at + len);
        buffer.extend_from_slice(&stream[at..end]);
        at = end;
        loop {
            match framing_again(&buffer, &mut progress) {
                Framing::Incomplete => break,
                Framing::Skip(n) => drop(buffer.drain(..n)),
                Framing::Message(n) => found.push(buffer.drain(..n).collect()),
                Framing::Long(_) => return found,
            }
        }
        if at == stream.len() {
            break;
        }
    }
    found
}

/// What a message says, white space inside values aside.
fn meaning(bytes: &[u8]) -> Vec<String> {
    let message = Message::parse(bytes).unwrap();
    let text = |value: &[u8]| {
        let bytes: Vec<u8> = unfolded(value).collect();
        String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let party = |party: Option<NameAddr<'_>>| {
        party.map(|p| (p.display.map(text), text(p.uri.raw), p.tag().map(text), p.param(b"q").map(text)))
    };
    let mut said = vec![
        format!("{:?} {:?} {:?}", message.start(), message.method(), message.cseq()),
        format!("{:?} {:?}", message.call_id().map(text), message.expires()),
        format!("{:?} {:?}", party(message.from()), party(message.to())),
        format!("{:?} {:?}", message.reason_q850(), message.sdp()),
        format!("{:?} {}", message.body(), message.headers_malformed()),
    ];
    said.extend(
        message.vias().map(|v| format!("{:?} {:?} {:?} {:?}", v.transport, v.host, v.port, v.branch)),
    );
    said.extend(message.contacts().map(|contact| format!("{:?}", party(Some(contact)))));
    said.extend(message.values(Header::Supported).map(|v| format!("{v:?}")));
    said.extend(message.fields().map(|field| format!("{:?}", field.header)));
    said
}

/// A message in which a `~` marks where white space, and so a fold, may stand.
const FOLDABLE: &str = "INVITE sip:a@b SIP/2.0\r\n\
    Via:~SIP~/~2.0~/~UDP~192.0.2.1:5060~;~branch~=~z9hG4bK1~,~SIP/2.0/TCP~[::1]\r\n\
    From:~\"A, <B>;\"~<sip:a@b>~;~tag~=~x~;~q=1\r\n\
    To:~Alice~Liddell~<sip:b@c;lr>~;~tag=1\r\n\
    Call-ID:~abc@d\r\n\
    CSeq:~7~INVITE\r\n\
    m:~<sip:x@y>~;~q~=~\"0,5\"~,~\"q, r\"~<sip:z@w>\r\n\
    k:~100rel~,~timer\r\n\
    Reason:~SIP~;~cause=200~,~Q.850~;~cause~=~16\r\n\
    Expires:~60\r\n\
    Content-Type:~application/sdp~;~x=y\r\n\
    Content-Length:~3\r\n\
    \r\n\
    v=0";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_bytes_panic(bytes in any_bytes()) {
        if let Ok(message) = Message::parse(&bytes) {
            ask_all(&message);
        }
        sniff(&bytes);
        framing(&bytes);
    }

    #[test]
    fn what_is_found_is_a_message(bytes in any_bytes()) {
        if let Some(at) = sniff(&bytes) {
            prop_assert!(matches!(Message::parse(&bytes[at..]), Ok(_) | Err(ParseError::StatusCode)));
        }
        if let Framing::Message(len) = framing(&bytes) {
            prop_assert!((1..=bytes.len()).contains(&len));
            prop_assert!(matches!(Message::parse(&bytes[..len]), Ok(_) | Err(ParseError::StatusCode)));
        }
    }

    #[test]
    fn bytes_that_are_not_read_again_give_the_same_messages(
        bytes in any_bytes(),
        more in any_bytes(),
        pieces in prop::collection::vec(1usize..60, 1..20),
    ) {
        let stream = [&bytes[..], &more].concat();
        prop_assert_eq!(read_stream_once(&stream, &pieces), read_stream(&stream, &pieces));
    }

    #[test]
    fn a_stream_ends(bytes in any_bytes(), more in any_bytes()) {
        let stream = [&bytes[..], &more].concat();
        let mut rest = &stream[..];
        loop {
            match framing(rest) {
                Framing::Incomplete => {
                    prop_assert!(rest.len() < MAX_MESSAGE);
                    break;
                }
                Framing::Long(n) => {
                    prop_assert!(n > MAX_MESSAGE);
                    break;
                }
                Framing::Skip(n) | Framing::Message(n) => {
                    prop_assert!((1..=rest.len()).contains(&n));
                    rest = &rest[n..];
                }
            }
        }
    }

    #[test]
    fn a_stream_gives_the_same_messages_wherever_it_is_cut(
        messages in prop::collection::vec((message(), prop::sample::select(vec!["", "\r\n", "\r\n\r\n",
            "\0"])), 0..6),
        follow in prop::collection::vec(any::<u8>(), 0..100),
        pieces in prop::collection::vec(1usize..120, 1..10),
    ) {
        let mut stream: Vec<u8> = messages.iter().flat_map(|(m, idle)| [m,
            idle.as_bytes()].concat()).collect();
        stream.extend(follow);
        let expected: Vec<_> = messages.into_iter().map(|(message, _)| message).collect();
        let found = read_stream(&stream, &pieces);
        prop_assert_eq!(&found[..expected.len().min(found.len())], &expected[..]);
    }

    #[test]
    fn a_datagram_ends_where_content_length_says(message in message(),
        follow in prop::collection::vec(any::<u8>(), 0..100)) {
        let datagram = [&message[..], &follow].concat();
        let read = Message::parse(&datagram).unwrap();
        prop_assert_eq!(read.raw(), &message[..]);
        prop_assert!(!read.truncated() && !read.length_doubtful() && read.headers_complete());
        prop_assert_eq!(sniff(&datagram), Some(0));
    }

    #[test]
    fn a_message_that_is_cut_keeps_what_is_left(end in any::<prop::sample::Index>()) {
        let whole = FOLDABLE.replace('~', " ");
        let start_line = whole.find('\r').unwrap();
        let cut = &whole.as_bytes()[..start_line + end.index(whole.len() - start_line)];
        prop_assert_eq!(sniff(cut), Some(0));
        let (part, all) = (Message::parse(cut).unwrap(), Message::parse(whole.as_bytes()).unwrap());
        let complete = part.fields().count().saturating_sub(1);
        prop_assert!(part.fields().zip(all.fields()).take(complete).all(|(a, b)| a == b));
        if let (Some(cut), Some(whole)) = (part.fields().last(), all.fields().nth(complete)) {
            prop_assert!(whole.value.starts_with(cut.value) || cut.name.is_empty() );
        }
    }

    #[test]
    fn folds_change_nothing(folds in prop::collection::vec(prop::sample::select(vec!["", " ", "\r\n ",
        "\n\t ", " \r\n\t"]), 80)) {
        let (mut folded, mut folds) = (String::new(), folds.iter());
        for part in FOLDABLE.split_inclusive('~') {
            folded.push_str(part.trim_end_matches('~'));
            if part.ends_with('~') {
                let fold = folds.next().unwrap();
                // Some white space has to stand between two words.
                let needed = part.trim_end_matches('~').ends_with(|c: char| c.is_ascii_alphanumeric());
                folded.push_str(if needed && fold.is_empty() { " " } else { fold });
            }
        }
        prop_assert_eq!(meaning(folded.as_bytes()), meaning(FOLDABLE.replace('~', " ").as_bytes()));
    }
}

#[test]
fn an_index_that_is_full_keeps_what_matters() {
    let mut text = String::from("BYE sip:a SIP/2.0\r\n");
    for n in 0..200 {
        text.push_str(&format!("Via: SIP/2.0/UDP h{n}\r\nX-{n}: y\r\n"));
    }
    text.push_str(
        "Call-ID: late\r\nCall-ID: later\r\nCSeq: 3 BYE\r\nFrom: <sip:a>;tag=1\r\nTo: <sip:b>\r\n\
        l: 2\r\n\r\nabcd",
    );
    let message = Message::parse(text.as_bytes()).unwrap();
    assert_eq!((message.call_id(), message.body()), (Some(&b"late"[..]), &b"ab"[..]));
    assert_eq!(message.cseq().map(|(number, _)| number), Some(3));
    assert_eq!((message.from().is_some(), message.to().is_some()), (true, true));
    assert_eq!(usize::from(message.headers_dropped()) + message.fields().count(), 406);
    assert_eq!(message.top_via().map(|via| via.host), Some(&b"h0"[..]));
}

#[test]
fn headers_beyond_64_kib_are_dropped_and_the_body_is_found() {
    let long = "x".repeat(70_000);
    let text =
        format!("BYE sip:a SIP/2.0\r\nCall-ID: 1\r\nX: {long}\r\nCSeq: 1 BYE\r\nContent-Length: 1\r\n\r\nzz");
    let message = Message::parse(text.as_bytes()).unwrap();
    assert_eq!((message.call_id(), message.cseq(), message.body()), (Some(&b"1"[..]), None, &b"z"[..]));
    assert_eq!(message.headers_dropped(), 3);
}

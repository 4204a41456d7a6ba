//! Signalling over TCP, WebSocket and SCTP as connections again.
//!
//! The spool has messages. One that came in a segment of its own lies there as that segment, one that came in several as a
//! datagram: a connection with holes, which nobody could follow. So each message becomes the next of a connection made for it.
//! What came over WebSocket or SCTP lies there as datagrams; the record says what carried it.

use std::borrow::Cow;
use std::collections::HashSet;

use ringtap_anonymise::Frames;
use ringtap_model::{Endpoint, Frame, LinkType, Nanos, Transport};
use ringtap_wire::frame::{Body, decode};
use ringtap_wire::sip::{Message, sniff};
use serde_json::Value;

/// Packets, some of them made here.
pub(crate) struct Joined<'a> {
    pieces: Vec<Piece<'a>>,
}

struct Piece<'a> {
    time: Nanos,
    link: LinkType,
    wire_len: u32,
    data: Cow<'a, [u8]>,
}

/// What a frame carries.
struct Carried<'a> {
    ends: (Endpoint, Endpoint),
    data: &'a [u8],
    is_tcp: bool,
}

impl<'a> Joined<'a> {
    /// Of a call's packets in order of time. All but messages over what the record says stay as they are.
    pub(crate) fn of(frames: &[Frame<'a>], call: &Value) -> Self {
        let transport = match call["transport"].as_str() {
            Some("tcp") => Transport::Tcp,
            Some("ws") => Transport::Ws,
            Some("sctp") => Transport::Sctp,
            _ => Transport::Udp,
        };
        let ends = connections(transport, frames, call);
        let call_id = call["call_id"].as_str().unwrap_or_default();
        let mut wire = Frames::default();
        let mut joined = Self { pieces: Vec::with_capacity(frames.len()) };
        let mut last: Option<(Nanos, &[u8])> = None;
        for frame in frames {
            let carried =
                carried(frame).filter(|carried| ends.contains(&carried.ends) && frame.link == ETHERNET);
            let Some(carried) = carried else {
                joined.keep(frame);
                continue;
            };
            // A segment with two messages of the call lies there twice.
            if last.replace((frame.time, frame.data)) == Some((frame.time, frame.data)) {
                continue;
            }
            let messages = own(&carried, call_id);
            if messages.is_empty() {
                joined.keep(frame);
            }
            for message in messages {
                let (src, dst) = carried.ends;
                let Ok(made) = wire.message(transport, src, dst, message) else { continue };
                joined.pieces.extend(made.into_iter().map(|data| Piece {
                    time: frame.time,
                    link: ETHERNET,
                    wire_len: data.len() as u32,
                    data: Cow::Owned(data),
                }));
            }
        }
        joined
    }

    fn keep(&mut self, frame: &Frame<'a>) {
        let Frame { time, link, wire_len, data, .. } = *frame;
        self.pieces.push(Piece { time, link, wire_len, data: Cow::Borrowed(data) });
    }

    /// In order, numbered from 1.
    pub(crate) fn frames(&self) -> Vec<Frame<'_>> {
        self.pieces
            .iter()
            .zip(1..)
            .map(|(piece, number)| Frame {
                time: piece.time,
                number,
                link: piece.link,
                wire_len: piece.wire_len,
                data: &piece.data,
            })
            .collect()
    }
}

/// Both directions of every connection of a call that was signalled over one.
fn connections(transport: Transport, frames: &[Frame<'_>], call: &Value) -> HashSet<(Endpoint, Endpoint)> {
    let mut ends = HashSet::new();
    if transport == Transport::Udp {
        return ends;
    }
    let both = |(src, dst): (Endpoint, Endpoint)| [(src, dst), (dst, src)];
    ends.extend(
        frames
            .iter()
            .filter_map(carried)
            .filter(|carried| carried.is_tcp && transport == Transport::Tcp)
            .flat_map(|carried| both(carried.ends)),
    );
    // All of its messages may have come in several segments.
    let end = |name: &str| call[name].as_str()?.parse::<Endpoint>().ok();
    ends.extend(end("src").zip(end("dst")).into_iter().flat_map(both));
    ends
}

fn carried<'a>(frame: &Frame<'a>) -> Option<Carried<'a>> {
    let packet = decode(frame.link.0, frame.wire_len, frame.data).ok()?;
    let (ports, data, is_tcp) = match packet.body {
        Body::Tcp(tcp) => ((tcp.src_port, tcp.dst_port), tcp.data, true),
        Body::Udp(udp) => ((udp.src_port, udp.dst_port), udp.data, false),
        _ => return None,
    };
    let ends = (Endpoint::new(packet.ip.src, ports.0), Endpoint::new(packet.ip.dst, ports.1));
    Some(Carried { ends, data, is_tcp })
}

/// The call's whole messages in what a frame carries; parts of others lie around them.
fn own<'a>(carried: &Carried<'a>, call_id: &str) -> Vec<&'a [u8]> {
    let mut messages = Vec::new();
    let mut rest = carried.data;
    while let Some(start) = begins(rest) {
        let Ok(message) = Message::parse(&rest[start..]) else { break };
        let is_own = message.call_id().is_some_and(|found| String::from_utf8_lossy(found) == call_id);
        if is_own && !(carried.is_tcp && message.truncated()) {
            messages.push(message.raw());
        }
        rest = rest.get(start + message.raw().len().max(1)..).unwrap_or_default();
    }
    messages
}

/// Where the first message begins: with what is there, or with a line in it.
fn begins(bytes: &[u8]) -> Option<usize> {
    let lines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(lines).find(|at| sniff(&bytes[*at..]) == Some(0))
}

const ETHERNET: LinkType = LinkType(1);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(cseq: u32, call_id: &str) -> Vec<u8> {
        format!("OPTIONS sip:a@b SIP/2.0\r\nCall-ID: {call_id}\r\nCSeq: {cseq} OPTIONS\r\nContent-Length: 0\r\n\r\n").into_bytes()
    }

    #[test]
    fn segments_and_datagrams_become_one_connection() {
        let ends: [Endpoint; 2] = ["192.0.2.1:40000".parse().unwrap(), "192.0.2.2:5060".parse().unwrap()];
        let mut elsewhere = Frames::default();
        // The first came in several segments, the second behind the end of another call's, the third in order.
        let first = Frames::default().udp(ends[0], ends[1], &message(1, "own")).unwrap();
        let with_others =
            [&b"0 0\r\n\r\n"[..], &message(2, "own"), &message(9, "other"), b"OPTIONS sip:"].concat();
        elsewhere.message(Transport::Tcp, ends[0], ends[1], &[b'x'; 5_000]).unwrap();
        let second = elsewhere.message(Transport::Tcp, ends[0], ends[1], &with_others).unwrap().remove(0);
        let third =
            elsewhere.message(Transport::Tcp, ends[1], ends[0], &message(3, "own")).unwrap().remove(0);
        let media = Frames::default().udp(Endpoint::new(ends[0].ip, 4000), ends[1], b"media").unwrap();
        let data = [&first, &second, &second, &media, &third];
        let frames: Vec<Frame<'_>> = data
            .iter()
            .zip([1, 2, 2, 3, 4])
            .map(|(data, secs)| Frame {
                time: Nanos::from_secs(secs),
                number: 0,
                link: ETHERNET,
                wire_len: data.len() as u32,
                data: data.as_slice(),
            })
            .collect();
        let call = json!({ "transport": "tcp", "call_id": "own", "src": "192.0.2.1:40000", "dst": "192.0.2.2:5060" });
        let joined = Joined::of(&frames, &call);
        let mut expected = Frames::default();
        let mut made = |src, dst, cseq| {
            expected.message(Transport::Tcp, src, dst, &message(cseq, "own")).unwrap().remove(0)
        };
        let expected =
            [made(ends[0], ends[1], 1), made(ends[0], ends[1], 2), media.clone(), made(ends[1], ends[0], 3)];
        let got: Vec<Vec<u8>> = joined.frames().iter().map(|frame| frame.data.to_vec()).collect();
        assert_eq!(got, expected);
        // Over UDP nothing changes.
        let call = json!({ "transport": "udp", "call_id": "own" });
        assert_eq!(Joined::of(&frames, &call).frames().len(), 5);
    }
}

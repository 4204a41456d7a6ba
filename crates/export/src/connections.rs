//! Rebuilds the connections of signalling over TCP, WebSocket and SCTP.
//!
//! The spool stores messages. A message that came in one TCP segment is stored as that segment, a message
//! that came in several as a datagram. No program could follow such a connection, since it has gaps. So each
//! message becomes the next message of a new connection. Messages over WebSocket or SCTP are stored as
//! datagrams; the record names their transport.

use std::collections::HashSet;

use ringtap_anonymise::Frames;
use ringtap_model::{Call, Endpoint, Frame, LinkType, Nanos, Transport};
use ringtap_wire::frame::{Payload, decode};
use ringtap_wire::sip::{Message, sniff};

use crate::batch::OnBatch;

/// Rebuilds the connections of one call, packet by packet in order of time.
pub struct ConnectionBuilder {
    transport: Transport,
    /// Source and destination of each connection, in both directions.
    ends: HashSet<(Endpoint, Endpoint)>,
    call_id: String,
    wire: Frames,
    last: Option<(Nanos, Vec<u8>)>,
}

/// The payload of a frame, with its endpoints.
struct FramePayload<'a> {
    ends: (Endpoint, Endpoint),
    data: &'a [u8],
    is_tcp: bool,
}

impl ConnectionBuilder {
    /// Creates a builder for a call whose packets `each` reads; `None` if the transport of its signalling has
    /// no connections.
    pub fn of(
        call: &Call,
        each: impl FnOnce(OnBatch<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Self>> {
        let transport = call.transport;
        if !matches!(transport, Transport::Tcp | Transport::Ws | Transport::Sctp) {
            return Ok(None);
        }
        let mut ends = HashSet::new();
        let both = |(src, dst): (Endpoint, Endpoint)| [(src, dst), (dst, src)];
        let mut segments = |frames: &[Frame<'_>]| {
            let carried = frames.iter().filter_map(payload).filter(|carried| carried.is_tcp);
            ends.extend(carried.flat_map(|carried| both(carried.ends)));
            Ok(())
        };
        if transport == Transport::Tcp {
            each(&mut segments)?;
        }
        // If each message came in several segments, the spool has no segment of this connection.
        ends.extend(both((call.src, call.dst)));
        let call_id = call.call_id.clone();
        Ok(Some(Self { transport, ends, call_id, wire: Frames::default(), last: None }))
    }

    /// A builder for the same call that starts from the first packet again.
    pub fn restart(&self) -> Self {
        let (ends, call_id) = (self.ends.clone(), self.call_id.clone());
        Self { transport: self.transport, ends, call_id, wire: Frames::default(), last: None }
    }

    /// Emits the next packet, or the rebuilt segments of the messages in it.
    pub fn push(&mut self, frame: &Frame<'_>, emit: &mut dyn FnMut(&Frame<'_>)) {
        let carried =
            payload(frame).filter(|carried| self.ends.contains(&carried.ends) && frame.link == ETHERNET);
        let Some(carried) = carried else { return emit(frame) };
        // The spool stores a segment with two messages of the call twice.
        if self.last.as_ref().is_some_and(|(time, data)| *time == frame.time && data == frame.data) {
            return;
        }
        self.last = Some((frame.time, frame.data.to_vec()));
        let messages = own_messages(&carried, &self.call_id);
        if messages.is_empty() {
            emit(frame);
        }
        for message in messages {
            let (src, dst) = carried.ends;
            let Ok(made) = self.wire.message(self.transport, src, dst, message) else { continue };
            for data in &made {
                emit(&Frame { wire_len: data.len() as u32, data, ..*frame });
            }
        }
    }
}

fn payload<'a>(frame: &Frame<'a>) -> Option<FramePayload<'a>> {
    let packet = decode(frame.link.0, frame.wire_len, frame.data).ok()?;
    let (ports, data, is_tcp) = match packet.payload {
        Payload::Tcp(tcp) => ((tcp.src_port, tcp.dst_port), tcp.data, true),
        Payload::Udp(udp) => ((udp.src_port, udp.dst_port), udp.data, false),
        _ => return None,
    };
    let ends = (Endpoint::new(packet.ip.src, ports.0), Endpoint::new(packet.ip.dst, ports.1));
    Some(FramePayload { ends, data, is_tcp })
}

/// The call's complete messages in a payload; fragments of other messages may surround them.
fn own_messages<'a>(carried: &FramePayload<'a>, call_id: &str) -> Vec<&'a [u8]> {
    let mut messages = Vec::new();
    let mut rest = carried.data;
    while let Some(start) = first_message(rest) {
        let Ok(message) = Message::parse(&rest[start..]) else { break };
        let is_own = message.call_id().is_some_and(|found| String::from_utf8_lossy(found) == call_id);
        if is_own && !(carried.is_tcp && message.truncated()) {
            messages.push(message.raw());
        }
        rest = rest.get(start + message.raw().len().max(1)..).unwrap_or_default();
    }
    messages
}

/// Offset of the first message, which begins at the start of a line.
fn first_message(bytes: &[u8]) -> Option<usize> {
    let lines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(lines).find(|at| sniff(&bytes[*at..]) == Some(0))
}

const ETHERNET: LinkType = LinkType(1);

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;

    fn message(cseq: u32, call_id: &str) -> Vec<u8> {
        format!(
            "OPTIONS sip:a@b SIP/2.0\r\nCall-ID: {call_id}\r\nCSeq: {cseq} OPTIONS\r\n\
             Content-Length: 0\r\n\r\n"
        )
        .into_bytes()
    }

    #[test]
    fn segments_and_datagrams_become_one_connection() {
        let ends: [Endpoint; 2] = ["192.0.2.1:40000".parse().unwrap(), "192.0.2.2:5060".parse().unwrap()];
        let mut elsewhere = Frames::default();
        // The first came in several segments, the second behind the end of another call's, the third in
        // order.
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
        let call = Call {
            transport: Transport::Tcp,
            call_id: "own".into(),
            src: ends[0],
            dst: ends[1],
            ..samples::call()
        };
        let joined = |call: &Call| {
            let mut got: Vec<Vec<u8>> = Vec::new();
            let builder = ConnectionBuilder::of(call, |on_batch| on_batch(&frames)).unwrap();
            if let Some(builder) = builder {
                let mut builder = builder.restart();
                frames.iter().for_each(|frame| builder.push(frame, &mut |made| got.push(made.data.to_vec())));
            }
            got
        };
        let mut expected = Frames::default();
        let mut made = |src, dst, cseq| {
            expected.message(Transport::Tcp, src, dst, &message(cseq, "own")).unwrap().remove(0)
        };
        let expected =
            [made(ends[0], ends[1], 1), made(ends[0], ends[1], 2), media.clone(), made(ends[1], ends[0], 3)];
        assert_eq!(joined(&call), expected);
        // Over UDP nothing changes.
        let call = Call { transport: Transport::Udp, ..call };
        assert!(joined(&call).is_empty(), "nothing is made");
    }
}

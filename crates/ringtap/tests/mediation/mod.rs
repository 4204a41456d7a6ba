//! What product is at whoever receives it: out of files, and at a mediation function.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread::{self, JoinHandle};

use ringtap_handover::{Encoder, MOST_PDU, Mark, Pdu, PduPayload, TimeFormat, pdu_length};

/// The PDUs of a file.
pub(crate) fn pdus(path: &Path) -> Vec<Pdu> {
    let bytes = fs::read(path).unwrap();
    let (mut rest, mut pdus) = (&bytes[..], Vec::new());
    while !rest.is_empty() {
        let length = pdu_length(rest, MOST_PDU).unwrap().unwrap();
        pdus.push(Pdu::decode(&rest[..length]).unwrap());
        rest = &rest[length..];
    }
    pdus
}

/// Takes connections, answers keep-alives, and returns what arrived on the first `most` of them.
pub(crate) fn function(listener: TcpListener, most: usize) -> JoinHandle<Vec<Pdu>> {
    thread::spawn(move || {
        let serve = |mut stream: std::net::TcpStream| {
            let (mut bytes, mut arrived, mut part) = (Vec::new(), Vec::new(), [0; 65_536]);
            while let Ok(count @ 1..) = stream.read(&mut part) {
                bytes.extend_from_slice(&part[..count]);
                while let Some(length) =
                    pdu_length(&bytes, MOST_PDU).unwrap().filter(|length| *length <= bytes.len())
                {
                    let pdu = Pdu::decode(&bytes[..length]).unwrap();
                    bytes.drain(..length);
                    let PduPayload::Mark(Mark::KeepAlive) = pdu.payload else {
                        arrived.push(pdu);
                        continue;
                    };
                    let at = pdu.at.unwrap();
                    let mut encoder = Encoder::new(pdu.identifiers, TimeFormat::default(), None, at);
                    let mut answer = Vec::new();
                    encoder.mark(pdu.number, at, Mark::KeepAliveResponse, &mut answer).unwrap();
                    let _ = stream.write_all(&answer);
                }
            }
            arrived
        };
        let served: Vec<_> = listener
            .incoming()
            .take(most)
            .map(|stream| {
                let stream = stream.unwrap();
                thread::spawn(move || serve(stream))
            })
            .collect();
        served.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

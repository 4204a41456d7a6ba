//! A mediation function on the loopback interface that misbehaves as it is told.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use ringtap_handover::{Cin, Encoder, Liid, MOST_PDU, Mark, Pdu, PduPayload, TimeFormat, pdu_length};

/// What it does with one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Behaviour {
    /// Answers keep-alives.
    pub(crate) answers: bool,
    /// Closes after so many PDUs, in the middle of the next one.
    pub(crate) closes_after: Option<usize>,
    /// Reads nothing.
    pub(crate) reads_nothing: bool,
    /// Sends these octets first.
    pub(crate) says: Option<&'static [u8]>,
}

impl Behaviour {
    pub(crate) const GOOD: Self =
        Self { answers: true, closes_after: None, reads_nothing: false, says: None };
}

/// A PDU that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) pdu: Pdu,
    pub(crate) octets: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct Function {
    arrived: Mutex<Vec<Arrived>>,
    grew: Condvar,
}

pub(crate) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

impl Function {
    /// Starts one; the n-th connection is treated by the n-th behaviour, those behind the last one well.
    /// Its thread ends with the process.
    pub(crate) fn start(listener: TcpListener, behaviours: Vec<Behaviour>) -> Arc<Self> {
        Self::start_with(listener, behaviours, |stream| Some(Box::new(stream)))
    }

    pub(crate) fn start_with(
        listener: TcpListener,
        behaviours: Vec<Behaviour>,
        accept: impl Fn(TcpStream) -> Option<Box<dyn Stream>> + Send + 'static,
    ) -> Arc<Self> {
        let function = Arc::new(Self::default());
        let shared = Arc::clone(&function);
        std::thread::spawn(move || {
            let mut behaviours = behaviours.into_iter();
            while let Ok((stream, _)) = listener.accept() {
                if let Some(stream) = accept(stream) {
                    shared.serve(stream, behaviours.next().unwrap_or(Behaviour::GOOD));
                }
            }
        });
        function
    }

    pub(crate) fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    fn serve(&self, mut stream: Box<dyn Stream>, behaviour: Behaviour) {
        if let Some(octets) = behaviour.says {
            let _ = stream.write_all(octets);
        }
        if behaviour.reads_nothing {
            // It stays open, unread, until the process ends: the other side has to give it up.
            std::mem::forget(stream);
            return;
        }
        let mut input = Vec::new();
        let mut buffer = vec![0; 65_536];
        let mut count = 0;
        loop {
            match stream.read(&mut buffer) {
                Ok(octets) if octets > 0 => input.extend_from_slice(&buffer[..octets]),
                _ => return,
            }
            let mut from = 0;
            while let Ok(Some(length)) = pdu_length(&input[from..], MOST_PDU)
                && length <= input.len() - from
            {
                if behaviour.closes_after == Some(count) {
                    return;
                }
                count += 1;
                let octets = input[from..from + length].to_vec();
                from += length;
                let pdu = Pdu::decode(&octets).expect("what arrives is a PDU");
                if pdu.payload == PduPayload::Mark(Mark::KeepAlive) {
                    if behaviour.answers {
                        let mut answer = Vec::new();
                        let mut encoder =
                            Encoder::new(pdu.identifiers, TimeFormat::Generalized, None, super::nanos());
                        encoder
                            .mark(pdu.number, super::nanos(), Mark::KeepAliveResponse, &mut answer)
                            .unwrap();
                        let _ = stream.write_all(&answer);
                    }
                    continue;
                }
                self.arrived.lock().unwrap().push(Arrived { pdu, octets });
                self.grew.notify_all();
            }
            input.drain(..from);
        }
    }

    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }

    /// Waits until `enough` says so.
    pub(crate) fn wait(&self, enough: impl Fn(&[Arrived]) -> bool) -> Vec<Arrived> {
        let arrived = self.arrived.lock().unwrap();
        let wait =
            self.grew.wait_timeout_while(arrived, Duration::from_secs(120), |arrived| !enough(arrived));
        let (arrived, timeout) = wait.unwrap();
        assert!(!timeout.timed_out(), "only {} PDUs arrived", arrived.len());
        arrived.clone()
    }
}

/// The numbers of each (LIID, CIN), once each. Panics where the same number came with other octets.
pub(crate) fn numbers(arrived: &[Arrived]) -> BTreeMap<(Liid, Cin), Vec<u32>> {
    let mut first: BTreeMap<(Liid, Cin), BTreeMap<u32, &[u8]>> = BTreeMap::new();
    for one in arrived {
        let key = (one.pdu.identifiers.liid, one.pdu.number.cin);
        let known = first.entry(key).or_default().entry(one.pdu.number.sequence).or_insert(&one.octets);
        assert_eq!(*known, one.octets, "{key:?} {} came twice with other octets", one.pdu.number.sequence);
    }
    first.into_iter().map(|(key, numbers)| (key, numbers.into_keys().collect())).collect()
}

/// Asserts that each has all numbers from zero.
pub(crate) fn assert_complete(arrived: &[Arrived], expected: &[((Liid, Cin), u32)]) {
    let expected: BTreeMap<(Liid, Cin), Vec<u32>> =
        expected.iter().map(|(key, count)| (*key, (0..*count).collect())).collect();
    let found = numbers(arrived);
    for (key, numbers) in &expected {
        let found = found.get(key).map_or(&[][..], Vec::as_slice);
        assert_eq!(found.len(), numbers.len(), "{key:?}");
        assert_eq!(found, numbers.as_slice(), "{key:?}");
    }
    assert_eq!(found.len(), expected.len());
}

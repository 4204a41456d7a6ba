//! SIP messages out of SCTP DATA chunks: RFC 9260 section 6.9, RFC 4168.

use std::collections::VecDeque;

use ringtap_model::Endpoint;
use ringtap_wire::frame::SctpData;
use ringtap_wire::sip;

/// A message whose first chunk has come and whose last has not.
struct Partial {
    ends: (Endpoint, Endpoint),
    stream: u16,
    /// Number of the chunk that continues it.
    next: u32,
    bytes: Vec<u8>,
    frames: Vec<u64>,
}

/// Messages under way. Chunks are taken in the order of their numbers; one that was lost ends its message.
pub(crate) struct Associations {
    partial: VecDeque<Partial>,
    ceiling: usize,
    max_bytes: usize,
    /// Messages pushed out at the ceiling, or too long.
    pub(crate) evicted: u64,
}

impl Associations {
    pub(crate) fn new(ceiling: usize, max_bytes: usize) -> Self {
        // Looked through one by one: SIP over SCTP is rare, and messages of several chunks rarer.
        Self { partial: VecDeque::new(), ceiling: ceiling.clamp(1, 256), max_bytes, evicted: 0 }
    }

    /// Takes a chunk and hands on the SIP message that it completes.
    #[cold]
    pub(crate) fn push(
        &mut self,
        ends: (Endpoint, Endpoint),
        chunk: &SctpData<'_>,
        frames: &[u64],
        deliver: impl FnOnce(&[u8], &[u64]),
    ) {
        let same = |other: &Partial| other.ends == ends && other.stream == chunk.stream;
        if chunk.begin {
            if sip::sniff(chunk.data) != Some(0) {
                return;
            }
            if chunk.end {
                deliver(chunk.data, frames);
                return;
            }
            self.partial.retain(|other| !same(other));
            if self.partial.len() == self.ceiling {
                self.partial.pop_front();
                self.evicted += 1;
            }
            let (bytes, frames) = (chunk.data.to_vec(), frames.to_vec());
            self.partial.push_back(Partial {
                ends,
                stream: chunk.stream,
                next: chunk.tsn.wrapping_add(1),
                bytes,
                frames,
            });
            return;
        }
        let Some(index) = self.partial.iter().position(|other| same(other) && other.next == chunk.tsn) else {
            return;
        };
        let partial = &mut self.partial[index];
        if partial.bytes.len() + chunk.data.len() > self.max_bytes {
            self.partial.remove(index);
            self.evicted += 1;
            return;
        }
        partial.bytes.extend_from_slice(chunk.data);
        partial.frames.extend_from_slice(frames);
        partial.next = partial.next.wrapping_add(1);
        if chunk.end
            && let Some(whole) = self.partial.remove(index)
        {
            deliver(&whole.bytes, &whole.frames);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"OPTIONS sip:a@example.com SIP/2.0\r\nCall-ID: 1\r\n\r\n";

    fn chunk(tsn: u32, begin: bool, end: bool, data: &[u8]) -> SctpData<'_> {
        SctpData { tsn, stream: 1, ssn: 0, unordered: false, begin, end, ppid: 0, data, len: data.len() }
    }

    fn run(chunks: &[SctpData<'_>]) -> Vec<(Vec<u8>, Vec<u64>)> {
        let end = |last| Endpoint::new([192, 0, 2, last].into(), 5060);
        let mut table = Associations::new(4, 1000);
        let mut got = Vec::new();
        for (number, chunk) in chunks.iter().enumerate() {
            table.push((end(1), end(2)), chunk, &[number as u64], |bytes, frames| {
                got.push((bytes.to_vec(), frames.to_vec()))
            });
        }
        got
    }

    #[test]
    fn a_message_in_three_chunks() {
        let (a, rest) = REQUEST.split_at(40);
        let (b, c) = rest.split_at(5);
        let whole =
            run(&[chunk(u32::MAX, true, false, a), chunk(0, false, false, b), chunk(1, false, true, c)]);
        assert_eq!(whole, [(REQUEST.to_vec(), vec![0, 1, 2])]);
        assert_eq!(run(&[chunk(1, true, false, a), chunk(3, false, true, c)]), []);
    }

    /// RFC 4168 section 5.1 and RFC 9260 section 6.9.
    #[test]
    fn a_message_in_one_chunk_is_handed_on_at_once() {
        assert_eq!(run(&[chunk(7, true, true, REQUEST)]), [(REQUEST.to_vec(), vec![0])]);
        assert_eq!(run(&[chunk(7, true, true, b"no SIP at all")]), []);
    }

    #[test]
    fn a_message_that_begins_again_replaces_the_one_that_was_not_whole() {
        let (a, b) = REQUEST.split_at(40);
        let whole = run(&[
            chunk(1, true, false, a),
            chunk(5, true, false, a),
            chunk(2, false, true, b),
            chunk(6, false, true, b),
        ]);
        assert_eq!(whole, [(REQUEST.to_vec(), vec![1, 3])]);
    }

    #[test]
    fn messages_of_other_streams_and_associations_do_not_mix() {
        let (a, b) = REQUEST.split_at(40);
        let other = SctpData { stream: 2, ..chunk(2, false, true, b) };
        assert_eq!(run(&[chunk(1, true, false, a), other]), []);
    }

    #[test]
    fn the_ceiling_evicts_the_oldest_and_a_message_that_is_too_long() {
        let end = |last| Endpoint::new([192, 0, 2, last].into(), 5060);
        let mut table = Associations::new(2, 60);
        let (a, b) = REQUEST.split_at(40);
        let mut whole = 0;
        for last in 1..=3 {
            table.push((end(last), end(9)), &chunk(1, true, false, a), &[1], |_, _| whole += 1);
        }
        assert_eq!((table.evicted, whole), (1, 0));
        table.push((end(1), end(9)), &chunk(2, false, true, b), &[2], |_, _| whole += 1);
        assert_eq!(whole, 0);
        table.push((end(2), end(9)), &chunk(2, false, true, b), &[2], |_, _| whole += 1);
        assert_eq!((table.evicted, whole), (1, 1));
        table.push((end(3), end(9)), &chunk(2, false, false, &[b'x'; 20]), &[2], |_, _| whole += 1);
        assert_eq!(table.evicted, 1);
        table.push((end(3), end(9)), &chunk(3, false, true, b"x"), &[2], |_, _| whole += 1);
        assert_eq!((table.evicted, whole), (2, 1));
    }
}

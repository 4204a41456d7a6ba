//! SIP messages out of SCTP DATA chunks: RFC 9260 section 6.9, RFC 4168.

use ringtap_model::Endpoint;
use ringtap_wire::frame::SctpData;
use ringtap_wire::sip;

use crate::table::aged::{Aged, HeapBytes};
use crate::table::hash::Hasher;

/// Sender, receiver and stream.
type Key = (Endpoint, Endpoint, u16);

/// A message whose first chunk has come and whose last has not.
#[derive(Default)]
struct Partial {
    /// Number of the chunk that continues it.
    next: u32,
    bytes: Vec<u8>,
    frames: Vec<u64>,
}

impl HeapBytes for Partial {
    fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.frames.capacity() * size_of::<u64>()
    }
}

/// Messages under way, one a stream, in order of their first chunk. Chunks are taken in the order of their
/// numbers; one that was lost ends its message.
pub(crate) struct Associations {
    partial: Aged<Key, Partial>,
    max_message: usize,
    /// Messages that were too long.
    too_long: u64,
}

impl Associations {
    /// For up to `ceiling` messages of up to `max_message` bytes each, which hold up to `max_bytes` together.
    pub(crate) fn new(ceiling: usize, max_message: usize, max_bytes: usize, hasher: Hasher) -> Self {
        Self { partial: Aged::new(ceiling, max_bytes, hasher), max_message, too_long: 0 }
    }

    /// Messages pushed out at a ceiling, or too long.
    pub(crate) fn evicted(&self) -> u64 {
        self.partial.evicted + self.too_long
    }

    /// Takes a chunk and hands on the SIP message that it completes.
    #[cold]
    pub(crate) fn push(
        &mut self,
        (src, dst): (Endpoint, Endpoint),
        chunk: &SctpData<'_>,
        frames: &[u64],
        deliver: impl FnOnce(&[u8], &[u64]),
    ) {
        let key = (src, dst, chunk.stream);
        if chunk.begin {
            if sip::sniff(chunk.data) != Some(0) {
                return;
            }
            if chunk.end {
                deliver(chunk.data, frames);
                return;
            }
            // One that begins again replaces the one that was not whole, and is as young as any.
            if let Some(before) = self.partial.find(&key) {
                self.partial.remove(before);
            }
            let (next, bytes, frames) = (chunk.tsn.wrapping_add(1), chunk.data.to_vec(), frames.to_vec());
            if let Some(slot) = self.partial.find_or_insert(key, || Partial { next, bytes, frames }) {
                self.partial.grown(slot);
            }
            return;
        }
        let Some(slot) = self.partial.find(&key) else { return };
        let partial = self.partial.get_mut(slot);
        if partial.next != chunk.tsn {
            return;
        }
        if partial.bytes.len() + chunk.data.len() > self.max_message {
            self.partial.remove(slot);
            self.too_long += 1;
            return;
        }
        partial.bytes.extend_from_slice(chunk.data);
        // All chunks of a packet come in the same frames.
        if !partial.frames.ends_with(frames) {
            partial.frames.extend_from_slice(frames);
        }
        partial.next = partial.next.wrapping_add(1);
        if chunk.end {
            if let Some(whole) = self.partial.remove(slot) {
                deliver(&whole.bytes, &whole.frames);
            }
        } else {
            self.partial.grown(slot);
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
        let mut table = Associations::new(4, 1000, 1 << 20, Hasher::new(1));
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
        let mut table = Associations::new(2, 60, 1 << 20, Hasher::new(1));
        let (a, b) = REQUEST.split_at(40);
        let mut whole = 0;
        for last in 1..=3 {
            table.push((end(last), end(9)), &chunk(1, true, false, a), &[1], |_, _| whole += 1);
        }
        assert_eq!((table.evicted(), whole), (1, 0));
        table.push((end(1), end(9)), &chunk(2, false, true, b), &[2], |_, _| whole += 1);
        assert_eq!(whole, 0);
        table.push((end(2), end(9)), &chunk(2, false, true, b), &[2], |_, _| whole += 1);
        assert_eq!((table.evicted(), whole), (1, 1));
        table.push((end(3), end(9)), &chunk(2, false, false, &[b'x'; 20]), &[2], |_, _| whole += 1);
        assert_eq!(table.evicted(), 1);
        table.push((end(3), end(9)), &chunk(3, false, true, b"x"), &[2], |_, _| whole += 1);
        assert_eq!((table.evicted(), whole), (2, 1));
    }
}

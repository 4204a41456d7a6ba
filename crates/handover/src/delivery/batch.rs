//! Product that is written, sent and confirmed together: whole PDUs, one behind the other.

use crate::{Cin, Liid};

/// PDUs of one link in the order in which they are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The PDUs.
    pub(crate) pdus: Vec<u8>,
    /// What each of them is.
    pub(crate) entries: Vec<Entry>,
}

/// One PDU of a batch; of a list of counters, one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) liid: Liid,
    pub(crate) cin: Cin,
    pub(crate) sequence: u32,
    /// Octets of the PDU.
    pub(crate) length: u32,
}

impl Batch {
    /// Octets of the PDUs.
    pub(crate) fn bytes(&self) -> u64 {
        self.pdus.len() as u64
    }

    /// Octets and PDUs of each warrant.
    pub(crate) fn by_warrant(&self) -> Vec<(Liid, u64, u64)> {
        let mut sums: Vec<(Liid, u64, u64)> = Vec::new();
        for entry in &self.entries {
            let at = match sums.iter().position(|(liid, ..)| *liid == entry.liid) {
                Some(at) => at,
                None => {
                    sums.push((entry.liid, 0, 0));
                    sums.len() - 1
                }
            };
            sums[at].1 += u64::from(entry.length);
            sums[at].2 += 1;
        }
        sums
    }

    /// Its octets in a file.
    pub(crate) fn write(&self, kind: u8, out: &mut Vec<u8>) {
        out.push(kind);
        out.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        for entry in &self.entries {
            let liid = entry.liid.as_bytes();
            out.push(liid.len() as u8);
            out.extend_from_slice(liid);
            for number in [entry.cin.0, entry.sequence, entry.length] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        out.extend_from_slice(&self.pdus);
    }

    /// Reads what [`write`](Self::write) wrote. None if it is anything else.
    pub(crate) fn read(octets: &[u8]) -> Option<(u8, Self)> {
        let (kind, rest) = octets.split_first()?;
        let (count, mut rest) = take_u32(rest)?;
        // Each entry takes 14 octets or more: a count that does not fit into the octets reserves nothing.
        let mut entries = Vec::with_capacity((count as usize).min(rest.len() / 14));
        for _ in 0..count {
            let (length, after) = rest.split_first()?;
            let (liid, after) = after.split_at_checked(usize::from(*length))?;
            let (cin, after) = take_u32(after)?;
            let (sequence, after) = take_u32(after)?;
            let (length, after) = take_u32(after)?;
            entries.push(Entry { liid: Liid::new(liid).ok()?, cin: Cin(cin), sequence, length });
            rest = after;
        }
        Some((*kind, Self { pdus: rest.to_vec(), entries }))
    }
}

fn take_u32(octets: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = octets.split_first_chunk()?;
    Some((u32::from_le_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            pdus in vec(any::<u8>(), 0..200),
            entries in vec((vec(any::<u8>(), 1..=25), any::<[u32; 3]>()), 0..9),
            kind: u8,
        ) {
            let entry = |(liid, [cin, sequence, length]): (Vec<u8>, [u32; 3])| {
                Entry { liid: Liid::new(&liid).unwrap(), cin: Cin(cin), sequence, length }
            };
            let batch = Batch { pdus, entries: entries.into_iter().map(entry).collect() };
            let mut out = Vec::new();
            batch.write(kind, &mut out);
            prop_assert_eq!(Batch::read(&out), Some((kind, batch)));
        }

        #[test]
        fn any_octets_are_read_or_refused(octets in vec(any::<u8>(), 0..200)) {
            let _ = Batch::read(&octets);
        }
    }
}

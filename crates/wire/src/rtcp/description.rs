//! Source descriptions (RFC 3550 section 6.5).

use super::word::word;

/// Source description item CNAME (RFC 3550 section 6.5.1).
pub const CNAME: u8 = 1;

/// A source description packet.
#[derive(Clone, Copy, Debug)]
pub struct Sdes<'a> {
    pub(super) count: u8,
    pub(super) data: &'a [u8],
}

impl<'a> Sdes<'a> {
    /// All items of all sources. Ends where one does not fit.
    pub const fn items(&self) -> Items<'a> {
        Items { chunks: self.count, ssrc: None, data: self.data, at: 0 }
    }

    /// The first source that has a canonical name, and the name.
    pub fn cname(&self) -> Option<(u32, &'a [u8])> {
        self.items().find(|item| item.kind == CNAME).map(|item| (item.ssrc, item.text))
    }
}

/// One item of a source description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// Whom it describes.
    pub ssrc: u32,
    /// Item type: 1 CNAME, 2 NAME, 3 EMAIL, 4 PHONE, 5 LOC, 6 TOOL, 7 NOTE, 8 PRIV.
    pub kind: u8,
    /// Its text, UTF-8 as it should be.
    pub text: &'a [u8],
}

/// Iterator over the items of an [`Sdes`].
#[derive(Clone, Debug)]
pub struct Items<'a> {
    /// Chunks not yet begun.
    chunks: u8,
    /// Source of the chunk that is being read.
    ssrc: Option<u32>,
    data: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(ssrc) = self.ssrc else {
                self.chunks = self.chunks.checked_sub(1)?;
                self.ssrc = Some(word(self.data, self.at)?);
                self.at += 4;
                continue;
            };
            let (&kind, rest) = self.data.get(self.at..)?.split_first()?;
            if kind == 0 {
                // One to four null octets end a chunk, at a word's end.
                self.ssrc = None;
                self.at = (self.at + 1).next_multiple_of(4);
                continue;
            }
            let (&len, rest) = rest.split_first()?;
            let text = rest.get(..usize::from(len))?;
            self.at += 2 + text.len();
            return Some(Item { ssrc, kind, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Compound, Packet};

    fn packets(data: &[u8]) -> Vec<Packet<'_>> {
        Compound::parse(data).unwrap().packets().collect()
    }

    #[test]
    fn two_sources_described() {
        let data = [
            0x82, 202, 0, 6, 0, 0, 0, 1, 2, 2, b'n', b'm', 0, 0, 0, 0, // source 1: NAME, four nulls
            0, 0, 0, 2, 1, 2, b'x', b'y', 0, 0, 0, 0, // source 2: CNAME, four nulls
        ];
        let packets = packets(&data);
        let [Packet::Sdes(sdes)] = packets[..] else { panic!("{packets:?}") };
        assert_eq!(sdes.cname(), Some((2, &b"xy"[..])));
        assert_eq!(sdes.items().map(|item| item.ssrc).collect::<Vec<_>>(), [1, 2]);
    }
}

//! Writes frames into a file that Wireshark opens.

use std::io::{self, BufWriter, Error, ErrorKind, Write};

use ringtap_model::{Frame, LinkType};

use crate::pcap::{MAX_CAPTURED, NANO};
use crate::pcapng::{ENHANCED, INTERFACE, OPTION_RESOLUTION, SECTION};

/// Writes frames with nanoseconds: classic pcap for one link type, pcapng with one interface per link type
/// for several.
///
/// Writes are buffered; call [`finish`](Self::finish) to see errors of the last ones.
#[derive(Debug)]
pub struct Writer<W: Write> {
    to: BufWriter<W>,
    /// Distinct; the index of a link type is its interface.
    links: Vec<LinkType>,
}

impl<W: Write> Writer<W> {
    /// Writes the file header for the given link types. [`ErrorKind::InvalidInput`] if there are none.
    pub fn new(to: W, links: &[LinkType]) -> io::Result<Self> {
        let mut distinct: Vec<LinkType> = Vec::with_capacity(links.len());
        for link in links {
            if !distinct.contains(link) {
                distinct.push(*link);
            }
        }
        let mut writer = Self { to: BufWriter::with_capacity(BUFFER, to), links: distinct };
        match writer.links[..] {
            [] => return Err(invalid("a capture file needs a link type")),
            [link] => writer.pcap_header(link)?,
            _ => writer.pcapng_header()?,
        }
        Ok(writer)
    }

    /// Appends one frame.
    ///
    /// [`ErrorKind::InvalidInput`] if its link type was not given to `new`, or if it is longer than 256 KiB.
    /// Classic pcap ends in the year 2106; later times become its last second.
    pub fn write(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let Some(interface) = self.links.iter().position(|link| *link == frame.link) else {
            return Err(invalid("a frame has a link type that the file was not opened for"));
        };
        if frame.data.len() > MAX_CAPTURED as usize {
            return Err(invalid("a frame is longer than a capture file may hold"));
        }
        if self.links.len() == 1 {
            self.pcap_record(frame)
        } else {
            self.pcapng_block(frame, interface as u32)
        }
    }

    /// Passes everything on, so that what it writes to has whole frames.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// What it writes to.
    pub fn get_ref(&self) -> &W {
        self.to.get_ref()
    }

    /// What it writes to. Whatever is written to it does not become part of a frame.
    pub fn get_mut(&mut self) -> &mut W {
        self.to.get_mut()
    }

    /// Flushes the buffer and returns the writer.
    pub fn finish(self) -> io::Result<W> {
        let mut to = self.to.into_inner().map_err(io::IntoInnerError::into_error)?;
        to.flush()?;
        Ok(to)
    }

    fn pcap_header(&mut self, link: LinkType) -> io::Result<()> {
        let mut header = [0; 24];
        header[0..4].copy_from_slice(&NANO.to_le_bytes());
        header[4..6].copy_from_slice(&2_u16.to_le_bytes());
        header[6..8].copy_from_slice(&4_u16.to_le_bytes());
        header[16..20].copy_from_slice(&MAX_CAPTURED.to_le_bytes());
        header[20..22].copy_from_slice(&link.0.to_le_bytes());
        self.to.write_all(&header)
    }

    fn pcap_record(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let secs = u32::try_from(frame.time.0 / SECOND).unwrap_or(u32::MAX);
        let nanos = (frame.time.0 % SECOND) as u32;
        let mut header = [0; 16];
        header[0..4].copy_from_slice(&secs.to_le_bytes());
        header[4..8].copy_from_slice(&nanos.to_le_bytes());
        header[8..12].copy_from_slice(&(frame.data.len() as u32).to_le_bytes());
        header[12..16].copy_from_slice(&frame.wire_len.to_le_bytes());
        self.to.write_all(&header)?;
        self.to.write_all(frame.data)
    }

    fn pcapng_header(&mut self) -> io::Result<()> {
        self.words(&[SECTION, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28])?;
        for index in 0..self.links.len() {
            let link = u32::from(self.links[index].0);
            // `if_tsresol` 9: nanoseconds; then the end of the options.
            let resolution = u32::from(OPTION_RESOLUTION) | 1 << 16;
            self.words(&[INTERFACE, 32, link, MAX_CAPTURED, resolution, 9, 0, 32])?;
        }
        Ok(())
    }

    fn pcapng_block(&mut self, frame: &Frame<'_>, interface: u32) -> io::Result<()> {
        let captured = frame.data.len() as u32;
        let padding = (captured.next_multiple_of(4) - captured) as usize;
        let length = 32 + captured.next_multiple_of(4);
        let (high, low) = ((frame.time.0 >> 32) as u32, frame.time.0 as u32);
        self.words(&[ENHANCED, length, interface, high, low, captured, frame.wire_len])?;
        self.to.write_all(frame.data)?;
        self.to.write_all(&[0; 3][..padding])?;
        self.words(&[length])
    }

    fn words(&mut self, words: &[u32]) -> io::Result<()> {
        words.iter().try_for_each(|word| self.to.write_all(&word.to_le_bytes()))
    }
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

const SECOND: u64 = 1_000_000_000;
/// With large writes the kernel's cache uses large pages: mapping the file right afterwards takes a third of
/// the time.
const BUFFER: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use ringtap_model::Nanos;

    use super::*;

    fn frame(link: u16, data: &[u8]) -> Frame<'_> {
        let time = Nanos(0x2_0000_0003);
        Frame { time, number: 1, link: LinkType(link), wire_len: 9, data }
    }

    #[test]
    fn one_link_type_is_classic_pcap() {
        let mut writer = Writer::new(Vec::new(), &[LinkType(113), LinkType(113)]).expect("header");
        writer.write(&Frame { time: Nanos(3_000_000_005), ..frame(113, b"abc") }).expect("record");
        let expected = [
            &[0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 113, 0, 0, 0][..],
            &[3, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, b'a', b'b', b'c'],
        ];
        assert_eq!(writer.finish().expect("flush"), expected.concat());
    }

    #[test]
    fn several_are_pcapng() {
        let mut writer = Writer::new(Vec::new(), &[LinkType(1), LinkType(113)]).expect("header");
        writer.write(&frame(113, b"abcde")).expect("record");
        let bytes = writer.finish().expect("flush");
        let block = [
            6, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, b'a', b'b',
            b'c', b'd', b'e', 0, 0, 0, 40, 0, 0, 0,
        ];
        assert_eq!(bytes.len(), 28 + 32 + 32 + 40);
        assert_eq!(bytes[92..], block);
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let kind = |result: io::Result<()>| result.map_err(|error| error.kind());
        assert!(Writer::new(Vec::new(), &[]).is_err());
        let mut writer = Writer::new(Vec::new(), &[LinkType(1)]).expect("header");
        assert_eq!(kind(writer.write(&frame(2, b""))), Err(ErrorKind::InvalidInput));
        let long = vec![0; MAX_CAPTURED as usize + 1];
        assert_eq!(kind(writer.write(&frame(1, &long))), Err(ErrorKind::InvalidInput));
        assert_eq!(kind(writer.write(&frame(1, &long[1..]))), Ok(()));
    }
}

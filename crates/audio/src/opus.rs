//! Ogg Opus (RFC 7845): speech in at most a fifth of the space of a WAV, for archives.
//!
//! The two sides are separate streams in one packet (channel mapping family 1, no coupled streams), not
//! coupled stereo. Two voices share nothing that joint coding could save: at 12 kbit/s a side coupled stereo
//! is 1.6 dB less accurate with a third more bits, and Opus narrows the stereo there, so one voice leaks into
//! the other channel.

use std::io::Write;

use ogg::{PacketWriteEndInfo, PacketWriter};
use ringtap_model::Hz;

use crate::Error;
use crate::encoder::{CLOCK, Encoder, EncoderSettings};
use crate::output::{Output, OutputFormat};
use crate::playout::resample::Resampler;

/// Writes an Ogg Opus file, a page a second.
pub struct Opus<W: Write> {
    to: PacketWriter<'static, W>,
    serial: u32,
    encoder: Box<dyn Encoder>,
    coding: EncoderSettings,
    resamplers: Option<[Resampler; 2]>,
    /// Interleaved samples, less than a page.
    held: Vec<i16>,
    /// Output of a resampler for one channel.
    line: [Vec<i16>; 2],
    /// Packets written, and their total.
    written: u64,
    packets: u64,
    /// The granule position after the last audible sample.
    end: u64,
}

impl<W: Write> Opus<W> {
    /// Writes the headers. `comments` have the form `NAME=text`. The encoder must have the settings of
    /// [`EncoderSettings::of`] this format.
    pub fn new(
        to: W,
        shape: OutputFormat,
        encoder: Box<dyn Encoder>,
        comments: &[String],
    ) -> Result<Self, Error> {
        let coding = encoder.coding();
        let resamplers = match shape.rate == coding.rate {
            true => None,
            false => Some([resampler(shape.rate, coding.rate)?, resampler(shape.rate, coding.rate)?]),
        };
        let ratio = CLOCK / coding.rate.0;
        let frames = (shape.frames * u64::from(coding.rate.0)).div_ceil(u64::from(shape.rate.0).max(1));
        let skip = encoder.lookahead() * ratio;
        let packets = (frames + u64::from(encoder.lookahead())).div_ceil(coding.frame() as u64);
        let mut opus = Self {
            to: PacketWriter::new(to),
            // Concatenated files need different serial numbers (RFC 3533 section 4): calls begin at different
            // times.
            serial: (shape.start.0 ^ shape.start.0 >> 32) as u32,
            encoder,
            coding,
            resamplers,
            held: Vec::new(),
            line: Default::default(),
            written: 0,
            packets,
            end: u64::from(skip) + frames * u64::from(ratio),
        };
        let alone = PacketWriteEndInfo::EndPage;
        opus.to.write_packet(head(coding, skip, shape.rate), opus.serial, alone, 0)?;
        opus.to.write_packet(tags(comments), opus.serial, alone, 0)?;
        Ok(opus)
    }

    fn push(&mut self, [left, right]: [&[i16]; 2]) -> Result<(), Error> {
        match self.coding.channels {
            1 => self.held.extend_from_slice(left),
            _ => self.held.extend(left.iter().zip(right).flat_map(|(left, right)| [*left, *right])),
        }
        let page = PAGE * self.packet();
        let whole = self.held.len() - self.held.len() % page;
        for at in (0..whole).step_by(page) {
            self.page(at..at + page)?;
        }
        self.held.drain(..whole);
        Ok(())
    }

    /// Writes that range of the buffer, in whole packets, as a page.
    fn page(&mut self, held: std::ops::Range<usize>) -> Result<(), Error> {
        let packets = self.encoder.encode(&self.held[held])?;
        let last = packets.len();
        for (packet, number) in packets.into_iter().zip(1..) {
            if self.written == self.packets {
                break;
            }
            self.written += 1;
            let (ends, granule) = match number == last {
                _ if self.written == self.packets => (PacketWriteEndInfo::EndStream, self.end),
                true => (PacketWriteEndInfo::EndPage, self.written * SAMPLES),
                false => (PacketWriteEndInfo::NormalPacket, self.written * SAMPLES),
            };
            self.to.write_packet(packet, self.serial, ends, granule)?;
        }
        Ok(())
    }

    /// Samples of all channels in a packet.
    fn packet(&self) -> usize {
        self.coding.frame() * usize::from(self.coding.channels)
    }
}

impl<W: Write> Output for Opus<W> {
    fn write(&mut self, channels: [&[i16]; 2]) -> Result<(), Error> {
        let Some(resamplers) = &mut self.resamplers else { return self.push(channels) };
        let used = usize::from(self.coding.channels);
        for ((resampler, line), samples) in resamplers.iter_mut().zip(&mut self.line).zip(channels).take(used)
        {
            line.clear();
            resampler.push(samples, line);
        }
        let line = std::mem::take(&mut self.line);
        self.push([&line[0], &line[1]])?;
        self.line = line;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        if let Some(resamplers) = &mut self.resamplers {
            let mut line: [Vec<i16>; 2] = Default::default();
            resamplers.iter_mut().zip(&mut line).for_each(|(resampler, line)| resampler.flush(line));
            self.push([&line[0], &line[1]])?;
        }
        // The decoder outputs the last samples only after further input, so silence follows.
        while self.written < self.packets {
            let missing = (self.packets - self.written).min(PAGE as u64) as usize;
            self.held.resize(missing * self.packet(), 0);
            self.page(0..self.held.len())?;
            self.held.clear();
        }
        Ok(self.to.inner_mut().flush()?)
    }
}

fn resampler(from: Hz, to: Hz) -> Result<Resampler, Error> {
    Resampler::new(from, to).ok_or(Error::Rate { rate: from.0 })
}

/// The identification header (section 5.1).
fn head(coding: EncoderSettings, skip: u32, rate: Hz) -> Vec<u8> {
    let mut head = Vec::with_capacity(21 + 2);
    head.extend(b"OpusHead");
    head.push(1);
    head.push(coding.channels as u8);
    head.extend((skip as u16).to_le_bytes());
    head.extend(rate.0.to_le_bytes());
    // No gain.
    head.extend([0, 0]);
    match coding.channels {
        1 => head.push(0),
        // Family 1: two channels, left and right; two streams, none coupled, one per channel.
        _ => head.extend([1, 2, 0, 0, 1]),
    }
    head
}

/// The comment header (section 5.2).
fn tags(comments: &[String]) -> Vec<u8> {
    let mut tags = b"OpusTags".to_vec();
    let mut put = |bytes: &[u8], count: usize| {
        tags.extend((count as u32).to_le_bytes());
        tags.extend_from_slice(bytes);
    };
    let vendor = concat!("ringtap ", env!("CARGO_PKG_VERSION"));
    put(vendor.as_bytes(), vendor.len());
    put(&[], comments.len());
    comments.iter().for_each(|comment| put(comment.as_bytes(), comment.len()));
    tags
}

/// Granule units in a packet.
const SAMPLES: u64 = 960;
/// Packets per page: a second, the maximum that section 6 recommends.
const PAGE: usize = 50;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ringtap_model::Nanos;

    use super::*;

    /// Packs nothing: a packet is the samples of its frame.
    struct Plain {
        coding: EncoderSettings,
        lookahead: u32,
    }

    impl Encoder for Plain {
        fn coding(&self) -> EncoderSettings {
            self.coding
        }

        fn lookahead(&self) -> u32 {
            self.lookahead
        }

        fn encode(&mut self, samples: &[i16]) -> Result<Vec<Vec<u8>>, Error> {
            let frames = samples.chunks_exact(self.coding.frame() * usize::from(self.coding.channels));
            assert!(frames.remainder().is_empty(), "whole frames");
            Ok(frames.map(|frame| frame.iter().flat_map(|sample| sample.to_le_bytes()).collect()).collect())
        }
    }

    fn written(shape: OutputFormat, lookahead: u32, samples: &[i16], piece: usize) -> Vec<u8> {
        let mut to = Vec::new();
        let encoder = Plain { coding: EncoderSettings::of(shape, 24_000), lookahead };
        let mut opus = Box::new(Opus::new(&mut to, shape, Box::new(encoder), &[]).expect("memory"));
        samples.chunks(piece).for_each(|piece| opus.write([piece, piece]).expect("memory"));
        opus.finish().expect("memory");
        to
    }

    /// Flags, granule position and packets of each page (RFC 3533 section 6); a packet that goes on is left
    /// open.
    fn pages(mut file: &[u8]) -> Vec<(u8, i64, Vec<Vec<u8>>)> {
        let (mut pages, mut open) = (Vec::new(), Vec::new());
        while !file.is_empty() {
            assert_eq!(&file[..5], b"OggS\0");
            let granule = i64::from_le_bytes(file[6..14].try_into().expect("eight"));
            let (flags, segments) = (file[5], usize::from(file[26]));
            let (table, mut body) = file[27..].split_at(segments);
            let mut packets = Vec::new();
            for length in table {
                let (segment, rest) = body.split_at(usize::from(*length));
                open.extend_from_slice(segment);
                body = rest;
                if *length < 255 {
                    packets.push(std::mem::take(&mut open));
                }
            }
            file = body;
            pages.push((flags, granule, packets));
        }
        assert!(open.is_empty());
        pages
    }

    fn shape(rate: u32, channels: u16, frames: u64) -> OutputFormat {
        OutputFormat { rate: Hz(rate), channels, frames, start: Nanos(1_795_226_400_000_000_000) }
    }

    #[test]
    fn headers() {
        let to = written(shape(8_000, 2, 10), 52, &[1; 10], 10);
        let pages = pages(&to);
        assert_eq!(
            pages[0].2,
            [b"OpusHead\x01\x02\x38\x01\x40\x1f\0\0\0\0\x01\x02\0\0\x01".to_vec()],
            "312 samples to skip, 8000 Hz, no gain, two streams for two channels"
        );
        let vendor = concat!("ringtap ", env!("CARGO_PKG_VERSION"));
        let tags = [&b"OpusTags"[..], &[vendor.len() as u8, 0, 0, 0], vendor.as_bytes(), &[0; 4]].concat();
        assert_eq!((pages[0].0, &pages[1]), (2, &(0, 0, vec![tags])));
        assert_eq!(
            (pages[2].0, pages[2].1, pages.len()),
            (4, 312 + 60, 3),
            "one packet, all but 60 of it left out"
        );
        assert_eq!(
            head(EncoderSettings::of(shape(16_000, 1, 0), 1), 0, Hz(16_000))[18..],
            [0],
            "mono is family 0"
        );
    }

    #[test]
    fn rates_that_opus_lacks() {
        // 10 s are 10 s, but for the part of a sample at 48 kHz.
        for rate in [4_000, 11_025, 44_100, 192_000] {
            let samples: Vec<i16> = (0..10 * rate).map(|at| (at % 50) as i16).collect();
            let pages = pages(&written(shape(rate, 1, 10 * u64::from(rate)), 312, &samples, 4_096));
            let last = pages.last().expect("some");
            assert_eq!((last.0, last.1), (4, 312 + 480_000), "{rate}");
            let packets: usize = pages[2..].iter().map(|page| page.2.len()).sum();
            assert_eq!(packets, 501, "{rate}");
        }
    }

    proptest! {
        /// Whatever its length and however it comes: all samples in order, silence behind them until the last
        /// has come out of the decoder, and granule positions that say so, a second a page.
        #[test]
        fn nothing_is_lost_or_added(
            frames in 1..30_000_usize,
            piece in 1..9_000_usize,
            (rate, channels) in prop::sample::select(vec![(8_000, 1), (8_000, 2), (16_000, 2), (48_000, 1)]),
            lookahead in 0..1_000_u32,
        ) {
            let samples: Vec<i16> = (0..frames).map(|at| (at % 32_000) as i16 + 1).collect();
            let file = written(shape(rate, channels, frames as u64), lookahead, &samples, piece);
            let pages = pages(&file);
            let packets: Vec<u8> = pages[2..].iter().flat_map(|page| page.2.concat()).collect();
            let heard: Vec<i16> =
                packets.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
            let sent: Vec<i16> =
                samples.iter().flat_map(|sample| std::iter::repeat_n(*sample, channels.into())).collect();
            prop_assert!(heard.starts_with(&sent) && heard[sent.len()..].iter().all(|sample| *sample == 0));
            let (frame, count) = (rate as usize / 50,
                pages[2..].iter().map(|page| page.2.len()).sum::<usize>());
            prop_assert_eq!(count, (frames + lookahead as usize).div_ceil(frame));
            let mut before = 0;
            for (index, (flags, granule, packets)) in pages[2..].iter().enumerate() {
                let last = index + 3 == pages.len();
                before += packets.len() as i64;
                prop_assert_eq!(*flags & 4 == 4, last);
                let ratio = i64::from(48_000 / rate);
                let end = (frames as i64 + i64::from(lookahead)) * ratio;
                let expected = if last { end } else { before * 960 };
                // -1 where no packet ends on the page.
                prop_assert_eq!(*granule, if packets.is_empty() { -1 } else { expected });
                prop_assert!(packets.len() <= 50);
            }
        }
    }
}

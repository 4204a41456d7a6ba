//! FLAC (RFC 9639): the same samples in about half the space.
//!
//! Fixed predictors and Rice codes: for speech within a few percent of the size with searched predictors, at
//! a tenth of the work.

use std::io::{Seek, SeekFrom, Write};

use md5::{Digest, Md5};

use crate::Error;
use crate::output::{Output, OutputFormat};

/// Writes a FLAC file.
pub struct Flac<W: Write + Seek> {
    to: W,
    shape: OutputFormat,
    md5: Md5,
    /// Samples of both channels, less than a block.
    held: [Vec<i32>; 2],
    number: u32,
    written: u64,
}

impl<W: Write + Seek> Flac<W> {
    /// Writes the header.
    pub fn new(mut to: W, shape: OutputFormat) -> Result<Self, Error> {
        to.write_all(&header(shape, &[0; 16]))?;
        Ok(Self { to, shape, md5: Md5::new(), held: [Vec::new(), Vec::new()], number: 0, written: 0 })
    }

    /// Writes the first `count` buffered samples as a block.
    fn block(&mut self, count: usize) -> Result<(), Error> {
        let channels = usize::from(self.shape.channels);
        let mut bits = BitWriter::default();
        // Section 9.1: sync and fixed block size; the size is in two bytes, the rate in the file header;
        // independent channels, 16 bits.
        bits.write(0xfff8, 16);
        bits.write(0x70, 8);
        bits.write((channels as u32 - 1) << 4 | 0x08, 8);
        coded_number(self.number, &mut bits);
        bits.write(count as u32 - 1, 16);
        let check = crc8(&bits.bytes);
        bits.write(check.into(), 8);
        for held in &mut self.held[..channels] {
            subframe(&held[..count], &mut bits);
            held.drain(..count);
        }
        bits.fill();
        let check = crc16(&bits.bytes);
        bits.write(check.into(), 16);
        self.to.write_all(&bits.bytes)?;
        self.number += 1;
        self.written += count as u64;
        Ok(())
    }
}

impl<W: Write + Seek> Output for Flac<W> {
    fn write(&mut self, [left, right]: [&[i16]; 2]) -> Result<(), Error> {
        let mono = self.shape.channels == 1;
        let mut bytes = Vec::with_capacity(4 * left.len());
        for (at, left) in left.iter().enumerate() {
            bytes.extend(left.to_le_bytes());
            if !mono {
                bytes.extend(right[at].to_le_bytes());
            }
        }
        self.md5.update(&bytes);
        self.held[0].extend(left.iter().map(|sample| i32::from(*sample)));
        if !mono {
            self.held[1].extend(right.iter().map(|sample| i32::from(*sample)));
        }
        while self.held[0].len() >= BLOCK {
            self.block(BLOCK)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        let rest = self.held[0].len();
        if rest > 0 {
            self.block(rest)?;
        }
        let digest: [u8; 16] = self.md5.finalize().into();
        self.to.seek(SeekFrom::Start(0))?;
        self.to.write_all(&header(OutputFormat { frames: self.written, ..self.shape }, &digest))?;
        self.to.seek(SeekFrom::End(0))?;
        Ok(self.to.flush()?)
    }
}

/// The signature and the one block of metadata (sections 6 and 8.2).
fn header(shape: OutputFormat, md5: &[u8; 16]) -> Vec<u8> {
    let mut bits = BitWriter::default();
    bits.bytes.extend(b"fLaC");
    bits.write(0x80, 8);
    bits.write(34, 24);
    bits.write(BLOCK as u32, 16);
    bits.write(BLOCK as u32, 16);
    // The frame sizes are unknown.
    bits.write(0, 24);
    bits.write(0, 24);
    bits.write(shape.rate.0, 20);
    bits.write(u32::from(shape.channels) - 1, 3);
    bits.write(15, 5);
    bits.write((shape.frames >> 32) as u32, 4);
    bits.write(shape.frames as u32, 32);
    bits.bytes.extend(md5);
    bits.bytes
}

/// One channel of a block (section 9.2).
fn subframe(samples: &[i32], bits: &mut BitWriter) {
    if samples.iter().all(|sample| *sample == samples[0]) {
        bits.write(0, 8);
        bits.write(samples[0] as u32 & 0xffff, 16);
        return;
    }
    let (order, residual) = predicted(samples);
    let plan = RicePartition::of(&residual, order);
    if plan.cost + 16 * order as u64 >= 16 * samples.len() as u64 {
        bits.write(1 << 1, 8);
        samples.iter().for_each(|sample| bits.write(*sample as u32 & 0xffff, 16));
        return;
    }
    bits.write((8 | order as u32) << 1, 8);
    samples[..order].iter().for_each(|sample| bits.write(*sample as u32 & 0xffff, 16));
    plan.write(&residual, samples.len(), order, bits);
}

/// The order of the best fixed predictor, and its residual (section 9.2.5).
fn predicted(samples: &[i32]) -> (usize, Vec<i32>) {
    let most = 4.min(samples.len() - 1);
    let mut best = (0, samples.to_vec());
    let mut least = size(&best.1[most..]);
    let mut difference = samples.to_vec();
    for order in 1..=most {
        difference = difference.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let left = size(&difference[most - order..]);
        if left < least {
            least = left;
            best = (order, difference.clone());
        }
    }
    best
}

fn size(values: &[i32]) -> u64 {
    values.iter().map(|value| u64::from(value.unsigned_abs())).sum()
}

/// The partitions of a residual and the Rice parameter of each (section 9.2.7).
struct RicePartition {
    order: u32,
    parameters: Vec<u32>,
    /// Approximate size in bits.
    cost: u64,
}

impl RicePartition {
    fn of(residual: &[i32], warm_up: usize) -> Self {
        let block = residual.len() + warm_up;
        let orders = (0..=5_u32).filter(|order| block.is_multiple_of(1 << order) && block >> order > warm_up);
        let plans = orders.map(|order| {
            let mut cost = 6;
            let parameters = partitions(residual, block, warm_up, order).map(|part| {
                let (parameter, bits) = parameter(part);
                cost += 4 + bits;
                parameter
            });
            let parameters = parameters.collect();
            Self { order, parameters, cost }
        });
        plans.min_by_key(|plan| plan.cost).unwrap_or(Self {
            order: 0,
            parameters: vec![14],
            cost: u64::MAX / 2,
        })
    }

    fn write(&self, residual: &[i32], block: usize, warm_up: usize, bits: &mut BitWriter) {
        bits.write(self.order, 6);
        for (part, parameter) in partitions(residual, block, warm_up, self.order).zip(&self.parameters) {
            bits.write(*parameter, 4);
            for value in part {
                let folded = folded(*value);
                bits.zeros(folded >> parameter);
                bits.write(1 << parameter | folded & ((1 << parameter) - 1), parameter + 1);
            }
        }
    }
}

/// The first partition is shorter by the warm-up samples.
fn partitions(residual: &[i32], block: usize, warm_up: usize, order: u32) -> impl Iterator<Item = &[i32]> {
    let (first, rest) = residual.split_at((block >> order) - warm_up);
    std::iter::once(first).chain(rest.chunks(block >> order))
}

/// The best Rice parameter, and its size in bits.
fn parameter(values: &[i32]) -> (u32, u64) {
    let (count, sum) =
        (values.len() as u64, values.iter().map(|value| u64::from(folded(*value))).sum::<u64>());
    let cost = |parameter: u32| count * u64::from(parameter + 1) + (sum >> parameter);
    let guess = (sum / count.max(1)).checked_ilog2().unwrap_or(0);
    let near = guess.saturating_sub(1)..=(guess + 1);
    near.map(|parameter| parameter.min(14))
        .map(|parameter| (parameter, cost(parameter)))
        .min_by_key(|one| one.1)
        .unwrap_or((0, sum))
}

/// Zigzag coding: the sign in the lowest bit.
fn folded(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

/// Section 9.1.5: coded like UTF-8, up to 31 bits.
fn coded_number(number: u32, bits: &mut BitWriter) {
    if number < 0x80 {
        bits.write(number, 8);
        return;
    }
    // Each byte after the first holds six bits; the first holds one fewer for each of them.
    let more = (1..=5).find(|more| number < 1 << (6 * more + 6 - more)).unwrap_or(5);
    let mark = 0xff_u32 << (7 - more) & 0xff;
    bits.write(mark | number >> (6 * more), 8);
    (0..more).rev().for_each(|at| bits.write(0x80 | number >> (6 * at) & 0x3f, 8));
}

/// Writes bits, most significant first.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    open: u64,
    count: u32,
}

impl BitWriter {
    /// Writes the lowest `width` bits of `value`, up to 32.
    fn write(&mut self, value: u32, width: u32) {
        self.open = self.open << width | u64::from(value);
        self.count += width;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.open >> self.count) as u8);
        }
    }

    fn zeros(&mut self, mut count: u32) {
        while count > 0 {
            let now = count.min(24);
            self.write(0, now);
            count -= now;
        }
    }

    fn fill(&mut self) {
        if self.count > 0 {
            self.write(0, 8 - self.count);
        }
    }
}

/// Polynomial x^8 + x^2 + x + 1.
fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ byte, |crc, _| if crc & 0x80 == 0 { crc << 1 } else { crc << 1 ^ 0x07 })
    })
}

/// Polynomial x^16 + x^15 + x^2 + 1.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| crc << 8 ^ CRC16[usize::from((crc >> 8) as u8 ^ byte)])
}

const CRC16: [u16; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = (index as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x8005 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

/// Samples of a block.
const BLOCK: usize = 4_096;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ringtap_model::{Hz, Nanos};

    use super::*;

    #[test]
    fn numbers_as_utf8() {
        for (number, bytes) in [
            (0x7f, &[0x7f][..]),
            (0x80, &[0xc2, 0x80]),
            (0x7ff, &[0xdf, 0xbf]),
            (0x800, &[0xe0, 0xa0, 0x80]),
            (0x1_0000, &[0xf0, 0x90, 0x80, 0x80]),
            (0x7fff_ffff, &[0xfd, 0xbf, 0xbf, 0xbf, 0xbf, 0xbf]),
        ] {
            let mut bits = BitWriter::default();
            coded_number(number, &mut bits);
            assert_eq!(bits.bytes, bytes, "{number:x}");
        }
    }

    #[test]
    fn silence_is_small_and_extremes_fit() {
        let shape = OutputFormat { rate: Hz(8_000), channels: 1, frames: 80_000, start: Nanos::ZERO };
        let written = |samples: &[i16]| {
            let mut to = Cursor::new(Vec::new());
            let mut flac = Box::new(Flac::new(&mut to, shape).expect("memory"));
            flac.write([samples, &[]]).expect("memory");
            flac.finish().expect("memory");
            to.into_inner().len()
        };
        assert!(written(&[0; 80_000]) < 400);
        let extremes: Vec<i16> =
            (0..80_000).map(|at| if at % 2 == 0 { i16::MIN } else { i16::MAX }).collect();
        assert!(written(&extremes) < 161_000);
        assert!(written(&[5]) < 80);
    }
}

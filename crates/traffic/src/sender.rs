//! The sender of a media stream: its RTP packets and their times.

use std::ops::Range;

use ringtap_model::Nanos;

use crate::codec::Codec;
use crate::dialog::Side;
use crate::frame::Head;
use crate::rng::{Rng, mix};
use crate::sip;
use crate::voice::Voice;

/// Sound for all streams.
#[derive(Debug)]
pub(crate) struct Sounds {
    pub(crate) voice: Voice,
    /// Payload of codecs that are not encoded.
    noise: Vec<u8>,
}

impl Sounds {
    pub(crate) fn new(voice: Voice, seed: u64) -> Self {
        let mut rng = Rng::new(seed, NOISE);
        let noise = (0..NOISE_OCTETS / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
        Self { voice, noise }
    }
}

/// The sender of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) side: Side,
    pub(crate) head: Head,
    pub(crate) ssrc: u32,
    pub(crate) codec: Codec,
    pub(crate) ptime: Nanos,
    /// Time of the first packet.
    pub(crate) sequence: u16,
    pub(crate) timestamp: u32,
    pub(crate) start: Nanos,
    /// Number of packets.
    pub(crate) count: u32,
    /// Offset of its first sample in the voice.
    pub(crate) voice: u64,
    /// Digits in order, more than [`EVENT_PACKETS`] apart.
    pub(crate) digits: Box<[Digit]>,
    /// On hold.
    pub(crate) pause: Option<Pause>,
}

/// A pause in sending: sequence numbers continue, the timestamp advances with time (RFC 3550 section 5.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    /// The first packet after it.
    pub(crate) before: u32,
    /// Its length in packets.
    pub(crate) length: u32,
}

/// A dialled digit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digit {
    /// Index of its first packet.
    pub(crate) first: u32,
    /// RFC 4733 section 3.2.
    pub(crate) code: u8,
}

/// Packets of one event: five with increasing duration, then the end three times (RFC 4733 section 2.5.1.4).
pub(crate) const EVENT_PACKETS: u32 = 8;
const EVENT_ENDS: u32 = 3;

/// A sent packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPacket {
    pub(crate) at: Nanos,
    /// Index of the packet in the stream, from 0.
    pub(crate) index: u32,
    pub(crate) timestamp: u32,
    /// Whether it is a duplicate.
    pub(crate) repeat: bool,
    /// Whether it is a telephone event.
    pub(crate) event: Option<u8>,
    pub(crate) payload: usize,
}

impl Sender {
    /// The continuation of a sender, possibly to another destination: numbering and clock continue, without
    /// digits or pauses.
    pub(crate) fn continued(&self, head: Head, count: u32) -> Self {
        let ticks = self.codec.ticks(self.ptime);
        Self {
            head,
            sequence: self.sequence.wrapping_add(self.count as u16),
            timestamp: self.timestamp.wrapping_add(self.count.wrapping_mul(ticks)),
            start: self.time(self.count),
            count,
            voice: self.voice + u64::from(self.count) * u64::from(ticks),
            digits: Box::default(),
            ..self.clone()
        }
    }

    /// Send time of a packet.
    pub(crate) fn time(&self, index: u32) -> Nanos {
        self.start + Nanos(self.ptime.0 * u64::from(self.interval_of(index)))
    }

    /// Number of packet intervals from the start to a packet, with the pause.
    fn interval_of(&self, index: u32) -> u32 {
        index + self.pause.filter(|pause| index >= pause.before).map_or(0, |pause| pause.length)
    }

    /// The RTP timestamp at a time (RFC 3550 section 6.4.1).
    pub(crate) fn clock(&self, at: Nanos) -> u32 {
        let ticks = (at - self.start).0 as u128 * u128::from(self.codec.clock().0) / 1_000_000_000;
        self.timestamp.wrapping_add(ticks as u32)
    }

    pub(crate) fn touch(&self) -> u64 {
        self.voice ^ u64::from(self.ssrc) ^ self.head.touch()
    }

    fn event(&self, index: u32) -> Option<Digit> {
        let begun = self.digits.partition_point(|digit| digit.first <= index).checked_sub(1)?;
        Some(self.digits[begun]).filter(|digit| index - digit.first < EVENT_PACKETS)
    }

    /// Appends the RTP packet (RFC 3550 section 5.1) of an index.
    pub(crate) fn packet(&self, index: u32, sounds: &Sounds, to: &mut Vec<u8>) -> SentPacket {
        let ticks = self.codec.ticks(self.ptime);
        let event = self.event(index);
        // All packets of an event have the timestamp of its start.
        let clocked = event.map_or(index, |digit| digit.first);
        let timestamp = self.timestamp.wrapping_add(self.interval_of(clocked).wrapping_mul(ticks));
        let payload_type = if event.is_some() { sip::EVENT } else { self.codec.payload_type() };
        // RFC 3551 section 4.1: the first packet after a silence.
        let resumes = self.pause.is_some_and(|pause| pause.before == index);
        let marker = index == 0 || resumes || event.is_some_and(|digit| digit.first == index);
        to.extend_from_slice(&[0x80, payload_type | u8::from(marker) << 7]);
        to.extend_from_slice(&self.sequence.wrapping_add(index as u16).to_be_bytes());
        to.extend_from_slice(&timestamp.to_be_bytes());
        to.extend_from_slice(&self.ssrc.to_be_bytes());
        let begin = to.len();
        match event {
            Some(digit) => to.extend_from_slice(&self.event_payload(digit, index - digit.first)),
            None => self.sound(index, sounds, to),
        }
        let payload = to.len() - begin;
        SentPacket {
            at: Nanos::ZERO,
            index,
            timestamp,
            repeat: false,
            event: event.map(|digit| digit.code),
            payload,
        }
    }

    /// RFC 4733 section 2.3.
    fn event_payload(&self, digit: Digit, index: u32) -> [u8; 4] {
        let last = EVENT_PACKETS - EVENT_ENDS;
        let duration = self.codec.ticks(self.ptime) * (index.min(last) + 1);
        let [high, low] = (duration as u16).to_be_bytes();
        [digit.code, if index >= last { 0x80 } else { 0 } | VOLUME, high, low]
    }

    /// The random value of a packet, the same on each call.
    fn draw(&self, index: u32) -> u64 {
        mix(u64::from(self.ssrc) << 32 | u64::from(index))
    }

    /// Payload bytes of a range of packets.
    pub(crate) fn octets(&self, packets: Range<u32>) -> u64 {
        let (least, most) = self.codec.sizes(self.ptime);
        packets
            .map(|index| match self.event(index) {
                Some(_) => 4,
                None if least == most => most,
                None => size_of(self.draw(index), least, most) as u64,
            })
            .sum()
    }

    /// Packets sent up to a time.
    pub(crate) fn sent_by(&self, at: Nanos) -> u32 {
        let slots = ((at - self.start).0 / self.ptime.0) as u32 + u32::from(at >= self.start);
        let sent = match self.pause {
            Some(pause) if slots > pause.before => pause.before.max(slots.saturating_sub(pause.length)),
            _ => slots,
        };
        sent.min(self.count)
    }

    fn sound(&self, index: u32, sounds: &Sounds, to: &mut Vec<u8>) {
        let (least, most) = self.codec.sizes(self.ptime);
        let Some(law) = self.codec.law() else {
            // A duplicated packet must be identical.
            let index = self.draw(index);
            let size = size_of(index, least, most);
            let from = index as usize % (sounds.noise.len() - size);
            let begin = to.len();
            to.extend_from_slice(&sounds.noise[from..from + size]);
            return self.codec.mark(self.ptime, &mut to[begin..]);
        };
        let at = self.voice + u64::from(index) * u64::from(self.codec.ticks(self.ptime));
        sounds.voice.octets(self.side == Side::Caller, law, at, most as usize, to);
    }
}

fn size_of(draw: u64, least: u64, most: u64) -> usize {
    (least + (draw >> 32) % (most - least + 1)) as usize
}

/// In -dBm0.
const VOLUME: u8 = 10;
const NOISE: u64 = 0x6e6f_6973_6500;
const NOISE_OCTETS: usize = 1 << 16;

//! One direction of a call on a time line.

use ringtap_model::{Hz, Nanos};

use crate::Codec;

/// An RTP packet of a track.
#[derive(Clone, Copy, Debug)]
pub struct AudioPacket<'a> {
    /// Capture time.
    pub arrival: Nanos,
    /// Sequence number on the wire.
    pub sequence: u16,
    /// RTP timestamp.
    pub timestamp: u32,
    /// RTP payload type.
    pub payload_type: u8,
    /// Payload without header, extension and padding.
    pub payload: &'a [u8],
}

/// What packets of one payload type carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    /// Sound of a codec.
    Sound(Codec),
    /// Comfort noise (RFC 3389).
    Noise,
    /// Telephone events (RFC 4733).
    Events,
}

/// The packets of one stream, placed by their RTP timestamps.
///
/// Packets come in any order; duplicates are dropped; gaps (loss, pauses, other codecs) take no memory. If
/// timestamps jump by more than the arrival times explain, the time line continues at the arrival time: so a
/// restarted sender stays in place, and a forged timestamp cannot cause hours of silence.
#[derive(Clone, Debug)]
pub struct Track {
    /// The announced codec first, then others found in the packets.
    formats: Vec<Format>,
    /// Ticks of the RTP clock a second.
    clock: u64,
    /// The dynamic payload type of the first format.
    dynamic: Option<u8>,
    /// Other announcements, by payload type.
    announced: Vec<(u8, PayloadKind)>,
    /// Payloads in order of arrival.
    bytes: Vec<u8>,
    /// Ascending by start, never empty, never overlapping.
    entries: Vec<PlacedPayload>,
    /// Packets without sound, ascending by start.
    silent: Vec<SilentPacket>,
    /// Ticks of all sound received.
    brought: i64,
    /// Arrival of the first packet, which is position 0.
    first: Nanos,
    newest: Option<Anchor>,
    /// How often the numbering restarted.
    run: u16,
    /// The last packets, to detect duplicates.
    recent: [u64; RECENT],
    pushed: usize,
    dropped: u64,
}

/// A codec and its samples a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) codec: Codec,
    pub(crate) rate: Hz,
}

/// A sound payload on the time line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedPayload {
    /// In ticks; negative if sent before the first packet that arrived.
    pub(crate) start: i64,
    /// Audible length.
    pub(crate) ticks: u32,
    /// Ticks at its start that overlap an earlier payload.
    pub(crate) skip: u32,
    /// Delay of its arrival against its place on the time line, in ticks.
    pub(crate) delay: i32,
    pub(crate) sequence: u16,
    pub(crate) run: u16,
    /// Index in `formats`.
    pub(crate) format: u8,
    offset: usize,
    length: u32,
}

impl PlacedPayload {
    pub(crate) fn end(&self) -> i64 {
        self.start + i64::from(self.ticks)
    }
}

/// A packet without sound, but with a sequence number and perhaps side information.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SilentPacket {
    pub(crate) start: i64,
    pub(crate) sequence: u16,
    pub(crate) run: u16,
    pub(crate) info: SideInfo,
}

/// The information in a packet without sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SideInfo {
    /// Comfort noise: its level and, if sent, the first reflection coefficients (RFC 3389 section 3).
    Noise {
        level: u8,
        filter: [u8; ORDER],
    },
    /// An event, its volume and how long it has lasted, in ticks (RFC 4733 section 2.3).
    Event {
        event: u8,
        volume: u8,
        ticks: u16,
    },
    Nothing,
}

/// The packet with the highest timestamp: the reference for the next ones.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    arrival: Nanos,
    sequence: u16,
    timestamp: u32,
    position: i64,
    ticks: u32,
}

impl Track {
    /// An empty track for a stream of this codec with the announced RTP clock.
    pub fn new(codec: Codec, clock: Hz) -> Self {
        let clock = codec.clock(clock);
        Self {
            formats: vec![Format { codec, rate: codec.rate(clock) }],
            clock: u64::from(clock.0),
            dynamic: None,
            announced: Vec::new(),
            bytes: Vec::new(),
            entries: Vec::new(),
            silent: Vec::new(),
            brought: 0,
            first: Nanos::ZERO,
            newest: None,
            run: 0,
            recent: [u64::MAX; RECENT],
            pushed: 0,
            dropped: 0,
        }
    }

    /// Sets the dynamic payload type of the codec. By default it is that of the first packet, unless that has
    /// a static type or is too short to be sound.
    #[must_use]
    pub fn with_payload_type(self, payload_type: u8) -> Self {
        Self { dynamic: Some(payload_type), ..self }
    }

    /// Announces what another dynamic payload type carries from now on.
    pub fn announce(&mut self, payload_type: u8, carries: PayloadKind) {
        match self.announced.iter_mut().find(|(known, _)| *known == payload_type) {
            Some((_, known)) => *known = carries,
            None => self.announced.push((payload_type, carries)),
        }
    }

    /// Adds the next packet in order of capture.
    pub fn push(&mut self, packet: AudioPacket<'_>) {
        let sound = match self.payload_kind(&packet) {
            Some(PayloadKind::Sound(codec)) => self.sound(codec, &packet),
            _ => None,
        };
        // Keys are below 2^48; empty entries are not.
        let key = u64::from(packet.sequence) << 32 | u64::from(packet.timestamp);
        if self.recent.contains(&key) {
            self.dropped += u64::from(sound.is_some());
            return;
        }
        self.recent[self.pushed % RECENT] = key;
        self.pushed += 1;
        match sound {
            None => self.add_silent(&packet),
            Some((format, ticks)) => {
                let heard = self
                    .place(&packet, ticks)
                    .is_some_and(|position| self.insert(position, format, ticks, &packet));
                self.dropped += u64::from(!heard);
            }
        }
    }

    /// Forgets sound that ends before a capture time, and gives its memory back: for a track that is played
    /// while it grows.
    pub fn forget_before(&mut self, time: Nanos) {
        let from = self.due(time.max(self.first));
        let gone = self.entries.partition_point(|entry| entry.end() < from);
        self.entries.drain(..gone);
        let silent = self.silent.partition_point(|packet| packet.start < from);
        self.silent.drain(..silent);
        // Payloads stand in order of arrival, which is almost that of the time line.
        let kept = self.entries.iter().map(|entry| entry.offset).min().unwrap_or(self.bytes.len());
        self.bytes.drain(..kept);
        self.entries.iter_mut().for_each(|entry| entry.offset -= kept);
    }

    /// By how much its sound stands after its arrival, in nanoseconds: that of the packet that came soonest.
    /// It is near 0 unless the sender's clock drifts, or the route has changed. None without sound.
    pub fn displacement(&self) -> Option<i64> {
        let least = self.entries.iter().map(|entry| entry.delay).min()?;
        Some(-i64::from(least) * 1_000_000_000 / self.clock as i64)
    }

    /// Capture time of its first sample; `None` without sound.
    pub fn start(&self) -> Option<Nanos> {
        let start = self.entries.first()?.start;
        let ahead =
            Nanos((u128::from(start.unsigned_abs()) * u128::from(SECOND) / u128::from(self.clock)) as u64);
        Some(if start < 0 { self.first - ahead } else { self.first + ahead })
    }

    /// Ticks of the RTP clock from the first sample to the last, gaps included.
    pub fn ticks(&self) -> u64 {
        match (self.entries.first(), self.entries.last()) {
            (Some(first), Some(last)) => (last.end() - first.start) as u64,
            _ => 0,
        }
    }

    /// Length of all sound received, without gaps.
    pub(crate) fn received(&self) -> Nanos {
        let nanos = u128::from(self.brought.unsigned_abs()) * u128::from(SECOND) / u128::from(self.clock);
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The RTP clock.
    pub fn clock(&self) -> Hz {
        Hz(self.clock as u32)
    }

    /// The highest sampling rate of its sound.
    pub fn rate(&self) -> Hz {
        let used = self.entries.iter().fold(0_u32, |used, entry| used | 1 << entry.format);
        let rates = self.formats.iter().enumerate().filter(|(index, _)| used >> index & 1 == 1);
        rates.map(|(_, format)| format.rate).max().unwrap_or(self.formats[0].rate)
    }

    /// The codecs of its sound and their sampling rates.
    pub fn codecs(&self) -> impl Iterator<Item = (Codec, Hz)> {
        self.formats.iter().map(|format| (format.codec, format.rate))
    }

    /// Sound packets that were dropped: duplicates, very late ones, and all beyond 24 hours.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn formats(&self) -> &[Format] {
        &self.formats
    }

    pub(crate) fn entries(&self) -> &[PlacedPayload] {
        &self.entries
    }

    pub(crate) fn silent(&self) -> &[SilentPacket] {
        &self.silent
    }

    pub(crate) fn payload(&self, entry: &PlacedPayload) -> &[u8] {
        &self.bytes[entry.offset..entry.offset + entry.length as usize]
    }

    /// What a packet carries, if its payload type is known.
    fn payload_kind(&mut self, packet: &AudioPacket<'_>) -> Option<PayloadKind> {
        if packet.payload.is_empty() {
            return None;
        }
        let own = self.formats[0].codec;
        if self.dynamic == Some(packet.payload_type) {
            return Some(PayloadKind::Sound(own));
        }
        if packet.payload_type < FIRST_DYNAMIC {
            return match packet.payload_type {
                // Early drafts used 19 (RFC 3551 section 6, table 4).
                13 | 19 => Some(PayloadKind::Noise),
                other => Codec::from_payload_type(other).map(PayloadKind::Sound),
            };
        }
        if let Some((_, carries)) = self.announced.iter().find(|(known, _)| *known == packet.payload_type) {
            return Some(*carries);
        }
        let unknown = self.dynamic.is_none() && self.newest.is_none();
        if unknown && packet.payload.len() >= MIN_SOUND {
            self.dynamic = Some(packet.payload_type);
            return Some(PayloadKind::Sound(own));
        }
        None
    }

    /// Index in `formats` and length in ticks; `None` if the payload is not one of its codec.
    fn sound(&mut self, codec: Codec, packet: &AudioPacket<'_>) -> Option<(u8, u32)> {
        let samples = codec.samples(packet.payload)? as u64;
        let index = match self.formats.iter().position(|format| format.codec == codec) {
            Some(index) => index,
            None if self.formats.len() < FORMATS => {
                let clock =
                    codec.clock(Hz(if codec == (Codec::L16 { channels: 1 }) { 44_100 } else { 8_000 }));
                self.formats.push(Format { codec, rate: codec.rate(clock) });
                self.formats.len() - 1
            }
            None => return None,
        };
        let ticks = samples * self.clock / u64::from(self.formats[index].rate.0);
        Some((index as u8, u32::try_from(ticks).ok().filter(|ticks| *ticks > 0)?))
    }

    /// Stores a packet without sound and its information.
    fn add_silent(&mut self, packet: &AudioPacket<'_>) {
        let Some(newest) = self.newest else { return };
        let advance = i64::from(packet.timestamp.wrapping_sub(newest.timestamp) as i32);
        let placed =
            (-self.seconds(REORDERED)..=0).contains(&advance) || self.explained(packet, &newest, advance);
        let start = newest.position + if placed { advance } else { i64::from(newest.ticks) };
        let info = match (self.payload_kind(packet), packet.payload) {
            (Some(PayloadKind::Noise), [level, rest @ ..]) => {
                let mut filter = [FLAT; ORDER];
                filter.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                SideInfo::Noise { level: level & 0x7f, filter }
            }
            (Some(PayloadKind::Events), [event, flags, high, low, ..]) => SideInfo::Event {
                event: *event,
                volume: flags & 0x3f,
                ticks: u16::from_be_bytes([*high, *low]),
            },
            _ => SideInfo::Nothing,
        };
        let other = SilentPacket { start, sequence: packet.sequence, run: self.run, info };
        let index = self.silent.partition_point(|known| known.start <= start);
        // Nearly in order; all packets of an event describe it, and the last is enough.
        if index == self.silent.len() || self.silent.len() - index <= RECENT {
            self.silent.insert(index, other);
        }
    }

    /// The position of a packet, which becomes the anchor unless it is older; `None` if it is too late.
    fn place(&mut self, packet: &AudioPacket<'_>, ticks: u32) -> Option<i64> {
        let Some(newest) = self.newest else {
            self.first = packet.arrival;
            return self.anchor(packet, 0, ticks);
        };
        // Modulo 2^32: older packets are negative.
        let advance = i64::from(packet.timestamp.wrapping_sub(newest.timestamp) as i32);
        let position = newest.position + advance;
        let end = newest.position + i64::from(newest.ticks);
        if advance < 0 {
            let behind = newest.sequence.wrapping_sub(packet.sequence);
            if (1..MISORDERED).contains(&behind) && advance >= -self.seconds(REORDERED) {
                return Some(position);
            }
            if (1..STRAGGLERS).contains(&behind) {
                return None;
            }
        } else if advance > 0 && self.explained(packet, &newest, advance) {
            // The timestamp unit is smaller than the payload: place the next packet in sequence after the
            // last.
            let next = packet.sequence == newest.sequence.wrapping_add(1);
            return self.anchor(packet, if next { position.max(end) } else { position }, ticks);
        }
        // A restart, a jump, or a constant timestamp: continue at the arrival time, but after existing sound,
        // and not at a position that only a wrong capture time explains.
        let due = Some(self.due(packet.arrival)).filter(|due| *due <= self.seconds(CEILING));
        self.run = self.run.wrapping_add(1);
        self.anchor(packet, due.map_or(end, |due| due.max(end)), ticks)
    }

    /// Whether the time since the newest and the first packet explains the advance of a timestamp.
    fn explained(&self, packet: &AudioPacket<'_>, newest: &Anchor, advance: i64) -> bool {
        let elapsed = self.in_ticks(packet.arrival - newest.arrival);
        if advance < 0 || elapsed - advance > self.seconds(PAUSE) {
            return false;
        }
        // No gap: the payload explains the advance.
        if advance <= i64::from(newest.ticks) {
            return true;
        }
        // Clocks differ by less than 1 %; packets faster than real time justify the sound that they brought.
        let due = self.due(packet.arrival);
        let limit = (due + due / 128).max(self.brought) + self.seconds(SLACK);
        newest.position + advance <= limit
    }

    fn anchor(&mut self, packet: &AudioPacket<'_>, position: i64, ticks: u32) -> Option<i64> {
        if position > self.seconds(CEILING) {
            return None;
        }
        let &AudioPacket { arrival, sequence, timestamp, .. } = packet;
        self.newest = Some(Anchor { arrival, sequence, timestamp, position, ticks });
        Some(position)
    }

    /// Inserts sound into free space; false if there is none.
    fn insert(&mut self, position: i64, format: u8, ticks: u32, packet: &AudioPacket<'_>) -> bool {
        let index = self.entries.partition_point(|entry| entry.start <= position);
        let taken = index.checked_sub(1).map_or(i64::MIN, |before| self.entries[before].end());
        let free = self.entries.get(index).map_or(i64::MAX, |after| after.start);
        // Neighbours keep the parts that overlap.
        let start = position.max(taken);
        let end = (position + i64::from(ticks)).min(free);
        if start >= end || self.bytes.len() + packet.payload.len() > self.seconds(CEILING) as usize {
            return false;
        }
        let entry = PlacedPayload {
            start,
            ticks: (end - start) as u32,
            skip: (start - position) as u32,
            delay: (self.due(packet.arrival) - position).clamp(i32::MIN.into(), i32::MAX.into()) as i32,
            sequence: packet.sequence,
            run: self.run,
            format,
            offset: self.bytes.len(),
            length: packet.payload.len() as u32,
        };
        self.bytes.extend_from_slice(packet.payload);
        self.entries.insert(index, entry);
        self.brought += i64::from(ticks);
        true
    }

    /// The position of an arrival time.
    fn due(&self, arrival: Nanos) -> i64 {
        self.in_ticks(arrival - self.first)
    }

    fn in_ticks(&self, span: Nanos) -> i64 {
        // Fits: 2^64 ns are less than 2^35 s, and a clock has 18 bits.
        (u128::from(span.0) * u128::from(self.clock) / u128::from(SECOND)) as i64
    }

    fn seconds(&self, seconds: u64) -> i64 {
        (seconds * self.clock) as i64
    }
}

const SECOND: u64 = 1_000_000_000;

/// Longer calls are truncated.
const CEILING: u64 = 24 * 3600;
/// Seconds by which a packet may arrive after one with a higher timestamp.
const REORDERED: u64 = 1;
/// Most packets sent in that time.
const MISORDERED: u16 = 1_000;
/// A packet at most this far behind is too late, not a restart; RFC 3550 appendix A.1 has MAX_MISORDER 100.
const STRAGGLERS: u16 = 100;
/// Longest stall of the network, in seconds, during which timestamps stand still too.
const PAUSE: u64 = 5;
/// Seconds by which the first packet may have been delayed more than the silent.
const SLACK: u64 = 2;

/// Enough to detect duplicates from a port mirror.
const RECENT: usize = 64;
/// RFC 3551 section 3.
const FIRST_DYNAMIC: u8 = 96;
/// Smallest sound payload: a telephone event has 4 bytes (RFC 4733 section 2.3), comfort noise a few; 20 are
/// 2.5 ms of G.711.
const MIN_SOUND: usize = 20;
/// Most codecs in one stream.
const FORMATS: usize = 16;
/// Reflection coefficients of comfort noise that are used; RFC 3389 recommends at most this many.
pub(crate) const ORDER: usize = 10;
/// A coefficient of zero (RFC 3389 section 3.1).
pub(crate) const FLAT: u8 = 127;

#[cfg(test)]
mod tests;

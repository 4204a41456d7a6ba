//! RTCP of a call: each side reports about every five seconds (RFC 3550 section 6).

use ringtap_model::Nanos;

use crate::dialog::Side;
use crate::frame::{Framer, Head};
use crate::rng::Rng;
use crate::slab::Slab;
use crate::stream::Stream;

/// Both sides of a call.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    sides: [Reporter; 2],
    vlan: Option<u16>,
    rng: Rng,
}

/// One side, which reports while it sends.
#[derive(Clone, Debug)]
struct Reporter {
    /// `user@host`, RFC 3550 section 6.5.1.
    name: String,
    next: Option<Nanos>,
    /// When it stops sending; a BYE follows.
    until: Nanos,
    /// Delay from it to the capture point.
    trip: Nanos,
    /// Packets of its own stream counted so far, and their bytes.
    counted: (u32, u64),
    /// Packets of the other stream expected and received at the last report.
    before: (u64, u64),
    /// The last sender report received: the middle of its NTP time, and its arrival.
    got: Option<(u32, Nanos)>,
}

impl Reports {
    /// Reports of sides that send between two times.
    pub(crate) fn new(
        names: [String; 2],
        talks: [(Nanos, Nanos); 2],
        vlan: Option<u16>,
        mut rng: Rng,
    ) -> Self {
        let mut talks = talks.into_iter();
        let sides = names.map(|name| {
            let (from, until) = talks.next().unwrap_or_default();
            // RFC 3550 section 6.2: half of the interval before the first.
            let first = from + Nanos::from_micros(INTERVAL.micros() / 4 + rng.below(INTERVAL.micros() / 2));
            let trip = Nanos::from_micros(rng.between(500, 60_000));
            let next = Some(first.min(until + BYE));
            Reporter { name, next, until, trip, counted: (0, 0), before: (0, 0), got: None }
        });
        Self { sides, vlan, rng }
    }

    /// From the capture point to a side and back.
    pub(crate) fn round_trip(&self, side: Side) -> Nanos {
        let trip = self.sides[side as usize].trip;
        trip + trip
    }

    /// When the next report is captured.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.sides.iter().filter_map(|side| side.next).min()
    }

    /// Writes the next report. `own` holds the streams of each side, in order of time.
    pub(crate) fn emit(&mut self, own: &[Vec<u32>; 2], streams: &Slab<Stream>, framer: &mut Framer) {
        let Some(at) = self.next_at() else { return };
        let side = if self.sides[0].next == Some(at) { Side::Caller } else { Side::Callee };
        let other = side.other() as usize;
        let begun = |side: usize| {
            own[side].iter().map(|stream| &streams[*stream]).filter(move |stream| stream.sender().start <= at)
        };
        let reporter = &mut self.sides[side as usize];
        let ends = at > reporter.until;
        reporter.next = (!ends).then(|| {
            let next = at + Nanos::from_micros(INTERVAL.micros() / 2 + self.rng.below(INTERVAL.micros()));
            next.min(reporter.until + BYE)
        });
        let Some(sending) = begun(side as usize).next_back() else { return };
        // RFC 3550 section 11: the port above that of RTP.
        let above = |mut end: std::net::SocketAddr| {
            end.set_port(end.port() + 1);
            end
        };
        let head =
            Head::new(above(sending.sender().head.src()), above(sending.sender().head.dst()), self.vlan);
        let block = reporter.block(at, begun(other));
        let info = reporter.info(at, begun(side as usize));
        framer.udp(&head, |to| {
            let ssrc = sending.sender().ssrc;
            report(ssrc, &info, block.as_ref(), to);
            describe(ssrc, &reporter.name, to);
            if ends {
                to.extend_from_slice(&[0x81, 203, 0, 1]);
                to.extend_from_slice(&ssrc.to_be_bytes());
            }
        });
        let sent = at - reporter.trip;
        // The other side receives it one trip later.
        let other = &mut self.sides[other];
        other.got = Some((middle(ntp(sent)), at + other.trip));
    }
}

impl Reporter {
    /// NTP time, RTP time, packets and octets (RFC 3550 section 6.4.1) of all that one SSRC has sent.
    fn info<'a>(&mut self, at: Nanos, own: impl Iterator<Item = &'a Stream>) -> Vec<u8> {
        let sent = at - self.trip;
        let (mut packets, mut octets, mut rtp, mut ssrc) = (0, 0, 0, None);
        for (index, stream) in own.enumerate() {
            let sender = stream.sender();
            if ssrc.replace(sender.ssrc) != Some(sender.ssrc) {
                // A new source counts from 0.
                (packets, octets) = (0, 0);
            }
            // What has passed here was sent by then: media are captured when they are sent.
            let here = sender.sent_by(at);
            // Only new packets are counted: finished streams cost nothing.
            octets += match self.counted {
                (to, bytes) if index == 0 && to <= here => {
                    let bytes = bytes + sender.octets(to..here);
                    self.counted = (here, bytes);
                    bytes
                }
                _ => sender.octets(0..here),
            };
            packets += stream.sent_by(at);
            rtp = sender.clock(at);
        }
        let mut info = Vec::with_capacity(20);
        info.extend_from_slice(&ntp(sent).to_be_bytes());
        for word in [rtp, packets, octets as u32] {
            info.extend_from_slice(&word.to_be_bytes());
        }
        info
    }

    /// A report block about the other stream; None if nothing of it was received.
    fn block<'a>(&mut self, at: Nanos, others: impl Iterator<Item = &'a Stream>) -> Option<Vec<u8>> {
        let (mut expected, mut packets, mut last) = (0, 0, None::<(u32, u32, u32)>);
        // The number of the first packet of a part, counted from the first of its source.
        let mut base = 0;
        for stream in others {
            let sender = stream.sender();
            let continues = last.is_some_and(|(ssrc, ..)| ssrc == sender.ssrc);
            if !continues {
                (expected, packets, base) = (0, 0, u32::from(sender.sequence));
            }
            if let Some(received) = stream.statistics().received() {
                expected += received.expected;
                packets += received.packets;
                let ticks = received.jitter_ms * f64::from(sender.codec.clock().0) / 1_000.0;
                last = Some((sender.ssrc, base.wrapping_add(received.highest), ticks as u32));
            }
            base = base.wrapping_add(sender.count);
        }
        let (ssrc, highest, jitter) = last?;
        if expected < self.before.0 {
            self.before = (0, 0);
        }
        let wanted = expected - self.before.0;
        let lost = wanted.saturating_sub(packets.saturating_sub(self.before.1));
        self.before = (expected, packets);
        let fraction = (lost * 256).checked_div(wanted).unwrap_or(0).min(255) as u32;
        // 24 bits with a sign: repeats can make it negative.
        let total = (expected as i64 - packets as i64).clamp(-0x80_0000, 0x7f_ffff) as u32 & 0xff_ffff;
        let (lsr, dlsr) = match self.got {
            Some((time, got)) if got <= at - self.trip => (time, middle(span(at - self.trip - got))),
            _ => (0, 0),
        };
        let words = [ssrc, fraction << 24 | total, highest, jitter, lsr, dlsr];
        Some(words.iter().flat_map(|word| word.to_be_bytes()).collect())
    }
}

/// A sender report (RFC 3550 section 6.4.1).
fn report(ssrc: u32, info: &[u8], block: Option<&Vec<u8>>, to: &mut Vec<u8>) {
    let blocks = u8::from(block.is_some());
    to.extend_from_slice(&[0x80 | blocks, 200, 0, 6 + 6 * blocks]);
    to.extend_from_slice(&ssrc.to_be_bytes());
    to.extend_from_slice(info);
    to.extend(block.into_iter().flatten());
}

/// Its CNAME (RFC 3550 section 6.5).
fn describe(ssrc: u32, name: &str, to: &mut Vec<u8>) {
    // The item, an end, and up to a whole word.
    let words = 1 + (2 + name.len() + 1).div_ceil(4);
    let begin = to.len();
    to.extend_from_slice(&[0x81, 202, 0, words as u8]);
    to.extend_from_slice(&ssrc.to_be_bytes());
    to.extend_from_slice(&[1, name.len() as u8]);
    to.extend_from_slice(name.as_bytes());
    to.resize(begin + 4 + 4 * words, 0);
}

/// Seconds since 1900 with 32 bits of fraction (RFC 5905 section 6).
fn ntp(at: Nanos) -> u64 {
    span(at).wrapping_add(SECONDS_TO_1970 << 32)
}

fn span(span: Nanos) -> u64 {
    (u128::from(span.0) * (1 << 32) / 1_000_000_000) as u64
}

fn middle(time: u64) -> u32 {
    (time >> 16) as u32
}

/// RFC 3550 section 6.2: the recommended minimum.
const INTERVAL: Nanos = Nanos::from_secs(5);
/// After the last packet.
const BYE: Nanos = Nanos::from_millis(2);
const SECONDS_TO_1970: u64 = 2_208_988_800;

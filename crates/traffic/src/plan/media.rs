//! The media of a call: who sends when, through which network.

use std::net::SocketAddr;

use ringtap_model::Nanos;

use super::{EarlyMedia, MediaMove, Planner, SendTimes};
use crate::codec::Codec;
use crate::dialog::Side;
use crate::loss::LossState;
use crate::rng::Rng;
use crate::sender::{Digit, EVENT_PACKETS, Pause, Sender};
use crate::stream::{Elsewhere, NetworkPath, Stream};

impl Planner<'_> {
    pub(super) fn senders(
        &mut self,
        send_times: [SendTimes; 2],
        moved: Option<MediaMove>,
        codec: Codec,
        presses: bool,
    ) -> Vec<(Stream, bool)> {
        let mut senders = Vec::with_capacity(4);
        for side in [Side::Caller, Side::Callee] {
            let (src, dst) = (self.media[side as usize], self.media[side.other() as usize]);
            let times = send_times[side as usize];
            let presses = presses && side == Side::Caller;
            let until = |until| SendTimes { end: until, pause: None, ..times };
            match moved {
                Some(moved) if moved.side == side => {
                    let first = self.sender(side, (src, dst), until(moved.at), codec, presses);
                    let start = moved.at + self.moment(5, 20);
                    let second =
                        self.sender(side, (self.relay, dst), SendTimes { start, ..times }, codec, false);
                    senders.extend([first, second]);
                }
                Some(moved) => {
                    let first = self.sender(side, (src, dst), until(moved.at), codec, presses);
                    let times = SendTimes { start: first.time(first.count), ..times };
                    let (count, pause) = self.packets(times);
                    let second = first.continued(self.head(src, self.relay), count);
                    senders.extend([first, Sender { pause, ..second }]);
                }
                None => senders.push(self.sender(side, (src, dst), times, codec, presses)),
            }
        }
        senders.into_iter().map(|sender| (self.through(sender), false)).collect()
    }

    /// Media of the fork, until the call is answered or over.
    pub(super) fn forks(&mut self, early: EarlyMedia, end: Nanos, codec: Codec) -> Option<(Stream, bool)> {
        let (start, media) = (early.fork?, self.fork.as_ref()?.media);
        let times = SendTimes { start, end, pause: None };
        let sender = self.sender(Side::Callee, (media, self.media[0]), times, codec, false);
        Some((self.through(sender), true))
    }

    pub(super) fn through(&mut self, sender: Sender) -> Stream {
        let network = self.network();
        Stream::new(self.scenario, sender, network)
    }

    /// Number of packets, at least one, and the pause among them.
    pub(super) fn packets(&self, times: SendTimes) -> (u32, Option<Pause>) {
        let ptime = self.options.ptime.0;
        let until = |at: Nanos| ((at - times.start).0 / ptime) as u32 + 1;
        let slots = until(times.end);
        let pause = times.pause.map(|(from, to)| {
            let before = until(from);
            Pause { before, length: until(to) - before }
        });
        // A pause that begins before the first packet, is shorter than a packet, or ends after the last does
        // not count.
        let pause =
            pause.filter(|pause| pause.before > 1 && pause.length > 0 && pause.before + pause.length < slots);
        (slots - pause.map_or(0, |pause| pause.length), pause)
    }

    pub(super) fn sender(
        &mut self,
        side: Side,
        (src, dst): (SocketAddr, SocketAddr),
        times: SendTimes,
        codec: Codec,
        presses: bool,
    ) -> Sender {
        let (count, pause) = self.packets(times);
        // RFC 3550 section 5.1: both begin anywhere. A quarter of the streams wraps soon: that is where
        // counting goes wrong.
        let soon = self.rng.below(4) == 0;
        let sequence = self.rng.next_u64() as u16;
        let sequence = if soon { u16::MAX - sequence % 300 } else { sequence };
        Sender {
            side,
            head: self.head(src, dst),
            ssrc: self.rng.next_u64() as u32,
            codec,
            ptime: self.options.ptime,
            sequence,
            timestamp: self.rng.next_u64() as u32,
            start: times.start,
            count,
            voice: self.scenario.voice.begin(&mut self.rng),
            digits: if presses { self.digits(count, pause) } else { Box::default() },
            pause,
        }
    }

    /// One to four digits, half a second or more apart, as many as fit.
    pub(super) fn digits(&mut self, packets: u32, pause: Option<Pause>) -> Box<[Digit]> {
        let mut first = self.rng.between(10, 60) as u32;
        let mut digits = Vec::new();
        for _ in 0..self.rng.between(1, 4) {
            // No digit just before a pause.
            let near = |pause: &Pause| (first..=first + EVENT_PACKETS + 10).contains(&pause.before);
            // There is sound before the first digit and after the last: a stream of events alone has no
            // codec.
            if first + EVENT_PACKETS + 10 < packets && !pause.as_ref().is_some_and(near) {
                digits.push(Digit { first, code: self.rng.below(12) as u8 });
            }
            first += EVENT_PACKETS + self.rng.between(25, 75) as u32;
        }
        digits.into()
    }

    pub(super) fn network(&mut self) -> NetworkPath {
        let Self { scenario, rng, options, .. } = self;
        let elsewhere = scenario.loses_elsewhere().then(|| {
            let rng = &mut options.rng;
            Box::new(Elsewhere {
                unsent: LossState::new(scenario.unsent.pick_index(rng)),
                behind: LossState::new(scenario.loss_behind.pick_index(rng)),
                uncaptured: LossState::new(scenario.uncaptured.pick_index(rng)),
                rng: Rng::new(rng.next_u64(), 0),
                never: Vec::new(),
            })
        });
        NetworkPath {
            elsewhere,
            loss: LossState::new(scenario.loss.pick_index(rng)),
            jitter: scenario.jitter.pick_index(rng),
            rng: Rng::new(rng.next_u64(), 0),
        }
    }
}

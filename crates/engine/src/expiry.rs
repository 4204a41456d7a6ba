//! Timers that are due: all of a tick at once, or a few at a time between packets.

use crate::context::{Context, SipVerdict};
use crate::engine::{Engine, context};
use crate::sink::Sink;
use crate::table::timers::{PrefetchStage, Timer, TimerOwner};
use crate::tracker::Tracker;

/// How far ahead a timer is prefetched first.
const LEAD: usize = PrefetchStage::DISTANCES[0].1;
/// A slice ends after a record, or after so many timers that make none.
const SLICE: usize = 32;

impl<X: Tracker> Engine<X> {
    /// Handles the timers that are due; where packets pass between them, one slice. The next tick waits for
    /// the last slice.
    #[cold]
    pub(crate) fn expire<S: Sink>(&mut self, sink: &mut S) {
        let now = self.clock.now();
        let is_tick = !self.is_pending();
        if is_tick {
            sink.tick();
            // Endpoints learned from streams take effect before any timer fires.
            self.streams.apply_learned();
            self.give_up_on_overdue(sink);
            self.timers.move_on(now);
        }
        if self.due.in_slices {
            // The first slice only reads ahead.
            self.handle_due(if is_tick { LEAD } else { SLICE }, sink);
            self.timers.set_slice(self.is_pending().then_some(now));
        } else {
            self.finish_tick(sink);
        }
        self.collect();
    }

    /// Handles all timers that are due, while no packet waits.
    pub(crate) fn expire_all<S: Sink>(&mut self, sink: &mut S) {
        self.finish_tick(sink);
        self.expire(sink);
        self.finish_tick(sink);
    }

    /// Handles all that is left of a tick.
    pub(crate) fn finish_tick<S: Sink>(&mut self, sink: &mut S) {
        self.timers.take_fired(usize::MAX, &mut self.due.timers);
        while self.is_pending() {
            self.handle_due(usize::MAX, sink);
        }
    }

    /// Whether timers of the last tick are left.
    fn is_pending(&self) -> bool {
        !self.due.timers.is_empty() || self.timers.is_firing()
    }

    /// Handles so many timers at most, and no more after a record.
    fn handle_due<S: Sink>(&mut self, most: usize, sink: &mut S) {
        let (now, records) = (self.clock.now(), self.due.records);
        // Taken out, so that timers are handled while it is read.
        let mut timers = std::mem::take(&mut self.due.timers);
        if self.due.in_slices {
            let wanted = (self.due.position + LEAD).saturating_add(most);
            self.timers.take_fired(wanted.saturating_sub(timers.len()), &mut timers);
        }
        let end = if timers.is_empty() { 0 } else { timers.len() + LEAD };
        let last = self.due.position.saturating_add(most).min(end);
        while self.due.position < last && (most == usize::MAX || self.due.records == records) {
            let position = self.due.position;
            self.due.position += 1;
            // While one timer is handled, the memory for those after it arrives.
            for (stage, ahead) in PrefetchStage::DISTANCES {
                if let Some(timer) = (position + ahead).checked_sub(LEAD).and_then(|at| timers.get(at)) {
                    self.trackers.prefetch_timer(*timer, now, stage, &self.streams);
                }
            }
            if let Some(timer) = position.checked_sub(LEAD).and_then(|at| timers.get(at)) {
                self.timer(*timer, sink);
            }
        }
        if self.due.position >= end {
            timers.clear();
            self.due.position = 0;
        }
        self.due.timers = timers;
    }

    fn timer<S: Sink>(&mut self, timer: Timer, sink: &mut S) {
        if timer.owner == TimerOwner::Connections {
            self.tcp.expire(timer.ticket, self.clock.now(), &mut self.timers);
            return;
        }
        let mut cx = context!(self, timer.owner, sink);
        self.trackers.timer(timer, &mut cx);
        if let Some((figures, is_provisional)) = self.trackers.streams.ended.take() {
            self.deliver_stream(figures, is_provisional, sink);
        }
        self.serve_requests(sink);
    }
}

#[cfg(test)]
mod tests {
    use ringtap_model::{Frame, LinkType, Nanos};

    use super::*;
    use crate::config::Config;
    use crate::testing::{CALLEE, CALLER, Records, at, end, request, rtp, udp};

    const CALLS: u64 = 40;

    /// Calls that are given up in one half-second, and media of another host, a packet every 100 us.
    fn frames() -> Vec<(Nanos, Vec<u8>)> {
        let mut frames: Vec<(Nanos, Vec<u8>)> = (0..CALLS)
            .map(|call| {
                let invite = request("INVITE", 1).call_id(&format!("call {call}")).bytes();
                (at(call), udp(end(CALLER), end(CALLEE), &invite))
            })
            .collect();
        // Where the timer of the INVITEs fires.
        let tick = (at(0) + Config::default().invite_limit).since(Nanos::from_millis(10));
        for number in 0..7_000u16 {
            let packet = rtp(8, number, u32::from(number) * 160, 1);
            let data = udp(end("192.0.2.9:4000"), end("198.51.100.9:6000"), &packet);
            frames.push((tick + Nanos::from_micros(100 * u64::from(number)), data));
        }
        frames
    }

    fn frame((number, (time, data)): (u64, &(Nanos, Vec<u8>))) -> Frame<'_> {
        Frame { time: *time, number, link: LinkType(101), wire_len: data.len() as u32, data }
    }

    /// The Call-IDs in order of their records, and the most records that came with one batch of frames.
    fn records(live: bool, batch: usize) -> (Vec<String>, usize) {
        let mut engine = Engine::new(Config { max_calls: 64, max_streams: 8, live, ..Config::default() });
        let datas = frames();
        let frames: Vec<Frame<'_>> = (1..).zip(&datas).map(frame).collect();
        let (mut records, mut most) = (Records::default(), 0);
        for frames in frames.chunks(batch) {
            let before = records.calls.len();
            engine.batch(frames, &mut records);
            most = most.max(records.calls.len() - before);
        }
        assert_eq!(records.calls.len() as u64, CALLS);
        (records.calls.into_iter().map(|(call, _)| call.call_id).collect(), most)
    }

    #[test]
    fn live_calls_end_one_by_one_between_packets_in_the_same_order() {
        let (whole, at_once) = records(false, 1);
        assert_eq!(at_once as u64, CALLS);
        let (sliced, at_once) = records(true, 1);
        assert_eq!(at_once, 1);
        assert_eq!(sliced, whole);
        assert_eq!(records(true, 100).0, whole);
    }

    #[test]
    fn while_no_packet_waits_all_that_is_due_is_done_at_once() {
        let mut engine = Engine::new(Config { max_calls: 64, live: true, ..Config::default() });
        let mut records = Records::default();
        for packet in (1..).zip(&frames()[..CALLS as usize]) {
            engine.batch(&[frame(packet)], &mut records);
        }
        engine.tick(at(0) + Config::default().invite_limit + Nanos::from_secs(1), &mut records);
        assert_eq!(records.calls.len() as u64, CALLS);
    }
}

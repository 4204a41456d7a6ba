//! The messages of a call or a registration, in order of time.

use ringtap_model::Nanos;

use super::{
    CALLEE_BASE, CallCourse, EarlyMedia, FAILURES, LONG_ENOUGH_TO_HOLD, LONG_ENOUGH_TO_MOVE, MediaMove,
    Outcome, Planner, SendTimes, T1,
};
use crate::codec::Codec;
use crate::dialog::{HoldMedia, MessageKind, Method, PlannedMessage, Side, Transaction};
use crate::stream::Stream;

impl Planner<'_> {
    pub(super) fn transaction(&mut self, method: Method, by: Side, sequence: u32) -> u8 {
        self.transactions.push(Transaction {
            method,
            by,
            sequence,
            branch: self.rng.next_u64(),
            in_dialog: false,
            authorised: None,
            challenge: self.rng.next_u64(),
            moved: None,
            holds: None,
            version: 1,
        });
        // INVARIANT: a call has few.
        (self.transactions.len() - 1) as u8
    }

    pub(super) fn at(&mut self, transaction: u8) -> &mut Transaction {
        &mut self.transactions[usize::from(transaction)]
    }

    pub(super) fn push(&mut self, transaction: u8, kind: MessageKind, repeat: bool, resend: bool) {
        self.steps.push(PlannedMessage { at: self.now, transaction, kind, fork: false, repeat, resend });
    }

    pub(super) fn send(&mut self, transaction: u8, kind: MessageKind) {
        self.push(transaction, kind, false, false);
    }

    /// Sends a message that is retransmitted until it is answered (RFC 3261 sections 13.3.1.4 and 17.1):
    /// sometimes it is repeated after T1; over TCP a segment then comes twice.
    pub(super) fn send_until_answered(&mut self, transaction: u8, kind: MessageKind) {
        let again = self.rng.chance(self.scenario.retransmit.value());
        self.push(transaction, kind, false, again && self.is_tcp());
        if again && !self.is_tcp() {
            self.now += T1;
            self.push(transaction, kind, true, false);
        }
    }

    pub(super) fn request(&mut self, transaction: u8) {
        self.send_until_answered(transaction, MessageKind::Request);
    }

    /// Sends the same request again, with credentials (RFC 3261 section 22.2).
    pub(super) fn retry(&mut self, transaction: u8, code: u16) -> u8 {
        let Transaction { method, by, sequence, challenge, .. } = *self.at(transaction);
        let index = self.transaction(method, by, sequence + 1);
        self.at(index).authorised = Some(code);
        self.at(index).challenge = challenge;
        index
    }

    /// INVITE and 100, after a challenge if there is one. Returns the final transaction.
    pub(super) fn invite(&mut self, challenged: bool) -> u8 {
        let mut invite = self.transaction(Method::Invite, Side::Caller, 1);
        self.request(invite);
        self.wait(1, 20);
        if challenged {
            let code = self.rng.one_of(&[401, 407, 407]);
            self.send(invite, MessageKind::Response(code));
            self.wait(1, 15);
            self.send(invite, MessageKind::Ack(code));
            self.wait(1, 25);
            invite = self.retry(invite, code);
            self.request(invite);
            self.wait(1, 20);
        }
        self.send(invite, MessageKind::Response(100));
        self.wait(40, 1_500);
        invite
    }

    /// Rings, at two destinations if the call is forked: 180, or 183 with early media.
    pub(super) fn ring(&mut self, invite: u8) -> EarlyMedia {
        let is_early = self.options.early;
        let kind = MessageKind::Response(if is_early { 183 } else { 180 });
        let mut fork = None;
        if self.fork.is_some() {
            let step = PlannedMessage {
                at: self.now,
                transaction: invite,
                kind,
                fork: true,
                repeat: false,
                resend: false,
            };
            self.steps.push(step);
            fork = Some(self.now + self.options.moment(5, 30)).filter(|_| is_early);
            self.now += self.options.moment(20, 400);
        }
        self.send(invite, kind);
        let callee = is_early.then(|| self.now + self.options.moment(5, 30));
        EarlyMedia { callee, fork }
    }

    /// The rest of a call that fails or is cancelled. Returns its media.
    pub(super) fn unanswered(&mut self, invite: u8, outcome: Outcome, codec: Codec) -> Vec<(Stream, bool)> {
        let early = match outcome {
            Outcome::Failed => self.fail(invite),
            _ => self.cancel(invite),
        };
        let mut streams = Vec::new();
        if let Some(start) = early.callee {
            let times = SendTimes { start, end: self.now, pause: None };
            let sender = self.sender(Side::Callee, (self.media[1], self.media[0]), times, codec, false);
            streams.push((self.through(sender), false));
        }
        streams.extend(self.forks(early, self.now, codec));
        streams
    }

    pub(super) fn fail(&mut self, invite: u8) -> EarlyMedia {
        let code = self.rng.one_of(&FAILURES);
        let mut early = EarlyMedia { callee: None, fork: None };
        if matches!(code, 480 | 603) || self.options.early {
            early = self.ring(invite);
            self.wait(1_500, 12_000);
        }
        self.send_until_answered(invite, MessageKind::Response(code));
        self.wait(1, 20);
        self.send(invite, MessageKind::Ack(code));
        early
    }

    pub(super) fn cancel(&mut self, invite: u8) -> EarlyMedia {
        let early = self.ring(invite);
        self.wait(1_500, 12_000);
        // RFC 3261 section 9.1: the branch and the number of the INVITE.
        let Transaction { by, sequence, branch, .. } = *self.at(invite);
        let cancel = self.transaction(Method::Cancel, by, sequence);
        self.at(cancel).branch = branch;
        self.request(cancel);
        self.wait(1, 20);
        self.send(cancel, MessageKind::Response(200));
        self.wait(1, 20);
        self.send_until_answered(invite, MessageKind::Response(487));
        self.wait(1, 20);
        self.send(invite, MessageKind::Ack(487));
        early
    }

    /// From ringing to BYE. Returns the media, and when each side sends.
    pub(super) fn conversation(
        &mut self,
        invite: u8,
        course: CallCourse,
        codec: Codec,
    ) -> (Vec<(Stream, bool)>, Option<[SendTimes; 2]>) {
        let early = self.ring(invite);
        self.wait(1_000, 8_000);
        let answer = self.now;
        self.send_until_answered(invite, MessageKind::Response(200));
        let callee_talks = self.now + self.moment(5, 30);
        let callee_talks = early.callee.unwrap_or(callee_talks);
        self.wait(1, 20);
        self.send(invite, MessageKind::Ack(200));
        let starts = [self.now + self.moment(5, 30), callee_talks];
        let release = answer + course.hold;
        let moved = match course.moves && course.hold >= LONG_ENOUGH_TO_MOVE {
            true => Some(self.reinvite(invite, answer, course.hold)),
            false => None,
        };
        let pauses = match self.options.on_hold && course.hold >= LONG_ENOUGH_TO_HOLD {
            true => self.put_on_hold(invite, moved.map(|moved| moved.side), answer, course.hold),
            false => [None; 2],
        };
        self.now = release.max(self.now + self.moment(1, 20));
        let ends = self.release(invite);
        let send_times =
            [0, 1].map(|side| SendTimes { start: starts[side], end: ends[side], pause: pauses[side] });
        let mut streams = self.senders(send_times, moved, codec, course.presses);
        streams.extend(self.forks(early, answer, codec));
        (streams, Some(send_times))
    }

    /// One side moves its media to another host (RFC 3264 section 8.3.1). Returns the side and the time.
    pub(super) fn reinvite(&mut self, invite: u8, answer: Nanos, hold: Nanos) -> MediaMove {
        let side = self.rng.one_of(&[Side::Caller, Side::Callee]);
        let after = Nanos::from_micros((hold.micros() as f64 * (0.3 + 0.3 * self.rng.unit())) as u64);
        self.now = self.now.max(answer + after);
        self.offer(invite, side, Some(side), None, 2);
        MediaMove { side, at: self.now }
    }

    /// One side puts the other on hold and resumes (RFC 3264 section 8.4). Returns when each is silent.
    pub(super) fn put_on_hold(
        &mut self,
        invite: u8,
        moved: Option<Side>,
        answer: Nanos,
        hold: Nanos,
    ) -> [Option<(Nanos, Nanos)>; 2] {
        let side = self.options.rng.one_of(&[Side::Caller, Side::Callee]);
        let holding = self.options.rng.one_of(&[HoldMedia::Music, HoldMedia::Silence]);
        let mut part = |from: f64, to: f64| {
            (hold.micros() as f64 * (from + (to - from) * self.options.rng.unit())) as u64
        };
        let (from, until) = (part(0.62, 0.7), part(0.75, 0.9));
        let version = if moved.is_some() { 3 } else { 2 };
        self.now = self.now.max(answer + Nanos::from_micros(from));
        self.offer(invite, side, moved, Some(holding), version);
        let begin = self.now;
        self.now = self.now.max(answer + Nanos::from_micros(until));
        self.offer(invite, side, moved, None, version + 1);
        let silent = Some((begin, self.now));
        let mut pauses = [silent; 2];
        if holding == HoldMedia::Music {
            pauses[side as usize] = None;
        }
        pauses
    }

    /// A re-INVITE with its responses.
    pub(super) fn offer(
        &mut self,
        invite: u8,
        by: Side,
        moved: Option<Side>,
        holds: Option<HoldMedia>,
        version: u8,
    ) {
        let again = self.in_dialog(Method::Invite, invite, by);
        let Transaction { moved: to, holds: how, version: of, .. } = self.at(again);
        (*to, *how, *of) = (moved, holds, version);
        self.request(again);
        self.wait(1, 20);
        self.send(again, MessageKind::Response(100));
        self.wait(5, 60);
        self.send_until_answered(again, MessageKind::Response(200));
        self.wait(1, 20);
        self.send(again, MessageKind::Ack(200));
    }

    /// A request within the dialog.
    pub(super) fn in_dialog(&mut self, method: Method, invite: u8, by: Side) -> u8 {
        self.requests[by as usize] += 1;
        // Each side numbers its own requests (RFC 3261 section 12.2.1.1).
        let base = if by == Side::Caller { self.at(invite).sequence } else { CALLEE_BASE };
        let index = self.transaction(method, by, base + self.requests[by as usize]);
        self.at(index).in_dialog = true;
        index
    }

    /// BYE and its response. Returns when each side stops sending.
    pub(super) fn release(&mut self, invite: u8) -> [Nanos; 2] {
        let by = self.rng.one_of(&[Side::Caller, Side::Callee]);
        let bye = self.in_dialog(Method::Bye, invite, by);
        let mut ends = [self.now; 2];
        self.request(bye);
        self.wait(1, 20);
        ends[by.other() as usize] = self.now;
        self.send(bye, MessageKind::Response(200));
        ends
    }
}

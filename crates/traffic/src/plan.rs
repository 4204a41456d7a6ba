//! What happens in a call or a registration, decided when it begins.

use std::net::SocketAddr;

use ringtap_model::Nanos;

use crate::addresses::{self, SIP_PORT, Subnet};
use crate::codec::Codec;
use crate::dialog::{Dialog, Fork, HoldMedia, MessageKind, Method, Party, PlannedMessage, Side, Transaction};
use crate::frame::Head;
use crate::loss::LossState;
use crate::options::SessionOptions;
use crate::reports::Reports;
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::session::Session;
use crate::stream::{Digit, EVENT_PACKETS, NetworkPath, Pause, Sender, Stream};
use crate::tcp::Connection;

/// A call or a registration that begins.
#[derive(Debug)]
pub(crate) struct NewSession {
    pub(crate) session: Session,
    /// And whether each is a fork's.
    pub(crate) streams: Vec<(Stream, bool)>,
}

/// A call attempt that begins at `at`; `number` tells it from all others.
pub(crate) fn call(scenario: &Scenario, number: u64, at: Nanos) -> NewSession {
    let mut planner = Planner::new(scenario, CALLS + number, at);
    let course = planner.course();
    let codec = *scenario.codecs.pick(&mut planner.rng);
    planner.options = SessionOptions::new(scenario, number, codec);
    let parties = planner.callers(number);
    let connection = planner.connect(&parties);
    planner.ends(number);
    let invite = planner.invite(course.challenged);
    let (streams, send_times) = match course.outcome {
        Outcome::Answered => planner.conversation(invite, course, codec),
        outcome => (planner.unanswered(invite, outcome, codec), None),
    };
    let ip = parties[0].signalling.ip();
    let call_id = format!("{:016x}{:08x}@{ip}", planner.rng.next_u64(), number);
    let vlan = planner.options.vlan;
    let reports = send_times.filter(|_| planner.options.rtcp).map(|send_times| {
        let names = [0, 1].map(|side| format!("{}@{}", parties[side].user, planner.media[side].ip()));
        let rng = Rng::new(planner.options.rng.next_u64(), 0);
        Reports::new(names, send_times.map(|times| (times.start, times.end)), vlan, rng)
    });
    let (dialog, steps) = planner.dialog(call_id, parties, codec);
    NewSession { session: Session::call(dialog, steps, connection, reports, vlan), streams }
}

/// A registration that begins at `at`.
pub(crate) fn registration(scenario: &Scenario, number: u64, at: Nanos) -> NewSession {
    let mut planner = Planner::new(scenario, REGISTRATIONS + number, at);
    let codec = *scenario.codecs.at(0);
    planner.options = SessionOptions::new(scenario, REGISTRATIONS + number, codec);
    let challenged = planner.rng.chance(scenario.challenged.value());
    let refused = planner.rng.chance(scenario.failed.value());
    let parties = planner.registering(number);
    let connection = planner.connect(&parties);
    let mut register = planner.transaction(Method::Register, Side::Caller, 1);
    planner.request(register);
    if challenged {
        planner.wait(1, 40);
        planner.send(register, MessageKind::Response(401));
        planner.wait(1, 30);
        register = planner.retry(register, 401);
        planner.request(register);
    }
    planner.wait(2, 60);
    planner.send(register, MessageKind::Response(if refused { 403 } else { 200 }));
    let call_id = format!("{:016x}{number:08x}", planner.rng.next_u64());
    let vlan = planner.options.vlan;
    let (dialog, steps) = planner.dialog(call_id, parties, codec);
    NewSession { session: Session::registration(dialog, steps, connection, vlan), streams: Vec::new() }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
struct CallCourse {
    outcome: Outcome,
    challenged: bool,
    moves: bool,
    presses: bool,
    hold: Nanos,
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    Answered,
    Failed,
    Cancelled,
}

/// A call being decided: time goes on with each message.
struct Planner<'a> {
    scenario: &'a Scenario,
    rng: Rng,
    options: SessionOptions,
    now: Nanos,
    transactions: Vec<Transaction>,
    steps: Vec<PlannedMessage>,
    /// Where each side's media are, and where they may move to.
    media: [SocketAddr; 2],
    relay: SocketAddr,
    fork: Option<Box<Fork>>,
    /// Requests that each side sent within the dialog.
    requests: [u32; 2],
}

/// When each side sends media, from the first packet to the last.
#[derive(Clone, Copy, Debug)]
struct SendTimes {
    start: Nanos,
    end: Nanos,
    /// Silent from one time to another.
    pause: Option<(Nanos, Nanos)>,
}

/// While it rings: since when the callee sends media, and since when a fork does.
#[derive(Clone, Copy, Debug)]
struct EarlyMedia {
    callee: Option<Nanos>,
    fork: Option<Nanos>,
}

impl<'a> Planner<'a> {
    fn new(scenario: &'a Scenario, stream: u64, now: Nanos) -> Self {
        let rng = Rng::new(scenario.seed, stream);
        let nowhere = Subnet::Relays.media(0, false);
        Self {
            scenario,
            rng,
            // Drawn anew once the codec is known.
            options: SessionOptions::new(scenario, stream, *scenario.codecs.at(0)),
            now,
            transactions: Vec::with_capacity(4),
            steps: Vec::with_capacity(10),
            media: [nowhere; 2],
            relay: nowhere,
            fork: None,
            requests: [0; 2],
        }
    }

    fn course(&mut self) -> CallCourse {
        let Self { scenario, rng, .. } = self;
        let (failed, cancelled) = (scenario.failed.value(), scenario.cancelled.value());
        let draw = rng.unit();
        let outcome = match () {
            () if draw < failed => Outcome::Failed,
            () if draw < failed + cancelled => Outcome::Cancelled,
            () => Outcome::Answered,
        };
        CallCourse {
            outcome,
            challenged: rng.chance(scenario.challenged.value()),
            moves: rng.chance(scenario.reinvite.value()),
            presses: rng.chance(scenario.dtmf.value()),
            hold: scenario.hold.sample(rng),
        }
    }

    fn is_tcp(&self) -> bool {
        self.options.tcp
    }

    fn callers(&mut self, number: u64) -> [Party; 2] {
        let (from, to) = (self.hosts(Subnet::Callers, number), self.hosts(Subnet::Callees, number));
        // Each call of TCP has a connection of its own, from a port that no other call has.
        let port = if self.is_tcp() { from.port() + 1 } else { SIP_PORT };
        let british = self.rng.chance(0.5);
        [
            self.party(SocketAddr::new(from.ip(), port), british, "example.com"),
            self.party(SocketAddr::new(to.ip(), SIP_PORT), !british, "example.net"),
        ]
    }

    fn registering(&mut self, number: u64) -> [Party; 2] {
        let v6 = self.options.v6;
        let port = if self.is_tcp() {
            addresses::REGISTERING_PORTS + (number / 254 % 4_000) as u16
        } else {
            SIP_PORT
        };
        let caller = SocketAddr::new(Subnet::Callers.host(number, v6), port);
        let registrar = SocketAddr::new(Subnet::Callees.host(REGISTRAR, v6), SIP_PORT);
        let british = self.rng.chance(0.5);
        [self.party(caller, british, "example.com"), self.party(registrar, british, "example.com")]
    }

    fn hosts(&self, network: Subnet, number: u64) -> SocketAddr {
        network.media(number, self.options.v6)
    }

    /// Where the media of a call are.
    fn ends(&mut self, number: u64) {
        self.media = [self.hosts(Subnet::Callers, number), self.hosts(Subnet::Callees, number)];
        self.relay = self.hosts(Subnet::Relays, number);
        if self.options.forked {
            // As far from the other relays as they go: a call that begins then has ended long ago.
            let media = self.hosts(Subnet::Relays, number + addresses::ENDPOINTS / 2);
            let rng = &mut self.options.rng;
            self.fork = Some(Box::new(Fork { tag: rng.next_u64(), session: rng.next_u64() as u32, media }));
        }
    }

    fn party(&mut self, signalling: SocketAddr, british: bool, domain: &'static str) -> Party {
        Party {
            signalling,
            user: addresses::number(&mut self.rng, british),
            domain,
            tag: self.rng.next_u64(),
            session: self.rng.next_u64() as u32,
        }
    }

    fn connect(&mut self, parties: &[Party; 2]) -> Option<Connection> {
        let rng = Rng::new(self.rng.next_u64(), 0);
        if !self.is_tcp() {
            return None;
        }
        let (caller, callee) = (parties[0].signalling, parties[1].signalling);
        let heads = [self.head(caller, callee), self.head(callee, caller)];
        let (connection, ready) = Connection::open(heads, self.now, rng);
        self.now = ready;
        Some(connection)
    }

    fn head(&self, src: SocketAddr, dst: SocketAddr) -> Head {
        Head::new(src, dst, self.options.vlan)
    }

    fn dialog(self, call_id: String, parties: [Party; 2], codec: Codec) -> (Dialog, Vec<PlannedMessage>) {
        let transport = if self.is_tcp() { "TCP" } else { "UDP" };
        let Self { media, relay, fork, mut transactions, options, mut steps, .. } = self;
        // They stay as long as the call does.
        transactions.shrink_to_fit();
        steps.shrink_to_fit();
        let ptime = options.ptime.0 / 1_000_000;
        (Dialog { call_id, parties, media, relay, fork, transactions, codec, ptime, transport }, steps)
    }

    /// Time goes on, by so many milliseconds at least and at most.
    fn wait(&mut self, least: u64, most: u64) {
        self.now += Nanos::from_micros(self.rng.between(least * 1_000, most * 1_000));
    }

    fn transaction(&mut self, method: Method, by: Side, sequence: u32) -> u8 {
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

    fn at(&mut self, transaction: u8) -> &mut Transaction {
        &mut self.transactions[usize::from(transaction)]
    }

    fn push(&mut self, transaction: u8, kind: MessageKind, repeat: bool, resend: bool) {
        self.steps.push(PlannedMessage { at: self.now, transaction, kind, fork: false, repeat, resend });
    }

    fn send(&mut self, transaction: u8, kind: MessageKind) {
        self.push(transaction, kind, false, false);
    }

    /// Sends what its sender repeats until it is answered (RFC 3261 sections 13.3.1.4 and 17.1): sometimes it has to, after
    /// T1; over TCP a segment then comes twice.
    fn send_until_answered(&mut self, transaction: u8, kind: MessageKind) {
        let again = self.rng.chance(self.scenario.retransmit.value());
        self.push(transaction, kind, false, again && self.is_tcp());
        if again && !self.is_tcp() {
            self.now += T1;
            self.push(transaction, kind, true, false);
        }
    }

    fn request(&mut self, transaction: u8) {
        self.send_until_answered(transaction, MessageKind::Request);
    }

    /// The same request once more, with the answer to a challenge (RFC 3261 section 22.2).
    fn retry(&mut self, transaction: u8, code: u16) -> u8 {
        let Transaction { method, by, sequence, challenge, .. } = *self.at(transaction);
        let place = self.transaction(method, by, sequence + 1);
        self.at(place).authorised = Some(code);
        self.at(place).challenge = challenge;
        place
    }

    /// INVITE and 100, and before them a challenge where there is one. Gives the transaction that goes on.
    fn invite(&mut self, challenged: bool) -> u8 {
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

    /// It rings, in two places where the call is forked: 180, or 183 with media before the answer.
    fn ring(&mut self, invite: u8) -> EarlyMedia {
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

    /// To the end, of a call that fails or that the caller gives up. Gives the media.
    fn unanswered(&mut self, invite: u8, outcome: Outcome, codec: Codec) -> Vec<(Stream, bool)> {
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

    fn fail(&mut self, invite: u8) -> EarlyMedia {
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

    fn cancel(&mut self, invite: u8) -> EarlyMedia {
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

    /// From ringing to BYE; gives the media, and when each side sends.
    fn conversation(
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

    /// A span of so many milliseconds at least and at most.
    fn moment(&mut self, least: u64, most: u64) -> Nanos {
        Nanos::from_micros(self.rng.between(least * 1_000, most * 1_000))
    }

    /// One side moves its media to another host (RFC 3264 section 8.3.1). Gives the side and the time.
    fn reinvite(&mut self, invite: u8, answer: Nanos, hold: Nanos) -> MediaMove {
        let side = self.rng.one_of(&[Side::Caller, Side::Callee]);
        let after = Nanos::from_micros((hold.micros() as f64 * (0.3 + 0.3 * self.rng.unit())) as u64);
        self.now = self.now.max(answer + after);
        self.offer(invite, side, Some(side), None, 2);
        MediaMove { side, at: self.now }
    }

    /// One side puts the other on hold, and takes it back (RFC 3264 section 8.4). Gives when each is silent.
    fn put_on_hold(
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

    /// A re-INVITE with its answers.
    fn offer(&mut self, invite: u8, by: Side, moved: Option<Side>, holds: Option<HoldMedia>, version: u8) {
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
    fn in_dialog(&mut self, method: Method, invite: u8, by: Side) -> u8 {
        self.requests[by as usize] += 1;
        // Each side numbers its own requests (RFC 3261 section 12.2.1.1).
        let base = if by == Side::Caller { self.at(invite).sequence } else { CALLEE_BASE };
        let place = self.transaction(method, by, base + self.requests[by as usize]);
        self.at(place).in_dialog = true;
        place
    }

    /// BYE and its answer. Gives when each side stops to send.
    fn release(&mut self, invite: u8) -> [Nanos; 2] {
        let by = self.rng.one_of(&[Side::Caller, Side::Callee]);
        let bye = self.in_dialog(Method::Bye, invite, by);
        let mut ends = [self.now; 2];
        self.request(bye);
        self.wait(1, 20);
        ends[by.other() as usize] = self.now;
        self.send(bye, MessageKind::Response(200));
        ends
    }

    fn senders(
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

    /// Media of another place where it rings, until the call is answered or over.
    fn forks(&mut self, early: EarlyMedia, end: Nanos, codec: Codec) -> Option<(Stream, bool)> {
        let (start, media) = (early.fork?, self.fork.as_ref()?.media);
        let times = SendTimes { start, end, pause: None };
        let sender = self.sender(Side::Callee, (media, self.media[0]), times, codec, false);
        Some((self.through(sender), true))
    }

    fn through(&mut self, sender: Sender) -> Stream {
        let network = self.network();
        Stream::new(self.scenario, sender, network)
    }

    /// Packets from one time to another, at least one, and the pause among them.
    fn packets(&self, times: SendTimes) -> (u32, Option<Pause>) {
        let ptime = self.options.ptime.0;
        let until = |at: Nanos| ((at - times.start).0 / ptime) as u32 + 1;
        let places = until(times.end);
        let pause = times.pause.map(|(from, to)| {
            let before = until(from);
            Pause { before, length: until(to) - before }
        });
        // A pause that begins before the first packet, or takes no packet's time, or ends after the last, is none.
        let pause = pause
            .filter(|pause| pause.before > 1 && pause.length > 0 && pause.before + pause.length < places);
        (places - pause.map_or(0, |pause| pause.length), pause)
    }

    fn sender(
        &mut self,
        side: Side,
        (src, dst): (SocketAddr, SocketAddr),
        times: SendTimes,
        codec: Codec,
        presses: bool,
    ) -> Sender {
        let (count, pause) = self.packets(times);
        // RFC 3550 section 5.1: both begin anywhere. A quarter of the streams wraps soon: that is where counting goes wrong.
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
    fn digits(&mut self, packets: u32, pause: Option<Pause>) -> Box<[Digit]> {
        let mut first = self.rng.between(10, 60) as u32;
        let mut digits = Vec::new();
        for _ in 0..self.rng.between(1, 4) {
            // Nobody presses a key as the line falls silent.
            let near = |pause: &Pause| (first..=first + EVENT_PACKETS + 10).contains(&pause.before);
            // Sound before the first and after the last: a stream of events alone has no codec.
            if first + EVENT_PACKETS + 10 < packets && !pause.as_ref().is_some_and(near) {
                digits.push(Digit { first, code: self.rng.below(12) as u8 });
            }
            first += EVENT_PACKETS + self.rng.between(25, 75) as u32;
        }
        digits.into()
    }

    fn network(&mut self) -> NetworkPath {
        let Self { scenario, rng, .. } = self;
        NetworkPath {
            loss: LossState::new(scenario.loss.place(rng)),
            jitter: scenario.jitter.place(rng),
            rng: Rng::new(rng.next_u64(), 0),
        }
    }
}

/// Media of one side that move to the relay.
#[derive(Clone, Copy, Debug)]
struct MediaMove {
    side: Side,
    at: Nanos,
}

/// RFC 3261 section 17.1.1.1.
const T1: Nanos = Nanos::from_millis(500);
const LONG_ENOUGH_TO_MOVE: Nanos = Nanos::from_secs(2);
const LONG_ENOUGH_TO_HOLD: Nanos = Nanos::from_secs(4);
/// Final answers of calls that fail, as often as here.
const FAILURES: [u16; 10] = [486, 486, 486, 486, 404, 404, 480, 503, 500, 603];
/// The callee numbers its own requests from here.
const CALLEE_BASE: u32 = 100;
const REGISTRAR: u64 = 4;
/// What tells the random numbers of calls and registrations apart.
const CALLS: u64 = 1 << 40;
const REGISTRATIONS: u64 = 1 << 41;

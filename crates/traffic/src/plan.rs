//! What happens in a call or a registration, decided when it begins.

use std::net::SocketAddrV4;

use ringtap_model::Nanos;

use crate::addresses::{self, Network as Hosts, SIP_PORT};
use crate::codec::Codec;
use crate::dialog::{Dialog, Kind, Method, Party, Side, Step, Transaction};
use crate::loss::LossState;
use crate::rng::Rng;
use crate::scenario::{Scenario, Transport};
use crate::session::Session;
use crate::stream::{EVENT_PACKETS, Network, Press, Sender, Stream};
use crate::tcp::Connection;

/// A call attempt that begins at `at`; `number` tells it from all others.
pub(crate) fn call(scenario: &Scenario, number: u64, at: Nanos) -> Session {
    let mut plan = Plan::new(scenario, CALLS + number, at);
    let fate = plan.fate();
    let codec = *scenario.codecs.pick(&mut plan.rng);
    let parties = plan.callers(number);
    let connection = plan.connect(&parties);
    let offered = [Hosts::Callers.media(number), Hosts::Callees.media(number)];
    let invite = plan.invite(offered, fate.challenged);
    let streams = match fate.outcome {
        Outcome::Answered => plan.conversation(invite, offered, fate, codec, number),
        Outcome::Failed => {
            plan.fail(invite);
            Vec::new()
        }
        Outcome::Cancelled => {
            plan.cancel(invite);
            Vec::new()
        }
    };
    let call_id = format!("{:016x}{:08x}@{}", plan.rng.next_u64(), number, parties[0].signalling.ip());
    let (dialog, steps) = plan.dialog(call_id, parties, codec);
    Session::call(dialog, steps, connection, streams)
}

/// A registration that begins at `at`.
pub(crate) fn registration(scenario: &Scenario, number: u64, at: Nanos) -> Session {
    let mut plan = Plan::new(scenario, REGISTRATIONS + number, at);
    let challenged = plan.rng.chance(scenario.challenged.value());
    let refused = plan.rng.chance(scenario.failed.value());
    let parties = plan.registering(number);
    let connection = plan.connect(&parties);
    let nowhere = [parties[0].signalling, parties[1].signalling];
    let mut register = plan.transaction(Method::Register, Side::Caller, 1, nowhere);
    plan.request(register);
    if challenged {
        plan.wait(1, 40);
        plan.send(register, Kind::Response(401));
        plan.wait(1, 30);
        register = plan.retry(register, 401);
        plan.request(register);
    }
    plan.wait(2, 60);
    plan.send(register, Kind::Response(if refused { 403 } else { 200 }));
    let call_id = format!("{:016x}{number:08x}", plan.rng.next_u64());
    let (dialog, steps) = plan.dialog(call_id, parties, Codec::PCMU);
    Session::registration(dialog, steps, connection)
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
struct Fate {
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
struct Plan<'a> {
    scenario: &'a Scenario,
    rng: Rng,
    now: Nanos,
    transactions: Vec<Transaction>,
    steps: Vec<Step>,
}

/// When each side sends media, from the first packet to the last.
#[derive(Clone, Copy, Debug)]
struct Talk {
    start: Nanos,
    end: Nanos,
}

impl<'a> Plan<'a> {
    fn new(scenario: &'a Scenario, stream: u64, now: Nanos) -> Self {
        let rng = Rng::new(scenario.seed, stream);
        Self { scenario, rng, now, transactions: Vec::new(), steps: Vec::new() }
    }

    fn fate(&mut self) -> Fate {
        let Self { scenario, rng, .. } = self;
        let (failed, cancelled) = (scenario.failed.value(), scenario.cancelled.value());
        let draw = rng.unit();
        let outcome = match () {
            () if draw < failed => Outcome::Failed,
            () if draw < failed + cancelled => Outcome::Cancelled,
            () => Outcome::Answered,
        };
        Fate {
            outcome,
            challenged: rng.chance(scenario.challenged.value()),
            moves: rng.chance(scenario.reinvite.value()),
            presses: rng.chance(scenario.dtmf.value()),
            hold: scenario.hold.sample(rng),
        }
    }

    fn is_tcp(&self) -> bool {
        self.scenario.transport == Transport::Tcp
    }

    fn callers(&mut self, number: u64) -> [Party; 2] {
        let (from, to) = (Hosts::Callers.media(number), Hosts::Callees.media(number));
        // Each call of TCP has a connection of its own, from a port that no other call has.
        let port = if self.is_tcp() { from.port() + 1 } else { SIP_PORT };
        let british = self.rng.chance(0.5);
        [
            self.party(SocketAddrV4::new(*from.ip(), port), british, "example.com"),
            self.party(SocketAddrV4::new(*to.ip(), SIP_PORT), !british, "example.net"),
        ]
    }

    fn registering(&mut self, number: u64) -> [Party; 2] {
        let port = if self.is_tcp() {
            addresses::REGISTERING_PORTS + (number / 254 % 4_000) as u16
        } else {
            SIP_PORT
        };
        let caller = SocketAddrV4::new(Hosts::Callers.host(number), port);
        let registrar = SocketAddrV4::new(Hosts::Callees.host(REGISTRAR), SIP_PORT);
        let british = self.rng.chance(0.5);
        [self.party(caller, british, "example.com"), self.party(registrar, british, "example.com")]
    }

    fn party(&mut self, signalling: SocketAddrV4, british: bool, domain: &'static str) -> Party {
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
        let (connection, ready) =
            Connection::open(parties[0].signalling, parties[1].signalling, self.now, rng);
        self.now = ready;
        Some(connection)
    }

    fn dialog(self, call_id: String, parties: [Party; 2], codec: Codec) -> (Dialog, Vec<Step>) {
        let transport = if self.is_tcp() { "TCP" } else { "UDP" };
        let ptime = self.scenario.ptime.0 / 1_000_000;
        (Dialog { call_id, parties, transactions: self.transactions, codec, ptime, transport }, self.steps)
    }

    /// Time goes on, by so many milliseconds at least and at most.
    fn wait(&mut self, least: u64, most: u64) {
        self.now += Nanos::from_micros(self.rng.between(least * 1_000, most * 1_000));
    }

    fn transaction(&mut self, method: Method, by: Side, sequence: u32, media: [SocketAddrV4; 2]) -> usize {
        self.transactions.push(Transaction {
            method,
            by,
            sequence,
            branch: self.rng.next_u64(),
            in_dialog: false,
            authorised: None,
            challenge: self.rng.next_u64(),
            media,
            version: 1,
        });
        self.transactions.len() - 1
    }

    fn push(&mut self, transaction: usize, kind: Kind, repeat: bool, resend: bool) {
        self.steps.push(Step { at: self.now, transaction, kind, repeat, resend });
    }

    fn send(&mut self, transaction: usize, kind: Kind) {
        self.push(transaction, kind, false, false);
    }

    /// Sends what its sender repeats until it is answered (RFC 3261 sections 13.3.1.4 and 17.1): sometimes it has to, after
    /// T1; over TCP a segment then comes twice.
    fn send_until_answered(&mut self, transaction: usize, kind: Kind) {
        let again = self.rng.chance(self.scenario.retransmit.value());
        self.push(transaction, kind, false, again && self.is_tcp());
        if again && !self.is_tcp() {
            self.now += T1;
            self.push(transaction, kind, true, false);
        }
    }

    fn request(&mut self, transaction: usize) {
        self.send_until_answered(transaction, Kind::Request);
    }

    /// The same request once more, with the answer to a challenge (RFC 3261 section 22.2).
    fn retry(&mut self, transaction: usize, code: u16) -> usize {
        let Transaction { method, by, sequence, media, challenge, .. } = self.transactions[transaction];
        let place = self.transaction(method, by, sequence + 1, media);
        self.transactions[place].authorised = Some(code);
        self.transactions[place].challenge = challenge;
        place
    }

    /// INVITE and 100, and before them a challenge where there is one. Gives the transaction that goes on.
    fn invite(&mut self, media: [SocketAddrV4; 2], challenged: bool) -> usize {
        let mut invite = self.transaction(Method::Invite, Side::Caller, 1, media);
        self.request(invite);
        self.wait(1, 20);
        if challenged {
            let code = self.rng.one_of(&[401, 407, 407]);
            self.send(invite, Kind::Response(code));
            self.wait(1, 15);
            self.send(invite, Kind::Ack(code));
            self.wait(1, 25);
            invite = self.retry(invite, code);
            self.request(invite);
            self.wait(1, 20);
        }
        self.send(invite, Kind::Response(100));
        self.wait(40, 1_500);
        invite
    }

    fn fail(&mut self, invite: usize) {
        let code = self.rng.one_of(&FAILURES);
        if matches!(code, 480 | 603) {
            self.send(invite, Kind::Response(180));
            self.wait(1_500, 12_000);
        }
        self.send_until_answered(invite, Kind::Response(code));
        self.wait(1, 20);
        self.send(invite, Kind::Ack(code));
    }

    fn cancel(&mut self, invite: usize) {
        self.send(invite, Kind::Response(180));
        self.wait(1_500, 12_000);
        // RFC 3261 section 9.1: the branch and the number of the INVITE.
        let Transaction { by, sequence, branch, media, .. } = self.transactions[invite];
        let cancel = self.transaction(Method::Cancel, by, sequence, media);
        self.transactions[cancel].branch = branch;
        self.request(cancel);
        self.wait(1, 20);
        self.send(cancel, Kind::Response(200));
        self.wait(1, 20);
        self.send_until_answered(invite, Kind::Response(487));
        self.wait(1, 20);
        self.send(invite, Kind::Ack(487));
    }

    /// From ringing to BYE; gives the media.
    fn conversation(
        &mut self,
        invite: usize,
        offered: [SocketAddrV4; 2],
        fate: Fate,
        codec: Codec,
        number: u64,
    ) -> Vec<Stream> {
        self.send(invite, Kind::Response(180));
        self.wait(1_000, 8_000);
        let answer = self.now;
        self.send_until_answered(invite, Kind::Response(200));
        let callee_talks = self.now + self.moment(5, 30);
        self.wait(1, 20);
        self.send(invite, Kind::Ack(200));
        let starts = [self.now + self.moment(5, 30), callee_talks];
        let release = answer + fate.hold;
        let moved = match fate.moves && fate.hold >= LONG_ENOUGH_TO_MOVE {
            true => Some(self.reinvite(invite, offered, answer, fate.hold, number)),
            false => None,
        };
        self.now = release.max(self.now + self.moment(1, 20));
        let ends = self.release(invite, moved.is_some());
        let talks = [0, 1].map(|side| Talk { start: starts[side], end: ends[side] });
        self.media(offered, talks, moved, codec, fate.presses)
    }

    /// A span of so many milliseconds at least and at most.
    fn moment(&mut self, least: u64, most: u64) -> Nanos {
        Nanos::from_micros(self.rng.between(least * 1_000, most * 1_000))
    }

    /// One side moves its media to another host (RFC 3264 section 8.3.1). Gives the side and the time.
    fn reinvite(
        &mut self,
        invite: usize,
        offered: [SocketAddrV4; 2],
        answer: Nanos,
        hold: Nanos,
        number: u64,
    ) -> Move {
        let side = self.rng.one_of(&[Side::Caller, Side::Callee]);
        let after = Nanos::from_micros((hold.micros() as f64 * (0.3 + 0.3 * self.rng.unit())) as u64);
        self.now = self.now.max(answer + after);
        let mut media = offered;
        media[side as usize] = Hosts::Relays.media(number);
        let again = self.in_dialog(Method::Invite, invite, side, media, 1);
        self.transactions[again].version = 2;
        self.request(again);
        self.wait(1, 20);
        self.send(again, Kind::Response(100));
        self.wait(5, 60);
        self.send_until_answered(again, Kind::Response(200));
        self.wait(1, 20);
        self.send(again, Kind::Ack(200));
        Move { side, to: media[side as usize], at: self.now }
    }

    /// A request within the dialog. `number` counts those of its sender after the INVITE, from 1.
    fn in_dialog(
        &mut self,
        method: Method,
        invite: usize,
        by: Side,
        media: [SocketAddrV4; 2],
        number: u32,
    ) -> usize {
        // Each side numbers its own requests (RFC 3261 section 12.2.1.1).
        let base = if by == Side::Caller { self.transactions[invite].sequence } else { CALLEE_BASE };
        let place = self.transaction(method, by, base + number, media);
        self.transactions[place].in_dialog = true;
        place
    }

    /// BYE and its answer. Gives when each side stops to send.
    fn release(&mut self, invite: usize, moved: bool) -> [Nanos; 2] {
        let by = self.rng.one_of(&[Side::Caller, Side::Callee]);
        let media = self.transactions[invite].media;
        let bye = self.in_dialog(Method::Bye, invite, by, media, 1 + u32::from(moved));
        let mut ends = [self.now; 2];
        self.request(bye);
        self.wait(1, 20);
        ends[by.other() as usize] = self.now;
        self.send(bye, Kind::Response(200));
        ends
    }

    fn media(
        &mut self,
        ends: [SocketAddrV4; 2],
        talks: [Talk; 2],
        moved: Option<Move>,
        codec: Codec,
        presses: bool,
    ) -> Vec<Stream> {
        let mut senders = Vec::with_capacity(4);
        for side in [Side::Caller, Side::Callee] {
            let (src, dst) = (ends[side as usize], ends[side.other() as usize]);
            let Talk { start, end } = talks[side as usize];
            let until = moved.map_or(end, |moved| moved.at);
            let presses = presses && side == Side::Caller;
            let first = self.sender(side, (src, dst), start, until, codec, presses);
            match moved {
                Some(moved) if moved.side == side => {
                    let start = moved.at + self.moment(5, 20);
                    let second = self.sender(side, (moved.to, dst), start, end, codec, false);
                    senders.extend([first, second]);
                }
                Some(moved) => {
                    let begin = first.time(first.count);
                    let second = first.continued(moved.to, self.packets(begin, end));
                    senders.extend([first, second]);
                }
                None => senders.push(first),
            }
        }
        senders.into_iter().map(|sender| Stream::new(sender, self.network())).collect()
    }

    /// Packets from one time to another, at least one.
    fn packets(&self, start: Nanos, end: Nanos) -> u32 {
        ((end - start).0 / self.scenario.ptime.0) as u32 + 1
    }

    fn sender(
        &mut self,
        side: Side,
        (src, dst): (SocketAddrV4, SocketAddrV4),
        start: Nanos,
        end: Nanos,
        codec: Codec,
        presses: bool,
    ) -> Sender {
        let count = self.packets(start, end);
        // RFC 3550 section 5.1: both begin anywhere. A quarter of the streams wraps soon: that is where counting goes wrong.
        let soon = self.rng.below(4) == 0;
        let sequence = self.rng.next_u64() as u16;
        let sequence = if soon { u16::MAX - sequence % 300 } else { sequence };
        Sender {
            side,
            src,
            dst,
            ssrc: self.rng.next_u64() as u32,
            codec,
            ptime: self.scenario.ptime,
            sequence,
            timestamp: self.rng.next_u64() as u32,
            start,
            count,
            voice: self.scenario.voice.begin(&mut self.rng),
            digits: if presses { self.digits(count) } else { Vec::new() },
        }
    }

    /// One to four digits, half a second or more apart, as many as fit.
    fn digits(&mut self, packets: u32) -> Vec<Press> {
        let mut first = self.rng.between(10, 60) as u32;
        let mut digits = Vec::new();
        for _ in 0..self.rng.between(1, 4) {
            // Sound before the first and after the last: a stream of events alone has no codec.
            if first + EVENT_PACKETS + 10 < packets {
                digits.push(Press { first, code: self.rng.below(12) as u8 });
            }
            first += EVENT_PACKETS + self.rng.between(25, 75) as u32;
        }
        digits
    }

    fn network(&mut self) -> Network {
        let Self { scenario, rng, .. } = self;
        Network {
            loss: LossState::new(*scenario.loss.pick(rng)),
            jitter: *scenario.jitter.pick(rng),
            reorder: scenario.reorder.value(),
            duplicate: scenario.duplicate.value(),
            rng: Rng::new(rng.next_u64(), 0),
        }
    }
}

/// Media of one side that move to another host.
#[derive(Clone, Copy, Debug)]
struct Move {
    side: Side,
    to: SocketAddrV4,
    at: Nanos,
}

/// RFC 3261 section 17.1.1.1.
const T1: Nanos = Nanos::from_millis(500);
const LONG_ENOUGH_TO_MOVE: Nanos = Nanos::from_secs(2);
/// Final answers of calls that fail, as often as here.
const FAILURES: [u16; 10] = [486, 486, 486, 486, 404, 404, 480, 503, 500, 603];
/// The callee numbers its own requests from here.
const CALLEE_BASE: u32 = 100;
const REGISTRAR: u64 = 4;
/// What tells the random numbers of calls and registrations apart.
const CALLS: u64 = 1 << 40;
const REGISTRATIONS: u64 = 1 << 41;

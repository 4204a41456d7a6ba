//! The course of a call or registration, planned when it begins.

mod media;
mod signalling;

use std::net::SocketAddr;

use ringtap_model::Nanos;

use crate::addresses::{self, SIP_PORT, Subnet};
use crate::codec::Codec;
use crate::dialog::{Dialog, Fork, MessageKind, Method, Party, PlannedMessage, Side, Transaction};
use crate::frame::Head;
use crate::options::SessionOptions;
use crate::reports::Reports;
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::session::Session;
use crate::stream::Stream;
use crate::tcp::Connection;

/// A call or registration that begins.
#[derive(Debug)]
pub(crate) struct NewSession {
    pub(crate) session: Session,
    /// Its streams, and whether each comes from the fork.
    pub(crate) streams: Vec<(Stream, bool)>,
}

/// Plans the call attempt that begins at `at`; `number` is unique.
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

/// Plans the registration that begins at `at`.
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

/// The course of a call.
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

/// A call being planned: each message advances `now`.
struct Planner<'a> {
    scenario: &'a Scenario,
    rng: Rng,
    options: SessionOptions,
    now: Nanos,
    transactions: Vec<Transaction>,
    steps: Vec<PlannedMessage>,
    /// Media endpoint of each side, and where they may move.
    media: [SocketAddr; 2],
    relay: SocketAddr,
    fork: Option<Box<Fork>>,
    /// Requests of each side within the dialog.
    requests: [u32; 2],
}

/// When a side sends media, from the first packet to the last.
#[derive(Clone, Copy, Debug)]
struct SendTimes {
    start: Nanos,
    end: Nanos,
    /// Silent between these times.
    pause: Option<(Nanos, Nanos)>,
}

/// Early media: since when the callee sends, and since when the fork does.
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
            // Replaced when the codec is known.
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
        // Each call over TCP has its own connection, from a unique port.
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

    /// Sets the media endpoints of a call.
    fn ends(&mut self, number: u64) {
        self.media = [self.hosts(Subnet::Callers, number), self.hosts(Subnet::Callees, number)];
        self.relay = self.hosts(Subnet::Relays, number);
        if self.options.forked {
            // Half the range away from the relays: the call with that number has ended long ago.
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
        // Shrunk, since they live as long as the call.
        transactions.shrink_to_fit();
        steps.shrink_to_fit();
        let ptime = options.ptime.0 / 1_000_000;
        (Dialog { call_id, parties, media, relay, fork, transactions, codec, ptime, transport }, steps)
    }

    /// Advances the time by `least` to `most` milliseconds.
    fn wait(&mut self, least: u64, most: u64) {
        self.now += Nanos::from_micros(self.rng.between(least * 1_000, most * 1_000));
    }

    /// A span of so many milliseconds at least and at most.
    fn moment(&mut self, least: u64, most: u64) -> Nanos {
        Nanos::from_micros(self.rng.between(least * 1_000, most * 1_000))
    }
}

/// The move of one side's media to the relay.
#[derive(Clone, Copy, Debug)]
struct MediaMove {
    side: Side,
    at: Nanos,
}

/// RFC 3261 section 17.1.1.1.
const T1: Nanos = Nanos::from_millis(500);
const LONG_ENOUGH_TO_MOVE: Nanos = Nanos::from_secs(2);
const LONG_ENOUGH_TO_HOLD: Nanos = Nanos::from_secs(4);
/// Final responses of failed calls, in these proportions.
const FAILURES: [u16; 10] = [486, 486, 486, 486, 404, 404, 480, 503, 500, 603];
/// The callee numbers its own requests from here.
const CALLEE_BASE: u32 = 100;
const REGISTRAR: u64 = 4;
/// Separate the random streams of calls and registrations.
const CALLS: u64 = 1 << 40;
const REGISTRATIONS: u64 = 1 << 41;

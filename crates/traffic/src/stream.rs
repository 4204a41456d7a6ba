//! One media stream, from the sender through a network to the capture point.

use ringtap_model::{Dtmf, Nanos};

use crate::frame::Framer;
use crate::loss::LossState;
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::sender::{Sender, SentPacket, Sounds};
use crate::statistics::StreamStatistics;
use crate::truth::StreamTruth;

/// The network between sender and capture point.
#[derive(Clone, Debug)]
pub(crate) struct NetworkPath {
    pub(crate) loss: LossState,
    /// Index of its model in the scenario.
    pub(crate) jitter: u8,
    pub(crate) rng: Rng,
    /// None where packets are lost before the capture point only.
    pub(crate) elsewhere: Option<Box<Elsewhere>>,
}

/// Loss at the other places.
#[derive(Clone, Debug)]
pub(crate) struct Elsewhere {
    pub(crate) unsent: LossState,
    pub(crate) behind: LossState,
    pub(crate) uncaptured: LossState,
    pub(crate) rng: Rng,
    /// Packets that were never sent, by index.
    pub(crate) never: Vec<u32>,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unsent,
    LostBefore,
    LostBehind,
    Uncaptured,
    Arrives,
}

impl Elsewhere {
    fn fate(&mut self, scenario: &Scenario, index: u32, is_lost: bool) -> Fate {
        let Self { unsent, behind, uncaptured, rng, never } = self;
        // Each model goes on, whatever the others say.
        let is_unsent = unsent.next(&scenario.unsent, rng);
        let is_lost_behind = behind.next(&scenario.loss_behind, rng);
        let is_uncaptured = uncaptured.next(&scenario.uncaptured, rng);
        if is_unsent {
            never.push(index);
        }
        match () {
            () if is_unsent => Fate::Unsent,
            () if is_lost => Fate::LostBefore,
            // Lost twice is lost behind the capture point, where nobody misses it here.
            () if is_lost_behind => Fate::LostBehind,
            () if is_uncaptured => Fate::Uncaptured,
            () => Fate::Arrives,
        }
    }
}

impl NetworkPath {
    fn touch(&self) -> u64 {
        u64::from(self.jitter)
    }
}

/// A packet that will be captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DuePacket {
    at: Nanos,
    index: u32,
    repeat: bool,
    is_captured: bool,
    is_received: bool,
}

/// A stream at the capture point, packet by packet in order of time.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// The next captured packet.
    due: Option<DuePacket>,
    /// Packets captured after it: few, mostly none.
    later: Vec<DuePacket>,
    /// Arrival of the last packet: later ones do not arrive earlier.
    arrival: Nanos,
    /// Index of the next packet to send.
    next: u32,
    /// Its session.
    pub(crate) session: u32,
    /// A packet that the next one overtakes, and its original arrival.
    held: Option<DuePacket>,
    network: NetworkPath,
    sender: Sender,
    statistics: StreamStatistics,
}

impl Stream {
    pub(crate) fn new(scenario: &Scenario, sender: Sender, network: NetworkPath) -> Self {
        let mut stream = Self {
            due: None,
            later: Vec::new(),
            arrival: Nanos::ZERO,
            next: 0,
            session: 0,
            held: None,
            network,
            sender,
            statistics: StreamStatistics::default(),
        };
        stream.advance(scenario);
        stream
    }

    /// Time of the next packet; None at the end.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.due.map(|due| due.at)
    }

    /// Writes the next packet, captured `late` after its time. Does nothing after the end.
    // HOT: once for each packet of RTP.
    pub(crate) fn emit(&mut self, late: Nanos, scenario: &Scenario, sounds: &Sounds, framer: &mut Framer) {
        let Some(due) = self.due.take() else { return };
        let Self { sender, statistics, .. } = self;
        framer.udp(&sender.head, |payload| {
            let sent = sender.packet(due.index, sounds, payload);
            statistics.sent(
                &SentPacket { at: due.at + late, repeat: due.repeat, ..sent },
                f64::from(sender.codec.clock().0),
            );
            if due.is_received {
                statistics.reached(due.index);
            }
        });
        self.pop();
        self.advance(scenario);
    }

    /// Makes the earliest packet the next one.
    fn pop(&mut self) {
        if !self.later.is_empty() {
            let first = (0..self.later.len()).min_by_key(|index| self.later[*index]);
            self.due = first.map(|index| self.later.swap_remove(index));
        }
    }

    /// Sends packets until the earliest captured packet can no longer be overtaken.
    fn advance(&mut self, scenario: &Scenario) {
        self.advance_one(scenario);
        while let Some(hidden) = self.due.filter(|due| !due.is_captured) {
            // It passes while nobody looks.
            self.statistics.reached(hidden.index);
            self.due = None;
            self.pop();
            self.advance_one(scenario);
        }
    }

    fn advance_one(&mut self, scenario: &Scenario) {
        while self.next < self.sender.count && self.next_at().is_none_or(|at| at > self.arrival) {
            self.send(scenario);
        }
        if self.next == self.sender.count {
            // No packet is left to overtake it.
            if let Some(held) = self.held.take() {
                self.deliver(scenario, held);
            }
        }
    }

    /// Sends the next packet through the network.
    fn send(&mut self, scenario: &Scenario) {
        let index = self.next;
        self.next += 1;
        let NetworkPath { loss, jitter, rng, elsewhere } = &mut self.network;
        let is_lost = loss.next(&scenario.loss, rng);
        let fate = match elsewhere {
            Some(elsewhere) => elsewhere.fate(scenario, index, is_lost),
            None if is_lost => Fate::LostBefore,
            None => Fate::Arrives,
        };
        let is_captured = matches!(fate, Fate::Arrives | Fate::LostBehind);
        let delay = scenario.jitter.at(*jitter).sample(rng);
        let overtaken = rng.chance(scenario.reorder.value());
        self.statistics.decided(!is_captured);
        match fate {
            Fate::Unsent => self.statistics.places.unsent += 1,
            Fate::LostBefore => self.statistics.places.before += 1,
            Fate::LostBehind => self.statistics.places.behind += 1,
            Fate::Uncaptured => self.statistics.places.uncaptured += 1,
            Fate::Arrives => {}
        }
        let is_lost = matches!(fate, Fate::Unsent | Fate::LostBefore);
        if is_lost || self.sender.pause.is_some_and(|pause| pause.before == index) {
            // A delayed packet waits for the next one only, not for the length of a burst or pause.
            if let Some(held) = self.held.take() {
                self.deliver(scenario, held);
            }
        }
        if is_lost {
            return;
        }
        // The network is a queue: it keeps the order.
        let at = (self.sender.time(index) + delay).max(self.arrival + BACK_TO_BACK);
        self.arrival = at;
        let is_received = fate != Fate::LostBehind;
        let due = DuePacket { at, index, repeat: false, is_captured, is_received };
        match self.held.take() {
            Some(held) => {
                self.deliver(scenario, due);
                self.deliver(scenario, DuePacket { at: at + BACK_TO_BACK, ..held });
            }
            None if overtaken => self.held = Some(due),
            None => self.deliver(scenario, due),
        }
    }

    fn deliver(&mut self, scenario: &Scenario, due: DuePacket) {
        self.enter(due);
        let rng = &mut self.network.rng;
        let (twice, later) = (rng.chance(scenario.duplicate.value()), rng.unit());
        if twice {
            let later = Nanos::from_micros((later * 1.5 * self.sender.ptime.micros() as f64) as u64);
            self.enter(DuePacket { at: due.at + BACK_TO_BACK + later, repeat: true, ..due });
        }
    }

    fn enter(&mut self, due: DuePacket) {
        match self.due {
            None => self.due = Some(due),
            Some(first) if due < first => {
                self.due = Some(due);
                self.later.push(first);
            }
            Some(_) => self.later.push(due),
        }
    }

    /// Packets sent up to a time: those that were numbered, without those that were never sent.
    pub(crate) fn sent_by(&self, at: Nanos) -> u32 {
        let numbered = self.sender.sent_by(at);
        let never = self
            .network
            .elsewhere
            .as_ref()
            .map_or(0, |elsewhere| elsewhere.never.partition_point(|index| *index < numbered));
        numbered - never as u32
    }

    /// Reads a word of each of its cache lines.
    pub(crate) fn touch(&self) -> u64 {
        let Self { arrival, session, network, sender, statistics, .. } = self;
        arrival.0 ^ u64::from(*session) ^ network.touch() ^ sender.touch() ^ statistics.touch()
    }

    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }

    pub(crate) fn statistics(&self) -> &StreamStatistics {
        &self.statistics
    }

    /// Its record after the end; None if no packet arrived.
    pub(crate) fn truth(&self, call_id: &str) -> Option<StreamTruth> {
        self.statistics.record(call_id, &self.sender)
    }

    /// The digits that arrived.
    pub(crate) fn digits(&self) -> impl Iterator<Item = Dtmf> {
        self.statistics.digits()
    }
}

/// Smallest gap between two packets.
const BACK_TO_BACK: Nanos = Nanos::from_micros(20);

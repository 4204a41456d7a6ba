//! What a worker keeps of calls, on its way from the engine's hooks into the spool.
//!
//! The worker that has a call's signalling asks the rules, at each message that may change what they say, and writes the
//! answer into the table that all workers share; the worker that sees its media looks there.

mod product;
mod sink;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

use ringtap_engine::{CallNumber, CallPhase, RecordedPackets, RtcpSeen, RtpSeen, SipSeen, StreamEnd};
use ringtap_model::{Call, Endpoint, Frame, Nanos, Recorded, Transport};
use ringtap_spool::rules::{CallDecision, CallFacts, DecisionState, PendingPackets, RecordingScope, Verdict};
use ringtap_spool::{
    Category, Error, OwnerHandle, PendingEntry, SpoolWriter, WriterCounts, WriterSettings, WriterStatus, key,
    of_call, of_stream,
};

use self::product::{Products, Target};
pub use self::sink::Keeping;
pub use self::sink::wrapped;
use crate::amend::Amender;
use crate::complete::complete;
use crate::doubt::number;
use crate::erase::{Erase, Eraser};
use crate::facts::{Gathered, digit, digit_of_event, events};
use crate::orders::{Act, Command, Orders, Ruling, Switch, place};
use crate::shelf::{Piece, Shelf, Track};

/// A worker's part of the spool.
pub struct Recorder {
    shelf: Shelf,
    orders: Arc<Orders>,
    ruling: Arc<Ruling>,
    epoch: u64,
    eraser: Option<Eraser>,
    amender: Option<Amender>,
    /// By the stream's serial.
    streams: HashMap<u64, Stream, BuildHasherDefault<Serials>>,
    /// By the stream's place in the engine.
    straight: Box<[Straight]>,
    /// Streams of which packets wait.
    waiting: Vec<u64>,
    /// Calls that this worker has the signalling of, by their place.
    calls: HashMap<u32, CallState>,
    /// Their places by the key of their Call-ID.
    by_key: HashMap<u64, u32>,
    /// Messages that belong to no call, by the key of their Call-ID.
    others: HashMap<u64, Other>,
    /// What is kept of who is intercepted.
    products: Products,
    /// Where every frame is kept.
    rest: Option<Box<Rest>>,
    /// Time by the packets, or by the clock.
    now: Nanos,
    looked: Nanos,
    swept: Nanos,
    counts: Decisions,
    /// Packets lost, as far as the operator knows.
    told: u64,
    worker: usize,
}

/// The frames that are no call's, and which of the batch are some call's.
type Rest = (Track, Vec<bool>);

/// What a worker kept, and what it lost of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// What the spool's writer counted.
    pub counts: WriterCounts,
    /// Packets that were not given to the spool.
    pub left_out: u64,
    /// Packets that the disk refused.
    pub refused: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Write operations on disk.
    pub writes: u64,
    /// Segments begun.
    pub segments: u64,
    /// Operations that the disk refused.
    pub failures: u64,
    /// What was decided of calls.
    pub decisions: Decisions,
}

impl Figures {
    /// Packets lost, by reason.
    pub fn lost(&self) -> [(&'static str, u64); 6] {
        let WriterCounts { lost_oversized, lost_disk, lost_stopped, .. } = self.counts;
        [
            ("oversized", lost_oversized),
            ("disk", lost_disk),
            ("refused", self.refused),
            ("stopped", lost_stopped),
            ("left_out", self.left_out),
            ("undecided", self.decisions.lost),
        ]
    }
}

/// What a worker decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Calls, by what is kept of them: in the order of [`RecordingScope::ALL`].
    pub calls: [u64; 4],
    /// Packets that went out of memory before it was known whether they may be kept.
    pub lost: u64,
    /// Calls that were on the disk until their end and are erased.
    pub erased: u64,
    /// Calls of whose recording packets are missing.
    pub incomplete: u64,
    /// Answered calls of which one direction is missing.
    pub one_way: u64,
}

/// A call under way.
struct CallState {
    number: CallNumber,
    call_id: Box<str>,
    track: Track,
    facts: Gathered,
    standing: CallDecision,
    /// The most that was kept of it until its end should tell.
    most: Option<RecordingScope>,
    /// That is kept in mind on the disk.
    doubted: bool,
    /// No rule changes it any more.
    fixed: bool,
    /// By command, when it had begun.
    demanded: bool,
    digits: Pressed,
    /// What the rules say that intercept; None where there are none.
    product: Option<Box<Target>>,
}

/// Messages of one Call-ID that is no call's.
struct Other {
    track: Track,
    standing: CallDecision,
    last: Nanos,
}

/// A media stream.
struct Stream {
    track: Track,
    /// In the engine, see [`RtpSeen::stream_slot`].
    place: u32,
    call: Option<CallNumber>,
    hosts: [IpAddr; 2],
    ssrc: u32,
    first: Nanos,
    last: Nanos,
    /// What the rules say of it where no call claims it.
    alone: Option<CallDecision>,
    /// No packet of it will come; since when.
    left: Option<Nanos>,
    /// RTP timestamp of the event that was taken last.
    event: Option<u32>,
    digits: Pressed,
    /// The call that is in doubt, as is kept in mind on the disk.
    doubted: Option<CallNumber>,
}

/// A stream of which every packet goes the same way, whole, until something else is decided: a line, which all that is needed for
/// the next packet fits into.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Straight {
    /// Whose line it is.
    serial: u64,
    /// [`Recorder::version`] when it was written; not good for any other.
    version: u64,
    /// As the engine named it.
    call: Option<CallNumber>,
    /// None where the packets do not go straight.
    owner: Option<OwnerHandle>,
    last: Nanos,
}

const _: () = assert!(size_of::<Straight>() == 64);

impl Straight {
    const NONE: Self = Self { serial: 0, version: 0, call: None, owner: None, last: Nanos::ZERO };
}

/// The last digits that somebody pressed.
#[derive(Default)]
struct Pressed {
    digits: [u8; 16],
    count: usize,
}

impl Pressed {
    /// Takes a digit; whether it ends the pause or begins one: both where the same digits do both.
    fn press(&mut self, digit: u8, ruling: &Ruling) -> (bool, bool) {
        self.digits.rotate_left(1);
        self.digits[15] = digit;
        self.count = (self.count + 1).min(16);
        let ends = |switch: &Switch| {
            !switch.digits.is_empty() && self.digits[16 - self.count..].ends_with(&switch.digits)
        };
        let found = (ends(&ruling.pause), ends(&ruling.resume));
        if found != (false, false) {
            self.count = 0;
        }
        found
    }
}

/// Numbers that count up need no more than to be spread.
#[derive(Default)]
struct Serials(u64);

impl Hasher for Serials {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 / the golden ratio: high bits for the place, low ones for the tag.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

impl Recorder {
    /// For so many `streams` at once. `undecided` bytes are for what no rule can decide yet. Without an eraser, what was kept until the end stays.
    pub fn open(
        settings: WriterSettings,
        streams: usize,
        undecided: usize,
        orders: Arc<Orders>,
        eraser: Option<Eraser>,
    ) -> Result<Self, Error> {
        let (worker, owners) = (usize::from(settings.worker), settings.owners);
        let (ruling, epoch) = orders.ruling();
        let rest = rest(&ruling, worker);
        Ok(Self {
            shelf: Shelf {
                keeper: SpoolWriter::open(settings)?,
                undecided: PendingPackets::new(undecided, owners),
                left_out: 0,
            },
            orders,
            ruling,
            epoch,
            eraser,
            amender: None,
            streams: HashMap::default(),
            straight: vec![Straight::NONE; streams].into_boxed_slice(),
            waiting: Vec::new(),
            calls: HashMap::new(),
            by_key: HashMap::new(),
            others: HashMap::new(),
            products: Products::default(),
            rest,
            now: Nanos::ZERO,
            looked: Nanos::ZERO,
            swept: Nanos::ZERO,
            counts: Decisions::default(),
            told: 0,
            worker,
        })
    }

    /// Time has passed: what waited long enough is written, who was silent long enough is forgotten; what others want is done.
    pub fn tick(&mut self, now: Nanos) {
        self.now = now;
        self.eraser.iter_mut().for_each(Eraser::catch_up);
        self.shelf.keeper.tick(now);
        if self.orders.epoch() != self.epoch {
            self.obey();
        }
        for command in self.orders.commands(self.worker) {
            self.command(&command);
        }
        if now.since(self.looked) >= LOOK {
            self.looked = now;
            self.look(now);
        }
        if now.since(self.swept) >= SWEEP {
            self.swept = now;
            self.sweep(now);
        }
    }

    /// New rules: who is not decided yet is asked about again.
    #[cold]
    fn obey(&mut self) {
        (self.ruling, self.epoch) = self.orders.ruling();
        if self.rest.is_some() != self.ruling.everything {
            self.rest = rest(&self.ruling, self.worker);
        }
        let open: Vec<u32> =
            self.calls.iter().filter(|(_, call)| !call.fixed).map(|(slot, _)| *slot).collect();
        for slot in open {
            self.judge(slot, None, false);
        }
        self.streams.values_mut().for_each(|stream| stream.alone = None);
        self.obey_product();
    }

    /// Whether what waits has been decided elsewhere meanwhile; who waits for a call that does not come is decided alone.
    fn look(&mut self, now: Nanos) {
        self.shelf.undecided.expire(Nanos(now.0.saturating_sub(LONGEST.0)));
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|serial| {
            let Some(stream) = self.streams.get_mut(serial) else { return false };
            if !stream.track.waits() {
                return false;
            }
            if stream.call.is_none() && (stream.left.is_some() || stream.first + ALONE < now) {
                stream.alone = Some(alone(&self.ruling, stream));
            }
            let standing = stand(&self.orders, &self.ruling, stream);
            let decided = matches!(standing.state, DecisionState::UntilEnd | DecisionState::Decided);
            let gone = stream.left.is_some_and(|left| left + PATIENCE < now);
            if standing.provisional {
                stream.doubt(self.eraser.as_mut());
            }
            if decided {
                self.shelf.settle(&mut stream.track, &standing);
            }
            if stream.left.is_some() && (decided || gone) {
                self.shelf.end(&mut stream.track, now);
                self.streams.remove(serial);
            }
            !decided && !gone
        });
        self.waiting = waiting;
        self.look_product(now);
    }

    /// Who is silent has no packets in memory any more, and needs no place there.
    fn sweep(&mut self, now: Nanos) {
        let Self { streams, straight, shelf, .. } = self;
        for (serial, stream) in streams.iter_mut() {
            let straight = straight.get_mut(stream.place as usize).filter(|line| line.serial == *serial);
            let last = straight.as_ref().map_or(Nanos::ZERO, |line| line.last);
            stream.last = stream.last.max(last);
            if stream.last + SILENCE < now {
                straight.into_iter().for_each(|line| line.owner = None);
                shelf.finish(&mut stream.track, now);
            }
        }
        let silent = |_: &u64, other: &mut Other| other.last + SILENCE < now;
        for (_, mut other) in self.others.extract_if(silent) {
            self.shelf.end(&mut other.track, now);
        }
        self.sweep_product(now);
    }

    /// Tells the operator when packets are lost on the way to the disk, and why.
    pub fn report(&mut self) {
        let WriterCounts { lost_oversized, lost_disk, .. } = self.shelf.keeper.counts();
        let written = self.shelf.keeper.written();
        let (left_out, undecided) = (self.shelf.left_out, self.shelf.undecided.lost());
        let lost = lost_oversized + lost_disk + left_out + undecided + written.lost_packets();
        if lost > self.told {
            let why = match written.failure() {
                Some(error) => error.to_string(),
                None if lost_disk > 0 => {
                    "the disk does not keep up, or pauses for longer than [spool] memory bridges".to_owned()
                }
                None if lost_oversized > 0 => "they are longer than 68 KiB".to_owned(),
                None if left_out > 0 => "more streams at once than the spool has places".to_owned(),
                None => "their calls were not decided in time: [spool] undecided is too small".to_owned(),
            };
            let more = lost - self.told;
            log::warn!(target: "spool", "worker {}: {more} packets could not be kept: {why}", self.worker);
            self.told = lost;
        }
    }

    /// What was kept and what was lost.
    pub fn figures(&self) -> Figures {
        let written = self.shelf.keeper.written();
        Figures {
            counts: self.shelf.keeper.counts(),
            left_out: self.shelf.left_out,
            refused: written.lost_packets(),
            bytes: written.bytes(),
            writes: written.writes(),
            segments: written.segments(),
            failures: written.failures(),
            decisions: Decisions { lost: self.shelf.undecided.lost(), ..self.counts },
        }
    }

    /// Has records put right of which the disk refuses something later.
    pub fn amend_by(&mut self, amender: Amender) {
        amender.listen(self.written());
        self.amender = Some(amender);
    }

    /// What the disk has taken, for other threads.
    pub fn written(&self) -> Arc<WriterStatus> {
        self.shelf.keeper.written()
    }

    /// Writes everything.
    pub fn close(mut self, now: Nanos) {
        self.eraser.iter_mut().for_each(Eraser::flush);
        let Shelf { keeper, left_out, undecided } = self.shelf;
        let (written, undecided) = (keeper.written(), undecided.lost());
        let counts = keeper.close(now);
        log::info!(
            target: "spool",
            "worker {}: {} packets kept in {} segments, {} MiB; {} lost",
            self.worker,
            counts.packets,
            written.segments(),
            written.bytes() >> 20,
            counts.lost_oversized + counts.lost_disk + left_out + undecided + written.lost_packets(),
        );
    }

    /// The state of a call; a new one where it has none.
    fn call(&mut self, number: CallNumber, call_id: &str) -> &mut CallState {
        let Self { calls, by_key, shelf, .. } = self;
        let new = |by_key: &mut HashMap<u64, u32>| {
            let key = of_call(call_id.as_bytes());
            by_key.insert(key, number.slot());
            CallState {
                number,
                call_id: call_id.into(),
                track: Track::new(Category::Signalling, key),
                facts: Gathered::default(),
                standing: CallDecision::default(),
                most: None,
                doubted: false,
                fixed: false,
                demanded: false,
                digits: Pressed::default(),
                product: None,
            }
        };
        match calls.entry(number.slot()) {
            Entry::Occupied(entry) if entry.get().number == number => entry.into_mut(),
            // The call before it in the same place has not told of its end.
            Entry::Occupied(mut entry) => {
                let mut before = entry.insert(new(by_key));
                if by_key.get(&before.track.key) == Some(&number.slot())
                    && before.call_id != entry.get().call_id
                {
                    by_key.remove(&before.track.key);
                }
                shelf.end(&mut before.track, Nanos::ZERO);
                if let Some(target) = before.product {
                    target.end(shelf, Nanos::ZERO);
                }
                entry.into_mut()
            }
            Entry::Vacant(entry) => entry.insert(new(by_key)),
        }
    }

    /// A call came a phase further.
    fn progress(&mut self, phase: CallPhase, number: CallNumber, call: &Call) -> &CallState {
        let state = self.call(number, &call.call_id);
        match phase {
            CallPhase::Started => state.facts.introduce(call),
            CallPhase::Ringing => {}
            CallPhase::Answered => state.facts.answered = true,
            CallPhase::Released => state.facts.over = true,
        }
        state
    }

    /// A message passed: what it tells, and how its call stands then.
    fn see(&mut self, seen: &SipSeen<'_>) -> Option<CallDecision> {
        let call_id = String::from_utf8_lossy(seen.message.call_id()?);
        let Some(number) = seen.call else { return Some(self.see_other(seen, &call_id)) };
        let ruling = Arc::clone(&self.ruling);
        let state = self.call(number, &call_id);
        state.standing.events |= events(seen.message);
        let is_open = match &state.product {
            Some(target) => target.is_open(),
            None => !ruling.products.is_empty(),
        };
        if !state.fixed || is_open {
            state.facts.see(seen.message, [seen.src, seen.dst], seen.time.0 / MINUTE, &ruling);
        }
        if !state.fixed {
            self.judge(number.slot(), None, false);
        } else if seen.message.sdp().is_some() {
            let standing = state.standing;
            self.orders.table.write(place(number), standing);
        }
        self.judge_product(number.slot());
        self.switch(seen, number, &ruling);
        self.calls.get(&number.slot()).map(|_| self.orders.table.get(place(number)))
    }

    /// Whether a message pauses its call, or goes on.
    fn switch(&mut self, seen: &SipSeen<'_>, number: CallNumber, ruling: &Ruling) {
        let Some(state) = self.calls.get_mut(&number.slot()).filter(|state| state.standing.may_pause) else {
            return;
        };
        let holds = |switch: &Switch| {
            switch.header.as_ref().is_some_and(|(name, value)| {
                let given = seen.message.header_named(name.as_bytes());
                given.is_some_and(|given| given.trim_ascii().eq_ignore_ascii_case(value.as_bytes()))
            })
        };
        let (mut pause, mut resume) = (holds(&ruling.pause), holds(&ruling.resume));
        if let Some(digit) = digit(seen.message).filter(|_| !seen.retransmission && !seen.mirrored) {
            let found = state.digits.press(digit, ruling);
            (pause, resume) = (pause || found.0, resume || found.1);
        }
        pause_or_resume(&self.orders, number, pause, resume);
    }

    /// What is known of a call may suffice now.
    fn judge(&mut self, slot: u32, mos: Option<f64>, judged: bool) {
        let Self { calls, ruling, orders, counts, eraser, now, .. } = self;
        let Some(state) = calls.get_mut(&slot).filter(|state| !state.fixed) else { return };
        let verdict = match ruling.rules.always() {
            Some(rule) => Verdict::Decided {
                rule: Some(0),
                what: rule.what,
                mask_digits: rule.mask_digits,
                may_pause: rule.may_pause,
            },
            None => state.facts.ask(mos, judged, |facts| ruling.rules.decide(facts)),
        };
        let events = state.standing.events;
        state.standing = CallDecision { events, ..standing(&verdict) };
        if state.standing.state == DecisionState::UntilEnd {
            state.most = state.most.max(Some(state.standing.what));
            // What stays should nobody ever know.
            let without = state.facts.ask(None, true, |facts| ruling.rules.decide(facts)).what();
            state.standing.provisional = without < state.standing.what;
            let is_new = state.standing.provisional && !state.doubted;
            state.doubted |= is_new;
            if let Some(eraser) = eraser.as_mut().filter(|_| is_new && without == RecordingScope::Nothing) {
                let from = Nanos(now.0.saturating_sub(LONGEST.0 + BEFORE.0));
                eraser.doubt(PendingEntry::Begun {
                    call: number(state.number),
                    owner: state.track.key,
                    from,
                });
            }
        }
        if let Verdict::Decided { rule, what, .. } = verdict {
            state.fixed = true;
            ruling.count(rule);
            counts.calls[what as usize] += 1;
            log::debug!(target: "rules", "call {}: {}, by {}", state.call_id, what.name(), ruling.name(rule));
        }
        orders.table.write(place(state.number), state.standing);
        if matches!(state.standing.state, DecisionState::UntilEnd | DecisionState::Decided) {
            self.shelf.settle(&mut state.track, &state.standing);
        }
    }

    /// A message that belongs to no call: what is known of it is in it.
    fn see_other(&mut self, seen: &SipSeen<'_>, call_id: &str) -> CallDecision {
        let key = of_call(call_id.as_bytes());
        let ruling = &self.ruling;
        let other = self.others.entry(key).or_insert_with(|| {
            let mut facts = Gathered::default();
            facts.over = true;
            facts.introduce_message(seen.message);
            facts.see(seen.message, [seen.src, seen.dst], seen.time.0 / MINUTE, ruling);
            let verdict = facts.ask(None, true, |facts| ruling.rules.decide(facts));
            let track = Track::new(Category::Signalling, key);
            Other { track, standing: standing(&verdict), last: seen.time }
        });
        other.last = seen.time;
        other.standing
    }

    /// Keeps a message, which stands so.
    fn message(&mut self, seen: &SipSeen<'_>, standing: &CallDecision, data: &[u8], wire_len: u32) {
        let piece = Piece { time: seen.time, wire_len, data, head: data.len(), payload_type: 0 };
        let track = match seen.call {
            Some(number) => self.calls.get_mut(&number.slot()).map(|state| &mut state.track),
            None => {
                let call_id = String::from_utf8_lossy(seen.message.call_id().unwrap_or_default());
                self.others.get_mut(&of_call(call_id.as_bytes())).map(|other| &mut other.track)
            }
        };
        if let Some(track) = track {
            self.shelf.put(track, standing, &piece);
        }
    }

    /// A call has ended: what the rules say of all of it. What was kept until now and should not have been is erased.
    fn end(&mut self, call: &mut Call, streams: &mut [StreamEnd]) {
        let now = self.now;
        let key = of_call(call.call_id.as_bytes());
        let Some(slot) = self.by_key.remove(&key) else { return };
        let Some(state) = self.calls.get_mut(&slot).filter(|state| *state.call_id == *call.call_id) else {
            return;
        };
        state.facts.over = true;
        self.judge(slot, call.mos, true);
        self.judge_product(slot);
        let Some(mut state) = self.calls.remove(&slot) else { return };
        if let Some(target) = state.product.take() {
            target.end(&mut self.shelf, now);
        }
        let signalling = self.shelf.end(&mut state.track, now);
        let what = state.standing.what;
        if state.most.is_some_and(|most| what < most) {
            self.erase(&state, call, streams, now);
            streams.iter_mut().for_each(|stream| stream.recorded = RecordedPackets::default());
        } else {
            self.sure(&state);
        }
        let recorded = match what {
            RecordingScope::Nothing => Recorded::None,
            RecordingScope::Signalling => Recorded::Signalling,
            RecordingScope::Headers => Recorded::Headers,
            RecordingScope::Full => Recorded::Full,
        };
        complete(call, recorded, signalling, streams);
        if state.demanded && recorded != Recorded::None {
            // What passed before it was asked for was not to be kept.
            let lost = streams.iter().map(|stream| stream.recorded.lost).sum::<u64>();
            call.recorded_missing = Some(signalling.lost + lost);
        }
        self.amender.iter().for_each(|amender| amender.end(call, streams));
        self.counts.incomplete += u64::from(call.recorded_missing.is_some_and(|missing| missing > 0));
        self.counts.one_way += u64::from(call.recorded_empty.is_some_and(|empty| empty > 0));
        if state.standing.mask_digits {
            mask(call);
        }
    }

    /// Of a call that was better than it had to be: all that is not kept of it goes.
    #[cold]
    fn erase(&mut self, state: &CallState, call: &Call, streams: &[StreamEnd], now: Nanos) {
        let of_stream = |end: &StreamEnd| of_stream(end.record.src, end.record.dst, end.record.ssrc);
        let mut owners: Vec<u64> = streams.iter().map(of_stream).collect();
        if state.standing.what == RecordingScope::Nothing {
            owners.push(of_call(call.call_id.as_bytes()));
        }
        if owners.is_empty() {
            return self.sure(state);
        }
        let first = streams.iter().map(|end| end.record.first).chain(call.invite).min().unwrap_or(now);
        if let Some(eraser) = &self.eraser {
            self.counts.erased += 1;
            let from = Nanos(first.0.saturating_sub(BEFORE.0));
            eraser.erase(Erase { call: number(state.number), owners, from, to: now });
        }
    }

    /// What is kept of a call stays.
    fn sure(&mut self, state: &CallState) {
        if let Some(eraser) = self.eraser.as_mut().filter(|_| state.doubted) {
            eraser.doubt(PendingEntry::Ended { call: number(state.number) });
        }
    }

    /// While it stays the same, so does how a stream stands whose packets go straight.
    fn version(&self) -> u64 {
        self.orders.table.changes() ^ self.epoch << 40
    }

    /// Keeps a media packet. HOT: a line, and a copy.
    #[inline]
    fn media(&mut self, seen: &RtpSeen<'_>, piece: &Piece<'_>) {
        let version = self.version();
        if let Some(line) = self.straight.get_mut(seen.stream_slot as usize)
            && (line.serial, line.version, line.call) == (seen.serial, version, seen.call)
            && let Some(owner) = line.owner
        {
            line.last = seen.time;
            return self.shelf.keeper.put_bytes(owner, piece.time, piece.wire_len, piece.data);
        }
        self.media_anew(seen, piece, version);
    }

    /// The same where it has to be looked up how the stream stands.
    #[inline(never)]
    fn media_anew(&mut self, seen: &RtpSeen<'_>, piece: &Piece<'_>, version: u64) {
        let intercepts_nobody = self.intercepts_nobody();
        let Self { streams, shelf, orders, ruling, eraser, .. } = self;
        let stream = streams.entry(seen.serial).or_insert_with(|| Stream::new(seen));
        stream.last = seen.time;
        stream.call = seen.call.or(stream.call);
        let standing = stand(orders, ruling, stream);
        if standing.may_pause && standing.is_event(seen.payload_type) {
            stream.press(seen, orders, ruling);
        }
        if standing.provisional {
            stream.doubt(eraser.as_mut());
        }
        if shelf.put(&mut stream.track, &standing, piece) {
            self.waiting.push(seen.serial);
        }
        let is_straight = goes_straight(&standing, ruling) && !stream.track.waits() && intercepts_nobody;
        let owner = stream.track.owner().filter(|_| is_straight);
        if let Some(line) = self.straight.get_mut(seen.stream_slot as usize) {
            *line = Straight { serial: seen.serial, version, call: seen.call, owner, last: seen.time };
        }
        if !intercepts_nobody {
            self.product_media(seen, piece);
        }
    }

    /// Keeps what reports say of a stream: they are kept with it, whole.
    fn reports(&mut self, seen: &RtcpSeen<'_>, data: &[u8], wire_len: u32) {
        // Reports say nothing of what is said.
        let piece = Piece { time: seen.time, wire_len, data, head: data.len(), payload_type: 0 };
        self.product_reports(seen, &piece);
        let Some(stream) = self.streams.get_mut(&seen.serial) else { return };
        stream.last = seen.time;
        stream.call = seen.call.or(stream.call);
        let standing = stand(&self.orders, &self.ruling, stream);
        if standing.provisional {
            stream.doubt(self.eraser.as_mut());
        }
        if self.shelf.put(&mut stream.track, &standing, &piece) {
            self.waiting.push(seen.serial);
        }
    }

    /// No packet of the stream will come.
    fn stream_finished(&mut self, serial: u64) -> RecordedPackets {
        let now = self.now;
        self.product_leaving(serial);
        let Some(stream) = self.streams.get(&serial) else { return RecordedPackets::default() };
        if let Some(number) = stream.call.filter(|_| stream.track.waits()) {
            // It ends with its call: what is not known now will not be.
            if number.worker() == self.worker
                && let Some(state) = self.calls.get_mut(&number.slot()).filter(|state| state.number == number)
            {
                state.facts.over = true;
                self.judge(number.slot(), None, false);
            }
        }
        let Some(stream) = self.streams.get_mut(&serial) else { return RecordedPackets::default() };
        stream.left = Some(now);
        if stream.track.waits() {
            if stream.call.is_none() {
                stream.alone = Some(alone(&self.ruling, stream));
            }
            let standing = stand(&self.orders, &self.ruling, stream);
            if !matches!(standing.state, DecisionState::UntilEnd | DecisionState::Decided) {
                // Another worker has not said yet.
                return RecordedPackets::default();
            }
            if standing.provisional {
                stream.doubt(self.eraser.as_mut());
            }
            self.shelf.settle(&mut stream.track, &standing);
        }
        let Some(mut stream) = self.streams.remove(&serial) else { return RecordedPackets::default() };
        if let Some(line) = self.straight.get_mut(stream.place as usize).filter(|line| line.serial == serial)
        {
            line.owner = None;
        }
        self.shelf.end(&mut stream.track, now)
    }

    /// Does what somebody wants of a call, if it is one of this worker's.
    #[cold]
    fn command(&mut self, command: &Command) {
        let key = of_call(command.call_id.as_bytes());
        let slot = self.by_key.get(&key).copied();
        let state = slot.and_then(|slot| self.calls.get_mut(&slot));
        let told = state.filter(|state| *state.call_id == *command.call_id).map(|state| {
            let table = &self.orders.table;
            match command.act {
                Act::Keep(what) => {
                    let before = state.standing;
                    state.standing = CallDecision { state: DecisionState::Decided, what, ..before };
                    if !std::mem::replace(&mut state.fixed, true) {
                        self.counts.calls[what as usize] += 1;
                    }
                    state.demanded |= before.state == DecisionState::Decided;
                    state.most = None;
                    if let Some(eraser) = self.eraser.as_mut().filter(|_| std::mem::take(&mut state.doubted))
                    {
                        eraser.doubt(PendingEntry::Ended { call: number(state.number) });
                    }
                    table.write(place(state.number), state.standing);
                    self.shelf.settle(&mut state.track, &state.standing);
                    match before.state {
                        DecisionState::Decided => {
                            format!("{} from now on (was {})", what.name(), before.what.name())
                        }
                        DecisionState::UntilEnd => {
                            format!("{} from now on (what was kept of it until now stays)", what.name())
                        }
                        _ => format!("{} from its beginning on", what.name()),
                    }
                }
                Act::Pause if table.pause(place(state.number), true) => "paused".to_owned(),
                Act::Pause => "was paused already".to_owned(),
                Act::Resume if table.pause(place(state.number), false) => "goes on".to_owned(),
                Act::Resume => "was not paused".to_owned(),
                Act::When => self.now.0.to_string(),
            }
        });
        if let Some(told) = told.as_ref().filter(|_| command.act != Act::When) {
            log::info!(target: "rules", "call {}: {told}, by command", command.call_id);
        }
        // Who asked may have gone.
        let _ = command.answer.send(told);
    }

    /// A batch of so many frames follows, which ends at that time.
    pub fn begin(&mut self, frames: usize, now: Nanos) {
        self.now = now;
        if let Some(rest) = &mut self.rest {
            rest.1.clear();
            rest.1.resize(frames, false);
        }
    }

    /// The batch is over: what no call's was kept of it, where every frame is.
    pub fn rest(&mut self, frames: &[Frame<'_>]) {
        let Some(rest) = &mut self.rest else { return };
        let (track, kept) = &mut **rest;
        let full = CallDecision {
            state: DecisionState::Decided,
            what: RecordingScope::Full,
            ..CallDecision::default()
        };
        for (frame, _) in frames.iter().zip(kept).filter(|(_, kept)| !**kept) {
            let Frame { time, wire_len, data, .. } = *frame;
            let piece = Piece { time, wire_len, data, head: data.len(), payload_type: 0 };
            self.shelf.put(track, &full, &piece);
        }
    }
}

impl Stream {
    fn new(seen: &RtpSeen<'_>) -> Self {
        let RtpSeen { src, dst, ssrc, time, stream_slot: place, .. } = *seen;
        Self {
            track: Track::new(Category::Media, of_stream(src, dst, ssrc)),
            place,
            call: None,
            hosts: [src.ip, dst.ip],
            ssrc,
            first: time,
            last: time,
            alone: None,
            left: None,
            event: None,
            digits: Pressed::default(),
            doubted: None,
        }
    }

    /// Something of it is about to be kept until its call's end tells whether it should be.
    #[cold]
    fn doubt(&mut self, eraser: Option<&mut Eraser>) {
        if let Some((eraser, call)) = eraser.zip(self.call).filter(|(_, call)| self.doubted != Some(*call)) {
            self.doubted = Some(call);
            eraser.doubt(PendingEntry::Begun { call: number(call), owner: self.track.key, from: self.first });
        }
    }

    /// A telephone-event: a digit where it is a new one.
    #[cold]
    fn press(&mut self, seen: &RtpSeen<'_>, orders: &Orders, ruling: &Ruling) {
        // Every packet of an event has its beginning as timestamp (RFC 4733 section 2.4.1.1).
        if self.event.replace(seen.timestamp) == Some(seen.timestamp) {
            return;
        }
        if let (Some(digit), Some(call)) = (digit_of_event(seen.payload), self.call) {
            let (pause, resume) = self.digits.press(digit, ruling);
            pause_or_resume(orders, call, pause, resume);
        }
    }
}

fn rest(ruling: &Ruling, worker: usize) -> Option<Box<Rest>> {
    let owner = || key([&b"link"[..], &worker.to_string().into_bytes()]);
    ruling.everything.then(|| Box::new((Track::new(Category::Media, owner()), Vec::new())))
}

/// Both in turn where both are asked for.
fn pause_or_resume(orders: &Orders, call: CallNumber, pause: bool, resume: bool) {
    let place = place(call);
    let paused = match (pause, resume) {
        (false, false) => return,
        (true, true) => !orders.table.get(place).paused,
        (pause, _) => pause,
    };
    if orders.table.pause(place, paused) {
        let what = if paused { "paused" } else { "goes on" };
        log::debug!(target: "rules", "a call {what}, by digits or a header");
    }
}

/// How a stream stands: as its call does, or alone where it has none. HOT: a load.
fn stand(orders: &Orders, ruling: &Ruling, stream: &Stream) -> CallDecision {
    let known = match stream.call {
        Some(call) => orders.table.get(place(call)),
        None => stream.alone.unwrap_or_default(),
    };
    match (known.state, ruling.rules.always()) {
        (DecisionState::Unknown, Some(rule)) => CallDecision {
            state: DecisionState::Decided,
            what: rule.what,
            mask_digits: rule.mask_digits,
            ..CallDecision::default()
        },
        (DecisionState::Unknown, None) => CallDecision { what: ruling.rules.most(), ..known },
        _ => known,
    }
}

/// Whether all of every packet is kept, whatever is in it, and nobody looks for digits there.
fn goes_straight(standing: &CallDecision, ruling: &Ruling) -> bool {
    let CallDecision { state, what, paused, mask_digits, may_pause, .. } = *standing;
    let is_kept =
        matches!(state, DecisionState::UntilEnd | DecisionState::Decided) && what == RecordingScope::Full;
    let listens = may_pause && [&ruling.pause, &ruling.resume].iter().any(|switch| !switch.digits.is_empty());
    is_kept && !paused && !mask_digits && !listens
}

/// What the rules say of a stream that no call claims.
fn alone(ruling: &Ruling, stream: &Stream) -> CallDecision {
    alone_facts(ruling, &stream.hosts, stream.ssrc, |facts| standing(&ruling.rules.decide(facts)))
}

/// Asks with what is known of a stream that no call claims.
fn alone_facts<T>(ruling: &Ruling, ends: &[IpAddr], ssrc: u32, ask: impl FnOnce(&CallFacts<'_>) -> T) -> T {
    let mut hosts: Vec<String> = ends.iter().map(IpAddr::to_string).collect();
    hosts.sort();
    let parts: Vec<&[u8]> = hosts.iter().map(String::as_bytes).collect();
    let ssrc = ssrc.to_be_bytes();
    let key = ruling.hash(&[&parts[..], &[&ssrc[..]]].concat());
    ask(&CallFacts { addresses: ends, key, over: true, judged: true, ..CallFacts::default() })
}

fn standing(verdict: &Verdict) -> CallDecision {
    match *verdict {
        Verdict::Decided { what, mask_digits, may_pause, .. } => CallDecision {
            state: DecisionState::Decided,
            what,
            mask_digits,
            may_pause,
            ..CallDecision::default()
        },
        Verdict::Open { what, mask_digits, may_pause, until_end } => {
            let state = if until_end { DecisionState::UntilEnd } else { DecisionState::Open };
            CallDecision { state, what, mask_digits, may_pause, ..CallDecision::default() }
        }
    }
}

/// The record does not say which digits were pressed.
fn mask(call: &mut Call) {
    call.dtmf.iter_mut().for_each(|dtmf| dtmf.digit = "x".to_owned());
}

const MINUTE: u64 = 60_000_000_000;
/// How often decisions are looked for by those who wait for them.
const LOOK: Nanos = Nanos::from_millis(200);
/// How often the silent are looked for.
const SWEEP: Nanos = Nanos::from_secs(5);
/// Who is silent for so long has no packets in memory any more, and needs no place there.
const SILENCE: Nanos = Nanos::from_secs(90);
/// A stream that no call claims for so long is taken to have none.
const ALONE: Nanos = Nanos::from_secs(5);
/// How long a stream that has ended waits for a word of its call's worker.
const PATIENCE: Nanos = Nanos::from_secs(10);
/// The longest that a packet waits for a decision: longer than a call may ring, and no longer than the spool's readers look.
const LONGEST: Nanos = Nanos::from_secs(210);
/// Challenges may come before the record's time.
const BEFORE: Nanos = Nanos::from_secs(10);

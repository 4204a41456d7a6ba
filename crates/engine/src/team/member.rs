//! One worker's part in a team: what it was told, what it waits for, what it keeps for a later stage.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ringtap_model::{Endpoint, Nanos};
use ringtap_wire::rtp;

use super::in_order;
use super::links::{Forward, Inner, Letter, Links, Whole};
use crate::counters::Counters;
use crate::sink::Sink;
use crate::tracker::{Datagram, Tracker, leave};
use crate::trackers::calls::Hop;
use crate::trackers::calls::tracker::{Due, Ended};
use crate::trackers::media::{CodecId, Figures};
use crate::trackers::update::{CallRef, Note, Order, Types};

/// Answers that did not come within this time will not come: the record is made of what did.
const PATIENCE: Nanos = Nanos::from_secs(10);

/// A message waits this long, of capture time, for those before it that came to other workers: their rings may be handed
/// over by a timer of the kernel.
const HOLD: Nanos = Nanos::from_millis(250);
/// Messages that wait so at once; the first go before their time then.
const MAX_HOLD: usize = 1 << 16;

/// An answer that all workers give.
struct Expected<T> {
    answers: T,
    missing: usize,
    until: Nanos,
}

/// A call that has ended, and its streams so far.
type Ending = (Box<Ended>, Vec<Figures>);

/// See the module.
pub(crate) struct Member {
    pub(crate) links: Links,
    is_lockstep: bool,
    /// It was used live before: the numbers of frames tell no order over workers.
    is_live: bool,
    /// Of each worker: our number for each of its codecs, and how many of ours it knows.
    codecs: Vec<Vec<Option<CodecId>>>,
    told: Vec<usize>,
    /// Calls of ours that may have been silent for too long, and when they were last heard.
    asked: BTreeMap<CallRef, Expected<Nanos>>,
    /// Calls of ours that have ended and wait for their streams.
    ending: BTreeMap<CallRef, Expected<Ending>>,
    overdue: VecDeque<(Nanos, CallRef)>,
    /// Calls whose record was made without all answers.
    pub(crate) incomplete: u64,
    /// In lockstep, those of the batch; live, those that others may still come before.
    messages: Vec<Forward>,
    notes: Vec<Arc<Note>>,
    wholes: Vec<Whole>,
    /// Fragments in tunnels, and how deep those were that were taken last.
    inner: Vec<Inner>,
    depth: u8,
    held: Held,
}

/// Media packets that wait for the announcements of their batch, their bytes one after another.
#[derive(Default)]
struct Held {
    packets: Vec<HeldPacket>,
    bytes: Vec<u8>,
    frames: Vec<u64>,
}

struct HeldPacket {
    number: u64,
    src: Endpoint,
    dst: Endpoint,
    time: Nanos,
    ip_len: u32,
    len: usize,
    /// Where its bytes and the numbers of its frames end.
    bytes_end: usize,
    frames_end: usize,
}

impl Held {
    fn push(&mut self, number: u64, datagram: &Datagram<'_>, frames: &[u64]) {
        let Datagram { src, dst, time, ip_len, data, len } = *datagram;
        self.bytes.extend_from_slice(data);
        self.frames.extend_from_slice(frames);
        let (bytes_end, frames_end) = (self.bytes.len(), self.frames.len());
        self.packets.push(HeldPacket { number, src, dst, time, ip_len, len, bytes_end, frames_end });
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.bytes.clear();
        self.frames.clear();
    }
}

impl Member {
    pub(crate) fn new(links: Links) -> Self {
        let workers = links.workers();
        Self {
            links,
            is_lockstep: false,
            is_live: false,
            codecs: vec![Vec::new(); workers],
            told: vec![0; workers],
            asked: BTreeMap::new(),
            ending: BTreeMap::new(),
            overdue: VecDeque::new(),
            incomplete: 0,
            messages: Vec::new(),
            notes: Vec::new(),
            wholes: Vec::new(),
            inner: Vec::new(),
            depth: 0,
            held: Held::default(),
        }
    }

    /// The same note with our numbers for the sender's codecs.
    fn translate(&self, sender: usize, note: &Arc<Note>) -> Arc<Note> {
        let codec = |id: CodecId| self.codecs[sender].get(id.index()).copied().flatten();
        let mut known: Option<(Types, Types)> = None;
        let ends = note.ends.iter().map(|(end, types)| {
            // The endpoints of one description share its types.
            if !known.as_ref().is_some_and(|(theirs, _)| Arc::ptr_eq(theirs, types)) {
                let ours = types.iter().filter_map(|&(number, id)| Some((number, codec(id)?))).collect();
                known = Some((types.clone(), ours));
            }
            (*end, known.as_ref().map_or_else(Types::default, |(_, ours)| ours.clone()))
        });
        let ends = ends.collect();
        Arc::new(Note { ends, ..Note::clone(note) })
    }
}

impl Tracker {
    /// From now on the team goes in lockstep.
    pub(crate) fn lockstep(&mut self) {
        if let Some(member) = &mut self.member {
            member.is_lockstep = true;
            member.links.lossless = true;
        }
    }

    /// Workers of the team.
    pub(crate) fn workers(&self) -> usize {
        self.member.as_ref().map_or(1, |member| member.links.workers())
    }

    /// Tells the other workers what was dropped here.
    pub(crate) fn publish(&self, counters: &Counters) {
        if let Some(member) = &self.member {
            member.links.publish(counters.turned_away() + self.external_drops);
        }
    }

    /// Takes what other workers sent.
    pub(crate) fn receive<S: Sink>(&mut self, now: Nanos, counters: &Counters, sink: &mut S) {
        while let Some(member) = &mut self.member
            && let Some((sender, letter)) = member.links.receive()
        {
            self.open(sender, letter, now, counters, sink);
        }
    }

    fn open<S: Sink>(
        &mut self,
        sender: usize,
        letter: Letter,
        now: Nanos,
        counters: &Counters,
        sink: &mut S,
    ) {
        let Self { member: Some(member), media, .. } = self else { return };
        match letter {
            Letter::Sip(forward) => member.messages.push(*forward),
            Letter::Whole(whole) => member.wholes.push(*whole),
            Letter::Inner(inner) => member.inner.push(*inner),
            Letter::Codec(index, codec) => {
                let ours = media.codecs.intern(codec.name.as_bytes(), codec.clock.0, codec.channels);
                let known = &mut member.codecs[sender];
                if usize::from(index) == known.len() {
                    known.push(ours);
                }
            }
            Letter::Note(note) => {
                let note = member.translate(sender, &note);
                if member.is_lockstep {
                    member.notes.push(note);
                } else {
                    media.note(&note);
                }
            }
            Letter::Ask(call) => {
                member.links.send(sender, Letter::Heard(call, media.heard(call)));
            }
            Letter::Heard(call, heard) => {
                if let Some(expected) = member.asked.get_mut(&call) {
                    expected.answers = expected.answers.max(heard);
                    expected.missing -= 1;
                    if expected.missing == 0 {
                        self.all_heard(call, now, counters, sink);
                    }
                }
            }
            Letter::End(call) => {
                let mut figures = media.end_call(call);
                leave(&mut figures, sink);
                member.links.send(sender, Letter::Ended(call, figures));
            }
            Letter::Ended(call, figures) => {
                if let Some(expected) = member.ending.get_mut(&call) {
                    expected.answers.1.extend(figures);
                    expected.missing -= 1;
                    if expected.missing == 0 {
                        self.all_ended(call, sink);
                    }
                }
            }
            Letter::Learned(news) => media.keep_learned(*news),
        }
    }

    /// A message from another worker, or one that was kept for its stage.
    fn forwarded<S: Sink>(&mut self, forward: &Forward, counters: &Counters, sink: &mut S) {
        self.order = forward.order;
        self.take_sip(&forward.bytes, &forward.hop, &forward.frames, counters, sink);
    }

    /// Hands a message to its owner, which may be this worker: for later, too.
    #[cold]
    pub(crate) fn pass_on(&mut self, hash: u64, bytes: &[u8], hop: &Hop, frames: &[u64]) {
        let Some(member) = &mut self.member else { return };
        let owner = member.links.owner(hash);
        let forward = Forward { order: self.order, hop: *hop, bytes: bytes.into(), frames: frames.into() };
        if owner == member.links.me() {
            member.messages.push(forward);
        } else {
            member.links.send(owner, Letter::Sip(Box::new(forward)));
        }
    }

    /// Live: takes what other workers sent, and messages that none of an earlier time can come before any more.
    /// Our own next frame may be long after the one before: what has waited since must not find its call's time over.
    pub(crate) fn meet<S: Sink>(&mut self, now: Nanos, next: Nanos, counters: &Counters, sink: &mut S) {
        self.publish(counters);
        let Some(member) = &self.member else { return };
        let until = member.links.reached_by_others().min(next).max(next.since(HOLD));
        self.receive(now, counters, sink);
        let Some(member) = &mut self.member else { return };
        if member.messages.is_empty() {
            return;
        }
        member.messages.sort_by_key(|Forward { order, hop, .. }| (hop.time, *order));
        let ripe = member.messages.partition_point(|message| message.hop.time <= until);
        let ripe = ripe.max(member.messages.len().saturating_sub(MAX_HOLD));
        let messages: Vec<Forward> = member.messages.drain(..ripe).collect();
        messages.iter().for_each(|message| self.forwarded(message, counters, sink));
    }

    /// Live: sends what waits.
    pub(crate) fn part(&mut self, now: Nanos) {
        let (_, waits) = self.send_rest();
        if let Some(member) = &mut self.member {
            member.is_live = true;
            if !waits {
                member.links.reached(now);
            }
        }
    }

    /// Whether a media packet is kept for its stage. HOT: a branch.
    #[inline]
    pub(crate) fn hold(&mut self, datagram: &Datagram<'_>, frames: &[u64]) -> bool {
        match &mut self.member {
            Some(member) if member.is_lockstep => {
                member.held.push(self.order.number, datagram, frames);
                true
            }
            _ => false,
        }
    }

    /// Tells the media of every worker what signalling found.
    pub(crate) fn tell(&mut self, note: Note) {
        let Some(member) = &mut self.member else { return self.media.note(&note) };
        let note = Arc::new(note);
        for worker in member.links.others() {
            // What a note names must be known first.
            while let Some((index, codec)) = self.media.codecs.nth(member.told[worker]) {
                if !member.links.send(worker, Letter::Codec(index, Box::new(codec.clone()))) {
                    break;
                }
                member.told[worker] += 1;
            }
            member.links.send(worker, Letter::Note(note.clone()));
        }
        if member.is_lockstep {
            member.notes.push(note);
        } else {
            self.media.note(&note);
        }
    }

    /// When a call was last heard here, and by all if all have said so. None: the answers are on their way.
    pub(crate) fn ask(&mut self, call: CallRef, now: Nanos) -> Option<Nanos> {
        let heard = self.media.heard(call);
        let Some(member) = &mut self.member else { return Some(heard) };
        // A call may have two timers in one tick. Answers name the call, not the question: a second one would take those to
        // the first for its own, and be content before all have answered.
        if member.asked.contains_key(&call) {
            return None;
        }
        let missing = member.links.send_all(|| Letter::Ask(call));
        if missing == 0 {
            return Some(heard);
        }
        let until = now + PATIENCE;
        member.asked.insert(call, Expected { answers: heard, missing, until });
        member.overdue.push_back((until, call));
        None
    }

    /// Ends a call: its record comes when every worker has given the streams that it has of it.
    pub(crate) fn end_call<S: Sink>(&mut self, ended: Box<Ended>, now: Nanos, sink: &mut S) {
        let Some(call) = ended.media else { return Self::tell_call(*ended, Vec::new(), sink) };
        let mut figures = self.media.end_call(call);
        leave(&mut figures, sink);
        let Some(member) = &mut self.member else { return Self::tell_call(*ended, figures, sink) };
        let missing = member.links.send_all(|| Letter::End(call));
        member.incomplete += u64::from(missing + 1 < member.links.workers());
        if missing == 0 {
            return Self::tell_call(*ended, figures, sink);
        }
        let until = now + PATIENCE;
        member.ending.insert(call, Expected { answers: (ended, figures), missing, until });
        member.overdue.push_back((until, call));
    }

    fn all_heard<S: Sink>(&mut self, call: CallRef, now: Nanos, counters: &Counters, sink: &mut S) {
        let Some(expected) = self.member.as_mut().and_then(|member| member.asked.remove(&call)) else {
            return;
        };
        let drops = self.drops(counters);
        let due = self.signalling.heard(call, expected.answers, now, drops, &mut self.wheel);
        if let Due::End(ended) = due {
            self.end_call(ended, now, sink);
        }
    }

    fn all_ended<S: Sink>(&mut self, call: CallRef, sink: &mut S) {
        if let Some(expected) = self.member.as_mut().and_then(|member| member.ending.remove(&call)) {
            let (ended, figures) = expected.answers;
            Self::tell_call(*ended, figures, sink);
        }
    }

    /// Answers that are overdue are waited for no longer.
    #[cold]
    pub(crate) fn give_up<S: Sink>(&mut self, now: Nanos, counters: &Counters, sink: &mut S) {
        while let Some(member) = &mut self.member
            && let Some((until, call)) = member.overdue.pop_front_if(|(until, _)| *until <= now)
        {
            if member.asked.get(&call).is_some_and(|expected| expected.until == until) {
                self.all_heard(call, now, counters, sink);
            } else if member.ending.contains_key(&call) {
                member.incomplete += 1;
                self.all_ended(call, sink);
            }
        }
    }

    /// Waits for no one any more.
    pub(crate) fn leave<S: Sink>(&mut self, sink: &mut S) {
        if let Some(member) = self.member.take() {
            let ending = member.ending.into_values().map(|expected| expected.answers);
            ending.for_each(|(ended, figures)| Self::tell_call(*ended, figures, sink));
        }
    }

    /// Sends what waits. Whether anything was sent since the last time, and whether something still waits.
    pub(crate) fn send_rest(&mut self) -> (bool, bool) {
        let Self { member: Some(member), media, .. } = self else { return (false, false) };
        for news in media.taught.drain(..) {
            member.links.send_all(|| Letter::Learned(Box::new(news)));
        }
        let waits = member.links.flush();
        (std::mem::take(&mut member.links.has_sent), waits)
    }

    pub(super) fn send_whole(&mut self, worker: usize, whole: Whole) {
        let Some(member) = &mut self.member else { return };
        if worker == member.links.me() {
            member.wholes.push(whole);
        } else {
            member.links.send(worker, Letter::Whole(Box::new(whole)));
        }
    }

    pub(super) fn send_inner(&mut self, worker: usize, inner: Inner) {
        let Some(member) = &mut self.member else { return };
        if worker == member.links.me() {
            member.inner.push(inner);
        } else {
            member.links.send(worker, Letter::Inner(Box::new(inner)));
        }
    }

    /// The fragments outside of tunnels were taken; true when some in tunnels are left.
    pub(super) fn begin_inner(&mut self) -> bool {
        let Some(member) = &mut self.member else { return false };
        member.depth = 0;
        !member.inner.is_empty()
    }

    /// Fragments one tunnel deeper than those before, in order of their frames; and whether deeper ones are left.
    pub(super) fn take_inner(&mut self) -> (Vec<Inner>, bool) {
        let Some(member) = &mut self.member else { return (Vec::new(), false) };
        member.depth = member.depth.saturating_add(1);
        let depth = member.depth;
        let mut inner: Vec<Inner> = member.inner.extract_if(.., |inner| inner.depth <= depth).collect();
        inner.sort_by_key(|inner| inner.number);
        (inner, !member.inner.is_empty())
    }

    pub(super) fn take_wholes(&mut self) -> VecDeque<Whole> {
        in_order(self.member.as_mut().map(|member| std::mem::take(&mut member.wholes)).unwrap_or_default())
    }

    /// Takes the messages of a batch in order of their frames; those that the end of the input set free, in order of time.
    pub(super) fn take_messages<S: Sink>(&mut self, counters: &Counters, sink: &mut S) {
        let Some(member) = &mut self.member else { return };
        let mut messages = std::mem::take(&mut member.messages);
        let is_live = member.is_live;
        messages.sort_by_key(|Forward { order, hop, .. }| {
            // What the end of the input set free came with no frame.
            let number = if is_live { 0 } else { order.number };
            (number, hop.time, hop.src, hop.dst, *order)
        });
        messages.iter().for_each(|message| self.forwarded(message, counters, sink));
        messages.clear();
        if let Some(member) = &mut self.member {
            member.messages = messages;
        }
    }

    /// Takes the media packets of a batch in order of their frames, each after what was announced before it.
    pub(super) fn take_media<S: Sink>(&mut self, sink: &mut S) {
        let Some(member) = &mut self.member else { return };
        let (mut notes, mut held) = (std::mem::take(&mut member.notes), std::mem::take(&mut member.held));
        notes.sort_by_key(|note| note.order);
        let mut next = notes.iter().peekable();
        let (mut bytes_start, mut frames_start) = (0, 0);
        for packet in &held.packets {
            while let Some(note) = next.next_if(|note| note.order.number < packet.number) {
                self.media.note(note);
            }
            if self.order.number != packet.number {
                self.order = Order { number: packet.number, part: 0 };
            }
            let HeldPacket { src, dst, time, ip_len, len, bytes_end, frames_end, .. } = *packet;
            let data = &held.bytes[bytes_start..bytes_end];
            let frames = &held.frames[frames_start..frames_end];
            if let Ok(view) = rtp::View::parse(data, len) {
                self.media(&Datagram { src, dst, time, ip_len, data, len }, &view, frames, sink);
            }
            (bytes_start, frames_start) = (bytes_end, frames_end);
        }
        next.for_each(|note| self.media.note(note));
        notes.clear();
        held.clear();
        if let Some(member) = &mut self.member {
            (member.notes, member.held) = (notes, held);
        }
    }

    /// At the end of the input: true while streams still teach.
    pub(super) fn turn_at_end(&mut self) -> bool {
        self.media.learn()
    }
}

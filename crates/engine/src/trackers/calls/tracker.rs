//! The call tracker: the calls of the Call-IDs that one worker owns.

use ringtap_model::{Id, Nanos};
use ringtap_wire::quality;
use ringtap_wire::sip::Method;

use super::announcement::{TypeCache, announced};
use super::strays::Strays;
use super::{CallEntry, CallMessage, Calls, Handled, Novelty};
use crate::config::Config;
use crate::context::{Context, Hop, SipMessage, SipVerdict};
use crate::continued::{ContinuedCall, ContinuedMedia};
use crate::counters::Counters;
use crate::media::StreamTable;
use crate::memory::MemoryShares;
use crate::sink::{CallNumber, CallPhase, Sink};
use crate::spare::Spare;
use crate::table::hash::Hasher;
use crate::table::slots::Ticket;
use crate::table::timers::PrefetchStage;
use crate::tracker::{EngineTracker, Tracker, Wants};
use crate::update::{CallRef, EndedCall, MediaUpdate, Side};

/// See the module.
pub(crate) struct CallTracker {
    worker: usize,
    workers: usize,
    config: Config,
    calls: Calls,
    types: TypeCache,
    /// Calls whose BYE was probably lost.
    lost: usize,
    strays: Strays,
    /// Those of calls that ended, for others.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    boxes: Vec<Box<EndedCall>>,
}

/// Boxes that stay: calls end one at a time, unless other workers have streams of them.
const MOST_BOXES: usize = 16;

impl Tracker for CallTracker {
    const WANTS: Wants = Wants { sip: true, ..Wants::NOTHING };

    // HOT: once a SIP message.
    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        if sip.method == Method::Register {
            return;
        }
        let SipMessage { message, hash, hop, cseq, .. } = *sip;
        if matches!(sip.method, Method::Publish | Method::Notify) && self.is_report(sip, cx) {
            return;
        }
        let prefetch_call = || self.calls.prefetch(hash);
        let received = CallMessage::new(message, hop, cseq, &self.calls.hasher, prefetch_call);
        let Some(slot) = self.call_of(sip, &received, cx) else { return };
        let ticket = self.calls.ticket(slot);
        let name = CallRef::new(self.worker, ticket);
        let Self { calls, config, types, lost, .. } = self;
        let (hasher, Some(call)) = calls.with_hasher(slot) else { return };
        let (progress, status) = (Progress::of(call), call.announced.then(|| call.status()));
        let was_lost = call.lost_since.is_some();
        let Handled { novelty, side } = call.handle(&received, hasher, &cx.streams.memory.spare);
        *lost -= usize::from(was_lost && call.lost_since.is_none());
        if S::PROGRESS || cx.requests.wants_phases {
            progress.report(call, CallNumber(name), cx);
        }
        let over = call.is_over();
        if over && !call.ending {
            cx.arm(hop.time + config.linger, ticket);
        }
        // A call that is retried lingers again.
        call.ending = over;
        let body = message.sdp().filter(|_| novelty == Novelty::New);
        let ends = body.map_or_else(Vec::new, |body| {
            cx.streams.prefetch_call_index(name);
            let is_offer = message.code().is_none();
            let by = (side, is_offer, hop.time);
            let ends = announced(call, body, by, &mut cx.streams.codecs, types);
            ends.iter().for_each(|(end, _)| cx.streams.prefetch_endpoint_index(*end));
            cx.streams.prefetch_call_replica(name);
            let first = ends.first().map(|(end, _)| *end);
            call.add_description(body, first, side, &cx.streams.memory.spare);
            ends
        });
        if !ends.is_empty() {
            call.add_private(&received, side);
            call.add_announced(&ends);
        }
        if !ends.is_empty() || status.is_some_and(|status| call.status() != status) {
            call.announced = true;
            let status = call.status();
            cx.requests.update = Some(MediaUpdate { order: cx.order, call: name, status, side, ends });
        }
        let due = first_due(config, call);
        calls.set_due(slot, due);
        calls.update(slot, self.workers);
        let (is_retransmission, is_mirrored) =
            (novelty == Novelty::Retransmission, novelty == Novelty::Mirrored);
        cx.verdict = SipVerdict { call: Some(name), is_retransmission, is_mirrored };
    }

    fn timer<S: Sink>(&mut self, ticket: Ticket, cx: &mut Context<'_, S>) {
        let due = self.calls.due(ticket);
        if due > cx.now {
            // Whenever its media were last heard.
            cx.arm(due, ticket);
            return;
        }
        let Some(call) = self.calls.redeem(ticket).and_then(|slot| self.calls.get(slot)) else { return };
        if call.announced && !call.is_over() {
            cx.requests.last_heard = Some(CallRef::new(self.worker, ticket));
        } else {
            self.end_if_due(ticket, Nanos::ZERO, cx);
        }
    }
}

impl EngineTracker for CallTracker {
    fn prefetch_timer(&self, ticket: Ticket, now: Nanos, stage: PrefetchStage, streams: &StreamTable) {
        if self.calls.due(ticket) > now {
            return;
        }
        match stage {
            PrefetchStage::Farthest => self.calls.prefetch_slot(ticket.slot),
            PrefetchStage::Far => {
                let Some(call) = self.calls.get(ticket.slot) else { return };
                call.prefetch_parties();
                self.calls.prefetch_index(call.hash);
            }
            PrefetchStage::Middle | PrefetchStage::Near | PrefetchStage::Nearest => {}
        }
        streams.prefetch_call(CallRef::new(self.worker, ticket), stage);
    }
}

impl CallTracker {
    /// Of one of `workers` workers.
    pub(crate) fn new((worker, workers): (usize, usize), config: &Config, hasher: &Hasher) -> Self {
        let memory = MemoryShares::of(config.memory).calls;
        Self {
            worker,
            workers,
            calls: Calls::new(config.max_calls, memory, hasher.clone()),
            types: TypeCache::new(hasher.clone()),
            lost: 0,
            strays: Strays::default(),
            boxes: Vec::new(),
            config: config.clone(),
        }
    }

    /// Calls in progress, without those whose BYE was probably lost.
    pub(crate) fn len(&self) -> usize {
        self.calls.len() - self.lost
    }

    /// Prefetches the index entry of a Call-ID's hash. HOT.
    #[inline]
    pub(crate) fn prefetch_index(&self, hash: u64) {
        self.calls.prefetch_index(hash);
    }

    /// Takes a quality report to the call that it is about; true where the message is none of that call's.
    #[cold]
    fn is_report<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) -> bool {
        let Some(report) = quality::report(sip.message) else { return false };
        let found = self.calls.find(sip.call_id, sip.hash).filter(|_| report.call_id == Some(sip.call_id));
        let Some(slot) = found else {
            cx.counters.quality_reports_unmatched += 1;
            return sip.message.call_id() != Some(sip.call_id);
        };
        if let (_, Some(call)) = self.calls.with_hasher(slot) {
            call.add_report(&report, sip.hop.time);
        }
        self.calls.update(slot, self.workers);
        sip.message.call_id() != Some(sip.call_id)
    }

    /// The call of a message; one of an INVITE's transaction begins one.
    fn call_of<S: Sink>(
        &mut self,
        sip: &SipMessage<'_>,
        received: &CallMessage<'_>,
        cx: &mut Context<'_, S>,
    ) -> Option<u32> {
        let SipMessage { message, call_id, hash, hop, method, .. } = *sip;
        let found = self.calls.find(call_id, hash);
        let is_answer = message.code().is_some();
        if found.is_some() || method != Method::Invite {
            if found.is_none() && !is_answer {
                self.strays.see(sip, received.transaction);
            }
            return found;
        }
        if is_answer && self.strays.is_misnamed(received.transaction) {
            return None;
        }
        let Some(slot) = self.calls.begin(call_id, hash, hop, cx.drops) else {
            // Its responses pass too and are not counted again.
            cx.counters.calls_refused += u64::from(message.code().is_none());
            return None;
        };
        let Config { invite_limit, idle_limit, silence_limit, .. } = self.config;
        if is_answer
            && let Some(time) = self.strays.cancelled(hash)
            && let (_, Some(call)) = self.calls.with_hasher(slot)
        {
            call.cancel = Some(time);
        }
        let first_check = invite_limit.min(idle_limit).min(silence_limit);
        cx.arm(hop.time + first_check, self.calls.ticket(slot));
        Some(slot)
    }

    /// The answer to [`CallRequests::last_heard`](crate::context::CallRequests): when media of the call were
    /// last heard.
    pub(crate) fn last_heard<S: Sink>(&mut self, call: CallRef, heard: Nanos, cx: &mut Context<'_, S>) {
        if let Some(slot) = self.calls.redeem(call.ticket()) {
            self.end_if_due(self.calls.ticket(slot), heard, cx);
        }
    }

    fn end_if_due<S: Sink>(&mut self, ticket: Ticket, heard: Nanos, cx: &mut Context<'_, S>) {
        let (now, silence_limit) = (cx.now, self.config.silence_limit);
        let (_, Some(call)) = self.calls.with_hasher(ticket.slot) else { return };
        let (over, limit) = (call.is_over(), limit(&self.config, call, heard));
        let last = call.last.max(heard);
        let deadline = if over { call.last + limit } else { last + limit };
        if deadline <= now {
            cx.requests.ended = self.end(ticket.slot, !over, cx.drops, &cx.streams.memory.spare);
            return;
        }
        if over || !call.is_answered() {
            cx.arm(deadline, ticket);
            return;
        }
        let lost = call.ended_unseen(heard, now, silence_limit);
        let falls_silent = heard > Nanos::ZERO && call.may_end_in_silence();
        let next = match lost {
            Some(_) => now + silence_limit,
            None if falls_silent => call.session_deadline().min(last + silence_limit),
            None => call.session_deadline(),
        };
        cx.arm(next.min(deadline), ticket);
        self.set_lost(ticket.slot, lost, cx);
    }

    /// Notes that a call ended then without a BYE that was seen; or that it did not.
    #[cold]
    fn set_lost<S: Sink>(&mut self, slot: u32, since: Option<Nanos>, cx: &mut Context<'_, S>) {
        let name = CallRef::new(self.worker, self.calls.ticket(slot));
        let (_, Some(call)) = self.calls.with_hasher(slot) else { return };
        let before = std::mem::replace(&mut call.lost_since, since);
        if before == since {
            return;
        }
        let (status, side, ends) = (call.status(), Side::Caller, Vec::new());
        let is_announced = call.announced;
        cx.requests.update =
            is_announced.then_some(MediaUpdate { order: cx.order, call: name, status, side, ends });
        if S::LOST && since.is_some() {
            let (record, rtt) = (call.record(false, cx.drops), call.rtt());
            cx.requests.lost = Some(Box::new(EndedCall {
                record,
                rtt,
                media: is_announced.then_some(name),
                silent_since: None,
                facts: call.media_facts(),
            }));
        }
        self.lost += usize::from(before.is_none());
        self.lost -= usize::from(since.is_none());
        self.calls.update(slot, self.workers);
    }

    /// Ends a call that has to give way before the INVITE of another is handled, whose Call-ID this is; None
    /// where none has to. Call it until then.
    #[cold]
    pub(crate) fn make_room(
        &mut self,
        (call_id, hash): (&[u8], u64),
        hop: &Hop,
        (now, drops): (Nanos, u64),
        (counters, spare): (&mut Counters, &Spare),
    ) -> Option<Box<EndedCall>> {
        if self.calls.find(call_id, hash).is_some() {
            return None;
        }
        let slot = self.calls.to_evict(hop.src.ip, now)?;
        counters.calls_evicted += u64::from(self.calls.is_unanswered(slot));
        self.end(slot, false, drops, spare)
    }

    /// Whether calls may have to give way before another begins.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.calls.is_crowded()
    }

    /// Ends a call.
    pub(crate) fn end(
        &mut self,
        slot: u32,
        timed_out: bool,
        drops: u64,
        spare: &Spare,
    ) -> Option<Box<EndedCall>> {
        let media = CallRef::new(self.worker, self.calls.ticket(slot));
        let call = self.calls.remove(slot)?;
        self.lost -= usize::from(call.lost_since.is_some());
        let (rtt, media) = (call.rtt(), call.announced.then_some(media));
        let (facts, silent_since) = (call.media_facts(), call.silent_since());
        let record = call.into_record(timed_out, drops, spare);
        let ended = EndedCall { record, rtt, media, facts, silent_since };
        let Some(mut place) = self.boxes.pop() else { return Some(Box::new(ended)) };
        *place = ended;
        Some(place)
    }

    /// The call in a box, whose memory stays for the next one that ends.
    pub(crate) fn unboxed(&mut self, mut ended: Box<EndedCall>) -> EndedCall {
        let call = std::mem::replace(&mut *ended, EndedCall::NONE);
        if self.boxes.len() < MOST_BOXES {
            self.boxes.push(ended);
        }
        call
    }

    /// A call as if it ended now.
    pub(crate) fn snapshot(&self, id: &Id, drops: u64) -> Option<EndedCall> {
        let (slot, call) = self.calls.iter().find(|(_, call)| call.id() == *id)?;
        Some(self.as_ended(slot, call, drops))
    }

    /// The latest calls in progress as if they ended now, at most `most`, and how many there are.
    pub(crate) fn latest(&self, most: usize, drops: u64) -> (impl Iterator<Item = EndedCall>, usize) {
        let calls = self.calls.iter().filter(|(_, call)| call.is_in_progress());
        let mut calls: Vec<(Nanos, u32)> = calls.map(|(slot, call)| (call.first, slot)).collect();
        let total = calls.len();
        if most < total {
            // The earlier ones come first then, those that are left out.
            calls.select_nth_unstable(total - most - 1);
            calls.drain(..total - most);
        }
        let slots = calls.into_iter().filter_map(|(_, slot)| Some((slot, self.calls.get(slot)?)));
        (slots.map(move |(slot, call)| self.as_ended(slot, call, drops)), total)
    }

    fn as_ended(&self, slot: u32, call: &CallEntry, drops: u64) -> EndedCall {
        let media = CallRef::new(self.worker, self.calls.ticket(slot));
        let record = call.record(false, drops);
        let media = call.announced.then_some(media);
        let (rtt, facts) = (call.rtt(), call.media_facts());
        EndedCall { record, rtt, media, facts, silent_since: None }
    }

    /// The calls in progress, without those that are over and wait for late packets, and those whose BYE was
    /// probably lost.
    pub(crate) fn in_progress(&self) -> impl Iterator<Item = (Id, CallRef)> {
        let calls = self.calls.iter().filter(|(_, call)| call.is_in_progress());
        calls.map(|(slot, call)| (call.id(), CallRef::new(self.worker, self.calls.ticket(slot))))
    }

    /// Goes on with a call of the last run; None if it has no place.
    pub(crate) fn go_on<S: Sink>(
        &mut self,
        call: &ContinuedCall,
        hash: u64,
        cx: &mut Context<'_, S>,
    ) -> Option<ContinuedMedia> {
        if self.calls.find(call.record.call_id.as_bytes(), hash).is_some() {
            return None;
        }
        let Some(slot) = self.calls.enter(CallEntry::continued(call, hash, cx.now, cx.drops)) else {
            cx.counters.calls_refused += 1;
            return None;
        };
        self.calls.update(slot, self.workers);
        let ticket = self.calls.ticket(slot);
        let entry = self.calls.get(slot)?;
        let (due, status) = (first_due(&self.config, entry), entry.status());
        let name = CallRef::new(self.worker, ticket);
        Progress::NONE.report(entry, CallNumber(name), cx);
        self.calls.set_due(slot, due);
        cx.arm(due, ticket);
        Some(ContinuedMedia { order: cx.order, call: name, status, legs: call.legs.clone() })
    }

    /// The calls in progress, in order of their first message.
    pub(crate) fn slots(&self) -> Vec<u32> {
        let mut slots = self.calls.slots();
        slots.sort_by_key(|slot| (self.calls.get(*slot).map(|call| call.first), *slot));
        slots
    }
}

/// How long a call in its state may be silent, of which media were last heard at `heard`.
fn limit(config: &Config, call: &CallEntry, heard: Nanos) -> Nanos {
    if call.is_challenged() {
        config.challenge_limit
    } else if call.is_over() {
        config.linger
    } else if call.is_answered() {
        match call.silent_since() {
            Some(since) if heard <= since => config.idle_limit.min(LOST_LIMIT),
            _ => config.idle_limit,
        }
    } else {
        config.invite_limit
    }
}

/// How long a call may be silent before anybody need look.
fn first_limit(config: &Config, call: &CallEntry) -> Nanos {
    let limit = limit(config, call, Nanos::ZERO);
    if call.may_end_in_silence() { limit.min(config.silence_limit) } else { limit }
}

/// When somebody has to look at a call that had a message, if there is no other before.
fn first_due(config: &Config, call: &CallEntry) -> Nanos {
    let due = call.last + first_limit(config, call);
    if call.is_over() { due } else { due.min(call.session_deadline()) }
}

/// A call of the last run that shows neither message nor media for this long has ended between the runs.
const LOST_LIMIT: Nanos = Nanos::from_secs(300);

/// What a call had reached before a message.
struct Progress {
    is_new: bool,
    is_ringing: bool,
    is_answered: bool,
    is_released: bool,
}

impl Progress {
    const NONE: Self = Self { is_new: true, is_ringing: false, is_answered: false, is_released: false };

    fn of(call: &CallEntry) -> Self {
        Self {
            is_new: call.is_new(),
            is_ringing: call.is_ringing(),
            is_answered: call.is_answered(),
            is_released: call.is_over() && !call.is_challenged(),
        }
    }

    /// Reports the phases that the message brought about.
    fn report<S: Sink>(self, call: &CallEntry, number: CallNumber, cx: &mut Context<'_, S>) {
        let now = Self::of(call);
        let phases = [
            (CallPhase::Started, self.is_new && !now.is_new),
            (CallPhase::Ringing, now.is_ringing && !self.is_ringing),
            (CallPhase::Answered, now.is_answered && !self.is_answered),
            (CallPhase::Released, now.is_released && !self.is_released),
        ];
        let mut record = None;
        for (phase, _) in phases.into_iter().filter(|(_, is_reached)| *is_reached) {
            let record = record.get_or_insert_with(|| call.record(false, cx.drops));
            if cx.requests.wants_phases {
                cx.requests.phases.push((phase, number, record.clone()));
            }
            cx.sink.progress(phase, number, record);
        }
    }
}

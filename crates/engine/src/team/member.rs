//! One worker's part in a team: its links, what it waits for, what it keeps for a later stage.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ringtap_model::Nanos;

use super::held_datagrams::HeldDatagrams;
use super::links::{ForwardedSip, Links, ReassembledDatagram, SharedDatagram, TunnelFragment, WorkerMessage};
use crate::codecs::{Codec, CodecId, Codecs};
use crate::context::Datagram;
use crate::media::{CallStreams, EndedStream};
use crate::table::timers::TimerOwner;
use crate::update::{CallRef, Collected, EndedCall, InputOrder, MediaUpdate, PayloadTypes};

/// Answers that have not arrived after this time are not waited for: the record is made without them.
const ANSWER_LIMIT: Nanos = Nanos::from_secs(10);

/// A question to all workers that is being answered.
struct Pending<T> {
    answers: T,
    missing: usize,
    until: Nanos,
}

/// A codec under the number that another worker gave it.
type NamedCodec = (CodecId, Box<Codec>);

/// A call that has ended, and its streams so far.
pub(crate) type EndingCall = (Box<EndedCall>, Vec<EndedStream>);

/// See the module.
pub(crate) struct Member {
    pub(crate) links: Links,
    pub(crate) is_lockstep: bool,
    /// In lockstep, at [`Stage::Media`](super::Stage::Media): datagrams are handled, not held.
    pub(crate) handles_media: bool,
    /// In lockstep, at [`Stage::Signalling`](super::Stage::Signalling): SIP messages are handled, not kept.
    pub(crate) handles_sip: bool,
    /// It ran live before: frame numbers give no order across workers.
    pub(crate) is_live: bool,
    /// Per worker, by the index of its number: the codecs that it told us of, and which of ours we told it.
    codecs: Vec<Vec<Option<NamedCodec>>>,
    codecs_sent: Vec<Vec<Option<CodecId>>>,
    /// Calls of ours that may have been silent for too long, with the time they were last heard.
    asked: BTreeMap<CallRef, Pending<Nanos>>,
    /// Calls of ours that have ended, or have probably lost their BYE, and wait for their streams.
    ending: BTreeMap<(CallRef, Collected), Pending<EndingCall>>,
    pub(crate) overdue: VecDeque<(Nanos, CallRef)>,
    /// Calls whose record was made without all answers.
    pub(crate) incomplete: u64,
    /// In lockstep the SIP messages of the batch; live, those that earlier ones may still precede.
    pub(crate) sip: Vec<ForwardedSip>,
    pub(crate) updates: Vec<Arc<MediaUpdate>>,
    pub(crate) reassembled: Vec<ReassembledDatagram>,
    /// Fragments in tunnels, and the tunnel depth of those handled last.
    pub(crate) tunnel_fragments: Vec<TunnelFragment>,
    depth: u8,
    pub(crate) held: HeldDatagrams,
}

impl Member {
    pub(crate) fn new(links: Links) -> Self {
        let workers = links.workers();
        Self {
            links,
            is_lockstep: false,
            handles_media: false,
            handles_sip: false,
            is_live: false,
            codecs: vec![Vec::new(); workers],
            codecs_sent: vec![Vec::new(); workers],
            asked: BTreeMap::new(),
            ending: BTreeMap::new(),
            overdue: VecDeque::new(),
            incomplete: 0,
            sip: Vec::new(),
            updates: Vec::new(),
            reassembled: Vec::new(),
            tunnel_fragments: Vec::new(),
            depth: 0,
            held: HeldDatagrams::default(),
        }
    }

    /// From now on the team runs in lockstep.
    pub(crate) fn enter_lockstep(&mut self) {
        self.is_lockstep = true;
        self.links.lossless = true;
    }

    /// Forwards a SIP message to its owner, which may be this worker; false when this one handles it now.
    pub(crate) fn forward_sip(&mut self, hash: u64, message: impl FnOnce() -> ForwardedSip) -> bool {
        let owner = self.links.owner(hash);
        if owner != self.links.me() {
            self.links.send(owner, WorkerMessage::Sip(Box::new(message())));
        } else if self.handles_sip {
            return false;
        } else {
            self.sip.push(message());
        }
        true
    }

    /// Sends a datagram to all other workers.
    pub(crate) fn send_datagram(&mut self, owner: TimerOwner, order: InputOrder, datagram: &Datagram<'_>) {
        let Datagram { time, src, dst, ip_len, data, len, frames } = *datagram;
        let (data, frames) = (data.into(), frames.into());
        let shared = Arc::new(SharedDatagram { owner, order, time, src, dst, ip_len, len, data, frames });
        self.links.send_all(|| WorkerMessage::Datagram(shared.clone()));
    }

    /// Sends a media update to all other workers, after the codecs that it names.
    pub(crate) fn send_update(&mut self, update: &Arc<MediaUpdate>, codecs: &Codecs) {
        for worker in self.links.others() {
            if self.send_codecs(worker, update, codecs) {
                self.links.send(worker, WorkerMessage::MediaUpdate(update.clone()));
            }
        }
    }

    /// Sends a worker the codecs of an update that it does not know; false when one was lost, without which
    /// the update would mean others.
    fn send_codecs(&mut self, worker: usize, update: &MediaUpdate, codecs: &Codecs) -> bool {
        let Self { links, codecs_sent, .. } = self;
        let sent = &mut codecs_sent[worker];
        let named = update.ends.iter().flat_map(|(_, types)| types.iter()).map(|&(_, id)| id);
        for id in named.filter(|id| !codecs.is_reserved(*id)) {
            let Some(codec) = codecs.get(id).filter(|_| sent.get(id.index()) != Some(&Some(id))) else {
                continue;
            };
            if !links.send(worker, WorkerMessage::Codec(id, Box::new(codec.clone()))) {
                return false;
            }
            put(sent, id, id);
        }
        true
    }

    /// Another worker names a codec that its media updates will use.
    pub(crate) fn learn_codec(&mut self, sender: usize, id: CodecId, codec: Box<Codec>) {
        put(&mut self.codecs[sender], id, (id, codec));
    }

    /// The same update with our numbers for the sender's codecs.
    pub(crate) fn translate(
        &self,
        sender: usize,
        update: &Arc<MediaUpdate>,
        codecs: &mut Codecs,
    ) -> Arc<MediaUpdate> {
        let mut codec = |id: CodecId| {
            if codecs.is_reserved(id) {
                return Some(id);
            }
            let (theirs, codec) = self.codecs[sender].get(id.index())?.as_ref()?;
            // Ours may have left the table in the meantime: looked up each time.
            if *theirs == id {
                codecs.intern(codec.name.as_bytes(), codec.clock.0, codec.channels)
            } else {
                None
            }
        };
        let mut known: Option<(PayloadTypes, PayloadTypes)> = None;
        let ends = update.ends.iter().map(|(end, types)| {
            // The endpoints of one description share its types.
            if !known.as_ref().is_some_and(|(theirs, _)| Arc::ptr_eq(theirs, types)) {
                let ours = types.iter().filter_map(|&(number, id)| Some((number, codec(id)?))).collect();
                known = Some((types.clone(), ours));
            }
            (*end, known.as_ref().map(|(_, ours)| ours.clone()).unwrap_or_default())
        });
        let ends = ends.collect();
        let MediaUpdate { order, call, status, side, .. } = **update;
        Arc::new(MediaUpdate { order, call, status, side, ends })
    }

    /// Asks all workers when media of a call were last heard, `heard` here; the time at once where there is
    /// nobody to ask.
    pub(crate) fn ask_last_heard(&mut self, call: CallRef, heard: Nanos, now: Nanos) -> Option<Nanos> {
        // A call may have two timers in one tick. Answers name the call, not the question: a second question
        // would count the answers to the first as its own and be content before all have answered.
        if self.asked.contains_key(&call) {
            return None;
        }
        let missing = self.links.send_all(|| WorkerMessage::AskLastHeard(call));
        if missing == 0 {
            return Some(heard);
        }
        let until = now + ANSWER_LIMIT;
        self.asked.insert(call, Pending { answers: heard, missing, until });
        self.overdue.push_back((until, call));
        None
    }

    /// An answer to [`Member::ask_last_heard`]; the latest time once all have answered.
    pub(crate) fn heard(&mut self, call: CallRef, heard: Nanos) -> Option<Nanos> {
        let pending = self.asked.get_mut(&call)?;
        pending.answers = pending.answers.max(heard);
        pending.missing -= 1;
        if pending.missing > 0 {
            return None;
        }
        self.asked.remove(&call).map(|pending| pending.answers)
    }

    /// Asks all workers for the streams of a call that has ended; the call at once where there is nobody to
    /// ask.
    pub(crate) fn ask_streams(
        &mut self,
        call: CallRef,
        how: Collected,
        ended: Box<EndedCall>,
        figures: Vec<EndedStream>,
        now: Nanos,
    ) -> Option<EndingCall> {
        let missing = self.links.send_all(|| WorkerMessage::CollectStreams(call, how));
        self.incomplete += u64::from(missing + 1 < self.links.workers());
        if missing == 0 {
            return Some((ended, figures));
        }
        let until = now + ANSWER_LIMIT;
        self.ending.insert((call, how), Pending { answers: (ended, figures), missing, until });
        self.overdue.push_back((until, call));
        None
    }

    /// An answer to [`Member::ask_streams`]; the call with all its streams once all have answered.
    pub(crate) fn streams_collected(
        &mut self,
        call: CallRef,
        how: Collected,
        streams: CallStreams,
    ) -> Option<EndingCall> {
        let pending = self.ending.get_mut(&(call, how))?;
        let (ended, figures) = &mut pending.answers;
        figures.extend(streams.into_figures(&mut ended.facts));
        pending.missing -= 1;
        if pending.missing > 0 {
            return None;
        }
        self.ending.remove(&(call, how)).map(|pending| pending.answers)
    }

    /// The question asked with this deadline is not waited for any longer: what was answered so far.
    pub(crate) fn give_up_heard(&mut self, call: CallRef, until: Nanos) -> Option<Nanos> {
        self.asked.get(&call).filter(|pending| pending.until == until)?;
        self.asked.remove(&call).map(|pending| pending.answers)
    }

    /// The streams of this call, asked for with this deadline, are not waited for any longer: the call with
    /// those that arrived.
    pub(crate) fn give_up_streams(&mut self, call: CallRef, until: Nanos) -> Option<(Collected, EndingCall)> {
        let is_due =
            |how: &Collected| self.ending.get(&(call, *how)).is_some_and(|pending| pending.until == until);
        let how = [Collected::Ended, Collected::SoFar].into_iter().find(is_due)?;
        let pending = self.ending.remove(&(call, how))?;
        self.incomplete += 1;
        Some((how, pending.answers))
    }

    /// The calls that have ended and still wait for streams.
    pub(crate) fn into_ending(self) -> Vec<EndingCall> {
        let ended = self.ending.into_iter().filter(|((_, how), _)| *how == Collected::Ended);
        ended.map(|(_, pending)| pending.answers).collect()
    }

    /// Sends a reassembled datagram to the worker that has its sender's other packets.
    pub(crate) fn send_reassembled(&mut self, worker: usize, datagram: ReassembledDatagram) {
        if worker == self.links.me() {
            self.reassembled.push(datagram);
        } else {
            self.links.send(worker, WorkerMessage::Reassembled(Box::new(datagram)));
        }
    }

    /// Datagrams reassembled for this worker, in order of the frames that completed them.
    pub(crate) fn reassembled_in_order(&mut self) -> VecDeque<ReassembledDatagram> {
        let mut datagrams = std::mem::take(&mut self.reassembled);
        datagrams.sort_by_key(|datagram| datagram.number);
        datagrams.into()
    }

    /// Sends a fragment in a tunnel to the worker that reassembles its datagram.
    pub(crate) fn send_tunnelled(&mut self, worker: usize, fragment: TunnelFragment) {
        if worker == self.links.me() {
            self.tunnel_fragments.push(fragment);
        } else {
            self.links.send(worker, WorkerMessage::TunnelFragment(Box::new(fragment)));
        }
    }

    /// The fragments outside of tunnels were handled; true when some in tunnels are left.
    pub(crate) fn begin_tunnelled(&mut self) -> bool {
        self.depth = 0;
        !self.tunnel_fragments.is_empty()
    }

    /// Fragments one tunnel deeper than those before, in frame order; and whether deeper ones are left.
    pub(crate) fn next_tunnelled(&mut self) -> (Vec<TunnelFragment>, bool) {
        self.depth = self.depth.saturating_add(1);
        let depth = self.depth;
        let mut fragments: Vec<TunnelFragment> =
            self.tunnel_fragments.extract_if(.., |fragment| fragment.depth <= depth).collect();
        fragments.sort_by_key(|fragment| fragment.number);
        (fragments, !self.tunnel_fragments.is_empty())
    }
}

/// Puts what is known of a codec where its index is.
fn put<T>(list: &mut Vec<Option<T>>, id: CodecId, what: T) {
    if list.len() <= id.index() {
        list.resize_with(id.index() + 1, || None);
    }
    list[id.index()] = Some(what);
}

#[cfg(test)]
mod tests {
    use ringtap_wire::frame::Ip;

    use super::*;
    use crate::table::hash::Hasher;
    use crate::table::slots::Ticket;
    use crate::testing::{CALLEE, CALLER, at, end};
    use crate::trackers::calls::CallEntry;
    use crate::update::{CallStatus, Side};

    /// The members of a team; the other ends of their rings.
    fn team(workers: usize) -> Vec<Member> {
        Links::connect(workers).into_iter().map(Member::new).collect()
    }

    fn call() -> CallRef {
        CallRef::new(0, Ticket { slot: 3, generation: 1 })
    }

    fn ended() -> Box<EndedCall> {
        let hop = crate::Hop {
            time: at(0),
            src: end(CALLER),
            dst: end(CALLEE),
            transport: ringtap_model::Transport::Udp,
            ip_id: 0,
            sender: None,
        };
        let record = CallEntry::new(b"a", 1, &hop, 0).into_record(false, 0, &Default::default());
        Box::new(EndedCall {
            record,
            rtt: None,
            media: Some(call()),
            facts: Default::default(),
            silent_since: None,
        })
    }

    #[test]
    fn a_question_is_answered_when_all_workers_have_answered() {
        let mut team = team(3);
        let member = &mut team[0];
        assert_eq!(member.ask_last_heard(call(), at(5), at(100)), None);
        assert_eq!(member.heard(call(), at(9)), None);
        assert_eq!(member.heard(call(), at(7)), Some(at(9)));
        assert_eq!(member.heard(call(), at(11)), None);
    }

    #[test]
    fn a_question_that_is_open_is_not_asked_again() {
        let mut team = team(2);
        assert_eq!(team[0].ask_last_heard(call(), at(5), at(100)), None);
        assert_eq!(team[0].ask_last_heard(call(), at(50), at(100)), None);
        assert!(matches!(team[1].links.receive(), Some((0, WorkerMessage::AskLastHeard(_)))));
        assert!(team[1].links.receive().is_none());
        assert_eq!(team[0].heard(call(), at(1)), Some(at(5)));
    }

    #[test]
    fn a_worker_alone_answers_itself() {
        let mut team = team(1);
        assert_eq!(team[0].ask_last_heard(call(), at(5), at(100)), Some(at(5)));
        assert!(team[0].ask_streams(call(), Collected::Ended, ended(), Vec::new(), at(100)).is_some());
        assert!(team[0].overdue.is_empty());
        assert_eq!(team[0].incomplete, 0);
    }

    #[test]
    fn an_answer_is_waited_for_ten_seconds() {
        let mut team = team(2);
        let member = &mut team[0];
        member.ask_last_heard(call(), at(5), at(100));
        let (until, _) = member.overdue[0];
        assert_eq!(until, at(10_100));
        assert_eq!(member.give_up_heard(call(), at(99)), None);
        assert_eq!(member.give_up_heard(call(), until), Some(at(5)));
        assert_eq!(member.give_up_heard(call(), until), None);
    }

    #[test]
    fn a_call_ends_with_the_streams_of_all_workers_or_is_counted_as_incomplete() {
        let mut team = team(3);
        let member = &mut team[0];
        assert!(member.ask_streams(call(), Collected::Ended, ended(), Vec::new(), at(0)).is_none());
        assert!(member.streams_collected(call(), Collected::Ended, CallStreams::default()).is_none());
        assert!(member.streams_collected(call(), Collected::Ended, CallStreams::default()).is_some());
        assert_eq!(member.incomplete, 0);
        member.ask_streams(call(), Collected::Ended, ended(), Vec::new(), at(0));
        assert_eq!(member.overdue.back().map(|(until, _)| *until), Some(at(10_000)));
        assert!(member.give_up_streams(call(), at(10_000)).is_some());
        assert!(member.give_up_streams(call(), at(10_000)).is_none());
        assert_eq!(member.incomplete, 1);
    }

    #[test]
    fn calls_that_wait_when_a_team_ends_are_handed_over() {
        let mut team = team(2);
        team[0].ask_streams(call(), Collected::Ended, ended(), Vec::new(), at(0));
        assert_eq!(team.remove(0).into_ending().len(), 1);
    }

    /// Each worker numbers codecs on its own.
    #[test]
    fn an_update_arrives_with_the_receivers_numbers_for_codecs() {
        let mut team = team(2);
        let [mut ours, mut theirs] = [1, 2].map(|seed| Codecs::new(Hasher::new(seed)));
        ours.intern(b"MELPe", 8000, 1);
        let opus = theirs.intern(b"opus", 48_000, 2).unwrap();
        let melp = theirs.intern(b"MELP", 8000, 1).unwrap();
        let status =
            CallStatus { hosts: [end(CALLER).ip, end(CALLEE).ip], is_over: false, fax: None, keyed: None };
        let types: PayloadTypes = [(96, opus), (97, melp)].into();
        let update = Arc::new(MediaUpdate {
            order: InputOrder { number: 5, index: 1 },
            call: call(),
            status,
            side: Side::Callee,
            ends: vec![(end(CALLER), types.clone()), (end(CALLEE), types)],
        });
        team[0].send_update(&update, &theirs);
        team[0].send_update(&update, &theirs);
        let receiver = &mut team[1];
        let mut updates = Vec::new();
        let mut codecs = 0;
        while let Some((sender, message)) = receiver.links.receive() {
            match message {
                WorkerMessage::Codec(id, codec) => {
                    codecs += 1;
                    receiver.learn_codec(sender, id, codec);
                }
                WorkerMessage::MediaUpdate(update) => {
                    updates.push(receiver.translate(sender, &update, &mut ours));
                }
                _ => panic!("another message"),
            }
        }
        // Each codec that is not known to all goes once, before the first update that names it.
        assert_eq!((codecs, updates.len()), (1, 2));
        for update in updates {
            assert_eq!((update.order.number, update.side, update.call), (5, Side::Callee, call()));
            for (_, types) in &update.ends {
                let names: Vec<_> = types
                    .iter()
                    .map(|(number, id)| (*number, ours.get(*id).map(|codec| &*codec.name)))
                    .collect();
                assert_eq!(names, [(96, Some("opus")), (97, Some("MELP"))]);
            }
        }
    }

    fn tunnelled(number: u64, depth: u8) -> TunnelFragment {
        let ip =
            Ip { src: end(CALLER).ip, dst: end(CALLEE).ip, proto: 17, len: 0, header_len: 20, id: 0, at: 0 };
        let (bytes, frames) = (Vec::new(), Vec::new());
        TunnelFragment {
            number,
            time: at(0),
            ip,
            depth,
            id: 0,
            offset: 0,
            more: false,
            proto: 17,
            len: 0,
            bytes,
            frames,
        }
    }

    #[test]
    fn fragments_in_tunnels_are_handled_from_the_outermost_inwards() {
        let mut team = team(1);
        let member = &mut team[0];
        assert!(!member.begin_tunnelled());
        for (number, depth) in [(3, 2), (2, 1), (1, 1)] {
            member.send_tunnelled(0, tunnelled(number, depth));
        }
        assert!(member.begin_tunnelled());
        let numbers =
            |fragments: Vec<TunnelFragment>| fragments.iter().map(|one| one.number).collect::<Vec<_>>();
        let (first, more) = member.next_tunnelled();
        assert_eq!((numbers(first), more), (vec![1, 2], true));
        let (second, more) = member.next_tunnelled();
        assert_eq!((numbers(second), more), (vec![3], false));
    }
}

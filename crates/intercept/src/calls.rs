//! Calls of targets: their messages and their media.

use std::collections::HashMap;
use std::sync::Arc;

use ringtap_engine::{CallNumber, CallPhase, RtcpSeen, RtpSeen, SipSeen, Targets};
use ringtap_handover::{
    Cin, Content, ContentKind, Direction, FrameType, Iri, IriEvent, IriKind, MediaProtocol, SipIri,
};
use ringtap_model::{Call, Endpoint, Frame, Nanos};
use ringtap_warrant::{Name, Order};
use ringtap_wire::frame;
use ringtap_wire::sdp::Sdp;
use ringtap_wire::sip::{Message, Method, StartLine};

use crate::accesses::{Told, cin};
use crate::orders::Orders;
use crate::parties::{self, Party};

/// Media addresses of one party that are remembered.
const MOST_ENDPOINTS: usize = 32;

/// A call that at least one order is about.
#[derive(Debug)]
struct WatchedCall {
    call_id: Vec<u8>,
    cin: Cin,
    watchers: Vec<Watcher>,
    /// Who sent the first message.
    caller: Endpoint,
    /// Where the caller and the callee want media.
    media: [Vec<Endpoint>; 2],
    is_released: bool,
    /// Its end was told.
    has_ended: bool,
}

/// An order that is about a call, through the party that is its target, from a message on.
#[derive(Debug)]
struct Watcher {
    order: Arc<Order>,
    party: Party,
    from: Nanos,
}

/// A packet whose frame is at hand at the end of its batch.
#[derive(Debug)]
struct WaitingPacket {
    order: Arc<Order>,
    cin: Cin,
    at: Nanos,
    direction: Direction,
    frame: u64,
}

/// Calls that orders are about, and packets of them that wait.
#[derive(Debug)]
pub(crate) struct Calls {
    watched: HashMap<CallNumber, WatchedCall>,
    waiting: Vec<WaitingPacket>,
    /// The call that was released last: its message comes next, and may be the first that names a target.
    released: Option<CallNumber>,
    most: usize,
    /// Has the media of these calls, for engines that do not see their signalling.
    targets: Arc<Targets>,
}

impl Calls {
    pub(crate) fn new(targets: Arc<Targets>, most: usize) -> Self {
        Self { watched: HashMap::new(), waiting: Vec::new(), released: None, most, targets }
    }

    /// A SIP message.
    pub(crate) fn message(&mut self, seen: &SipSeen<'_>, out: &mut Told<'_>) {
        if seen.mirrored {
            return;
        }
        let matched = matched(seen.message, out.orders);
        let Some(number) = seen.call else {
            let cin = cin_of(seen.message);
            let mut told: Vec<&Arc<Order>> = matched.iter().map(|(order, _)| order).collect();
            told.dedup_by(|a, b| Arc::ptr_eq(a, b));
            told.into_iter().for_each(|order| out.event(order, cin, iri(IriKind::Report, seen), seen.frames));
            return;
        };
        let targets = Arc::clone(&self.targets);
        if let Some(call) = self.call_of(number, seen, &matched, out) {
            call.tell(&matched, seen, &targets, out);
        }
    }

    /// The call of a message, if an order is about it.
    fn call_of(
        &mut self,
        number: CallNumber,
        seen: &SipSeen<'_>,
        matched: &[(Arc<Order>, Party)],
        out: &mut Told<'_>,
    ) -> Option<&mut WatchedCall> {
        if !self.watched.contains_key(&number) {
            if matched.is_empty() {
                return None;
            }
            if self.watched.len() >= self.most {
                matched.iter().for_each(|(order, _)| out.figures(order).dropped += 1);
                return None;
            }
            let call_id = seen.message.call_id().unwrap_or_default().to_vec();
            // An answer comes from who was called.
            let caller = if is_request(seen.message) { seen.src } else { seen.dst };
            let call = WatchedCall {
                cin: cin_of(seen.message),
                call_id,
                watchers: Vec::new(),
                caller,
                media: Default::default(),
                is_released: self.released == Some(number),
                has_ended: false,
            };
            self.watched.insert(number, call);
        }
        self.watched.get_mut(&number)
    }

    /// A call reached a phase: told before the message that brought it there.
    pub(crate) fn progress(&mut self, phase: CallPhase, number: CallNumber) {
        self.released = (phase == CallPhase::Released).then_some(number);
        if let Some(call) = self.watched.get_mut(&number) {
            call.is_released = phase == CallPhase::Released;
        }
    }

    /// The record of a call is made: nothing of it follows.
    pub(crate) fn over(&mut self, call: &Call) {
        let is_another = |watched: &WatchedCall| String::from_utf8_lossy(&watched.call_id) != call.call_id;
        self.watched.retain(|_, watched| is_another(watched) || watched.forget_media(&self.targets));
    }

    /// An order has ended.
    pub(crate) fn end_order(&mut self, order: &Arc<Order>) {
        self.watched.retain(|_, call| {
            call.watchers.retain(|watcher| !Arc::ptr_eq(&watcher.order, order));
            !call.watchers.is_empty() || call.forget_media(&self.targets)
        });
        self.waiting.retain(|waiting| !Arc::ptr_eq(&waiting.order, order));
    }

    /// An RTP packet.
    pub(crate) fn rtp(&mut self, seen: &RtpSeen<'_>, out: &mut Told<'_>) {
        let packet = MediaPacket {
            call: seen.call,
            at: seen.time,
            ends: (seen.src, seen.dst),
            frames: seen.frames,
            whole: seen.packet,
        };
        self.media(&packet, out);
    }

    /// An RTCP datagram of a call's stream.
    pub(crate) fn rtcp(&mut self, seen: &RtcpSeen<'_>, out: &mut Told<'_>) {
        let packet = MediaPacket {
            call: seen.call,
            at: seen.time,
            ends: (seen.src, seen.dst),
            frames: seen.frames,
            whole: Some(seen.data),
        };
        self.media(&packet, out);
    }

    fn media(&mut self, packet: &MediaPacket<'_>, out: &mut Told<'_>) {
        let Some(call) = packet.call.and_then(|number| self.watched.get(&number)) else { return };
        // What was sent before and is looked at late is not of what the message began.
        let wants = |watcher: &&Watcher| watcher.order.delivers.content() && watcher.from <= packet.at;
        for Watcher { order, party, .. } in call.watchers.iter().filter(wants) {
            let direction = call.direction(packet.ends, *party);
            match (packet.frames, packet.whole) {
                ([frame], _) => {
                    let (order, cin, at) = (Arc::clone(order), call.cin, packet.at);
                    self.waiting.push(WaitingPacket { order, cin, at, direction, frame: *frame });
                }
                (frames, Some(whole)) => {
                    let kind = ContentKind::Media { frame: FrameType::Rtp, protocol: MediaProtocol::Rtp };
                    let content = Content { at: packet.at, direction, kind, packet: whole };
                    out.content(order, call.cin, &content, (frames, whole.len() as u32));
                }
                (_, None) => out.figures(order).dropped += 1,
            }
        }
    }

    /// The frames of the batch in which packets wait, in their order.
    pub(crate) fn frames(&mut self, frames: &[Frame<'_>], out: &mut Told<'_>) {
        for waiting in self.waiting.drain(..) {
            let WaitingPacket { order, cin, at, direction, frame: number } = waiting;
            let found = frames.binary_search_by_key(&number, |frame| frame.number);
            let packet = found.ok().and_then(|place| ip_packet(&frames[place]));
            let Some((packet, sent)) = packet else {
                out.figures(&order).dropped += 1;
                continue;
            };
            let content = Content { at, direction, kind: ContentKind::RTP, packet };
            out.content(&order, cin, &content, (&[number], sent));
        }
    }
}

impl WatchedCall {
    /// Tells its orders of a message; those that it adds begin with it.
    fn tell(
        &mut self,
        matched: &[(Arc<Order>, Party)],
        seen: &SipSeen<'_>,
        targets: &Targets,
        out: &mut Told<'_>,
    ) {
        self.learn_media(seen, targets);
        let known = self.watchers.len();
        for (order, party) in matched {
            if !self.watchers.iter().any(|watcher| Arc::ptr_eq(&watcher.order, order)) {
                self.watchers.push(Watcher { order: Arc::clone(order), party: *party, from: seen.time });
            }
        }
        let ends = self.is_released && !self.has_ended;
        for (place, Watcher { order, .. }) in self.watchers.iter().enumerate() {
            let kind = match () {
                () if place >= known && !self.has_ended => IriKind::Begin,
                () if ends => IriKind::End,
                () if self.has_ended => IriKind::Report,
                () => IriKind::Continue,
            };
            out.event(order, self.cin, iri(kind, seen), seen.frames);
        }
        self.has_ended |= ends;
    }

    /// Where the sender of a message wants media.
    fn learn_media(&mut self, seen: &SipSeen<'_>, targets: &Targets) {
        let Some(sdp) = seen.message.sdp().and_then(|sdp| Sdp::parse(sdp).ok()) else { return };
        let side = usize::from(seen.src != self.caller);
        for media in sdp.media() {
            let Some(ip) = media.connection().or_else(|| sdp.connection()) else { continue };
            let end = Endpoint::new(ip, media.port);
            let ends = &mut self.media[side];
            if media.port > 0 && ends.len() < MOST_ENDPOINTS && !ends.contains(&end) {
                ends.push(end);
                with_rtcp(end).for_each(|end| targets.add_media(end));
            }
        }
    }

    /// Nothing more of it is wanted; whether it stays: no.
    fn forget_media(&mut self, targets: &Targets) -> bool {
        let ends = self.media.iter_mut().flat_map(|ends| ends.drain(..));
        ends.flat_map(with_rtcp).for_each(|end| targets.remove_media(end));
        false
    }

    /// Which way a packet went, seen from the target. RTCP has the port above.
    fn direction(&self, (src, dst): (Endpoint, Endpoint), party: Party) -> Direction {
        let own = match party {
            Party::Caller => 0,
            Party::Callee => 1,
            Party::Other => return Direction::Indeterminate,
        };
        let is_of = |side: usize, end: Endpoint| {
            let below = Endpoint::new(end.ip, end.port.saturating_sub(1));
            self.media[side].iter().any(|known| *known == end || *known == below)
        };
        match () {
            () if is_of(own, dst) || is_of(1 - own, src) => Direction::ToTarget,
            () if is_of(own, src) || is_of(1 - own, dst) => Direction::FromTarget,
            () => Direction::Indeterminate,
        }
    }
}

/// An endpoint of media, and that of its RTCP, the port above (RFC 3550 section 11).
fn with_rtcp(end: Endpoint) -> impl Iterator<Item = Endpoint> {
    std::iter::once(end).chain(end.port.checked_add(1).map(|port| Endpoint::new(end.ip, port)))
}

/// An RTP packet or RTCP datagram.
struct MediaPacket<'a> {
    call: Option<CallNumber>,
    at: Nanos,
    ends: (Endpoint, Endpoint),
    frames: &'a [u64],
    /// Its bytes, where no single frame has them.
    whole: Option<&'a [u8]>,
}

/// The orders that a message is about, each once, by the first party that is its target.
fn matched(message: &Message<'_>, orders: &Orders) -> Vec<(Arc<Order>, Party)> {
    let mut found: Vec<(Arc<Order>, Party)> = Vec::new();
    if orders.index().is_empty() {
        return found;
    }
    let named = if is_request(message) { parties::of_request(message) } else { parties::of_answer(message) };
    for (party, text) in &named {
        for liid in orders.index().find([Name::Sip(text)]) {
            let Some(order) = orders.find(liid) else { continue };
            if !found.iter().any(|(other, _)| Arc::ptr_eq(other, order)) {
                found.push((Arc::clone(order), *party));
            }
        }
    }
    found
}

fn is_request(message: &Message<'_>) -> bool {
    matches!(message.start(), StartLine::Request { .. })
}

/// Of the call or, outside of calls, of the transactions with one Call-ID.
fn cin_of(message: &Message<'_>) -> Cin {
    let kind: &[u8] = if message.method() == Method::Register { b"registration" } else { b"call" };
    cin([kind, message.call_id().unwrap_or_default()])
}

fn iri(kind: IriKind, seen: &SipSeen<'_>) -> Iri {
    let message = seen.message.raw().to_vec();
    let sip = SipIri { source: seen.src.ip, destination: seen.dst.ip, message };
    Iri { kind, at: seen.time, event: IriEvent::Sip(sip) }
}

/// The innermost IP packet of a frame, as far as it was captured, and its length when it was sent.
fn ip_packet<'a>(frame: &Frame<'a>) -> Option<(&'a [u8], u32)> {
    let ip = frame::decode(frame.link.0, frame.wire_len, frame.data).ok()?.ip;
    let packet = frame.data.get(ip.at as usize..)?;
    Some((packet.get(..ip.len as usize).unwrap_or(packet), ip.len))
}

//! Calls and messages in memory, up to their limits, and the view published of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use ringtap_engine::{CallNumber, CallPhase, Counters, RtpSeen, Sink, SipSeen, StreamEnd};
use ringtap_model::{Call, CallState, Endpoint, Frame, Id, Message, Nanos, Registration, Stream};
use ringtap_wire::sip::{self, Method};

pub use crate::media::MediaFrame;
use crate::media::MediaFrames;
pub use crate::message::{CapturedFrame, SipMessage};
use crate::message::{copy_message, truncate};

/// Limits of the stored calls and messages.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Calls and other dialogs; the oldest ended one is evicted first.
    pub calls: usize,
    /// Messages of one entry; further messages are only counted.
    pub messages: usize,
    /// Bytes of all entries.
    pub bytes: usize,
    /// Bytes of media packets, beside those; none are kept of 0.
    pub media_bytes: usize,
    /// Store calls only, without registrations, OPTIONS and the like.
    pub calls_only: bool,
}

/// A call, or another dialog or transaction with a Call-ID.
#[derive(Clone, Debug)]
pub struct DialogEntry {
    /// Number of the entry, counted from 0.
    pub serial: u64,
    /// Its Call-ID, at most 256 characters of it.
    pub call_id: Box<str>,
    /// Method of its first request.
    pub method: Box<str>,
    /// `user@host` of the calling party, or the part that is known.
    pub from: Box<str>,
    /// `user@host` of the called party.
    pub to: Box<str>,
    /// Sender of its first request.
    pub src: Endpoint,
    /// Receiver of its first request.
    pub dst: Endpoint,
    /// Time of its first message.
    pub first: Nanos,
    /// Time of its last message.
    pub last: Nanos,
    /// Last final response, if it is not a call.
    pub code: Option<u16>,
    /// The call's record so far.
    pub call: Option<Call>,
    /// Its media streams so far.
    pub streams: Vec<Stream>,
    /// Its record is complete.
    pub ended: bool,
    /// Its messages, in order of time, up to [`Limits::messages`].
    pub messages: Vec<Arc<SipMessage>>,
    /// Messages seen, without mirrored copies.
    pub count: u64,
    bytes: usize,
}

impl DialogEntry {
    /// The state of a call, with the code that ended it; or method and response of anything else.
    pub fn state(&self) -> String {
        match (&self.call, self.code) {
            (
                Some(Call { state: state @ (CallState::Failed | CallState::Redirected), final_code, .. }),
                _,
            ) if *final_code > 0 => {
                format!("{} {final_code}", state.name())
            }
            (Some(call), _) => call.state.name().to_string(),
            (None, Some(code)) => format!("{} {code}", self.method),
            (None, None) => self.method.to_string(),
        }
    }

    /// Time from answer to end, or to now.
    pub fn duration_ms(&self, now: Nanos) -> Option<f64> {
        let call = self.call.as_ref()?;
        let running = || Some(now.since(call.answer?).millis_f64());
        call.duration_ms.or_else(|| if self.ended { None } else { running() })
    }

    /// Memory of the entry without its messages.
    fn record_bytes(&self) -> usize {
        let intervals: usize = self.streams.iter().map(|stream| stream.intervals.len() * INTERVAL).sum();
        RECORD + self.streams.len() * size_of::<Stream>() + intervals
    }
}

/// Counts of everything seen.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Entries created.
    pub came: u64,
    /// Entries evicted because of a limit.
    pub left: u64,
    /// Evicted entries that were still in progress.
    pub left_early: u64,
    /// Messages counted but not stored.
    pub messages_left_out: u64,
    /// Requests by method.
    pub methods: BTreeMap<&'static str, u64>,
    /// Responses by code.
    pub codes: BTreeMap<u16, u64>,
    /// Calls that ended, by state.
    pub states: BTreeMap<&'static str, u64>,
    /// Calls that ended.
    pub ended: u64,
    /// Answered calls among those.
    pub answered: u64,
    /// Retransmitted messages.
    pub retransmissions: u64,
    /// Ended streams without a call.
    pub loose_streams: u64,
    /// Registrations that ended.
    pub registrations: u64,
    /// SIP MESSAGE requests.
    pub texts: u64,
    /// Bytes used by the entries.
    pub bytes: usize,
    /// Messages stored.
    pub messages: u64,
    /// Media packets stored, and those that had to leave since.
    pub media: (u64, u64),
}

/// All entries. The engine's thread owns them.
pub struct LiveCalls {
    limits: Limits,
    /// In order of their serial.
    entries: VecDeque<Arc<DialogEntry>>,
    by_call_id: HashMap<Box<str>, u64>,
    /// Serials of entries to evict first: ended calls, and entries that are not calls.
    done: BTreeSet<u64>,
    media: MediaFrames,
    /// Counts of everything seen.
    pub totals: Totals,
    changed: bool,
}

impl LiveCalls {
    /// Creates it without entries.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            entries: VecDeque::new(),
            by_call_id: HashMap::new(),
            done: BTreeSet::new(),
            media: MediaFrames::new(limits.media_bytes),
            totals: Totals::default(),
            changed: true,
        }
    }

    /// A sink for one batch, which copies the batch's frames into the entries.
    pub fn on<'a>(&'a mut self, frames: &'a [Frame<'a>]) -> BatchSink<'a> {
        BatchSink { calls: self, frames }
    }

    /// The entries to publish; `None` if nothing changed since the last call.
    pub fn published(&mut self) -> Option<Vec<Arc<DialogEntry>>> {
        std::mem::take(&mut self.changed).then(|| self.entries.iter().cloned().collect())
    }

    /// Removes all entries; the counts stay.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.by_call_id.clear();
        self.done.clear();
        self.media.clear();
        self.totals.media.0 = 0;
        self.totals.bytes = 0;
        self.totals.messages = 0;
        self.changed = true;
    }

    /// An entry that is still here.
    pub fn entry(&self, serial: u64) -> Option<&Arc<DialogEntry>> {
        self.entries.get(self.index(serial)?)
    }

    /// The media packets that are still here of the entries' streams, in the order in which they came.
    pub fn media(&self, serials: &[u64]) -> Vec<Arc<MediaFrame>> {
        let entries = serials.iter().filter_map(|serial| self.entry(*serial));
        self.media.of(entries.flat_map(|entry| &entry.streams))
    }

    /// Updates the figures of a call in progress.
    pub fn refresh(&mut self, call: Call, streams: Vec<Stream>) {
        let call_id = truncate(&call.call_id).to_string();
        self.change(&call_id, |entry| {
            // The record of an ended call has the final figures.
            if !entry.ended {
                entry.streams = own(&call, streams);
                entry.call = Some(call);
            }
        });
    }

    fn index(&self, serial: u64) -> Option<usize> {
        self.entries.binary_search_by_key(&serial, |entry| entry.serial).ok()
    }

    /// Changes an entry and updates the memory count.
    fn change(&mut self, call_id: &str, change: impl FnOnce(&mut DialogEntry)) {
        let index = self.by_call_id.get(call_id).and_then(|serial| self.index(*serial));
        let Some(entry) = index.and_then(|index| self.entries.get_mut(index)) else { return };
        let entry = Arc::make_mut(entry);
        let (bytes, messages) = (entry.bytes, entry.messages.len());
        change(entry);
        entry.bytes =
            entry.record_bytes() + entry.messages.iter().map(|message| message.bytes()).sum::<usize>();
        self.totals.bytes = self.totals.bytes - bytes + entry.bytes;
        self.totals.messages = self.totals.messages - messages as u64 + entry.messages.len() as u64;
        let serial = entry.serial;
        if !is_under_way(entry) {
            self.done.insert(serial);
        } else {
            self.done.remove(&serial);
        }
        self.changed = true;
    }

    fn add(&mut self, entry: DialogEntry) {
        let mut entry = entry;
        entry.serial = self.totals.came;
        self.totals.came += 1;
        self.by_call_id.insert(entry.call_id.clone(), entry.serial);
        self.entries.push_back(Arc::new(entry));
    }

    /// Evicts entries until the limits hold.
    fn evict(&mut self) {
        while self.entries.len() > self.limits.calls
            || (self.totals.bytes > self.limits.bytes && self.entries.len() > 1)
        {
            let index = match self.done.pop_first() {
                Some(serial) => self.index(serial),
                None => {
                    self.totals.left_early += 1;
                    Some(0)
                }
            };
            let Some(entry) = index.and_then(|index| self.entries.remove(index)) else { return };
            self.done.remove(&entry.serial);
            if self.by_call_id.get(&entry.call_id) == Some(&entry.serial) {
                self.by_call_id.remove(&entry.call_id);
            }
            self.totals.left += 1;
            self.totals.bytes -= entry.bytes;
            self.totals.messages -= entry.messages.len() as u64;
            self.changed = true;
        }
    }

    fn count(&mut self, seen: &SipSeen<'_>) {
        match seen.message.code() {
            Some(code) => *self.totals.codes.entry(code.min(999)).or_default() += 1,
            None => *self.totals.methods.entry(seen.message.method().name()).or_default() += 1,
        }
        self.totals.retransmissions += u64::from(seen.retransmission);
    }

    fn message(&mut self, seen: &SipSeen<'_>, frames: &[Frame<'_>]) {
        if seen.mirrored {
            return;
        }
        self.count(seen);
        let call_id = seen.message.call_id().map(String::from_utf8_lossy).unwrap_or_default();
        let call_id = truncate(&call_id);
        if !self.by_call_id.contains_key(call_id) {
            if !can_start_entry(seen.message)
                || (self.limits.calls_only && seen.message.method() != Method::Invite)
            {
                return;
            }
            self.add(entry(seen, call_id));
        }
        let limit = self.limits.messages;
        let mut left_out = false;
        self.change(call_id, |entry| {
            entry.count += 1;
            entry.last = entry.last.max(seen.time);
            entry.code = seen.message.code().filter(|code| *code >= 200).or(entry.code);
            left_out = entry.messages.len() >= limit;
            if !left_out {
                entry.messages.push(Arc::new(copy_message(seen, frames)));
            }
        });
        self.totals.messages_left_out += u64::from(left_out);
        self.evict();
    }

    fn call(&mut self, call: Call, streams: Vec<Stream>) {
        self.totals.ended += 1;
        self.totals.answered += u64::from(call.answer.is_some());
        *self.totals.states.entry(call.state.name()).or_default() += 1;
        self.finish(call, streams);
    }

    /// Shows the record of a call instead of its progress.
    fn finish(&mut self, call: Call, streams: Vec<Stream>) {
        let call_id = truncate(&call.call_id).to_string();
        self.change(&call_id, |entry| {
            entry.streams = own(&call, streams);
            entry.call = Some(call);
            entry.ended = true;
        });
        self.evict();
    }

    fn progress(&mut self, phase: CallPhase, _: CallNumber, call: &Call) {
        let call_id = truncate(&call.call_id);
        // An evicted call does not return with its next phase.
        if phase == CallPhase::Started && !self.by_call_id.contains_key(call_id) {
            self.add(DialogEntry {
                serial: 0,
                call_id: call_id.into(),
                method: Method::Invite.name().into(),
                from: party(call.from_user.as_deref(), call.from_host.as_deref()),
                to: party(call.to_user.as_deref(), call.to_host.as_deref()),
                src: call.src,
                dst: call.dst,
                first: call.start().unwrap_or_default(),
                last: call.start().unwrap_or_default(),
                code: None,
                call: None,
                streams: Vec::new(),
                ended: false,
                messages: Vec::new(),
                count: 0,
                bytes: 0,
            });
        }
        self.change(call_id, |entry| {
            // The same Call-ID after the record of the first attempt: a new attempt.
            entry.ended = entry.ended && entry.call.as_ref().is_some_and(|known| known.id == call.id);
            if !entry.ended {
                entry.call = Some(call.clone());
            }
        });
    }
}

/// The engine's sink during one batch.
pub struct BatchSink<'a> {
    calls: &'a mut LiveCalls,
    /// In order of their numbers.
    frames: &'a [Frame<'a>],
}

impl Sink for BatchSink<'_> {
    const PACKETS: bool = true;
    const PROGRESS: bool = true;
    const LOST: bool = true;

    fn lost(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.calls.finish(call, streams.into_iter().map(|stream| stream.record).collect());
    }

    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.calls.call(call, streams.into_iter().map(|stream| stream.record).collect());
    }

    fn stream(&mut self, _: StreamEnd) {
        self.calls.totals.loose_streams += 1;
    }

    fn registration(&mut self, _: Registration) {
        self.calls.totals.registrations += 1;
    }

    fn message(&mut self, _: Message) {
        self.calls.totals.texts += 1;
    }

    fn progress(&mut self, phase: CallPhase, number: CallNumber, call: &Call) {
        self.calls.progress(phase, number, call);
    }

    fn sip(&mut self, seen: &SipSeen<'_>) {
        self.calls.message(seen, self.frames);
    }

    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        let calls = &mut *self.calls;
        calls.media.push(seen, self.frames);
        calls.totals.media = (calls.media.len() as u64, calls.media.evicted);
    }
}

/// Without streams that ended before the call began: ports are used again, and a call that announces them can
/// be given what passed there before.
fn own(call: &Call, streams: Vec<Stream>) -> Vec<Stream> {
    let began = call.start().unwrap_or_default();
    streams.into_iter().filter(|stream| stream.last >= began).collect()
}

/// Whether a message may be the first of its Call-ID. Later messages, of an evicted call or of one that began
/// before the capture, create no entry: it would evict a complete one.
fn can_start_entry(message: &sip::Message<'_>) -> bool {
    let follows = matches!(message.method(), Method::Ack | Method::Cancel | Method::Bye | Method::Prack);
    message.code().is_none() && !follows && message.to().is_none_or(|to| to.tag().is_none())
}

fn entry(seen: &SipSeen<'_>, call_id: &str) -> DialogEntry {
    let message = seen.message;
    let of = |name: Option<sip::NameAddr<'_>>| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (user, host) =
            name.map(|name| (name.uri.user.map(text), text(name.uri.host))).unwrap_or_default();
        party(user.as_deref(), Some(host).as_deref().filter(|host| !host.is_empty()))
    };
    DialogEntry {
        serial: 0,
        call_id: call_id.into(),
        method: message.method().name().into(),
        from: of(message.from()),
        to: of(message.to()),
        src: seen.src,
        dst: seen.dst,
        first: seen.time,
        last: seen.time,
        code: None,
        call: None,
        streams: Vec::new(),
        ended: false,
        messages: Vec::new(),
        count: 0,
        bytes: 0,
    }
}

fn party(user: Option<&str>, host: Option<&str>) -> Box<str> {
    let text = match (user, host) {
        (Some(user), Some(host)) => format!("{user}@{host}"),
        (Some(one), None) | (None, Some(one)) => one.to_string(),
        (None, None) => String::new(),
    };
    truncate(&text).into()
}

/// The published state: shared, and never changed.
#[derive(Clone, Debug)]
pub struct View {
    /// In order of their serial.
    pub entries: Arc<Vec<Arc<DialogEntry>>>,
    /// Counts of everything seen.
    pub totals: Totals,
    /// Counters of the engine.
    pub counters: Counters,
    /// Calls and streams that the engine follows.
    pub under_way: (usize, usize),
    /// Name of the packet source.
    pub source: String,
    /// Packets lost before the engine, by place of the loss.
    pub lost: Vec<(String, u64)>,
    /// Packets and bits per second over the last second.
    pub rate: (f64, f64),
    /// Time of the capture.
    pub now: Nanos,
    /// Why the input ended; `None` while it continues.
    pub over: Option<String>,
    /// Limits in force.
    pub limits: Limits,
}

impl View {
    /// The view before the first packet.
    pub fn empty(source: String, limits: Limits) -> Self {
        Self {
            entries: Arc::default(),
            totals: Totals::default(),
            counters: Counters::default(),
            under_way: (0, 0),
            source,
            lost: Vec::new(),
            rate: (0.0, 0.0),
            now: Nanos::ZERO,
            over: None,
            limits,
        }
    }
}

/// Whether the entry is a call that is being set up or talking.
pub fn is_under_way(entry: &DialogEntry) -> bool {
    let states = [CallState::Active, CallState::Ringing, CallState::Trying];
    !entry.ended && entry.call.as_ref().is_some_and(|call| states.contains(&call.state))
}

/// Ids of the calls in progress among `entries`.
pub fn ids<'a>(entries: impl Iterator<Item = &'a Arc<DialogEntry>>) -> Vec<Id> {
    entries.filter(|entry| !entry.ended).filter_map(|entry| Some(entry.call.as_ref()?.id)).collect()
}

/// Bytes of an entry without its messages and streams: the record with its texts, and its table entries.
const RECORD: usize = 2_048;
/// Bytes of one interval of ten seconds of a stream.
const INTERVAL: usize = 96;

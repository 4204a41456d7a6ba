//! What is kept to be looked at, and no more than that.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use ringtap_engine::{CallNumber, CallPhase, Counters, Sink, SipSeen, StreamEnd};
use ringtap_model::{
    Call, CallState, Endpoint, Frame, Id, LinkType, Message, Nanos, Registration, Stream, Transport,
};
use ringtap_report::message;
use ringtap_wire::sip::{self, Method};

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Calls, and other dialogs; the oldest that was released leaves first.
    pub calls: usize,
    /// Messages of one of them: more are only counted.
    pub messages: usize,
    /// Bytes of all of them.
    pub bytes: usize,
    /// Registrations, OPTIONS and the like are not kept.
    pub calls_only: bool,
}

/// A frame that carried a message.
#[derive(Clone, Debug)]
pub struct CapturedFrame {
    /// When it was captured.
    pub time: Nanos,
    /// Its number in the capture.
    pub number: u64,
    /// Its link type.
    pub link: LinkType,
    /// Bytes on the wire.
    pub wire_len: u32,
    /// The captured bytes.
    pub data: Box<[u8]>,
}

/// Where the text of a message is.
#[derive(Clone, Debug)]
enum Text {
    /// In the first of its frames.
    Within(Range<usize>),
    /// Put together from several.
    Apart(Box<[u8]>),
}

/// A SIP message.
#[derive(Clone, Debug)]
pub struct Sip {
    /// When it passed the tap.
    pub time: Nanos,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// What carried it.
    pub transport: Transport,
    /// As a ladder shows it.
    pub label: Box<str>,
    /// Status code of an answer; None of a request.
    pub code: Option<u16>,
    /// The same bytes passed before.
    pub retransmission: bool,
    /// The frames that are still there: without the earlier segments of a message over TCP.
    pub frames: Box<[CapturedFrame]>,
    /// All of its frames are there.
    pub whole: bool,
    text: Text,
}

impl Sip {
    /// The message as it was sent.
    pub fn text(&self) -> &[u8] {
        match &self.text {
            Text::Within(range) => {
                self.frames.first().and_then(|frame| frame.data.get(range.clone())).unwrap_or_default()
            }
            Text::Apart(text) => text,
        }
    }

    fn bytes(&self) -> usize {
        let apart = if let Text::Apart(text) = &self.text { text.len() } else { 0 };
        let frames: usize =
            self.frames.iter().map(|frame| frame.data.len() + size_of::<CapturedFrame>()).sum();
        size_of::<Self>() + self.label.len() + apart + frames
    }
}

/// A call, or what else has a Call-ID.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Counts them as they come.
    pub serial: u64,
    /// Its Call-ID, at most 256 characters of it.
    pub call_id: Box<str>,
    /// Of its first request.
    pub method: Box<str>,
    /// `user@host`, or what there is of it.
    pub from: Box<str>,
    /// The same of the called party.
    pub to: Box<str>,
    /// Sender of its first request.
    pub src: Endpoint,
    /// Receiver of its first request.
    pub dst: Endpoint,
    /// Time of its first message.
    pub first: Nanos,
    /// Time of its last message.
    pub last: Nanos,
    /// The last final answer, of what is no call.
    pub code: Option<u16>,
    /// The record, as far as it is known.
    pub call: Option<Call>,
    /// Its media streams, as far as they are known.
    pub streams: Vec<Stream>,
    /// Its record is made.
    pub ended: bool,
    /// Its messages, in order of time, up to [`Limits::messages`].
    pub messages: Vec<Arc<Sip>>,
    /// Messages that passed, mirrored copies left out.
    pub count: u64,
    bytes: usize,
}

impl Entry {
    /// Where it stands: the state of a call, method and answer of anything else.
    pub fn state(&self) -> String {
        match (&self.call, self.code) {
            (Some(call), _) => call.state.name().to_string(),
            (None, Some(code)) => format!("{} {code}", self.method),
            (None, None) => self.method.to_string(),
        }
    }

    /// From answer to end, or to now.
    pub fn duration_ms(&self, now: Nanos) -> Option<f64> {
        let call = self.call.as_ref()?;
        let running = || Some(now.since(call.answer?).millis_f64());
        call.duration_ms.or_else(|| if self.ended { None } else { running() })
    }

    /// Where it counts towards the memory beside its messages.
    fn record_bytes(&self) -> usize {
        let intervals: usize = self.streams.iter().map(|stream| stream.intervals.len() * INTERVAL).sum();
        RECORD + self.streams.len() * size_of::<Stream>() + intervals
    }
}

/// What there is to say beside the entries.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Entries that came.
    pub came: u64,
    /// That left because of a ceiling.
    pub left: u64,
    /// Of those, the ones that were still under way.
    pub left_early: u64,
    /// Messages that were counted and not kept.
    pub messages_left_out: u64,
    /// Requests by method.
    pub methods: BTreeMap<&'static str, u64>,
    /// Answers by code.
    pub codes: BTreeMap<u16, u64>,
    /// Calls that ended, by state.
    pub states: BTreeMap<&'static str, u64>,
    /// Calls that ended.
    pub ended: u64,
    /// Of those, the answered ones.
    pub answered: u64,
    /// Messages that had passed before.
    pub retransmissions: u64,
    /// Streams that belong to no call, ended.
    pub loose_streams: u64,
    /// Registrations that ended.
    pub registrations: u64,
    /// SIP MESSAGE requests.
    pub texts: u64,
    /// Bytes that the entries take.
    pub bytes: usize,
    /// Messages kept.
    pub messages: u64,
}

/// Everything that is kept. The engine's thread owns it.
pub struct Book {
    limits: Limits,
    /// In order of their serial.
    entries: VecDeque<Arc<Entry>>,
    by_call_id: HashMap<Box<str>, u64>,
    /// May leave: released, or no call.
    done: BTreeSet<u64>,
    /// Counts of everything that passed.
    pub totals: Totals,
    changed: bool,
}

impl Book {
    /// An empty one.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            entries: VecDeque::new(),
            by_call_id: HashMap::new(),
            done: BTreeSet::new(),
            totals: Totals::default(),
            changed: true,
        }
    }

    /// A sink for one batch, whose frames are still there to be kept.
    pub fn on<'a>(&'a mut self, frames: &'a [Frame<'a>]) -> BatchSink<'a> {
        BatchSink { book: self, frames }
    }

    /// The entries, to be published; `None` where nothing changed since the last time.
    pub fn published(&mut self) -> Option<Vec<Arc<Entry>>> {
        std::mem::take(&mut self.changed).then(|| self.entries.iter().cloned().collect())
    }

    /// Forgets all entries; counts stay.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.by_call_id.clear();
        self.done.clear();
        self.totals.bytes = 0;
        self.totals.messages = 0;
        self.changed = true;
    }

    /// Takes the figures of a call under way.
    pub fn refresh(&mut self, call: Call, streams: Vec<Stream>) {
        let call_id = cut(&call.call_id).to_string();
        self.change(&call_id, |entry| {
            // What ended has better figures already.
            if !entry.ended {
                entry.call = Some(call);
                entry.streams = streams;
            }
        });
    }

    fn place(&self, serial: u64) -> Option<usize> {
        self.entries.binary_search_by_key(&serial, |entry| entry.serial).ok()
    }

    /// Changes an entry and keeps account of what it takes.
    fn change(&mut self, call_id: &str, change: impl FnOnce(&mut Entry)) {
        let place = self.by_call_id.get(call_id).and_then(|serial| self.place(*serial));
        let Some(entry) = place.and_then(|place| self.entries.get_mut(place)) else { return };
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

    fn add(&mut self, entry: Entry) {
        let mut entry = entry;
        entry.serial = self.totals.came;
        self.totals.came += 1;
        self.by_call_id.insert(entry.call_id.clone(), entry.serial);
        self.entries.push_back(Arc::new(entry));
    }

    /// Keeps the ceilings.
    fn trim(&mut self) {
        while self.entries.len() > self.limits.calls
            || (self.totals.bytes > self.limits.bytes && self.entries.len() > 1)
        {
            let place = match self.done.pop_first() {
                Some(serial) => self.place(serial),
                None => {
                    self.totals.left_early += 1;
                    Some(0)
                }
            };
            let Some(entry) = place.and_then(|place| self.entries.remove(place)) else { return };
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
        let call_id = cut(&call_id);
        if !self.by_call_id.contains_key(call_id) {
            if !begins(seen.message) || (self.limits.calls_only && seen.message.method() != Method::Invite) {
                return;
            }
            self.add(entry(seen, call_id));
        }
        let most = self.limits.messages;
        let mut left_out = false;
        self.change(call_id, |entry| {
            entry.count += 1;
            entry.last = entry.last.max(seen.time);
            entry.code = seen.message.code().filter(|code| *code >= 200).or(entry.code);
            left_out = entry.messages.len() >= most;
            if !left_out {
                entry.messages.push(Arc::new(kept(seen, frames)));
            }
        });
        self.totals.messages_left_out += u64::from(left_out);
        self.trim();
    }

    fn call(&mut self, call: Call, streams: Vec<Stream>) {
        self.totals.ended += 1;
        self.totals.answered += u64::from(call.answer.is_some());
        *self.totals.states.entry(call.state.name()).or_default() += 1;
        let call_id = cut(&call.call_id).to_string();
        self.change(&call_id, |entry| {
            entry.call = Some(call);
            entry.streams = streams;
            entry.ended = true;
        });
        self.trim();
    }

    fn progress(&mut self, phase: CallPhase, _: CallNumber, call: &Call) {
        let call_id = cut(&call.call_id);
        // One that had to leave does not come back with each phase that it makes.
        if phase == CallPhase::Started && !self.by_call_id.contains_key(call_id) {
            self.add(Entry {
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
            // The same Call-ID again, after the record of the first: a new attempt.
            entry.ended = entry.ended && entry.call.as_ref().is_some_and(|known| known.id == call.id);
            if !entry.ended {
                entry.call = Some(call.clone());
            }
        });
    }
}

/// A sink while a batch is handled.
pub struct BatchSink<'a> {
    book: &'a mut Book,
    /// In order of their numbers.
    frames: &'a [Frame<'a>],
}

impl Sink for BatchSink<'_> {
    const PACKETS: bool = true;
    const PROGRESS: bool = true;

    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.book.call(call, streams.into_iter().map(|stream| stream.record).collect());
    }

    fn stream(&mut self, _: StreamEnd) {
        self.book.totals.loose_streams += 1;
    }

    fn registration(&mut self, _: Registration) {
        self.book.totals.registrations += 1;
    }

    fn message(&mut self, _: Message) {
        self.book.totals.texts += 1;
    }

    fn progress(&mut self, phase: CallPhase, number: CallNumber, call: &Call) {
        self.book.progress(phase, number, call);
    }

    fn sip(&mut self, seen: &SipSeen<'_>) {
        self.book.message(seen, self.frames);
    }
}

/// Whether a message may be the first of its Call-ID. What comes after, of a call that had to leave or that
/// began before the capture did, makes no entry: it would push out one that is whole.
fn begins(message: &sip::Message<'_>) -> bool {
    let follows = matches!(message.method(), Method::Ack | Method::Cancel | Method::Bye | Method::Prack);
    message.code().is_none() && !follows && message.to().is_none_or(|to| to.tag().is_none())
}

fn entry(seen: &SipSeen<'_>, call_id: &str) -> Entry {
    let message = seen.message;
    let of = |name: Option<sip::NameAddr<'_>>| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (user, host) =
            name.map(|name| (name.uri.user.map(text), text(name.uri.host))).unwrap_or_default();
        party(user.as_deref(), Some(host).as_deref().filter(|host| !host.is_empty()))
    };
    Entry {
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

fn kept(seen: &SipSeen<'_>, frames: &[Frame<'_>]) -> Sip {
    let found = seen.frames.iter().filter_map(|number| {
        let place = frames.binary_search_by_key(number, |frame| frame.number).ok()?;
        frames.get(place)
    });
    let found: Vec<&Frame<'_>> = found.take(MOST_FRAMES).collect();
    let raw = seen.message.raw();
    // The message of a datagram borrows from its frame: it need not be kept twice.
    let within = found.first().and_then(|frame| {
        let start = (raw.as_ptr() as usize).checked_sub(frame.data.as_ptr() as usize)?;
        let range = start..start.checked_add(raw.len())?;
        (frame.data.get(range.clone()) == Some(raw)).then_some(range)
    });
    Sip {
        time: seen.time,
        src: seen.src,
        dst: seen.dst,
        transport: seen.transport,
        label: cut(&message::label(seen.message)).into(),
        code: seen.message.code(),
        retransmission: seen.retransmission,
        whole: found.len() == seen.frames.len(),
        frames: found
            .into_iter()
            .map(|frame| CapturedFrame {
                time: frame.time,
                number: frame.number,
                link: frame.link,
                wire_len: frame.wire_len,
                data: frame.data.into(),
            })
            .collect(),
        text: within.map_or_else(|| Text::Apart(raw.into()), Text::Within),
    }
}

fn party(user: Option<&str>, host: Option<&str>) -> Box<str> {
    let text = match (user, host) {
        (Some(user), Some(host)) => format!("{user}@{host}"),
        (Some(one), None) | (None, Some(one)) => one.to_string(),
        (None, None) => String::new(),
    };
    cut(&text).into()
}

/// As much of a text as is ever shown: a stranger's name can be as long as a datagram.
fn cut(text: &str) -> &str {
    const MOST: usize = 256;
    text.char_indices().nth(MOST).map_or(text, |(end, _)| &text[..end])
}

/// What the terminal's thread sees: shared, and never changed.
#[derive(Clone, Debug)]
pub struct View {
    /// In order of their serial.
    pub entries: Arc<Vec<Arc<Entry>>>,
    /// Counts of everything that passed.
    pub totals: Totals,
    /// What the engine counted.
    pub counters: Counters,
    /// Calls and streams that the engine follows.
    pub under_way: (usize, usize),
    /// Where the packets come from.
    pub source: String,
    /// Packets lost before the engine, by place.
    pub lost: Vec<(String, u64)>,
    /// Packets and bits per second, of late.
    pub rate: (f64, f64),
    /// Time of the capture.
    pub now: Nanos,
    /// The input has ended; why, where it is no file's end.
    pub over: Option<String>,
    /// The ceilings in force.
    pub limits: Limits,
}

impl View {
    /// Before the first packet.
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

/// Whether a state is one of a call that people talk in, or wait in.
pub fn is_under_way(entry: &Entry) -> bool {
    let states = [CallState::Active, CallState::Ringing, CallState::Trying];
    !entry.ended && entry.call.as_ref().is_some_and(|call| states.contains(&call.state))
}

/// The ids of calls under way among `entries`.
pub fn ids<'a>(entries: impl Iterator<Item = &'a Arc<Entry>>) -> Vec<Id> {
    entries.filter(|entry| !entry.ended).filter_map(|entry| Some(entry.call.as_ref()?.id)).collect()
}

/// Bytes of an entry beside its messages and streams: the record with its texts, and its places in the
/// tables.
const RECORD: usize = 2_048;
/// Bytes of ten seconds of a stream.
const INTERVAL: usize = 96;
/// A message over TCP can be cut into as many segments as it has bytes.
const MOST_FRAMES: usize = 64;

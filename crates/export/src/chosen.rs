//! Chooses the calls of a capture that a report shows, and reads their messages and sound.

use std::collections::{BTreeMap, HashMap, HashSet};

use ringtap_engine::{RtcpSeen, RtpSeen, Sink, SipSeen, StreamEnd};
use ringtap_model::{Call, Filter, Message, Nanos, Registration, Stream};
use ringtap_report::calls::{Sort, loss_pct, worst};
use ringtap_report::html::MessageText;
use ringtap_report::summary::Summary;

use crate::collect::{CallCollector, Sound};
use crate::find::{FoundCall, Listener, SelectedCalls, TimeRange};
use crate::steps::Steps;

/// Which calls are chosen among.
#[derive(Clone, Copy)]
pub enum Choice<'a> {
    /// Calls, streams and other records that a filter selects.
    Filter(&'a Filter),
    /// Calls with these Call-IDs, and nothing else.
    CallIds(&'a HashSet<String>),
}

impl Choice<'_> {
    fn has_call(self, call: &Call, streams: &[StreamEnd]) -> bool {
        match self {
            Self::CallIds(names) => names.contains(&call.call_id),
            Self::Filter(filter) if !filter.needs_streams() => filter.selects_call(call, &[]),
            Self::Filter(filter) => {
                let records: Vec<Stream> = streams.iter().map(|stream| stream.record.clone()).collect();
                filter.selects_call(call, &records)
            }
        }
    }
}

/// A sink that keeps the first calls of an order, with their streams, and counts all that are chosen among.
pub struct Chooser<'a> {
    choice: Choice<'a>,
    sort: Sort,
    most: usize,
    calls: Vec<FoundCall>,
    streams: Vec<Stream>,
    /// Figures of all calls that pass.
    pub summary: Summary,
    /// Calls that pass.
    pub passed: u64,
    /// Streams without a call.
    pub loose: u64,
}

impl<'a> Chooser<'a> {
    /// Keeps at most `most` calls, and as many streams without a call.
    pub fn new(choice: Choice<'a>, sort: Sort, most: usize) -> Self {
        Self {
            choice,
            sort,
            most,
            calls: Vec::new(),
            streams: Vec::new(),
            summary: Summary::default(),
            passed: 0,
            loose: 0,
        }
    }

    /// The chosen calls and streams in their order.
    pub fn chosen(&mut self) -> (Vec<FoundCall>, Vec<Stream>) {
        self.cut();
        self.streams.sort_by_key(|stream| stream.first);
        self.streams.truncate(self.most);
        (std::mem::take(&mut self.calls), std::mem::take(&mut self.streams))
    }

    fn cut(&mut self) {
        let sort = self.sort;
        self.calls.sort_by(|a, b| {
            let (one, other) = (key(sort, a), key(sort, b));
            one.total_cmp(&other).then(a.call.start().cmp(&b.call.start()))
        });
        self.calls.truncate(self.most);
    }
}

/// What is worst comes first, what is not known last.
fn key(sort: Sort, found: &FoundCall) -> f64 {
    let stream = || worst(found.streams.iter().map(|stream| &stream.record));
    let known = match sort {
        Sort::Time => found.call.start().map(|start| start.secs_f64()),
        Sort::Mos => found.call.mos,
        Sort::Loss => stream().map(|stream| -loss_pct(stream)),
        Sort::Jitter => stream().and_then(|stream| stream.jitter_ms_max).map(|jitter| -jitter),
        Sort::Pdd => found.call.pdd_ms.map(|pdd| -pdd),
        Sort::Length => found.call.duration_ms.map(|length| -length),
    };
    known.unwrap_or(f64::INFINITY)
}

impl Sink for Chooser<'_> {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        if !self.choice.has_call(&call, &streams) {
            return self.summary.left_out();
        }
        self.passed += 1;
        self.summary.call(&call);
        streams.iter().for_each(|stream| self.summary.stream(&stream.record));
        self.calls.push(FoundCall { call, streams });
        if self.calls.len() >= self.most.saturating_mul(2).max(64) {
            self.cut();
        }
    }

    fn stream(&mut self, stream: StreamEnd) {
        if let Choice::Filter(filter) = self.choice
            && filter.selects_stream(&stream.record, None)
        {
            self.loose += 1;
            self.summary.stream(&stream.record);
            if self.streams.len() < self.most {
                self.streams.push(stream.record);
            }
        }
    }

    fn registration(&mut self, registration: Registration) {
        if let Choice::Filter(filter) = self.choice
            && filter.selects_registration(&registration)
        {
            self.summary.registration(&registration);
        }
    }

    fn message(&mut self, message: Message) {
        if let Choice::Filter(filter) = self.choice
            && filter.selects_message(&message)
        {
            self.summary.message();
        }
    }
}

impl Listener for Chooser<'_> {}

/// Messages and RTCP of a call.
#[derive(Default)]
pub struct CallTexts {
    /// Its messages as steps of a ladder.
    pub steps: Steps,
    /// Its messages as text.
    pub texts: Vec<MessageText>,
    /// Messages whose text was left out at a limit.
    pub left_out: u64,
}

/// A sink that collects the messages of many calls at once, up to a number of bytes.
pub struct Texts {
    calls: HashMap<Vec<u8>, CallTexts>,
    /// Times of the RTCP about a stream, by its serial.
    reports: HashMap<u64, Vec<Nanos>>,
    /// Bytes that messages may still take.
    room: usize,
}

impl Texts {
    /// Collects for these calls, at most `room` bytes of text.
    pub fn new(calls: &[FoundCall], room: usize) -> Self {
        let names = calls.iter().map(|found| found.call.call_id.clone().into_bytes());
        let serials = calls.iter().flat_map(|found| &found.streams).map(|stream| stream.serial);
        Self {
            calls: names.map(|name| (name, CallTexts::default())).collect(),
            reports: serials.map(|serial| (serial, Vec::new())).collect(),
            room,
        }
    }

    /// What was collected under a Call-ID.
    pub fn of(&self, call: &Call) -> Option<&CallTexts> {
        self.calls.get(call.call_id.as_bytes())
    }

    /// Times of the RTCP about a stream.
    pub fn reports(&self, serial: u64) -> Vec<Nanos> {
        self.reports.get(&serial).cloned().unwrap_or_default()
    }
}

impl Sink for Texts {
    const PACKETS: bool = true;

    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        let Some(call_id) = seen.message.call_id() else { return };
        // As records have it: bytes that are not UTF-8 are replaced.
        let call_id = String::from_utf8_lossy(call_id);
        let Some(call) = self.calls.get_mut(call_id.as_bytes()) else { return };
        call.steps.push(seen);
        if seen.mirrored {
            return;
        }
        let raw = seen.message.raw();
        if call.texts.len() >= MOST_TEXTS || raw.len() > self.room {
            call.left_out += 1;
            return;
        }
        self.room -= raw.len();
        let text = String::from_utf8_lossy(raw).into_owned();
        call.texts.push(MessageText { time: seen.time, src: seen.src, dst: seen.dst, text });
    }

    fn rtcp(&mut self, seen: &RtcpSeen<'_>) {
        if let Some(times) = self.reports.get_mut(&seen.serial)
            && times.len() < MOST_REPORTS
        {
            times.push(seen.time);
        }
    }
}

impl Listener for Texts {}

/// The calls in the order given, each with the range of time in which messages with its Call-ID belong to
/// it.
pub fn with_ranges(calls: Vec<FoundCall>) -> Vec<(FoundCall, TimeRange)> {
    let mut of: BTreeMap<String, Vec<(usize, FoundCall)>> = BTreeMap::new();
    for (place, found) in calls.into_iter().enumerate() {
        of.entry(found.call.call_id.clone()).or_default().push((place, found));
    }
    let mut all: Vec<(usize, (FoundCall, TimeRange))> = Vec::new();
    for mut same in of.into_values() {
        same.sort_by_key(|(_, found)| found.call.start());
        let (places, found): (Vec<_>, Vec<_>) = same.into_iter().unzip();
        all.extend(places.into_iter().zip(SelectedCalls::of(found, "").0));
    }
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, call)| call).collect()
}

/// A sink that collects the sound of several calls in one pass.
pub struct Sounds<'a> {
    collectors: Vec<CallCollector<'a>>,
    by_serial: HashMap<u64, usize>,
    by_call_id: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Sounds<'a> {
    /// Collects into the sound beside each call.
    pub fn new(calls: Vec<(&'a SelectedCalls, Sound)>) -> Self {
        let mut sounds =
            Self { collectors: Vec::new(), by_serial: HashMap::new(), by_call_id: HashMap::new() };
        for (index, (call, sound)) in calls.into_iter().enumerate() {
            sounds.by_serial.extend(call.streams().map(|(_, stream)| (stream.serial, index)));
            sounds.by_call_id.entry(call.call_id()).or_default().push(index);
            sounds.collectors.push(CallCollector::new(call, sound, false));
        }
        sounds
    }

    /// The sound of each call, in the order given.
    pub fn finish(self) -> Vec<Sound> {
        self.collectors.into_iter().map(|collector| collector.finish().1).collect()
    }
}

impl Sink for Sounds<'_> {
    const PACKETS: bool = true;

    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        let call_id = seen.message.call_id().map(String::from_utf8_lossy).unwrap_or_default();
        for index in self.by_call_id.get(&*call_id).into_iter().flatten() {
            self.collectors[*index].sip(seen);
        }
    }

    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        if let Some(index) = self.by_serial.get(&seen.serial) {
            self.collectors[*index].rtp(seen);
        }
    }
}

impl Listener for Sounds<'_> {}

/// Most messages of a call as text.
const MOST_TEXTS: usize = 300;
/// Most RTCP reports of a stream that a ladder marks.
const MOST_REPORTS: usize = 1_000;

#[cfg(test)]
mod tests {
    use ringtap_model::Id;
    use ringtap_testing::samples;

    use super::*;

    fn call(index: u8, mos: Option<f64>) -> Call {
        let invite = Some(samples::START + Nanos::from_secs(index.into()));
        Call { id: Id([index; 16]), call_id: format!("c{index}"), mos, invite, ..samples::call() }
    }

    #[test]
    fn the_first_of_the_order_stay_and_all_are_counted() {
        let names: HashSet<String> = (0..200).filter(|n| *n != 3).map(|n| format!("c{n}")).collect();
        let mut chooser = Chooser::new(Choice::CallIds(&names), Sort::Mos, 2);
        for index in 0..200_u8 {
            chooser.call(call(index, (index != 7).then(|| 4.5 - f64::from(index) / 100.0)), Vec::new());
        }
        let (calls, _) = chooser.chosen();
        let names: Vec<_> = calls.iter().map(|found| found.call.call_id.as_str()).collect();
        assert_eq!(names, ["c199", "c198"], "the lowest MOS");
        assert_eq!(chooser.passed, 199);
    }

    #[test]
    fn ranges_of_a_reused_call_id_do_not_change_the_order() {
        let reused = |index| FoundCall {
            call: Call { call_id: "same".into(), ..call(index, None) },
            streams: Vec::new(),
        };
        let other = FoundCall { call: call(2, None), streams: Vec::new() };
        let ranged = with_ranges(vec![reused(9), other, reused(1)]);
        let at = |secs| samples::START + Nanos::from_secs(secs);
        assert_eq!(ranged[1].0.call.call_id, "c2");
        assert!(ranged[0].1.contains(at(9)) && !ranged[0].1.contains(at(8)));
        assert!(ranged[2].1.contains(at(8)) && !ranged[2].1.contains(at(9)));
    }
}

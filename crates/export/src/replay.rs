//! Runs a call's packets through an engine again, for its messages, streams and sound.

use std::collections::HashMap;

use ringtap_audio::Decoders;
use ringtap_engine::{RtcpSeen, Sink, SipSeen, StreamEnd};
use ringtap_model::{Call, Endpoint, Message, Nanos, Registration, Stream, Transport};
use ringtap_report::ladder::Band;
use ringtap_report::streams::codec;
use ringtap_report::style::Style;
use serde_json::{Value, json};

use crate::collect::{CallCollector, Sound, Undecoded};
use crate::find::{FoundCall, SelectedCalls};
use crate::source::Source;
use crate::steps::Steps;

/// Messages and streams that an engine finds in the packets of one call.
#[derive(Default)]
pub struct Replay {
    /// Call records of this engine: one if the call is complete.
    pub calls: Vec<Call>,
    /// Streams, whether they belong to a call or not, in order of their first packet.
    pub streams: Vec<StreamEnd>,
    /// Messages for the ladder.
    pub steps: Steps,
    /// Messages as JSON.
    pub messages: Vec<Value>,
    /// Times of the RTCP packets about each stream, by its serial.
    reports: HashMap<u64, Vec<Nanos>>,
}

impl Replay {
    /// Sorts the streams by their first packet. Call it after the last packet.
    pub fn sorted(mut self) -> Self {
        self.streams.sort_by_key(|stream| (stream.record.first, stream.serial));
        self
    }

    /// The call with its streams: `record`, or the first call record of this engine. `None` if there is
    /// neither.
    pub fn selected(&self, record: Option<Call>) -> Option<SelectedCalls> {
        let call = record.or_else(|| self.calls.first().cloned())?;
        let mut streams = self.streams.clone();
        for stream in &mut streams {
            stream.record.call = Some(call.id);
            stream.record.call_id = Some(call.call_id.clone());
        }
        Some(SelectedCalls::of(vec![FoundCall { call, streams }], ""))
    }

    /// The call's sound, and the streams that are not in it.
    pub fn sound(
        selected: &SelectedCalls,
        source: &mut Source<'_>,
        decoders: &dyn Decoders,
    ) -> anyhow::Result<(Sound, Vec<Undecoded>)> {
        let (sound, mute) = Sound::of(selected, true, decoders);
        let mut collector = CallCollector::new(selected, sound, false);
        source.run(&mut collector)?;
        Ok((collector.finish().1, mute))
    }

    /// The streams as bands of the ladder.
    pub fn bands(&self) -> Vec<Band> {
        self.streams
            .iter()
            .map(|end| band(&end.record, self.reports.get(&end.serial).cloned().unwrap_or_default()))
            .collect()
    }
}

/// A stream as the ladder draws it.
pub fn band(stream: &Stream, reports: Vec<Nanos>) -> Band {
    let mut label = format!("RTP {}", codec(stream));
    if stream.lost > 0 {
        let share = 100.0 * stream.lost as f64 / (stream.lost + stream.unique) as f64;
        label.push_str(&format!(", {share:.1} % lost"));
    }
    if let Some(mos) = stream.mos {
        label.push_str(&format!(", MOS {mos:.2}"));
    }
    Band {
        src: stream.src,
        dst: stream.dst,
        first: stream.first,
        last: stream.last,
        label,
        packets: stream.packets,
        style: Style::of_mos(stream.mos),
        reports,
    }
}

impl Sink for Replay {
    const PACKETS: bool = true;

    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.calls.push(call);
        self.streams.extend(streams);
    }

    fn stream(&mut self, stream: StreamEnd) {
        self.streams.push(stream);
    }

    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        self.steps.push(seen);
        self.messages.push(message_json(seen));
    }

    fn rtcp(&mut self, seen: &RtcpSeen<'_>) {
        self.reports.entry(seen.serial).or_default().push(seen.time);
    }
}

/// A message as JSON.
fn message_json(seen: &SipSeen<'_>) -> Value {
    let end = |endpoint: Endpoint| endpoint.to_string();
    let message = seen.message;
    json!({
        "type": "sip",
        "time_us": seen.time.micros(),
        "src": end(seen.src),
        "dst": end(seen.dst),
        "transport": transport(seen.transport),
        "method": message.method().name(),
        "code": message.code(),
        "label": ringtap_report::message::label(message),
        "retransmission": seen.retransmission,
        "mirrored": seen.mirrored,
        "text": String::from_utf8_lossy(message.raw()),
    })
}

fn transport(transport: Transport) -> Value {
    serde_json::to_value(transport).unwrap_or(Value::Null)
}

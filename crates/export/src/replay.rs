//! A call's packets through an engine again: what was said when, which streams there were, how it sounds.

use std::collections::HashMap;

use ringtap_audio::Decoders;
use ringtap_engine::{Config, Engine, RtcpSeen, Sink, SipSeen, StreamEnd};
use ringtap_model::{Call, Endpoint, Frame, Message, Nanos, Registration, Stream, Transport};
use ringtap_report::ladder::Band;
use ringtap_report::streams::codec;
use ringtap_report::style::Style;
use serde_json::{Value, json};

use crate::find::{Found, Meant};
use crate::source::Source;
use crate::steps::Steps;
use crate::take::{Sound, Taker};

/// What the packets of one call tell.
#[derive(Default)]
pub struct Replay {
    /// Records that this engine makes: one, where the call is whole.
    pub calls: Vec<Call>,
    /// Streams, of a call or not, in order of their first packet.
    pub streams: Vec<StreamEnd>,
    /// Its messages, for the ladder.
    pub steps: Steps,
    /// Messages for programs.
    pub messages: Vec<Value>,
    /// When each stream was reported on, by its serial.
    reports: HashMap<u64, Vec<Nanos>>,
}

impl Replay {
    /// In order of their first packet, once all packets have passed.
    pub fn sorted(mut self) -> Self {
        self.streams.sort_by_key(|stream| (stream.record.first, stream.serial));
        self
    }

    /// The call that this is, with its streams: `record`, or the first that this engine made. `None` where
    /// there was neither.
    pub fn meant(&self, record: Option<Call>) -> Option<Meant> {
        let call = record.or_else(|| self.calls.first().cloned())?;
        let mut streams = self.streams.clone();
        for stream in &mut streams {
            stream.record.call = Some(call.id);
            stream.record.call_id = Some(call.call_id.clone());
        }
        Some(Meant::of(vec![Found { call, streams }], ""))
    }

    /// The call's sound, and a sentence for each stream that cannot be decoded.
    pub fn sound(
        meant: &Meant,
        source: &mut Source<'_>,
        decoders: &dyn Decoders,
    ) -> anyhow::Result<(Sound, Vec<String>)> {
        let (sound, mute) = Sound::of(meant, true, decoders);
        let mut taker = Taker::new(meant, sound, false);
        source.run(&mut taker)?;
        Ok((taker.taken().1, mute))
    }

    /// Its streams, for the ladder.
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

/// A new engine: the same frames give the same serials, run after run. Their numbers ascend.
pub fn run<S: Sink>(frames: &[Frame<'_>], config: &Config, sink: &mut S) {
    let mut engine = Engine::new(config.clone());
    for batch in frames.chunks(512) {
        engine.batch(batch, sink);
    }
    engine.close(sink);
}

/// Room for so many packets of one call, which has few of everything: many may be exported one after the
/// other.
pub fn small(packets: usize) -> Config {
    let few = packets.clamp(64, 100_000);
    Config {
        max_calls: few.min(1_000),
        max_streams: few,
        max_registrations: few.min(1_000),
        max_messages: few.min(1_000),
        max_fragmented: 256,
        max_connections: few.min(1_000),
        ..Config::default()
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
        self.messages.push(said(seen));
    }

    fn rtcp(&mut self, seen: &RtcpSeen<'_>) {
        self.reports.entry(seen.serial).or_default().push(seen.time);
    }
}

/// A message for programs.
fn said(seen: &SipSeen<'_>) -> Value {
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

//! The SIP messages of a call, and the ladder that they make.

use std::io;
use std::sync::Arc;

use ringtap_anonymise::Tokens;
use ringtap_engine::{Sink, SipSeen, StreamEnd};
use ringtap_export::find::Listener;
use ringtap_model::{Call, Endpoint, Message, Nanos, Registration};
use ringtap_report::ladder::{self, Page, Step, StepKind};
use ringtap_report::message;
use ringtap_store::RunningSearch;
use ringtap_wire::sip;

/// Collects the messages of some Call-IDs while frames pass through an engine.
#[derive(Debug)]
pub struct MessageCollector {
    call_ids: Vec<Box<str>>,
    running: Arc<RunningSearch>,
    pub(crate) seen: Vec<SeenMessage>,
    bytes: usize,
    /// Messages after the ceiling.
    pub(crate) left_out: u64,
}

/// A message as it passed.
#[derive(Clone, Debug)]
pub(crate) struct SeenMessage {
    pub(crate) time: Nanos,
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    pub(crate) retransmission: bool,
    pub(crate) raw: Vec<u8>,
}

impl MessageCollector {
    /// Collects messages with one of these Call-IDs, until `running` is over.
    pub(crate) fn new(call_ids: Vec<Box<str>>, running: Arc<RunningSearch>) -> Self {
        Self { call_ids, running, seen: Vec::new(), bytes: 0, left_out: 0 }
    }
}

impl Sink for MessageCollector {
    const PACKETS: bool = true;

    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        let Some(call_id) = seen.message.call_id() else { return };
        let call_id = String::from_utf8_lossy(call_id);
        if seen.mirrored || !self.call_ids.iter().any(|wanted| **wanted == *call_id) {
            return;
        }
        let raw = seen.message.raw();
        if self.seen.len() >= MOST || self.bytes + raw.len() > MOST_BYTES {
            self.left_out += 1;
            return;
        }
        self.bytes += raw.len();
        let (time, src, dst, retransmission) = (seen.time, seen.src, seen.dst, seen.retransmission);
        self.seen.push(SeenMessage { time, src, dst, retransmission, raw: raw.to_vec() });
    }
}

impl Listener for MessageCollector {
    fn has_enough(&self) -> bool {
        self.running.is_over()
    }
}

impl SeenMessage {
    /// Its bytes as they may be shown: without names and numbers where those are hidden. What is no message
    /// is not shown then.
    pub(crate) fn shown(&self, tokens: Option<&Tokens>) -> Vec<u8> {
        match tokens {
            Some(tokens) => tokens.message(&self.raw).unwrap_or_default(),
            None => self.raw.clone(),
        }
    }
}

/// What a message is called in a ladder: `INVITE (SDP)`, `180 Ringing`.
pub(crate) fn label(raw: &[u8]) -> String {
    sip::Message::parse(raw).map(|message| message::label(&message)).unwrap_or_else(|_| "?".to_owned())
}

/// The lines of the ladder of these messages.
pub(crate) fn ladder(seen: &[SeenMessage], tokens: Option<&Tokens>) -> io::Result<Vec<String>> {
    let step = |seen: &SeenMessage| {
        let shown = seen.shown(tokens);
        let code = sip::Message::parse(&shown).ok().and_then(|message| message.code());
        Step {
            time: seen.time,
            src: seen.src,
            dst: seen.dst,
            label: label(&shown),
            style: message::style(code),
            retransmission: seen.retransmission,
            kind: StepKind::Message,
        }
    };
    let steps: Vec<Step> = seen.iter().map(step).collect();
    let mut drawn = Vec::new();
    ladder::draw(&mut drawn, &steps, Page { width: WIDTH, colour: false, ascii: true })?;
    Ok(String::from_utf8_lossy(&drawn).lines().map(|line| line.trim_end().to_owned()).collect())
}

/// Most messages of a call that are in memory.
const MOST: usize = 10_000;
/// Most bytes of them.
const MOST_BYTES: usize = 32 << 20;
/// Columns of a ladder.
const WIDTH: usize = 120;

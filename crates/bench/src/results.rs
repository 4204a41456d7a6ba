//! The engine's results, and their verification.

use ringtap_engine::{Engine, Sink, StreamEnd};
use ringtap_model::{Call, CallState, Endpoint, Message, Registration};

use crate::dialog::call_of;
use crate::error::{Error, same};
use crate::headers::Headers;
use crate::packets::{End, Side, media, ssrc};

/// Counts records and checks each against the call that its Call-ID names.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) calls: u64,
    /// Calls released by a BYE.
    pub(crate) completed: u64,
    /// Streams of calls.
    pub(crate) streams: u64,
    pub(crate) packets: u64,
    /// Streams without a call.
    pub(crate) loose: u64,
    /// Registrations and messages; none are expected.
    pub(crate) others: u64,
    /// Packets lost, duplicated or reordered.
    pub(crate) flaws: u64,
    /// Streams assigned to a wrong call, or with wrong endpoints.
    pub(crate) misplaced: u64,
    /// Calls with a wrong number of streams.
    pub(crate) uneven: u64,
    /// Expected streams per call.
    pub(crate) streams_each: usize,
    /// Below media.
    pub(crate) headers: Headers,
    /// The last that was read.
    pub(crate) read: Option<(Call, Vec<StreamEnd>)>,
}

impl Results {
    pub(crate) fn of_calls_with(streams: usize) -> Self {
        Self { streams_each: streams, ..Self::default() }
    }

    pub(crate) fn with(self, headers: Headers) -> Self {
        Self { headers, ..self }
    }

    /// Adds the results of another worker.
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.completed += other.completed;
        self.streams += other.streams;
        self.packets += other.packets;
        self.loose += other.loose;
        self.others += other.others;
        self.flaws += other.flaws;
        self.misplaced += other.misplaced;
        self.uneven += other.uneven;
    }

    /// Fails unless the results match the input exactly.
    pub(crate) fn verify(&self, expected: &Expected, engines: &[&Engine]) -> Result<(), Error> {
        same("calls", self.calls, expected.calls)?;
        same("released calls", self.completed, expected.completed)?;
        same("streams", self.streams, expected.calls * self.streams_each as u64)?;
        same("media packets of calls", self.packets, expected.packets)?;
        same("streams without a call", self.loose, 0)?;
        same("registrations and messages", self.others, 0)?;
        same("packets lost, repeated or out of order", self.flaws, 0)?;
        same("streams in the wrong call", self.misplaced, 0)?;
        same("calls without all their streams", self.uneven, 0)?;
        let messages: u64 = engines.iter().map(|engine| engine.counters().sip).sum();
        same("SIP messages", messages, expected.messages)?;
        for (reason, count) in engines.iter().flat_map(|engine| engine.counters().drops()) {
            same(reason, count, 0)?;
        }
        Ok(())
    }
}

/// The expected results.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Expected {
    pub(crate) calls: u64,
    pub(crate) completed: u64,
    pub(crate) packets: u64,
    pub(crate) messages: u64,
}

impl Sink for Results {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.calls += 1;
        self.completed += u64::from(call.state == CallState::Completed);
        self.uneven += u64::from(streams.len() != self.streams_each);
        let number = call_of(&call.call_id);
        for StreamEnd { record, .. } in &streams {
            self.streams += 1;
            self.packets += record.packets;
            self.flaws += record.lost + record.duplicates + record.reordered;
            let side = if record.ssrc & 1 == 0 { Side::Caller } else { Side::Callee };
            let right = number.is_some_and(|number| {
                record.ssrc == ssrc(number, side)
                    && record.src == endpoint(self.headers, media(number, side))
                    && record.dst == endpoint(self.headers, media(number, side.other()))
            });
            self.misplaced += u64::from(!right);
        }
        self.read = Some((call, streams));
    }

    fn give_back(&mut self) -> Option<(Call, Vec<StreamEnd>)> {
        self.read.take()
    }

    fn stream(&mut self, _: StreamEnd) {
        self.loose += 1;
    }

    fn registration(&mut self, _: Registration) {
        self.others += 1;
    }

    fn message(&mut self, _: Message) {
        self.others += 1;
    }
}

fn endpoint(headers: Headers, (host, port): End) -> Endpoint {
    Endpoint::new(headers.host(host), port)
}

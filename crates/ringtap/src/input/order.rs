//! Records of several workers, in an order that depends on the input alone.

use ringtap_engine::{Sink, StreamEnd};
use ringtap_export::find::Listener;
use ringtap_model::{Call, Id, Message, Registration, Transaction};

/// A record of a worker.
pub(super) enum Record {
    Call(Box<Call>, Vec<StreamEnd>),
    Stream(Box<StreamEnd>),
    Registration(Box<Registration>),
    Message(Box<Message>),
    Transaction(Box<Transaction>),
}

/// Collects records.
#[derive(Default)]
pub(super) struct Found(pub(super) Vec<Record>);

impl Sink for Found {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.0.push(Record::Call(Box::new(call), streams));
    }
    fn stream(&mut self, stream: StreamEnd) {
        self.0.push(Record::Stream(Box::new(stream)));
    }
    fn registration(&mut self, registration: Registration) {
        self.0.push(Record::Registration(Box::new(registration)));
    }
    fn message(&mut self, message: Message) {
        self.0.push(Record::Message(Box::new(message)));
    }
    fn transaction(&mut self, transaction: Transaction) {
        self.0.push(Record::Transaction(Box::new(transaction)));
    }
}

impl Record {
    /// Its place among the records of a tick. Which worker made it depends on the seed of the hashes, and
    /// tells nothing.
    pub(super) fn place(&self) -> (u8, u64, Id) {
        match self {
            Self::Call(call, _) => Self::place_of_call(call),
            Self::Stream(stream) => (1, stream.serial, stream.record.id),
            Self::Registration(registration) => (2, registration.first.0, registration.id),
            Self::Message(message) => (3, message.time.0, message.id),
            Self::Transaction(transaction) => (4, transaction.time.0, transaction.id),
        }
    }

    /// The place of a call's record, which its streams do not change.
    pub(super) fn place_of_call(call: &Call) -> (u8, u64, Id) {
        (0, call.start().unwrap_or_default().0, call.id)
    }

    pub(super) fn pass_to<S: Sink>(self, sink: &mut S) {
        match self {
            Self::Call(call, streams) => sink.call(*call, streams),
            Self::Stream(stream) => sink.stream(*stream),
            Self::Registration(registration) => sink.registration(*registration),
            Self::Message(message) => sink.message(*message),
            Self::Transaction(transaction) => sink.transaction(*transaction),
        }
    }
}

/// Passes records on to a sink as several workers would: those of each tick in order.
pub(super) struct InOrder<'a, S> {
    found: Found,
    sink: &'a mut S,
}

impl<'a, S: Sink> InOrder<'a, S> {
    pub(super) fn new(sink: &'a mut S) -> Self {
        Self { found: Found::default(), sink }
    }

    /// Passes on what has been found.
    pub(super) fn flush(&mut self) {
        if !self.found.0.is_empty() {
            pass_in_order(std::mem::take(&mut self.found.0), self.sink);
        }
    }
}

impl<S: Sink> Sink for InOrder<'_, S> {
    fn give_back(&mut self) -> Option<(Call, Vec<StreamEnd>)> {
        self.sink.give_back()
    }
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.found.call(call, streams);
    }
    fn stream(&mut self, stream: StreamEnd) {
        self.found.stream(stream);
    }
    fn registration(&mut self, registration: Registration) {
        self.found.registration(registration);
    }
    fn message(&mut self, message: Message) {
        self.found.message(message);
    }
    fn transaction(&mut self, transaction: Transaction) {
        self.found.transaction(transaction);
    }
    fn tick(&mut self) {
        self.flush();
    }
}

impl<S: Listener> Listener for InOrder<'_, S> {
    fn has_enough(&self) -> bool {
        self.sink.has_enough()
    }
}

/// Passes the records of one tick on, in order.
pub(super) fn pass_in_order<S: Sink>(mut records: Vec<Record>, sink: &mut S) {
    records.sort_by_cached_key(Record::place);
    records.into_iter().for_each(|record| record.pass_to(sink));
}

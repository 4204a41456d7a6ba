//! One connection to a mediation function, without the connection: what to do next, and what became of it.
//!
//! The clock comes with each call. The driver connects when [`Link::poll`] says so, tells the link what
//! happened, writes what [`Link::next_octets`] returns, and calls again no later than [`Link::deadline`].
//!
//! Arrival is confirmed by the answer to a keep-alive: what was sent before it has been read. Until then
//! a batch may have to be sent again. While confirmations are outstanding for a whole window, nothing new
//! is sent.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ringtap_model::Nanos;

use super::batch::Batch;
use crate::{Cin, Encoder, Mark, Number, Pdu, PduPayload, pdu_length};

/// How a connection is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// A keep-alive is sent at the latest so long after the last one (TS 102 232-1 clause 6.3.4).
    pub keep_alive: Duration,
    /// Its answer has to come within this time; within it, the peer has to read something, and accept a
    /// connection.
    pub wait: Duration,
    /// Product is sent for at most so long without a keep-alive behind it.
    pub confirm: Duration,
    /// Octets that are sent without being confirmed.
    pub window: u64,
    /// Wait after the first connection that failed; it doubles with each.
    pub retry: Duration,
    /// Longest wait.
    pub longest_retry: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            keep_alive: Duration::from_secs(60),
            wait: Duration::from_secs(30),
            confirm: Duration::from_secs(1),
            window: 4 << 20,
            retry: Duration::from_secs(1),
            longest_retry: Duration::from_secs(60),
        }
    }
}

/// What the driver has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Connect, and say what became of it.
    Connect,
    /// Drop the connection: it is no longer used.
    Disconnect,
    /// Nothing but write what [`Link::next_octets`] returns, and wait.
    Wait,
}

/// Why a connection ended, or was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// No connection could be made.
    NotConnected,
    /// The peer closed it, or it failed.
    Closed,
    /// The peer did not answer a keep-alive, or read nothing, for as long as it may.
    Silent,
    /// The peer sent what is no PDU.
    Garbage,
}

/// What happened on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Connections that were made.
    pub connections: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Connections that the peer closed, or that failed.
    pub closed: u64,
    /// Connections that were given up because the peer did not answer or read.
    pub silent: u64,
    /// Connections that were given up because the peer sent what is no PDU.
    pub garbage: u64,
    /// Keep-alives that were answered.
    pub answered: u64,
    /// PDUs of the peer that ask or answer nothing.
    pub ignored: u64,
    /// PDUs that were sent again because a connection ended.
    pub resent: u64,
}

#[derive(Debug)]
pub(crate) struct Link {
    pace: Pace,
    encoder: Encoder,
    state: State,
    /// Failures in a row.
    failures: u32,
    /// Batches that were sent and not confirmed, with their numbers.
    sent: VecDeque<Sent>,
    sent_bytes: u64,
    /// Batches before it were sent on some connection.
    sent_before: u64,
    /// Of the next keep-alive.
    sequence: u32,
    /// Batches that arrived: those before this number.
    confirmed: Option<u64>,
    pub(crate) counts: LinkCounts,
}

#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) number: u64,
    pub(crate) batch: Arc<Batch>,
}

#[derive(Debug)]
enum State {
    /// Connect, but not before this time.
    Apart(Nanos),
    /// Until this time.
    Connecting(Nanos),
    Connected(Connection),
    /// The driver has to drop the connection.
    Leaving,
}

#[derive(Debug)]
struct Connection {
    /// Octets of the peer that are not a whole PDU yet.
    received: Vec<u8>,
    /// Octets to write before anything else.
    out: Vec<u8>,
    /// Octets are with the driver since.
    writing_since: Option<Nanos>,
    /// Keep-alives without an answer.
    asked: VecDeque<Asked>,
    last_asked: Nanos,
    /// Octets of product behind the last keep-alive, and since when.
    uncovered: u64,
    uncovered_since: Nanos,
}

#[derive(Debug)]
struct Asked {
    sequence: u32,
    at: Nanos,
    /// The answer confirms the batches before this number.
    confirms: u64,
}

/// What the driver writes.
#[derive(Debug)]
pub(crate) enum Octets {
    /// A batch.
    Batch(Arc<Batch>),
    /// A keep-alive, or an answer to one.
    Own(Vec<u8>),
}

impl Octets {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Batch(batch) => &batch.pdus,
            Self::Own(octets) => octets,
        }
    }
}

impl Link {
    /// `encoder` makes the keep-alives. `first` is the number of the first batch that is not confirmed.
    pub(crate) fn new(pace: Pace, encoder: Encoder, first: u64) -> Self {
        Self {
            pace,
            encoder,
            state: State::Apart(Nanos::ZERO),
            failures: 0,
            sent: VecDeque::new(),
            sent_bytes: 0,
            sent_before: first,
            sequence: 0,
            confirmed: None,
            counts: LinkCounts::default(),
        }
    }

    /// What to do now. Call it after each other call, and at the [`deadline`](Self::deadline).
    pub(crate) fn poll(&mut self, now: Nanos) -> Action {
        match &mut self.state {
            State::Apart(until) if now >= *until => {
                self.state = State::Connecting(after(now, self.pace.wait));
                Action::Connect
            }
            State::Apart(_) => Action::Wait,
            State::Connecting(until) if now >= *until => {
                self.ended(now, Ended::NotConnected);
                Action::Disconnect
            }
            State::Connecting(_) => Action::Wait,
            State::Connected(connection) => {
                let is_silent =
                    connection.asked.front().is_some_and(|asked| now >= after(asked.at, self.pace.wait))
                        || connection.writing_since.is_some_and(|since| now >= after(since, self.pace.wait));
                if is_silent {
                    self.ended(now, Ended::Silent);
                    return Action::Disconnect;
                }
                Action::Wait
            }
            State::Leaving => {
                self.state = State::Apart(self.retry_at(now));
                Action::Disconnect
            }
        }
    }

    /// The time by which [`poll`](Self::poll) has to be called; None: only when something happens.
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        match &self.state {
            State::Apart(until) | State::Connecting(until) => Some(*until),
            State::Leaving => Some(Nanos::ZERO),
            State::Connected(connection) => {
                let answer = connection.asked.front().map(|asked| after(asked.at, self.pace.wait));
                let progress = connection.writing_since.map(|since| after(since, self.pace.wait));
                let ask = after(connection.last_asked, self.pace.keep_alive);
                let confirm =
                    (connection.uncovered > 0).then(|| after(connection.uncovered_since, self.pace.confirm));
                // While octets are with the driver, or too many keep-alives have no answer, none can be sent.
                let can_ask = connection.writing_since.is_none() && connection.asked.len() < MOST_ASKED;
                let (ask, confirm) = (can_ask.then_some(ask), confirm.filter(|_| can_ask));
                [answer, progress, ask, confirm].into_iter().flatten().min()
            }
        }
    }

    /// A connection was made.
    pub(crate) fn connected(&mut self, now: Nanos) {
        self.counts.connections += 1;
        self.state = State::Connected(Connection {
            received: Vec::new(),
            out: Vec::new(),
            writing_since: None,
            asked: VecDeque::new(),
            last_asked: now,
            uncovered: 0,
            uncovered_since: now,
        });
    }

    /// A connection could not be made, or ended. What was sent and not confirmed has to be sent again.
    pub(crate) fn ended(&mut self, now: Nanos, why: Ended) {
        self.end(why);
        self.state = State::Apart(self.retry_at(now));
    }

    /// The peer sent octets.
    pub(crate) fn received(&mut self, now: Nanos, octets: &[u8]) {
        let State::Connected(connection) = &mut self.state else { return };
        connection.received.extend_from_slice(octets);
        let mut from = 0;
        let result = loop {
            let rest = &connection.received[from..];
            match pdu_length(rest, MOST_ANSWER) {
                Ok(Some(length)) if length <= rest.len() => {
                    let pdu = Pdu::decode(&rest[..length]);
                    from += length;
                    match pdu.map(|pdu| (pdu.number, pdu.payload)) {
                        Ok((number, PduPayload::Mark(Mark::KeepAliveResponse))) => {
                            match connection.asked.iter().position(|asked| asked.sequence == number.sequence)
                            {
                                Some(at) => {
                                    let confirms = connection.asked[at].confirms;
                                    connection.asked.drain(..=at);
                                    self.failures = 0;
                                    self.counts.answered += 1;
                                    self.confirmed =
                                        Some(self.confirmed.map_or(confirms, |old| old.max(confirms)));
                                }
                                None => self.counts.ignored += 1,
                            }
                        }
                        Ok((number, PduPayload::Mark(Mark::KeepAlive)))
                            if connection.out.len() < MOST_ANSWERS =>
                        {
                            let answer =
                                self.encoder.mark(number, now, Mark::KeepAliveResponse, &mut connection.out);
                            self.counts.ignored += u64::from(answer.is_err());
                        }
                        _ => self.counts.ignored += 1,
                    }
                }
                Ok(_) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        connection.received.drain(..from);
        if result.is_err() {
            self.end(Ended::Garbage);
        }
    }

    /// Batches before the returned number arrived: they need not be kept any more. The batches that are
    /// returned with it are those that were sent on this connection.
    pub(crate) fn take_confirmed(&mut self) -> Option<(u64, Vec<Sent>)> {
        let confirmed = self.confirmed.take()?;
        let count = self.sent.iter().take_while(|sent| sent.number < confirmed).count();
        let arrived: Vec<Sent> = self.sent.drain(..count).collect();
        self.sent_bytes -= arrived.iter().map(|sent| sent.batch.bytes()).sum::<u64>();
        Some((confirmed, arrived))
    }

    /// What to write next; None for now. `next_batch` returns the next batch that waits, after a
    /// connection was made from the first one that is not confirmed. Call [`written`](Self::written) when
    /// all of it is written.
    pub(crate) fn next_octets(
        &mut self,
        now: Nanos,
        next_batch: impl FnOnce() -> Option<(u64, Arc<Batch>)>,
    ) -> Option<Octets> {
        let State::Connected(connection) = &mut self.state else { return None };
        if connection.writing_since.is_some() {
            return None;
        }
        if !connection.out.is_empty() {
            connection.writing_since = Some(now);
            return Some(Octets::Own(std::mem::take(&mut connection.out)));
        }
        let has_room = self.sent_bytes < self.pace.window;
        let asks_early = connection.uncovered >= self.pace.window / 4
            || (connection.uncovered > 0 && now >= after(connection.uncovered_since, self.pace.confirm))
            || (connection.uncovered > 0 && !has_room);
        let asks = asks_early || now >= after(connection.last_asked, self.pace.keep_alive);
        if asks && connection.asked.len() < MOST_ASKED {
            return self.keep_alive(now).map(Octets::Own);
        }
        if !has_room {
            return None;
        }
        let (number, batch) = next_batch()?;
        let bytes = batch.bytes();
        if connection.uncovered == 0 {
            connection.uncovered_since = now;
        }
        connection.uncovered += bytes;
        connection.writing_since = Some(now);
        if number < self.sent_before {
            self.counts.resent += batch.entries.len() as u64;
        }
        self.sent_before = self.sent_before.max(number + 1);
        self.sent_bytes += bytes;
        self.sent.push_back(Sent { number, batch: Arc::clone(&batch) });
        Some(Octets::Batch(batch))
    }

    fn keep_alive(&mut self, now: Nanos) -> Option<Vec<u8>> {
        let State::Connected(connection) = &mut self.state else { return None };
        let number = Number { cin: Cin(0), sequence: self.sequence };
        let mut pdu = Vec::new();
        // A mark always fits.
        self.encoder.mark(number, now, Mark::KeepAlive, &mut pdu).ok()?;
        let confirms = self.sent.back().map_or(0, |sent| sent.number + 1);
        connection.asked.push_back(Asked { sequence: self.sequence, at: now, confirms });
        connection.last_asked = now;
        connection.uncovered = 0;
        connection.writing_since = Some(now);
        self.sequence = self.sequence.wrapping_add(1);
        Some(pdu)
    }

    /// The peer's system took some octets, or all of them.
    pub(crate) fn written(&mut self, now: Nanos, all: bool) {
        if let State::Connected(connection) = &mut self.state {
            connection.writing_since = (!all).then_some(now);
        }
    }

    /// Whether there is a connection.
    pub(crate) fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected(_))
    }

    fn end(&mut self, why: Ended) {
        match why {
            Ended::NotConnected => self.counts.failed += 1,
            Ended::Closed => self.counts.closed += 1,
            Ended::Silent => self.counts.silent += 1,
            Ended::Garbage => self.counts.garbage += 1,
        }
        self.failures = self.failures.saturating_add(1);
        self.sent.clear();
        self.sent_bytes = 0;
        self.state = State::Leaving;
    }

    /// Waits double with each failure. An answered keep-alive ends the row; a connection alone does not,
    /// or a peer that accepts and closes would be tried without a pause.
    fn retry_at(&self, now: Nanos) -> Nanos {
        let doubled = self.pace.retry.saturating_mul(1 << self.failures.saturating_sub(1).min(16));
        after(now, doubled.min(self.pace.longest_retry))
    }
}

fn after(at: Nanos, wait: Duration) -> Nanos {
    Nanos(at.0.saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)))
}

/// Octets of a PDU of the peer: it says nothing long.
const MOST_ANSWER: usize = 4_096;
/// Octets of answers that wait: of more keep-alives of the peer, the further ones are ignored.
const MOST_ANSWERS: usize = 4_096;
/// Keep-alives without an answer.
const MOST_ASKED: usize = 16;

#[cfg(test)]
mod tests;

//! SIP MESSAGE (RFC 3428): one record per transaction, never the text.

use hashbrown::HashTable;
use ringtap_model::{Message as Record, Nanos};
use ringtap_wire::sip::{Header, Message, Method, NameAddr, StartLine};

use crate::context::{Context, Hop, SipMessage};
use crate::sink::Sink;
use crate::table::hash::{self, Hasher};
use crate::table::queues::Queues;
use crate::table::slots::{Slots, Ticket};
use crate::text::text;
use crate::tracker::{EngineTracker, Tracker, Wants};
use crate::trackers::callid::CallId;

/// Timer F (RFC 3261 section 17.1.2.2) and a margin.
const LIMIT: Nanos = Nanos::from_secs(40);

/// Ranks of transactions: without a final answer, and with one.
const WAITING: usize = 0;
const ANSWERED: usize = 1;

struct Entry {
    call_id: CallId,
    cseq: u32,
    hash: u64,
    record: Record,
    /// Bytes that the table counts for it.
    memory: usize,
}

/// The table of MESSAGE transactions.
pub(crate) struct Messages {
    entries: Slots<Entry>,
    index: HashTable<u32>,
    order: Queues,
    hasher: Hasher,
    /// Bytes that all hold, and may hold.
    memory: usize,
    max_memory: usize,
}

impl Tracker for Messages {
    const WANTS: Wants = Wants { sip: true, ..Wants::NOTHING };

    /// A MESSAGE or its response. The record is emitted when its time is over, so that every hop counts once.
    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        if sip.method == Method::Message {
            self.transaction(sip, cx);
        }
    }

    fn timer<S: Sink>(&mut self, ticket: Ticket, cx: &mut Context<'_, S>) {
        let Some(slot) = self.entries.redeem(ticket) else { return };
        let deadline = self.entries[slot].record.time + LIMIT;
        if deadline > cx.now() {
            cx.arm(deadline, ticket);
        } else if let Some(record) = self.remove(slot) {
            cx.sink.message(record);
        }
    }

    /// Every record that is left, in order of time.
    fn close<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        let mut slots = self.entries.indices();
        slots.sort_by_key(|slot| (self.entries[*slot].record.time, *slot));
        slots.into_iter().filter_map(|slot| self.remove(slot)).for_each(|record| cx.sink.message(record));
    }
}

impl EngineTracker for Messages {}

impl Messages {
    /// For up to `ceiling` transactions, which hold up to `max_memory` bytes together.
    pub(crate) fn new(ceiling: usize, max_memory: usize, hasher: Hasher) -> Self {
        let (entries, order) = (Slots::new(ceiling), Queues::new(2, ceiling));
        Self { entries, index: HashTable::new(), order, hasher, memory: 0, max_memory }
    }

    fn transaction<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        let SipMessage { message, call_id, hop, .. } = *sip;
        let cseq = message.cseq().map_or(0, |(number, _)| number);
        let hash = self.hasher.of((call_id, cseq));
        let found = self.index.find(hash, |slot| {
            let entry = &self.entries[*slot];
            entry.call_id.is(call_id) && entry.cseq == cseq
        });
        match (found.copied(), message.start()) {
            (None, StartLine::Request { .. }) => self.begin(call_id, cseq, hash, message, hop, cx),
            // A challenge is no final answer to what is sent again under another number; the last one counts.
            (Some(slot), StartLine::Response { code, .. }) if code >= 200 => {
                self.entries[slot].record.code = code;
                self.order.push(slot, ANSWERED);
            }
            _ => {}
        }
    }

    fn begin<S: Sink>(
        &mut self,
        call_id: &[u8],
        cseq: u32,
        hash: u64,
        message: &Message<'_>,
        hop: &Hop,
        cx: &mut Context<'_, S>,
    ) {
        if self.entries.is_full() || self.memory > self.max_memory {
            self.make_room(cx);
        }
        let time = hop.time.micros().to_le_bytes();
        let (src, dst) = (hop.src.ip.to_string(), hop.dst.ip.to_string());
        let parts = [call_id, &cseq.to_le_bytes(), &time, src.as_bytes(), dst.as_bytes()];
        let kept = CallId::new(call_id);
        let record = Record {
            id: hash::id("message", parts),
            call_id: kept.text(),
            src: hop.src,
            dst: hop.dst,
            from: message.from().and_then(|from| party(&from)),
            to: message.to().and_then(|to| party(&to)),
            content_type: message.header(Header::ContentType).and_then(text).map(Into::into),
            size: message.body().len() as u32,
            time: hop.time,
            code: 0,
        };
        let memory = size_of::<Entry>() + kept.heap_bytes() + heap_bytes(&record);
        let has_room = self.memory <= self.max_memory;
        let entry = Entry { call_id: kept, cseq, hash, record, memory };
        let Some(slot) = self.entries.insert_if(has_room, entry) else {
            cx.counters.messages_refused += 1;
            return;
        };
        self.memory += memory;
        self.order.push(slot, WAITING);
        let entries = &self.entries;
        self.index.insert_unique(hash, slot, |slot| entries[*slot].hash);
        cx.arm(hop.time + LIMIT, self.entries.ticket(slot));
    }

    /// The oldest transaction of the more frequent rank gives way: its record is made early.
    #[cold]
    fn make_room<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        let rank = if self.order.len(ANSWERED) > self.order.len(WAITING) { ANSWERED } else { WAITING };
        if let Some(record) = self.order.oldest(rank).and_then(|slot| self.remove(slot)) {
            cx.counters.messages_evicted += 1;
            cx.sink.message(record);
        }
    }

    fn remove(&mut self, slot: u32) -> Option<Record> {
        let entry = self.entries.remove(slot)?;
        self.order.remove(slot);
        self.memory -= entry.memory;
        if let Ok(found) = self.index.find_entry(entry.hash, |other| *other == slot) {
            found.remove();
        }
        Some(entry.record)
    }
}

/// What a record holds on the heap, in bytes.
fn heap_bytes(record: &Record) -> usize {
    let texts = [&record.from, &record.to, &record.content_type];
    record.call_id.len() + texts.into_iter().flatten().map(String::len).sum::<usize>()
}

fn party(address: &NameAddr<'_>) -> Option<String> {
    let parts = match address.uri.user {
        Some(user) => [user, b"@", address.uri.host].concat(),
        None => address.uri.host.to_vec(),
    };
    text(&parts).map(Into::into)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Sip, Tap, at, request, response};

    fn message(cseq: u32) -> Sip {
        request("MESSAGE", cseq).body("text/plain", "hello")
    }

    #[test]
    fn a_message_is_recorded_with_its_size_and_final_code_never_its_text() {
        let mut tap = Tap::new();
        tap.caller(0, message(1));
        tap.callee(50, response("100 Trying", "MESSAGE", 1));
        tap.callee(100, response("202 Accepted", "MESSAGE", 1));
        let record = &tap.close().messages[0];
        assert_eq!((record.code, record.size, record.time), (202, 5, at(0)));
        assert_eq!(
            (record.from.as_deref(), record.to.as_deref()),
            (Some("alice@example.com"), Some("bob@example.com"))
        );
        assert_eq!(record.content_type.as_deref(), Some("text/plain"));
        assert!(!format!("{record:?}").contains("hello"));
    }

    #[test]
    fn each_sequence_number_is_a_message_of_its_own_and_hops_and_copies_are_none() {
        let mut tap = Tap::new();
        tap.caller(0, message(1));
        tap.caller(10, message(1));
        tap.udp(20, "198.51.100.1:5060", "203.0.113.1:5060", &message(1).bytes());
        tap.caller(1000, message(2));
        tap.callee(1100, response("200 OK", "MESSAGE", 2));
        let codes: Vec<u16> = tap.close().messages.iter().map(|record| record.code).collect();
        assert_eq!(codes, [0, 200]);
    }

    #[test]
    fn a_message_is_recorded_when_its_time_is_over() {
        let mut tap = Tap::new();
        tap.caller(0, message(1));
        tap.callee(100, response("200 OK", "MESSAGE", 1));
        tap.wait_until(40_000);
        assert!(tap.records.messages.is_empty());
        tap.wait_until(41_000);
        assert_eq!(tap.records.messages.len(), 1);
        // What comes later begins nothing.
        tap.callee(42_000, response("200 OK", "MESSAGE", 1));
        assert_eq!(tap.close().messages.len(), 1);
    }

    #[test]
    fn at_the_ceiling_the_oldest_message_is_recorded_early_and_counted() {
        let mut tap = Tap::with(|config| config.max_messages = 2);
        (1..=3).for_each(|number| tap.caller(u64::from(number), message(number)));
        assert_eq!(tap.engine.counters().messages_evicted, 1);
        assert_eq!(tap.records.messages[0].time, at(1));
        tap.callee(10, response("200 OK", "MESSAGE", 2));
        tap.callee(11, response("200 OK", "MESSAGE", 3));
        tap.caller(20, message(4));
        assert_eq!(tap.records.messages[1].code, 200);
        assert_eq!((tap.engine.counters().messages_refused, tap.close().messages.len()), (0, 4));
    }

    #[test]
    fn messages_that_the_end_of_the_input_cuts_come_in_order_of_time() {
        let mut tap = Tap::new();
        tap.caller(5000, message(1));
        tap.caller(1000, message(2));
        let times: Vec<_> = tap.close().messages.iter().map(|record| record.time).collect();
        assert_eq!(times, [at(1000), at(5000)]);
    }
}

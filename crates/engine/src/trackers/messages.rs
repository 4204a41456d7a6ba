//! SIP MESSAGE (RFC 3428): one record per transaction, never the text.

use hashbrown::HashTable;
use ringtap_model::{Message as Record, Nanos};
use ringtap_wire::sip::{Header, Message, Method, NameAddr, StartLine};

use crate::context::{Context, Hop, SipMessage};
use crate::sink::Sink;
use crate::table::hash::{self, Hasher};
use crate::table::slots::{Slots, Ticket};
use crate::text::text;
use crate::tracker::{EngineTracker, Tracker, Wants};

/// Timer F (RFC 3261 section 17.1.2.2) and a margin.
const LIMIT: Nanos = Nanos::from_secs(40);

struct Entry {
    call_id: Box<[u8]>,
    cseq: u32,
    hash: u64,
    record: Record,
}

/// The table of MESSAGE transactions.
pub(crate) struct Messages {
    entries: Slots<Entry>,
    index: HashTable<u32>,
    hasher: Hasher,
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
        let record = self.entries.redeem(ticket).and_then(|slot| self.remove(slot));
        if let Some(record) = record {
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
    pub(crate) fn new(ceiling: usize, hasher: Hasher) -> Self {
        Self { entries: Slots::new(ceiling), index: HashTable::new(), hasher }
    }

    fn transaction<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        let SipMessage { message, call_id, hop, .. } = *sip;
        let cseq = message.cseq().map_or(0, |(number, _)| number);
        let hash = self.hasher.of((call_id, cseq));
        let found = self.index.find(hash, |slot| {
            let entry = &self.entries[*slot];
            *entry.call_id == *call_id && entry.cseq == cseq
        });
        match (found.copied(), message.start()) {
            (None, StartLine::Request { .. }) => self.begin(call_id, cseq, hash, message, hop, cx),
            // A challenge is no final answer to what is sent again under another number; the last one counts.
            (Some(slot), StartLine::Response { code, .. }) if code >= 200 => {
                self.entries[slot].record.code = code
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
        let time = hop.time.micros().to_le_bytes();
        let (src, dst) = (hop.src.ip.to_string(), hop.dst.ip.to_string());
        let parts = [call_id, &cseq.to_le_bytes(), &time, src.as_bytes(), dst.as_bytes()];
        let record = Record {
            id: hash::id("message", parts),
            call_id: String::from_utf8_lossy(call_id).into_owned(),
            src: hop.src,
            dst: hop.dst,
            from: message.from().and_then(|from| party(&from)),
            to: message.to().and_then(|to| party(&to)),
            content_type: message.header(Header::ContentType).and_then(text).map(Into::into),
            size: message.body().len() as u32,
            time: hop.time,
            code: 0,
        };
        let Some(slot) = self.entries.insert(Entry { call_id: call_id.into(), cseq, hash, record }) else {
            cx.counters.messages_refused += 1;
            return;
        };
        let entries = &self.entries;
        self.index.insert_unique(hash, slot, |slot| entries[*slot].hash);
        cx.arm(hop.time + LIMIT, self.entries.ticket(slot));
    }

    fn remove(&mut self, slot: u32) -> Option<Record> {
        let entry = self.entries.remove(slot)?;
        if let Ok(found) = self.index.find_entry(entry.hash, |other| *other == slot) {
            found.remove();
        }
        Some(entry.record)
    }
}

fn party(address: &NameAddr<'_>) -> Option<String> {
    let parts = match address.uri.user {
        Some(user) => [user, b"@", address.uri.host].concat(),
        None => address.uri.host.to_vec(),
    };
    text(&parts).map(Into::into)
}

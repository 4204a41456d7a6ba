//! Registrations: RFC 3261 section 10, one record per Call-ID and address of record.

mod attempts;

use hashbrown::HashTable;
use ringtap_model::{Endpoint, Nanos, Registration, RegistrationState};
use ringtap_wire::sip::{Header, Message, Method, StartLine};

use crate::context::{Context, Hop, SipMessage};
use crate::sink::{RegistrationAttempt, Sink};
use crate::table::hash::{self, Hasher};
use crate::table::queues::Queues;
use crate::table::slots::{Slots, Ticket};
use crate::text::text;
use crate::tracker::{EngineTracker, Tracker, Wants};
use crate::trackers::callid::CallId;
use attempts::{ANSWER_LIMIT, Attempts, EndedAttempt, Request};

/// RFC 3261 section 10.2.1.1 leaves the default to the registrar; an hour is what nearly all take.
const DEFAULT_EXPIRES: u32 = 3600;
/// A binding that is not refreshed ends after a week, whatever was granted: 136 years would pin its entry.
const LONGEST_BINDING: Nanos = Nanos::from_secs(604_800);

/// Ranks of registrations: those that nobody has accepted, and those that are active.
const WAITING: usize = 0;
const ACTIVE: usize = 1;

struct Entry {
    call_id: CallId,
    aor: Box<str>,
    hash: u64,
    contact: Option<Box<str>>,
    src: Endpoint,
    dst: Endpoint,
    user_agent: Option<Box<str>>,
    state: RegistrationState,
    code: u16,
    first: Nanos,
    last: Nanos,
    /// What the newest REGISTER asks for, in seconds.
    asked: u32,
    expires: Option<Nanos>,
    requests: u32,
    attempts: Attempts,
    /// Bytes that the table counts for it.
    memory: usize,
}

/// The table of registrations.
pub(crate) struct Registrations {
    entries: Slots<Entry>,
    index: HashTable<u32>,
    order: Queues,
    hasher: Hasher,
    /// Bytes that all hold, and may hold.
    memory: usize,
    max_memory: usize,
}

impl Tracker for Registrations {
    const WANTS: Wants = Wants { sip: true, ..Wants::NOTHING };

    /// A REGISTER or its response.
    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        if sip.method == Method::Register {
            self.register(sip, cx);
        }
    }

    fn timer<S: Sink>(&mut self, ticket: Ticket, cx: &mut Context<'_, S>) {
        let Some(slot) = self.entries.redeem(ticket) else { return };
        let entry = &mut self.entries[slot];
        let deadline = entry.deadline();
        if deadline > cx.now() {
            cx.arm(deadline, ticket);
            return;
        }
        if entry.state == RegistrationState::Active && entry.expires.is_none_or(|expires| expires <= deadline)
        {
            entry.state = RegistrationState::Expired;
        }
        self.deliver(slot, cx);
    }

    /// Every record that is left, in order of its first REGISTER.
    fn close<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        let mut slots = self.entries.indices();
        slots.sort_by_key(|slot| (self.entries[*slot].first, *slot));
        slots.into_iter().for_each(|slot| self.deliver(slot, cx));
    }
}

impl EngineTracker for Registrations {}

impl Registrations {
    /// For up to `ceiling` registrations, which hold up to `max_memory` bytes together.
    pub(crate) fn new(ceiling: usize, max_memory: usize, hasher: Hasher) -> Self {
        let (entries, order) = (Slots::new(ceiling), Queues::new(2, ceiling));
        Self { entries, index: HashTable::new(), order, hasher, memory: 0, max_memory }
    }

    /// Registrations in the table.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn register<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        let SipMessage { message, call_id, cseq, hop, .. } = *sip;
        let Some(aor) = message.to().and_then(|to| match to.uri.user {
            Some(user) => text(&[user, b"@", to.uri.host].concat()),
            None => text(to.uri.host),
        }) else {
            return;
        };
        let hash = self.hasher.of((call_id, &aor));
        let found = self.index.find(hash, |slot| {
            let entry = &self.entries[*slot];
            entry.call_id.is(call_id) && entry.aor == aor
        });
        let slot = match (found, message.start()) {
            (Some(slot), _) => *slot,
            // An answer whose request was not seen tells neither contact nor direction.
            (None, StartLine::Response { .. }) => return,
            (None, StartLine::Request { .. }) => match self.begin(call_id, aor, hash, hop, cx) {
                Some(slot) => slot,
                None => return,
            },
        };
        let entry = &mut self.entries[slot];
        entry.last = entry.last.max(hop.time);
        let (cseq, time) = (cseq.map_or(0, |(number, _)| number), hop.time);
        let transaction = self.hasher.of(message.top_branch());
        let ended = match message.start() {
            StartLine::Request { .. } => {
                let credentials = [Header::Authorization, Header::ProxyAuthorization];
                let has_credentials = credentials.iter().any(|header| message.header(*header).is_some());
                entry.request(message);
                entry.attempts.request(Request { cseq, transaction, has_credentials, time })
            }
            StartLine::Response { code, .. } => {
                entry.response(message, code, time);
                entry.attempts.answer(cseq, transaction, code, time)
            }
        };
        if let Some(ended) = ended {
            entry.tell(ended, time, cx);
        }
        self.update(slot);
    }

    /// Notes what became of a registration, and what it holds.
    fn update(&mut self, slot: u32) {
        let entry = &mut self.entries[slot];
        let memory = size_of::<Entry>() + entry.heap_bytes();
        self.memory = self.memory - entry.memory + memory;
        entry.memory = memory;
        let rank = if entry.state == RegistrationState::Active { ACTIVE } else { WAITING };
        if self.order.queue_of(slot) != Some(rank) {
            self.order.push(slot, rank);
        }
    }

    fn begin<S: Sink>(
        &mut self,
        call_id: &[u8],
        aor: Box<str>,
        hash: u64,
        hop: &Hop,
        cx: &mut Context<'_, S>,
    ) -> Option<u32> {
        if self.entries.is_full() || self.memory > self.max_memory {
            self.make_room(cx);
        }
        let entry = Entry {
            call_id: CallId::new(call_id),
            aor,
            hash,
            contact: None,
            src: hop.src,
            dst: hop.dst,
            user_agent: None,
            state: RegistrationState::Expired,
            code: 0,
            first: hop.time,
            last: hop.time,
            asked: DEFAULT_EXPIRES,
            expires: None,
            requests: 0,
            attempts: Attempts::default(),
            memory: 0,
        };
        let has_room = self.memory <= self.max_memory;
        let Some(slot) = self.entries.insert_if(has_room, entry) else {
            cx.counters.registrations_refused += 1;
            return None;
        };
        let entries = &self.entries;
        self.index.insert_unique(hash, slot, |slot| entries[*slot].hash);
        cx.arm(hop.time + ANSWER_LIMIT, self.entries.ticket(slot));
        Some(slot)
    }

    /// The registration that has waited longest to be accepted gives way.
    #[cold]
    fn make_room<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        if let Some(slot) = self.order.oldest(WAITING) {
            cx.counters.registrations_evicted += 1;
            self.deliver(slot, cx);
        }
    }

    /// Makes the record of a registration that has ended.
    fn deliver<S: Sink>(&mut self, slot: u32, cx: &mut Context<'_, S>) {
        let entry = &self.entries[slot];
        if let Some(unanswered) = entry.attempts.unanswered() {
            entry.tell(unanswered, cx.now(), cx);
        }
        if let Some(record) = self.remove(slot) {
            cx.sink.registration(record);
        }
    }

    fn remove(&mut self, slot: u32) -> Option<Registration> {
        let entry = self.entries.remove(slot)?;
        self.order.remove(slot);
        self.memory -= entry.memory;
        if let Ok(found) = self.index.find_entry(entry.hash, |other| *other == slot) {
            found.remove();
        }
        Some(entry.record())
    }
}

impl Entry {
    fn heap_bytes(&self) -> usize {
        let text = |text: &Option<Box<str>>| text.as_ref().map_or(0, |text| text.len());
        self.call_id.heap_bytes() + self.aor.len() + text(&self.contact) + text(&self.user_agent)
    }

    fn request(&mut self, message: &Message<'_>) {
        self.requests += 1;
        // RFC 3261 section 10.2.1.1: the Contact's own parameter goes before the Expires header.
        let contact = message.contacts().next();
        let own = contact
            .as_ref()
            .and_then(|contact| contact.param(b"expires"))
            .and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
        self.asked = own.or(message.expires()).unwrap_or(DEFAULT_EXPIRES);
        if let Some(contact) = contact {
            self.contact = text(contact.uri.raw);
        } else if message.contact_is_star() {
            self.contact = text(b"*");
        }
        if self.user_agent.is_none() {
            self.user_agent = message.header(Header::UserAgent).and_then(text);
        }
    }

    fn response(&mut self, message: &Message<'_>, code: u16, time: Nanos) {
        match code {
            ..200 => {}
            200..=299 => {
                self.code = code;
                self.state =
                    if self.asked == 0 { RegistrationState::Removed } else { RegistrationState::Active };
                let granted = self.granted(message).unwrap_or(self.asked);
                self.expires = (self.asked > 0).then(|| time + Nanos::from_secs(u64::from(granted)));
            }
            _ => {
                self.code = code;
                // A refresh that is challenged leaves the binding as it was.
                let challenged = matches!(code, 401 | 407) && self.state == RegistrationState::Active;
                if !challenged {
                    self.state = RegistrationState::Refused;
                }
            }
        }
    }

    /// What the registrar granted to this contact (RFC 3261 section 10.3 step 8).
    fn granted(&self, message: &Message<'_>) -> Option<u32> {
        let own = message
            .contacts()
            .filter(|contact| self.contact.as_deref().is_some_and(|ours| ours.as_bytes() == contact.uri.raw))
            .chain(message.contacts())
            .find_map(|contact| std::str::from_utf8(contact.param(b"expires")?).ok()?.parse().ok());
        own.or_else(|| message.expires())
    }

    fn tell<S: Sink>(&self, ended: EndedAttempt, time: Nanos, cx: &mut Context<'_, S>) {
        cx.counters.transactions.add(Method::Register, ended.code);
        // One that is sent elsewhere neither fails nor succeeds.
        if (300..400).contains(&ended.code) {
            return;
        }
        cx.sink.registration_attempt(&RegistrationAttempt {
            time,
            aor: &self.aor,
            src: self.src,
            dst: self.dst,
            user_agent: self.user_agent.as_deref(),
            code: ended.code,
            delay: ended.delay,
        });
    }

    fn deadline(&self) -> Nanos {
        match (self.state, self.expires) {
            (RegistrationState::Active, Some(expires)) => {
                expires.clamp(self.last + ANSWER_LIMIT, self.last + LONGEST_BINDING)
            }
            _ => self.last + ANSWER_LIMIT,
        }
    }

    fn record(self) -> Registration {
        let first = self.first.micros().to_le_bytes();
        let (src, dst) = (self.src.ip.to_string(), self.dst.ip.to_string());
        let parts = [self.call_id.identity(), self.aor.as_bytes(), &first, src.as_bytes(), dst.as_bytes()];
        let attempts = self.attempts.finish();
        Registration {
            id: hash::id("registration", parts),
            aor: self.aor.into(),
            contact: self.contact.map(Into::into),
            src: self.src,
            dst: self.dst,
            user_agent: self.user_agent.map(Into::into),
            state: self.state,
            code: self.code,
            first: self.first,
            last: self.last,
            expires: self.expires,
            requests: self.requests,
            attempts: Some(attempts.ended),
            failed: Some(attempts.failed),
            rrd_ms_mean: attempts.mean_ms,
            rrd_ms_max: attempts.longest_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CALLEE, CALLER, Sip, Tap, at, request, response};

    /// A REGISTER of Alice, with these header lines.
    fn register(cseq: u32, lines: &[&str]) -> Sip {
        lines
            .iter()
            .fold(request("REGISTER", cseq).to("<sip:alice@example.com>"), |sip, line| sip.header(line))
    }

    fn answer(status: &str, cseq: u32, lines: &[&str]) -> Sip {
        let sip = response(status, "REGISTER", cseq).to("<sip:alice@example.com>");
        lines.iter().fold(sip, |sip, line| sip.header(line))
    }

    /// The registration after each of these messages, a second apart; requests and responses in turn.
    fn after(messages: &[Sip]) -> Registration {
        let mut tap = Tap::new();
        for (second, sip) in messages.iter().enumerate() {
            let (src, dst) = if second % 2 == 0 { (CALLER, CALLEE) } else { (CALLEE, CALLER) };
            tap.udp(1000 * second as u64, src, dst, &sip.bytes());
        }
        let mut registrations = tap.close().registrations;
        assert_eq!(registrations.len(), 1);
        registrations.remove(0)
    }

    const CONTACT: &str = "Contact: <sip:alice@192.0.2.1:5060>";

    #[test]
    fn a_binding_that_was_accepted_is_active_until_it_expires() {
        let record = after(&[
            register(1, &[CONTACT, "Expires: 600", "User-Agent: phone/1"]),
            answer("200 OK", 1, &[CONTACT, "Expires: 600"]),
        ]);
        assert_eq!((record.state, record.code, record.requests), (RegistrationState::Active, 200, 1));
        assert_eq!(
            (record.aor.as_str(), record.user_agent.as_deref()),
            ("alice@example.com", Some("phone/1"))
        );
        assert_eq!(record.contact.as_deref(), Some("sip:alice@192.0.2.1:5060"));
        assert_eq!((record.first, record.last), (at(0), at(1000)));
        assert_eq!(record.expires, Some(at(601_000)));
        assert_eq!((record.src.to_string(), record.dst.to_string()), (CALLER.to_owned(), CALLEE.to_owned()));
    }

    /// RFC 3261 section 10.2.1.1 for what is asked, section 10.3 step 8 for what is granted.
    #[test]
    fn the_parameter_of_a_contact_goes_before_the_header_and_the_response_before_the_request() {
        let expires = |request: &[&str], response: &[&str]| {
            let record = after(&[register(1, request), answer("200 OK", 1, response)]);
            record.expires.map(|time| time.since(at(1000)).0 / 1_000_000_000)
        };
        let of = |seconds: u32| format!("{CONTACT};expires={seconds}");
        assert_eq!(expires(&[CONTACT], &[]), Some(3600));
        assert_eq!(expires(&[CONTACT, "Expires: 100"], &[]), Some(100));
        assert_eq!(expires(&[&of(50), "Expires: 100"], &[]), Some(50));
        assert_eq!(expires(&[CONTACT, "Expires: 100"], &["Expires: 70"]), Some(70));
        assert_eq!(expires(&[CONTACT, "Expires: 100"], &[&of(60), "Expires: 70"]), Some(60));
        let other = "Contact: <sip:alice@192.0.2.99>;expires=9";
        assert_eq!(expires(&[CONTACT, "Expires: 100"], &[other, &of(60)]), Some(60));
        assert_eq!(expires(&[CONTACT, "Expires: 100"], &[other]), Some(9));
    }

    #[test]
    fn a_binding_for_136_years_leaves_the_table_after_a_week() {
        let mut tap = Tap::new();
        tap.caller(0, register(1, &[CONTACT, "Expires: 4294967295"]));
        tap.callee(0, answer("200 OK", 1, &[]));
        tap.wait_until(604_799_000);
        assert_eq!(tap.records.registrations, []);
        tap.wait_until(604_802_000);
        let record = &tap.records.registrations[0];
        assert_eq!((record.state, record.expires), (RegistrationState::Active, Some(at(4_294_967_295_000))));
    }

    /// RFC 3261 section 10.2.2.
    #[test]
    fn expires_zero_removes_the_binding() {
        for lines in [&["Contact: *", "Expires: 0"][..], &["Contact: <sip:alice@192.0.2.1:5060>;expires=0"]] {
            let record = after(&[register(1, lines), answer("200 OK", 1, &[])]);
            assert_eq!((record.state, record.expires), (RegistrationState::Removed, None));
        }
        let record = after(&[register(1, &["Contact: *", "Expires: 0"])]);
        assert_eq!(record.contact.as_deref(), Some("*"));
    }

    #[test]
    fn a_final_failure_refuses_and_a_provisional_response_says_nothing() {
        let record = after(&[register(1, &[CONTACT]), answer("403 Forbidden", 1, &[])]);
        assert_eq!((record.state, record.code), (RegistrationState::Refused, 403));
        let record = after(&[register(1, &[CONTACT]), answer("100 Trying", 1, &[])]);
        assert_eq!((record.state, record.code), (RegistrationState::Expired, 0));
    }

    #[test]
    fn a_challenge_refuses_a_first_registration_but_no_refresh() {
        for status in ["401 Unauthorized", "407 Proxy Authentication Required"] {
            let first = after(&[register(1, &[CONTACT]), answer(status, 1, &[])]);
            assert_eq!(first.state, RegistrationState::Refused);
            let refresh = after(&[
                register(1, &[CONTACT]),
                answer("200 OK", 1, &[]),
                register(2, &[CONTACT]),
                answer(status, 2, &[]),
            ]);
            assert_eq!((refresh.state, refresh.requests), (RegistrationState::Active, 2));
        }
        let refused = after(&[
            register(1, &[CONTACT]),
            answer("200 OK", 1, &[]),
            register(2, &[CONTACT]),
            answer("403 Forbidden", 2, &[]),
        ]);
        assert_eq!(refused.state, RegistrationState::Refused);
    }

    #[test]
    fn attempts_are_counted_with_their_delays_and_mirrored_copies_are_none() {
        let mut tap = Tap::new();
        for cseq in [1, 1] {
            tap.caller(u64::from(cseq), register(cseq, &[CONTACT]));
        }
        tap.callee(21, answer("401 Unauthorized", 1, &[]));
        tap.caller(30, register(2, &[CONTACT, "Authorization: Digest username=\"alice\""]));
        tap.callee(41, answer("200 OK", 2, &[]));
        tap.caller(1000, register(3, &[CONTACT, "Authorization: Digest username=\"alice\""]));
        tap.callee(1020, answer("200 OK", 3, &[]));
        tap.caller(2000, register(4, &[CONTACT]));
        tap.callee(2020, answer("403 Forbidden", 4, &[]));
        tap.caller(3000, register(5, &[CONTACT]));
        tap.callee(3020, answer("401 Unauthorized", 5, &[]));
        tap.caller(60_000, register(6, &[CONTACT]));
        tap.callee(60_100, answer("302 Moved Temporarily", 6, &[]));
        tap.caller(61_000, register(7, &[CONTACT]));
        tap.wait_until(200_000);
        let counts = &tap.engine.counters().transactions;
        let counted: Vec<_> = counts.rows().filter(|(.., count)| *count > 0).collect();
        let expected = [("none", 1), ("200", 2), ("3xx", 1), ("401", 1), ("403", 1)];
        assert_eq!(counted, expected.map(|(code, count)| ("REGISTER", code, count)));
        let records = tap.close().registrations;
        assert_eq!(records.iter().filter_map(|record| record.attempts).collect::<Vec<_>>(), [4, 2]);
        let record = &records[0];
        assert_eq!((record.requests, record.attempts, record.failed), (6, Some(4), Some(2)));
        assert_eq!((record.rrd_ms_mean, record.rrd_ms_max), (Some(30.0), Some(40.0)));
    }

    #[test]
    fn a_register_without_an_answer_expires_after_timer_f() {
        let mut tap = Tap::new();
        tap.caller(0, register(1, &[CONTACT]));
        tap.wait_until(40_000);
        assert!(tap.records.registrations.is_empty());
        tap.wait_until(41_000);
        assert_eq!(tap.records.registrations[0].state, RegistrationState::Expired);
    }

    #[test]
    fn an_active_binding_is_recorded_when_it_expires() {
        let mut tap = Tap::new();
        tap.caller(0, register(1, &[CONTACT, "Expires: 120"]));
        tap.callee(1000, answer("200 OK", 1, &[]));
        tap.wait_until(120_000);
        assert!(tap.records.registrations.is_empty());
        tap.wait_until(122_000);
        assert_eq!(tap.records.registrations[0].state, RegistrationState::Expired);
    }

    #[test]
    fn each_address_of_record_and_call_id_has_its_registration_up_to_the_ceiling() {
        let mut tap = Tap::with(|config| config.max_registrations = 2);
        tap.caller(3000, register(1, &[]));
        tap.caller(1000, register(1, &[]).call_id("b"));
        tap.callee(3100, answer("200 OK", 1, &[]));
        tap.callee(3100, answer("200 OK", 1, &[]).call_id("b"));
        tap.caller(2000, register(1, &[]).to("<sip:carol@example.com>"));
        // A response whose request was not seen begins none.
        tap.callee(4000, answer("200 OK", 1, &[]).call_id("c"));
        assert_eq!(tap.engine.counters().registrations_refused, 1);
        let first: Vec<_> = tap.close().registrations.into_iter().map(|record| record.first).collect();
        assert_eq!(first, [at(1000), at(3000)]);
    }

    #[test]
    fn after_its_end_the_same_call_id_begins_another_registration() {
        let mut tap = Tap::new();
        tap.caller(0, register(1, &[CONTACT]));
        tap.wait_until(41_000);
        tap.caller(50_000, register(2, &[CONTACT]));
        tap.callee(50_100, answer("200 OK", 2, &[]));
        let states: Vec<_> =
            tap.close().registrations.into_iter().map(|record| (record.state, record.first)).collect();
        assert_eq!(states, [(RegistrationState::Expired, at(0)), (RegistrationState::Active, at(50_000))]);
    }
}

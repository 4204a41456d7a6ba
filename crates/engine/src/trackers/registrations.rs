//! Registrations: RFC 3261 section 10, one record per Call-ID and address of record.

use hashbrown::HashTable;
use ringtap_model::{Endpoint, Nanos, Registration, RegistrationState};
use ringtap_wire::sip::{Header, Message, StartLine};

use crate::table::hash::{self, Hasher};
use crate::table::slots::{Slots, Ticket};
use crate::table::timers::{Timer, Wheel};
use crate::trackers::calls::{Hop, text};

/// RFC 3261 section 10.2.1.1 leaves the default to the registrar; an hour is what nearly all take.
const DEFAULT_EXPIRES: u32 = 3600;
/// A REGISTER without an answer: timer F (RFC 3261 section 17.1.2.2) and a margin.
const ANSWER_LIMIT: Nanos = Nanos::from_secs(40);

struct Entry {
    call_id: Box<[u8]>,
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
}

/// The table of registrations.
pub(crate) struct Registrations {
    entries: Slots<Entry>,
    index: HashTable<u32>,
    hasher: Hasher,
    /// Registrations that found no place.
    pub(crate) refused: u64,
}

impl Registrations {
    pub(crate) fn new(ceiling: usize, hasher: Hasher) -> Self {
        Self { entries: Slots::new(ceiling), index: HashTable::new(), hasher, refused: 0 }
    }

    /// Takes a REGISTER or its answer.
    pub(crate) fn take(&mut self, call_id: &[u8], message: &Message<'_>, hop: &Hop, wheel: &mut Wheel) {
        let Some(aor) = message.to().and_then(|to| match to.uri.user {
            Some(user) => text(&[user, b"@", to.uri.host].concat()),
            None => text(to.uri.host),
        }) else {
            return;
        };
        let hash = self.hasher.of((call_id, &aor));
        let found = self.index.find(hash, |slot| {
            let entry = &self.entries[*slot];
            *entry.call_id == *call_id && entry.aor == aor
        });
        let slot = match (found, message.start()) {
            (Some(slot), _) => *slot,
            // An answer whose request was not seen tells neither contact nor direction.
            (None, StartLine::Response { .. }) => return,
            (None, StartLine::Request { .. }) => match self.begin(call_id, aor, hash, hop, wheel) {
                Some(slot) => slot,
                None => return,
            },
        };
        let entry = &mut self.entries[slot];
        entry.last = entry.last.max(hop.time);
        match message.start() {
            StartLine::Request { .. } => entry.request(message),
            StartLine::Response { code, .. } => entry.response(message, code, hop.time),
        }
    }

    fn begin(
        &mut self,
        call_id: &[u8],
        aor: Box<str>,
        hash: u64,
        hop: &Hop,
        wheel: &mut Wheel,
    ) -> Option<u32> {
        let entry = Entry {
            call_id: call_id.into(),
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
        };
        let Some(slot) = self.entries.insert(entry) else {
            self.refused += 1;
            return None;
        };
        let entries = &self.entries;
        self.index.insert_unique(hash, slot, |slot| entries[*slot].hash);
        wheel.arm(hop.time + ANSWER_LIMIT, Timer::Registration(self.entries.ticket(slot)));
        Some(slot)
    }

    /// A registration's timer fired: gives its record when it is over.
    pub(crate) fn expire(&mut self, ticket: Ticket, now: Nanos, wheel: &mut Wheel) -> Option<Registration> {
        let slot = self.entries.redeem(ticket)?;
        let entry = &mut self.entries[slot];
        let deadline = entry.deadline();
        if deadline > now {
            wheel.arm(deadline, Timer::Registration(ticket));
            return None;
        }
        if entry.state == RegistrationState::Active {
            entry.state = RegistrationState::Expired;
        }
        self.remove(slot)
    }

    /// Every record that is left, in order of its first REGISTER.
    pub(crate) fn close(&mut self) -> Vec<Registration> {
        let mut slots = self.entries.indices();
        slots.sort_by_key(|slot| (self.entries[*slot].first, *slot));
        slots.into_iter().filter_map(|slot| self.remove(slot)).collect()
    }

    fn remove(&mut self, slot: u32) -> Option<Registration> {
        let entry = self.entries.remove(slot)?;
        if let Ok(place) = self.index.find_entry(entry.hash, |other| *other == slot) {
            place.remove();
        }
        Some(entry.record())
    }
}

impl Entry {
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

    fn deadline(&self) -> Nanos {
        match (self.state, self.expires) {
            (RegistrationState::Active, Some(expires)) => expires.max(self.last + ANSWER_LIMIT),
            _ => self.last + ANSWER_LIMIT,
        }
    }

    fn record(self) -> Registration {
        let first = self.first.micros().to_le_bytes();
        let (src, dst) = (self.src.ip.to_string(), self.dst.ip.to_string());
        let parts = [&self.call_id[..], self.aor.as_bytes(), &first, src.as_bytes(), dst.as_bytes()];
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
        }
    }
}

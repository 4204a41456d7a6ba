//! What is known of a session, in few bytes: its entries stand one after the other.
//!
//! Of some twenty attributes a session has ten, and there are millions of sessions: each as a field of its
//! own, with an allocation for its text, takes three times as much.

use ringtap_model::subscriber::{is_same_station, is_same_user};

use crate::counts::Counts;
use crate::facts::{Facts, MOST_NAMES};

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Field {
    /// User-Name: as many as it had.
    User,
    /// Calling-Station-Id: as many as it had.
    Station,
    /// Chargeable-User-Identity.
    Payer,
    /// Called-Station-Id.
    Called,
    NasName,
    NasPortId,
    /// Acct-Session-Id.
    Session,
    MultiSession,
    Class,
    Circuit,
    Remote,
    Imsi,
    Imeisv,
    // Numbers, of four bytes.
    NasPort,
    TerminateCause,
    /// Event-Timestamp of its start.
    EventTime,
    // Of eight.
    OctetsIn,
    OctetsOut,
    /// Key of a line that it is found by.
    Line,
    /// An address that it has, or had.
    Hold,
    // Of a lease.
    /// Client identifier or DUID.
    ClientId,
    Subscriber,
    Hostname,
    /// When it ends, in nanoseconds; absent where it does not.
    Expires,
}

/// Entries of any fields, in no order but that of the same field: kind, length, bytes.
#[derive(Debug, Default)]
pub(crate) struct Known(Box<[u8]>);

impl Known {
    /// Bytes of it.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn entries(&self) -> Entries<'_> {
        Entries { bytes: &self.0, at: 0 }
    }

    /// What its entries of a field hold, in the order in which they were added.
    pub(crate) fn all(&self, field: Field) -> impl Iterator<Item = &[u8]> {
        self.entries().filter(move |entry| entry.kind == field as u8).map(|entry| entry.value)
    }

    /// What its first entry of a field holds.
    pub(crate) fn bytes(&self, field: Field) -> Option<&[u8]> {
        self.all(field).next()
    }

    /// The texts of a field.
    pub(crate) fn texts(&self, field: Field) -> impl Iterator<Item = &str> {
        // They were texts when they were added.
        self.all(field).filter_map(|bytes| std::str::from_utf8(bytes).ok())
    }

    pub(crate) fn text(&self, field: Field) -> Option<&str> {
        self.texts(field).next()
    }

    /// A number of four bytes.
    pub(crate) fn number(&self, field: Field) -> Option<u32> {
        self.bytes(field)?.try_into().ok().map(u32::from_le_bytes)
    }

    /// A number of eight bytes.
    pub(crate) fn count(&self, field: Field) -> Option<u64> {
        self.bytes(field)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// Has one entry of this field, with these bytes.
    pub(crate) fn set(&mut self, field: Field, value: &[u8]) {
        self.edit(|draft| draft.set(field, value));
    }

    /// Adds an entry.
    pub(crate) fn add(&mut self, field: Field, value: &[u8]) {
        self.edit(|draft| draft.add(field, value));
    }

    /// Has these entries of a field, and no others of it.
    pub(crate) fn replace(&mut self, field: Field, values: &[impl AsRef<[u8]>]) {
        self.edit(|draft| {
            draft.drop(field);
            values.iter().for_each(|value| draft.add(field, value.as_ref()));
        });
    }

    /// Changes it, without room beside what is in it then.
    fn edit<T>(&mut self, change: impl FnOnce(&mut Draft) -> T) -> T {
        let mut draft = Draft(Vec::from(std::mem::take(&mut self.0)));
        let result = change(&mut draft);
        self.0 = draft.0.into_boxed_slice();
        result
    }

    /// Adds what a packet says, but for its id and its addresses: what it has not is left as it is.
    pub(crate) fn learn(&mut self, facts: &Facts, counts: &mut Counts) {
        self.edit(|draft| draft.learn(facts, counts));
        counts.names_dropped += facts.names_dropped;
        counts.addresses_dropped += facts.addresses_dropped;
    }

    /// How many names and stations are known.
    pub(crate) fn names(&self) -> usize {
        let names = [Field::User, Field::Station, Field::Payer].map(|field| field as u8);
        self.entries().filter(|entry| names.contains(&entry.kind)).count()
    }

    /// Whether both can be of one user: neither names nor stations are others.
    pub(crate) fn may_be(&self, other: &Facts) -> bool {
        let fits = |field, theirs: &[String], is_same: fn(&str, &str) -> bool| {
            let mut own = self.texts(field).peekable();
            own.peek().is_none()
                || theirs.is_empty()
                || own.any(|name| theirs.iter().any(|other| is_same(name, other)))
        };
        fits(Field::User, &other.users, is_same_user)
            && fits(Field::Station, &other.stations, is_same_station)
    }
}

/// Entries that are changed, with room for more.
struct Draft(Vec<u8>);

impl Draft {
    fn entries(&self) -> Entries<'_> {
        Entries { bytes: &self.0, at: 0 }
    }

    fn set(&mut self, field: Field, value: &[u8]) {
        let mut entries = self.entries();
        let Some(known) = entries.find(|entry| entry.kind == field as u8).map(|entry| entry.value.len())
        else {
            return self.add(field, value);
        };
        let end = entries.at;
        // Most are as long as before: a counter, or the same text.
        if known == value.len() {
            self.0[end - known..end].copy_from_slice(value);
        } else {
            self.drop(field);
            self.add(field, value);
        }
    }

    fn add(&mut self, field: Field, value: &[u8]) {
        if self.0.capacity() - self.0.len() < 1 + LONGEST_LENGTH + value.len() {
            self.0.reserve(ROOM + value.len());
        }
        self.0.push(field as u8);
        // Seven bits a byte, the lowest first.
        let mut rest = value.len();
        while rest >= 0x80 {
            self.0.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
        self.0.extend(value);
    }

    /// Takes the entries of a field out.
    fn drop(&mut self, field: Field) {
        let (mut at, mut kept) = (0, 0);
        while let Some((is_it, next)) = {
            let mut entries = Entries { bytes: &self.0, at };
            entries.next().map(|entry| (entry.kind == field as u8, entries.at))
        } {
            if !is_it {
                self.0.copy_within(at..next, kept);
                kept += next - at;
            }
            at = next;
        }
        self.0.truncate(kept);
    }

    fn learn(&mut self, facts: &Facts, counts: &mut Counts) {
        for (field, names) in [(Field::User, &facts.users), (Field::Station, &facts.stations)] {
            names.iter().for_each(|name| self.name(field, name, counts));
        }
        for (field, learnt) in [
            (Field::Payer, &facts.payer),
            (Field::Called, &facts.called),
            (Field::NasName, &facts.nas_name),
            (Field::NasPortId, &facts.nas_port_id),
            (Field::MultiSession, &facts.multi_session),
            (Field::Circuit, &facts.circuit),
            (Field::Remote, &facts.remote),
            (Field::Imsi, &facts.imsi),
            (Field::Imeisv, &facts.imeisv),
            (Field::Subscriber, &facts.subscriber),
            (Field::Hostname, &facts.hostname),
        ] {
            if let Some(text) = learnt {
                self.set(field, text.as_bytes());
            }
        }
        for (field, learnt) in [(Field::Class, &facts.class), (Field::ClientId, &facts.client_id)] {
            if let Some(bytes) = learnt {
                self.set(field, bytes);
            }
        }
        if let Some(expires) = facts.expires {
            self.set(Field::Expires, &expires.0.to_le_bytes());
        }
        let numbers = [(Field::NasPort, facts.nas_port), (Field::TerminateCause, facts.terminate_cause)];
        for (field, learnt) in numbers {
            if let Some(number) = learnt {
                self.set(field, &number.to_le_bytes());
            }
        }
        for (field, learnt) in [(Field::OctetsIn, facts.octets_in), (Field::OctetsOut, facts.octets_out)] {
            let Some(octets) = learnt else { continue };
            // Reports may come out of order, and counters only grow.
            let known = self.entries().find(|entry| entry.kind == field as u8);
            let known = known.and_then(|entry| entry.value.try_into().ok()).map(u64::from_le_bytes);
            if known.is_none_or(|known| known < octets) {
                self.set(field, &octets.to_le_bytes());
            }
        }
    }

    fn name(&mut self, field: Field, name: &str, counts: &mut Counts) {
        let mut number = 0;
        let mut names = self.entries().filter(|entry| entry.kind == field as u8);
        if names.any(|known| {
            number += 1;
            known.value == name.as_bytes()
        }) {
            return;
        }
        if number < MOST_NAMES {
            self.add(field, name.as_bytes());
        } else {
            counts.names_dropped += 1;
        }
    }
}

/// Room that a draft has for what is added next.
const ROOM: usize = 256;
/// Bytes of the length of an entry, but for texts that no attribute has.
const LONGEST_LENGTH: usize = 3;

struct Entry<'a> {
    kind: u8,
    value: &'a [u8],
}

struct Entries<'a> {
    bytes: &'a [u8],
    /// Where the next begins.
    at: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let kind = *self.bytes.get(self.at)?;
        let (mut len, mut shift, mut from) = (0, 0, self.at + 1);
        loop {
            let byte = *self.bytes.get(from)?;
            from += 1;
            len |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        self.at = from + len;
        Some(Entry { kind, value: self.bytes.get(from..self.at)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_any_length_are_set_added_and_replaced() {
        let mut known = Known::default();
        let long = "x".repeat(20_000);
        known.set(Field::Called, b"first");
        known.set(Field::NasPortId, long.as_bytes());
        known.add(Field::User, b"");
        known.add(Field::User, b"two");
        known.set(Field::Called, b"other");
        known.set(Field::OctetsIn, &7_u64.to_le_bytes());
        assert_eq!(known.text(Field::Called), Some("other"));
        known.set(Field::Called, b"longer than before");
        assert_eq!(known.text(Field::Called), Some("longer than before"));
        assert_eq!(known.text(Field::NasPortId), Some(&*long));
        assert_eq!(known.texts(Field::User).collect::<Vec<_>>(), ["", "two"]);
        assert_eq!((known.count(Field::OctetsIn), known.number(Field::NasPort)), (Some(7), None));
        known.replace(Field::User, &["three"]);
        assert_eq!(known.texts(Field::User).collect::<Vec<_>>(), ["three"]);
        assert_eq!(known.all(Field::Called).count(), 1);
        known.replace(Field::NasPortId, &[[0; 0]; 0]);
        assert!(known.len() < 100, "{}", known.len());
    }

    #[test]
    fn what_a_packet_says_is_learnt_once() {
        let (mut known, mut counts) = (Known::default(), Counts::default());
        let names = |count: usize| (0..count).map(|number| format!("user{number}")).collect();
        let facts =
            |count, octets| Facts { users: names(count), octets_in: Some(octets), ..Facts::default() };
        known.learn(&facts(3, 5), &mut counts);
        let len = known.len();
        known.learn(&facts(2, 4), &mut counts);
        assert_eq!((known.len(), known.names(), known.count(Field::OctetsIn)), (len, 3, Some(5)));
        known.learn(&facts(MOST_NAMES + 2, 6), &mut counts);
        assert_eq!((known.names(), counts.names_dropped), (MOST_NAMES, 2));
        assert!(known.may_be(&facts(1, 0)) && known.may_be(&Facts::default()));
        assert!(!known.may_be(&Facts { users: vec!["another".to_owned()], ..Facts::default() }));
    }
}

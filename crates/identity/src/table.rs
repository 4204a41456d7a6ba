//! Sessions and the ways to find one: by its id, its line, its NAS, its addresses, its deadline.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use ringtap_model::Nanos;

use crate::facts::{AddressKey, Assigned};
use crate::index::Index;
use crate::key::{Key, Keys};
use crate::known::Field;
use crate::line::Line;
use crate::session::Session;
use crate::slots::{NOWHERE, Neighbours, Serial, Slots};

/// Sessions, each in a place that it keeps.
#[derive(Debug, Default)]
pub(crate) struct Table {
    keys: Keys,
    sessions: Slots,
    /// How many came so far.
    came: u64,
    /// Bytes that they take, as they were last weighed.
    weight: usize,
    /// By NAS and Acct-Session-Id.
    by_id: Index,
    by_line: Index,
    /// By address or prefix: of one hardly ever more than one, but for blocks of its ports.
    by_address: Index,
    /// The places of the first and the last session of each NAS, in the order in which they came.
    by_nas: HashMap<Arc<str>, (u32, u32)>,
    /// A deadline that was moved, or whose session is gone, is here too, and is passed over.
    ///
    /// INVARIANT: at most twice as many as sessions, and [`FEW`].
    deadlines: BinaryHeap<Reverse<(Nanos, Serial)>>,
}

impl Table {
    pub(crate) fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Bytes that the sessions take.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    /// Weighs a session anew, after something was added to it.
    pub(crate) fn weigh(&mut self, serial: Serial) {
        let Some(session) = self.sessions.get_mut(serial) else { return };
        let bytes = u32::try_from(session.bytes()).unwrap_or(u32::MAX);
        self.weight = self.weight - session.weight as usize + bytes as usize;
        session.weight = bytes;
    }

    pub(crate) fn find(&mut self, serial: Serial) -> Option<&mut Session> {
        self.sessions.get_mut(serial)
    }

    /// All, in no order.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.iter().map(|(_, session)| session)
    }

    pub(crate) fn contains(&self, serial: Serial) -> bool {
        self.sessions.get(serial).is_some()
    }

    /// A key of anything, with the hashes of this table.
    pub(crate) fn key(&self, value: impl std::hash::Hash) -> Key {
        self.keys.of(value)
    }

    /// The name of a NAS, which its sessions share.
    pub(crate) fn nas(&self, name: &str) -> Arc<str> {
        self.by_nas.get_key_value(name).map_or_else(|| name.into(), |(name, _)| Arc::clone(name))
    }

    /// The sessions in the places that an index names, as far as they are those that are looked for.
    fn among(
        &self,
        index: &Index,
        hash: u32,
        is_it: impl Fn(&Session) -> bool,
    ) -> impl Iterator<Item = (Serial, &Session)> {
        index
            .places(hash)
            .filter_map(|place| self.sessions.at(place))
            .filter(move |(_, session)| is_it(session))
    }

    pub(crate) fn by_id(&self, nas: &str, id: &str) -> Option<Serial> {
        let is_it = |session: &Session| &*session.nas == nas && session.session() == Some(id);
        self.among(&self.by_id, self.keys.short((nas, id)), is_it).map(|(serial, _)| serial).next()
    }

    pub(crate) fn by_line(&self, line: &Line<'_>) -> Option<Serial> {
        self.with_line(&self.keys.of(line))
    }

    fn with_line(&self, key: &Key) -> Option<Serial> {
        let is_it = |session: &Session| session.known.all(Field::Line).any(|line| line == bytes(key));
        self.among(&self.by_line, short(key), is_it).map(|(serial, _)| serial).next()
    }

    /// Sessions of a NAS, the earliest first.
    pub(crate) fn of_nas(&mut self, nas: &str) -> Vec<Serial> {
        let mut sessions = Vec::new();
        let mut next = self.by_nas.get(nas).map_or(NOWHERE, |(first, _)| *first);
        while let Some((serial, _)) = self.sessions.at(next) {
            sessions.push(serial);
            next = self.sessions.neighbours(next).map_or(NOWHERE, |neighbours| neighbours.after);
        }
        sessions
    }

    /// Sessions that have exactly this address, or blocks of its ports, the earliest first.
    pub(crate) fn with_address(&self, assigned: &Assigned) -> Vec<Serial> {
        let Some(key) = assigned.key() else { return Vec::new() };
        let mut found: Vec<(u64, Serial)> = self
            .among(&self.by_address, self.keys.short(key), |session| has(session, &key))
            .map(|(serial, session)| (session.number, serial))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, serial)| serial).collect()
    }

    /// Adds a session that is found by these lines, and by its id if it has one.
    pub(crate) fn insert(&mut self, mut session: Session, lines: &[Line<'_>]) -> Serial {
        session.number = self.came;
        self.came += 1;
        let keys: Vec<Key> = lines.iter().map(|line| self.keys.of(line)).collect();
        keys.iter().for_each(|key| session.known.add(Field::Line, &bytes(key)));
        let (nas, deadline) = (Arc::clone(&session.nas), session.deadline);
        let id = session.session().map(|id| self.keys.short((&*nas, id)));
        // Whoever is found by one of these is found by it no more.
        for key in &keys {
            if let Some(other) = self.with_line(key) {
                self.by_line.remove(short(key), other.place());
            }
        }
        let other = session.session().and_then(|id| self.by_id(&nas, id));
        let serial = self.sessions.insert(session);
        keys.iter().for_each(|key| self.by_line.insert(short(key), serial.place()));
        if let Some(hash) = id {
            self.displace(hash, other);
            self.by_id.insert(hash, serial.place());
        }
        self.enlist(nas, serial.place());
        self.push_deadline(deadline, serial);
        serial
    }

    /// The other session of an id is found by it no more.
    fn displace(&mut self, hash: u32, other: Option<Serial>) {
        if let Some(other) = other {
            self.by_id.remove(hash, other.place());
        }
    }

    /// Puts a place at the end of the list of its NAS.
    fn enlist(&mut self, nas: Arc<str>, place: u32) {
        let Some((_, last)) = self.by_nas.get_mut(&nas) else {
            self.by_nas.insert(nas, (place, place));
            return;
        };
        let before = std::mem::replace(last, place);
        self.link(before, place);
    }

    /// Takes a place out of the list of its NAS.
    fn delist(&mut self, nas: &str, place: u32) {
        let Some(Neighbours { before, after }) = self.sessions.neighbours(place).copied() else { return };
        self.link(before, after);
        match self.by_nas.get_mut(nas) {
            Some(_) if before == NOWHERE && after == NOWHERE => _ = self.by_nas.remove(nas),
            Some((first, _)) if before == NOWHERE => *first = after,
            Some((_, last)) if after == NOWHERE => *last = before,
            _ => {}
        }
    }

    /// One place follows another; of either there may be none.
    fn link(&mut self, before: u32, after: u32) {
        if let Some(neighbours) = self.sessions.neighbours(before) {
            neighbours.after = after;
        }
        if let Some(neighbours) = self.sessions.neighbours(after) {
            neighbours.before = before;
        }
    }

    /// The session is found by this id from now on.
    pub(crate) fn name(&mut self, serial: Serial, id: &str) {
        let Some(session) = self.sessions.get(serial) else { return };
        let (nas, hash) = (Arc::clone(&session.nas), self.keys.short((&*session.nas, id)));
        let other = self.by_id(&nas, id);
        if other == Some(serial) {
            return;
        }
        let old = session.session().map(|old| self.keys.short((&*nas, old)));
        if let Some(old) = old {
            self.by_id.remove(old, serial.place());
        }
        self.displace(hash, other);
        self.by_id.insert(hash, serial.place());
        if let Some(session) = self.sessions.get_mut(serial) {
            session.known.set(Field::Session, id.as_bytes());
        }
    }

    /// Moves the deadline of a session, which is found at it.
    pub(crate) fn set_deadline(&mut self, serial: Serial, deadline: Nanos) {
        let Some(session) = self.sessions.get_mut(serial) else { return };
        // A later deadline is found where the earlier one is due.
        let is_earlier = deadline < session.deadline;
        session.deadline = deadline;
        if is_earlier {
            self.push_deadline(deadline, serial);
        }
    }

    fn push_deadline(&mut self, deadline: Nanos, serial: Serial) {
        if self.deadlines.len() >= 2 * self.sessions.len() + FEW {
            let due = self.sessions.iter().map(|(serial, session)| Reverse((session.deadline, serial)));
            self.deadlines = due.collect();
        } else {
            self.deadlines.push(Reverse((deadline, serial)));
        }
    }

    /// The session whose deadline is next, with it.
    pub(crate) fn first_due(&mut self) -> Option<(Nanos, Serial)> {
        loop {
            let Reverse((deadline, serial)) = *self.deadlines.peek()?;
            let now_due = self.sessions.get(serial).map(|session| session.deadline);
            if now_due == Some(deadline) {
                return Some((deadline, serial));
            }
            self.deadlines.pop();
            if let Some(moved) = now_due.filter(|moved| *moved > deadline) {
                self.deadlines.push(Reverse((moved, serial)));
            }
        }
    }

    /// The session is found by an address that it has now.
    pub(crate) fn hold(&mut self, serial: Serial, assigned: &Assigned) {
        let Some(hash) = assigned.key().map(|key| self.keys.short(key)) else { return };
        if !self.by_address.places(hash).any(|place| place == serial.place()) {
            self.by_address.insert(hash, serial.place());
        }
    }

    /// The session no longer has these.
    pub(crate) fn release(&mut self, serial: Serial, released: &[Assigned]) {
        for assigned in released {
            let Some(session) = self.sessions.get(serial) else { return };
            // It may have the same address by another attribute, or another block of its ports; or another
            // whose hash is the same.
            let hash = |assigned: &Assigned| assigned.key().map(|key| self.keys.short(key));
            let Some(own) = hash(assigned) else { continue };
            if !session.open().any(|hold| hash(&hold.assigned) == Some(own)) {
                self.by_address.remove(own, serial.place());
            }
        }
    }

    /// Takes a session out, and all that leads to it.
    pub(crate) fn remove(&mut self, serial: Serial) -> Option<Session> {
        let session = self.sessions.get(serial)?;
        let nas = Arc::clone(&session.nas);
        for key in session.open().filter_map(|hold| hold.assigned.key()) {
            self.by_address.remove(self.keys.short(key), serial.place());
        }
        for line in session.known.all(Field::Line).filter_map(|line| line.first_chunk()) {
            self.by_line.remove(u32::from_le_bytes(*line), serial.place());
        }
        if let Some(id) = session.session() {
            self.by_id.remove(self.keys.short((&*nas, id)), serial.place());
        }
        self.weight -= session.weight as usize;
        self.delist(&nas, serial.place());
        self.sessions.remove(serial)
    }

    /// Takes all out, the earliest first.
    pub(crate) fn drain(&mut self) -> Vec<Session> {
        let mut all: Vec<Session> = std::mem::take(self).sessions.into_sessions().collect();
        all.sort_by_key(|session| (session.start, session.number));
        all
    }
}

/// Whether a session has an address now.
fn has(session: &Session, key: &AddressKey) -> bool {
    session.open().any(|hold| hold.assigned.key().as_ref() == Some(key))
}

/// The part of a key that an index has.
fn short(key: &Key) -> u32 {
    key[0] as u32
}

/// A key as a session has it: what an index has, and the second hash, by which nobody takes another for it.
fn bytes(key: &Key) -> [u8; 12] {
    let mut bytes = [0; 12];
    let (index, check) = bytes.split_at_mut(4);
    index.copy_from_slice(&short(key).to_le_bytes());
    check.copy_from_slice(&key[1].to_le_bytes());
    bytes
}

/// Deadlines that are not worth looking through.
const FEW: usize = 64;

#[cfg(test)]
mod tests {
    use ringtap_model::{Id, SessionBegin};

    use super::*;

    fn session(deadline: Nanos) -> Session {
        let begun = SessionBegin::Accepted;
        Session { deadline, ..Session::new(Id([0; 16]), "nas".into(), begun, Nanos::ZERO, Nanos::ZERO) }
    }

    /// As by a NAS that names another interim interval with each report, or the same session anew.
    #[test]
    fn deadlines_that_move_forth_and_back_take_no_more_room() {
        let mut table = Table::default();
        let first = table.insert(session(Nanos::from_secs(500)), &[]);
        let other = table.insert(session(Nanos::from_secs(300)), &[]);
        for second in 0..10_000 {
            table.set_deadline(first, Nanos::from_secs(100_000 + second));
            table.set_deadline(first, Nanos::from_secs(400));
            let gone = table.insert(session(Nanos::from_secs(200_000)), &[]);
            table.remove(gone);
            assert!(table.deadlines.len() <= 2 * table.len() + 2 + FEW, "{}", table.deadlines.len());
        }
        assert_eq!(table.first_due(), Some((Nanos::from_secs(300), other)));
        table.remove(other);
        assert_eq!(table.first_due(), Some((Nanos::from_secs(400), first)));
    }

    #[test]
    fn what_finds_a_session_goes_with_it() {
        let mut table = Table::default();
        let line = Line::Class("nas", b"class");
        let [first, second, third] = [1, 2, 3].map(|_| {
            let serial = table.insert(session(Nanos::from_secs(500)), std::slice::from_ref(&line));
            table.name(serial, "same");
            serial
        });
        assert_eq!((table.by_line(&line), table.by_id("nas", "same")), (Some(third), Some(third)));
        assert_eq!(table.of_nas("nas"), [first, second, third]);
        table.name(first, "own");
        table.name(first, "other");
        assert_eq!((table.by_id("nas", "own"), table.by_id("nas", "other")), (None, Some(first)));
        table.remove(second);
        assert_eq!((table.by_line(&line), table.of_nas("nas")), (Some(third), vec![first, third]));
        table.remove(third);
        assert_eq!((table.by_line(&line), table.by_id("nas", "same")), (None, None));
        let fourth = table.insert(session(Nanos::from_secs(500)), &[line]);
        assert_eq!(fourth.place(), third.place());
        assert!(!table.contains(third) && table.find(third).is_none());
        assert_eq!(table.of_nas("nas"), [first, fourth]);
        table.remove(first);
        table.remove(fourth);
        assert_eq!((table.of_nas("nas"), table.len()), (vec![], 0));
    }
}

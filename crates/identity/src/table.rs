//! Sessions and the ways to find one: by its id, its line, its NAS, its addresses, its deadline.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::hash::Hash;

use ringtap_model::Nanos;

use crate::facts::Assigned;
use crate::key::{ByKey, Key, Keys};
use crate::line::Line;
use crate::session::Session;

/// Sessions by a serial number that ascends.
#[derive(Debug, Default)]
pub(crate) struct Table {
    next: u64,
    keys: Keys,
    /// In boxes: the map has up to twice as many places as sessions.
    sessions: HashMap<u64, Box<Session>>,
    /// Bytes that they take, as they were last weighed.
    weight: usize,
    /// By NAS and Acct-Session-Id.
    by_id: ByKey<u64>,
    by_line: ByKey<u64>,
    by_nas: HashMap<String, BTreeSet<u64>>,
    by_address: ByKey<Serials>,
    /// A deadline that was moved, or whose session is gone, is here too, and is passed over.
    ///
    /// INVARIANT: at most twice as many as sessions, and [`FEW`].
    deadlines: BinaryHeap<Reverse<(Nanos, u64)>>,
}

/// Sessions of one address: hardly ever more than one, but for blocks of its ports.
#[derive(Debug)]
enum Serials {
    One(u64),
    Many(Vec<u64>),
}

impl Serials {
    fn as_slice(&self) -> &[u64] {
        match self {
            Self::One(serial) => std::slice::from_ref(serial),
            Self::Many(serials) => serials,
        }
    }

    fn add(&mut self, serial: u64) {
        match self {
            _ if self.as_slice().contains(&serial) => {}
            Self::One(one) => *self = Self::Many(vec![*one, serial]),
            Self::Many(serials) => serials.push(serial),
        }
    }

    /// Whether there is none left.
    fn remove(&mut self, serial: u64) -> bool {
        match self {
            Self::One(one) => *one == serial,
            Self::Many(serials) => {
                serials.retain(|other| *other != serial);
                serials.is_empty()
            }
        }
    }
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
    pub(crate) fn weigh(&mut self, serial: u64) {
        let Some(session) = self.sessions.get_mut(&serial) else { return };
        let bytes = session.bytes();
        self.weight = self.weight - session.weight + bytes;
        session.weight = bytes;
    }

    pub(crate) fn find(&mut self, serial: u64) -> Option<&mut Session> {
        self.sessions.get_mut(&serial).map(|session| &mut **session)
    }

    pub(crate) fn contains(&self, serial: u64) -> bool {
        self.sessions.contains_key(&serial)
    }

    fn key(&self, of: impl Hash) -> Key {
        self.keys.of(of)
    }

    pub(crate) fn by_id(&self, nas: &str, session: &str) -> Option<u64> {
        self.by_id.get(&self.key((nas, session))).copied()
    }

    pub(crate) fn by_line(&self, line: &Line) -> Option<u64> {
        self.by_line.get(&self.key(line)).copied()
    }

    /// Sessions of a NAS, the earliest first.
    pub(crate) fn of_nas(&self, nas: &str) -> Vec<u64> {
        self.by_nas.get(nas).into_iter().flatten().copied().collect()
    }

    /// Sessions that have exactly this address, or blocks of its ports.
    pub(crate) fn with_address(&self, assigned: &Assigned) -> Vec<u64> {
        let found = assigned.key().and_then(|key| self.by_address.get(&self.key(key)));
        found.map(|serials| serials.as_slice().to_vec()).unwrap_or_default()
    }

    /// Adds a session that is found by these lines.
    pub(crate) fn insert(&mut self, mut session: Session, lines: &[Line]) -> u64 {
        let serial = self.next;
        self.next += 1;
        match self.by_nas.get_mut(&session.nas) {
            Some(serials) => _ = serials.insert(serial),
            None => _ = self.by_nas.insert(session.nas.clone(), BTreeSet::from([serial])),
        }
        session.lines = lines.iter().map(|line| self.key(line)).collect();
        for line in &session.lines {
            self.by_line.insert(*line, serial);
        }
        let (id, deadline) = (session.facts.session.clone(), session.deadline);
        self.sessions.insert(serial, Box::new(session));
        self.push_deadline(deadline, serial);
        if let Some(id) = id {
            self.name(serial, &id);
        }
        serial
    }

    /// The session is found by this id from now on.
    pub(crate) fn name(&mut self, serial: u64, id: &str) {
        let Some(session) = self.sessions.get_mut(&serial) else { return };
        if session.facts.session.as_deref() != Some(id)
            && let Some(old) = session.facts.session.replace(id.to_owned())
        {
            self.by_id.remove(&self.keys.of((&*session.nas, &*old)));
        }
        self.by_id.insert(self.keys.of((&*session.nas, id)), serial);
    }

    /// Moves the deadline of a session, which is found at it.
    pub(crate) fn set_deadline(&mut self, serial: u64, deadline: Nanos) {
        let Some(session) = self.sessions.get_mut(&serial) else { return };
        // A later deadline is found where the earlier one is due.
        let is_earlier = deadline < session.deadline;
        session.deadline = deadline;
        if is_earlier {
            self.push_deadline(deadline, serial);
        }
    }

    fn push_deadline(&mut self, deadline: Nanos, serial: u64) {
        if self.deadlines.len() >= 2 * self.sessions.len() + FEW {
            let due = self.sessions.iter().map(|(serial, session)| Reverse((session.deadline, *serial)));
            self.deadlines = due.collect();
        } else {
            self.deadlines.push(Reverse((deadline, serial)));
        }
    }

    /// The session whose deadline is next, with it.
    pub(crate) fn first_due(&mut self) -> Option<(Nanos, u64)> {
        loop {
            let Reverse((deadline, serial)) = *self.deadlines.peek()?;
            let now_due = self.sessions.get(&serial).map(|session| session.deadline);
            if now_due == Some(deadline) {
                return Some((deadline, serial));
            }
            self.deadlines.pop();
            if let Some(moved) = now_due.filter(|moved| *moved > deadline) {
                self.deadlines.push(Reverse((moved, serial)));
            }
        }
    }

    pub(crate) fn hold(&mut self, serial: u64, assigned: &Assigned) {
        let Some(key) = assigned.key() else { return };
        let key = self.key(key);
        self.by_address.entry(key).and_modify(|serials| serials.add(serial)).or_insert(Serials::One(serial));
    }

    /// The session no longer has these.
    pub(crate) fn release(&mut self, serial: u64, released: &[Assigned]) {
        for assigned in released {
            let Some(session) = self.sessions.get(&serial) else { return };
            // It may have the same address by another attribute, or another block of its ports.
            if session.open().any(|hold| hold.assigned.key() == assigned.key()) {
                continue;
            }
            self.forget_address(serial, assigned);
        }
    }

    fn forget_address(&mut self, serial: u64, assigned: &Assigned) {
        let Some(key) = assigned.key() else { return };
        let key = self.key(key);
        if self.by_address.get_mut(&key).is_some_and(|serials| serials.remove(serial)) {
            self.by_address.remove(&key);
        }
    }

    /// Takes a session out, and all that leads to it.
    pub(crate) fn remove(&mut self, serial: u64) -> Option<Box<Session>> {
        let open: Vec<Assigned> = self.sessions.get(&serial)?.open().map(|hold| hold.assigned).collect();
        let session = self.sessions.remove(&serial)?;
        self.weight -= session.weight;
        for assigned in &open {
            self.forget_address(serial, assigned);
        }
        for line in &session.lines {
            if self.by_line.get(line) == Some(&serial) {
                self.by_line.remove(line);
            }
        }
        if let Some(id) = &session.facts.session {
            let key = self.key((&*session.nas, &**id));
            if self.by_id.get(&key) == Some(&serial) {
                self.by_id.remove(&key);
            }
        }
        if let Some(serials) = self.by_nas.get_mut(&session.nas) {
            serials.remove(&serial);
            if serials.is_empty() {
                self.by_nas.remove(&session.nas);
            }
        }
        Some(session)
    }

    /// Takes all out, the earliest first.
    pub(crate) fn drain(&mut self) -> Vec<Session> {
        let mut all: Vec<(u64, Box<Session>)> = std::mem::take(self).sessions.into_iter().collect();
        all.sort_by_key(|(serial, session)| (session.start, *serial));
        all.into_iter().map(|(_, session)| *session).collect()
    }
}

/// Deadlines that are not worth looking through.
const FEW: usize = 64;

#[cfg(test)]
mod tests {
    use ringtap_model::SessionBegin;

    use super::*;
    use crate::facts::Facts;

    fn session(deadline: Nanos) -> Session {
        Session {
            id: ringtap_model::Id([0; 16]),
            nas: "nas".to_owned(),
            facts: Facts::default(),
            lines: Box::default(),
            begun_by: SessionBegin::Accepted,
            first: Nanos::ZERO,
            start: Nanos::ZERO,
            last: Nanos::ZERO,
            end: None,
            deadline,
            holds: Vec::new(),
            weight: 0,
            packets: 0,
            retransmissions: 0,
            changes: 0,
            is_changed: false,
            recorded: None,
        }
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
}

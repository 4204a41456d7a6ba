//! Sessions and the ways to find one: by its id, its line, its NAS, its addresses, its deadline.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use ringtap_model::Nanos;

use crate::facts::{AddressKey, Assigned};
use crate::line::Line;
use crate::session::Session;

/// Sessions by a serial number that ascends.
#[derive(Debug, Default)]
pub(crate) struct Table {
    next: u64,
    sessions: HashMap<u64, Session>,
    /// Bytes that they take, as they were last weighed.
    weight: usize,
    /// By NAS and Acct-Session-Id.
    by_id: HashMap<(String, String), u64>,
    by_line: HashMap<Line, u64>,
    by_nas: HashMap<String, BTreeSet<u64>>,
    by_address: HashMap<AddressKey, Vec<u64>>,
    /// A deadline that was moved, or whose session is gone, is here too, and is passed over.
    ///
    /// INVARIANT: at most twice as many as sessions, and [`FEW`].
    deadlines: BinaryHeap<Reverse<(Nanos, u64)>>,
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
        self.sessions.get_mut(&serial)
    }

    pub(crate) fn by_id(&self, nas: &str, session: &str) -> Option<u64> {
        self.by_id.get(&(nas.to_owned(), session.to_owned())).copied()
    }

    pub(crate) fn by_line(&self, line: &Line) -> Option<u64> {
        self.by_line.get(line).copied()
    }

    /// Sessions of a NAS, the earliest first.
    pub(crate) fn of_nas(&self, nas: &str) -> Vec<u64> {
        self.by_nas.get(nas).into_iter().flatten().copied().collect()
    }

    /// Sessions that have exactly this address, or blocks of its ports.
    pub(crate) fn with_address(&self, assigned: &Assigned) -> Vec<u64> {
        let found = assigned.key().and_then(|key| self.by_address.get(&key));
        found.cloned().unwrap_or_default()
    }

    pub(crate) fn insert(&mut self, session: Session) -> u64 {
        let serial = self.next;
        self.next += 1;
        self.by_nas.entry(session.nas.clone()).or_default().insert(serial);
        for line in &session.lines {
            self.by_line.insert(line.clone(), serial);
        }
        let (id, deadline) = (session.facts.session.clone(), session.deadline);
        self.sessions.insert(serial, session);
        self.push_deadline(deadline, serial);
        if let Some(id) = id {
            self.name(serial, &id);
        }
        serial
    }

    /// The session is found by this id from now on.
    pub(crate) fn name(&mut self, serial: u64, id: &str) {
        let Some(session) = self.sessions.get_mut(&serial) else { return };
        if let Some(old) = session.facts.session.replace(id.to_owned()).filter(|old| old != id) {
            self.by_id.remove(&(session.nas.clone(), old));
        }
        self.by_id.insert((session.nas.clone(), id.to_owned()), serial);
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
        let serials = self.by_address.entry(key).or_default();
        if !serials.contains(&serial) {
            serials.push(serial);
        }
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
        if let Some(serials) = self.by_address.get_mut(&key) {
            serials.retain(|other| *other != serial);
            if serials.is_empty() {
                self.by_address.remove(&key);
            }
        }
    }

    /// Takes a session out, and all that leads to it.
    pub(crate) fn remove(&mut self, serial: u64) -> Option<Session> {
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
            let key = (session.nas.clone(), id.clone());
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
        let mut all: Vec<(u64, Session)> = std::mem::take(self).sessions.into_iter().collect();
        all.sort_by_key(|(serial, session)| (session.start, *serial));
        all.into_iter().map(|(_, session)| session).collect()
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
            nas: "nas".to_owned(),
            facts: Facts::default(),
            lines: Vec::new(),
            begun_by: SessionBegin::Accepted,
            first_frame: 1,
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
        }
    }

    /// As by a NAS that names another interim interval with each report, or the same session anew.
    #[test]
    fn deadlines_that_move_forth_and_back_take_no_more_room() {
        let mut table = Table::default();
        let first = table.insert(session(Nanos::from_secs(500)));
        let other = table.insert(session(Nanos::from_secs(300)));
        for second in 0..10_000 {
            table.set_deadline(first, Nanos::from_secs(100_000 + second));
            table.set_deadline(first, Nanos::from_secs(400));
            let gone = table.insert(session(Nanos::from_secs(200_000)));
            table.remove(gone);
            assert!(table.deadlines.len() <= 2 * table.len() + 2 + FEW, "{}", table.deadlines.len());
        }
        assert_eq!(table.first_due(), Some((Nanos::from_secs(300), other)));
        table.remove(other);
        assert_eq!(table.first_due(), Some((Nanos::from_secs(400), first)));
    }
}

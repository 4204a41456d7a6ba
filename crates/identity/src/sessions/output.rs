//! What is told of sessions: their records, and attempts to log in.

use std::net::IpAddr;

use ringtap_model::Identity;

use super::Sessions;
use crate::attempt::{Attempt, MOST_ATTEMPTS};
use crate::carried::Carried;
use crate::facts::Facts;
use crate::session::REFRESH;
use crate::slots::Serial;

impl Sessions {
    /// Records of the sessions that are over since this was last asked.
    pub fn take(&mut self) -> Vec<Identity> {
        std::mem::take(&mut self.over)
    }

    /// Records of about `most` sessions that began or changed since this was last asked, as they are now;
    /// of one that only goes on, once in [`REFRESH`]. What [`Sessions::take`] gives of a session is newer.
    pub fn take_changed(&mut self, most: usize) -> Vec<Identity> {
        let Some(changed) = &mut self.changed else { return Vec::new() };
        let mut records = self.configured.take_begun();
        while records.len() < most
            && let Some(serial) = changed.pop_front()
        {
            // Who is gone is among those that are over.
            let Some(session) = self.table.find(serial) else { continue };
            session.is_changed = false;
            session.refresh = session.last + REFRESH;
            records.push(session.record());
        }
        records
    }

    /// Requests to be let in, and refusals, since this was last asked.
    pub fn take_attempts(&mut self) -> Vec<Attempt> {
        self.attempts.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Records of the sessions that have not ended, in no order.
    pub fn records(&self) -> impl Iterator<Item = Identity> {
        let open = self.table.sessions().filter(|session| session.end.is_none());
        open.map(|session| session.record()).chain(self.configured.in_force())
    }

    /// Notes an attempt to log in.
    pub(super) fn note_attempt(&mut self, facts: &Facts, sender: IpAddr, is_refused: bool, carried: Carried) {
        let Some(attempts) = self.attempts.as_mut().filter(|_| facts.is_about_somebody()) else { return };
        if attempts.len() >= MOST_ATTEMPTS {
            self.counts.attempts_dropped += 1;
            return;
        }
        attempts.push(Attempt::of(facts, facts.nas(sender), is_refused, carried));
    }

    /// Notes that the record of a session has to be made again.
    pub(super) fn note_change(&mut self, serial: Serial) {
        let Some(changed) = &mut self.changed else { return };
        if let Some(session) = self.table.find(serial).filter(|session| !session.is_changed) {
            session.is_changed = true;
            // Nobody takes them, and those of sessions that are gone stay.
            if changed.len() > 2 * self.table.len() {
                changed.retain(|serial| self.table.contains(*serial));
            }
            changed.push_back(serial);
        }
    }
}

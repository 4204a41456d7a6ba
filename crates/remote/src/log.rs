//! The latest changes, and all that holds now.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use ringtap_model::{Id, Identity, Nanos};
use ringtap_warrant::{Name, Order, TargetIndex};

use crate::change::{Change, What};
use crate::wire::{FromProbe, framed};

/// A message, ready to be sent.
pub(crate) type Message = Arc<[u8]>;

/// What a probe has told, or tells whoever comes later.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// The latest changes, the oldest first.
    latest: VecDeque<Message>,
    bytes: usize,
    /// How many changes there were: the number of the last.
    last: u64,
    orders: Vec<Order>,
    /// Open sessions of targets.
    sessions: BTreeMap<Id, Identity>,
    /// Up to when everything was told.
    followed: Nanos,
    /// What may become a target's, and how many of these there were: nobody is told later than the others.
    soon: VecDeque<Message>,
    last_soon: u64,
    /// Sessions beyond the ceiling: who comes later is not told of them.
    pub(crate) dropped: u64,
}

impl Log {
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    pub(crate) fn followed(&self) -> Nanos {
        self.followed
    }

    /// Everything was told up to that time.
    pub(crate) fn follow(&mut self, until: Nanos) {
        self.followed = self.followed.max(until);
    }

    /// The orders changed.
    pub(crate) fn orders(&mut self, orders: &[Order], at: Nanos) {
        self.orders = orders.to_vec();
        let index = TargetIndex::of_orders(&self.orders);
        self.sessions.retain(|_, record| index.find(Name::of_session(record)).into_iter().next().is_some());
        self.push(What::Orders(self.orders.clone()), at);
    }

    /// The session of a target changed.
    pub(crate) fn session(&mut self, record: &Identity, is_open: bool, at: Nanos) {
        if record.end.is_some() {
            self.sessions.remove(&record.id);
        } else if self.sessions.len() < MOST_SESSIONS || self.sessions.contains_key(&record.id) {
            self.sessions.insert(record.id, record.clone());
        } else {
            self.dropped += 1;
        }
        self.push(What::Session { record: Box::new(record.clone()), is_open }, at);
    }

    /// These may become a target's, by a packet of that time.
    pub(crate) fn soon(&mut self, networks: &[(IpAddr, u8)], at: Nanos) {
        self.last_soon += 1;
        let soon = FromProbe::Soon { networks: networks.to_vec(), at_ns: at.0 };
        self.soon.push_back(framed(&soon).unwrap_or_default().into());
        if self.soon.len() > MOST_SOON {
            self.soon.pop_front();
        }
    }

    /// How many of these there were.
    pub(crate) fn last_soon(&self) -> u64 {
        self.last_soon
    }

    /// Those behind that one which are remembered.
    pub(crate) fn soon_behind(&self, number: u64) -> impl Iterator<Item = &Message> {
        let missing = usize::try_from(self.last_soon.saturating_sub(number)).unwrap_or(usize::MAX);
        self.soon.range(self.soon.len().saturating_sub(missing)..)
    }

    fn push(&mut self, what: What, at: Nanos) {
        // What was told of up to `followed` does not change.
        let at = at.max(self.followed);
        self.last += 1;
        let message = message(Change { number: self.last, at, what });
        self.bytes += message.len();
        self.latest.push_back(message);
        while self.bytes > MOST_BYTES
            && let Some(oldest) = self.latest.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }

    /// Changes behind that one; none if it does not go back so far.
    pub(crate) fn behind(&self, number: u64) -> Option<impl Iterator<Item = &Message>> {
        let missing = usize::try_from(self.last.checked_sub(number)?).ok()?;
        let first = self.latest.len().checked_sub(missing)?;
        Some(self.latest.range(first..))
    }

    /// All that holds now.
    pub(crate) fn whole(&self) -> Vec<Message> {
        let change = |what| message(Change { number: self.last, at: self.followed, what });
        let session = |record: &Identity| What::Session { record: Box::new(record.clone()), is_open: true };
        let mut all = vec![change(What::Restart), change(What::Orders(self.orders.clone()))];
        all.extend(self.sessions.values().map(|record| change(session(record))));
        all.push(change(What::Whole));
        all
    }
}

fn message(change: Change) -> Message {
    // Records and orders have texts and numbers alone, which JSON has.
    framed(&FromProbe::Change(change)).unwrap_or_default().into()
}

/// Bytes of the latest changes: a sniffer that was away for longer is told all.
const MOST_BYTES: usize = 64 << 20;
/// Networks that may become a target's: those of a moment.
const MOST_SOON: usize = 4096;
/// Sessions of targets.
const MOST_SESSIONS: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_away_for_too_long_is_told_all() {
        let mut log = Log::default();
        assert_eq!(log.behind(0).unwrap().count(), 0);
        assert!(log.behind(1).is_none(), "it is from the future");
        (1..=5).for_each(|at| log.orders(&[], Nanos(at)));
        assert_eq!((log.last(), log.behind(0).unwrap().count(), log.behind(5).unwrap().count()), (5, 5, 0));
        log.bytes = MOST_BYTES;
        log.orders(&[], Nanos(6));
        assert!(log.behind(0).is_none());
        assert!(log.behind(5).is_some_and(|rest| rest.count() == 1));
        assert_eq!(log.whole().len(), 3);
    }

    #[test]
    fn nothing_changes_before_what_was_told_of() {
        let mut log = Log::default();
        log.follow(Nanos(100));
        log.follow(Nanos(50));
        log.orders(&[], Nanos(60));
        let sent = log.behind(0).unwrap().next().unwrap();
        let change: FromProbe = serde_json::from_slice(&sent[4..]).unwrap();
        let expected = Change { number: 1, at: Nanos(100), what: What::Orders(Vec::new()) };
        assert_eq!(change, FromProbe::Change(expected));
    }
}

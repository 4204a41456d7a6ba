//! Orders, and when one of them begins or ends.

use std::collections::HashMap;
use std::sync::Arc;

use ringtap_model::Nanos;
use ringtap_warrant::{Liid, Order, TargetIndex};

/// All orders, and those in force.
#[derive(Debug)]
pub(crate) struct Orders {
    all: Vec<Arc<Order>>,
    in_force: Vec<Arc<Order>>,
    index: TargetIndex,
    /// When each ends: an extension changes that and nothing else of an order that goes on.
    ends: HashMap<Liid, Nanos>,
    /// The latest time that was looked at: time never goes back, so that nothing is in force again that
    /// ended.
    now: Nanos,
    /// When an order begins or ends next.
    next: Nanos,
    /// Somebody else gives the events of accesses.
    pub(crate) accesses_elsewhere: bool,
}

/// What changed.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) ended: Vec<Arc<Order>>,
    pub(crate) begun: Vec<Arc<Order>>,
}

impl Default for Orders {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            in_force: Vec::new(),
            index: TargetIndex::default(),
            ends: HashMap::new(),
            now: Nanos::ZERO,
            next: Nanos::MAX,
            accesses_elsewhere: false,
        }
    }
}

impl Orders {
    /// Replaces all. An order that is as it was, but for its end, goes on; one that was changed otherwise
    /// ends and begins anew.
    pub(crate) fn replace(&mut self, orders: Vec<Order>) -> Change {
        self.ends = orders.iter().map(|order| (order.liid.clone(), order.ends)).collect();
        let before: HashMap<Liid, Arc<Order>> =
            self.all.drain(..).map(|order| (order.liid.clone(), order)).collect();
        let known = |order: Order| match before.get(&order.liid) {
            Some(known) if (Order { ends: known.ends, ..order.clone() }) == **known => Arc::clone(known),
            _ => Arc::new(order),
        };
        self.all = orders.into_iter().map(known).collect();
        self.change()
    }

    /// Until when an order is in force.
    pub(crate) fn ends(&self, order: &Order) -> Nanos {
        self.ends.get(&order.liid).copied().unwrap_or(order.ends)
    }

    /// Goes on to a time.
    pub(crate) fn advance(&mut self, now: Nanos) -> Option<Change> {
        let is_due = now >= self.next;
        self.now = self.now.max(now);
        is_due.then(|| self.change())
    }

    /// When an order begins or ends next.
    pub(crate) fn next_change(&self) -> Nanos {
        self.next
    }

    pub(crate) fn in_force(&self) -> &[Arc<Order>] {
        &self.in_force
    }

    pub(crate) fn index(&self) -> &TargetIndex {
        &self.index
    }

    pub(crate) fn now(&self) -> Nanos {
        self.now
    }

    /// The order in force with that identifier.
    pub(crate) fn find(&self, liid: &Liid) -> Option<&Arc<Order>> {
        self.in_force.iter().find(|order| order.liid == *liid)
    }

    fn change(&mut self) -> Change {
        let times = self.all.iter().flat_map(|order| [order.begins, self.ends(order)]);
        self.next = times.filter(|time| *time > self.now).min().unwrap_or(Nanos::MAX);
        let is_in_force = |order: &&Arc<Order>| order.begins <= self.now && self.now < self.ends(order);
        let now: Vec<Arc<Order>> = self.all.iter().filter(is_in_force).cloned().collect();
        let is_in =
            |orders: &[Arc<Order>], order: &Arc<Order>| orders.iter().any(|one| Arc::ptr_eq(one, order));
        let before = std::mem::take(&mut self.in_force);
        let change = Change {
            ended: before.iter().filter(|order| !is_in(&now, order)).cloned().collect(),
            begun: now.iter().filter(|order| !is_in(&before, order)).cloned().collect(),
        };
        self.index = TargetIndex::new(
            now.iter().flat_map(|order| order.targets.iter().map(|target| (target, &order.liid))),
        );
        self.in_force = now;
        change
    }
}

//! The orders in force, as the register has them now.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringtap_model::Nanos;
use ringtap_warrant::{Error, Order, Register, RegisterKey};

use super::accounts::Changes;

/// Looks at the register, and records in it what was done by its orders.
pub(crate) struct OrderBook {
    path: PathBuf,
    key: RegisterKey,
    /// None after it could not be used: it is opened again.
    register: Option<Register>,
    /// Those in force, and those that ended and whose last packets may not have been looked at.
    orders: Vec<Order>,
    looked: Option<Instant>,
    /// When the register last gave out its orders.
    given: Option<Instant>,
    told: Option<Instant>,
    is_replay: bool,
}

impl OrderBook {
    pub(crate) fn new(path: &Path, key: RegisterKey, register: Register, is_replay: bool) -> Self {
        let (path, register) = (path.to_owned(), Some(register));
        Self { path, key, register, orders: Vec::new(), looked: None, given: None, told: None, is_replay }
    }

    /// The orders, if they may be others than they were. `followed`: what was captured before has been looked
    /// at.
    pub(crate) fn look(&mut self, clock: Nanos, followed: Nanos) -> Option<&[Order]> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return None;
        }
        self.looked = Some(Instant::now());
        let is_due = self.given.is_none_or(|given| given.elapsed() >= REMEMBER);
        let has_changed = self.register.as_ref().is_none_or(|register| register.has_changed(clock));
        if !is_due && !has_changed {
            return None;
        }
        match self.read(clock, followed) {
            Ok(orders) => {
                self.given = Some(Instant::now());
                let has_changed = self.orders != orders;
                self.orders = orders;
                has_changed.then_some(&self.orders[..])
            }
            Err(error) => {
                // Those that were given out hold until their ends, and none begins.
                self.fail(&error);
                None
            }
        }
    }

    fn read(&mut self, clock: Nanos, followed: Nanos) -> Result<Vec<Order>, Error> {
        let register = match &mut self.register {
            Some(register) => register,
            none => none.insert(Register::open(&self.path, &self.key)?),
        };
        let mut orders = register.active(clock)?;
        // A capture that is replayed is older than the approval.
        if self.is_replay {
            return Ok(orders);
        }
        for order in &mut orders {
            if let Some(term) = register.term(&order.liid) {
                order.begins = term.start;
            }
        }
        for ended in &self.orders {
            let is_known = orders.iter().any(|order| order.liid == ended.liid);
            let ends = register.term(&ended.liid).map_or(ended.ends, |term| term.end).min(ended.ends);
            if !is_known && followed < ends + AFTER {
                orders.push(Order { ends, ..ended.clone() });
            }
        }
        Ok(orders)
    }

    /// Records what began and ended.
    pub(crate) fn record(&mut self, changes: Changes, clock: Nanos) {
        let Some(register) = &mut self.register else { return };
        let begun = changes.begun.iter().map(|liid| (liid, None));
        let stopped = changes.stopped.iter().map(|(liid, proof)| (liid, Some(proof)));
        let mut failed = None;
        for (liid, proof) in begun.chain(stopped) {
            let recorded = match proof {
                None => register.begun(liid, clock),
                Some(proof) => register.stopped(liid, proof.clone(), clock),
            };
            // One that ends at once has no beginning.
            if let Err(error) = recorded
                && !matches!(error, Error::Refused(_))
            {
                failed = Some(error);
            }
        }
        if let Some(error) = failed {
            self.fail(&error);
        }
    }

    /// The register cannot be used now: that says nothing of what is in it.
    fn fail(&mut self, error: &Error) {
        self.register = None;
        if self.told.is_none_or(|told| told.elapsed() >= BETWEEN) {
            self.told = Some(Instant::now());
            log::error!(
                target: "run",
                "[intercept] register: {error}; until it can be used, no order begins and none is changed"
            );
        }
    }

    /// Whether its orders have been read: they hold, also while it cannot be used.
    pub(crate) fn is_known(&self) -> bool {
        self.given.is_some()
    }

    /// Whether the register can be used.
    pub(crate) fn is_usable(&self) -> bool {
        self.register.is_some()
    }

    pub(crate) fn orders(&self) -> &[Order] {
        &self.orders
    }
}

/// How often the register is asked whether it has changed.
const LOOK: Duration = Duration::from_millis(100);
/// How often it remembers the time, so that a clock that is set back extends nothing.
const REMEMBER: Duration = Duration::from_secs(1);
/// How long an order that ended is remembered, by the time of packets.
const AFTER: Nanos = Nanos::from_secs(1);
/// How often the log is told of the same.
const BETWEEN: Duration = Duration::from_secs(60);

//! A sniffer's side: orders and sessions come from a probe.

use std::collections::BTreeMap;
use std::mem;
use std::time::{Duration, Instant};

use ringtap_intercept::Interception;
use ringtap_model::{HeldAddress, Id, Identity, Nanos};
use ringtap_remote::{Change, Confirmation, Heard, Sniffer, Stop, What};
use ringtap_warrant::Order;

use super::accounts::{Accounts, Changes};
use super::report::ProductReport;

/// What the probe has told, and what it is told back.
pub(crate) struct Told {
    link: Sniffer,
    orders: Vec<Order>,
    /// Sessions of targets that were open when they were last told.
    sessions: BTreeMap<Id, Identity>,
    /// Those of them that have not been told again since the probe has begun to tell all.
    stale: Option<BTreeMap<Id, Identity>>,
    /// Up to when the probe has told everything.
    until: Nanos,
    is_connected: bool,
    /// The last change that was applied, and the last that was confirmed.
    applied: u64,
    confirmed: u64,
    stopped: Vec<Stop>,
    /// How often all was told anew while an order was in force: what lies between is not known.
    gaps: u64,
    told: Option<Instant>,
}

impl Told {
    pub(crate) fn new(link: Sniffer) -> Self {
        Self {
            link,
            orders: Vec::new(),
            sessions: BTreeMap::new(),
            stale: None,
            until: Nanos::ZERO,
            is_connected: false,
            applied: 0,
            confirmed: 0,
            stopped: Vec::new(),
            gaps: 0,
            told: None,
        }
    }

    /// What was heard since the last time, in order.
    pub(crate) fn hear(&mut self) -> Heard {
        let heard = self.link.take();
        self.until = heard.until;
        self.is_connected = heard.is_connected;
        if let Some(problem) = self.link.take_problem()
            && self.told.is_none_or(|told| told.elapsed() >= BETWEEN)
        {
            self.told = Some(Instant::now());
            log::error!(
                target: "run",
                "[intercept] probe: {problem}; until it is heard again, frames wait for what it says, as far \
                 as memory goes"
            );
        }
        if heard.clocks_apart > CLOCKS && self.told.is_none_or(|told| told.elapsed() >= BETWEEN) {
            self.told = Some(Instant::now());
            log::error!(
                target: "run",
                "[intercept] probe: its clock is {:.3} s from ours, which decides whose a packet is: set \
                 both by PTP or NTP",
                heard.clocks_apart.secs_f64()
            );
        }
        heard
    }

    /// Up to when it is known whose an address is.
    pub(crate) fn until(&self) -> Nanos {
        self.until
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected
    }

    pub(crate) fn orders(&self) -> &[Order] {
        &self.orders
    }

    pub(crate) fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Whether the change has to be applied at once, not at its time: all is told anew.
    pub(crate) fn is_restarting(&self, change: &Change) -> bool {
        self.stale.is_some() || change.what == What::Restart
    }

    /// Has a change count: all before it has been followed, up to that time.
    pub(crate) fn apply(
        &mut self,
        change: Change,
        followed: Nanos,
        interception: &mut Interception<Accounts>,
    ) {
        self.applied = change.number;
        match change.what {
            What::Restart => {
                let before = mem::take(&mut self.sessions);
                self.stale.get_or_insert_default().extend(before);
            }
            What::Whole => {
                let stale = self.stale.take().unwrap_or_default();
                self.gaps += u64::from(!stale.is_empty());
                // When they ended was told to nobody: somebody else may have had their addresses since.
                stale.into_values().for_each(|record| interception.session(&ended(record, followed), false));
            }
            What::Orders(orders) => {
                self.orders.clone_from(&orders);
                interception.replace_orders(orders);
            }
            What::Session { record, is_open } => {
                if let Some(stale) = &mut self.stale {
                    stale.remove(&record.id);
                }
                interception.session(&record, is_open);
                match record.end {
                    Some(_) => drop(self.sessions.remove(&record.id)),
                    None => drop(self.sessions.insert(record.id, *record)),
                }
            }
        }
    }

    /// Orders that were stopped: the probe records it.
    pub(crate) fn record(&mut self, changes: Changes) {
        let stop = |(liid, proof): (_, ringtap_warrant::StopProof)| Stop {
            liid,
            at: proof.at,
            last_content: proof.last_content,
        };
        self.stopped.extend(changes.stopped.into_iter().map(stop));
    }

    /// Confirms what was applied.
    pub(crate) fn confirm(&mut self, followed: Nanos, clock: Nanos, report: Option<&ProductReport>) {
        if self.applied == self.confirmed && self.stopped.is_empty() && report.is_none() {
            return;
        }
        self.confirmed = self.applied;
        self.link.confirm(Confirmation {
            number: self.applied,
            followed_ns: followed.0,
            clock_ns: clock.0,
            stopped: mem::take(&mut self.stopped),
            report: report.and_then(|report| serde_json::to_value(report).ok()),
        });
    }
}

/// A session that has ended at a time.
fn ended(mut record: Identity, at: Nanos) -> Identity {
    let end = |held: &mut HeldAddress| {
        held.until.get_or_insert(at.max(held.from));
    };
    record.addresses.iter_mut().for_each(end);
    record.end = Some(at);
    record
}

/// How far the probe's clock may be from ours, with the time that its message takes.
const CLOCKS: Nanos = Nanos::from_millis(100);
/// How often the log is told of the same.
const BETWEEN: Duration = Duration::from_secs(60);

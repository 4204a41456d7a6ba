//! Product on its way to mediation functions.

use std::collections::HashMap;
use std::time::Duration;

use ringtap_handover::{
    Cin, Content, Delivery, HandoverError, Iri, LinkStatus, NameError, Notification, Product as Part,
    Receipt, Sent, Warrant, WarrantKey,
};
use ringtap_model::Frame;
use ringtap_warrant::{Liid, Order};

use crate::identifiers;
use crate::product::Product;

/// Octets that may wait for the mediation function, of each order on each interface: more than any capture
/// has.
const MOST_WAITING: u64 = 1 << 44;
/// How long the disk may take to take a batch.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why product cannot be delivered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeliveredError {
    /// An order has a name that the standard has no room for.
    #[error("cannot encode the identifiers of an order: {0}")]
    Name(#[from] NameError),
    /// There is no such function, or it cannot be delivered to.
    #[error("cannot deliver product: {0}")]
    Handover(#[from] HandoverError),
}

/// Gives product to a [`Delivery`], no faster than its buffer takes it.
#[derive(Debug)]
pub struct Delivered {
    delivery: Delivery,
    orders: HashMap<Liid, WarrantKey>,
    /// The last of each batch, for each interface.
    last: Vec<Receipt>,
    lost: u64,
}

impl Delivered {
    /// Product of these orders, each to the function with the name of its agency.
    ///
    /// # Errors
    ///
    /// An agency has no function, or an order cannot be encoded.
    pub fn new(delivery: Delivery, orders: &[Order]) -> Result<Self, DeliveredError> {
        let mut keys = HashMap::new();
        for order in orders {
            let (identifiers, key) = identifiers::of_order(order)?;
            let warrant = Warrant { identifiers, key, most_waiting: MOST_WAITING };
            keys.insert(order.liid.clone(), delivery.open(&order.agency, &warrant)?);
        }
        Ok(Self { delivery, orders: keys, last: Vec::new(), lost: 0 })
    }

    /// How many PDUs were lost before they were in the buffer.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How each link stands.
    pub fn status(&self) -> Vec<LinkStatus> {
        self.delivery.status()
    }

    /// Waits until everything has arrived, for at most so long. Whether it has.
    pub fn finish(self, most: Duration) -> bool {
        let Self { delivery, lost, .. } = self;
        delivery.stop(most) && lost == 0
    }

    fn send(&mut self, order: &Order, cin: Cin, part: Part<'_>) {
        let Some(key) = self.orders.get(&order.liid) else { return };
        match self.delivery.send(*key, cin, part) {
            Sent::Accepted(receipt) => {
                if self.last.last() != Some(&receipt) {
                    self.last.push(receipt);
                }
            }
            Sent::Lost(_) => self.lost += 1,
            // The agency does not want it.
            Sent::NotTaken => {}
        }
    }
}

impl Product for Delivered {
    fn iri(&mut self, order: &Order, cin: Cin, iri: Iri, _: &[u64]) {
        self.send(order, cin, Part::Iri(&iri));
    }

    fn content(&mut self, order: &Order, cin: Cin, content: &Content<'_>, _: &[u64]) {
        self.send(order, cin, Part::Content(content));
    }

    fn notice(&mut self, order: &Order, notification: Notification) {
        self.send(order, Cin(0), Part::Notification(&notification));
    }

    /// Waits for the buffer: captures are read faster than a disk writes.
    fn frames(&mut self, _: &[Frame<'_>]) {
        for receipt in self.last.drain(..) {
            self.delivery.wait_kept(receipt, PATIENCE);
        }
    }
}

/// Gives product to one and, where there is one, to the other.
impl<A: Product, B: Product> Product for (A, Option<B>) {
    fn iri(&mut self, order: &Order, cin: Cin, iri: Iri, frames: &[u64]) {
        if let Some(other) = &mut self.1 {
            other.iri(order, cin, iri.clone(), frames);
        }
        self.0.iri(order, cin, iri, frames);
    }

    fn content(&mut self, order: &Order, cin: Cin, content: &Content<'_>, frames: &[u64]) {
        if let Some(other) = &mut self.1 {
            other.content(order, cin, content, frames);
        }
        self.0.content(order, cin, content, frames);
    }

    fn notice(&mut self, order: &Order, notification: Notification) {
        if let Some(other) = &mut self.1 {
            other.notice(order, notification.clone());
        }
        self.0.notice(order, notification);
    }

    fn frames(&mut self, frames: &[Frame<'_>]) {
        self.0.frames(frames);
        if let Some(other) = &mut self.1 {
            other.frames(frames);
        }
    }
}

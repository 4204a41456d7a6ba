//! Product on its way to mediation functions.

use std::collections::HashMap;
use std::time::Duration;

use ringtap_handover::{
    Cin, Content, Delivery, HandoverError, InterceptionPoint, Iri, LinkStatus, NameError, Notification,
    Product as Part, Receipt, Sent, Warrant, WarrantKey,
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

/// Gives product to a [`Delivery`]: that of captures no faster than its buffer takes it.
#[derive(Debug)]
pub struct Delivered {
    delivery: Delivery,
    orders: HashMap<Liid, WarrantKey>,
    /// The last of each batch, for each interface.
    last: Vec<Receipt>,
    lost: u64,
    lost_of: HashMap<Liid, u64>,
    /// Live product waits for nobody.
    is_live: bool,
    point: Option<InterceptionPoint>,
}

impl Delivered {
    /// Product of these orders, each to the function with the name of its agency.
    ///
    /// # Errors
    ///
    /// An agency has no function, or an order cannot be encoded.
    pub fn new(delivery: Delivery, orders: &[Order]) -> Result<Self, DeliveredError> {
        let mut delivered = Self {
            delivery,
            orders: HashMap::new(),
            last: Vec::new(),
            lost: 0,
            lost_of: HashMap::new(),
            is_live: false,
            point: None,
        };
        orders.iter().try_for_each(|order| delivered.open(order, MOST_WAITING))?;
        Ok(delivered)
    }

    /// Live product, of no orders yet.
    pub fn live(delivery: Delivery) -> Self {
        Self {
            delivery,
            orders: HashMap::new(),
            last: Vec::new(),
            lost: 0,
            lost_of: HashMap::new(),
            is_live: true,
            point: None,
        }
    }

    /// Says in each PDU at which point it was intercepted.
    pub fn at_point(self, point: Option<InterceptionPoint>) -> Self {
        Self { point, ..self }
    }

    /// From now on these orders are delivered; of each, so many octets may wait for its mediation function on
    /// each interface. What waits of the others is still delivered. Returns those that cannot be.
    pub fn replace_orders(&mut self, orders: &[&Order], most_waiting: u64) -> Vec<(Liid, DeliveredError)> {
        let Self { delivery, orders: keys, .. } = self;
        keys.retain(|liid, key| {
            let stays = orders.iter().any(|order| order.liid == *liid);
            if !stays {
                delivery.close(*key);
            }
            stays
        });
        let mut refused = Vec::new();
        for order in orders {
            if !self.orders.contains_key(&order.liid)
                && let Err(error) = self.open(order, most_waiting)
            {
                refused.push((order.liid.clone(), error));
            }
        }
        refused
    }

    fn open(&mut self, order: &Order, most_waiting: u64) -> Result<(), DeliveredError> {
        let (identifiers, key) = identifiers::of_order(order, self.point)?;
        let warrant = Warrant { identifiers, key, most_waiting };
        let key = self.delivery.open(&order.agency, &warrant)?;
        self.orders.insert(order.liid.clone(), key);
        Ok(())
    }

    /// How many PDUs were lost before they were in the buffer.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The same of one order.
    pub fn lost_of(&self, liid: &Liid) -> u64 {
        self.lost_of.get(liid).copied().unwrap_or_default()
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
                if !self.is_live && self.last.last() != Some(&receipt) {
                    self.last.push(receipt);
                }
            }
            Sent::Lost(_) => {
                self.lost += 1;
                *self.lost_of.entry(order.liid.clone()).or_default() += 1;
            }
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

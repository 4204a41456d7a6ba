//! Product on its way into files and to mediation functions, and what is counted of it.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use ringtap_handover::{Cin, Content, Iri, Notification, NotificationKind};
use ringtap_intercept::{Delivered, Product, ProductFiles};
use ringtap_model::{Frame, Identity, Nanos};
use ringtap_remote::Probe;
use ringtap_warrant::{Liid, Order, StopProof};

/// Gives product to files and, where there are any, to mediation functions.
#[derive(Debug)]
pub(crate) struct Accounts {
    product: (ProductFiles, Option<Delivered>),
    changes: Changes,
    last_content: HashMap<Liid, Nanos>,
    /// Frames out of the memory of workers, by number, with their times.
    recalled: HashMap<u64, Nanos>,
    /// How many packets of each order came from there.
    recalled_packets: HashMap<Liid, u64>,
    /// Tells sniffers of sessions.
    probe: Option<Arc<Probe>>,
}

/// Orders that began and ended, for the register.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) begun: Vec<Liid>,
    pub(crate) stopped: Vec<(Liid, StopProof)>,
}

impl Accounts {
    pub(crate) fn new(files: ProductFiles, delivered: Option<Delivered>, probe: Option<Arc<Probe>>) -> Self {
        Self {
            product: (files, delivered),
            changes: Changes::default(),
            last_content: HashMap::new(),
            recalled: HashMap::new(),
            recalled_packets: HashMap::new(),
            probe,
        }
    }

    pub(crate) fn files(&mut self) -> &mut ProductFiles {
        &mut self.product.0
    }

    pub(crate) fn delivered(&mut self) -> Option<&mut Delivered> {
        self.product.1.as_mut()
    }

    /// Those since the last time.
    pub(crate) fn take_changes(&mut self) -> Changes {
        mem::take(&mut self.changes)
    }

    /// A frame is taken out of the memory of a worker; false if it was before.
    pub(crate) fn recall(&mut self, number: u64, time: Nanos) -> bool {
        self.recalled.insert(number, time).is_none()
    }

    /// Whether a frame was taken out of the memory of a worker.
    pub(crate) fn is_recalled(&self, number: u64) -> bool {
        self.recalled.contains_key(&number)
    }

    /// Frames before that time are not asked for any more.
    pub(crate) fn forget_recalled(&mut self, before: Nanos) {
        self.recalled.retain(|_, time| *time >= before);
    }

    pub(crate) fn recalled_packets(&self, liid: &Liid) -> u64 {
        self.recalled_packets.get(liid).copied().unwrap_or_default()
    }

    /// Ends with everything on the disk, and what was to be delivered.
    pub(crate) fn finish(self) -> Option<Delivered> {
        let (mut files, delivered) = self.product;
        files.rotate();
        delivered
    }
}

impl Product for Accounts {
    fn iri(&mut self, order: &Order, cin: Cin, iri: Iri, frames: &[u64]) {
        self.product.iri(order, cin, iri, frames);
    }

    fn content(&mut self, order: &Order, cin: Cin, content: &Content<'_>, frames: &[u64]) {
        let last = self.last_content.entry(order.liid.clone()).or_default();
        *last = (*last).max(content.at);
        if frames.last().is_some_and(|number| self.recalled.contains_key(number)) {
            *self.recalled_packets.entry(order.liid.clone()).or_default() += 1;
        }
        self.product.content(order, cin, content, frames);
    }

    fn notice(&mut self, order: &Order, notification: Notification) {
        match notification.kind {
            NotificationKind::Activated => self.changes.begun.push(order.liid.clone()),
            NotificationKind::Deactivated => {
                let last_content = self.last_content.remove(&order.liid);
                let proof = StopProof { at: notification.at, last_content, by: "ringtap run".to_owned() };
                self.changes.stopped.push((order.liid.clone(), proof));
            }
            _ => {}
        }
        self.product.notice(order, notification);
    }

    fn session(&mut self, record: &Identity, is_open: bool, at: Nanos) {
        if let Some(probe) = &self.probe {
            probe.session(record, is_open, at);
        }
    }

    fn frames(&mut self, frames: &[Frame<'_>]) {
        self.product.frames(frames);
    }
}
